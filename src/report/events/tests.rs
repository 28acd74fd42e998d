//! Tests of the event stream.

mod samples;

use samples::{TASK, notice_samples, review_samples, run_samples, task_samples, turn_samples};

use super::*;
use crate::domain::{FailureClass, Millis, Purpose, TaskId};
use crate::engine::Event;
use crate::mission::{HoldKind, HoldPlan, Part};
use crate::report::testing::{Mission, SCREENS, START, Scene, assert_fits, eventful, play_eventful};

/// All variants. The match has no catch-all: a new variant does not compile until it has a name and a sample here.
fn variant(event: &Event) -> &'static str {
    match event {
        Event::RunStarted(_) => "RunStarted",
        Event::RunResumed { .. } => "RunResumed",
        Event::RunMoved { .. } => "RunMoved",
        Event::Stopping { .. } => "Stopping",
        Event::StateForeign { .. } => "StateForeign",
        Event::RunFinished { .. } => "RunFinished",
        Event::Transition { .. } => "Transition",
        Event::AttemptPlanned { .. } => "AttemptPlanned",
        Event::TurnStarted { .. } => "TurnStarted",
        Event::AgentSpawned { .. } => "AgentSpawned",
        Event::TurnRequestFailed { .. } => "TurnRequestFailed",
        Event::TurnFinished { .. } => "TurnFinished",
        Event::ProtectionNoted { .. } => "ProtectionNoted",
        Event::StageVoided(_) => "StageVoided",
        Event::FilesNoted { .. } => "FilesNoted",
        Event::TurnLost { .. } => "TurnLost",
        Event::TurnAdopted { .. } => "TurnAdopted",
        Event::ScanRequested { .. } => "ScanRequested",
        Event::FilesScanned { .. } => "FilesScanned",
        Event::FilesChanged { .. } => "FilesChanged",
        Event::AcceptanceRecorded { .. } => "AcceptanceRecorded",
        Event::AuditRequested { .. } => "AuditRequested",
        Event::Regressed { .. } => "Regressed",
        Event::Audited { .. } => "Audited",
        Event::FinishRequested { .. } => "FinishRequested",
        Event::FinishChecked { .. } => "FinishChecked",
        Event::Nudged { .. } => "Nudged",
        Event::CheckRequested { .. } => "CheckRequested",
        Event::CheckFinished { .. } => "CheckFinished",
        Event::GradingRequested { .. } => "GradingRequested",
        Event::GradingFailed { .. } => "GradingFailed",
        Event::StepRequested { .. } => "StepRequested",
        Event::StepFailed { .. } => "StepFailed",
        Event::AskRequested {
            purpose: Purpose::Score(_),
            ..
        } => "SeatRequested",
        Event::AskReplied {
            purpose: Purpose::Score(_),
            ..
        } => "SeatReplied",
        Event::AskFailed {
            purpose: Purpose::Score(_),
            ..
        } => "SeatFailed",
        Event::AgentActivity { .. } => "AgentActivity",
        Event::AuthorityCues { .. } => "AuthorityCues",
        Event::DelegationDrift { .. } => "DelegationDrift",
        Event::NoProgress { .. } => "NoProgress",
        Event::Escalated { .. } => "Escalated",
        Event::Question { .. } => "Question",
        Event::Answered { .. } => "Answered",
        Event::DeadlockDetected { .. } => "DeadlockDetected",
        Event::ArtifactsRequested { .. } => "ArtifactsRequested",
        Event::ArtifactsScanned { .. } => "ArtifactsScanned",
        Event::DependencyResolved { .. } => "DependencyResolved",
        Event::AskRequested { .. } => "AskRequested",
        Event::AskReplied { .. } => "AskReplied",
        Event::AskFailed { .. } => "AskFailed",
        Event::StageVerdict(_) => "StageVerdict",
        Event::EvalUnparsed { .. } => "EvalUnparsed",
        Event::ForceAccepted { .. } => "ForceAccepted",
        Event::ApprovalRequested { .. } => "ApprovalRequested",
        Event::ApproverAsked { .. } => "ApproverAsked",
        Event::ApproverUndecided { .. } => "ApproverUndecided",
        Event::ApprovalTimedOut { .. } => "ApprovalTimedOut",
        Event::RetryBlocked { .. } => "RetryBlocked",
        Event::HoldReached { .. } => "HoldReached",
        Event::HoldPassed { .. } => "HoldPassed",
        Event::HoldRejected { .. } => "HoldRejected",
        Event::ApprovalResolved { .. } => "ApprovalResolved",
        Event::DependencyFailed { .. } => "DependencyFailed",
        Event::GateEvaluated { .. } => "GateEvaluated",
        Event::GateOverridden { .. } => "GateOverridden",
        Event::Paused { .. } => "Paused",
        Event::Waiting { .. } => "Waiting",
        Event::CommandTaken { .. } => "CommandTaken",
        Event::ThresholdFailed { .. } => "ThresholdFailed",
        Event::Salvaged { .. } => "Salvaged",
        Event::MissionChanged(_) => "MissionChanged",
        Event::DelegationRequested { .. } => "DelegationRequested",
        Event::DelegationRefused { .. } => "DelegationRefused",
        Event::EdgeTaken { .. } => "EdgeTaken",
        Event::FellBack { .. } => "FellBack",
        Event::HandedOver { .. } => "HandedOver",
        Event::Probed { .. } => "Probed",
        Event::Notice(_) => "Notice",
        Event::TasksAdded(_) => "TasksAdded",
        Event::TasksWithdrawn { .. } => "TasksWithdrawn",
        Event::AgentStale { .. } => "AgentStale",
        Event::Deadline(_) => "Deadline",
        Event::LimitReached { .. } => "LimitReached",
        Event::CallHeld { .. } => "CallHeld",
        Event::CallReleased { .. } => "CallReleased",
        Event::BudgetClock { .. } => "BudgetClock",
        Event::SessionLimit { .. } => "SessionLimit",
        Event::TaskDeferred { .. } => "TaskDeferred",
        Event::TaskReleased { .. } => "TaskReleased",
        Event::Superseded { .. } => "Superseded",
        Event::Warning { .. } => "Warning",
    }
}

const VARIANTS: usize = 90;

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

#[test]
fn every_variant_has_its_name_and_keys() {
    let samples = [
        run_samples(),
        turn_samples(),
        review_samples(),
        task_samples(),
        notice_samples(),
    ]
    .concat();
    let mut covered: Vec<_> = samples.iter().map(variant).collect();
    covered.sort_unstable();
    covered.dedup();
    assert_eq!(covered.len(), VARIANTS, "{covered:?}");

    let mut plan = mission().build();
    let hold = |name: &str, kind| HoldPlan {
        name: name.into(),
        kind,
        part: Part::Selected,
        after: vec![TASK],
        blocks: vec![TaskId(1)],
        message: Some("look at the staging site".into()),
        notify: None,
    };
    Arc::make_mut(&mut plan).holds = Arc::new(vec![
        hold("go", HoldKind::Checkpoint),
        hold("cool down", HoldKind::Delay(Millis::from_secs(60))),
    ]);
    let mut exploder = Exploder::new(&plan);
    let mut events = Vec::new();
    // Each stands in a record of its own: what follows in the same record says what became of it.
    for (seq, sample) in (7..).zip(&samples) {
        events.extend(exploder.explode(seq, START, std::slice::from_ref(sample)));
    }
    insta::assert_snapshot!(lines(&events));
}

fn exploded(scene: &Scene<'_>) -> Vec<PublicEvent> {
    let mut exploder = Exploder::new(&scene.plan);
    let mut all = Vec::new();
    for record in &scene.records {
        all.extend(exploder.explode(record.seq, record.at, &record.events));
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
    let events = exploded(&scene);
    assert!(events.is_sorted_by_key(|event| event.seq));
    let of_engine = || scene.records.iter().flat_map(|record| &record.events);
    // Where an agent is asked, the ask alone is told; that it is asked once more, by what went wrong before.
    let is_told_by_another = |event: &&Event| match event {
        Event::AskRequested { id, .. } => id.attempt_try > 1,
        Event::GradingRequested { .. } | Event::StepRequested { plain: false, .. } => true,
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
    let mission = (0..3).fold(Mission::new("m"), |mission, n| {
        mission.task(&format!("task {n}"), &[])
    });
    let scene = Scene::start(mission);
    let first = &scene.records[0];
    let mut exploder = Exploder::new(&scene.plan);
    let mut events = exploder.explode(first.seq, first.at, &first.events);
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
    let events = exploded(&scene);
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
    assert_eq!(named(&exploded(&scene), "assessment:complete").len(), 0);
    scene.scored(0, 1, 4, 4);
    scene.works(1).checked(1, 0, true, "");
    scene.fails(2, FailureClass::Unknown, "exit status 1");
    let events = exploded(&scene);
    let complete = named(&events, "assessment:complete");
    let of: Vec<_> = complete
        .iter()
        .map(|event| (&event.payload["title"], &event.payload["passed"]))
        .collect();
    assert_eq!(of.len(), 2);
    assert!(of.iter().all(|(_, passed)| **passed == Value::Bool(true)));
    assert_eq!(complete[0].payload["globalScore"], 4.0);
    assert_eq!(complete[0].payload["scores"][0]["dimension"], "correctness");
    // Two of checks, one of judges, one of the agent that crashed.
    assert_eq!(named(&events, "stage:verdict").len(), 4);
}

#[test]
fn a_reply_names_its_reviewer() {
    let mut scene = Scene::start(Mission::new("m").task("a", &[]).panel());
    scene.works(0).scored(0, 1, 4, 4);
    let events = exploded(&scene);
    let replied = named(&events, "work:ended");
    let replied = replied
        .iter()
        .find(|event| event.payload["kind"] == "ask")
        .unwrap();
    assert_eq!(replied.payload["agentName"], "lead");
}

#[test]
fn people_read_one_harmless_line_each() {
    let mut scene = Scene::start(eventful());
    play_eventful(&mut scene);
    let events = exploded(&scene);
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
    let events = exploded(&scene);
    let mut open: Vec<String> = Vec::new();
    for event in &events {
        let keys = [
            "title",
            "kind",
            "purpose",
            "place",
            "index",
            "turn",
            "consult",
            "notificationId",
        ];
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
    let events = exploded(&scene);
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
