//! Asking an agent: no worker's turn, but a question with an answer of a fixed form. Reviewers are asked like this too.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{DimensionScore, Finding, Opinion, Points, PriorAnswer, Step, TaskId};

/// What an agent is consulted about. The journal names it by its code; variants are only ever added.
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
    /// What a stage behind the verification says of the work (sections 6.7 and 15).
    #[serde(rename = "s")]
    Scrutinise {
        /// Which one.
        #[serde(rename = "s")]
        step: Step,
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

    /// Whether it is a judge that is asked: the same agent that did the work never is, and nobody is where judges are
    /// switched off.
    #[must_use]
    pub fn is_judging(self) -> bool {
        matches!(
            self,
            Self::Score(_) | Self::Grade { .. } | Self::Decompose { .. } | Self::Scrutinise { .. }
        )
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

/// What a consulted agent said, as far as it fits what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Advice {
    /// [`Purpose::Score`]: a score for every dimension of a panel.
    #[serde(rename = "e")]
    Scores {
        /// One for each of the task's dimensions, in their order.
        #[serde(rename = "d")]
        dimensions: Vec<DimensionScore>,
        /// What the reviewer found.
        #[serde(rename = "f", default, skip_serializing_if = "Vec::is_empty")]
        findings: Vec<Finding>,
        /// What it answered for the points of the review before.
        #[serde(rename = "a", default, skip_serializing_if = "Vec::is_empty")]
        prior: Vec<PriorAnswer>,
    },
    /// [`Purpose::Score`]: the one number of an evaluation.
    #[serde(rename = "v")]
    Evaluation {
        /// The number.
        #[serde(rename = "p")]
        points: Points,
        /// The reviewer's text.
        #[serde(rename = "t", default, skip_serializing_if = "String::is_empty")]
        reasoning: String,
        /// What it found, where it said so in a form.
        #[serde(rename = "f", default, skip_serializing_if = "Vec::is_empty")]
        findings: Vec<Finding>,
        /// What it answered for the points of the review before.
        #[serde(rename = "a", default, skip_serializing_if = "Vec::is_empty")]
        prior: Vec<PriorAnswer>,
    },
    /// [`Purpose::Confirm`]: whether it is a question.
    #[serde(rename = "q")]
    IsQuestion(bool),
    /// [`Purpose::Answer`]: the answer.
    #[serde(rename = "a")]
    Answer(String),
    /// [`Purpose::Answer`]: it does not know; a person should be asked.
    #[serde(rename = "n")]
    NoAnswer,
    /// [`Purpose::Resolve`]: the task can do without, if it is told this.
    #[serde(rename = "b")]
    Absorb {
        /// What its agent is told.
        #[serde(rename = "p")]
        prompt: String,
    },
    /// [`Purpose::Resolve`]: the dependency is to be tried again.
    #[serde(rename = "r")]
    Retry {
        /// Why.
        #[serde(rename = "w", default, skip_serializing_if = "String::is_empty")]
        reason: String,
    },
    /// [`Purpose::Resolve`]: nothing can be done.
    #[serde(rename = "u")]
    Unresolvable {
        /// Why.
        #[serde(rename = "w", default, skip_serializing_if = "String::is_empty")]
        reason: String,
    },
    /// [`Purpose::Approve`]: the task may start.
    #[serde(rename = "y")]
    Approve,
    /// [`Purpose::Approve`]: it may not.
    #[serde(rename = "z")]
    Reject {
        /// Why.
        #[serde(rename = "w")]
        reason: String,
    },
    /// [`Purpose::Approve`]: somebody else should say.
    #[serde(rename = "o")]
    Undecided {
        /// Why.
        #[serde(rename = "w", default, skip_serializing_if = "String::is_empty")]
        reason: String,
    },
    /// [`Purpose::Grade`]: its grades.
    #[serde(rename = "g")]
    Grades(Box<RubricReply>),
    /// [`Purpose::Decompose`]: the questions.
    #[serde(rename = "p")]
    Probes(Vec<Probe>),
    /// [`Purpose::Scrutinise`]: what one of the mission's own stages says.
    #[serde(rename = "s")]
    Opinion(Box<Opinion>),
    /// [`Purpose::Scrutinise`]: what a red team or a vision check found, as far as its report could be read.
    #[serde(rename = "f")]
    Findings(Box<FindingsReport>),
    /// It does not fit what was asked, so it says nothing.
    #[serde(rename = "x")]
    Unreadable {
        /// Why.
        #[serde(rename = "w")]
        why: String,
        /// The beginning of the reply.
        #[serde(rename = "t", default, skip_serializing_if = "String::is_empty")]
        excerpt: String,
        /// Whether it speaks of something grave all the same: a report that must not be passed over (section 15).
        #[serde(rename = "g", default, skip_serializing_if = "std::ops::Not::not")]
        grave: bool,
    },
}

/// What a red team or a vision check reported, finding by finding (section 15).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "ReportForm", into = "ReportForm")]
pub struct FindingsReport {
    /// The findings that could be read.
    pub findings: Vec<Finding>,
    /// What it answered for the points of the review before.
    pub prior: Vec<PriorAnswer>,
    /// Why some of the report could not be read; `None` if all of it was.
    pub unread: Option<String>,
    /// Whether what could not be read speaks of something grave.
    pub grave: bool,
}

impl FindingsReport {
    /// A report that could be read whole.
    pub fn whole(findings: Vec<Finding>) -> Box<Self> {
        Box::new(Self {
            findings,
            ..Self::default()
        })
    }
}

/// How a report stands in a journal: as the list of its findings, unless there is more to say.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum ReportForm {
    Whole(Vec<Finding>),
    InPart {
        #[serde(rename = "f", default, skip_serializing_if = "Vec::is_empty")]
        findings: Vec<Finding>,
        #[serde(rename = "a", default, skip_serializing_if = "Vec::is_empty")]
        prior: Vec<PriorAnswer>,
        #[serde(rename = "u", default, skip_serializing_if = "Option::is_none")]
        unread: Option<String>,
        #[serde(rename = "g", default, skip_serializing_if = "std::ops::Not::not")]
        grave: bool,
    },
}

impl From<ReportForm> for FindingsReport {
    fn from(form: ReportForm) -> Self {
        match form {
            ReportForm::Whole(findings) => *Self::whole(findings),
            ReportForm::InPart {
                findings,
                prior,
                unread,
                grave,
            } => Self {
                findings,
                prior,
                unread,
                grave,
            },
        }
    }
}

impl From<FindingsReport> for ReportForm {
    fn from(report: FindingsReport) -> Self {
        let FindingsReport {
            findings,
            prior,
            unread,
            grave,
        } = report;
        if unread.is_none() && prior.is_empty() && !grave {
            return Self::Whole(findings);
        }
        Self::InPart {
            findings,
            prior,
            unread,
            grave,
        }
    }
}

/// A question with the answer yes or no that a criterion comes to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    /// The criterion, by its number from 1.
    #[serde(rename = "c")]
    pub criterion: u32,
    /// The question.
    #[serde(rename = "t")]
    pub text: String,
}

/// What a judge said about work by a rubric, as it said it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RubricReply {
    /// The grades, whatever they are grades of.
    #[serde(rename = "g")]
    pub grades: Vec<GradeGiven>,
    /// The verdict that it declares.
    #[serde(rename = "v")]
    pub verdict: DeclaredVerdict,
    /// How sure it is, a share as points.
    #[serde(rename = "k")]
    pub confidence: Points,
    /// What it found.
    #[serde(rename = "f", default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// What it answered for the points of the review before.
    #[serde(rename = "a", default, skip_serializing_if = "Vec::is_empty")]
    pub prior: Vec<PriorAnswer>,
}

/// One grade of a judge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GradeGiven {
    /// What it is a grade of, as the judge spells it.
    #[serde(rename = "c")]
    pub criterion: String,
    /// The grade, a share from 0 to 1 as points.
    #[serde(rename = "p")]
    pub points: Points,
    /// Why.
    #[serde(rename = "e", default, skip_serializing_if = "String::is_empty")]
    pub reasoning: String,
}

/// A verdict as a judge declares it beside its grades.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeclaredVerdict {
    /// It is good.
    Pass,
    /// It is not.
    Fail,
    /// A person must decide.
    Refer,
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
