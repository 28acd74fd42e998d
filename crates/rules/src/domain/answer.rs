//! What the longer answers of agents that are asked are made of: reports, probes, grades.

use serde::{Deserialize, Serialize};

use super::{DeclaredVerdict, Finding, Points, PriorAnswer};

/// The report of a red team or a vision check, finding by finding (section 15).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(from = "ReportForm", into = "ReportForm")]
pub struct FindingsReport {
    /// The findings that could be read.
    pub findings: Vec<Finding>,
    /// The judge's answers to the points of the review before.
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
        #[serde(rename = "u", skip_serializing_if = "Option::is_none")]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Probe {
    /// The number of the criterion, from 1.
    #[serde(rename = "c")]
    pub criterion: u32,
    /// The question, to be answered with yes or no.
    #[serde(rename = "t")]
    pub text: String,
}

/// The reply of a judge about work by a rubric, as it was given.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RubricReply {
    /// The grades of criteria or probes.
    #[serde(rename = "g")]
    pub grades: Vec<GradeGiven>,
    /// The verdict that it declares.
    #[serde(rename = "v")]
    pub verdict: DeclaredVerdict,
    /// The confidence of the judge, a share as points.
    #[serde(rename = "k")]
    pub confidence: Points,
    /// The findings of the judge.
    #[serde(rename = "f", default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// The judge's answers to the points of the review before.
    #[serde(rename = "a", default, skip_serializing_if = "Vec::is_empty")]
    pub prior: Vec<PriorAnswer>,
}

/// One grade of a judge.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GradeGiven {
    /// The criterion that is graded, as the judge spells it.
    #[serde(rename = "c")]
    pub criterion: String,
    /// The grade, a share from 0 to 1 as points.
    #[serde(rename = "p")]
    pub points: Points,
    #[serde(rename = "e", default, skip_serializing_if = "String::is_empty")]
    pub reasoning: String,
}
