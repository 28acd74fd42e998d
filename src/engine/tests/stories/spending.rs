//! What a budget leaves room for: who waits, who is not asked any more, and what a later session does about it.

use crate::domain::TaskId;
use crate::engine::Command;

use super::super::simulation::good;
use super::{Step, patient, told, told_with};

fn mission(budget: &str, tasks: &str) -> String {
    format!(
        "name: m
budget: {budget}
settings: {{concurrency: 2}}
agents:
  w: {{run: [/bin/true], maxCostPerTurn: 0.25}}
  i: {{run: [/bin/true], role: reviewer, maxCostPerTurn: 0.5}}
  j: {{run: [/bin/true], role: reviewer, maxCostPerTurn: 0.5}}
tasks:
{tasks}"
    )
}

const PANELS: &str =
    "  - {title: a, assignTo: w, expectations: [{type: llm_review, criteria: c, reviewers: [i, j]}]}
  - {title: b, assignTo: w, expectations: [{type: llm_review, criteria: c, reviewers: [i, j]}]}
";

#[test]
fn calls_wait_for_room_and_are_made_when_there_is_some() {
    insta::assert_snapshot!(
        "waits_for_room",
        told(&mission("{maxCost: 2.5}", PANELS), good, vec![])
    );
}

#[test]
fn who_has_no_room_is_not_asked_in_this_session_nor_in_the_next() {
    for (name, budget) in [
        ("requests", "{maxRequests: 3}"),
        ("cost", "{maxCost: 1}"),
        ("first_turn", "{maxCost: 0.2}"),
    ] {
        let steps = vec![Step::Resumes, Step::Resumes];
        insta::assert_snapshot!(
            format!("no_room_{name}"),
            told(&mission(budget, PANELS), good, steps)
        );
    }
}

#[test]
fn who_waits_for_room_is_given_up_with_its_task() {
    for (name, budget) in [
        ("cost", "{maxCost: 1.4}"),
        ("time", "{maxTime: 1h, maxRequests: 4}"),
    ] {
        let steps = vec![Step::Says(Command::Pause), Step::Says(cancel()), Step::Resumes];
        insta::assert_snapshot!(
            format!("given_up_{name}"),
            told_with(&mission(budget, PANELS), patient(), good, steps)
        );
    }
}

fn cancel() -> Command {
    Command::CancelTask { task: TaskId(1) }
}

#[test]
fn a_verification_calls_nobody_to_work() {
    let tasks = "  - {title: a, assignTo: w, review: none}
  - {title: v, assignTo: i, type: verification, dependsOn: [a], verification: {rubric: default-task}, onPass: p, onFail: p, onRefer: p}
  - {title: p, assignTo: w, review: none}
";
    for (name, budget) in [("waits", "{maxCost: 1}"), ("ends", "{maxRequests: 1}")] {
        insta::assert_snapshot!(
            format!("node_{name}"),
            told(&mission(budget, tasks), good, vec![Step::Resumes])
        );
    }
}
