//! Checkpoints and delays between tasks.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::events::on_record;
use crate::support::scenes::approvals::only_approval;
use crate::support::{Has, Mission, Running, Says, Workspace, standing, task, wait_for};

fn held(by: &str) -> Workspace {
    Workspace::with(&format!(
        "
name: held
agents:
  worker: {{run: 'echo \"$QUORUM_TASK\" >> done.log'}}
settings: {{evaluate: false}}
tasks:
  - {{title: build, assignTo: worker}}
  - {{title: ship, assignTo: worker}}
  - {{title: tell, assignTo: worker, dependsOn: [ship]}}
{by}
"
    ))
}

const CHECKPOINT: &str =
    "checkpoints: [{name: go, afterTasks: [build], blocksTasks: [ship], message: look at staging}]";

#[test]
fn graphs_have_checkpoints_and_delays_between_their_tasks() {
    let holds = "delays: [{name: dawn, afterTasks: [ship], blocksTasks: [tell], duration: 1s}]";
    let workspace = held(&format!("{CHECKPOINT}\n{holds}"));
    let drawn = |format| workspace.quorum(&["plan", "--format", format]).exits(0).stdout;
    let mermaid = drawn("mermaid");
    mermaid.says(&[
        "{{\"checkpoint go\"}}",
        "{{\"delay dawn of 1s\"}}",
        "t0 --> h0",
        "h0 --> t1",
        "h1 --> t2",
    ]);
    drawn("dot").says(&[
        "h0 [shape=octagon, label=\"checkpoint go\"];",
        "t0 -> h0;",
        "h0 -> t1;",
        "h1 -> t2;",
    ]);
    workspace.run_json(8, &[]);
    let page = workspace.quorum(&["report", "--to", "html=-"]).exits(0).stdout;
    page.says(&[
        "1 checkpoint, 1 delay. Dashed lines and boxes are gates, checkpoints and delays.",
        "<title>checkpoint go: reached</title>",
        "<title>delay dawn of 1s: waiting</title>",
    ]);
    assert_eq!(page.matches("class=\"line gate\"").count(), 4);
}

#[test]
fn a_checkpoint_waits_for_a_person_once() {
    let workspace = held(CHECKPOINT);
    let document = workspace.run_json(8, &[]);
    assert_eq!((&document["outcome"], &document["resumable"]), (&json!("awaiting"), &json!(true)));
    assert_eq!(standing(&document, "ship").0, "pending");
    assert_eq!(task(&document, "ship")["blockedBy"], json!(["go"]));
    assert_eq!(document["checkpoints"][0]["state"], "reached");
    let asked = &document["approvals"][0];
    assert_eq!(
        (&asked["checkpoint"], &asked["reason"], &asked["message"], &asked["task"]),
        (&json!("go"), &json!("checkpoint"), &json!("look at staging"), &Value::Null)
    );
    workspace.resume_json(8, &[]);
    assert_eq!(workspace.events().count("hold:opened checkpoint"), 1);
    assert_eq!(workspace.lines("done.log"), ["build"]);
    workspace.quorum(&["status"]).exits(0).shows(&["checkpoint go: reached"]);

    let id = only_approval(&workspace);
    workspace.quorum(&["approve", &id, "--as", "ada"]).exits(0);
    workspace.quorum(&["approve", &id]).exits(0);
    workspace.quorum(&["reject", &id, "--reason", "late"]).exits(4);
    workspace.quorum(&["approve", &id.replace(".1", ".7")]).exits(2);
    let document = workspace.resume_json(0, &[]);
    assert_eq!(document["checkpoints"][0]["state"], "passed");
    assert_eq!(workspace.lines("done.log"), ["build", "ship", "tell"]);
    assert_eq!(workspace.events().named("hold:closed checkpoint yes")[0]["resolvedBy"], "ada");
    // What was behind it is done again, and it is asked about again.
    let document = workspace.resume_json(8, &["--redo", "build"]);
    assert_eq!(document["checkpoints"][0]["state"], "reached");
    assert_eq!(workspace.events().count("hold:opened checkpoint"), 2);
}

#[test]
fn a_refused_checkpoint_fails_what_it_blocks() {
    let workspace = held(CHECKPOINT);
    workspace.run_json(8, &[]);
    workspace.quorum(&["reject", &only_approval(&workspace), "--reason", "staging is red"]).exits(0);
    let document = workspace.resume_json(3, &[]);
    let failure = &task(&document, "ship")["failure"];
    assert_eq!(failure["mode"], "rejected");
    assert!(failure["message"].as_str().unwrap_or_default().contains("staging is red"));
    assert_eq!(standing(&document, "tell").0, "failed");
    // Tried again, it is asked about again, and can be passed.
    workspace.resume_json(8, &["--retry-failed"]);
    workspace.quorum(&["approve", &only_approval(&workspace)]).exits(0);
    workspace.resume_json(0, &[]);
}

#[test]
fn a_task_that_joins_a_refused_checkpoint_is_asked_about() {
    let workspace = held(CHECKPOINT);
    workspace.run_json(8, &[]);
    workspace.quorum(&["reject", &only_approval(&workspace), "--reason", "staging is red"]).exits(0);
    workspace.resume_json(3, &[]);
    let more = "  - {title: more, assignTo: worker}\ncheckpoints:";
    let changed = workspace.read("mission.yaml").replace("checkpoints:", more);
    let changed = changed.replace("blocksTasks: [ship]", "blocksTasks: [ship, more]");
    workspace.write("mission.yaml", changed);
    let document = workspace.resume_json(3, &["--accept-changed-mission"]);
    assert_eq!(document["checkpoints"][0]["state"], "reached");
    assert!(document["conditions"].as_array().unwrap().contains(&json!("awaiting")));
    workspace.quorum(&["approve", &only_approval(&workspace)]).exits(0);
    let document = workspace.resume_json(3, &[]);
    assert_eq!(standing(&document, "more").0, "done");
    assert_eq!(standing(&document, "ship").0, "failed");
}

#[test]
fn a_delay_waits_and_keeps_the_session_alive() {
    let workspace = held("delays: [{name: cool, afterTasks: [build], blocksTasks: [ship], duration: 300ms}]");
    let begin = Instant::now();
    let document = workspace.run_json(0, &[]);
    assert!(begin.elapsed() >= Duration::from_millis(300));
    assert_eq!(document["delays"][0]["state"], "passed");
    assert_eq!(workspace.lines("done.log"), ["build", "ship", "tell"]);
    assert_eq!(
        (
            workspace.events().count("hold:opened delay"),
            workspace.events().count("hold:closed delay expired")
        ),
        (1, 1)
    );
}

fn delayed(workspace: &Workspace) -> Running {
    let running = workspace.start(&["run", "mission.yaml", "--run-id", "r1", "--json"]);
    wait_for("the delay", || on_record(workspace, "hold:opened delay") == 1);
    running
}

#[test]
fn a_kill_does_not_begin_a_delay_anew() {
    let workspace = held("delays: [{name: cool, afterTasks: [build], blocksTasks: [ship], duration: 3s}]");
    let running = delayed(&workspace);
    let document = workspace.status();
    assert_eq!(document["delays"][0]["state"], "running");
    let until = document["delays"][0]["until"].clone();
    running.kill();
    let resumed = workspace.start(&["resume", "--json"]);
    wait_for("the second session", || workspace.events().count("run:resumed") == 1);
    // The same moment, not as much time once more.
    let document = workspace.status();
    if document["delays"][0]["state"] == "running" {
        assert_eq!(document["delays"][0]["until"], until);
    }
    resumed.finish().exits(0);
    assert_eq!(workspace.events().count("hold:opened delay"), 1);
    let over = workspace.events().named("hold:closed delay expired")[0]["at"].clone();
    assert!(over.as_str() >= until.as_str(), "{over} {until}");
}

#[test]
fn a_delay_that_passed_while_nobody_looked_is_over() {
    let workspace = held("delays: [{name: cool, afterTasks: [build], blocksTasks: [ship], duration: 700ms}]");
    let running = delayed(&workspace);
    let until = workspace.status()["delays"][0]["until"].clone();
    running.kill();
    wait_for("the moment", || {
        let now = chrono::Utc::now().to_rfc3339_opts(chrono::SecondsFormat::Millis, true);
        until.as_str().is_some_and(|until| *until < *now)
    });
    workspace.resume_json(0, &[]);
    assert_eq!(workspace.events().count("hold:opened delay"), 1);
}

#[test]
fn a_delay_does_not_outlast_the_time_limit() {
    let workspace = held("delays: [{name: cool, afterTasks: [build], blocksTasks: [ship], duration: 1h}]");
    let document = workspace.run_json(7, &["--timeout", "400ms"]);
    assert_eq!((&document["resumable"], &document["delays"][0]["state"]), (&json!(true), &json!("running")));
}

#[test]
fn checkpoints_and_delays_tell_their_channels() {
    let workspace = Mission::new()
        .worker("echo worked")
        .key("channels", json!({
            "ops": {"type": "file", "path": "ops.jsonl"},
            "all": {"type": "file", "path": "all.jsonl"},
        }))
        .key("checkpoints", json!([
            {"name": "look", "afterTasks": ["a"], "blocksTasks": ["b"], "message": "have a look", "notifyChannels": ["ops"]},
            {"name": "again", "afterTasks": ["a"], "blocksTasks": ["c"]},
        ]))
        .key("delays", json!([
            {"name": "settle", "afterTasks": ["a"], "blocksTasks": ["b"], "duration": 1, "notifyChannels": ["ops"]},
        ]))
        .setting("evaluate", false)
        .setting("defaultChannels", ["all"])
        .tasks(["a", "b", "c"])
        .workspace();
    workspace.run_json(8, &[]);
    let told = |file: &str| -> Vec<serde_json::Value> {
        let lines = workspace.lines(file).into_iter();
        lines.map(|line| serde_json::from_str(&line).unwrap()).collect()
    };
    let ops = told("ops.jsonl");
    ops[0].has(json!({"event": "checkpoint:reached", "hold": "look", "text": "have a look"}));
    let id = ops[0]["approval"].as_str().unwrap();
    assert_eq!((&ops[1]["event"], &ops[1]["hold"]), (&"delay:started".into(), &"settle".into()));
    // One that names no channels is told to the default ones: somebody must answer it.
    let all = told("all.jsonl");
    let reached: Vec<_> = all.iter().filter(|told| told["event"] == "checkpoint:reached").collect();
    assert_eq!((reached.len(), &reached[0]["hold"]), (1, &"again".into()));
    workspace.quorum(&["approve", id]).exits(0);
}
