//! Runs that appear in the state folder while this session holds its lock, and that nobody but this session could have
//! made: somebody put them there to be taken for real ones (`docs/design/architecture.md`, What a run finds when it begins).

use std::collections::BTreeSet;

use crate::store::{RunFolder, StateFolder};
use rules::engine::Fact;

/// The runs in the folder, as far as they are known.
pub struct ForeignRuns {
    folder: StateFolder,
    known: BTreeSet<String>,
}

impl ForeignRuns {
    /// Takes what is there now, and the session's own run, as known.
    pub fn since_now(own: &RunFolder) -> Self {
        let folder = own.state_folder();
        let mut known: BTreeSet<String> = folder.run_names().into_iter().collect();
        known.insert(own.id().as_str().to_owned());
        Self { folder, known }
    }

    /// The facts about new runs, each once. A run that cannot be read now is looked at the next time.
    pub fn look(&mut self) -> Vec<Fact> {
        let names = self.folder.run_names().into_iter();
        let new = names.filter(|name| self.known.insert(name.clone()));
        new.map(|name| {
            Fact::Foreign(format!(
                "the run '{name}' appeared in the state folder under the lock of this session, which did not make it: \
                 somebody else wrote there"
            ))
        })
        .collect()
    }
}
