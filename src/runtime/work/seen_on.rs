//! What checks said on commits that nobody had worked on: it is looked at once (semantics, section 24).

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use tokio::sync::Mutex;

use rules::domain::{BeforeWork, Digest};
use rules::engine::{Baseline, BaselineResult, State};

/// Checks that were looked at, by the digest of each. Whoever looks holds them, so that nobody looks beside.
type Shared = Arc<Mutex<BTreeMap<Digest, BaselineResult>>>;

/// The results of checks on commits that nobody has worked on, by the commit and the folder in it.
#[derive(Debug, Default)]
pub struct SeenOn(HashMap<(Box<str>, Option<Box<str>>), Shared>);

impl SeenOn {
    /// The results that are on record.
    pub fn of(state: &State) -> Self {
        let mut all = Self::default();
        for (id, task) in state.plan.every_task_id().zip(&state.tasks) {
            if let Some(Baseline {
                on: Some(commit),
                checks,
                ..
            }) = task.course.baseline.as_deref()
            {
                let place = (commit.clone(), state.plan.task(id).workspace.clone());
                let seen = all.0.entry(place).or_default();
                if let Some(seen) = Arc::get_mut(seen) {
                    seen.get_mut().extend(known(checks));
                }
            }
        }
        all
    }

    pub fn on(&mut self, commit: &str, workspace: Option<&str>) -> Shared {
        self.0
            .entry((commit.into(), workspace.map(Into::into)))
            .or_default()
            .clone()
    }
}

/// The results that could be told, by the digest of their check.
pub fn known(checks: &[BaselineResult]) -> impl Iterator<Item = (Digest, BaselineResult)> {
    let known = checks.iter().filter(|seen| seen.before != BeforeWork::Unknown);
    known.map(|seen| (seen.key, seen.clone()))
}
