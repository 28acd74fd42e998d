//! SARIF 2.1.0, as code scanning of GitHub and others read it: a result for each alert.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use rules::domain::Severity;

use crate::report::{documents::RunDocument, folds::alerts::Alert, screens::summary::unwell};

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";
/// Results that GitHub shows of a run; it takes five times as many.
const MOST: usize = 5_000;
/// The most characters of a message that are kept: consumers cut longer ones.
const LONGEST: usize = 4_000;

/// The log of one run.
pub fn sarif(run: &RunDocument<'_>, alerts: &[Alert]) -> Value {
    let shown = &alerts[..alerts.len().min(MOST)];
    let mut rules: BTreeMap<&str, usize> = shown.iter().map(|alert| (alert.rule.as_str(), 0)).collect();
    rules.values_mut().enumerate().for_each(|(index, at)| *at = index);
    let results: Vec<Value> = shown.iter().map(|alert| result(alert, rules[alert.rule.as_str()])).collect();
    let mut invocation = json!({"executionSuccessful": unwell(run).is_none()});
    if let Some(outcome) = run.ended {
        invocation["exitCode"] = json!(outcome.class.exit_code());
        invocation["exitCodeDescription"] = json!(outcome.class.as_str());
    }
    if alerts.len() > MOST {
        let text =
            format!("{} more are left out: only the {MOST} most severe are shown", alerts.len() - MOST);
        invocation["toolExecutionNotifications"] = json!([{"level": "warning", "message": {"text": text}}]);
    }
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "quorum",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules.keys().map(|rule| describe(rule)).collect::<Vec<_>>(),
            }},
            "automationDetails": {"id": format!("quorum/{}/", run.mission)},
            "invocations": [invocation],
            "results": results,
        }],
    })
}

fn result(alert: &Alert, index: usize) -> Value {
    let text: String = alert.message.chars().take(LONGEST).collect();
    json!({
        "ruleId": format!("quorum/{}", alert.rule),
        "ruleIndex": index,
        "level": level(alert.severity),
        "message": {"text": text},
        "locations": [{"physicalLocation": {
            "artifactLocation": {"uri": uri(&alert.path), "uriBaseId": "%SRCROOT%"},
            "region": {"startLine": alert.line},
        }}],
        "partialFingerprints": {
            "quorum/v1": alert.fingerprint,
            "primaryLocationLineHash": format!("{}:1", alert.fingerprint),
        },
        "properties": {"severity": alert.severity.as_str()},
    })
}

fn describe(rule: &str) -> Value {
    let meaning = match rule {
        "task" => "A task of the mission did not end well.".to_owned(),
        "gate" => "A quality gate of the mission failed.".to_owned(),
        "score" => "The score of the mission is below its bar.".to_owned(),
        "run" => "The run did not end well.".to_owned(),
        stage => format!("Found in the stage {stage} of judging a task."),
    };
    let meaning: String = meaning.chars().take(1_000).collect();
    json!({
        "id": format!("quorum/{rule}"),
        "shortDescription": {"text": format!("quorum: {rule}")},
        "fullDescription": {"text": meaning},
    })
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical | Severity::High => "error",
        Severity::Medium => "warning",
        Severity::Low | Severity::Info => "note",
    }
}

/// A path as a URI reference.
fn uri(path: &str) -> String {
    let mut text = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' => text.push(byte.into()),
            _ if byte.is_ascii_alphanumeric() => text.push(byte.into()),
            _ => append!(text, "%{byte:02X}"),
        }
    }
    text
}
