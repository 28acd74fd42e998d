//! What checks said on commits that nobody had worked on: it is looked at once (semantics, section 24).

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use tokio::sync::Mutex;

use rules::domain::{BeforeWork, Digest};
use rules::engine::{Baseline, BaselineResult};
use rules::plan::TaskPlan;

/// Checks that were looked at, by the digest of each. Whoever looks holds them, so that nobody looks beside.
type Shared = Arc<Mutex<BTreeMap<Digest, BaselineResult>>>;

/// The results of checks on commits that nobody has worked on, by the commit and the folder in it.
#[derive(Debug, Default)]
pub struct BaselineCache(HashMap<(Box<str>, Option<Box<str>>), Shared>);

impl BaselineCache {
    /// The results that are on record.
    pub fn of<'r>(baselines: impl Iterator<Item = (&'r TaskPlan, &'r Baseline)>) -> Self {
        let mut all = Self::default();
        for (task, Baseline { on, checks, .. }) in baselines {
            if let Some(commit) = on.clone() {
                let place = all.0.entry((commit, task.workspace.clone()));
                if let Some(seen) = Arc::get_mut(place.or_default()) {
                    seen.get_mut().extend(known(checks));
                }
            }
        }
        all
    }

    /// The results at a commit, for whoever looks next.
    pub fn at(&mut self, commit: &str, workspace: Option<&str>) -> Shared {
        self.0.entry((commit.into(), workspace.map(Into::into))).or_default().clone()
    }
}

/// The results that could be told, by the digest of their check.
pub fn known(checks: &[BaselineResult]) -> impl Iterator<Item = (Digest, BaselineResult)> {
    checks.iter().filter(|seen| seen.before != BeforeWork::Unknown).map(|seen| (seen.key, seen.clone()))
}
