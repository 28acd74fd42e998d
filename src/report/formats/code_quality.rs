//! GitLab's report of code quality: an issue for each alert.

use serde_json::{Value, json};

use rules::domain::Severity;

use crate::report::folds::alerts::Alert;

/// The issues of one run.
pub fn code_quality(alerts: &[Alert]) -> Value {
    let issue = |alert: &Alert| {
        json!({
            "description": alert.message,
            "check_name": format!("quorum/{}", alert.rule),
            "fingerprint": alert.fingerprint,
            "severity": severity(alert.severity),
            "location": {"path": alert.path, "lines": {"begin": alert.line}},
        })
    };
    alerts.iter().map(issue).collect()
}

fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Info => "info",
        Severity::Low => "minor",
        Severity::Medium => "major",
        Severity::High => "critical",
        Severity::Critical => "blocker",
    }
}
