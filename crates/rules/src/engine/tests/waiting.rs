//! `--wait-approvals`: when a session is kept alive for a person's answer, and what ends the wait.

use crate::domain::{FailureClass, Millis, OutcomeClass, Status, TaskId, Timestamp};
use crate::engine::{
    ApproverSaid, Command, Effect, Event, Fact, Job, JobEnd, RunEvent, RunPhase, StopCause, Timer, outcome,
};
use crate::plan::RunOptions;

use super::operator::says;
use super::simulation::{Response, Simulation, good, options, statuses};

/// A task that a person must accept, and what hangs on it.
const MISSION: &str = "name: m
agents:
  w: {run: [/bin/true]}
  p: {adapter: human}
tasks:
  - {title: a, assignTo: w, expectations: [{type: llm_review, reviewers: [p], criteria: x}]}
  - {title: b, assignTo: w, review: none, dependsOn: [a]}
  - {title: c, assignTo: w, review: none}
";

/// Plays a session that may wait for people until nothing but a person moves it.
fn waiting(more: RunOptions) -> Simulation {
    let options = RunOptions { wait_approvals: Some(Millis::from_secs(60)), ..more };
    let mut simulation = Simulation::new(MISSION, options);
    play(&mut simulation);
    simulation
}

fn play(simulation: &mut Simulation) {
    while !simulation.todo.is_empty() {
        simulation.perform(0, &mut good);
    }
}

fn waits(simulation: &Simulation) -> Vec<Timestamp> {
    let events = simulation.journal.iter().flatten();
    let until = |event: &Event| match event {
        Event::Run(RunEvent::SessionLimit { until, waits: true }) => Some(*until),
        _ => None,
    };
    events.filter_map(until).collect()
}

fn over(at: Timestamp) -> Fact {
    Fact::TimerDue { at, timer: Timer::WaitOver }
}

#[test]
fn a_session_that_may_wait_ends_with_the_answer_or_with_its_patience() {
    let approve = |number| says(Command::approve(TaskId(0), number));
    let mut simulation = waiting(options());
    let first = waits(&simulation);
    assert_eq!(first.len(), 1, "it is said once");
    assert_eq!(simulation.state.phase, RunPhase::Running);
    assert_eq!(statuses(&simulation.state)[2], Status::Done, "all else was done first");
    // Nothing but the end of this very wait ends it.
    simulation.feed(&over(Timestamp(first[0].0 - 1)));
    assert_eq!((simulation.state.phase, waits(&simulation).len()), (RunPhase::Running, 1));

    let mut answered = simulation;
    answered.feed(&says(Command::reject(TaskId(0), 1, "no")));
    assert_eq!(answered.state.waits_until(), None);
    play(&mut answered);
    // The next question has a wait of its own, and the end of the first means nothing any more.
    let second = waits(&answered);
    assert!(second.len() == 2 && second[1] > second[0]);
    answered.feed(&over(first[0]));
    assert_eq!(answered.state.phase, RunPhase::Running);
    answered.feed(&approve(2));
    answered.run(good);
    assert_eq!(outcome(&answered.state).class, OutcomeClass::Ok);

    let mut ignored = waiting(options());
    assert!(ignored.time_passes());
    assert_eq!(outcome(&ignored.state).class, OutcomeClass::Awaiting);
    assert!(ignored.state.is_unfinished());
    assert_eq!(ignored.state.waits_until(), None);
}

#[test]
fn what_stops_a_session_stops_its_wait() {
    for stop in [
        Fact::Stop(StopCause::Interrupted),
        Fact::Stop(StopCause::TimeLimit),
        says(Command::Pause),
        says(Command::CancelRun),
    ] {
        let mut simulation = waiting(options());
        // With the word itself, before anything follows from it.
        simulation.say(&stop);
        assert_eq!(simulation.state.waits_until(), None, "{stop:?}");
        let mut simulation = waiting(options());
        simulation.feed(&stop);
        assert_eq!(simulation.state.phase, RunPhase::Finished, "{stop:?}");
        assert_eq!(simulation.state.waits_until(), None);
    }
    // After a failure that starts nothing more, an answer moves nothing on.
    let last = "  - {title: d, assignTo: w, review: none, maxAttempts: 1}\n";
    let options = RunOptions { wait_approvals: Some(Millis::from_secs(60)), fail_fast: true, ..options() };
    let mut simulation = Simulation::new(&format!("{MISSION}{last}"), options);
    let last = TaskId(3);
    simulation.run(|state, effect| match effect {
        Effect::RunTurn { turn, .. } if turn.task == last => Response::AgentFailed(FailureClass::Unknown),
        other => good(state, other),
    });
    assert_eq!(waits(&simulation), []);
}

#[test]
fn an_approver_that_nobody_asked_or_that_comes_too_late_decides_nothing() {
    let yaml = "name: m
agents: {w: {run: [/bin/true]}}
tasks: [{title: a, review: none, requiresApproval: {approvers: [{command: x}, {command: y}]}}]
";
    let mut simulation = Simulation::new(yaml, options());
    simulation.perform(0, &mut |_, _| Response::Unreadable);
    let answers = |simulation: &mut Simulation, number, approver| {
        simulation.say(&Fact::JobEnded {
            turn: simulation.state.current_turn(TaskId(0)),
            job: Job::Approver { number, approver },
            end: JobEnd::Approver(ApproverSaid::Yes),
        })
    };
    // The second is being asked.
    for (number, approver) in [(1, 0), (2, 1), (1, 7)] {
        assert!(!answers(&mut simulation, number, approver), "{number} {approver}");
    }
    simulation.feed(&says(Command::reject(TaskId(0), 1, "no")));
    assert!(!answers(&mut simulation, 1, 1));
}
