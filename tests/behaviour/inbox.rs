//! `quorum inbox`: all that wants a person in one list, and its two halves under their old names.

use serde_json::{Value, json};

use crate::support::events::on_record;
use crate::support::{BINARY, Has, Mission, Workspace, at_terminal, wait_for};

/// A worker, an agent that asks, and a checkpoint between a task and `later`.
fn asking(worker: &str, before: &str) -> Mission {
    let message = "look at staging";
    let go = json!({"name": "go", "blocksTasks": ["later"], "afterTasks": [before], "message": message});
    Mission::new()
        .key("checkpoints", [go])
        .worker(worker)
        .agent("asker", format!("cat > /dev/null; {BINARY} agent ask Which?"))
}

fn inbox(workspace: &Workspace) -> Value {
    let document = workspace.quorum(&["inbox", "--json"]).exits(0).json();
    document.has(json!({"schema": "quorum.inbox/v1", "runId": "r1"}));
    // What waits has the name that it had; what no command answers is told under its own name only.
    let old = workspace.quorum(&["approvals", "--json"]).exits(0).json();
    assert_eq!((&old["schema"], &old["approvals"]), (&json!("quorum.approvals/v1"), &document["approvals"]));
    assert_eq!(document["requests"], json!([]));
    document
}

#[test]
fn a_question_and_a_checkpoint_stand_in_one_list_and_work_below_the_bar_does_not() {
    let workspace = asking("cat > /dev/null; echo done > out.txt; echo I did it.", "weak")
        .reviewer("judge", "cat > /dev/null; echo SCORE: 40")
        .task("weak", |t| t.attempts(1).set("onExhausted", "accept").files(["out.txt"]))
        .task("unclear", |t| t.by("asker").unreviewed())
        .task("later", |t| t.unreviewed())
        .workspace();
    workspace.quorum(&["run", "--run-id", "r1"]).exits(5);
    let document = inbox(&workspace);
    let rows = document["approvals"].as_array().expect("a list");
    let reasons: Vec<&Value> = rows.iter().map(|row| &row["reason"]).collect();
    assert_eq!(reasons, [&json!("checkpoint"), &json!("question")]);
    let requests = workspace.quorum(&["requests", "--json"]).exits(0).json();
    assert_eq!(requests["requests"][0]["task"], "weak");
    assert_eq!(workspace.status()["requests"], requests["requests"]);
    let ended = workspace.quorum(&["inbox", "r"]).exits(0);
    let ended = ended.shows(&["go  checkpoint: look at staging", "unclear  question: Which?"]);
    // What it is about, since when, and what is to be typed.
    let ended = ended.shows(&["  weak: below-threshold, 40 < 60\n", "answer with: quorum approve r1.c0.1\n"]);
    let ended = ended.shows(&["answer with: quorum answer r1.1.1 'ANSWER'\n", "  since 20"]);
    ended.hides(&["r1.0.r"]);
    assert_eq!(rows[0]["behind"], json!(["weak: below-threshold, 40 < 60"]));

    // A question is answered, a checkpoint approved; each says so to the other word.
    let asked = workspace.quorum(&["approve", "r1.1.1"]).exits(2);
    asked.says(&["unknown", "quorum answer r1.1.1 'ANSWER'"]);
    let report = workspace.quorum(&["report", "--to", "html=-"]).exits(0);
    let report = report.shows(&["quorum answer r1.1.1", "quorum approve r1.c0.1"]);
    report.hides(&["quorum approve r1.1.1"]);
    // Of two nobody knows which one is meant.
    let two = workspace.quorum(&["approve", "--yes"]).exits(2);
    two.says(&["which of them", "quorum approve r1.c0.1", "quorum answer r1.1.1"]);
    workspace.quorum(&["approve", "r1.c0.1"]).exits(0);
    workspace.quorum(&["approve", "--yes"]).exits(2).says(&["quorum answer r1.1.1"]);
}

/// A run in which one thing waits: a task behind another one and a gate.
fn one_waits() -> Workspace {
    let workspace = Mission::new()
        .worker("echo x > x.txt; echo done")
        .judge("judge", &["Good.\nSCORE: 84"])
        .key(
            "qualityGates",
            json!([{"name": "good", "afterTasks": ["build"], "blocksTasks": ["ship"], "minScore": 3}]),
        )
        .task("build", |task| task.files(["x.txt"]))
        .task("ship", |task| task.unreviewed().approved().needs("build"))
        .workspace();
    workspace.quorum(&["run", "--run-id", "r1"]).exits(8);
    workspace
}

#[test]
fn whoever_decides_sees_scores_and_gates_behind_it() {
    let workspace = one_waits();
    let shown = workspace.quorum(&["inbox"]).exits(0);
    shown.shows(&[
        "  build: clean, 84 >= 60\n",
        "  good: gate passed\n",
        "answer with: quorum approve r1.1.1\n",
    ]);
    let row = &inbox(&workspace)["approvals"][0];
    assert_eq!(row["command"], "quorum approve r1.1.1");
    assert_eq!(row["behind"], json!(["build: clean, 84 >= 60", "good: gate passed"]));
}

#[test]
fn the_only_thing_that_waits_is_approved_without_its_id_on_somebodys_word() {
    let status = |workspace: &Workspace| workspace.quorum(&["inbox"]).exits(0).stdout;
    let workspace = one_waits();
    // Nobody can be asked without a terminal, so the id must be typed.
    workspace.quorum(&["approve"]).exits(2).says(&["confirmation needed", "quorum approve r1.1.1"]);
    let refused = at_terminal(workspace.command(&["approve"]), 80, "n\n").exits(2);
    refused.shows(&["approve r1.1.1  ship: approval", "[y/N]", "nothing was changed"]);
    assert!(status(&workspace).contains("r1.1.1"));
    at_terminal(workspace.command(&["approve"]), 80, "y\n").exits(0).shows(&["[y/N]"]);
    assert_eq!(status(&workspace), "nothing waits for a person\n");
    workspace.quorum(&["approve", "--yes"]).exits(2).says(&["nothing in run r1 waits"]);
    let workspace = one_waits();
    workspace.quorum(&["approve", "--yes"]).exits(0);
    workspace.quorum(&["resume"]).exits(0);
}

#[test]
fn one_line_says_what_waits_and_how_many_answers_are_missing() {
    let workspace = asking("cat > /dev/null; echo done", "ready")
        .task("unclear", |t| t.by("asker").unreviewed())
        .task("ready", |t| t.unreviewed())
        .task("later", |t| t.unreviewed())
        .workspace();
    let run = workspace.quorum(&["run", "--run-id", "r1", "--wait-approvals", "200ms"]).exits(8);
    assert_eq!(run.stderr.matches("Which?").count(), 1, "{}", run.stderr);
    run.says(&["unclear  r1.0.1  question: Which?", "for 2 answers by a person"]);
    workspace.quorum(&["cancel", "unclear", "--yes"]).exits(0);
    workspace.quorum(&["resume", "--wait-approvals", "200ms"]).exits(3).says(&["for 1 answer by a person"]);
}

#[test]
fn a_delay_is_listed_with_the_moment_that_ends_it() {
    let workspace = Mission::new()
        .worker("true")
        .key(
            "delays",
            json!([
                {"name": "cool", "afterTasks": ["build"], "blocksTasks": ["ship"], "duration": "60s"},
            ]),
        )
        .setting("evaluate", false)
        .tasks(["build", "ship"])
        .workspace();
    let running = workspace.start(&["run", "--run-id", "r1"]);
    wait_for("the delay", || on_record(&workspace, "hold:opened delay") == 1);
    let document = inbox(&workspace);
    let row = &document["approvals"][0];
    assert_eq!((&row["id"], &row["task"]), (&Value::Null, &Value::Null));
    assert_eq!((&row["reason"], &row["delay"]), (&json!("delay"), &json!("cool")));
    let until = row["expires"].as_str().expect("a moment");
    workspace.quorum(&["inbox"]).exits(0).shows(&[&format!("cool  delay until {until}")]);

    // Where nothing waits for it any more, it is nothing to wait for.
    workspace.quorum(&["cancel", "ship", "--yes"]).exits(0);
    running.finish();
    assert_eq!(inbox(&workspace)["approvals"], json!([]));
}

#[test]
fn nothing_that_waits_is_said() {
    let workspace = Mission::new().agent("a", "true").setting("evaluate", false).tasks(["t"]).workspace();
    workspace.quorum(&["run", "--run-id", "r1"]).exits(0);
    assert_eq!(inbox(&workspace)["approvals"], json!([]));
    let text = workspace.quorum(&["inbox"]).exits(0).stdout;
    assert_eq!(text, "nothing waits for a person\n");
}
