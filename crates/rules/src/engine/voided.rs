//! A stage whose verdict counts for nothing, because what judges was changed meanwhile.

use serde::{Deserialize, Serialize};

use super::work::id::WorkId;

/// A part of judging while which protected files were not what they were: what it says does not count.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VoidedStage {
    /// The part of judging.
    pub work: WorkId,
    /// The files that are still not as they were when the session began, one sentence each.
    pub changed: Vec<String>,
    /// The files that were changed and put back meanwhile, one sentence each.
    pub restored: Vec<String>,
    /// Whether a turn or a command of another task overlapped.
    pub shared: bool,
}

impl VoidedStage {
    /// Whether the part changed something itself, and would do so again.
    pub(crate) fn did_it(&self) -> bool {
        !self.shared && !self.changed.is_empty()
    }

    /// All that was not as it must be, in one line.
    pub(crate) fn what(&self) -> String {
        let all: Vec<&str> = self.changed.iter().chain(&self.restored).map(String::as_str).collect();
        all.join(", ")
    }
}
