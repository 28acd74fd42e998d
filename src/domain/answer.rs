//! What an agent answers that is asked something: one fixed form for each [`super::Purpose`].

use serde::{Deserialize, Serialize};

use super::{DeclaredVerdict, DimensionScore, Finding, Opinion, Points, PriorAnswer};

/// What an agent said that was asked, as far as it fits what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// [`super::Purpose::Score`]: a score for every dimension of a panel.
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
    /// [`super::Purpose::Score`]: the one number of an evaluation.
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
    /// [`super::Purpose::Confirm`]: whether it is a question.
    #[serde(rename = "q")]
    IsQuestion(bool),
    /// [`super::Purpose::Answer`]: the answer.
    #[serde(rename = "a")]
    Text(String),
    /// [`super::Purpose::Answer`]: it does not know; a person should be asked.
    #[serde(rename = "n")]
    DoesNotKnow,
    /// [`super::Purpose::Resolve`]: the task can do without, if it is told this.
    #[serde(rename = "b")]
    Absorb {
        /// What its agent is told.
        #[serde(rename = "p")]
        prompt: String,
    },
    /// [`super::Purpose::Resolve`]: the dependency is to be tried again.
    #[serde(rename = "r")]
    Retry {
        /// Why.
        #[serde(rename = "w", default, skip_serializing_if = "String::is_empty")]
        reason: String,
    },
    /// [`super::Purpose::Resolve`]: nothing can be done.
    #[serde(rename = "u")]
    Unresolvable {
        /// Why.
        #[serde(rename = "w", default, skip_serializing_if = "String::is_empty")]
        reason: String,
    },
    /// [`super::Purpose::Approve`]: the task may start.
    #[serde(rename = "y")]
    Approve,
    /// [`super::Purpose::Approve`]: it may not.
    #[serde(rename = "z")]
    Reject {
        /// Why.
        #[serde(rename = "w")]
        reason: String,
    },
    /// [`super::Purpose::Approve`]: somebody else should say.
    #[serde(rename = "o")]
    Undecided {
        /// Why.
        #[serde(rename = "w", default, skip_serializing_if = "String::is_empty")]
        reason: String,
    },
    /// [`super::Purpose::Grade`]: its grades.
    #[serde(rename = "g")]
    Grades(Box<RubricReply>),
    /// [`super::Purpose::Decompose`]: the questions.
    #[serde(rename = "p")]
    Probes(Vec<Probe>),
    /// [`super::Purpose::Scrutinise`]: what one of the mission's own stages says.
    #[serde(rename = "s")]
    Opinion(Box<Opinion>),
    /// [`super::Purpose::Scrutinise`]: what a red team or a vision check found, as far as its report could be read.
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
