//! Gates between tasks, the mission's own threshold, and `quorum gate`.

use serde_json::json;

use crate::support::journal;
use crate::support::{Has, Mission, Says, Workspace, gate, standing, task};

/// Two tasks before a door and one behind it, and one that has nothing to do with it.
fn gated(gate: &str, settings: &str) -> Workspace {
    Workspace::with(&format!(
        "
name: gated
agents:
  worker: {{run: [/bin/sh, '@agents/logger.sh', log]}}
  breaker: {{run: 'echo $QUORUM_TASK $QUORUM_ATTEMPT $QUORUM_TURN >> log; exit 1'}}
  ja: {{run: [/bin/sh, '@agents/judge.sh', ja]}}
  jb: {{run: [/bin/sh, '@agents/judge.sh', jb]}}
settings: {{concurrency: 1{settings}}}
tasks:
  - {{title: a, assignTo: worker, maxAttempts: 1, expectations: [{{type: llm_review, reviewers: [ja], dimensions: [{{name: x, weight: 1}}]}}]}}
  - {{title: b, assignTo: worker, maxAttempts: 1, expectations: [{{type: llm_review, reviewers: [jb], dimensions: [{{name: x, weight: 1}}]}}]}}
  - {{title: broken, assignTo: breaker, maxAttempts: 1}}
  - {{title: behind, assignTo: worker}}
  - {{title: beside, assignTo: worker, priority: 0.1}}
qualityGates:
  - {{name: door, blocksTasks: [behind], {gate}}}
"
    ))
}

fn score(workspace: &Workspace, judge: &str, score: u8) {
    workspace.judge(judge, &[&format!(r#"{{"scores": {{"x": {{"reasoning": "r", "score": {score}}}}}}}"#)]);
}

#[test]
fn a_gate_opens_at_its_mean_score_exactly() {
    for (scores, opens) in [((5, 3), true), ((4, 3), false)] {
        let workspace = gated("afterTasks: [a, b], minScore: 4", "");
        score(&workspace, "ja", scores.0);
        score(&workspace, "jb", scores.1);
        let document = workspace.run_json(3, &[]);
        let door = gate(&document, "door");
        assert_eq!(door["state"], if opens { "passed" } else { "failed" });
        assert_eq!(door["avgScore"], if opens { 4.0 } else { 3.5 });
        assert_eq!(standing(&document, "behind").0, if opens { "done" } else { "pending" });
        // Independent work goes on.
        assert_eq!(standing(&document, "beside").0, "done");
        workspace.quorum(&["gate", "door"]).exits(if opens { 0 } else { 4 });
    }
}

#[test]
fn a_gate_orders_tasks_without_any_dependency() {
    let workspace = gated("afterTasks: [a, beside]", "");
    score(&workspace, "ja", 5);
    score(&workspace, "jb", 5);
    workspace.run_json(3, &[]);
    let log = workspace.lines("log");
    let position = |title: &str| log.iter().position(|line| line.starts_with(title)).unwrap();
    assert!(position("behind") > position("beside") && position("behind") > position("a "));
}

#[test]
fn a_gate_may_ask_that_none_failed() {
    let workspace = gated("afterTasks: [a, broken], requireAllPassed: true", "");
    score(&workspace, "ja", 5);
    score(&workspace, "jb", 5);
    let document = workspace.run_json(3, &[]);
    assert_eq!(document["conditions"], serde_json::json!(["task_failed", "gate_failed"]));
    gate(&document, "door")["reason"].to_string().says(&["broken"]);
    assert_eq!(task(&document, "behind")["blockedBy"], serde_json::json!(["door"]));
}

#[test]
fn failed_work_counts_for_the_mean() {
    let workspace = gated("afterTasks: [a, b], minScore: 3", "");
    score(&workspace, "ja", 4);
    score(&workspace, "jb", 1);
    let document = workspace.run_json(3, &[]);
    assert_eq!(standing(&document, "b").0, "failed");
    gate(&document, "door").has(json!({"avgScore": 2.5, "state": "failed"}));
}

#[test]
fn a_score_gate_over_unscored_work_fails_and_says_why() {
    let workspace = gated("afterTasks: [beside], minScore: 1", "");
    score(&workspace, "ja", 5);
    score(&workspace, "jb", 5);
    let document = workspace.run_json(3, &[]);
    gate(&document, "door")["reason"].to_string().says(&["no score", "beside"]);
}

#[test]
fn a_halting_gate_lets_nothing_more_start() {
    let workspace = gated("afterTasks: [a], minScore: 5, onFail: halt", "");
    score(&workspace, "ja", 4);
    score(&workspace, "jb", 4);
    let document = workspace.run_json(4, &[]);
    assert_eq!(workspace.lines("log"), ["a 1 1"]);
    for title in ["b", "broken", "behind", "beside"] {
        assert_eq!(standing(&document, title).0, "pending", "{title}");
    }
    assert_eq!(document["resumable"], true);
}

#[test]
fn quorum_gate_tells_what_the_state_says_and_changes_nothing() {
    let workspace = Mission::new()
        .key("name", "gates")
        .worker("true")
        .agent("breaker", "exit 1")
        .agent("slow", "sleep 60")
        .key(
            "qualityGates",
            json!([
                {"name": "passes", "afterTasks": ["good"], "blocksTasks": ["slow"]},
                {"name": "fails", "afterTasks": ["bad"], "blocksTasks": ["slow"], "requireAllPassed": true},
                {"name": "waits", "afterTasks": ["slow"], "blocksTasks": ["last"]},
            ]),
        )
        .tasks(["good"])
        .task("bad", |t| t.by("breaker").attempts(1))
        .task("slow", |t| t.by("slow").needs("good"))
        .tasks(["last"])
        .workspace();
    workspace.run_json(3, &[]);
    let before = std::fs::read(workspace.journal()).unwrap();
    workspace.quorum(&["gate", "passes"]).exits(0);
    workspace.quorum(&["gate", "fails"]).exits(4);
    workspace.quorum(&["gate", "waits"]).exits(8);
    workspace.quorum(&["gate", "wait"]).exits(2).says(&["wait", "waits"]);
    let all = workspace.quorum(&["gate", "--json"]).exits(4).json();
    assert_eq!(all["schema"], "quorum.gate/v1");
    let states: Vec<_> = all["gates"].as_array().unwrap().iter().map(|gate| gate["state"].clone()).collect();
    assert_eq!(states, ["passed", "failed", "waiting"]);
    assert_eq!(std::fs::read(workspace.journal()).unwrap(), before);
}

/// Two scored tasks, the second with three times the priority.
fn weighted(threshold: &str) -> Workspace {
    let workspace = Workspace::with(&format!(
        "
name: weighted
qualityThreshold: {threshold}
agents:
  worker: {{run: echo work}}
  ja: {{run: [/bin/sh, '@agents/judge.sh', ja]}}
  jb: {{run: [/bin/sh, '@agents/judge.sh', jb]}}
tasks:
  - {{title: a, assignTo: worker, expectations: [{{type: llm_review, reviewers: [ja], dimensions: [{{name: x, weight: 1}}]}}]}}
  - {{title: b, assignTo: worker, priority: 3, expectations: [{{type: llm_review, reviewers: [jb], dimensions: [{{name: x, weight: 1}}]}}]}}
"
    ));
    score(&workspace, "ja", 5);
    score(&workspace, "jb", 3);
    workspace
}

#[test]
fn the_missions_threshold_weighs_by_priority() {
    // (5 × 1 + 3 × 3) / 4 = 3.5
    let document = weighted("3.5").run_json(0, &[]);
    assert_eq!(document["missionScore"], serde_json::json!({"points": 70.0, "bar": 70.0, "passed": true}));
    let workspace = weighted("71");
    let document = workspace.run_json(5, &[]);
    assert_eq!(document["outcome"], "below_threshold");
    assert_eq!(document["missionScore"]["passed"], false);
    assert_eq!(document["counts"]["clean"], 2);
    assert!(workspace.events().iter().any(|event| event["event"] == "quality:threshold:failed"));
}

#[test]
fn a_threshold_over_unscored_work_passes_without_points() {
    let workspace = Mission::new().worker("true").key("qualityThreshold", 5).tasks(["one"]).workspace();
    let document = workspace.run_json(0, &[]);
    assert_eq!(document["missionScore"]["points"], serde_json::json!(null));
    assert_eq!(document["missionScore"]["passed"], true);
}

/// Its tasks have ended, but the run was killed before the gate could be evaluated.
#[test]
fn a_gate_that_nobody_came_to_evaluate_stands_alike_for_every_command() {
    for (rule, state, code) in [("", "passed", 0), (", minScore: 60", "failed", 4)] {
        let workspace = Workspace::with(&format!(
            "
name: cut
agents: {{worker: {{run: echo work}}}}
tasks: [{{title: a}}, {{title: b}}]
qualityGates: [{{name: door, afterTasks: [a], blocksTasks: [b]{rule}}}]
"
        ));
        workspace.quorum(&["run", "-q"]);
        journal::cut_before(&workspace.journal(), journal::code::FIRST_GATE);
        // What was saved beside the journal knows more than it.
        let _ = std::fs::remove_file(workspace.run_folder().join(journal::SNAPSHOT));
        let printed = workspace.quorum(&["gate", "--json"]).exits(code).json();
        let of_status = workspace.status();
        assert_eq!(printed["gates"], of_status["gates"]);
        assert_eq!(gate(&of_status, "door")["state"], state);
        workspace.quorum(&["report", "--markdown", "-"]).stdout.says(&[&format!("| door | {state} |")]);
        let shown = workspace.quorum(&["status"]).stdout;
        assert!(shown.contains(state), "{shown}");
    }
}

#[test]
fn a_gate_that_waits_names_what_it_waits_for_in_every_document() {
    let workspace = Mission::new()
        .worker("echo work")
        .key("qualityGates", json!([{"name": "door", "afterTasks": ["a"], "blocksTasks": ["b"]}]))
        .task("a", |t| t.approved())
        .tasks(["b"])
        .workspace();
    let document = workspace.run_json(8, &[]);
    gate(&document, "door").has(json!({"state": "waiting", "reason": "not finished: a"}));
    let printed = workspace.quorum(&["gate", "--json"]).exits(8).json();
    assert_eq!(printed["gates"], document["gates"]);
}

#[test]
fn what_would_mend_a_failed_gate_is_advised_before_its_override() {
    let workspace = Mission::new()
        .worker("echo work")
        .judge("judge", &["SCORE: 80", "SCORE: 70", "SCORE: 100"])
        .key("qualityGates", json!([
            {"name": "door", "afterTasks": ["good", "not so good"], "blocksTasks": ["later"], "minScore": 90},
        ]))
        .tasks(["good"])
        .task("not so good", |t| t.needs("good"))
        .tasks(["later"])
        .workspace();
    let shown = workspace.quorum(&["run", "--run-id", "r1"]).exits(4).stdout;
    let place = |words: &str| shown.find(words).unwrap_or_else(|| panic!("no '{words}' in {shown}"));
    let redo = place("quorum resume r1 --redo 'not so good'");
    assert!(redo < place("quorum gate door --override"), "{shown}");
    workspace.quorum(&["resume", "r1", "--redo", "not so good"]).exits(0);
}
