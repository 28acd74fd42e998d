//! What a task keeps of its turns, its verdicts and those that were asked about it, and what a budget lets be made.

use std::collections::BTreeSet;

use crate::domain::{
    AskId, AttemptKind, Cause, Digest, Millis, Points, Purpose, Stage, StageKey, Status, TaskId, Timestamp,
    TurnId, Verdict, WaitingReason,
};
use crate::engine::TurnEnd;
use crate::engine::no_progress::signature;
use crate::engine::quality_flag::Mark;
use crate::engine::state::{Judging, TaskState};
use crate::engine::{
    AfterScan, AskEvent, BudgetEvent, Effect, Event, FileFact, HoldEvent, Job, JobEnd, Resolution,
    StageReport, TaskEvent, TurnEvent, WorkEvent, WorkId, apply, effects, may_be_made, members_only,
    pending_effects,
};

use super::simulation::{Simulation, good, options};

const TASK: TaskId = TaskId(0);

fn verdict(stage: Stage, relaxed: bool) -> Event {
    Event::verdict(StageReport {
        points: Some(Points::whole(50)),
        mark: relaxed.then_some(Mark::Relaxed),
        ..StageReport::new(TASK, 1, stage, Verdict::Pass, None)
    })
}

#[test]
fn a_task_knows_the_model_of_its_last_turn() {
    let finished = |model: Option<&str>| {
        Event::Turn(
            TurnId { task: TASK, attempt: 1, turn: 1 },
            TurnEvent::Finished(Box::new(TurnEnd {
                duration: Millis(1),
                model: model.map(str::to_owned),
                ..TurnEnd::default()
            })),
        )
    };
    let mut task = TaskState::default();
    task.apply(&finished(Some("small-1")));
    assert_eq!(task.output.model.as_deref(), Some("small-1"));
    task.apply(&finished(None));
    assert_eq!(task.output.model, None, "of another turn nothing is known");
}

#[test]
fn approvers_are_asked_one_after_the_other_and_after_a_while_from_the_first() {
    let mut task = TaskState::default();
    let requested = Event::Hold(
        TASK.into(),
        HoldEvent::Opened {
            number: 1,
            reason: WaitingReason::Approval,
            cause: None,
            stage: None,
            message: String::new(),
            gate: None,
            expires: None,
        },
    );
    let undecided = |approver, again| {
        Event::Hold(TASK.into(), HoldEvent::Undecided { number: 1, approver, message: String::new(), again })
    };
    let next = |task: &TaskState| task.hold().map(|waiting| waiting.undecided);
    task.apply(&requested);
    assert_eq!(next(&task), None, "only who waits for a person has a hold");
    task.apply(&transition(Status::AwaitingApproval));
    task.apply(&requested);
    assert_eq!(next(&task), Some(0));
    task.apply(&undecided(0, None));
    assert_eq!(next(&task), Some(1));
    task.apply(&undecided(2, None));
    assert_eq!(next(&task), Some(3));
    task.apply(&undecided(3, Some(Timestamp(9))));
    assert_eq!(next(&task), Some(0));
}

#[test]
fn relief_that_any_judge_needed_is_kept_until_the_next_attempt() {
    let mut task = TaskState::default();
    for (judged, verified) in [(false, false), (false, true), (true, false), (true, true)] {
        task.plan_attempt(1, AttemptKind::Execute);
        assert!(!task.attempt.has(Mark::Relaxed), "the last attempt's relief is not this one's");
        task.apply(&verdict(Stage::Judge, judged));
        task.apply(&verdict(Stage::Verification, verified));
        assert_eq!(task.attempt.has(Mark::Relaxed), judged || verified);
    }
}

#[test]
fn done_anew_by_a_persons_word_it_is_agreed_to_anew() {
    for (attempt, agreed) in [(1, 1), (2, 0), (3, 0)] {
        let mut task = TaskState::default();
        task.consent.agreed = vec![None];
        task.plan_attempt(attempt, AttemptKind::Execute);
        assert_eq!(task.consent.agreed.len(), agreed, "{attempt}");
    }
}

/// A judge grades by a rubric.
const GRADED: &str = "name: m
agents: {w: {run: [/bin/true]}, j: {run: [/bin/true], role: reviewer}}
tasks: [{title: a, assignTo: w, review: none, verification: {rubric: default-task}}]
";

#[test]
fn what_a_judge_grades_by_a_rubric_is_not_graded_by_facts() {
    let mut simulation = Simulation::new(GRADED, options());
    let mut graded = false;
    let is_asked = |event: &Event| {
        matches!(event, Event::Ask(_, AskEvent::Requested { purpose: Purpose::Grade { .. }, .. }))
    };
    let grades = |effects: &[Effect]| {
        effects.iter().any(|effect| matches!(effect, Effect::Job { job: Job::Grade(_), .. }))
    };
    while !simulation.todo.is_empty() && !graded {
        simulation.perform(0, &mut good);
        graded = simulation.count(is_asked) > 0;
    }
    assert!(graded);
    assert!(!grades(&pending_effects(&simulation.state)));
    let requested = simulation.journal.iter().flatten();
    for event in requested.filter(|event| is_asked(event)) {
        assert!(!grades(&effects(&simulation.state, event)));
    }
    let by_facts = GRADED.replace("{rubric: default-task}", "{grader: heuristic}, acceptance: [c]");
    let mut simulation = Simulation::new(&by_facts, options());
    while !simulation.todo.is_empty() && !grades(simulation.todo.make_contiguous()) {
        simulation.perform(0, &mut good);
    }
    assert!(grades(&pending_effects(&simulation.state)));
}

#[test]
fn a_call_without_room_may_not_be_made() {
    let mut simulation = Simulation::new(GRADED, options());
    let asks = |effect: &Effect| matches!(effect, Effect::Ask { .. });
    while !simulation.todo.iter().any(asks) {
        simulation.perform(0, &mut good);
    }
    let ask = simulation.todo.iter().find(|effect| asks(effect)).cloned().unwrap();
    let Effect::Ask { id, agent, .. } = ask.clone() else { unreachable!() };
    assert!(may_be_made(&simulation.state, &ask));
    apply(
        &mut simulation.state,
        &Event::Budget(BudgetEvent::Held { call: WorkId::ask(id), agent, released: false }),
    );
    assert!(!may_be_made(&simulation.state, &ask));
    let seat = Effect::Ask {
        id: AskId { number: id.number + 1, ..id },
        purpose: Purpose::Confirm,
        agent,
        strict: None,
        not_before: None,
    };
    assert!(!may_be_made(&simulation.state, &seat), "nobody asked for it");
    assert!(may_be_made(&simulation.state, &Effect::StopTask(TASK)));
}

fn transition(to: Status) -> Event {
    Event::Task(
        TASK,
        TaskEvent::Transition {
            from: Status::InProgress,
            to,
            phase: None,
            mode: None,
            flag: None,
            reason: None,
        },
    )
}

fn referred(cause: Cause) -> TaskState {
    let mut task = TaskState::default();
    let report = StageReport::new(TASK, 1, Stage::Judge, Verdict::Refer, Some(cause));
    task.apply(&Event::verdict(report));
    task.apply(&transition(Status::AwaitingApproval));
    task.apply(&Event::Hold(
        TASK.into(),
        HoldEvent::Opened {
            number: 1,
            reason: WaitingReason::Refer,
            cause: Some(cause),
            stage: Some(StageKey::JUDGE),
            message: String::new(),
            gate: None,
            expires: None,
        },
    ));
    task
}

#[test]
fn a_task_whose_judges_are_missing_is_open_until_a_person_speaks_or_they_are_asked_again() {
    assert!(!referred(Cause::Person).attempt.has(Mark::Indeterminate));
    let resolved = Event::Hold(
        TASK.into(),
        HoldEvent::Closed { number: 1, resolution: Resolution::Approved, by: "ada".to_owned(), reason: None },
    );
    for event in [resolved.clone(), transition(Status::Review)] {
        let mut task = referred(Cause::NoReviewer);
        assert!(task.attempt.has(Mark::Indeterminate));
        task.apply(&event);
        assert!(!task.attempt.has(Mark::Indeterminate));
    }
    // What was left open by something else than missing judges stays so.
    let mut task = referred(Cause::Person);
    task.attempt.marks.push(Mark::Indeterminate);
    task.apply(&resolved);
    assert!(task.attempt.has(Mark::Indeterminate));
}

#[test]
fn files_that_were_seen_are_kept_while_a_person_is_asked_and_no_longer() {
    let fact = FileFact { path: "f".to_owned(), size: Some(1), digest: None, obstacle: None, stored: None };
    let scanned = Event::Work(
        TASK,
        WorkEvent::Ended {
            job: Job::Scan { number: 1, then: AfterScan::Preflight },
            end: JobEnd::Seen { files: vec![fact.clone()], hollow: None },
        },
    );
    let asked = || {
        let mut task = TaskState::default();
        task.apply(&transition(Status::Review));
        assert!(task.judging().unwrap().files.is_empty(), "nothing was seen before");
        task.apply(&scanned);
        task.apply(&transition(Status::AwaitingApproval));
        assert_eq!(task.judged().unwrap().files, std::slice::from_ref(&fact));
        task
    };
    let mut task = asked();
    task.apply(&transition(Status::Review));
    let files = task.judging().map(|judging| judging.files.clone());
    assert_eq!((files, task.judged().is_none()), (Some(vec![fact.clone()]), true));
    let mut task = asked();
    task.apply(&transition(Status::Pending));
    task.apply(&transition(Status::Review));
    assert_eq!(task.judging().unwrap().files, []);
}

#[test]
fn a_step_is_open_until_it_has_its_verdict() {
    for stage in [Stage::Stages, Stage::RedTeam, Stage::Vision, Stage::Checks] {
        let mut task = TaskState::default();
        task.apply(&transition(Status::Review));
        let requested = Job::Stage(StageKey::RED_TEAM, 1);
        task.apply(&Event::Work(TASK, WorkEvent::Requested(requested)));
        let is_open = |task: &TaskState| {
            let judging = task.judging();
            judging.and_then(|judging| judging.stage.as_ref()).map(|stage| stage.open)
        };
        assert_eq!(is_open(&task), Some(true));
        let report = StageReport::new(TASK, 1, stage, Verdict::Pass, None);
        task.apply(&Event::verdict(report));
        assert_eq!(is_open(&task), Some(stage == Stage::Checks));
    }
}

#[test]
fn only_a_red_team_or_a_look_that_gave_no_report_marks_the_attempt_as_faulted() {
    for (stage, verdict, marked) in [
        (Stage::RedTeam, Verdict::Fault, true),
        (Stage::Vision, Verdict::Fault, true),
        (Stage::Judge, Verdict::Fault, false),
        (Stage::Stages, Verdict::Fault, false),
        (Stage::RedTeam, Verdict::Pass, false),
        (Stage::RedTeam, Verdict::Skip, false),
    ] {
        let mut task = TaskState::default();
        let report = StageReport::new(TASK, 1, stage, verdict, Some(Cause::GateError));
        task.apply(&Event::verdict(report));
        assert_eq!(task.attempt.has(Mark::Faulted), marked, "{stage:?} {verdict:?}");
        task.plan_attempt(2, AttemptKind::Retry);
        assert!(!task.attempt.has(Mark::Faulted));
    }
}

#[test]
fn work_that_different_stages_send_back_does_not_look_the_same() {
    let judging = Judging {
        files: vec![FileFact {
            path: "f".to_owned(),
            size: Some(1),
            digest: Some(Digest::of(b"f")),
            obstacle: None,
            stored: None,
        }],
        ..Judging::default()
    };
    let looks = |name: Option<&str>| {
        let report = StageReport {
            name: name.map(str::to_owned),
            ..StageReport::new(TASK, 1, Stage::Stages, Verdict::Fail, Some(Cause::Stage))
        };
        signature(&report, Some(&judging)).unwrap()
    };
    let all = [looks(None), looks(Some("legal")), looks(Some("lint"))];
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), 3);
    assert_eq!(looks(Some("lint")), all[2]);
}

#[test]
fn a_record_counts_to_nothing_that_no_run_reaches() {
    let simulation = Simulation::new(GRADED, options());
    for (attempt, is_known) in [(1, true), (3, true), (1 << 31, false), (u32::MAX, false)] {
        let kind = AttemptKind::Execute;
        let planned = Event::Task(TASK, TaskEvent::AttemptPlanned { attempt, kind });
        let found = members_only(&simulation.state.plan, &[planned]);
        assert_eq!(found.is_ok(), is_known, "{attempt}");
    }
}
