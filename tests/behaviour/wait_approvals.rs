//! `--wait-approvals`: a session that only a person can move on is kept alive, for so long.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::scenes::approvals::{only_approval, waits};
use crate::support::{Running, Workspace, attempts, standing, task, wait_for};

/// One task that a person reviews, and one that hangs on it.
fn reviewed_by_a_person() -> Workspace {
    Workspace::with(
        "
name: reviewed by a person
agents:
  worker: {run: 'echo work'}
  ada: {adapter: human}
tasks:
  - {title: work, assignTo: worker, expectations: [{type: llm_review, reviewers: [ada], criteria: is it kind?}]}
  - {title: next, assignTo: worker, dependsOn: [work], review: none}
",
    )
}

fn waiting(workspace: &Workspace, flags: &[&str]) -> Running {
    let arguments = [&["run", "mission.yaml", "--json", "--wait-approvals", "1h"], flags].concat();
    let running = workspace.start(&arguments);
    waits(workspace);
    wait_for("the wait", || !waits_on_record(workspace).is_empty());
    running
}

fn waits_on_record(workspace: &Workspace) -> Vec<Value> {
    let events = workspace.events().into_iter();
    events.filter(|event| event["event"] == "run:waiting").collect()
}

#[test]
fn the_session_waits_and_goes_on_with_the_answer() {
    let workspace = reviewed_by_a_person();
    let running = waiting(&workspace, &["--progress", "plain"]);
    let document = workspace.status();
    assert_eq!(
        (&document["state"], &document["live"], &document["outcome"]),
        (&json!("running"), &json!(true), &Value::Null)
    );
    assert_eq!(document["approvals"][0]["task"], "work");
    let page = workspace.quorum(&["status"]).exits(0).stdout;
    assert!(page.contains("waits for a person until"), "{page}");

    // Sent back, it is done again and asked about again.
    let id = only_approval(&workspace);
    workspace.quorum(&["reject", &id, "--reason", "not kind"]).exits(0);
    wait_for("the second wait", || waits_on_record(&workspace).len() == 2);
    workspace.quorum(&["approve", &only_approval(&workspace), "--as", "ada"]).exits(0);
    let finished = running.finish().exits(0).says(&["WAIT", "for 1 answer by a person, until 20"]);
    let document = finished.json();
    assert_eq!(standing(&document, "work"), ("done", "clean"));
    assert_eq!(attempts(&document, "work"), ["execute", "fix"]);
    assert_eq!(standing(&document, "next").0, "done");
    workspace.quorum(&["status"]).exits(0).hides(&["waits for a person"]);
}

#[test]
fn nobody_answers_in_time_and_the_run_can_be_resumed() {
    let workspace = reviewed_by_a_person();
    let document = workspace.run_json(8, &["--wait-approvals", "50ms"]);
    assert_eq!((&document["outcome"], &document["resumable"]), (&json!("awaiting"), &json!(true)));
    assert_eq!(standing(&document, "work").0, "awaiting_approval");
    assert_eq!(waits_on_record(&workspace).len(), 1);
    // What a session was told to wait holds for that session.
    workspace.resume_json(8, &[]);
    assert_eq!(waits_on_record(&workspace).len(), 1);
    workspace.resume_json(8, &["--wait-approvals", "50ms"]);
    assert_eq!(waits_on_record(&workspace).len(), 2);
    let running = workspace.start(&["resume", "--json", "--wait-approvals", "1h"]);
    wait_for("the third wait", || waits_on_record(&workspace).len() == 3);
    workspace.quorum(&["approve", &only_approval(&workspace)]).exits(0);
    running.finish().exits(0);
}

#[test]
fn the_variable_does_the_same_and_without_either_nothing_waits() {
    let workspace = reviewed_by_a_person();
    workspace.quorum_with(&[("QUORUM_WAIT_APPROVALS", "50ms")], &["run", "mission.yaml"]).exits(8);
    assert_eq!(waits_on_record(&workspace).len(), 1);
    workspace
        .quorum(&["run", "mission.yaml", "--fresh", "--yes", "--wait-approvals", "soon"])
        .exits(2)
        .says(&["soon", "duration"]);

    let workspace = reviewed_by_a_person();
    workspace.run_json(8, &[]);
    assert_eq!(waits_on_record(&workspace), Vec::<Value>::new());
}

#[test]
fn an_interrupt_ends_the_wait() {
    let workspace = reviewed_by_a_person();
    let running = waiting(&workspace, &[]);
    running.signal(Signal::INT);
    let document = running.finish().exits(130).json();
    assert_eq!(document["resumable"], true);
    assert_eq!(standing(&document, "work").0, "awaiting_approval");
}

#[test]
fn the_session_takes_no_longer_than_it_may() {
    let workspace = reviewed_by_a_person();
    let document = workspace.run_json(7, &["--wait-approvals", "1h", "--timeout", "500ms"]);
    assert_eq!(waits_on_record(&workspace).len(), 1);
    assert_eq!(document["resumable"], true);
}

#[test]
fn a_pause_or_a_cancel_ends_the_wait() {
    let workspace = reviewed_by_a_person();
    let running = waiting(&workspace, &[]);
    workspace.quorum(&["pause"]).exits(0);
    running.finish().exits(8);

    let running = workspace.start(&["resume", "--json", "--wait-approvals", "1h"]);
    wait_for("the wait", || waits_on_record(&workspace).len() == 2);
    workspace.quorum(&["cancel", "work", "--yes"]).exits(0);
    let document = running.finish().exits(3).json();
    assert_eq!(task(&document, "work")["failure"]["mode"], "cancelled");
}

#[test]
fn a_runner_that_dies_in_its_wait_is_resumed_and_waits_again() {
    let workspace = reviewed_by_a_person();
    waiting(&workspace, &[]).kill();
    let document = workspace.status();
    assert_eq!((&document["state"], &document["live"]), (&json!("crashed"), &json!(false)));
    workspace.quorum(&["status"]).exits(0).hides(&["waits for a person until"]);
    let running = workspace.start(&["resume", "--json", "--wait-approvals", "1h"]);
    wait_for("the wait", || waits_on_record(&workspace).len() == 2);
    workspace.quorum(&["approve", &only_approval(&workspace)]).exits(0);
    running.finish().exits(0);
}
