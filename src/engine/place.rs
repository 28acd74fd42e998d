//! Where in the judging of an attempt, or before its start, something was asked of the world: what names an effect and its answer alike.

use serde::{Deserialize, Serialize};

use crate::domain::{AskId, TaskId, TurnId};

use super::effect::Effect;
use super::fact::Fact;
use super::job::{ApproverSaid, Job, JobEnd};

/// A part of judging that was asked for and can come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum JudgingPlace {
    /// A command, with the turn at which its task was.
    Job(TurnId, Job),
    /// An agent that judges.
    Ask(AskId),
}

impl JudgingPlace {
    /// Whose work is judged.
    #[must_use]
    pub fn task(self) -> TaskId {
        match self {
            Self::Job(turn, _) => turn.task,
            Self::Ask(id) => id.task,
        }
    }

    /// What it is, for people.
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            Self::Ask(_) => "a judge",
            Self::Job(_, job) => match job {
                Job::Finish(_) => "a command of its finish gate",
                Job::Check(_) => "a check",
                Job::Grade(_) => "its verification",
                Job::Stage(..) => "a stage",
                Job::Approver { .. } => "an approver",
                Job::Scan { .. } | Job::Artifacts(_) => "a look at its files",
            },
        }
    }
}

impl Job {
    /// Whether somebody judges by it; a look at files serves whoever does.
    fn judges(self) -> bool {
        !matches!(self, Self::Scan { .. } | Self::Artifacts(_))
    }
}

impl Effect {
    /// Where in judging it is, if it is a part of that.
    #[must_use]
    pub fn place(&self) -> Option<JudgingPlace> {
        match *self {
            Self::Job { turn, job } if job.judges() => Some(JudgingPlace::Job(turn, job)),
            Self::Ask { id, purpose, .. } if purpose.is_judging() => Some(JudgingPlace::Ask(id)),
            _ => None,
        }
    }
}

impl Fact {
    /// What part of judging has come back with a word. One that failed has none.
    #[must_use]
    pub fn place(&self) -> Option<JudgingPlace> {
        match self {
            Self::JobEnded { turn, job, end } => {
                let is_word =
                    job.judges() && !matches!(end, JobEnd::Seen { .. } | JobEnd::Said(ApproverSaid::Open(_)));
                is_word.then_some(JudgingPlace::Job(*turn, *job))
            }
            Self::AskReplied { id, .. } => Some(JudgingPlace::Ask(*id)),
            _ => None,
        }
    }
}
