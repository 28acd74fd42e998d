//! What happens to a checkpoint or a delay.

use serde::{Deserialize, Serialize};

use crate::domain::Timestamp;
use crate::engine::payload::is_default;

/// What happens to a checkpoint or a delay.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum HoldEvent {
    /// `hold:opened` of a checkpoint or delay.
    Reached {
        /// How often the hold was reached, this time included; makes the ids of approvals.
        number: u32,
        /// For a delay: when it is over.
        #[serde(default, skip_serializing_if = "is_default")]
        until: Option<Timestamp>,
    },
    /// `hold:closed`: what the hold blocks may start.
    Passed {
        /// For a checkpoint: who said so, as recorded.
        #[serde(default, skip_serializing_if = "is_default")]
        by: Option<String>,
    },
    /// `hold:closed` (`no`): what the hold blocks does not start.
    Rejected {
        /// Why, as given.
        reason: String,
        /// By whom, as recorded.
        by: String,
    },
}
