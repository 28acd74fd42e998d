//! What judging yields: verdicts, findings, scored dimensions (semantics, sections 1 and 2).

use rust_decimal::Decimal;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::Points;

worded! {
    /// The verdict of a stage of judging.
    pub enum Verdict {
        /// What was judged is as it must be.
        Pass = "pass",
        /// The work is not as it must be, and goes back as long as attempts are left.
        Fail = "fail",
        /// Nobody could decide safely, so a person must: `quorum approve ID` accepts the work, `quorum reject ID
        /// --reason TEXT` sends it back.
        Refer = "refer",
        /// The stage did not apply.
        Skip = "skip",
        /// A judge or stage failed. That says nothing about the work; `quorum resume` asks again.
        Fault = "fault",
    }
}

worded! {
    /// Why a verdict is what it is.
    pub enum Cause {
        /// The agent itself failed: it crashed, timed out, or its provider refused it.
        Outcome = "outcome",
        /// Declared target files are missing or empty. The work went back before any review.
        Artifact = "artifact",
        /// There is no sign of work.
        Preflight = "preflight",
        /// A check failed; its output is shown.
        Checks = "checks",
        /// The score is below the bar.
        Score = "score",
        /// No score could be read from a judge's reply, twice. `quorum show TASK` has the reply; the page of agents
        /// says what a judge must print.
        Unparsed = "unparsed",
        /// A judge could not be asked or failed. `quorum resume` asks again.
        GateError = "gate-error",
        /// The judges were less sure than `minConfidence` or `referBelow` asks for, or the score lies where labelled
        /// work (`calibration`) says that verdicts are often wrong, so a person decides.
        Confidence = "confidence",
        /// A criterion that must be met is not, whatever the score.
        RequiredCriterion = "required-criterion",
        /// A review was asked for, and nobody who may judge the work is there. Add an agent with `role: reviewer`
        /// that is independent of the author.
        NoReviewer = "no-reviewer",
        /// A person decided.
        Person = "person",
        /// A person sent the work back.
        Rejected = "rejected",
        /// A file that no agent may change was changed.
        Protected = "protected",
        /// No attempt is left. `onExhausted` says what follows.
        Exhausted = "exhausted",
        /// What must hold before the work counts as finished (`verify`) was not shown to hold.
        Unmet = "unmet",
        /// So much work of this model was rejected in a row that it is not judged any more in this wave
        /// (`judgeBreaker`). What it does is unverified.
        Breaker = "breaker",
        /// A stage of the mission's own rejected the work.
        Stage = "stage",
        /// The red team found something that blocks.
        RedTeam = "red-team",
        /// Screenshots show something that blocks.
        Vision = "vision",
        /// The files changed while they were judged, and once more when they were judged again. Let nothing else
        /// write to the workspace.
        Unstable = "unstable",
        /// A file is not what it was when the work was judged or accepted, so it is judged again.
        Changed = "changed",
        /// Others changed the same lines, or a check fails on both together, or git cannot take the work.
        Merge = "merge",
        /// Every check was green before the work began, so that none of them shows that it was done, and nobody
        /// judged it. It is `unreviewed`, with `proof: required` `unverified`. Add a check that fails now, write
        /// `before: green` where it only guards, or let somebody judge.
        Vacuous = "vacuous",
        /// The work changed or removed tests that were there, and as they were they fail on it, or nobody can tell.
        /// Where nobody judges it, it goes back once, and is `unverified` then. Where it is meant: `mayChangeTests:
        /// true` on the task, or the files in its `targetFiles`.
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
    pub points: Option<Points>,
    /// The evidence that was seen, or why nothing could be said.
    pub evidence: String,
}

worded! {
    /// The result of one criterion.
    pub enum CriterionResult {
        /// The criterion is met.
        Passed = "passed",
        /// The criterion is not met.
        Failed = "failed",
        /// The criterion is met in part.
        Partial = "partial",
        /// Nothing could be said about the criterion. `clarification` sets what follows.
        Unchecked = "unchecked",
    }
}

impl CriterionGrade {
    /// The result that the points come to.
    pub fn result(&self) -> CriterionResult {
        match self.points {
            None => CriterionResult::Unchecked,
            Some(points) if points == Points::FULL => CriterionResult::Passed,
            Some(points) if points == Points::ZERO => CriterionResult::Failed,
            Some(_) => CriterionResult::Partial,
        }
    }
}

worded! {
    /// How bad a finding is.
    #[derive(PartialOrd, Ord)]
    pub enum Severity {
        /// For the record, not a fault.
        Info = "info",
        /// A small fault.
        Low = "low",
        /// A fault that should be corrected.
        Medium = "medium",
        /// A serious fault. Always shown, also in accepted work.
        High = "high",
        /// Must not be accepted. Always shown.
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
        Self { severity, description: description.into(), evidence: None, suggested_fix: None, open: false }
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
    pub id: u32,
    /// Whether the point was addressed.
    pub addressed: Addressed,
    /// The evidence for the answer.
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
    #[serde(rename = "score")]
    pub points: Points,
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
