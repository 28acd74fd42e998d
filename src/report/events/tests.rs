//! Tests of the event stream.

mod samples;

use samples::{TASK, notice_samples, report, review_samples, run_samples, task_samples, turn_samples};

use std::sync::Arc;

use serde_json::Value;

use super::*;
use crate::report::testing::{Mission, SCREENS, START, Scene, assert_fits, eventful, play_eventful};
use crate::report::vocabulary::words::find;
use rules::domain::{
    AttemptKind, FailureClass, Millis, OutcomeClass, Purpose, Stage, StageKey, Status, TaskId, TurnId,
    Verdict, WaitingReason,
};
use rules::engine::{
    AskEvent, AskReply, BudgetEvent, DeadlineEvent, DeadlineStep, DependencyStep, Event, GateEvent,
    HoldEvent, Job, NoticeEvent, Prompt, RunEvent, TaskEvent, TurnEnd, TurnEvent, TurnUpdate, WorkEvent,
};
use rules::plan::{BarrierKind, BarrierPlan, Part};

/// All variants. The match has no catch-all: a new variant does not compile until it has a name and a sample here.
fn variant(event: &Event) -> &'static str {
    match event {
        Event::Run(RunEvent::Started(_)) => "RunStarted",
        Event::Run(RunEvent::Resumed(_)) => "RunResumed",
        Event::Run(RunEvent::Moved { .. }) => "RunMoved",
        Event::Run(RunEvent::Stopping(_)) => "Stopping",
        Event::Run(RunEvent::Finished { .. }) => "RunFinished",
        Event::Task(_, TaskEvent::Transition { .. }) => "Transition",
        Event::Task(_, TaskEvent::AttemptPlanned { .. }) => "AttemptPlanned",
        Event::Turn(_, TurnEvent::Started(_)) => "TurnStarted",
        Event::Turn(_, TurnEvent::Progress(TurnUpdate::Spawned { .. })) => "AgentSpawned",
        Event::Turn(_, TurnEvent::RequestFailed { .. }) => "TurnRequestFailed",
        Event::Turn(_, TurnEvent::Finished(_)) => "TurnFinished",
        Event::Run(RunEvent::ProtectionNoted(_)) => "ProtectionNoted",
        Event::Task(_, TaskEvent::StageVoided(_)) => "StageVoided",
        Event::Turn(_, TurnEvent::FilesNoted { .. }) => "FilesNoted",
        Event::Turn(_, TurnEvent::Lost) => "TurnLost",
        Event::Turn(_, TurnEvent::Adopted) => "TurnAdopted",
        Event::Work(_, WorkEvent::Requested(_)) => "WorkRequested",
        Event::Work(_, WorkEvent::Ended { .. }) => "WorkEnded",
        Event::Task(_, TaskEvent::StageFailed { .. }) => "StageFailed",
        Event::Hold(_, HoldEvent::Undecided { .. }) => "HoldUndecided",
        Event::Task(_, TaskEvent::FilesChanged { .. }) => "FilesChanged",
        Event::Task(_, TaskEvent::AcceptanceRecorded { .. }) => "AcceptanceRecorded",
        Event::Run(RunEvent::WorkRequested(_)) => "RunWorkRequested",
        Event::Task(_, TaskEvent::Regressed { .. }) => "Regressed",
        Event::Run(RunEvent::AuditFinished { .. }) => "Audited",
        Event::Run(RunEvent::WorkDelivered(_)) => "WorkDelivered",
        Event::Task(_, TaskEvent::Nudged { .. }) => "Nudged",
        Event::Ask(_, AskEvent::Requested { purpose: Purpose::Score(_), .. }) => "ScoreRequested",
        Event::Ask(_, AskEvent::Replied(AskReply { purpose: Purpose::Score(_), .. })) => "ScoreReplied",
        Event::Ask(_, AskEvent::Failed { purpose: Purpose::Score(_), .. }) => "ScoreFailed",
        Event::Turn(_, TurnEvent::Progress(TurnUpdate::Activity { .. })) => "AgentActivity",
        Event::Task(_, TaskEvent::DelegationDrift { .. }) => "DelegationDrift",
        Event::Task(_, TaskEvent::Question { .. }) => "Question",
        Event::Task(_, TaskEvent::Answered { .. }) => "Answered",
        Event::Ask(_, AskEvent::Requested { .. }) => "AskRequested",
        Event::Ask(_, AskEvent::Replied(_)) => "AskReplied",
        Event::Ask(_, AskEvent::Failed { .. }) => "AskFailed",
        Event::Task(_, TaskEvent::StageVerdict(_)) => "StageVerdict",
        Event::Task(_, TaskEvent::EvalUnparsed) => "EvalUnparsed",
        Event::Task(_, TaskEvent::MergeBegun { .. }) => "MergeBegun",
        Event::Task(_, TaskEvent::ForceAccepted { .. }) => "ForceAccepted",
        Event::Task(_, TaskEvent::AcceptanceAnswered { .. }) => "AcceptanceAnswered",
        Event::Hold(_, HoldEvent::Opened { .. }) => "HoldOpened",
        Event::Hold(_, HoldEvent::TimedOut { .. }) => "HoldTimedOut",
        Event::Hold(_, HoldEvent::Closed { .. }) => "HoldClosed",
        Event::Task(_, TaskEvent::DependencyFailed { .. }) => "DependencyFailed",
        Event::Gate(_, GateEvent::Evaluated { .. }) => "GateEvaluated",
        Event::Gate(_, GateEvent::Overridden { .. }) => "GateOverridden",
        Event::Run(RunEvent::Paused { .. }) => "Paused",
        Event::Run(RunEvent::CommandTaken { .. }) => "CommandTaken",
        Event::Run(RunEvent::ThresholdFailed { .. }) => "ThresholdFailed",
        Event::Run(RunEvent::Salvaged(_)) => "Salvaged",
        Event::Run(RunEvent::MissionChanged(_)) => "MissionChanged",
        Event::Task(_, TaskEvent::DelegationRefused { .. }) => "DelegationRefused",
        Event::Task(_, TaskEvent::EdgeTaken { .. }) => "EdgeTaken",
        Event::Task(_, TaskEvent::FellBack { .. }) => "FellBack",
        Event::Ask(_, AskEvent::HandedOver { .. }) => "HandedOver",
        Event::Task(_, TaskEvent::Probed { .. }) => "Probed",
        Event::Notice(_) => "Notice",
        Event::Run(RunEvent::TasksAdded(_)) => "TasksAdded",
        Event::Run(RunEvent::TasksWithdrawn { .. }) => "TasksWithdrawn",
        Event::Turn(_, TurnEvent::Progress(TurnUpdate::Stale { .. })) => "AgentStale",
        Event::Deadline(_) => "Deadline",
        Event::Budget(BudgetEvent::Exhausted { .. }) => "LimitReached",
        Event::Budget(BudgetEvent::Held { .. }) => "CallHeld",
        Event::Budget(BudgetEvent::Settled { .. }) => "CallSettled",
        Event::Budget(BudgetEvent::Clock { .. }) => "BudgetClock",
        Event::Run(RunEvent::SessionLimit { .. }) => "SessionLimit",
        Event::Task(_, TaskEvent::Deferred { .. }) => "TaskDeferred",
        Event::Task(_, TaskEvent::Superseded { .. }) => "Superseded",
        Event::Run(RunEvent::Warning(_, _)) => "Warning",
    }
}

const VARIANTS: usize = 70;

fn mission() -> Mission {
    Mission::new("m")
        .task("first", &[])
        .check("cargo test")
        .accepted_by(&["It is good."])
        .task("second", &[0])
        .gate("g", &[0], &[1], None)
}

fn lines(events: &[PublicEvent]) -> String {
    let line = |event| serde_json::to_string(event).unwrap();
    events.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn samples() -> Vec<Event> {
    [run_samples(), turn_samples(), review_samples(), task_samples(), notice_samples()].concat()
}

/// What is told of the samples. Each stands in a record of its own: what follows in the same record says what became of it.
fn told() -> Vec<PublicEvent> {
    let mut plan = mission().build();
    let hold = |name: &str, kind| BarrierPlan {
        name: name.into(),
        kind,
        part: Part::Selected,
        after: vec![TASK],
        blocks: vec![TaskId(1)],
        message: Some("look at the staging site".into()),
        notify: None,
    };
    Arc::make_mut(&mut plan).barriers = Arc::new(vec![
        hold("go", BarrierKind::Checkpoint),
        hold("cool down", BarrierKind::Delay(Millis::from_secs(60))),
    ]);
    let mut expander = EventExpander::new(&plan);
    let mut events = Vec::new();
    for (seq, sample) in (7..).zip(&samples()) {
        events.extend(expander.expand(seq, START, std::slice::from_ref(sample)));
    }
    events
}

#[test]
fn every_variant_has_its_name_and_keys() {
    let samples = samples();
    let mut covered: Vec<_> = samples.iter().map(variant).collect();
    covered.sort_unstable();
    covered.dedup();
    assert_eq!(covered.len(), VARIANTS, "{covered:?}");
    insta::assert_snapshot!(lines(&told()));
}

/// A key of the page of events that no event has would be a promise that nobody keeps.
#[test]
fn every_key_that_the_page_promises_is_told() {
    let page = include_str!("../../../docs/reference/events.md");
    let (_, page) = page.split_once("## Stable events").expect("a heading");
    let mut scene = Scene::start(eventful());
    play_eventful(&mut scene);
    let deadline = |step| {
        let (task, since, due, at) = (Some(TASK), Some(START), START, START);
        Event::Deadline(Box::new(DeadlineEvent { step, task, since, due, at }))
    };
    let kind = AttemptKind::Retry;
    let record = [
        Event::Task(TASK, TaskEvent::AttemptPlanned { attempt: 2, kind }),
        task_samples().into_iter().find(|event| variant(event) == "Transition").expect("a sample"),
        Event::Hold(
            TASK.into(),
            HoldEvent::Opened {
                number: 1,
                reason: WaitingReason::SideEffects,
                cause: None,
                stage: Some(StageKey::RED_TEAM),
                message: String::new(),
                gate: None,
                expires: None,
            },
        ),
        deadline(DeadlineStep::Violated),
        deadline(DeadlineStep::Met),
    ];
    let mut expander = EventExpander::new(&mission().build());
    let begun = &scene.records[0];
    let _ = expander.expand(begun.seq, begun.at, &begun.events[..1]).count();
    let more = expander.expand(7, START, &record);
    let events = [told(), expanded(&scene), more.collect()].concat();
    let mut missing = Vec::new();
    for row in page.lines().filter_map(|line| line.strip_prefix("| `")) {
        let columns: Vec<&str> = row.split(" | ").collect();
        let [names, _, keys] = columns[..] else { continue };
        let names: Vec<&str> = names.split(['`', ',', ' ']).collect();
        for key in keys.split('`').skip(1).step_by(2) {
            let (key, _) = key.split_once(' ').unwrap_or((key, ""));
            let has = |event: &PublicEvent| names.contains(&event.name) && event.payload.contains_key(key);
            // What the same words say of another event has its name.
            if !key.contains(':') && !events.iter().any(has) {
                missing.push(format!("{} {key}", names[0]));
            }
        }
    }
    assert_eq!(missing, [""; 0]);
}

#[test]
fn stages_and_signals_have_their_public_names_and_not_those_of_the_journal() {
    let signal = OutcomeClass::Terminated;
    let samples = [
        Event::verdict(report(Stage::RedTeam, Verdict::Pass, None)),
        Event::Work(TASK, WorkEvent::Requested(Job::Stage(StageKey::RED_TEAM, 1))),
        Event::Run(RunEvent::Finished {
            outcome: signal,
            conditions: vec![signal],
            allowed: vec![signal],
            origin: None,
        }),
    ];
    let mut expander = EventExpander::new(&mission().build());
    let mut events = Vec::new();
    for sample in &samples {
        events.extend(expander.expand(7, START, std::slice::from_ref(sample)));
    }
    let [verdict, requested, finished] =
        ["stage:verdict", "work:requested", "run:finished"].map(|name| &named(&events, name)[0].payload);
    assert_eq!(verdict["stage"], "redTeam");
    assert_eq!(requested["stage"], "redTeam");
    assert_eq!(requested["place"]["stage"], "redTeam");
    assert_eq!(finished["outcome"], "interrupted");
    assert_eq!(finished["conditions"][0], "interrupted");
    assert_eq!(finished["allowed"][0], "interrupted");
}

#[test]
fn what_a_turn_brings_is_told_behind_the_step_of_its_task_and_dead_letters() {
    let names = |record: &[Event]| {
        let mut expander = EventExpander::new(&mission().build());
        let events = expander.expand(7, START, record);
        events.map(|event| event.name).collect::<Vec<_>>()
    };
    let turn = TurnId { task: TASK, attempt: 1, turn: 1 };
    let prompt = Prompt { turn, cues: 1, ..Prompt::default() };
    let end = TurnEnd { cues: 1, ..TurnEnd::clean(turn) };
    let to = |from, to| {
        Event::Task(
            TASK,
            TaskEvent::Transition { from, to, phase: None, mode: None, flag: None, reason: None },
        )
    };
    let notices = notice_samples().into_iter();
    let letter =
        notices.filter(|event| matches!(event, Event::Notice(of) if matches!(**of, NoticeEvent::Died(_))));
    let letter = letter.last().expect("there is a sample");
    let started = Event::Turn(turn, TurnEvent::Started(prompt));
    let finished = Event::Turn(turn, TurnEvent::Finished(Box::new(end)));
    let begun = [started.clone(), to(Status::Assigned, Status::InProgress)];
    assert_eq!(names(&begun), ["work:requested", "work:started", "task:transition", "authority:cues"]);
    assert_eq!(names(std::slice::from_ref(&started)), ["work:requested", "work:started", "authority:cues"]);
    let ended = [finished, letter.clone(), letter, to(Status::InProgress, Status::Review)];
    let told = names(&[&[started][..], &ended].concat());
    let dead = "dlq:requested";
    assert_eq!(told[3..], ["work:ended", dead, dead, "authority:cues", "task:transition"]);
    let failed = Event::Task(
        TASK,
        TaskEvent::DependencyFailed {
            dependency: TaskId(1),
            step: DependencyStep::Unresolvable(Some(3)),
            note: String::new(),
        },
    );
    assert_eq!(names(&[failed]), ["task:escalated", "deadlock:unresolvable"]);
}

fn expanded(scene: &Scene<'_>) -> Vec<PublicEvent> {
    let mut expander = EventExpander::new(&scene.plan);
    let mut all = Vec::new();
    for record in &scene.records {
        all.extend(expander.expand(record.seq, record.at, &record.events));
    }
    all
}

fn named<'e>(events: &'e [PublicEvent], name: &str) -> Vec<&'e PublicEvent> {
    events.iter().filter(|event| event.name == name).collect()
}

#[test]
fn numbers_never_decrease_and_only_one_event_of_the_engine_shares_one() {
    let mut scene = Scene::start(eventful());
    play_eventful(&mut scene);
    let events = expanded(&scene);
    assert!(events.is_sorted_by_key(|event| event.seq));
    let of_engine = || scene.records.iter().flat_map(|record| &record.events);
    // Where an agent is asked, the ask alone is told; that it is asked once more, by what went wrong before.
    let is_told_by_another = |event: &&Event| match event {
        Event::Ask(id, AskEvent::Requested { .. }) => id.attempt_try > 1,
        Event::Task(_, TaskEvent::StageFailed { .. }) => true,
        _ => false,
    };
    let silent = of_engine().filter(is_told_by_another).count();
    let mut numbers: Vec<_> = events.iter().map(|event| event.seq).collect();
    numbers.dedup();
    assert_eq!(numbers.len() + silent, of_engine().count());
    assert_eq!(events.last().unwrap().name, "run:finished");
}

#[test]
fn tasks_are_created_as_they_are_asked_for() {
    let mission = (0..3).fold(Mission::new("m"), |mission, n| mission.task(&format!("task {n}"), &[]));
    let scene = Scene::start(mission);
    let first = &scene.records[0];
    let mut expander = EventExpander::new(&scene.plan);
    let mut events = expander.expand(first.seq, first.at, &first.events);
    assert_eq!(events.next().unwrap().name, "run:started");
    let created = events.next().unwrap();
    assert_eq!((created.name, created.seq), ("task:created", 0));
    assert_eq!(created.payload["taskId"], "t0");
    assert_eq!(events.count(), 2);
}

#[test]
fn fixes_and_retries_are_counted_as_their_limits_are() {
    let mut mission = Mission::new("m").task("a", &[]).check("cargo test");
    mission.plan.tasks[0].limits.max_fix_attempts = 1;
    let mut scene = Scene::start(mission);
    for _ in 0..4 {
        scene.works(0).checked(0, 0, false, "exit 1");
    }
    let events = expanded(&scene);
    let numbers = |name, max| -> Vec<_> {
        let of = |event: &&PublicEvent| {
            let key = |key: &str| event.payload[key].as_u64().unwrap();
            (key("attempt"), key(max), key("attemptNumber"))
        };
        named(&events, name).iter().map(of).collect()
    };
    assert_eq!(numbers("task:fix", "maxFix"), [(1, 1, 2), (1, 1, 4)]);
    assert_eq!(numbers("task:retry", "maxRetries"), [(1, 3, 3), (2, 3, 5)]);
}

#[test]
fn an_assessment_is_complete_when_it_decides_and_not_before() {
    let mission = Mission::new("m")
        .task("checks and panel", &[])
        .check("cargo test")
        .panel()
        .task("checks only", &[])
        .check("cargo test")
        .task("crashes", &[])
        .attempts(1);
    let mut scene = Scene::start(mission);
    scene.works(0).checked(0, 0, true, "").scored(0, 0, 4, 4);
    assert_eq!(named(&expanded(&scene), "assessment:complete").len(), 0);
    scene.scored(0, 1, 4, 4);
    scene.works(1).checked(1, 0, true, "");
    scene.fails(2, FailureClass::Unknown, "exit status 1");
    let events = expanded(&scene);
    let complete = named(&events, "assessment:complete");
    let of: Vec<_> =
        complete.iter().map(|event| (&event.payload["title"], &event.payload["passed"])).collect();
    assert_eq!(of.len(), 2);
    assert!(of.iter().all(|(_, passed)| **passed == Value::Bool(true)));
    assert_eq!(complete[0].payload["globalScore"], 4.0);
    assert_eq!(complete[0].payload["scores"][0]["dimension"], "correctness");
    // Two of checks, one of judges, one of the agent that crashed, one of checks of which nobody knows what they said before.
    assert_eq!(named(&events, "stage:verdict").len(), 5);
}

#[test]
fn a_reply_names_its_reviewer() {
    let mut scene = Scene::start(Mission::new("m").task("a", &[]).panel());
    scene.works(0).scored(0, 1, 4, 4);
    let events = expanded(&scene);
    let replied = named(&events, "work:ended");
    let replied = replied.iter().find(|event| event.payload["kind"] == "ask").unwrap();
    assert_eq!(replied.payload["agentName"], "lead");
}

#[test]
fn people_read_one_harmless_line_each() {
    let mut scene = Scene::start(eventful());
    play_eventful(&mut scene);
    let events = expanded(&scene);
    for (name, screen) in SCREENS {
        let lines: Vec<_> = events.iter().map(|event| human_line(event, &screen)).collect();
        assert_fits(&lines.join("\n"), &screen);
        insta::assert_snapshot!(format!("events_{name}"), lines[..40].join("\n"));
    }
}

#[test]
fn work_is_requested_once_and_ends_once() {
    let mut scene = Scene::start(eventful());
    play_eventful(&mut scene);
    let events = expanded(&scene);
    let mut open: Vec<String> = Vec::new();
    for event in &events {
        let keys = ["title", "kind", "purpose", "place", "index", "turn", "ask", "notificationId"];
        let id = keys.map(|key| event.payload.get(key).map_or_else(String::new, Value::to_string));
        let id = id.join(" ");
        let known = open.iter().position(|open| *open == id);
        match (event.name, known) {
            ("work:requested", None) => open.push(id),
            ("work:requested", Some(_)) => panic!("requested twice: {event:?}"),
            ("work:started" | "work:progressed" | "work:ended" | "work:dropped", None) => {
                panic!("never requested: {event:?}")
            }
            ("work:ended" | "work:dropped", Some(known)) => {
                open.remove(known);
            }
            _ => {}
        }
    }
    assert_eq!(open, Vec::<String>::new());
}

#[test]
fn holds_open_and_close_once() {
    let mut scene = Scene::start(eventful());
    play_eventful(&mut scene);
    let events = expanded(&scene);
    let mut open = std::collections::BTreeSet::new();
    for event in &events {
        let key = |key: &str| event.payload.get(key).map(Value::to_string);
        let id = (key("taskId"), key("requestId"), key("reason"), key("delayName"));
        match event.name {
            "hold:opened" => assert!(open.insert(id), "opened twice: {event:?}"),
            "hold:closed" => assert!(open.remove(&id), "never opened: {event:?}"),
            _ => {}
        }
    }
}

/// The names that the reader of the journal gives: texts like `"run:moved"` in its sources.
#[test]
fn every_event_is_explained() {
    let sources = [
        include_str!("expander.rs"),
        include_str!("names.rs"),
        include_str!("names/task.rs"),
        include_str!("judging.rs"),
        include_str!("holds.rs"),
        include_str!("work.rs"),
        include_str!("work/tables.rs"),
        include_str!("notices.rs"),
        include_str!("sla.rs"),
        include_str!("ledgers.rs"),
    ];
    let texts = sources.iter().flat_map(|source| source.split('"'));
    let is_name = |text: &&str| {
        text.contains(':')
            && !text.starts_with(':')
            && text
                .split(':')
                .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_lowercase()))
    };
    let names: Vec<&str> = texts.filter(is_name).collect();
    assert!(names.len() > 60, "{names:?}");
    let missing: Vec<&&str> = names.iter().filter(|name| find(name).is_none()).collect();
    assert_eq!(missing, Vec::<&&str>::new());
}
