//! The result of `quorum review` for people.

use std::fmt::Write as _;

use crate::domain::{Finding, OutcomeClass};

use super::style::{Role, Screen};
use super::text::{number, sanitize};

/// What a review came to.
#[derive(Debug)]
pub struct ReviewResult<'a> {
    /// What was judged.
    pub subject: &'a str,
    /// What that means for the exit code.
    pub class: OutcomeClass,
    /// The consensus, 0 to 100.
    pub points: Option<f64>,
    /// The bar it was held against.
    pub bar: Option<f64>,
    /// Dimension, score from 1 to 5, reasoning. It is shown in points.
    pub dimensions: Vec<(&'a str, f64, &'a str)>,
    /// Of a verification: result, criterion, evidence.
    pub criteria: Vec<(&'a str, &'a str, &'a str)>,
    /// What the reviewers found.
    pub findings: &'a [Finding],
}

impl ReviewResult<'_> {
    /// `pass`, `fail` or `indeterminate`.
    #[must_use]
    pub fn verdict(&self) -> &'static str {
        match self.class {
            OutcomeClass::Ok => "pass",
            OutcomeClass::BelowThreshold => "fail",
            // Whatever else there is says nothing of the work.
            _ => "indeterminate",
        }
    }
}

/// The page, with a line feed at its end.
#[must_use]
pub fn human(result: &ReviewResult<'_>, screen: &Screen) -> String {
    let is_good = result.class == OutcomeClass::Ok;
    let role = if is_good { Role::Good } else { Role::Bad };
    let verdict = screen.style.paint(role, result.verdict());
    let mut text = format!("{}: {verdict}", sanitize(result.subject));
    if let (Some(points), Some(bar)) = (result.points, result.bar) {
        let _ = write!(text, ", {points} of 100 points against a bar of {bar}");
    }
    text.push('\n');
    for (name, score, why) in &result.dimensions {
        let points = number(score * 20.0);
        let _ = writeln!(text, "  {points} {}: {}", sanitize(name), sanitize(why));
    }
    for (met, criterion, evidence) in &result.criteria {
        let (criterion, evidence) = (sanitize(criterion), sanitize(evidence));
        let _ = writeln!(text, "  {met} {criterion}: {evidence}");
    }
    for finding in result.findings {
        let what = sanitize(&finding.description);
        let _ = writeln!(text, "  [{}] {what}", finding.severity.as_str());
    }
    let _ = writeln!(
        text,
        "exit {} ({})",
        result.class.exit_code(),
        result.class.as_str()
    );
    screen.wrap(&text)
}
