//! What a person can say to a run from outside, while it works or while nobody works on it.

use serde::{Deserialize, Serialize};

use crate::domain::{GateId, HoldId, TaskId};
use crate::mission::SubTask;

/// An operator's command, as it is queued and as it is decided about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "do")]
pub enum Command {
    /// A task's work is accepted on a person's word.
    Approve {
        /// The task.
        task: TaskId,
        /// The approval's number within the task.
        number: u32,
    },
    /// A task's work is sent back.
    Reject {
        /// The task.
        task: TaskId,
        /// The approval's number within the task.
        number: u32,
        /// Why: what the worker is told.
        reason: String,
    },
    /// A question is answered.
    Answer {
        /// The task.
        task: TaskId,
        /// The approval's number within the task.
        number: u32,
        /// What its agent is told.
        text: String,
    },
    /// The run may go on behind a checkpoint.
    PassCheckpoint {
        /// The checkpoint.
        hold: HoldId,
        /// How often it was reached, this time included.
        number: u32,
    },
    /// It may not: what the checkpoint blocks is not done.
    RejectCheckpoint {
        /// The checkpoint.
        hold: HoldId,
        /// How often it was reached, this time included.
        number: u32,
        /// Why.
        reason: String,
    },
    /// A task is called off.
    CancelTask {
        /// The task.
        task: TaskId,
    },
    /// Everything that is not terminal is called off.
    CancelRun,
    /// Nothing more is started; what has started may finish.
    Pause,
    /// A request from outside is approved: the run gets its task.
    AddTask {
        /// The request's id.
        request: String,
        /// What is to be done.
        task: Box<SubTask>,
    },
    /// A failed gate is let pass.
    OverrideGate {
        /// The gate.
        gate: GateId,
        /// Why.
        reason: String,
    },
}

/// What a command meets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CommandResult {
    /// It changes the run.
    Applied,
    /// What it asks for holds already.
    AlreadySo,
    /// It came too late: something else was decided.
    DecidedOtherwise,
    /// It names what this run does not have.
    Unknown,
    /// It may hold later: what it decides about has not come up yet.
    TooEarly,
}

impl Command {
    /// Whether it is a person's judgement, which nobody else may give: it approves, rejects, answers or overrides. Work that
    /// is asked for, paused or cancelled is none.
    #[must_use]
    pub fn is_a_persons_word(&self) -> bool {
        match self {
            Self::Approve { .. }
            | Self::Reject { .. }
            | Self::Answer { .. }
            | Self::PassCheckpoint { .. }
            | Self::RejectCheckpoint { .. }
            | Self::OverrideGate { .. } => true,
            Self::CancelTask { .. } | Self::CancelRun | Self::Pause | Self::AddTask { .. } => false,
        }
    }
}
