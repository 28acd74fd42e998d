//! What an agent is asked: no worker's turn, but a question with an answer of a fixed form. Reviewers are asked like this
//! too.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Stage, StageKey, TaskId};

/// What an agent is asked about. The journal names it by its code; variants are only ever added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Purpose {
    /// What the work is worth by a panel's dimensions, or in one number (sections 7 and 9).
    #[serde(rename = "j")]
    Score(SeatPlace),
    /// Whether what another agent said instead of working is a question (section 5).
    #[serde(rename = "c")]
    Confirm,
    /// What another agent asked (section 5).
    #[serde(rename = "a")]
    Answer,
    /// What becomes of a task whose dependency failed (section 11).
    #[serde(rename = "r")]
    Resolve {
        /// The dependency.
        #[serde(rename = "d")]
        dependency: TaskId,
    },
    /// Whether a task may start (section 5).
    #[serde(rename = "p")]
    Approve {
        /// The approval, by its number within the task.
        #[serde(rename = "n")]
        number: u32,
        /// Which of its approvers the agent is, by position.
        #[serde(rename = "a")]
        approver: u32,
    },
    /// What the work is worth by a rubric (section 10).
    #[serde(rename = "g")]
    Grade {
        /// The round of the verification, from 1.
        #[serde(rename = "r")]
        round: u32,
    },
    /// Which yes-or-no questions the criteria of a task come to (section 10).
    #[serde(rename = "d")]
    Decompose {
        /// The round of the verification, from 1.
        #[serde(rename = "r")]
        round: u32,
    },
    /// What a further stage says of the work (sections 6.7 and 15).
    #[serde(rename = "s")]
    Scrutinise {
        /// Which one.
        #[serde(rename = "s")]
        step: StageKey,
        /// Its round, from 1.
        #[serde(rename = "r")]
        round: u32,
    },
}

impl Purpose {
    /// The seat of a panel or an evaluation that is asked.
    #[must_use]
    pub fn seat(self) -> Option<SeatPlace> {
        match self {
            Self::Score(place) => Some(place),
            _ => None,
        }
    }

    /// The stage whose verdict rests on the answer; `None` where no stage asks.
    #[must_use]
    pub fn stage(self) -> Option<Stage> {
        match self {
            Self::Score(_) => Some(Stage::Judge),
            Self::Grade { .. } | Self::Decompose { .. } => Some(Stage::Verification),
            Self::Scrutinise { step, .. } => Some(step.stage()),
            Self::Confirm | Self::Answer | Self::Resolve { .. } | Self::Approve { .. } => None,
        }
    }

    /// Which of several stages of that kind it is.
    #[must_use]
    pub fn step(self) -> Option<StageKey> {
        match self {
            Self::Scrutinise { step, .. } => Some(step),
            _ => None,
        }
    }

    /// The task whose failure it is about.
    #[must_use]
    pub fn dependency(self) -> Option<TaskId> {
        match self {
            Self::Resolve { dependency } => Some(dependency),
            _ => None,
        }
    }

    /// Whether it is a judge that is asked: the same agent that did the work never is, and nobody is where judges are
    /// switched off.
    #[must_use]
    pub fn is_judging(self) -> bool {
        self.stage().is_some()
    }

    /// Which time a judge is asked for the same, from 1; `None` where nobody judges.
    #[must_use]
    pub fn round(self) -> Option<u32> {
        match self {
            Self::Score(SeatPlace { round, .. })
            | Self::Grade { round }
            | Self::Decompose { round }
            | Self::Scrutinise { round, .. } => Some(round),
            Self::Confirm | Self::Answer | Self::Resolve { .. } | Self::Approve { .. } => None,
        }
    }

    /// The word for it: in events, and for the agent that is asked (`QUORUM_PURPOSE`).
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Score(_) => "score",
            Self::Confirm => "confirm",
            Self::Answer => "answer",
            Self::Resolve { .. } => "resolve",
            Self::Approve { .. } => "approve",
            Self::Grade { .. } => "grade",
            Self::Decompose { .. } => "decompose",
            Self::Scrutinise { step, .. } => step.as_str(),
        }
    }
}

/// Which seat of which round is asked about an attempt: the name of the work to the outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct SeatPlace {
    /// The attempt that is judged.
    #[serde(rename = "a")]
    pub attempt: u32,
    /// The round in which reviewers were asked about this attempt, from 1.
    #[serde(rename = "r")]
    pub round: u32,
    /// The seat, from 0.
    #[serde(rename = "s")]
    pub seat: u32,
}

/// Which call to an agent that is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AskId {
    /// The task that it is about.
    #[serde(rename = "t")]
    pub task: TaskId,
    /// Its number within the task, from 1 over the whole run.
    #[serde(rename = "n")]
    pub number: u32,
    /// The try, from 1: request retries count on.
    #[serde(rename = "y")]
    pub attempt_try: u32,
}

impl fmt::Display for AskId {
    /// `12.ask.1.1`: how its spool files are named.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.ask.{}.{}", self.task.0, self.number, self.attempt_try)
    }
}
