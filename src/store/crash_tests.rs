//! Engine and journal on a disk that loses or tears what was not synced: a crash at every write, at every sync and
//! between a commit and its effects, then recovery from what is left.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use rules::domain::{Points, Purpose, QualityFlag, Status, Timestamp, TurnId};
use rules::engine::simulation::{Response, Simulation, options, plan_of};
use rules::engine::{Effect, Event, Fact, Job, State, TurnEvent};
use rules::plan::Plan;

use super::double::{Fate, MemoryLog};
use super::journal::{Journal, Reader};
use super::record::JournalDecision;
use super::snapshot::JournalEnd;

/// A panel of three, a check that fails first, an evaluation that sends back, a gate, a dependency.
const MISSION: &str = "
name: crash
agents:
  w: {run: [/bin/true]}
  j1: {run: [/bin/true], role: reviewer}
  j2: {run: [/bin/true], role: reviewer}
  j3: {run: [/bin/true], role: qa}
tasks:
  - {title: a, assignTo: w, expectations: [{type: test, command: x}, {type: llm_review, criteria: c}]}
  - {title: b, assignTo: w}
  - {title: c, assignTo: w, dependsOn: [a], targetFiles: [f]}
  - {title: d, assignTo: w}
qualityGates:
  - {name: g, afterTasks: [a, b], blocksTasks: [d], minScore: 3}
";

/// The world, deterministic by what is asked: first attempts are not good enough, later ones are.
fn world(state: &State, effect: &Effect) -> Response {
    match effect {
        Effect::Job { turn: TurnId { attempt, .. }, job: Job::Check(_) } => Response::Check(*attempt > 1),
        Effect::Ask { purpose: Purpose::Score(seat), .. } if seat.seat == 2 => Response::Unreadable,
        Effect::Ask { id, purpose: Purpose::Score(seat), .. } => {
            Response::Score(if seat.attempt > 1 || state.task(id.task).attempt.number > 1 { 80 } else { 40 })
        }
        Effect::Job { job: Job::Scan { .. }, .. } => Response::Files(Some(1), 0),
        _ => Response::Finished,
    }
}

/// Where the machine stops.
#[derive(Debug, Clone, Copy)]
enum Crash {
    /// At this write or sync.
    During(usize),
    /// After so many commits, before what they decided was done.
    After(usize),
    Never,
}

/// The fact does not matter to a disk.
fn decision(events: &[Event]) -> JournalDecision {
    JournalDecision::of(Fact::Advance, events.to_vec())
}

/// Performs, commits, performs … until the end or the crash. Returns the disk's log.
fn live(simulation: &mut Simulation, log: &mut MemoryLog, end: JournalEnd, crash: Crash) -> bool {
    let mut written = simulation.journal.len();
    if end == JournalEnd::START {
        written = 0;
    }
    if let Crash::During(at) = crash {
        log.crash_at = Some(at);
    }
    let mut journal = Journal::new(log, Path::new("journal.jsonl"), end);
    let mut commits = 0;
    loop {
        for events in &simulation.journal[written..] {
            if journal.push(Timestamp(0), &decision(events)).is_err() {
                return false;
            }
        }
        written = simulation.journal.len();
        if journal.commit().is_err() {
            return false;
        }
        commits += 1;
        if matches!(crash, Crash::After(n) if n == commits) {
            return false;
        }
        if simulation.todo.is_empty() {
            return true;
        }
        simulation.perform(0, &mut world);
    }
}

/// What is left of a run after a crash.
fn recover(plan: &Arc<Plan>, disk: &[u8]) -> Option<(Simulation, JournalEnd)> {
    let mut reader = Reader::new(disk, Path::new("journal.jsonl"));
    let mut journal = Vec::new();
    while let Some(record) = reader.next_record().expect("a crash must not look like damage") {
        journal.push(record.events);
    }
    let end = reader.end();
    (!journal.is_empty()).then(|| (Simulation::recovered(plan.clone(), &journal), end))
}

type Row = (Status, Option<QualityFlag>, Option<Points>, u32);

fn rows(state: &State) -> Vec<Row> {
    state
        .tasks
        .iter()
        .map(|task| (task.status(), task.flag(), task.attempt.points, task.attempt.number))
        .collect()
}

fn finished_turns(journal: &[Vec<Event>]) -> BTreeSet<TurnId> {
    let finished = journal.iter().flatten().filter_map(|event| match event {
        Event::Turn(turn, TurnEvent::Finished(_)) => Some(*turn),
        _ => None,
    });
    finished.collect()
}

fn undisturbed() -> (Vec<Row>, usize, usize) {
    let mut simulation = Simulation::new(MISSION, options());
    let mut log = MemoryLog::default();
    assert!(live(&mut simulation, &mut log, JournalEnd::START, Crash::Never));
    (rows(&simulation.state), log.appends + log.syncs, log.syncs)
}

/// Crashes once, recovers, runs to the end and compares.
fn crash_and_compare(crash: Crash, fate: Fate, expected: &[Row]) {
    let plan = plan_of(MISSION, &options());
    let mut simulation = Simulation::new(MISSION, options());
    let mut log = MemoryLog::default();
    if live(&mut simulation, &mut log, JournalEnd::START, crash) {
        return;
    }
    let disk = log.after_crash(fate);
    // Nothing durable means nothing was started: the run never was.
    let Some((mut recovered, end)) = recover(&plan, &disk) else {
        assert!(simulation.turns.is_empty(), "{crash:?} {fate:?}: work without a record");
        return;
    };
    let finished = finished_turns(&recovered.journal);
    let mut log =
        MemoryLog { bytes: disk[..usize::try_from(end.offset).unwrap()].to_vec(), ..MemoryLog::default() };
    log.synced = log.bytes.len();
    let before = recovered.journal.len();
    recovered.resume();
    let resumed = recovered.journal.split_off(before);
    let mut rest = log.clone();
    {
        let mut journal = Journal::new(&mut rest, Path::new("journal.jsonl"), end);
        resumed.iter().for_each(|events| journal.push(Timestamp(0), &decision(events)).unwrap());
        journal.commit().unwrap();
    }
    recovered.journal.extend(resumed);
    while !recovered.todo.is_empty() {
        recovered.perform(0, &mut world);
    }
    assert!(
        recovered.turns.iter().all(|turn| !finished.contains(turn)),
        "{crash:?} {fate:?}: a finished turn ran again"
    );
    assert_eq!(rows(&recovered.state), expected, "{crash:?} {fate:?}");
    let read = Reader::new(rest.bytes.as_slice(), Path::new("journal.jsonl")).next_record();
    assert!(read.unwrap().is_some(), "the journal goes on behind the cut");
}

#[test]
fn a_crash_at_every_write_and_sync_leads_to_the_same_end() {
    let (expected, operations, _) = undisturbed();
    for at in 0..operations {
        for fate in [
            Fate::Lost,
            Fate::Cut(1),
            Fate::Cut(70),
            Fate::Cut(5000),
            Fate::Zeroed(0, 40),
            Fate::Zeroed(90, 200),
        ] {
            crash_and_compare(Crash::During(at), fate, &expected);
        }
    }
}

#[test]
fn synced_but_not_spawned() {
    // The record that a turn starts is durable, and the machine stops before the process exists: for every commit.
    let (expected, _, commits) = undisturbed();
    for commit in 1..commits {
        crash_and_compare(Crash::After(commit), Fate::Lost, &expected);
    }
}

#[test]
fn exited_but_not_committed() {
    // The agent ended, and the record of it is lost: the turn counts as lost and is started again, as a new turn.
    let plan = plan_of(MISSION, &options());
    let mut simulation = Simulation::new(MISSION, options());
    while simulation.turns.is_empty() {
        simulation.perform(0, &mut world);
    }
    let started = simulation.turns[0];
    let before_exit = simulation.journal.iter().position(|events| {
        events
            .iter()
            .any(|event| matches!(event, Event::Turn(turn, TurnEvent::Finished(_)) if *turn == started))
    });
    let durable = &simulation.journal[..before_exit.unwrap()];
    let mut recovered = Simulation::recovered(plan, durable);
    recovered.resume();
    recovered.run(world);
    let again = recovered.turns.iter().find(|turn| turn.task == started.task).unwrap();
    assert_eq!((again.attempt, again.turn), (started.attempt, started.turn + 1));
    assert_eq!(rows(&recovered.state), undisturbed().0);
}

#[test]
fn a_turn_that_outlived_the_crash_is_not_started_again() {
    // After every commit the machine stops the runner alone: what it had started still works, and its result counts.
    let (expected, _, commits) = undisturbed();
    let plan = plan_of(MISSION, &options());
    let mut adopted = 0;
    for commit in 1..commits {
        let mut simulation = Simulation::new(MISSION, options());
        let mut log = MemoryLog::default();
        live(&mut simulation, &mut log, JournalEnd::START, Crash::After(commit));
        let disk = log.after_crash(Fate::Lost);
        let (mut recovered, _) = recover(&plan, &disk).expect("a commit was made");
        let kept = recovered.running();
        adopted += kept.len();
        recovered.resume_keeping(&kept);
        recovered.run(world);
        assert!(recovered.turns.iter().all(|turn| !kept.contains(turn)), "{commit}");
        assert_eq!(rows(&recovered.state), expected, "{commit}");
        let lost = |event: &Event| matches!(event, Event::Turn(_, TurnEvent::Lost));
        assert!(!recovered.journal.iter().flatten().any(lost), "{commit}");
    }
    assert!(adopted > 0);
}

#[test]
fn the_middle_of_a_panel() {
    // Two of three seats have replied: after the crash only the third is asked.
    let plan = plan_of(MISSION, &options());
    let mut simulation = Simulation::new(MISSION, options());
    let is_seat = |effect: &Effect| matches!(effect, Effect::Ask { id, purpose: Purpose::Score(seat), .. } if id.task.0 == 0 && seat.attempt == 2);
    let panel_seats =
        |simulation: &Simulation| simulation.todo.iter().filter(|effect| is_seat(effect)).count();
    while panel_seats(&simulation) < 3 {
        let next = simulation.todo.iter().position(|effect| !is_seat(effect)).expect("the panel is asked");
        simulation.perform(next, &mut world);
    }
    for _ in 0..2 {
        let next = simulation.todo.iter().position(is_seat).unwrap();
        simulation.perform(next, &mut world);
    }
    let mut recovered = Simulation::recovered(plan, &simulation.journal);
    recovered.resume();
    assert_eq!(panel_seats(&recovered), 1, "replied seats are used, the other is asked again");
    recovered.run(world);
    assert_eq!(rows(&recovered.state), undisturbed().0);
}
