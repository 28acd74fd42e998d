//! Work that is asked for from outside while a run works, and while nobody works on it.

use serde_json::json;

use crate::domain::{OutcomeClass, Status, TaskId};
use crate::engine::{
    Command, CommandResult, Event, Fact, OperatorInput, RunEvent, cannot_add, evaluate_command, outcome,
    task_of_request,
};
use crate::plan::{Origin, SubTask, read_sub_task};

use super::simulation::{Simulation, good, options, plan_of, statuses};

const MISSION: &str = "name: m
agents:
  w: {run: [/bin/true]}
  x: {run: [/bin/true]}
  h: {adapter: human}
tasks: [{title: a, assignTo: w, review: none}]
";

fn task(value: &serde_json::Value) -> SubTask {
    read_sub_task(value).unwrap()
}

fn adds(request: &str, value: &serde_json::Value) -> Command {
    Command::AddTask { request: request.to_owned(), task: Box::new(task(value)) }
}

fn given(command: &Command) -> Fact {
    Fact::Operator(Box::new(OperatorInput {
        id: Some(format!("{command:?}")),
        command: command.clone(),
        by: "ada".to_owned(),
    }))
}

#[test]
fn a_run_that_has_ended_has_more_to_do() {
    let mut simulation = Simulation::new(MISSION, options());
    simulation.run(good);
    let command = adds("req-1", &json!({"title": "b", "assignTo": "x", "dependsOn": ["a"], "priority": 2}));
    assert_eq!(evaluate_command(&simulation.state, &command), CommandResult::Applied);
    assert!(simulation.say(&given(&command)));
    let state = &simulation.state;
    let id = task_of_request(state, "req-1").unwrap();
    let from = state.plan.task(id).provenance.as_deref().unwrap();
    assert_eq!((id, from.origin, from.request.as_deref()), (TaskId(1), Origin::Request, Some("req-1")));
    assert!(state.is_unfinished());
    // It is added once, however often and under whatever name it is said.
    assert_eq!(evaluate_command(state, &command), CommandResult::AlreadySo);
    assert!(!simulation.say(&given(&command)));
    let other = adds("req-1", &json!({"title": "c", "assignTo": "x"}));
    assert_eq!(evaluate_command(&simulation.state, &other), CommandResult::AlreadySo);
    simulation.resume();
    simulation.run(good);
    assert_eq!(statuses(&simulation.state), [Status::Done; 2]);
    assert_eq!(outcome(&simulation.state).class, OutcomeClass::Ok);
    // The journal alone knows it.
    let text = serde_json::to_string(&simulation.journal).unwrap();
    let journal: Vec<Vec<Event>> = serde_json::from_str(&text).unwrap();
    let read = Simulation::recovered(plan_of(MISSION, &options()), &journal);
    assert_eq!(statuses(&read.state), [Status::Done; 2]);
}

#[test]
fn a_run_at_work_starts_it_in_its_turn() {
    let mut simulation = Simulation::new(MISSION, options());
    simulation.feed(&given(&adds("req-1", &json!({"title": "b", "assignTo": "x"}))));
    simulation.run(good);
    assert_eq!(statuses(&simulation.state), [Status::Done; 2]);
    assert_eq!(simulation.count(|event| matches!(event, Event::Run(RunEvent::CommandTaken { .. }))), 1);
}

#[test]
fn what_the_run_cannot_have_is_said_in_words() {
    let simulation = Simulation::new(MISSION, options());
    for (value, why) in [
        (json!({"title": "a", "assignTo": "w"}), "already"),
        (json!({"title": "b"}), "names no agent"),
        (json!({"title": "b", "assignTo": "h"}), "a person"),
        (json!({"title": "b", "assignTo": "z"}), "no agent"),
        (json!({"title": "b", "assignTo": "w", "dependsOn": ["c"]}), "no task 'c'"),
    ] {
        let found = cannot_add(&simulation.state, &task(&value)).unwrap();
        assert!(found.contains(why), "{found}");
        assert_eq!(evaluate_command(&simulation.state, &adds("req-1", &value)), CommandResult::Unknown);
    }
}

#[test]
fn it_depends_on_work_that_the_run_does_and_on_no_verification() {
    let yaml = "name: m
agents: {w: {run: [/bin/true]}}
tasks:
  - {title: a}
  - {title: v, type: verification, dependsOn: [a], acceptance: [c], verification: {grader: heuristic}, onPass: p, onFail: p, onRefer: p}
  - {title: p}
  - {title: left}
";
    let only = ["a", "v", "p"].map(str::to_owned).into();
    let simulation = Simulation::new(yaml, crate::plan::RunOptions { only, ..options() });
    for (needed, is_there) in [("a", true), ("p", true), ("v", false), ("left", false)] {
        let value = json!({"title": "b", "assignTo": "w", "dependsOn": [needed]});
        let why = cannot_add(&simulation.state, &task(&value));
        assert_eq!(why.is_none(), is_there, "{needed}: {why:?}");
    }
}

#[test]
fn what_it_depends_on_is_kept_once_and_in_order() {
    let yaml = MISSION.replace(
        "[{title: a, assignTo: w, review: none}]",
        "[{title: a, assignTo: w, review: none}, {title: c, assignTo: w, review: none}]",
    );
    let mut simulation = Simulation::new(&yaml, options());
    let list = json!({"title": "b", "assignTo": "x", "dependsOn": ["c", "a", "c"]});
    simulation.feed(&given(&adds("req-1", &list)));
    let added = simulation.journal.iter().flatten().find_map(|event| match event {
        Event::Run(RunEvent::TasksAdded(addition)) => Some(addition.tasks[0].needs.clone()),
        _ => None,
    });
    assert_eq!(added, Some(vec![TaskId(0), TaskId(1)]));
    simulation.run(good);
    assert_eq!(statuses(&simulation.state), [Status::Done; 3]);
}

#[test]
fn of_many_agents_eight_are_named() {
    let agents: String = (0..12).map(|number| format!("  agent-{number}: {{run: [/bin/true]}}\n")).collect();
    let yaml = format!("name: m\nagents:\n{agents}tasks: [{{title: a, assignTo: agent-0}}]\n");
    let simulation = Simulation::new(&yaml, options());
    let why = cannot_add(&simulation.state, &task(&json!({"title": "b"}))).unwrap();
    assert_eq!(why.matches("agent-").count(), 8, "{why}");
}
