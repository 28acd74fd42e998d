//! What a task did, as it differs from what it began with.

use crate::executor::error::WorkError;
use rules::domain::TaskId;
use rules::engine::Commit;
use rules::plan::Plan;

use crate::runtime::isolation::protection::Protection;

/// How many files a message names.
pub const MOST_NAMED: usize = 20;

/// Why there is no commit of what a task did.
#[derive(Debug, thiserror::Error)]
pub enum NotCommitted {
    /// The work cannot be committed; the text is for its agent.
    #[error("{0}")]
    Work(String),
    /// Git or the disk does not do what it must: nothing that the agent could mend.
    #[error(transparent)]
    Git(#[from] WorkError),
}

/// The committed work of a task.
#[derive(Debug)]
pub struct CommittedWork {
    /// The commit, and the size of its change.
    pub commit: Commit,
    /// Every path that differs from what the task began with.
    pub changed: Vec<Changed>,
}

/// The words about a path that is in the first tree only.
pub const GONE: &str = "is gone";
/// The words about a path that is in the second tree only.
pub const APPEARED: &str = "appeared";

/// A path that differs between two trees.
#[derive(Debug)]
pub struct Changed {
    /// Seen from the top of the repository.
    pub path: String,
    /// The change, as a verb with a subject before it.
    pub what: &'static str,
}

impl Changed {
    /// Whether the path was there before.
    pub fn was_there(&self) -> bool {
        self.what != APPEARED
    }
}

impl CommittedWork {
    /// The protected paths of the work, one sentence each: however often the work is tried, none of them may
    /// differ from what the task began with.
    pub fn protected(&self, plan: &Plan, protection: &Protection, task: TaskId) -> Vec<String> {
        let root = plan.root_of(task);
        let is_protected = protection.guards(plan, task);
        let held = self.changed.iter().filter(|changed| is_protected(&root.join(&changed.path)));
        held.map(|changed| format!("{} {}", changed.path, changed.what)).collect()
    }
}

/// The difference between two trees.
#[derive(Default)]
pub struct Difference {
    pub changed: Vec<Changed>,
    pub left_out: Vec<String>,
    pub removed: Vec<String>,
    pub insertions: u32,
    pub deletions: u32,
}

impl Difference {
    pub fn commit(&self, id: &str, onto: &str) -> Commit {
        let paths = self.changed.iter().map(|changed| changed.path.as_str().into());
        Commit {
            id: id.into(),
            files: self.changed.len().try_into().unwrap_or(u32::MAX),
            insertions: self.insertions,
            deletions: self.deletions,
            paths: paths.take(MOST_NAMED).collect(),
            left_out: self.left_out.clone(),
            removed: self.removed.clone(),
            onto: onto.into(),
        }
    }
}
