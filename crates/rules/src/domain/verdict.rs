//! What judging yields: verdicts, findings, scored dimensions (semantics, sections 1 and 2).

use rust_decimal::Decimal;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::Points;

worded! {
    /// The verdict of a stage of judging.
    pub enum Verdict {
        /// The work is good enough.
        Pass = "pass",
        /// The work is not good enough.
        Fail = "fail",
        /// A person must decide.
        Refer = "refer",
        /// The stage does not apply.
        Skip = "skip",
        /// The judge itself failed. Never a pass and never a low score.
        Fault = "fault",
    }
}

worded! {
    /// Why a verdict is what it is.
    pub enum Cause {
        /// The agent's run itself failed.
        Outcome = "outcome",
        /// Declared files are missing or empty.
        Artifact = "artifact",
        /// A cheap check before any judge.
        Preflight = "preflight",
        /// A declared check failed.
        Checks = "checks",
        /// The score is below the bar.
        Score = "score",
        /// No score could be read from the reviewer's reply.
        Unparsed = "unparsed",
        /// The judge could not be reached or failed.
        GateError = "gate-error",
        /// The judge was not sure enough.
        Confidence = "confidence",
        /// A required criterion failed.
        RequiredCriterion = "required-criterion",
        /// Nobody eligible could judge.
        NoReviewer = "no-reviewer",
        /// A person was named as its reviewer.
        Person = "person",
        /// A person sent the work back.
        Rejected = "rejected",
        /// A protected file was changed.
        Protected = "protected",
        /// The attempts are used up, and a person decides what becomes of the work.
        Exhausted = "exhausted",
        /// A finish gate was not shown to be met, and the worker was told often enough.
        Unmet = "unmet",
        /// Too many rejections in a row: the work of this model is not judged any more in its wave.
        Breaker = "breaker",
        /// One of the mission's own stages says so.
        Stage = "stage",
        /// The red team found something that blocks.
        RedTeam = "red-team",
        /// Screenshots show something that blocks.
        Vision = "vision",
        /// The files under judgement changed while they were judged, and once more when they were judged again.
        Unstable = "unstable",
        /// A file is not what it was when the work was accepted.
        Changed = "changed",
        /// The work cannot be merged as it is with work that was accepted meanwhile, or not at all.
        Merge = "merge",
        /// Every check was green before the work began, so that none of them shows that it was done.
        Vacuous = "vacuous",
        /// Tests that were there fail on the work as they were, or nobody can tell, and it changed them.
        TestsChanged = "tests-changed",
    }
}

impl Cause {
    /// Whether judges are missing: whether the work is good is not known, and they may be asked again later.
    pub fn is_of_judges(self) -> bool {
        matches!(self, Self::GateError | Self::NoReviewer | Self::Unstable)
    }

    words_of! {
        /// The problem, in words for people.
        words {
            Outcome => "the agent itself failed",
            Artifact => "declared files are missing or empty",
            Preflight => "there is no sign of work",
            Checks => "a check failed",
            Score => "the score is below the bar",
            Unparsed => "no score could be read from the review",
            GateError => "the judge could not be reached or failed",
            Confidence => "the judge was not sure enough",
            RequiredCriterion => "a required criterion is not met",
            NoReviewer => "nobody eligible could judge",
            Person => "a person must decide",
            Rejected => "a person sent the work back",
            Protected => "a protected file was changed",
            Exhausted => "the attempts are used up",
            Unmet => "what must hold before the work counts as finished was not shown to hold",
            Breaker => "too much work of this model was rejected in a row",
            Stage => "a stage of the mission rejected the work",
            RedTeam => "the red team found something that blocks",
            Vision => "screenshots show something that blocks",
            Unstable => "the files changed while they were judged",
            Changed => "a file is not what it was when the work was accepted",
            Merge => "it could not be merged as it was",
            Vacuous => "every check was green before the work began",
            TestsChanged => "it changed tests that fail on it as they were",
        }
    }
}

/// How one criterion of a verification fared (section 10).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CriterionGrade {
    /// The grade, a share from 0 to 1 as points; `None` if it could not be checked.
    #[serde(rename = "p", default, skip_serializing_if = "Option::is_none")]
    pub points: Option<Points>,
    /// The evidence that was seen, or why nothing could be said.
    #[serde(rename = "e")]
    pub evidence: String,
}

impl CriterionGrade {
    /// `passed`, `failed`, `partial` or `unchecked`, as JSON and people read it.
    pub fn result(&self) -> &'static str {
        match self.points {
            None => "unchecked",
            Some(points) if points == Points::FULL => "passed",
            Some(points) if points == Points::ZERO => "failed",
            Some(_) => "partial",
        }
    }
}

worded! {
    /// How bad a finding is.
    #[derive(PartialOrd, Ord)]
    pub enum Severity {
        /// The finding is for the record.
        Info = "info",
        /// The finding is minor.
        Low = "low",
        /// The problem should be corrected.
        Medium = "medium",
        /// The problem must be corrected.
        High = "high",
        /// Makes the work unusable.
        Critical = "critical",
    }
}

/// Something a stage found. A pass may carry findings too.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// The severity of the problem.
    pub severity: Severity,
    /// The problem, in words.
    pub description: String,
    /// The evidence, as the runtime or the reviewer saw it.
    pub evidence: Option<String>,
    /// A way to mend the problem.
    pub suggested_fix: Option<String>,
    /// Whether the finding is a point of an earlier review that nobody has shown to be addressed (semantics,
    /// section 4).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub open: bool,
}

impl Finding {
    /// A finding without evidence or a suggested fix.
    pub fn new(severity: Severity, description: impl Into<String>) -> Self {
        Self {
            severity,
            description: description.into(),
            evidence: None,
            suggested_fix: None,
            open: false,
        }
    }

    /// Adds evidence to the finding.
    #[must_use]
    pub fn with_evidence(mut self, evidence: impl Into<String>) -> Self {
        self.evidence = Some(evidence.into());
        self
    }
}

/// Whether a point of an earlier review was addressed, by the word of the next reviewer (section 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Addressed {
    /// The point was addressed.
    Yes,
    /// The point was addressed in part.
    Partly,
    /// The point was not addressed.
    No,
}

/// The answer of a reviewer to one point of the review before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PriorAnswer {
    /// The number of the point, from 1.
    #[serde(rename = "i")]
    pub point: u32,
    /// Whether the point was addressed.
    #[serde(rename = "a")]
    pub addressed: Addressed,
    /// The evidence for the answer.
    #[serde(rename = "n", default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

/// A weighted aspect that reviewers score from 1 to 5.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Dimension {
    /// The name of the dimension, as the reviewers must spell it.
    pub name: String,
    /// The weight in the mean; greater than zero.
    pub weight: Decimal,
    /// The meaning of the dimension.
    pub description: Option<String>,
    /// The meaning of each level from 1 to 5, where given.
    pub rubric: Vec<(u8, String)>,
}

/// One dimension's result: of one reviewer, or of the panel's consensus.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DimensionScore {
    /// The name of the dimension.
    pub dimension: String,
    /// The score on the scale 1 to 5, as points.
    pub points: Points,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reasoning: String,
}

/// A verdict as a judge declares it beside its grades.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeclaredVerdict {
    /// The work is good.
    Pass,
    /// The work is not good.
    Fail,
    /// A person must decide.
    Refer,
}
