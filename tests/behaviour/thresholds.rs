//! Which bar holds, who is able to judge, and what is said of both before anything starts.

use serde_json::json;

use crate::support::{Mission, Says, Workspace, gate, standing, task};

const TASKS: &str = "
name: bars
agents:
  worker: {run: echo work}
  judge: {run: [/bin/sh, '@agents/judge.sh', judge], role: reviewer}
  scorer: {run: [/bin/sh, '@agents/judge.sh', scorer]}
settings: {concurrency: 1}
tasks:
  - {title: plain, assignTo: worker, maxAttempts: 1}
  - {title: panelled, assignTo: worker, maxAttempts: 1, expectations: [{type: llm_review, reviewers: [scorer], threshold: 70, dimensions: [{name: x, weight: 1}]}]}
  - {title: unsaid, assignTo: worker, maxAttempts: 1, expectations: [{type: llm_review, reviewers: [scorer], dimensions: [{name: x, weight: 1}]}]}
  - {title: last, assignTo: worker, review: none}
qualityGates: [{name: door, afterTasks: [plain, panelled, unsaid], blocksTasks: [last], minScore: 4}]
";

fn bars() -> Workspace {
    let workspace = Workspace::with(TASKS);
    workspace.judge("judge", &["SCORE: 80"]);
    workspace.judge("scorer", &[r#"{"scores": {"x": {"reasoning": "r", "score": 4}}}"#]);
    workspace
}

#[test]
fn a_threshold_on_the_command_line_replaces_every_bar_but_those_of_gates() {
    let workspace = bars();
    let finished = workspace
        .quorum(&["run", "--json", "--eval-threshold", "90"])
        .exits(3)
        .says(&["--eval-threshold 90 applies to 3 reviews"]);
    let document = finished.json();
    for title in ["plain", "panelled", "unsaid"] {
        let task = task(&document, title);
        assert_eq!((&task["bar"], &task["barOrigin"]), (&json!(90.0), &json!("flag")), "{title}");
    }
    assert_eq!(standing(&document, "plain"), ("done", "below-threshold"));
    assert_eq!(standing(&document, "panelled").0, "failed");
    // A gate's bar is its own: the mean is the 80 that it asks for.
    gate(&document, "door")["reason"].to_string().omits(&["average"]);
    let plan = workspace.quorum(&["plan", "--json", "--eval-threshold", "90"]).exits(0).json();
    assert_eq!(plan["evalThreshold"], json!({"points": 90.0, "origin": "flag", "reviews": 3}));
    workspace.quorum(&["plan", "--eval-threshold", "90"]).exits(0).shows(&["applies to 3 reviews"]);
}

#[test]
fn a_threshold_of_the_environment_or_the_settings_holds_for_what_names_none() {
    let of = |document: &serde_json::Value, title: &str| {
        let task = task(document, title);
        (task["bar"].clone(), task["barOrigin"].clone())
    };
    let document = bars()
        .quorum_with(&[("EVAL_THRESHOLD", "75")], &["run", "--json"])
        .exits(0)
        .says(&["EVAL_THRESHOLD 75 applies to 2 reviews"])
        .json();
    assert_eq!(of(&document, "plain"), (json!(75.0), json!("environment")));
    assert_eq!(of(&document, "unsaid"), (json!(75.0), json!("environment")));
    assert_eq!(of(&document, "panelled"), (json!(70.0), json!("mission")));
    let workspace = bars().tap_mission("{concurrency: 1}", "{concurrency: 1, evalThreshold: 65}");
    let document = workspace.run_json(0, &[]);
    assert_eq!(of(&document, "plain"), (json!(65.0), json!("mission")));
    assert_eq!(of(&document, "unsaid"), (json!(65.0), json!("mission")));
    assert_eq!(of(&document, "panelled"), (json!(70.0), json!("mission")));
}

#[test]
fn a_threshold_that_applies_to_nothing_is_a_warning_before_the_start() {
    let workspace = Mission::new().worker("echo work").task("work", |t| t.check("true")).workspace();
    for command in [&["run", "--eval-threshold", "99"][..], &["validate", "--eval-threshold", "99"]] {
        workspace.quorum(command).exits(0).says(&["warning: --eval-threshold 99 applies to nothing"]);
    }
    let plan = workspace.quorum(&["plan", "--json", "--eval-threshold", "99"]).json();
    assert!(plan["warnings"][0].to_string().contains("applies to nothing"), "{plan}");
}

#[test]
fn a_person_who_gives_a_threshold_gives_no_relief_to_foundations() {
    let workspace = Mission::new()
        .worker("echo work")
        .judge("judge", &["SCORE: 50"])
        .setting("maxAttempts", 1)
        .tasks(["base"])
        .task("a", |t| t.unreviewed().needs("base"))
        .task("b", |t| t.unreviewed().needs("base"))
        .task("c", |t| t.unreviewed().needs("base"))
        .workspace();
    let document = workspace.run_json(5, &["--eval-threshold", "60"]);
    assert_eq!(standing(&document, "base"), ("done", "below-threshold"));
    assert_eq!(task(&document, "base")["barOrigin"], "flag");
}

#[test]
fn a_gate_that_cannot_pass_without_reviews_is_told_before_anything_starts() {
    let workspace = bars();
    for command in [&["validate", "--no-eval"][..], &["run", "--no-eval"]] {
        workspace
            .quorum(command)
            .stderr
            .says(&["warning: the gate 'door' cannot pass: it has a minScore, and reviews are switched off"]);
    }
    let plan = workspace.quorum(&["plan", "--json", "--no-eval"]).exits(0).json();
    assert!(plan["warnings"].to_string().contains("'door' cannot pass"), "{plan}");
    workspace.quorum(&["plan", "--no-eval"]).exits(0).shows(&["'door' cannot pass"]);
    let checked = workspace.quorum_with(&[("EVAL", "off")], &["validate", "--json"]).exits(0).json();
    assert!(checked["files"][0]["warnings"].to_string().contains("'door' cannot pass"), "{checked}");
}

#[test]
fn a_command_judges_as_manager_or_delegator_without_any_role() {
    let mission = "
name: who
agents:
  lead: {run: [/bin/sh, '@agents/judge.sh', lead]}
  boss: {run: [/bin/sh, '@agents/judge.sh', boss]}
  worker: {run: echo work, reportsTo: boss}
tasks:
  - {title: managed, assignTo: worker}
  - {title: handed down, assignTo: worker, delegatedBy: lead}
";
    let workspace = Workspace::with(mission);
    workspace.judge("lead", &["SCORE: 91"]);
    workspace.judge("boss", &["SCORE: 92"]);
    let document = workspace.run_json(0, &[]);
    assert_eq!(task(&document, "managed")["points"], 92.0);
    assert_eq!(task(&document, "handed down")["points"], 91.0);
    assert_eq!(standing(&document, "managed"), ("done", "clean"));
}

#[test]
fn validate_names_each_task_that_nobody_can_judge_and_what_to_write() {
    let workspace = Mission::new()
        .key("name", "nobody")
        .agent("other", "echo no")
        .worker("echo work")
        .task("left alone", |t| t.by("worker"))
        .task("meant so", |t| t.by("worker").unreviewed())
        .task("checked", |t| t.by("worker").check("true"))
        .workspace();
    let finished = workspace.quorum(&["validate"]).exits(0).says(&[
        "warning: the task 'left alone' will end unreviewed, because nobody is able to judge it",
        "'other'",
        "role: reviewer",
    ]);
    assert!(!finished.stderr.contains("meant so") && !finished.stderr.contains("checked"), "{finished:?}");
}

#[test]
fn an_unknown_word_in_eval_is_an_error_of_those_who_read_it() {
    let workspace = bars();
    for command in [&["run"][..], &["plan"], &["validate"]] {
        workspace.quorum_with(&[("EVAL", "maybe")], command).exits(2).says(&["EVAL", "maybe"]);
    }
    workspace.assert_nothing_started();
    for word in ["on", "1", "YES", ""] {
        let plan = workspace.quorum_with(&[("EVAL", word)], &["plan", "--json"]).exits(0).json();
        assert_eq!(plan["evaluate"], true, "{word}");
    }
    workspace.quorum_with(&[("EVAL", "maybe")], &["runs"]).exits(0);
}

#[test]
fn a_bad_variable_is_named_and_concerns_only_who_reads_it() {
    let workspace = bars();
    for (name, value) in [("QUORUM_JOBS", "abc"), ("QUORUM_EVAL_THRESHOLD", "10")] {
        workspace.quorum_with(&[(name, value)], &["run"]).exits(2).says(&[name, value]);
        workspace.quorum_with(&[(name, value)], &[]).exits(2).says(&[name, value]);
        for command in [&["runs"][..], &["explain", "Q0101"], &["schema", "mission"]] {
            workspace.quorum_with(&[(name, value)], command).exits(0);
        }
    }
    // What was typed is to blame where it was typed.
    let typed = workspace.quorum_with(&[("QUORUM_JOBS", "abc")], &["run", "--jobs", "abc"]).exits(2);
    assert!(!typed.stderr.contains("QUORUM_JOBS"), "{typed:?}");
}

/// A judge that fails for good, with a kind of failure that does not pass, is asked once, and is a dead letter.
#[test]
fn every_kind_of_judge_that_fails_for_good_is_a_dead_letter_and_asked_once() {
    for (what, code) in [
        ("acceptance: [it works], verification: {grader: llm}", 6),
        ("stages: [{name: look, agent: judge, criteria: good}]", 6),
    ] {
        let workspace = Workspace::with(&format!(
            "
name: refused
agents:
  worker: {{run: echo work}}
  judge: {{run: 'echo asked >> asked; echo \"401 Unauthorized: invalid api key\" >&2; exit 1', role: reviewer}}
tasks: [{{title: work, assignTo: worker, review: none, maxAttempts: 1, {what}}}]
"
        ));
        workspace.run_json(code, &[]);
        assert_eq!(workspace.lines("asked").len(), 1, "{what}");
        let letters = workspace.quorum(&["dlq", "list", "--json"]).exits(0).stdout;
        assert!(letters.contains("judge:judge"), "{what}: {letters}");
    }
    // A command that ran is not run again because it did not end well.
    let workspace = Mission::new()
        .worker("echo work")
        .task("work", |t| {
            t.unreviewed()
                .attempts(1)
                .set("baseline", false)
                .set("stages", json!([{"name": "look", "command": "echo asked >> asked; kill -9 $$"}]))
        })
        .workspace();
    workspace.run_json(6, &[]);
    assert_eq!(workspace.lines("asked").len(), 1);
}
