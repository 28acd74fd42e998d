//! What came out of a review, for people and as `quorum.review/v1`.

use serde_json::{Value, json};

use crate::cli::screen::Screen;
use crate::domain::{Finding, OutcomeClass};

use super::{GraderChoice, Subject};

/// Prints it.
pub(super) fn print(
    screen: &Screen,
    subject: &Subject,
    grader: GraderChoice,
    class: OutcomeClass,
    task: &Value,
    warnings: &Value,
    findings: &[Finding],
) {
    let verdict = match class {
        OutcomeClass::Ok => "pass",
        OutcomeClass::BelowThreshold => "fail",
        _ => "indeterminate",
    };
    let none = json!([]);
    let graded = task["reviews"].as_array().into_iter().flatten();
    let graded = graded
        .into_iter()
        .find(|review| review["stage"] == "verification");
    let criteria = graded.map_or(&none, |review| &review["criteria"]);
    if screen.is_json() {
        return screen.document(&json!({
            "schema": "quorum.review/v1",
            "subject": subject.title,
            "grader": grader.as_str(),
            "verdict": verdict,
            "outcome": class.as_str(),
            "exitCode": class.exit_code(),
            "points": task["points"],
            "score": task["score"],
            "bar": task["bar"],
            "confidence": graded.map(|review| &review["confidence"]),
            "criteria": criteria,
            "dimensions": task["dimensions"],
            "reviews": task["reviews"],
            "findings": findings,
            "warnings": warnings,
        }));
    }
    let mut text = format!("{}: {verdict}", subject.title);
    if !task["points"].is_null() {
        text.push_str(&format!(
            ", {} of 100 points against a bar of {}",
            task["points"], task["bar"]
        ));
    }
    text.push('\n');
    for dimension in task["dimensions"].as_array().into_iter().flatten() {
        let (name, why) = (dimension["dimension"].as_str(), dimension["reasoning"].as_str());
        let line = format!(
            "  {} {}: {}",
            dimension["score"],
            name.unwrap_or_default(),
            why.unwrap_or_default()
        );
        text.push_str(&crate::report::sanitize(&line));
        text.push('\n');
    }
    for row in criteria.as_array().into_iter().flatten() {
        let words = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
        let line = format!(
            "  {} {}: {}",
            words("result"),
            words("criterion"),
            words("evidence")
        );
        text.push_str(&crate::report::sanitize(&line));
        text.push('\n');
    }
    // What a grader found stands in its criteria.
    let findings = if graded.is_some() { &[][..] } else { findings };
    for finding in findings {
        let line = format!("  [{}] {}", finding.severity.as_str(), finding.description);
        text.push_str(&crate::report::sanitize(&line));
        text.push('\n');
    }
    text.push_str(&format!("exit {} ({})\n", class.exit_code(), class.as_str()));
    screen.result(&text);
}
