//! When pictures are looked at, and what becomes of those that cannot be.

use super::*;
use crate::domain::{Stage, StageKey, TurnId};
use crate::engine::JobEnd;
use crate::engine::event::TaskEvent;
use crate::engine::quality_flag::Mark;

#[test]
fn pictures_are_looked_at_last_and_only_where_there_are_any() {
    let top = "redTeam: {agent: x}\nvision: {kind: heuristic, screenshots: [s.png], expectations: [{color: '#000000'}]}";
    let with = |file: Option<u64>| {
        move |state: &State, effect: &Effect| match effect {
            Effect::Job { job: Job::Scan { .. }, .. } => Response::Files(file, 1),
            Effect::Job { job: Job::Stage(..), .. } => findings(Severity::Medium),
            Effect::Ask { purpose, .. } if purpose.seat().is_none() => findings(Severity::Low),
            _ => good(state, effect),
        }
    };
    let seen = run(top, "", with(Some(9)));
    let tail = said(&seen);
    assert_eq!(
        tail[tail.len() - 2..],
        [(Stage::RedTeam, None, Verdict::Pass, None), (Stage::Vision, None, Verdict::Pass, None),]
    );
    assert_eq!(statuses(&seen.state), [Status::Done]);
    let strict = format!("{top}\nautonomy: supervised");
    let blocked = run(&strict, ", maxAttempts: 1", with(Some(9)));
    assert_eq!(said(&blocked).last().unwrap(), &(Stage::Vision, None, Verdict::Fail, Some(Cause::Vision)));
    let none = run(top, "", with(None));
    assert_eq!(said(&none).last().unwrap(), &(Stage::Vision, None, Verdict::Skip, None));
    assert_eq!(looked_at(&none), 0);
}

/// How often pictures were looked at, beyond whether they are there.
fn looked_at(simulation: &Simulation) -> usize {
    simulation.count(|event| {
        matches!(event, Event::Work(_, WorkEvent::Requested(Job::Stage(StageKey::VISION, 1..))))
    })
}

#[test]
fn whether_there_are_pictures_is_seen_when_they_are_to_be_looked_at() {
    let shots = "vision: {kind: heuristic, screenshots: [s.png], expectations: [{color: '#000000'}]}";
    let seen = |first: Option<u64>, later: Response| {
        let script = move |state: &State, effect: &Effect| match effect {
            Effect::Job { job: Job::Scan { .. }, .. } => Response::Files(first, 1),
            Effect::Job { job: Job::Stage(_, 0), .. } => later.clone(),
            Effect::Job { job: Job::Stage(..), .. } => findings(Severity::Low),
            _ => good(state, effect),
        };
        let simulation = run(shots, "", script);
        let (.., verdict, cause) = said(&simulation).pop().unwrap();
        (verdict, cause, looked_at(&simulation))
    };
    // A check made one, or removed it.
    assert_eq!(seen(None, Response::Files(Some(1), 2)), (Verdict::Pass, None, 1));
    assert_eq!(seen(Some(1), Response::Files(None, 2)), (Verdict::Skip, None, 0));
    // What stands there and cannot be looked at is not nothing.
    let fault = (Verdict::Fault, Some(Cause::GateError), 0);
    assert_eq!(seen(None, Response::Obstacle), fault);
    assert_eq!(seen(Some(1), Response::Obstacle), fault);
}

#[test]
fn one_picture_that_cannot_be_looked_at_is_a_fault_beside_others_and_open() {
    let top = "vision: {kind: heuristic, screenshots: [a.png, b.png], expectations: [{color: '#000000'}]}";
    let mut simulation = Simulation::new(&mission(top, ""), options());
    let mut script = |state: &State, effect: &Effect| good(state, effect);
    while !matches!(simulation.todo.front(), Some(Effect::Job { job: Job::Stage(..), .. })) {
        simulation.perform(0, &mut script);
    }
    let fact = |path: &str, size, obstacle: Option<&str>| FileFact {
        path: path.to_owned(),
        size,
        digest: None,
        obstacle: obstacle.map(Box::from),
        stored: None,
    };
    let turn = simulation.state.current_turn(T);
    let seen = |attempt| Fact::JobEnded {
        turn: TurnId { attempt, ..turn },
        job: Job::Stage(StageKey::VISION, 0),
        end: JobEnd::Seen {
            files: vec![fact("a.png", None, Some("it is a FIFO")), fact("b.png", Some(1), None)],
            hollow: None,
        },
    };
    simulation.feed(&seen(7));
    assert_eq!(simulation.state.task(T).status(), Status::Review, "of another attempt");
    simulation.feed(&seen(1));
    let task = simulation.state.task(T);
    assert_eq!((task.status(), task.attempt.has(Mark::Faulted)), (Status::Done, true));
    let told = simulation.count(|event| match event {
        Event::Task(_, TaskEvent::StageVerdict(report)) => report
            .findings
            .iter()
            .any(|finding| finding.description.contains("a.png cannot be looked at: it is a FIFO")),
        _ => false,
    });
    assert_eq!(told, 1);
    let once = simulation.journal.len();
    simulation.feed(&seen(1));
    assert_eq!(simulation.journal.len(), once, "it is seen once");
}

#[test]
fn one_picture_is_enough_to_look_at() {
    let top = "vision: {kind: heuristic, screenshots: [a.png, b.png], expectations: [{color: '#000000'}]}";
    let mut simulation = Simulation::new(&mission(top, ""), options());
    while !matches!(simulation.todo.front(), Some(Effect::Job { job: Job::Stage(..), .. })) {
        simulation.perform(0, &mut good);
    }
    let fact = |path: &str, size| FileFact {
        path: path.to_owned(),
        size,
        digest: None,
        obstacle: None,
        stored: None,
    };
    simulation.todo.clear();
    simulation.feed(&Fact::JobEnded {
        turn: simulation.state.current_turn(T),
        job: Job::Stage(StageKey::VISION, 0),
        end: JobEnd::Seen { files: vec![fact("a.png", None), fact("b.png", Some(1))], hollow: None },
    });
    assert_eq!(looked_at(&simulation), 1);
}
