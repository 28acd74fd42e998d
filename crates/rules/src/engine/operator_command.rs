//! What a person can say to a run from outside, while it works or while nobody works on it.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::domain::{GateId, HoldOwner, TaskId};
use crate::plan::SubTask;

/// An operator's command, as it is queued and as it is decided about.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "do")]
pub enum Command {
    /// A task, or the run behind a checkpoint, goes on with a person's word.
    Approve {
        /// The owner of the hold.
        #[serde(flatten)]
        of: HoldOwner,
        /// The number of the hold.
        number: u32,
    },
    /// A task's work is sent back; what a checkpoint blocks is not done.
    Reject {
        /// The owner of the hold.
        #[serde(flatten)]
        of: HoldOwner,
        /// The number of the hold.
        number: u32,
        /// Why: what the worker is told.
        reason: String,
    },
    /// A question is answered.
    Answer {
        task: TaskId,
        /// The number of the hold.
        number: u32,
        /// The answer for the task's agent.
        text: String,
    },
    /// Work that was accepted below its bar: a person knows of it, or refuses it after all.
    AnswerAcceptance {
        task: TaskId,
        /// The attempt whose work was accepted.
        attempt: u32,
        /// Why the work is refused; `None` where it stays accepted.
        refused: Option<String>,
    },
    /// A task is called off.
    CancelTask { task: TaskId },
    /// Everything that is not terminal is called off.
    CancelRun,
    /// Nothing more is started; what has started may finish.
    Pause,
    /// A request from outside is approved: the run gets its task.
    AddTask {
        /// The id of the request.
        request: String,
        /// The work that is asked for.
        task: Box<SubTask>,
    },
    /// A failed gate is let pass.
    OverrideGate { gate: GateId, reason: String },
}

/// The result of a command.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CommandResult {
    /// The command changes the run.
    Applied,
    /// The state that the command asks for holds already.
    AlreadySo,
    /// The command came too late: something else was decided.
    DecidedOtherwise,
    /// The command names a thing that this run does not have.
    Unknown,
    /// The command may hold later: what it decides about has not come up yet.
    TooEarly,
}

impl Command {
    /// A person's yes to a hold.
    pub fn approve(of: impl Into<HoldOwner>, number: u32) -> Self {
        Self::Approve { of: of.into(), number }
    }

    /// A person's no to a hold.
    pub fn reject(of: impl Into<HoldOwner>, number: u32, reason: impl Into<String>) -> Self {
        Self::Reject { of: of.into(), number, reason: reason.into() }
    }

    /// Whether the command is a person's judgement, which nobody else may give: it approves, rejects, answers
    /// or overrides. Work that is asked for, paused or cancelled is none.
    pub fn is_a_persons_word(&self) -> bool {
        !self.only_stops() && !matches!(self, Self::AddTask { .. })
    }

    /// Whether the command stops work and decides nothing else.
    pub fn only_stops(&self) -> bool {
        matches!(self, Self::CancelTask { .. } | Self::CancelRun | Self::Pause)
    }
}
