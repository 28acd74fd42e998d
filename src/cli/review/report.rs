//! What came out of a review, for people and as `quorum.review/v1`.

use serde_json::{Value, json};

use crate::cli::screen::Screen;
use crate::domain::{Finding, OutcomeClass};
use crate::report::review::{ReviewResult, human};

use super::{GraderChoice, Subject};

/// Prints it.
pub(super) fn print<'a>(
    screen: &Screen,
    subject: &Subject,
    grader: GraderChoice,
    class: OutcomeClass,
    task: &'a Value,
    warnings: &Value,
    findings: &[Finding],
) {
    let graded = task["reviews"].as_array().into_iter().flatten();
    let graded = graded
        .into_iter()
        .find(|review| review["stage"] == "verification");
    let criteria = graded.map(|review| &review["criteria"]);
    let text = |value: &'a Value| value.as_str().unwrap_or_default();
    let scored = |row: &'a Value| {
        let score = row["score"].as_f64().unwrap_or_default();
        (text(&row["dimension"]), score, text(&row["reasoning"]))
    };
    let judged = |row: &'a Value| {
        (
            text(&row["result"]),
            text(&row["criterion"]),
            text(&row["evidence"]),
        )
    };
    let rows = |value: &'a Value| value.as_array().into_iter().flatten();
    let result = ReviewResult {
        subject: &subject.title,
        class,
        points: task["points"].as_f64(),
        bar: task["bar"].as_f64(),
        dimensions: rows(&task["dimensions"]).map(scored).collect(),
        criteria: criteria.map_or_else(Vec::new, |criteria| rows(criteria).map(judged).collect()),
        // What a grader found stands in its criteria.
        findings: if graded.is_some() { &[] } else { findings },
    };
    if screen.is_json() {
        return screen.document(&json!({
            "schema": "quorum.review/v1",
            "subject": subject.title,
            "grader": grader.as_str(),
            "verdict": result.verdict(),
            "outcome": class.as_str(),
            "exitCode": class.exit_code(),
            "points": task["points"],
            "score": task["score"],
            "bar": task["bar"],
            "confidence": graded.map(|review| &review["confidence"]),
            "criteria": criteria.unwrap_or(&json!([])),
            "dimensions": task["dimensions"],
            "reviews": task["reviews"],
            "findings": findings,
            "warnings": warnings,
        }));
    }
    screen.result(&human(&result, &screen.out()));
}
