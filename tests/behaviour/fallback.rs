//! `fallback`: who judges instead of an agent that cannot be reached.

use serde_json::json;

use crate::support::{Workspace, standing, task};

/// Work that `a` judges by `task`; `a` cannot be reached, and `b` stands in.
fn workspace(task: &str, reply: &str) -> Workspace {
    let workspace = Workspace::with(&format!(
        "
name: stood in
agents:
  worker: {{run: echo done}}
  a: {{run: 'echo \"HTTP 401 Unauthorized\" >&2; exit 1', role: reviewer, fallback: b}}
  b: {{run: [/bin/sh, '@agents/judge.sh', b]}}
tasks: [{{title: work, assignTo: worker, {task}}}]
"
    ));
    workspace.judge("b", &[reply]);
    workspace
}

const GRADES: &str = r#"{"criteria": {"correctness": {"grade": 1}, "completeness": {"grade": 1},
    "probe-adherence": {"grade": 1}}, "verdict": "pass", "confidence": 1}"#;

#[test]
fn the_agent_that_stands_in_judges_and_is_on_record() {
    let table = [
        ("review: required", "SCORE: 90"),
        ("review: none, verification: {rubric: default-task}", GRADES),
        (
            "review: none, stages: [{name: legal, agent: a}]",
            r#"{"verdict": "pass"}"#,
        ),
    ];
    for (keys, reply) in table {
        let workspace = workspace(keys, reply);
        let document = workspace.run_json(0, &[]);
        assert_eq!(standing(&document, "work"), ("done", "clean"), "{keys}");
        assert_eq!(task(&document, "work")["reviews"][0]["reviewer"], "b", "{keys}");
        let events = workspace.events();
        let fallback = events
            .iter()
            .find(|event| event["event"] == "agent:fallback")
            .unwrap();
        assert_eq!(
            (
                &fallback["agentName"],
                &fallback["insteadName"],
                &fallback["class"]
            ),
            (&json!("a"), &json!("b"), &json!("provider_auth"))
        );
        let show = workspace.quorum(&["show", "work"]).exits(0);
        assert!(
            show.stdout
                .contains("'b' judged instead of 'a', which could not be reached"),
            "{}",
            show.stdout
        );
        let told = workspace.quorum(&["events"]).exits(0);
        assert!(told.stdout.contains("agent:fallback"));
    }
}

#[test]
fn nobody_stands_in_for_its_own_work_and_bad_names_are_refused() {
    let own = workspace("review: required", "SCORE: 90").tap_mission("fallback: b", "fallback: worker");
    let document = own.run_json(6, &[]);
    assert_eq!(task(&document, "work")["waiting"]["reason"], "refer");
    for (fallback, words) in [
        ("fallback: bb", &["there is no agent", "bb", "did you mean"][..]),
        ("fallback: [b, a]", &["cannot stand in for itself"]),
        ("fallback: []", &["fallback"]),
    ] {
        let bad = workspace("review: required", "").tap_mission("fallback: b", fallback);
        bad.quorum(&["run", "mission.yaml"]).exits(2).says(words);
        bad.assert_nothing_started();
    }
}

#[test]
fn whoever_stands_in_must_be_there_before_anything_starts() {
    let workspace = workspace("review: required", "");
    let mission = workspace.read("mission.yaml");
    let other = mission.lines().find(|line| line.contains(" b: {run")).unwrap();
    let workspace = workspace.tap_mission(other, "  b: {run: [/nowhere/judge]}");
    workspace
        .quorum(&["run", "mission.yaml"])
        .exits(9)
        .says(&["agent 'b'"]);
    workspace.assert_nothing_started();
}
