//! What happens to the budget of a run, and to the calls that it holds.

use serde::{Deserialize, Serialize};

use crate::domain::{AgentId, Millis, Timestamp};
use crate::engine::event_payload::Usage;
use crate::engine::work::id::WorkId;

/// An event of the budget of a run, or of a call that it holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum BudgetEvent {
    /// `budget:exhausted`: nothing more is started in this session. What runs may finish its turn.
    Exhausted {
        /// The limit that is used up.
        ceiling: Ceiling,
    },
    /// `work:progressed` (`held`): a call has no room now; (`released`): one that was held has.
    Held {
        call: WorkId,
        /// The agent that the call goes to.
        agent: AgentId,
        released: bool,
    },
    /// `work:progressed` (`settled`): a call ended for which nobody waited any more. Its word is refused; what it used counts
    /// instead of what it was charged with when it was dropped.
    Settled {
        call: WorkId,
        /// The usage of the call, with its price.
        usage: Usage,
        /// Requests beyond the one that was counted for it; below zero where it was none.
        requests: i32,
    },
    /// `budget:clock`: the time that the run may work is counted.
    Clock {
        /// When this session began.
        since: Timestamp,
        /// The time that the sessions before took.
        used: Millis,
        /// When nothing is left.
        until: Timestamp,
    },
}

impl BudgetEvent {
    /// The call that it is about, if it is about one.
    pub fn call(&self) -> Option<WorkId> {
        match self {
            Self::Held { call, .. } | Self::Settled { call, .. } => Some(*call),
            Self::Exhausted { .. } | Self::Clock { .. } => None,
        }
    }
}

/// A limit of the budget that is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Ceiling {
    /// The limit of the cost, `maxCost`.
    Cost,
    /// The limit of the tokens, `maxTokens`.
    Tokens,
    /// The limit of the requests, `maxRequests`.
    Requests,
    /// The limit of the time, `maxTime`.
    Time,
    /// `maxCost`, because nobody knows what a call of this agent cost.
    UnknownCost(AgentId),
    /// `maxTokens`, because nobody knows what a call of this agent used.
    UnknownTokens(AgentId),
    /// The part of `maxCost` that is not kept for judging: verdicts are still given.
    WorkCost,
    /// The part of `maxTokens` that is not kept for judging.
    WorkTokens,
}

impl Ceiling {
    /// The key that sets it.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Cost | Self::UnknownCost(_) => "maxCost",
            Self::Tokens | Self::UnknownTokens(_) => "maxTokens",
            Self::Requests => "maxRequests",
            Self::Time => "maxTime",
            Self::WorkCost | Self::WorkTokens => "reserveForJudging",
        }
    }

    /// Whether what is left is kept for whoever gives a verdict.
    #[must_use]
    pub fn leaves_judging(self) -> bool {
        matches!(self, Self::WorkCost | Self::WorkTokens)
    }
}
