//! What happens to the budget of a run, and to the calls that it holds.

use serde::{Deserialize, Serialize};

use crate::domain::{AgentId, Millis, Timestamp};
use crate::engine::ledger::{CallId, Ceiling};
use crate::engine::payload::{Usage, is_default};

/// What happens to the budget of a run, and to the calls that it holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum BudgetEvent {
    /// `budget:exhausted`: nothing more is started in this session. What runs may finish its turn.
    Exhausted {
        /// What is used up.
        ceiling: Ceiling,
    },
    /// `work:progressed` (`held`): a call has no room now.
    Held {
        /// The call.
        call: CallId,
        /// The agent that the call goes to.
        agent: AgentId,
    },
    /// `work:progressed` (`released`): a call that was held has room.
    Released {
        /// The call.
        call: CallId,
    },
    /// `work:progressed` (`settled`): a call ended for which nobody waited any more. Its word is refused; what it used counts
    /// instead of what it was charged with when it was dropped.
    Settled {
        /// The call.
        call: CallId,
        /// What it used, with its price.
        #[serde(default, skip_serializing_if = "Usage::is_none")]
        usage: Usage,
        /// Requests beyond the one that was counted for it; below zero where it was none.
        #[serde(default, skip_serializing_if = "is_default")]
        requests: i32,
    },
    /// `budget:clock`: the time that the run may work is counted.
    Clock {
        /// When this session began.
        since: Timestamp,
        /// What the sessions before it took.
        used: Millis,
        /// When nothing is left.
        until: Timestamp,
    },
}

impl BudgetEvent {
    /// The call that it is about, if it is about one.
    #[must_use]
    pub fn call(&self) -> Option<CallId> {
        match self {
            Self::Held { call, .. } | Self::Released { call } | Self::Settled { call, .. } => Some(*call),
            Self::Exhausted { .. } | Self::Clock { .. } => None,
        }
    }
}
