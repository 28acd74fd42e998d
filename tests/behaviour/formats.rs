//! Formats: each command prints those it has, and refuses others.

use crate::support::{Has, Workspace};
use serde_json::json;

const ONE: &str = "{name: m, agents: {a: {run: 'true'}}, tasks: [{title: t, assignTo: a}]}";

fn done() -> Workspace {
    let workspace = Workspace::with(ONE);
    workspace.quorum(&["run", "--run-id", "r1"]).exits(0);
    workspace
}

#[test]
fn a_format_that_a_command_does_not_print_is_refused() {
    let workspace = done();
    for command in ["status", "runs", "metrics", "approvals", "gate"] {
        for format in ["jsonl", "dot", "mermaid"] {
            let ended = workspace.quorum(&[command, "--format", format]).exits(2);
            ended.says(&[&format!("`quorum {command}` does not print {format}"), "its formats: human, json"]);
        }
    }
    workspace.quorum(&["events", "--format", "mermaid"]).exits(2).says(&["its formats: human, json, jsonl"]);
}

#[test]
fn a_format_of_the_environment_concerns_only_commands_that_have_it() {
    let workspace = done();
    let mut runs = workspace.command(&["runs"]);
    runs.env("QUORUM_FORMAT", "dot");
    crate::support::Running::start(runs).finish().exits(0).shows(&["r1"]);
    let mut plan = workspace.command(&["plan", "mission.yaml"]);
    plan.env("QUORUM_FORMAT", "dot");
    crate::support::Running::start(plan).finish().exits(0).shows(&["digraph"]);
}

#[test]
fn events_as_json_are_one_document_with_a_schema() {
    let workspace = done();
    let document = workspace.quorum(&["events", "--json"]).exits(0).json();
    document.has(json!({"schema": "quorum.events/v1", "runId": "r1"}));
    let names = document["events"].as_array().expect("a list").iter();
    let names: Vec<&str> = names.filter_map(|event| event["event"].as_str()).collect();
    assert_eq!((names.first(), names.last()), (Some(&"run:started"), Some(&"run:finished")));
    assert_eq!(names.len(), workspace.events().len());
    workspace.quorum(&["events", "--json", "--follow"]).exits(2).says(&["--format jsonl"]);
}
