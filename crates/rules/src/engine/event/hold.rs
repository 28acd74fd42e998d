//! What happens to a hold: of a task, of a checkpoint, of a delay.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::domain::{Cause, StageKey, Timestamp, WaitingReason};
use crate::engine::event_payload::is_default;

worded! {
    /// The way in which a hold was resolved, as the journal says it.
    pub enum Resolution {
        /// A person says yes.
        Approved = "approved",
        /// A person answered a question.
        Answered = "answered",
        /// A person says no.
        Rejected = "rejected",
        /// Nobody answered in time, or the moment came.
        TimedOut = "timeout",
    }
}

/// An event of a hold.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum HoldEvent {
    /// `hold:opened`; of a task also `approval:requested`: it waits for a person, or for a moment.
    Opened {
        /// The number of the hold: how often its owner was held, this time included. The hold's id is made of
        /// it.
        number: u32,
        /// The reason of the wait.
        reason: WaitingReason,
        /// For a refer: its cause.
        cause: Option<Cause>,
        /// For a refer: the stage that a person decides instead of; `None` is the judge.
        stage: Option<StageKey>,
        /// The message for the person; empty where the mission says nothing.
        #[serde(default, skip_serializing_if = "is_default")]
        message: String,
        /// The approval gate that asks, where one does.
        gate: Option<String>,
        /// When the time for an answer is up; of a delay, when it is over.
        expires: Option<Timestamp>,
    },
    /// An approver that is no person left it open. That one's end is told.
    Undecided {
        /// The number of the hold.
        number: u32,
        /// The approver's position among those of the approval.
        approver: u32,
        message: String,
        /// For the last approver: when they are asked again, should a session live then.
        again: Option<Timestamp>,
    },
    /// `approval:timeout`: nobody answered in time; it stays open.
    TimedOut {
        /// The number of the hold.
        number: u32,
    },
    /// `hold:closed`; of a task also `approval:resolved`.
    Closed {
        /// The number of the hold.
        number: u32,
        /// The way in which the hold was resolved.
        resolution: Resolution,
        /// By whom, as recorded.
        by: String,
        /// Why a person lets nothing behind a checkpoint start. What is said of a task is in its stage's verdict.
        reason: Option<String>,
    },
}
