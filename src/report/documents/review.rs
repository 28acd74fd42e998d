//! `quorum.review/v1`: what a review of work came to that no run did.

use schemars::JsonSchema;
use serde::Serialize;

use super::fields;
use super::reviews::{CriterionRow, ReviewRow};
use super::run::RunDocument;
use super::task::DimensionRow;
use rules::domain::{Finding, OutcomeClass, Points, TaskId};

/// What a review of work came to that no run did: `quorum review`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "schema", rename = "quorum.review/v1")]
pub struct ReviewDocument<'a> {
    /// The work that was judged.
    pub(crate) subject: &'a str,
    /// The kind of judge: `llm`, the reviewers, or `heuristic`, plain facts.
    grader: &'a str,
    /// `pass`, `fail` or `indeterminate`.
    verdict: &'static str,
    /// The outcome that gives the exit code.
    #[schemars(with = "fields::OutcomeShape")]
    outcome: &'static str,
    /// The exit code of the process.
    exit_code: u8,
    /// The score in points; `null` where there is none.
    pub(crate) points: Option<f64>,
    /// The score on the scale from 1 to 5; `null` where there is none.
    score: Option<f64>,
    /// The bar for the score, in points.
    pub(crate) bar: Option<f64>,
    /// How sure a verification was.
    confidence: Option<f64>,
    /// The criteria as a verification graded them; `null` where it said nothing of any.
    pub(crate) criteria: Option<Vec<CriterionRow<'a>>>,
    /// The dimensions as the reviewers scored them together.
    pub(crate) dimensions: Vec<DimensionRow<'a>>,
    /// The words of each reviewer.
    reviews: Vec<ReviewRow<'a>>,
    /// The findings of all stages.
    pub(crate) findings: &'a [Finding],
    /// Sentences about the review that a person should know.
    warnings: &'a [String],
}

impl<'a> ReviewDocument<'a> {
    /// Nothing but what it was about and what it means for the exit code.
    pub(crate) fn new(subject: &'a str, grader: &'a str, class: OutcomeClass) -> Self {
        Self {
            subject,
            grader,
            verdict: match class {
                OutcomeClass::Ok => "pass",
                OutcomeClass::BelowThreshold => "fail",
                // Whatever else there is says nothing of the work.
                _ => "indeterminate",
            },
            outcome: class.as_str(),
            exit_code: class.exit_code(),
            points: None,
            score: None,
            bar: None,
            confidence: None,
            criteria: Some(Vec::new()),
            dimensions: Vec::new(),
            reviews: Vec::new(),
            findings: &[],
            warnings: &[],
        }
    }

    /// Makes the document of work that nobody can judge.
    pub fn without_verdict(subject: &'a str, class: OutcomeClass, findings: &'a [Finding]) -> Self {
        Self { findings, ..Self::new(subject, "llm", class) }
    }

    /// Makes the document from a run that judged this work and did nothing else.
    pub fn of(
        run: &RunDocument<'a>,
        task: TaskId,
        (subject, grader): (&'a str, &'a str),
        class: OutcomeClass,
        findings: &'a [Finding],
    ) -> Self {
        let task = run.tasks.row(task);
        let graded = task.graded();
        let criteria = graded.map_or_else(Vec::new, |review| review.criteria.clone());
        Self {
            points: task.points.map(Points::to_f64),
            score: task.points.map(Points::score_f64),
            bar: task.bar.map(|bar| bar.points.to_f64()),
            confidence: graded.and_then(|review| review.confidence),
            criteria: (graded.is_none() || !criteria.is_empty()).then_some(criteria),
            dimensions: task.dimensions,
            reviews: task.reviews,
            findings,
            warnings: run.warnings,
            ..Self::new(subject, grader, class)
        }
    }
}
