//! Assumptions that an agent found broken (semantics, section 17).

use serde::{Deserialize, Serialize};

worded! {
    /// What an agent says that does not hold any more.
    pub enum Assumption {
        /// What was there to begin with is not what was said, or it cannot go on for a reason of its own.
        PreconditionChanged = "precondition_changed",
        /// What the work is accepted by contradicts itself.
        CriteriaConflict = "criteria_conflict",
        /// What the work builds on is not there.
        DependencyFailed = "dependency_failed",
    }
}

/// An assumption that an agent found broken, in its own words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BrokenAssumption {
    /// What does not hold.
    #[serde(rename = "k")]
    pub kind: Assumption,
    /// Its words, cut to a bounded length.
    #[serde(rename = "e")]
    pub evidence: String,
}
