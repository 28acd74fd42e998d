//! Where in the judging of an attempt, or before its start, something was asked of the world: what names an effect and its answer alike.

use serde::{Deserialize, Serialize};

use crate::domain::{ConsultId, Purpose, Step, TaskId, TurnId};

use super::effect::Effect;
use super::fact::{ApproverSaid, Fact};
use super::payload::SeatId;

/// A part of judging that was asked for and can come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum JudgingPlace {
    /// A command of the finish gate.
    #[serde(rename = "f")]
    Finish {
        /// The turn that it looks at.
        #[serde(rename = "i")]
        turn: TurnId,
        /// Its position.
        #[serde(rename = "n")]
        command: u32,
    },
    /// A check.
    #[serde(rename = "c")]
    Check {
        /// The task.
        #[serde(rename = "t")]
        task: TaskId,
        /// The attempt that is judged.
        #[serde(rename = "a")]
        attempt: u32,
        /// Its position.
        #[serde(rename = "n")]
        check: u32,
    },
    /// The grades of plain facts.
    #[serde(rename = "g")]
    Grade {
        /// The task.
        #[serde(rename = "t")]
        task: TaskId,
        /// The attempt that is judged.
        #[serde(rename = "a")]
        attempt: u32,
        /// The round.
        #[serde(rename = "r")]
        round: u32,
    },
    /// A stage behind the verification that needs no agent.
    #[serde(rename = "s")]
    Step {
        /// The task.
        #[serde(rename = "t")]
        task: TaskId,
        /// The attempt that is judged.
        #[serde(rename = "a")]
        attempt: u32,
        /// Which one.
        #[serde(rename = "s")]
        step: Step,
        /// The round.
        #[serde(rename = "r")]
        round: u32,
    },
    /// A reviewer.
    #[serde(rename = "j")]
    Seat {
        /// The task.
        #[serde(rename = "t")]
        task: TaskId,
        /// Which call.
        #[serde(rename = "s")]
        seat: SeatId,
    },
    /// An agent that is consulted about work that is judged.
    #[serde(rename = "k")]
    Consult {
        /// Which call.
        #[serde(rename = "k")]
        id: ConsultId,
    },
    /// A command that is asked whether a task may start.
    #[serde(rename = "p")]
    Approver {
        /// The task.
        #[serde(rename = "t")]
        task: TaskId,
        /// Which of its approvals.
        #[serde(rename = "n")]
        number: u32,
        /// Its position among the approvers.
        #[serde(rename = "a")]
        approver: u32,
    },
}

impl JudgingPlace {
    /// Whose work is judged.
    #[must_use]
    pub fn task(self) -> TaskId {
        match self {
            Self::Finish { turn, .. } => turn.task,
            Self::Check { task, .. }
            | Self::Grade { task, .. }
            | Self::Step { task, .. }
            | Self::Seat { task, .. }
            | Self::Approver { task, .. } => task,
            Self::Consult { id } => id.task,
        }
    }

    /// What it is, for people.
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            Self::Finish { .. } => "a command of its finish gate",
            Self::Check { .. } => "a check",
            Self::Grade { .. } => "its verification",
            Self::Step { .. } => "a stage",
            Self::Seat { .. } | Self::Consult { .. } => "a judge",
            Self::Approver { .. } => "an approver",
        }
    }
}

impl Effect {
    /// Where in judging it is, if it is a part of that.
    #[must_use]
    pub fn place(&self) -> Option<JudgingPlace> {
        Some(match *self {
            Self::RunFinish { turn, command } => JudgingPlace::Finish { turn, command },
            Self::RunCheck { task, attempt, check } => JudgingPlace::Check { task, attempt, check },
            Self::Grade { task, attempt, round } => JudgingPlace::Grade { task, attempt, round },
            Self::RunStep {
                task,
                attempt,
                step,
                round,
            } => JudgingPlace::Step {
                task,
                attempt,
                step,
                round,
            },
            Self::CallSeat { task, seat, .. } => JudgingPlace::Seat { task, seat },
            Self::Consult { id, purpose, .. } if judges(purpose) => JudgingPlace::Consult { id },
            Self::AskApprover {
                task,
                number,
                approver,
            } => JudgingPlace::Approver {
                task,
                number,
                approver,
            },
            _ => return None,
        })
    }
}

impl Fact {
    /// What part of judging has come back with a word. One that failed has none.
    #[must_use]
    pub fn place(&self) -> Option<JudgingPlace> {
        Some(match *self {
            Self::FinishChecked { turn, command, .. } => JudgingPlace::Finish { turn, command },
            Self::CheckFinished {
                task, attempt, check, ..
            } => JudgingPlace::Check { task, attempt, check },
            Self::Graded {
                task, attempt, round, ..
            } => JudgingPlace::Grade { task, attempt, round },
            Self::StepJudged {
                task,
                attempt,
                step,
                round,
                ..
            } => JudgingPlace::Step {
                task,
                attempt,
                step,
                round,
            },
            Self::SeatReplied { task, seat, .. } => JudgingPlace::Seat { task, seat },
            Self::ConsultReplied { id, .. } => JudgingPlace::Consult { id },
            Self::ApproverSaid {
                task,
                number,
                approver,
                said: ApproverSaid::Yes | ApproverSaid::No(_),
            } => JudgingPlace::Approver {
                task,
                number,
                approver,
            },
            _ => return None,
        })
    }
}

/// Whether what an agent is consulted about is work that is judged.
fn judges(purpose: Purpose) -> bool {
    match purpose {
        Purpose::Grade { .. } | Purpose::Decompose { .. } | Purpose::Scrutinise { .. } => true,
        Purpose::Confirm | Purpose::Answer | Purpose::Resolve { .. } | Purpose::Approve { .. } => false,
    }
}
