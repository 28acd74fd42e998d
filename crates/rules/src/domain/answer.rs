//! What the longer answers of agents that are asked are made of: reports, probes, grades.

use serde::{Deserialize, Serialize};

use super::{DeclaredVerdict, Finding, Points, PriorAnswer};

/// The report of a red team or a vision check, finding by finding (section 15).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct FindingsReport {
    /// The findings that could be read.
    pub findings: Vec<Finding>,
    /// The judge's answers to the points of the review before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prior: Vec<PriorAnswer>,
    /// Why some of the report could not be read; `None` if all of it was.
    pub unread: Option<String>,
    /// Whether what could not be read speaks of something grave.
    pub grave: bool,
}

impl FindingsReport {
    /// A report that could be read whole.
    pub fn whole(findings: Vec<Finding>) -> Box<Self> {
        Box::new(Self { findings, ..Self::default() })
    }
}

/// A question with the answer yes or no that a criterion comes to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Probe {
    /// The number of the criterion, from 1.
    pub criterion: u32,
    /// The question, to be answered with yes or no.
    pub probe: String,
}

/// The reply of a judge about work by a rubric, as it was given.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RubricReply {
    /// The verdict that it declares.
    pub verdict: DeclaredVerdict,
    /// The confidence of the judge, a share as points.
    pub confidence: Points,
    /// The grades of criteria or probes.
    pub grades: Vec<GradeGiven>,
    /// The findings of the judge.
    pub findings: Vec<Finding>,
    /// The judge's answers to the points of the review before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prior: Vec<PriorAnswer>,
}

/// One grade of a judge.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GradeGiven {
    /// The criterion that is graded, as the judge spells it.
    pub criterion: String,
    /// The grade, a share from 0 to 1 as points.
    pub points: Points,
    pub reasoning: String,
}
