//! Preflight by evidence, and the finish gate (section 6.2 and 6.3).

use std::cell::Cell;

use crate::domain::{AttemptKind, Cause, OutcomeClass, Points, QualityFlag, Stage, Status, TaskId, Verdict};
use crate::engine::{
    Effect, Event, Job, State, TaskEvent, ToolCalls, TurnEvent, TurnFiles, WorkEvent, outcome,
};

use super::simulation::{Response, Simulation, good, options};

fn run(task: &str, script: impl FnMut(&State, &Effect) -> Response) -> Simulation {
    let yaml = format!("name: m\nagents: {{w: {{run: [/bin/true]}}}}\ntasks:\n  - {{title: t, {task}}}\n");
    let mut simulation = Simulation::new(&yaml, options());
    simulation.run(script);
    simulation
}

fn turns(simulation: &Simulation) -> usize {
    simulation.count(|event| matches!(event, Event::Turn(_, TurnEvent::Started(_))))
}

fn nudges(simulation: &Simulation) -> usize {
    simulation.count(|event| matches!(event, Event::Task(_, TaskEvent::Nudged { .. })))
}

fn flag(simulation: &Simulation) -> Option<QualityFlag> {
    simulation.state.task(TaskId(0)).flag()
}

/// The command at this position is red until the worker's turn of this number.
fn red_until(command: u32, turn: u32) -> impl FnMut(&State, &Effect) -> Response {
    move |state, effect| match effect {
        Effect::Job { turn: of, job: Job::Finish(n) } => Response::Check(*n != command || of.turn >= turn),
        other => good(state, other),
    }
}

#[test]
fn a_worker_is_told_what_is_missing_in_another_turn_of_the_same_attempt() {
    let gate = "verify: {requiredTests: [a, b], testCommand: 'test {test}'}, expectations: [{type: test, command: x}]";
    let simulation = run(gate, red_until(1, 2));
    assert_eq!((turns(&simulation), nudges(&simulation)), (2, 1));
    assert_eq!(flag(&simulation), Some(QualityFlag::Clean));
    assert_eq!(simulation.state.task(TaskId(0)).attempt.number, 1);
    assert_eq!(simulation.state.task(TaskId(0)).attempt.kind, AttemptKind::Execute);
    let missing: Vec<String> = simulation
        .journal
        .iter()
        .flatten()
        .filter_map(|event| match event {
            Event::Task(_, TaskEvent::Nudged { missing, .. }) => Some(missing[0].description.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(missing, ["the test b is not green"]);
}

#[test]
fn each_required_test_runs_by_itself_and_one_green_test_is_not_another() {
    let gate = "verify: {requiredTests: [a], failToPass: [b, a], testCommand: 'test {test}', maxAttempts: 0}";
    let simulation = run(gate, red_until(1, 9));
    let ran = simulation
        .count(|event| matches!(event, Event::Work(_, WorkEvent::Ended { job: Job::Finish(_), .. })));
    assert_eq!(ran, 2, "a and b, a once");
    assert_eq!(flag(&simulation), Some(QualityFlag::Unverified), "0 allows at once");
    assert_eq!(nudges(&simulation), 0);
}

#[test]
fn after_the_allowed_nudges_it_goes_on_unverified() {
    let gate = "verify: {commands: [x]}";
    let simulation = run(gate, red_until(0, 99));
    assert_eq!((turns(&simulation), nudges(&simulation)), (3, 2));
    assert_eq!(flag(&simulation), Some(QualityFlag::Unverified));
    assert_eq!(outcome(&simulation.state).class, OutcomeClass::BelowThreshold);
    let forced = |event: &Event| {
        matches!(event, Event::Task(_, TaskEvent::StageVerdict(report))
            if (report.stage, report.verdict, report.cause) == (Stage::Finish, Verdict::Skip, Some(Cause::Unmet))
            && !report.findings.is_empty())
    };
    assert_eq!(simulation.count(forced), 1);
}

#[test]
fn compilation_and_the_rest_are_counted_apart_and_each_stops_on_its_own() {
    let gate = "verify: {requireCompilation: true, compileCommand: c, commands: [x]}";
    let simulation = run(gate, |state, effect| match effect {
        Effect::Job { job: Job::Finish(_), .. } => Response::Check(false),
        other => good(state, other),
    });
    assert_eq!(nudges(&simulation), 8);
    let told =
        simulation.count(|event| matches!(event, Event::Task(_, TaskEvent::Nudged { others: true, .. })));
    assert_eq!(told, 2, "of the rest it is told twice only");
    let both = |event: &Event| matches!(event, Event::Task(_, TaskEvent::Nudged { missing, .. }) if missing.len() == 2);
    assert_eq!(simulation.count(both), 2);
    assert_eq!(flag(&simulation), Some(QualityFlag::Unverified));
    // What compiles, and only that, is enough where only that is asked.
    let simulation = run("verify: {requireCompilation: true, compileCommand: c}", good);
    assert_eq!(flag(&simulation), Some(QualityFlag::Unreviewed));
}

#[test]
fn a_gate_that_requires_nothing_is_none() {
    for gate in ["verify: {}", "verify: {maxAttempts: 1}"] {
        let simulation = run(gate, good);
        assert_eq!(flag(&simulation), Some(QualityFlag::Unreviewed), "{gate}");
        let asked =
            simulation.count(|event| matches!(event, Event::Work(_, WorkEvent::Requested(Job::Finish(_)))));
        assert_eq!(asked, 0);
    }
}

#[test]
fn a_forced_gate_does_not_spare_the_work_its_judging() {
    let gate =
        "verify: {commands: [x], maxAttempts: 0}, maxAttempts: 2, expectations: [{type: test, command: x}]";
    let simulation = run(gate, |state, effect| match effect {
        Effect::Job { job: Job::Finish(_), .. } | Effect::Job { job: Job::Check(_), .. } => {
            Response::Check(false)
        }
        other => good(state, other),
    });
    assert_eq!(simulation.state.task(TaskId(0)).status(), Status::Failed);
    // The next attempt is not unverified for what the one before did not show.
    let tries = Cell::new(0);
    let simulation = run(gate, |state, effect| match effect {
        Effect::Job { turn, job: Job::Finish(_) } => Response::Check(turn.attempt > 1),
        Effect::Job { job: Job::Check(_), .. } => {
            tries.set(tries.get() + 1);
            Response::Check(tries.get() > 1)
        }
        other => good(state, other),
    });
    assert_eq!(flag(&simulation), Some(QualityFlag::Clean));
}

fn did(changed: Option<u32>, written: Option<u32>) -> Response {
    Response::Did(TurnFiles { changed, written, ..TurnFiles::default() })
}

#[test]
fn changes_are_what_the_runtime_saw() {
    let gate = "verify: {requireFileChanges: true}";
    let script = |answer: Response| {
        move |state: &State, effect: &Effect| match effect {
            Effect::RunTurn { .. } => answer.clone(),
            other => good(state, other),
        }
    };
    let simulation = run(gate, script(did(Some(1), Some(1))));
    assert_eq!((flag(&simulation), nudges(&simulation)), (Some(QualityFlag::Unreviewed), 0));
    // Written with what it held is no change.
    let simulation = run(gate, script(did(Some(0), Some(1))));
    assert_eq!((flag(&simulation), nudges(&simulation)), (Some(QualityFlag::Unverified), 2));
    // Unknown is no reason to tell the worker, and nothing was shown either.
    let simulation = run(gate, script(did(None, None)));
    assert_eq!((flag(&simulation), nudges(&simulation)), (Some(QualityFlag::Unverified), 0));
}

#[test]
fn a_crash_in_the_middle_of_a_gate_runs_what_is_missing() {
    let gate =
        "name: m\nagents: {w: {run: [/bin/true]}}\ntasks:\n  - {title: t, verify: {commands: [x, y]}}\n";
    let mut simulation = Simulation::new(gate, options());
    let is_second = |effect: &Effect| matches!(effect, Effect::Job { job: Job::Finish(1), .. });
    while !simulation.todo.iter().any(is_second) {
        simulation.perform(0, &mut good);
    }
    let mut later = Simulation::recovered(simulation.state.plan.clone(), &simulation.journal);
    later.resume();
    assert!(later.todo.iter().any(is_second));
    later.run(good);
    assert_eq!(
        later.count(|event| matches!(event, Event::Work(_, WorkEvent::Ended { job: Job::Finish(_), .. }))),
        2
    );
    assert_eq!(later.state.task(TaskId(0)).status(), Status::Done);
}

// Preflight.

fn rejected(simulation: &Simulation) -> Option<(Cause, Points)> {
    simulation.journal.iter().flatten().find_map(|event| match event {
        Event::Task(_, TaskEvent::StageVerdict(report))
            if report.stage == Stage::Preflight && report.verdict == Verdict::Fail =>
        {
            Some((report.cause?, report.points?))
        }
        _ => None,
    })
}

fn called(calls: u32, hollow: bool) -> impl FnMut(&State, &Effect) -> Response {
    move |state, effect| match effect {
        Effect::RunTurn { .. } => Response::Called(ToolCalls { calls, writes: 0 }),
        Effect::Job { job: Job::Scan { .. }, .. } if hollow => Response::Hollow,
        other => good(state, other),
    }
}

#[test]
fn no_tool_call_is_no_work_where_the_ledger_shows_it() {
    let zero = Some((Cause::Preflight, Points::ZERO));
    let hollow = Some((Cause::Preflight, Points::whole(20)));
    for (task, calls, is_hollow, expected) in [
        ("type: implement", 0, false, zero),
        ("type: refactor", 0, false, zero),
        ("type: implement", 1, true, None),
        ("type: implement, requiresToolCalls: false", 0, false, None),
        ("type: research", 0, false, None),
        ("type: other", 0, true, hollow),
        ("type: other", 9, true, None),
        ("type: research, description: Write findings to a report", 0, false, hollow),
        ("type: research, description: Write findings to a report", 1, false, None),
        ("type: research, description: Save to notes.md", 0, false, hollow),
    ] {
        let simulation = run(task, called(calls, is_hollow));
        assert_eq!(rejected(&simulation), expected, "{task} {calls} {is_hollow}");
    }
}

#[test]
fn an_agent_without_a_ledger_may_have_made_any_number_of_calls() {
    let simulation = run("type: implement", good);
    assert_eq!(rejected(&simulation), None);
    assert_eq!(flag(&simulation), Some(QualityFlag::Unreviewed));
}

#[test]
fn files_that_nobody_wrote_were_not_written() {
    let task = "description: Write a report, targetFiles: [a]";
    let artifact = Some((Cause::Preflight, Points::whole(20)));
    for (answer, expected) in [
        (did(Some(0), Some(0)), artifact),
        (did(Some(0), Some(1)), None),
        (did(Some(1), Some(1)), None),
        (did(None, None), None),
    ] {
        let simulation = run(task, |state, effect| match effect {
            Effect::RunTurn { .. } => answer.clone(),
            Effect::Job { job: Job::Scan { .. }, .. } => Response::Files(Some(1), 0),
            other => good(state, other),
        });
        assert_eq!(rejected(&simulation), expected, "{answer:?}");
    }
    // A task that asks for no file may find its files as they should be.
    let simulation = run("description: Look after it, targetFiles: [a]", |state, effect| match effect {
        Effect::Job { job: Job::Scan { .. }, .. } => Response::Files(Some(1), 0),
        other => good(state, other),
    });
    assert_eq!(rejected(&simulation), None);
}
