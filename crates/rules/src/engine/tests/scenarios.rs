//! One scenario a rule: what the semantics say, and what the engine does.

use std::cell::Cell;

use crate::domain::{
    AskId, AttemptKind, Cause, FailureClass, FailureMode, OutcomeClass, Purpose, QualityFlag, Stage, Status,
    TaskId, Verdict,
};
use crate::engine::{
    AskEvent, Command, Effect, Event, Fact, GateEvent, Job, OperatorInput, RunEvent, StopCause, TaskEvent,
    outcome,
};
use crate::plan::RunOptions;

use super::simulation::{Response, Simulation, good, options, statuses};

const AGENTS: &str = "agents:\n  w: {run: [/bin/true]}\n  j1: {run: [/bin/true], role: reviewer}\n  j2: {run: \
                      [/bin/true], role: reviewer}\n  j3: {run: [/bin/true], role: qa}\n";

fn mission(tasks: &str) -> String {
    format!("name: m\n{AGENTS}{tasks}")
}

fn run(tasks: &str, script: impl FnMut(&crate::engine::State, &Effect) -> Response) -> Simulation {
    let mut simulation = Simulation::new(&mission(tasks), options());
    simulation.run(script);
    simulation
}

fn class(simulation: &Simulation) -> OutcomeClass {
    outcome(&simulation.state).class
}

fn attempts(simulation: &Simulation) -> Vec<AttemptKind> {
    let planned = simulation.journal.iter().flatten().filter_map(|event| match event {
        Event::Task(_, TaskEvent::AttemptPlanned { kind, .. }) => Some(*kind),
        _ => None,
    });
    std::iter::once(AttemptKind::Execute).chain(planned).collect()
}

const CHECKED: &str = "tasks:\n  - {title: t, assignTo: w, expectations: [{type: test, command: x}]}\n";
const PANEL: &str = "tasks:\n  - {title: t, assignTo: w, expectations: [{type: llm_review, criteria: c}]}\n";
const EVALUATED: &str = "tasks:\n  - {title: t, assignTo: w}\n";

fn failing_checks(_: &crate::engine::State, effect: &Effect) -> Response {
    match effect {
        Effect::Job { job: Job::Check(_), .. } => Response::Check(false),
        _ => Response::Finished,
    }
}

fn scores(points: u8) -> impl FnMut(&crate::engine::State, &Effect) -> Response {
    move |state, effect| match effect {
        Effect::Ask { purpose: Purpose::Score(_), .. } => Response::Score(points),
        other => good(state, other),
    }
}

#[test]
fn three_retries_with_two_fixes_each_are_twelve_attempts() {
    use AttemptKind::{Execute, Fix, Retry};
    let simulation = run(CHECKED, failing_checks);
    assert_eq!(attempts(&simulation), [Execute, Fix, Fix, Retry, Fix, Fix, Retry, Fix, Fix, Retry, Fix, Fix]);
    assert_eq!(simulation.state.tasks[0].mode(), Some(FailureMode::Quality));
    assert_eq!(class(&simulation), OutcomeClass::TaskFailed);
}

#[test]
fn an_agent_that_fails_is_retried_without_fixes() {
    use AttemptKind::{Execute, Retry};
    let script = |_: &crate::engine::State, _: &Effect| Response::AgentFailed(FailureClass::Unknown);
    let simulation = run(CHECKED, script);
    assert_eq!(attempts(&simulation), [Execute, Retry, Retry, Retry]);
    assert_eq!(simulation.state.tasks[0].mode(), Some(FailureMode::Error));
}

#[test]
fn some_failures_cannot_be_helped_by_trying_again() {
    for class in [FailureClass::ProviderAuth, FailureClass::ProviderSpendLimit, FailureClass::PolicyBlocked] {
        let simulation = run(CHECKED, move |_, _| Response::AgentFailed(class));
        assert_eq!(attempts(&simulation).len(), 1, "{class:?}");
        assert_eq!(statuses(&simulation.state), [Status::Failed]);
    }
}

#[test]
fn a_spawn_that_fails_before_the_process_exists_is_repeated_once() {
    let tries = Cell::new(0);
    let script = |state: &crate::engine::State, effect: &Effect| match effect {
        Effect::RunTurn { .. } => {
            tries.set(tries.get() + 1);
            if tries.get() == 1 { Response::NeverStarted(FailureClass::Unknown) } else { Response::Finished }
        }
        other => good(state, other),
    };
    let simulation = run(CHECKED, script);
    assert_eq!((tries.get(), statuses(&simulation.state)[0]), (2, Status::Done));
    assert_eq!(attempts(&simulation).len(), 1);
}

#[test]
fn an_evaluation_gets_one_rework_and_is_then_accepted_honestly() {
    let simulation = run(EVALUATED, scores(40));
    assert_eq!(attempts(&simulation), [AttemptKind::Execute, AttemptKind::Fix]);
    assert_eq!(simulation.state.tasks[0].flag(), Some(QualityFlag::BelowThreshold));
    assert_eq!(simulation.count(|event| matches!(event, Event::Task(_, TaskEvent::ForceAccepted { .. }))), 1);
    let verdicts = |event: &Event| matches!(event, Event::Task(_, TaskEvent::StageVerdict(r)) if r.stage == Stage::Judge);
    assert_eq!(simulation.count(verdicts), 2, "the last attempt is judged too");
    assert_eq!(class(&simulation), OutcomeClass::BelowThreshold);
}

#[test]
fn a_score_at_the_bar_passes() {
    let simulation = run(EVALUATED, scores(60));
    assert_eq!(simulation.state.tasks[0].flag(), Some(QualityFlag::Clean));
    assert_eq!(class(&simulation), OutcomeClass::Ok);
}

#[test]
fn an_unread_evaluation_is_asked_again_and_then_sent_back_never_passed() {
    let simulation = run(EVALUATED, |state, effect| match effect {
        Effect::Ask { purpose: Purpose::Score(_), .. } => Response::Unreadable,
        other => good(state, other),
    });
    let asked = simulation.count(|event| {
        matches!(event, Event::Ask(_, AskEvent::Requested { purpose: Purpose::Score(_), .. }))
    });
    let strict = |event: &Event| {
        matches!(
            event,
            Event::Ask(_, AskEvent::Requested { purpose: Purpose::Score(_), strict: Some(_), .. })
        )
    };
    assert_eq!((asked, simulation.count(strict)), (4, 2), "one strict reprompt for each of two attempts");
    assert_eq!(simulation.count(|event| matches!(event, Event::Task(_, TaskEvent::EvalUnparsed))), 2);
    assert_eq!(simulation.state.tasks[0].flag(), Some(QualityFlag::BelowThreshold));
    assert_eq!(simulation.state.tasks[0].attempt.points, None);
    assert_eq!(class(&simulation), OutcomeClass::Indeterminate);
    assert!(outcome(&simulation.state).conditions.contains(&OutcomeClass::BelowThreshold));
}

#[test]
fn work_that_passes_unread_has_no_score_of_earlier_work() {
    let tasks = format!("settings: {{failOpenOnUnparsedEval: true}}\n{EVALUATED}");
    let simulation = run(&tasks, |state, effect| match effect {
        Effect::Ask { purpose: Purpose::Score(_), .. } if state.task(TaskId(0)).attempt.number == 1 => {
            Response::Score(40)
        }
        Effect::Ask { purpose: Purpose::Score(_), .. } => Response::Unreadable,
        other => good(state, other),
    });
    let task = simulation.state.task(TaskId(0));
    assert_eq!((task.status(), task.flag()), (Status::Done, Some(QualityFlag::Unreviewed)));
    assert_eq!(task.attempt.points, None, "40 was the score of the attempt before");
}

#[test]
fn work_that_only_checks_judged_has_no_score_of_a_rejected_attempt() {
    let tasks =
        "tasks:\n  - {title: t, assignTo: w, targetFiles: [a], expectations: [{type: test, command: x}]}\n";
    let simulation = run(tasks, |state, effect| match effect {
        Effect::Job { job: Job::Scan { .. }, .. } if state.task(TaskId(0)).attempt.number == 1 => {
            Response::Files(None, 0)
        }
        other => good(state, other),
    });
    let task = simulation.state.task(TaskId(0));
    assert_eq!(
        (task.status(), task.flag(), task.attempt.number),
        (Status::Done, Some(QualityFlag::Clean), 2)
    );
    assert_eq!(task.attempt.points, None, "20 was the preflight's word about nothing");
}

#[test]
fn a_judge_that_is_down_costs_no_attempt_and_is_no_score() {
    for tasks in [PANEL, EVALUATED] {
        let simulation = run(tasks, |state, effect| match effect {
            Effect::Ask { purpose: Purpose::Score(_), .. } => {
                Response::Unreachable(FailureClass::ProviderTransient)
            }
            other => good(state, other),
        });
        assert_eq!(attempts(&simulation).len(), 1);
        assert_eq!(statuses(&simulation.state), [Status::AwaitingApproval]);
        assert_eq!(simulation.state.tasks[0].attempt.points, None);
        assert_eq!(class(&simulation), OutcomeClass::Indeterminate);
        let calls = simulation.count(|event| {
            matches!(event, Event::Ask(_, AskEvent::Requested { purpose: Purpose::Score(_), .. }))
        });
        // Each seat: one call and three retries; a panel has three seats and is run twice.
        assert_eq!(calls, if tasks == PANEL { 24 } else { 4 });
    }
}

#[test]
fn resume_asks_missing_judges_again() {
    let yaml = mission(PANEL);
    let mut simulation = Simulation::new(&yaml, options());
    simulation.run(|state, effect| match effect {
        Effect::Ask { purpose: Purpose::Score(_), .. } => Response::Unreachable(FailureClass::ProviderAuth),
        other => good(state, other),
    });
    assert_eq!(class(&simulation), OutcomeClass::Indeterminate);
    simulation.resume();
    simulation.run(good);
    assert_eq!(class(&simulation), OutcomeClass::Ok);
    assert_eq!(simulation.turns.len(), 1, "the work is not done again");
}

#[test]
fn one_seat_of_three_is_enough_and_says_so() {
    let simulation = run(PANEL, |state, effect| match effect {
        Effect::Ask { purpose: Purpose::Score(seat), .. } if seat.seat > 0 => Response::Unreadable,
        other => good(state, other),
    });
    let report = simulation.journal.iter().flatten().find_map(|event| match event {
        Event::Task(_, TaskEvent::StageVerdict(report)) if report.stage == Stage::Judge => {
            Some(report.clone())
        }
        _ => None,
    });
    let report = report.unwrap();
    assert_eq!(report.verdict, Verdict::Pass);
    assert!(report.findings.iter().any(|finding| finding.description.starts_with("single reviewer")));
}

#[test]
fn nobody_reviews_their_own_work() {
    let solo = "name: m\nagents:\n  w: {run: [/bin/true], role: reviewer}\n";
    for (review, flag, class) in [
        ("auto", Some(QualityFlag::Unreviewed), OutcomeClass::Ok),
        ("required", None, OutcomeClass::Indeterminate),
    ] {
        let yaml = format!("{solo}tasks:\n  - {{title: t, assignTo: w, review: {review}}}\n");
        let mut simulation = Simulation::new(&yaml, options());
        simulation.run(good);
        assert_eq!(simulation.state.tasks[0].flag(), flag, "{review}");
        assert_eq!(outcome(&simulation.state).class, class, "{review}");
        assert_eq!(
            simulation.count(|event| matches!(
                event,
                Event::Ask(_, AskEvent::Requested { purpose: Purpose::Score(_), .. })
            )),
            0
        );
    }
}

#[test]
fn without_evaluation_everything_is_unreviewed_and_checks_still_hold() {
    let no_eval = RunOptions { no_eval: true, ..options() };
    for (tasks, flag) in [
        (PANEL, QualityFlag::Unreviewed),
        (EVALUATED, QualityFlag::Unreviewed),
        (CHECKED, QualityFlag::Clean),
    ] {
        let mut simulation = Simulation::new(&mission(tasks), no_eval.clone());
        simulation.run(good);
        assert_eq!(simulation.state.tasks[0].flag(), Some(flag));
        assert_eq!(outcome(&simulation.state).class, OutcomeClass::Ok);
    }
    let mut simulation = Simulation::new(&mission(CHECKED), no_eval.clone());
    simulation.run(failing_checks);
    assert_eq!(outcome(&simulation.state).class, OutcomeClass::TaskFailed);
    let strict = RunOptions { strict: true, ..no_eval };
    let mut simulation = Simulation::new(&mission(PANEL), strict);
    simulation.run(good);
    assert_eq!(outcome(&simulation.state).class, OutcomeClass::Indeterminate);
}

#[test]
fn missing_files_are_rejected_before_any_judge_and_never_accepted() {
    let tasks = "tasks:\n  - {title: t, assignTo: w, targetFiles: [a.txt]}\n";
    let simulation = run(tasks, |state, effect| match effect {
        Effect::Job { job: Job::Scan { .. }, .. } => Response::Files(None, 0),
        other => good(state, other),
    });
    assert_eq!(
        simulation.count(|event| matches!(
            event,
            Event::Ask(_, AskEvent::Requested { purpose: Purpose::Score(_), .. })
        )),
        0
    );
    assert_eq!(simulation.state.tasks[0].mode(), Some(FailureMode::Hollow));
    assert_eq!(simulation.state.tasks[0].attempt.points.map(|points| points.to_f64()), Some(20.0));
}

#[test]
fn no_progress_ends_the_attempts() {
    let tasks =
        "tasks:\n  - {title: t, assignTo: w, targetFiles: [a], expectations: [{type: test, command: x}]}\n";
    let content = Cell::new(0);
    let script = |changing: bool| {
        let content = &content;
        move |_: &crate::engine::State, effect: &Effect| match effect {
            Effect::Job { job: Job::Scan { .. }, .. } => {
                content.set(content.get() + u64::from(changing));
                Response::Files(Some(1), content.get())
            }
            Effect::Job { job: Job::Check(_), .. } => Response::Check(false),
            _ => Response::Finished,
        }
    };
    assert_eq!(attempts(&run(tasks, script(false))).len(), 2, "the same files failed the same check twice");
    assert_eq!(attempts(&run(tasks, script(true))).len(), 12, "the files changed every time");
}

#[test]
fn dependents_wait_for_rework_and_fail_with_their_dependency() {
    let tasks = "tasks:\n  - {title: a, assignTo: w, expectations: [{type: test, command: x}]}\n  - {title: b, \
                 assignTo: w, dependsOn: [a], review: none}\n  - {title: c, assignTo: w, dependsOn: [b], review: none}\n";
    let simulation = run(tasks, failing_checks);
    assert_eq!(statuses(&simulation.state), [Status::Failed; 3]);
    let modes: Vec<_> = simulation.state.tasks.iter().map(|task| task.mode().unwrap()).collect();
    assert_eq!(modes, [FailureMode::Quality, FailureMode::Cascade, FailureMode::Cascade]);
    assert!(simulation.turns.iter().all(|turn| turn.task == TaskId(0)), "no dependent ever started");
}

const GATED: &str = "tasks:\n  - {title: a, assignTo: w}\n  - {title: b, assignTo: w, review: none}\n";

fn gated(gate: &str, script: impl FnMut(&crate::engine::State, &Effect) -> Response) -> Simulation {
    run(&format!("{GATED}qualityGates:\n  - {{name: g, afterTasks: [a], blocksTasks: [b]{gate}}}\n"), script)
}

#[test]
fn a_gate_holds_what_it_blocks() {
    let passed = gated(", minScore: 4.0", scores(80));
    assert_eq!((class(&passed), statuses(&passed.state)[1]), (OutcomeClass::Ok, Status::Done));
    let failed = gated(", minScore: 4.0", scores(79));
    assert_eq!((class(&failed), statuses(&failed.state)[1]), (OutcomeClass::GateFailed, Status::Pending));
    assert!(failed.state.is_unfinished());
    assert_eq!(failed.count(|event| matches!(event, Event::Gate(_, GateEvent::Evaluated { .. }))), 1);
}

#[test]
fn a_gate_is_not_passed_by_work_below_the_bar() {
    let simulation = gated("", scores(50));
    assert_eq!(class(&simulation), OutcomeClass::GateFailed);
    assert!(outcome(&simulation.state).conditions.contains(&OutcomeClass::BelowThreshold));
    let accepted = gated(", acceptBelowThreshold: true", scores(50));
    assert_eq!(class(&accepted), OutcomeClass::BelowThreshold);
}

#[test]
fn a_gate_without_any_score_fails_a_min_score() {
    let mut simulation = Simulation::new(
        &mission(&format!(
            "{GATED}qualityGates:\n  - {{name: g, afterTasks: [a], blocksTasks: [b], minScore: 3}}\n"
        )),
        RunOptions { no_eval: true, ..options() },
    );
    simulation.run(good);
    assert_eq!(class(&simulation), OutcomeClass::GateFailed);
    let reason = simulation.state.gates[0].result.as_ref().unwrap().reason.clone().unwrap();
    assert!(reason.contains("reviews are switched off"), "{reason}");
}

#[test]
fn an_overridden_gate_lets_work_go_on() {
    let mut simulation = gated(", minScore: 5", scores(80));
    let over = |n: u32| {
        Fact::Operator(Box::new(OperatorInput {
            id: None,
            command: Command::OverrideGate {
                gate: crate::domain::GateId(n),
                reason: "accepted risk".to_owned(),
            },
            by: "ana".to_owned(),
        }))
    };
    simulation.feed(&over(0));
    simulation.feed(&over(7));
    simulation.resume();
    simulation.run(good);
    assert_eq!(class(&simulation), OutcomeClass::Ok);
    assert_eq!(statuses(&simulation.state), [Status::Done; 2]);
}

#[test]
fn a_halting_gate_stops_what_it_does_not_block() {
    let tasks = "settings: {concurrency: 1}\ntasks:\n  - {title: a, assignTo: w, priority: 9}\n  - {title: b, assignTo: w, \
                 review: none}\n  - {title: c, assignTo: w, review: none}\nqualityGates:\n  - {name: g, afterTasks: [a], \
                 blocksTasks: [b], minScore: 5, onFail: HALT}\n";
    for (policy, third) in [("halt", Status::Pending), ("continue", Status::Done)] {
        let yaml = mission(&tasks.replace("HALT", policy));
        let mut simulation = Simulation::new(&yaml, RunOptions { jobs: Some(1), ..options() });
        simulation.run(scores(80));
        assert_eq!(class(&simulation), OutcomeClass::GateFailed);
        assert_eq!(statuses(&simulation.state)[2], third, "{policy}");
    }
}

#[test]
fn after_the_first_failure_nothing_more_starts_if_so_asked() {
    let tasks = "tasks:\n  - {title: a, assignTo: w, priority: 9, maxAttempts: 1, expectations: [{type: test, command: x}]}\n  \
                 - {title: b, assignTo: w, review: none}\n";
    for (fail_fast, second) in [(true, Status::Pending), (false, Status::Done)] {
        let options = RunOptions { jobs: Some(1), fail_fast, ..options() };
        let mut simulation = Simulation::new(&mission(tasks), options);
        simulation.run(failing_checks);
        assert_eq!(class(&simulation), OutcomeClass::TaskFailed);
        assert_eq!(statuses(&simulation.state), [Status::Failed, second]);
        // What was not started is left for another session.
        simulation.resume();
        simulation.run(good);
        assert_eq!(statuses(&simulation.state), [Status::Failed, Status::Done]);
    }
}

#[test]
fn the_mission_threshold_weighs_by_priority() {
    let tasks = |threshold: &str| {
        format!(
            "qualityThreshold: {threshold}\ntasks:\n  - {{title: a, assignTo: w, priority: 3}}\n  - {{title: b, assignTo: w}}\n"
        )
    };
    let script = |state: &crate::engine::State, effect: &Effect| match effect {
        Effect::Ask { id: AskId { task, .. }, purpose: Purpose::Score(_), .. } => {
            Response::Score(if *task == TaskId(0) { 80 } else { 60 })
        }
        other => good(state, other),
    };
    assert_eq!(class(&run(&tasks("3.75"), script)), OutcomeClass::Ok);
    let missed = run(&tasks("3.8"), script);
    assert_eq!(class(&missed), OutcomeClass::BelowThreshold);
    assert_eq!(missed.count(|event| matches!(event, Event::Run(RunEvent::ThresholdFailed { .. }))), 1);
}

#[test]
fn an_exclusive_task_runs_alone() {
    let tasks = "tasks:\n  - {title: a, assignTo: w, review: none}\n  - {title: b, assignTo: w, review: none, exclusive: \
                 true}\n  - {title: c, assignTo: w, review: none}\n";
    let simulation = run(tasks, |state, effect| {
        if let Effect::RunTurn { turn, .. } = effect {
            let holders = state.tasks.iter().filter(|task| task.holds_slot()).count();
            assert!(turn.task != TaskId(1) || holders == 1, "the exclusive task is not alone");
        }
        good(state, effect)
    });
    assert_eq!(class(&simulation), OutcomeClass::Ok);
}

#[test]
fn an_interrupted_turn_is_started_again_and_spends_nothing() {
    let yaml = mission(CHECKED);
    let mut simulation = Simulation::new(&yaml, options());
    // Its baseline, its files, its prompt.
    (0..3).for_each(|_| simulation.perform(0, &mut good));
    simulation.feed(&Fact::Stop(StopCause::Interrupted));
    simulation.run(good);
    assert_eq!(class(&simulation), OutcomeClass::Interrupted);
    assert!(simulation.state.is_unfinished());
    simulation.resume();
    simulation.run(good);
    assert_eq!(class(&simulation), OutcomeClass::Ok);
    let task = &simulation.state.tasks[0];
    assert_eq!((task.attempt.number, task.attempt.turn, task.course.tries), (1, 2, 1));
}

#[test]
fn late_and_foreign_inputs_mean_nothing() {
    let yaml = mission(EVALUATED);
    let mut simulation = Simulation::new(&yaml, options());
    let mut seen = Vec::new();
    while let Some(effect) = simulation.todo.front().cloned() {
        seen.push(effect);
        simulation.perform(0, &mut good);
        // Everything that was ever performed happens once more.
        let records = simulation.journal.len();
        let todo = simulation.todo.clone();
        for effect in &seen {
            simulation.todo = [effect.clone()].into();
            let stale = !todo.contains(effect);
            simulation.perform(0, &mut good);
            assert!(!stale || simulation.journal.len() == records, "{effect:?} counted twice");
        }
        simulation.todo = todo;
    }
    assert_eq!(class(&simulation), OutcomeClass::Ok);
    assert_eq!(attempts(&simulation).len(), 1);
}

#[test]
fn allowed_conditions_give_way_to_the_next() {
    let allow = |classes: &[OutcomeClass]| RunOptions { allow: classes.to_vec(), ..options() };
    let with = |options: RunOptions| {
        let tasks = format!(
            "{GATED}qualityGates:\n  - {{name: g, afterTasks: [a], blocksTasks: [b], minScore: 5}}\n"
        );
        let mut simulation = Simulation::new(&mission(&tasks), options);
        simulation.run(scores(50));
        outcome(&simulation.state)
    };
    use OutcomeClass::{BelowThreshold, GateFailed, Ok};
    assert_eq!(with(allow(&[])).class, GateFailed);
    let one = with(allow(&[GateFailed]));
    assert_eq!(
        (one.class, one.conditions, one.allowed),
        (BelowThreshold, vec![GateFailed, BelowThreshold], vec![GateFailed])
    );
    assert_eq!(with(allow(&[GateFailed, BelowThreshold])).class, Ok);
}

#[test]
fn feedback_is_carried_into_the_next_attempt() {
    let seen = Cell::new(0);
    let simulation = run(EVALUATED, |state, effect| match effect {
        Effect::RunTurn { turn, .. } => {
            if turn.attempt == 2 {
                let feedback = &state.task(turn.task).feedback;
                seen.set(feedback.len());
                assert_eq!(feedback[0].cause, Some(Cause::Score));
            }
            Response::Finished
        }
        Effect::Ask { purpose: Purpose::Score(seat), .. } => {
            Response::Score(if seat.attempt == 1 { 30 } else { 70 })
        }
        other => good(state, other),
    });
    assert_eq!((class(&simulation), seen.get()), (OutcomeClass::Ok, 1));
    assert_eq!(simulation.state.sums.counts.reworked, 1);
}
