//! Slots and `exclusive` hold on every way back to work (semantics, section 5): behind a person's word, not only at the
//! start.

use serde_json::json;

use crate::support::events::on_record;
use crate::support::scenes::approvals::{only_approval, waits};
use crate::support::{Mission, Running, Workspace, standing, wait_for};

/// Work that only a person can review, with a stage behind it, and other work that goes on until there is a file `go`.
fn beside(other: &str, settings: &str) -> Workspace {
    Mission::new()
        .key("baseline", false)
        .worker("echo work")
        .agent("slow", "echo begin >> log; while ! test -e go; do sleep 0.05; done; echo end >> log")
        .settings(settings)
        .task("work", |t| {
            let stages = json!([{"name": "look", "command": "echo look >> log"}]);
            t.set("priority", 2).set("review", "required").set("stages", stages)
        })
        .task("other", |t| t.by("slow").unreviewed().with(other))
        .workspace()
}

/// The work is referred, and the other work is under way.
fn referred(workspace: &Workspace) -> Running {
    let running = workspace.start(&["run", "mission.yaml", "--json"]);
    waits(workspace);
    wait_for("the other work", || workspace.exists("log"));
    running
}

fn approved_work_waits_for_the_other(workspace: &Workspace) {
    let running = referred(workspace);
    workspace.quorum(&["approve", &only_approval(workspace), "--as", "ada"]).exits(0);
    wait_for("the answer", || on_record(workspace, "task:queued") == 1);
    let document = workspace.status();
    assert_eq!(standing(&document, "work").0, "review");
    assert_eq!(document["approvals"], json!([]), "nobody is asked any more");
    workspace.write("go", "");
    let document = running.finish().exits(0).json();
    assert_eq!(standing(&document, "work"), ("done", "clean"));
    assert_eq!(workspace.lines("log"), ["begin", "end", "look"]);
}

#[test]
fn approved_work_is_not_judged_beside_work_that_is_alone() {
    approved_work_waits_for_the_other(&beside("exclusive: true", ""));
}

#[test]
fn approved_work_takes_no_slot_that_is_not_there() {
    approved_work_waits_for_the_other(&beside("", "concurrency: 1"));
}

#[test]
fn approved_work_goes_on_at_once_beside_others_where_there_is_room() {
    let workspace = beside("", "concurrency: 2");
    let running = referred(&workspace);
    workspace.quorum(&["approve", &only_approval(&workspace), "--as", "ada"]).exits(0);
    wait_for("the stage", || workspace.lines("log").len() == 2);
    workspace.write("go", "");
    running.finish().exits(0);
    assert_eq!(workspace.lines("log"), ["begin", "look", "end"]);
    assert_eq!(on_record(&workspace, "task:queued"), 0);
}

#[test]
fn a_yes_that_waits_for_a_slot_outlives_the_session() {
    let workspace = beside("exclusive: true", "");
    let running = referred(&workspace);
    workspace.quorum(&["approve", &only_approval(&workspace), "--as", "ada"]).exits(0);
    wait_for("the answer", || on_record(&workspace, "task:queued") == 1);
    running.kill();
    workspace.write("go", "");
    let document = workspace.resume_json(0, &[]);
    assert_eq!(standing(&document, "work"), ("done", "clean"));
    assert_eq!(workspace.lines("log").last().map(String::as_str), Some("look"));
}

#[test]
fn approved_work_is_judged_though_what_it_was_built_on_does_not_stand_any_more() {
    let workspace = Mission::new()
        .worker("echo $QUORUM_TASK > $QUORUM_TASK.txt")
        .task("sand", |t| t.expects(json!({"type": "script", "command": "grep -q sand sand.txt"})))
        .task("house", |t| {
            t.needs("sand")
                .set("review", "required")
                .set("stages", json!([{"name": "look", "command": "true"}]))
        })
        .workspace();
    workspace.run_json(6, &[]);
    workspace.write("sand.txt", "water");
    workspace.quorum(&["approve", &only_approval(&workspace), "--as", "ada"]).exits(0);
    // What it was built on is done again, and the house is judged all the same.
    let document = workspace.resume_json(0, &[]);
    assert_eq!(standing(&document, "sand"), ("done", "clean"));
    assert_eq!(standing(&document, "house"), ("done", "clean"));
    assert_eq!(document["counts"]["regressed"], 1);
}
