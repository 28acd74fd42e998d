//! Tests of the projection.

use super::*;
use crate::report::testing::{Mission, START, Scene, eventful, play_eventful};
use rules::domain::{AttemptKind, FailureClass, FailureMode, Millis, Points, WaitingReason};
use rules::engine::TaskEvent;
use rules::engine::{Fact, StopCause};
use rules::plan::RunOptions;

const FIRST: TaskId = TaskId(0);

fn one(mission: Mission) -> Scene<'static> {
    Scene::start(mission)
}

fn attempts(scene: &Scene<'_>) -> Vec<(u32, AttemptKind, Option<Verdict>, Option<Cause>)> {
    let row = |attempt: &AttemptRow| (attempt.number, attempt.kind, attempt.verdict, attempt.cause);
    scene.view.task(FIRST).attempts.iter().map(row).collect()
}

fn resume(scene: &mut Scene<'_>) {
    scene.input(&Fact::resume(RunOptions::default()));
}

#[test]
fn every_attempt_keeps_its_own_verdict() {
    use AttemptKind::{Execute, Fix, Retry};
    let mut scene = one(Mission::new("m").task("a", &[]).check("test").attempts(4));
    scene.fails(0, FailureClass::Timeout, "too slow");
    scene.works(0);
    assert_eq!(attempts(&scene).last(), Some(&(2, Retry, None, None)), "checks are out");
    scene.checked(0, 0, false, "exit 1");
    scene.works(0).checked(0, 0, true, "");
    assert_eq!(
        attempts(&scene),
        [
            (1, Execute, Some(Verdict::Fail), Some(Cause::Outcome)),
            (2, Retry, Some(Verdict::Fail), Some(Cause::Checks)),
            (3, Fix, Some(Verdict::Pass), None),
        ]
    );
    assert_eq!(scene.view.task(FIRST).attempts[0].failure, Some(FailureClass::Timeout));
}

#[test]
fn what_nobody_judged_has_no_verdict() {
    let mut scene = one(Mission::new("m").task("a", &[]).unreviewed());
    scene.works(0);
    assert_eq!(attempts(&scene), [(1, AttemptKind::Execute, None, None)]);
}

#[test]
fn a_passed_check_is_no_verdict_while_judges_are_asked() {
    let mut scene = one(Mission::new("m").task("a", &[]).check("test").panel());
    scene.works(0).checked(0, 0, true, "");
    assert_eq!(attempts(&scene)[0].2, None);
}

#[test]
fn a_seats_own_score_is_weighted() {
    let mut scene = one(Mission::new("m").task("a", &[]).panel());
    scene.works(0).scored(0, 1, 1, 5);
    let seat = &scene.view.task(FIRST).review.as_deref().unwrap().seats[1];
    assert_eq!(seat.points, Some(Points::whole(40)), "1 × .75 + 5 × .25 = 2.0");
    assert_eq!((seat.state, seat.model.as_deref()), (SeatStanding::Scored, Some("judge-1")));
}

#[test]
fn marks_of_outliers_come_from_the_verdict() {
    let mut scene = one(Mission::new("m").task("a", &[]).panel());
    scene.works(0).scored(0, 0, 4, 4);
    let report = StageReport {
        mark: None,
        task: FIRST,
        attempt: 1,
        stage: Stage::Judge,
        verdict: Verdict::Pass,
        cause: None,
        points: Some(Points::whole(80)),
        dimensions: Vec::new(),
        outliers: vec![(0, 1), (7, 7)],
        findings: Vec::new(),
        grades: Vec::new(),
        confidence: None,
        failure: None,
        judge: None,
        by: None,
        name: None,
        reason: None,
        model: None,
    };
    scene.commit(vec![Event::verdict(report)]);
    let review = scene.view.task(FIRST).review.as_deref().unwrap();
    let marks: Vec<_> = review.seats[0].dimensions.iter().map(|dimension| dimension.outlier).collect();
    assert_eq!(marks, [false, true]);
}

#[test]
fn reviews_are_withdrawn_when_a_later_attempt_does_not_reach_them() {
    let mut scene = one(Mission::new("m").task("a", &[]).check("test").panel());
    scene.works(0).checked(0, 0, true, "").scored(0, 0, 1, 1).scored(0, 1, 1, 1);
    assert_eq!(scene.view.task(FIRST).review.as_deref().unwrap().seats.len(), 2);
    scene.works(0).checked(0, 0, false, "exit 1");
    assert_eq!(scene.view.task(FIRST).review, None);
}

#[test]
fn usage_counts_turns_that_began_and_calls_that_were_charged() {
    let mut scene = one(Mission::new("m").task("a", &[]));
    assert_eq!(scene.state.ledger.spent().requests, 0, "no process yet");
    scene.works(0).unreadable(0, 0).evaluated(0, 80, "");
    let expected = UsageView { requests: 3, untold: 1, input_tokens: Some(2000), output_tokens: Some(100) };
    let spent = scene.state.ledger.spent();
    assert_eq!((spent.requests, spent.untold), (3, 1));
    assert_eq!((spent.input_tokens, spent.output_tokens), (Some(2000), Some(100)));
    assert_eq!(scene.view.task(FIRST).usage, expected);
}

#[test]
fn a_failure_has_a_class_only_where_the_agent_failed() {
    let mut crash = one(Mission::new("m").task("a", &[]).attempts(1));
    crash.fails(0, FailureClass::RateLimited, "HTTP 429");
    let failure = crash.view.task(FIRST).failure.as_deref().unwrap().clone();
    assert_eq!((failure.mode, failure.class), (FailureMode::RateLimit, Some(FailureClass::RateLimited)));

    let mut poor = one(Mission::new("m").task("a", &[]).check("test").attempts(2));
    poor.fails(0, FailureClass::Unknown, "exit 3");
    poor.works(0).checked(0, 0, false, "exit 1");
    let failure = poor.view.task(FIRST).failure.as_deref().unwrap().clone();
    assert_eq!((failure.mode, failure.class), (FailureMode::Quality, None));
}

#[test]
fn what_waits_is_forgotten_once_it_goes_on() {
    let mut scene = one(Mission::new("m").task("a", &[]).panel());
    scene.after(5).works(0);
    for _ in 0..2 {
        scene.unreachable(0, 0, FailureClass::ProviderAuth);
        scene.unreachable(0, 1, FailureClass::ProviderAuth);
    }
    let waiting = scene.view.task(FIRST).waiting.as_deref().unwrap().clone();
    let since = START.plus(Millis::from_secs(5));
    assert_eq!((waiting.number, waiting.reason, waiting.since), (1, WaitingReason::Refer, since));
    assert_eq!(attempts(&scene)[0].2, Some(Verdict::Refer));

    resume(&mut scene);
    scene.advance();
    let task = scene.view.task(FIRST);
    assert_eq!((&task.waiting, attempts(&scene)[0].2), (&None, None), "the judges are asked again");
    let seats = &task.review.as_deref().unwrap().seats;
    assert!(seats.iter().all(|seat| seat.state == SeatStanding::Asked));
}

#[test]
fn an_outcome_holds_until_the_next_session() {
    let mut scene = one(Mission::new("m").task("a", &[]));
    scene.after(5).stopped(StopCause::Interrupted);
    assert_eq!(scene.view.outcome.as_ref().map(|outcome| outcome.class.exit_code()), Some(130));
    assert_eq!(scene.view.finished_at, Some(scene.now));
    scene.after(100);
    resume(&mut scene);
    assert_eq!((&scene.view.outcome, scene.view.finished_at), (&None, None));
    assert_eq!((scene.view.started_at, scene.view.session_started_at), (Some(START), Some(scene.now)));
}

#[test]
fn work_done_again_withdraws_what_operators_were_told() {
    let mut scene = one(Mission::new("m").task("a", &[]));
    scene.works(0).evaluated(0, 10, "no").works(0).evaluated(0, 20, "no");
    let request = scene.view.requests[0].clone();
    assert_eq!((request.task, request.attempt), (FIRST, 2));
    assert!(scene.view.task(FIRST).finished_at.is_some());
    scene.commit(vec![Event::Task(
        FIRST,
        TaskEvent::Transition {
            from: Status::Done,
            to: Status::Pending,
            phase: None,
            mode: None,
            flag: None,
            reason: None,
        },
    )]);
    assert_eq!((scene.view.requests.len(), scene.view.task(FIRST).finished_at), (0, None));
}

#[test]
fn the_view_from_a_journal_is_the_view_of_the_live_run() {
    let mut scene = Scene::start(eventful());
    play_eventful(&mut scene);
    let mut replayed = RunView::new(&scene.plan);
    for record in &scene.records {
        for (seq, event) in (record.seq..).zip(&record.events) {
            replayed.apply(&scene.plan, seq, record.at, event);
        }
    }
    assert_eq!(format!("{replayed:?}"), format!("{:?}", scene.view));
    let events: usize = scene.records.iter().map(|record| record.events.len()).sum();
    assert_eq!(replayed.seq, Some(events as u64 - 1));
}

#[test]
fn a_task_costs_little() {
    assert!(size_of::<TaskView>() <= 128, "{}", size_of::<TaskView>());
}
