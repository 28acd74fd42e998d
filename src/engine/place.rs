//! Where in the judging of an attempt, or before its start, something was asked of the world: what names an effect and its answer alike.

use serde::{Deserialize, Serialize};

use crate::domain::{AskId, Step, TaskId, TurnId};

use super::effect::Effect;
use super::fact::{ApproverSaid, Fact};

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
    /// An agent that judges.
    #[serde(rename = "k")]
    Ask {
        /// Which call.
        #[serde(rename = "k")]
        id: AskId,
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
            | Self::Approver { task, .. } => task,
            Self::Ask { id } => id.task,
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
            Self::Ask { .. } => "a judge",
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
            Self::Ask { id, purpose, .. } if purpose.is_judging() => JudgingPlace::Ask { id },
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
            Self::AskReplied { id, .. } => JudgingPlace::Ask { id },
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
