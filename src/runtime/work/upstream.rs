//! What earlier tasks said, for the prompts of those that build on them. An output may be hundreds of megabytes: what
//! takes long is read beside the loop, and what was read once is remembered for the session.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use crate::executor::spool::read_output;
use crate::review::fence::TextExcerpt;
use crate::store::RunFolder;
use rules::domain::{Digest, TurnId};
use rules::engine::{Effect, OutputRefs, State};

use super::context::{Undone, blocking};
use super::worker_prompt::{UPSTREAM_CHARS, UpstreamOutputs, quoted};
use crate::runtime::session::effects::Executor;

/// Outputs of up to so many bytes in all are read at once.
const READ_AT_ONCE: u64 = 256 * 1024;
/// The most excerpts that are remembered; each is at most 32 KiB.
const REMEMBERED: usize = 256;

/// Excerpts by the digest of the output that they are of: the record vouches for them, whatever became of the file. Beside them what
/// was read for turns whose prompts are still to be written.
#[derive(Debug, Clone, Default)]
pub struct Remembered(Arc<Mutex<HashMap<Digest, TextExcerpt>>>, ReadOutputs);

/// The outputs that were read for prompts, by turn.
type ReadOutputs = Arc<Mutex<HashMap<TurnId, UpstreamOutputs>>>;

impl Remembered {
    /// Reads what the turns said. Blocks.
    fn read(&self, run: &RunFolder, turns: Vec<(TurnId, OutputRefs)>) -> UpstreamOutputs {
        let read = |(turn, output): (TurnId, OutputRefs)| {
            let found = self.recall(&output).map_or_else(
                || read_output(run, turn, &output, 4 * UPSTREAM_CHARS).map_err(|error| error.to_string()),
                Ok,
            );
            if let Ok(excerpt) = &found {
                self.remember(&output, excerpt);
            }
            (turn, found)
        };
        turns.into_iter().map(read).collect()
    }

    fn recall(&self, output: &OutputRefs) -> Option<TextExcerpt> {
        let key = key(output)?;
        let remembered = crate::locked(&self.0);
        remembered.get(&key).cloned()
    }

    fn remember(&self, output: &OutputRefs, excerpt: &TextExcerpt) {
        let Some(key) = key(output) else {
            return;
        };
        let mut remembered = crate::locked(&self.0);
        if remembered.len() >= REMEMBERED {
            remembered.clear();
        }
        remembered.insert(key, excerpt.clone());
    }
}

/// Only what is printed may be long enough to be worth it.
fn key(output: &OutputRefs) -> Option<Digest> {
    let printed = output.stdout.as_ref().filter(|_| output.result.is_none())?;
    (printed.len > READ_AT_ONCE).then_some(printed.digest)
}

fn length(output: &OutputRefs) -> u64 {
    let files = [&output.stdout, &output.result];
    files.into_iter().flatten().map(|file| file.len).sum()
}

impl Executor {
    /// The outputs that the prompt of a turn quotes, once they are read. `None`: they are read beside the loop, and the prompt is due
    /// once more behind that.
    pub fn read_for_prompt(&mut self, state: &State, turn: TurnId) -> Option<UpstreamOutputs> {
        let read = crate::locked(&self.upstream.1).remove(&turn);
        if read.is_some() {
            return read;
        }
        let turns = if state.gets_prompt(turn.task) {
            quoted(state, turn.task)
        } else {
            Vec::new()
        };
        let unread = turns
            .iter()
            .filter(|(_, output)| self.upstream.recall(output).is_none());
        let bytes: u64 = unread.map(|(_, output)| length(output)).sum();
        let (upstream, run) = (self.upstream.clone(), self.context.folder.clone());
        if bytes <= READ_AT_ONCE {
            return Some(upstream.read(&run, turns));
        }
        self.begin(Effect::PreparePrompt(turn), async move {
            let read = upstream.1.clone();
            let outputs = blocking(move || upstream.read(&run, turns)).await?;
            crate::locked(&read).insert(turn, outputs);
            Err(Undone::NotNow)
        });
        None
    }
}
