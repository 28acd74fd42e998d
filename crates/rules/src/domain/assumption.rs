//! Assumptions that an agent found broken (semantics, section 17).

use serde::{Deserialize, Serialize};

worded! {
    /// An assumption of the prompt that does not hold any more, as an agent says.
    pub enum Assumption {
        /// An agent reports that what its task began from has changed. A person decides: `quorum approve ID` lets it
        /// go on.
        PreconditionChanged = "precondition_changed",
        /// An agent reports that the criteria of its task contradict each other. Correct the mission, or let it go
        /// on with `quorum approve ID`.
        CriteriaConflict = "criteria_conflict",
        /// An agent reports that what its task depends on is not right. `quorum resume --redo TASK` does that again.
        DependencyFailed = "dependency_failed",
    }
}

/// An assumption that an agent found broken, in its own words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BrokenAssumption {
    /// The assumption that does not hold.
    pub kind: Assumption,
    /// The words of the agent, cut to a bounded length.
    pub evidence: String,
}
