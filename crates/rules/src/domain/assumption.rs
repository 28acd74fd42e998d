//! Assumptions that an agent found broken (semantics, section 17).

use serde::{Deserialize, Serialize};

worded! {
    /// An assumption of the prompt that does not hold any more, as an agent says.
    pub enum Assumption {
        /// The files or facts to begin with are others than the prompt says, or the agent cannot go on for a
        /// reason of its own.
        PreconditionChanged = "precondition_changed",
        /// The acceptance criteria contradict each other.
        CriteriaConflict = "criteria_conflict",
        /// The work builds on something that is not there.
        DependencyFailed = "dependency_failed",
    }
}

/// An assumption that an agent found broken, in its own words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BrokenAssumption {
    /// The assumption that does not hold.
    #[serde(rename = "k")]
    pub kind: Assumption,
    /// The words of the agent, cut to a bounded length.
    #[serde(rename = "e")]
    pub evidence: String,
}
