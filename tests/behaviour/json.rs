//! The document `quorum.run/v1`: its stable core, and that `run`, `resume` and `status` tell the same.

use serde_json::{Value, json};

use crate::support::{Has, Mission, Workspace, gate, task};

/// The keys of the contract; a document may have more, never fewer.
const RUN: &str = "schema runId mission state live resumable outcome exitCode conditions allowed startedAt finishedAt \
    deadline counts usage tasks gates missionScore approvals requests warnings";
const COUNTS: &str = "total done failed pending awaiting running notTaken clean relaxed unreviewed unverified degraded \
    belowThreshold indeterminate reworked";
const TASK: &str = "title agent status phase qualityFlag points score bar barOrigin attempts dimensions reviews failure \
    waiting dependsOn blockedBy startedAt finishedAt usage";

fn assert_keys(value: &Value, keys: &str) {
    for key in keys.split_whitespace() {
        assert!(value.get(key).is_some(), "there is no '{key}' in {value:#}");
    }
}

fn some_of_everything() -> Workspace {
    Mission::new()
        .worker("echo work")
        .agent("breaker", "exit 1")
        .judge("judge", &[r#"{"scores": {"x": {"reasoning": "why x", "score": 4}, "y": {"reasoning": "why y", "score": 5}}, "findings": []}"#])
        .key("qualityThreshold", 3)
        .key("qualityGates", json!([
            {"name": "door", "afterTasks": ["panelled", "broken"], "blocksTasks": ["behind"], "requireAllPassed": true},
        ]))
        .task("panelled", |t| t.expects(json!({
            "type": "llm_review",
            "reviewers": ["judge"],
            "dimensions": [{"name": "x", "weight": 0.5, "rubric": {"1": "bad", "5": "good"}}, {"name": "y", "weight": 0.25}],
        })))
        .task("broken", |t| t.by("breaker").attempts(2))
        .task("after", |t| t.needs("broken"))
        .tasks(["behind"])
        .workspace()
}

#[test]
fn the_document_has_its_stable_core() {
    let document = some_of_everything().run_json(3, &[]);
    assert_eq!(document["schema"], "quorum.run/v1");
    assert_keys(&document, RUN);
    assert_keys(&document["counts"], COUNTS);
    assert_keys(&document["usage"], "requests inputTokens outputTokens cost budget");
    for row in document["tasks"].as_array().unwrap() {
        assert_keys(row, TASK);
    }
    assert_keys(gate(&document, "door"), "name state avgScore reason");
    assert_keys(&document["missionScore"], "points bar passed");

    let panelled = task(&document, "panelled");
    // (4 × .5 + 5 × .25) / .75 = 4.333…
    assert_eq!(panelled["score"], 4.33);
    assert!((panelled["points"].as_f64().unwrap() - 86.67).abs() < 0.01);
    assert_eq!(
        panelled["dimensions"],
        json!([
            {"dimension": "x", "score": 4.0, "weight": 0.5, "reasoning": "why x"},
            {"dimension": "y", "score": 5.0, "weight": 0.25, "reasoning": "why y"},
        ])
    );
    assert_keys(&panelled["reviews"][0], "stage reviewer model points dimensions");
    assert_keys(&task(&document, "broken")["failure"], "mode class errorType message");
    let attempts = &task(&document, "broken")["attempts"];
    assert_eq!(
        attempts[1],
        json!({"n": 2, "kind": "retry", "verdict": "fail", "cause": "outcome", "points": null})
    );
    assert_eq!(task(&document, "after")["dependsOn"], json!(["broken"]));
    assert_eq!(task(&document, "behind")["blockedBy"], json!(["door"]));
}

#[test]
fn the_counts_add_up() {
    let document = some_of_everything().run_json(3, &[]);
    let count = |key: &str| document["counts"][key].as_u64().unwrap();
    let by_state = ["done", "failed", "pending", "awaiting", "running", "notTaken"].map(count);
    assert_eq!(by_state.iter().sum::<u64>(), count("total"));
    let by_flag = ["clean", "relaxed", "unreviewed", "unverified", "degraded", "belowThreshold"].map(count);
    assert_eq!(by_flag.iter().sum::<u64>(), count("done"));
}

#[test]
fn run_status_and_resume_tell_the_same() {
    let workspace = some_of_everything();
    let ran = workspace.run_json(3, &[]);
    assert_eq!(workspace.status(), ran);
    let resumed = workspace.resume_json(3, &[]);
    assert_eq!(resumed["tasks"], ran["tasks"]);
    assert_eq!(resumed["counts"], ran["counts"]);
    assert_eq!(workspace.status(), resumed);
}

#[test]
fn stdout_holds_the_document_and_nothing_else() {
    let workspace = some_of_everything();
    let finished = workspace.quorum(&["run", "mission.yaml", "--format", "json"]).exits(3);
    finished.json();
    assert!(!finished.stderr.contains("\"schema\""));
    let by_variable = workspace.quorum_with(&[("QUORUM_FORMAT", "json")], &["status"]).exits(0);
    by_variable.json();
}

#[test]
fn failures_are_documents_too() {
    let workspace =
        Mission::new().agent_with("worker", json!({"run": ["no-such-program"]})).tasks(["one"]).workspace();
    let refused = workspace.quorum(&["run", "mission.yaml", "--json"]).exits(9).json();
    refused.has(json!({"schema": "quorum.error/v1", "exitCode": 9, "outcome": "environment"}));
    assert!(refused["message"].to_string().contains("no-such-program"));
}
