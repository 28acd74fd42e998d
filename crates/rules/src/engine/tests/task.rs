//! What events do to one task: what an attempt and a transition begin with, what a verdict leaves.

use crate::domain::{
    AgentId, AskId, AttemptKind, Cause, Digest, FailureClass, FailureMode, Finding, Millis, Phase, Points,
    Purpose, QualityFlag, Severity, Stage, StageKey, Status, TaskId, Timestamp, TurnId, Verdict,
    WaitingReason,
};
use crate::engine::event::{AskEvent, Event, HoldEvent, Resolution, TaskEvent, TurnEvent, WorkEvent};
use crate::engine::quality_flag::Mark;
use crate::engine::state::{
    Attempt, Calls, Consent, Course, Hold, Judging, Known, Lifecycle, Nudged, OpenStage, OpenWork,
    OutputRefs, TaskState,
};
use crate::engine::work::retry::Tries;
use crate::engine::{
    Ask, Asked, CheckResult, DependencyRecovery, Dialog, Evidence, FailedDependency, FileRef, Job, JobEnd,
    StageReport, ToolCalls,
};
use crate::engine::{Prompt, TurnEnd};
use crate::plan::SubTask;

const TASK: TaskId = TaskId(0);

fn sub_task(title: &str) -> SubTask {
    let list = serde_json::json!([{ "title": title }]);
    crate::plan::read_delegations(&list).0.remove(0)
}

fn turn(turn: u32) -> TurnId {
    TurnId { task: TASK, attempt: 1, turn }
}

fn ask(number: u32, attempt_try: u32) -> AskId {
    AskId { task: TASK, number, attempt_try }
}

fn file() -> FileRef {
    FileRef { length: 1, digest: Digest::of(b"x") }
}

/// Waits for a person, for this reason.
fn waiting(reason: WaitingReason) -> TaskState {
    let hold = Hold { number: 1, ..Hold::of(reason) };
    TaskState { lifecycle: Lifecycle::AwaitingApproval { hold: Some(hold), judged: None }, ..worn() }
}

fn transition(from: Status, to: Status) -> Event {
    Event::Task(
        TASK,
        TaskEvent::Transition {
            from,
            to,
            phase: Some(Phase::Fix),
            mode: (to == Status::Failed).then_some(FailureMode::Quality),
            flag: (to == Status::Done).then_some(QualityFlag::Clean),
            reason: None,
        },
    )
}

/// Of which everything was used.
fn worn() -> TaskState {
    let calls = ToolCalls { calls: 3, ..ToolCalls::default() };
    TaskState {
        lifecycle: Lifecycle::Review(Box::new(Judging {
            panel: Some(Box::new(report(Stage::Judge, Verdict::Refer, None))),
            ..Judging::default()
        })),
        attempt: Attempt {
            number: 4,
            turn: 3,
            rounds: 2,
            calls: Calls(Some(calls)),
            nudged: Nudged { compilation: 1, others: 1 },
            missing: vec![Finding::new(Severity::High, "it")],
            points: Some(Points::whole(40)),
            marks: [Mark::Indeterminate, Mark::Unverified].into_iter().collect(),
            ..Attempt::default()
        },
        course: Course {
            tries: 4,
            fixes: 2,
            retries: 1,
            signature: Some(7),
            evidence: Evidence { changed: Known::Yes, ..Evidence::default() },
            ..Course::default()
        },
        work: OpenWork {
            turn: Some(Tries::default()),
            asks: vec![Ask {
                id: ask(1, 1),
                purpose: Purpose::Answer,
                agent: AgentId(1),
                tries: Tries::default(),
                strict: None,
                window: None,
            }],
            ..OpenWork::default()
        },
        remedies: Some(Box::new(DependencyRecovery {
            failed: vec![FailedDependency { dependency: TaskId(1), looked: false, no_way: None }],
            scanning: vec![TaskId(1)],
            ..DependencyRecovery::default()
        })),
        dialog: Some(Box::new(Dialog {
            open: Some("which one?".to_owned()),
            rounds: 2,
            ..Dialog::default()
        })),
        consent: Consent { agreed: vec![None], allowed_again: true, ..Consent::default() },
        delegations: vec![sub_task("x")].into(),
        ..TaskState::default()
    }
}

fn report(stage: Stage, verdict: Verdict, cause: Option<Cause>) -> StageReport {
    StageReport { points: Some(Points::whole(70)), ..StageReport::new(TASK, 4, stage, verdict, cause) }
}

fn after(mut task: TaskState, event: Event) -> TaskState {
    task.apply(&event);
    task
}

#[test]
fn every_attempt_begins_without_what_the_one_before_came_to() {
    let planned =
        |attempt, kind| after(worn(), Event::Task(TASK, TaskEvent::AttemptPlanned { attempt, kind }));
    for (kind, allowances, kept) in [
        // Tries, fixes, retries; and whether what was agreed to, handed down, said, seen and found out is kept.
        (AttemptKind::Execute, (1, 0, 0), [false, false, false, false, false]),
        (AttemptKind::Fix, (5, 3, 1), [true, true, true, true, true]),
        (AttemptKind::Retry, (5, 0, 2), [true, false, true, true, true]),
    ] {
        let task = planned(5, kind);
        assert_eq!(
            (task.attempt.number, task.attempt.kind, task.attempt.turn, task.attempt.rounds),
            (5, kind, 0, 0)
        );
        assert_eq!((task.course.tries, task.course.fixes, task.course.retries), allowances, "{kind:?}");
        assert_eq!(
            (task.attempt.points, task.attempt.has(Mark::Indeterminate), task.attempt.has(Mark::Unverified)),
            (None, false, false)
        );
        assert_eq!((task.attempt.nudged, task.attempt.missing), (Nudged::default(), Vec::new()));
        assert_eq!(task.attempt.calls, Calls::default());
        let rounds = task.dialog.as_deref().map(|dialog| dialog.rounds);
        let found = [
            !task.consent.agreed.is_empty(),
            !task.delegations.is_empty(),
            rounds == Some(2),
            task.course.evidence.changed == Known::Yes,
            task.course.signature.is_some(),
        ];
        assert_eq!(found, kept, "{kind:?}");
        if kind == AttemptKind::Execute {
            assert_eq!(rounds, Some(0));
        }
    }
    // What was agreed to before the first attempt was agreed to for it.
    assert_eq!(planned(1, AttemptKind::Execute).consent.agreed, [None]);
}

#[test]
fn a_transition_leaves_behind_what_belonged_to_the_status_before() {
    use Status::{Assigned, AwaitingApproval, Done, Failed, InProgress, Pending, Review};
    for to in [Pending, Assigned, InProgress, Review, AwaitingApproval, Done, Failed] {
        let flag = (to == Done).then_some(QualityFlag::Clean);
        let mode = (to == Failed).then_some(FailureMode::Quality);
        let phase = match to {
            Pending => Some(Phase::Fix),
            Review => Some(Phase::Review),
            InProgress | AwaitingApproval => Some(Phase::Clarification),
            Assigned | Done | Failed => None,
        };
        let task = after(worn(), transition(Review, to));
        assert_eq!((task.status(), task.phase(), task.flag(), task.mode()), (to, phase, flag, mode));
        assert_eq!(task.attempt.number, 4);
        assert_eq!(task.judging().is_some(), to == Review);
        assert_eq!(task.hold(), None);
        let panel = task.judged().and_then(|judged| judged.panel.as_deref());
        assert_eq!(panel.is_some(), to == AwaitingApproval);
        assert_eq!(task.work.turn.is_some(), !to.is_terminal());
        assert_eq!(task.delegations.is_empty(), to.is_terminal());
        let remedies = task.remedies.unwrap();
        assert!(task.work.asks.is_empty() && remedies.failed.is_empty() && remedies.scanning.is_empty());
        let is_open = task.dialog.unwrap().open.is_some();
        assert_eq!(is_open, matches!(to, InProgress | AwaitingApproval), "{to:?}");
    }
    // A result that is withdrawn, and a request that nobody answered, take earlier agreement along.
    let (asked, answered) = (waiting(WaitingReason::Approval), AwaitingApproval.into());
    let begun = [Done, Failed, Assigned, Review].map(Lifecycle::from);
    for (before, to, is_withdrawn) in [
        (&asked.lifecycle, Pending, true),
        (&asked.lifecycle, Assigned, false),
        (&answered, Pending, false),
        (&begun[0], Pending, true),
        (&begun[1], Pending, true),
        (&begun[2], Pending, false),
        (&begun[3], Pending, false),
    ] {
        let task = TaskState { lifecycle: before.clone(), ..worn() };
        let again = after(task, transition(Review, to));
        assert_eq!(
            (again.consent.agreed.is_empty(), !again.consent.allowed_again),
            (is_withdrawn, is_withdrawn)
        );
    }
}

#[test]
fn a_verdict_leaves_a_score_a_doubt_or_a_question() {
    use Stage::{Checks, Finish, Judge, Verification};
    use Verdict::{Fail, Pass, Refer, Skip};
    let (new, old) = (Some(Points::whole(70)), Some(Points::whole(40)));
    for (stage, verdict, cause, points, indeterminate, unverified, has_panel) in [
        (Judge, Pass, None, new, false, true, false),
        (Verification, Pass, None, new, false, true, false),
        (Checks, Pass, None, old, true, true, false),
        (Finish, Pass, None, old, true, false, false),
        (Checks, Fail, Some(Cause::Checks), new, false, true, false),
        (Judge, Fail, Some(Cause::Unparsed), new, true, true, false),
        (Judge, Refer, Some(Cause::Person), new, false, true, true),
        (Judge, Refer, Some(Cause::Confidence), new, false, true, true),
        (Verification, Refer, Some(Cause::Confidence), old, false, true, false),
        (Judge, Refer, Some(Cause::GateError), old, true, true, false),
        (Judge, Refer, Some(Cause::NoReviewer), old, true, true, false),
        (Judge, Skip, Some(Cause::Breaker), old, true, true, false),
    ] {
        let start = TaskState { lifecycle: Status::Review.into(), ..worn() };
        let task = after(start, Event::verdict(report(stage, verdict, cause)));
        let found = (
            task.attempt.points,
            task.attempt.has(Mark::Indeterminate),
            task.attempt.has(Mark::Unverified),
            task.judging().unwrap().panel.is_some(),
        );
        assert_eq!(found, (points, indeterminate, unverified, has_panel), "{stage:?} {verdict:?} {cause:?}");
    }
    // What was skipped because it does not apply leaves no doubt; what should have been shown does.
    for (cause, said, is_open) in [(None, false, false), (Some(Cause::Unmet), true, true)] {
        let mut fresh = worn();
        fresh.attempt.marks.clear();
        let skipped =
            StageReport { mark: said.then_some(Mark::Indeterminate), ..report(Finish, Skip, cause) };
        let task = after(fresh, Event::verdict(skipped.clone()));
        assert_eq!(
            (task.attempt.has(Mark::Unverified), task.attempt.has(Mark::Indeterminate)),
            (is_open, said)
        );
        let twice = after(task, Event::verdict(skipped));
        assert_eq!(twice.attempt.has(Mark::Indeterminate), said, "what was said twice still holds");
    }
    // The score of judges, or one that a person confirmed, stays beside met criteria.
    let scored = Judging { scored: true, ..Judging::default() };
    let start = TaskState { lifecycle: Lifecycle::Review(Box::new(scored)), ..worn() };
    let met = || report(Verification, Pass, None);
    assert_eq!(after(start, Event::verdict(met())).attempt.points, old);
    let by_person = StageReport { by: Some("ada".to_owned()), ..met() };
    assert_eq!(after(worn(), Event::verdict(by_person)).attempt.points, old);
}

#[test]
fn the_last_rounds_of_feedback_are_carried_along() {
    let mut task = worn();
    for attempt in 1..=10 {
        let verdict = StageReport { attempt, ..report(Stage::Checks, Verdict::Fail, Some(Cause::Checks)) };
        task.apply(&Event::verdict(verdict));
    }
    let attempts: Vec<u32> = task.feedback.iter().map(|feedback| feedback.attempt).collect();
    assert_eq!(attempts, [3, 4, 5, 6, 7, 8, 9, 10]);
}

#[test]
fn grading_ends_with_its_verdict_or_its_failure() {
    let grading = || TaskState {
        lifecycle: Lifecycle::Review(Box::new(Judging {
            stage: Some(OpenStage { key: StageKey::VERIFICATION, round: 1, open: true, seat: None }),
            ..Judging::default()
        })),
        ..worn()
    };
    let is_open = |task: TaskState| task.judging().unwrap().stage.as_ref().unwrap().open;
    let verdict = |stage| Event::verdict(report(stage, Verdict::Pass, None));
    let failed =
        Event::Task(TASK, TaskEvent::StageFailed { stage: StageKey::VERIFICATION, message: "no".to_owned() });
    let [verified, failed, judged] = [verdict(Stage::Verification), failed, verdict(Stage::Judge)]
        .map(|event| is_open(after(grading(), event)));
    assert_eq!((verified, failed, judged), (false, false, true));
}

#[test]
fn a_turn_counts_its_requests_and_leaves_what_it_said() {
    let refused = |at| {
        Event::Turn(
            turn(1),
            TurnEvent::RequestFailed {
                class: FailureClass::RateLimited,
                message: "no".to_owned(),
                not_before: Timestamp(at),
                of: 4,
                never_began: false,
            },
        )
    };
    let started = Event::Turn(turn(2), TurnEvent::Started(Prompt::default()));
    let fresh = TaskState { dialog: None, ..worn() };
    let mut task = after(fresh, started);
    let running = |task: &TaskState| {
        let running = task.work.turn.as_ref().unwrap();
        (running.requests, running.not_before)
    };
    assert_eq!(running(&task), (0, None));
    assert_eq!((task.attempt.turn, task.consent.acted, task.consent.allowed_again), (2, true, false));
    for (count, at) in [(1, 5), (2, 9)] {
        task.apply(&refused(at));
        assert_eq!(running(&task), (count, Some(Timestamp(at))));
    }
    let lost = after(task.clone(), Event::Turn(turn(2), TurnEvent::Lost));
    assert_eq!((lost.work.turn, lost.attempt.calls), (None, Calls(None)));
    let finished = |asked: Option<Asked>| {
        Event::Turn(
            turn(2),
            TurnEvent::Finished(Box::new(TurnEnd {
                output: Some(file()),
                duration: Millis(1),
                asked,
                ..TurnEnd::default()
            })),
        )
    };
    let asked = Asked { text: "which one?".to_owned(), detected: true, call: None };
    let ended = after(task.clone(), finished(None));
    assert_eq!((ended.work.turn.is_none(), ended.dialog.is_none()), (true, true), "it said nothing");
    let output = OutputRefs { stdout: Some(file()), ..OutputRefs::default() };
    assert_eq!(ended.output, output);
    let said = |task: &TaskState| task.dialog.as_deref().unwrap().said.clone();
    let asking = after(task, finished(Some(asked.clone())));
    assert_eq!(said(&asking), Some(asked));
    assert_eq!(said(&after(asking, finished(None))), None, "its last word counts");
}

#[test]
fn nudges_checks_files_and_sub_tasks_add_up() {
    let nudged = |compilation, others, missing: &str| {
        Event::Task(
            TASK,
            TaskEvent::Nudged { compilation, others, missing: vec![Finding::new(Severity::High, missing)] },
        )
    };
    let mut task = after(worn(), nudged(true, false, "a"));
    task.apply(&nudged(true, true, "b"));
    assert_eq!((task.attempt.nudged.compilation, task.attempt.nudged.others), (3, 2));
    assert_eq!(task.attempt.missing[0].description, "b");
    let job = Job::Scan { number: 1, then: crate::engine::AfterScan::Preflight };
    task.apply(&Event::Work(TASK, WorkEvent::Requested(job)));
    assert!(task.judging().unwrap().scanning);
    task.apply(&Event::Work(
        TASK,
        WorkEvent::Ended {
            job,
            end: JobEnd::Seen { files: Vec::new(), hollow: Some("it says nothing".to_owned()) },
        },
    ));
    let judging = task.judging().unwrap();
    assert_eq!((judging.scanning, judging.hollow.is_some()), (false, true));
    for check in [0, 2, 1] {
        task.apply(&Event::Work(TASK, WorkEvent::Requested(Job::Check(check))));
    }
    task.apply(&Event::Work(
        TASK,
        WorkEvent::Ended {
            job: Job::Check(1),
            end: JobEnd::Checked(CheckResult {
                passed: true,
                message: String::new(),
                duration: Millis(1),
                reruns: 0,
            }),
        },
    ));
    let is_in: Vec<bool> = task.judging().unwrap().checks.iter().map(Option::is_some).collect();
    assert_eq!(is_in, [false, true, false]);
    let wanted = Event::Turn(
        turn(1),
        TurnEvent::Finished(Box::new(TurnEnd {
            delegate: vec![sub_task("y"), sub_task("x")],
            ..TurnEnd::default()
        })),
    );
    let titles: Vec<String> = after(worn(), wanted).delegations.into_iter().map(|task| task.title).collect();
    assert_eq!(titles, ["y", "x"], "asked for twice is wanted once, as it was asked for last");
}

#[test]
fn asks_are_counted_with_their_tries() {
    let asked = |id, purpose| {
        Event::Ask(id, AskEvent::Requested { purpose, agent: AgentId(1), strict: None, not_before: None })
    };
    let dependency = TaskId(1);
    let resolve = Purpose::Resolve { dependency };
    let mut task = after(worn(), asked(ask(2, 1), resolve));
    let refused = |number, gave_up| {
        Event::Ask(
            ask(number, 1),
            AskEvent::Failed {
                purpose: if number == 1 { Purpose::Answer } else { resolve },
                agent: AgentId(1),
                gave_up,
                class: FailureClass::RateLimited,
                message: "no".to_owned(),
                used: None,
                until: None,
                never_began: false,
            },
        )
    };
    task.apply(&refused(2, false));
    task.apply(&asked(ask(2, 2), resolve));
    let open: Vec<_> = task.work.asks.iter().map(|open| (open.id, open.tries.requests)).collect();
    assert_eq!(open, [(ask(1, 1), 0), (ask(2, 2), 1)]);
    assert_eq!((task.work.asked, task.remedies.as_ref().unwrap().resolutions), (2, 1));
    // Another purpose resolves nothing.
    task.apply(&asked(ask(3, 1), Purpose::Confirm));
    assert_eq!((task.work.asked, task.remedies.as_ref().unwrap().resolutions), (3, 1));
    task.apply(&refused(1, true));
    let numbers: Vec<u32> = task.work.asks.iter().map(|open| open.id.number).collect();
    assert_eq!(numbers, [2, 3]);
    assert_eq!(task.remedies.as_ref().unwrap().failed[0].no_way, None);
    let gave_up = Event::Ask(
        ask(2, 2),
        AskEvent::Failed {
            purpose: resolve,
            agent: AgentId(1),
            gave_up: true,
            class: FailureClass::ProviderAuth,
            message: "no".to_owned(),
            used: None,
            until: None,
            never_began: false,
        },
    );
    let no_way = after(task, gave_up).remedies.unwrap().failed[0].no_way.clone();
    assert_eq!(no_way.as_deref(), Some("no"));
}

#[test]
fn a_question_is_a_phase_until_it_is_answered() {
    let asked = Event::Task(
        TASK,
        TaskEvent::Question { question: "which one?".to_owned(), detected: false, call: None },
    );
    let answered = Event::Task(
        TASK,
        TaskEvent::Answered { answer: "the second".to_owned(), by: "ada".to_owned(), number: None },
    );
    for (status, phase) in [(Status::InProgress, Some(Phase::Execution)), (Status::AwaitingApproval, None)] {
        let task = TaskState { lifecycle: status.into(), ..worn() };
        let task = after(task, asked.clone());
        assert_eq!(task.phase(), Some(Phase::Clarification));
        assert_eq!(task.dialog.as_ref().unwrap().rounds, 3);
        let task = after(task, answered.clone());
        assert_eq!(task.phase(), phase);
        assert_eq!(task.dialog.unwrap().exchanges.len(), 1);
    }
}

#[test]
fn the_last_exchanges_are_carried_along() {
    let mut dialog = Dialog::default();
    for number in 1..=18 {
        dialog.apply(&TaskEvent::Answered {
            answer: number.to_string(),
            by: "ada".to_owned(),
            number: Some(number),
        });
    }
    let numbers: Vec<u32> = dialog.exchanges.iter().filter_map(|exchange| exchange.number).collect();
    assert_eq!(numbers, (3..=18).collect::<Vec<u32>>());
}

#[test]
fn an_approval_allows_what_it_was_asked_for() {
    for (reason, resolution, agreed, allowed) in [
        (WaitingReason::Approval, Resolution::Approved, 2, true),
        (WaitingReason::SideEffects, Resolution::Approved, 1, true),
        (WaitingReason::SideEffects, Resolution::Rejected, 1, false),
        (WaitingReason::Approval, Resolution::TimedOut, 1, false),
    ] {
        let mut start = waiting(reason);
        start.consent.allowed_again = reason == WaitingReason::Approval && resolution == Resolution::Approved;
        let task = after(
            start,
            Event::Hold(
                TASK.into(),
                HoldEvent::Closed { number: 1, resolution, by: "ada".to_owned(), reason: None },
            ),
        );
        assert_eq!(
            (task.consent.agreed.len(), task.consent.allowed_again),
            (agreed, allowed),
            "{reason:?} {resolution:?}"
        );
        assert_eq!(
            (task.consent.answers.len(), task.consent.answers[0].approved),
            (1, resolution == Resolution::Approved)
        );
        assert_eq!(task.hold(), None);
    }
}

#[test]
fn the_state_of_a_task_stays_small() {
    // A run of 100,000 tasks holds so many of them.
    let size = size_of::<TaskState>();
    assert!(size <= 696, "{size} bytes");
}
