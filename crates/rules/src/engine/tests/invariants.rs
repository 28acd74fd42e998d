//! What is kept event by event is what follows from where the tasks stand: at every moment, and whatever a person has done
//! again then. Here are the situations that a random life seldom comes to.

use std::collections::BTreeSet;

use crate::domain::{Answer, AskId, FailureClass, Purpose, Status, TaskId, Timestamp, TurnId};
use crate::engine::apply::became_terminal;
use crate::engine::event_payload::Way;
use crate::engine::fixups::DependencyState;
use crate::engine::remedies::is_tried_again;
use crate::engine::state::recovery::{DependencyRecovery, FailedDependency, WaivedDependency};
use crate::engine::{
    AskEvent, Effect, Event, Fact, Job, Prerequisite, RunEvent, State, TaskEvent, Timer, apply, decide,
};
use crate::plan::{AddedTask, Addition, Origin, Part};

use super::simulation::consistency::is_up_to_date;
use super::simulation::{Response, Simulation, good, options, plan_of, statuses};

fn at_every_moment(yaml: &str, simulation: &Simulation) {
    let mut state = State::new(plan_of(yaml, &options()));
    for record in &simulation.journal {
        record.iter().for_each(|event| apply(&mut state, event));
        is_up_to_date(&state);
        let redone = state.plan.task_ids().map(Fact::Redo);
        for input in redone.chain([Fact::RetryFailed]) {
            let mut again = state.clone();
            for event in decide(&state, &input, Timestamp(9)) {
                apply(&mut again, &event);
            }
            is_up_to_date(&again);
        }
    }
}

fn goes_on(simulation: &mut Simulation, input: &Fact, script: impl FnMut(&State, &Effect) -> Response) {
    assert!(simulation.say(input));
    simulation.resume();
    simulation.run(script);
}

/// The state before the first such event, and the event.
fn before(simulation: &Simulation, yaml: &str, wanted: impl Fn(&Event) -> bool) -> (State, Event) {
    let mut state = State::new(plan_of(yaml, &options()));
    for event in simulation.journal.iter().flatten() {
        if wanted(event) {
            return (state, event.clone());
        }
        apply(&mut state, event);
    }
    panic!("there is none");
}

const MENDED: &str = "name: m
onExhausted: fixup
settings: {maxFixAttempts: 0, maxRetries: 1}
agents: {w: {run: [/bin/true]}}
tasks:
  - {title: base, review: none}
  - {title: broken, dependsOn: [base], expectations: [{type: test, command: x}]}
  - {title: after, dependsOn: [broken], review: none}
";
const BASE: TaskId = TaskId(0);
const BROKEN: TaskId = TaskId(1);
const AFTER: TaskId = TaskId(2);
const FIXUP: TaskId = TaskId(3);

/// Checks of the second task fail, and those of its fixup do not.
fn mended(state: &State, effect: &Effect) -> Response {
    match effect {
        Effect::Job { turn: TurnId { task, .. }, job: Job::Check(_) } => Response::Check(*task != BROKEN),
        _ => good(state, effect),
    }
}

#[test]
fn a_fixup_that_was_withdrawn_and_returns_counts_once() {
    let mut simulation = Simulation::new(MENDED, options());
    simulation.run(mended);
    assert_eq!(simulation.state.sums.counts.reworked, 1, "one needed two attempts");
    goes_on(&mut simulation, &Fact::Redo(BASE), mended);
    let added = simulation.count(|event| matches!(event, Event::Run(RunEvent::TasksAdded(_))));
    assert_eq!((added, simulation.state.tasks.len()), (2, 4));
    assert_eq!(simulation.state.plan.task(FIXUP).part, Part::Selected);
    at_every_moment(MENDED, &simulation);
}

#[test]
fn a_fixup_begins_with_what_its_original_knows_and_may_have_done() {
    let mut simulation = Simulation::new(MENDED, options());
    simulation.run(mended);
    let (state, added) =
        before(&simulation, MENDED, |event| matches!(event, Event::Run(RunEvent::TasksAdded(_))));
    for (acted, had_acted) in [(false, false), (false, true), (true, false), (true, true)] {
        let mut state = state.clone();
        // It was there before, and is again.
        apply(&mut state, &added);
        state.tasks[FIXUP.index()].consent.acted = had_acted;
        apply(&mut state, &Event::Run(RunEvent::TasksWithdrawn { tasks: vec![FIXUP] }));
        state.tasks[BROKEN.index()].consent.acted = acted;
        state.tasks[BROKEN.index()].remedies = Some(Box::new(without(AFTER)));
        apply(&mut state, &added);
        assert_eq!(state.task(FIXUP).consent.acted, acted || had_acted);
        assert_eq!(state.task(FIXUP).remedies, state.task(BROKEN).remedies);
    }
}

fn without(dependency: TaskId) -> DependencyRecovery {
    DependencyRecovery {
        without: vec![WaivedDependency { dependency, way: Way::Absorb, note: "go on".to_owned() }],
        ..DependencyRecovery::default()
    }
}

#[test]
fn what_is_withdrawn_waits_for_no_decision() {
    let mut simulation = Simulation::new(MENDED, options());
    simulation.run(mended);
    let (mut state, added) =
        before(&simulation, MENDED, |event| matches!(event, Event::Run(RunEvent::TasksAdded(_))));
    apply(&mut state, &added);
    for on in [BASE, AFTER] {
        state.queues.cascades_due.insert((FIXUP, on));
    }
    state.queues.cascades_due.insert((AFTER, BASE));
    for id in [AFTER, FIXUP] {
        state.is_not_ready(id);
        state.queues.watchers.watch(id, Prerequisite::Agreement, 0);
    }
    apply(&mut state, &Event::Run(RunEvent::TasksWithdrawn { tasks: vec![FIXUP] }));
    assert_eq!(state.queues.cascades_due, BTreeSet::from([(AFTER, BASE)]));
    assert_eq!(state.queues.watchers.watched(FIXUP), None);
}

#[test]
fn what_is_asked_for_behind_what_failed_is_decided_about() {
    let mut simulation = Simulation::new(&MENDED.replace("onExhausted: fixup\n", ""), options());
    simulation.run(mended);
    let mut state = simulation.state;
    assert_eq!(state.task(BROKEN).status(), Status::Failed);
    let added = AddedTask {
        id: FIXUP,
        title: "more".into(),
        description: None,
        agent: state.plan.task(BASE).agent,
        kind: state.plan.task(BASE).kind,
        needs: vec![BASE, BROKEN],
        priority: None,
        target_files: Vec::new(),
        acceptance: Vec::new(),
        verify: None,
        chain: None,
        awaited_by: Vec::new(),
    };
    let addition =
        Addition { origin: Origin::Request, source: None, request: Some("r".into()), tasks: vec![added] };
    apply(&mut state, &Event::Run(RunEvent::TasksAdded(Box::new(addition))));
    assert_eq!(state.queues.cascades_due, BTreeSet::from([(FIXUP, BROKEN)]));
    is_up_to_date(&state);
}

/// The last task needs the first, which fails once, and the orchestrator lets it do without.
const ABSORBED: &str = "name: m
agents: {w: {run: [/bin/true]}, o: {run: [/bin/true]}}
settings: {maxFixAttempts: 0, maxRetries: 0, orchestrator: o}
tasks:
  - {title: a, assignTo: w, review: none}
  - {title: b, assignTo: w, review: none}
  - {title: c, assignTo: w, dependsOn: [a, b]MORE}
";
const A: TaskId = TaskId(0);
const B: TaskId = TaskId(1);
const C: TaskId = TaskId(2);

fn fails_once() -> impl FnMut(&State, &Effect) -> Response {
    let mut failed = false;
    move |state, effect| match effect {
        Effect::RunTurn { turn, .. } if turn.task == A && !std::mem::replace(&mut failed, true) => {
            Response::AgentFailed(FailureClass::Unknown)
        }
        Effect::Ask { .. } => Response::Answer(Answer::Absorb { prompt: "without it".to_owned() }),
        Effect::Job { turn: TurnId { task, .. }, job: Job::Check(_) } => Response::Check(*task != C),
        _ => good(state, effect),
    }
}

#[test]
fn what_was_done_since_holds_nobody_who_once_did_without_it() {
    let yaml = ABSORBED.replace("MORE", ", review: none");
    let mut simulation = Simulation::new(&yaml, options());
    let mut script = fails_once();
    simulation.run(&mut script);
    assert_eq!(statuses(&simulation.state), [Status::Failed, Status::Done, Status::Done]);
    goes_on(&mut simulation, &Fact::RetryFailed, &mut script);
    assert_eq!(statuses(&simulation.state), [Status::Done; 3]);
    assert!(simulation.state.task(C).does_without(A), "it was done without it");
    assert!(simulation.say(&Fact::Redo(C)));
    assert_eq!(simulation.state.first_unmet(C), None);
    simulation.resume();
    simulation.run(&mut script);
    assert_eq!(statuses(&simulation.state), [Status::Done; 3]);
    at_every_moment(&yaml, &simulation);
}

#[test]
fn what_an_original_did_without_holds_no_fixup_that_is_done_again() {
    let yaml = ABSORBED.replace("MORE", ", onExhausted: fixup, expectations: [{type: test, command: x}]");
    let mut simulation = Simulation::new(&yaml, options());
    let mut script = fails_once();
    simulation.run(&mut script);
    let all = [Status::Failed, Status::Done, Status::Failed, Status::Done];
    assert_eq!(statuses(&simulation.state), all);
    assert!(simulation.state.task(FIXUP).does_without(A), "it was told so too");
    goes_on(&mut simulation, &Fact::Redo(FIXUP), &mut script);
    assert_eq!(statuses(&simulation.state), all);
    assert_eq!(simulation.state.task(FIXUP).attempt.number, 2);
    at_every_moment(&yaml, &simulation);
}

fn begun(yaml: &str) -> State {
    Simulation::new(yaml, options()).state
}

#[test]
fn who_waits_again_for_what_is_tried_again() {
    let yaml = ABSORBED.replace("MORE", "");
    for (did_without, status, from, still) in [
        (true, Status::Pending, DependencyState::Failed, false),
        (true, Status::Pending, DependencyState::Met, false),
        // It works or has worked without it: that is not undone, unless what it did without was done meanwhile.
        (true, Status::InProgress, DependencyState::Failed, true),
        (true, Status::Done, DependencyState::Failed, true),
        (true, Status::InProgress, DependencyState::Met, false),
        // Who did not do without it waits as long as it is not done; that it failed changes nothing.
        (false, Status::Pending, DependencyState::Met, false),
        (false, Status::Pending, DependencyState::Failed, false),
        (false, Status::InProgress, DependencyState::Met, false),
    ] {
        let mut state = begun(&yaml);
        let task = &mut state.tasks[C.index()];
        task.lifecycle = status.into();
        task.remedies = did_without.then(|| Box::new(without(A)));
        state.sum_up();
        is_tried_again(&mut state, C, A, from);
        let lacks = state.first_unmet(C) == Some(Prerequisite::Dependency(A));
        let does_without = state.task(C).does_without(A);
        assert_eq!((does_without, lacks), (still, !still), "{did_without} {status:?} {from:?}");
    }
}

#[test]
fn what_was_due_or_asked_about_the_others_is_not_what_is_tried_again() {
    let yaml = ABSORBED.replace("MORE", "");
    let failed = |dependency| FailedDependency { dependency, looked: false, no_way: None };
    let remedies =
        || DependencyRecovery { failed: vec![failed(A), failed(B)], ..DependencyRecovery::default() };
    // Both had failed, and both were due. One is tried again: not all have ended any more.
    let mut state = begun(&yaml);
    state.tasks[C.index()].remedies = Some(Box::new(remedies()));
    state.queues.cascades_due = [(C, A), (C, B)].into();
    is_tried_again(&mut state, C, A, DependencyState::Failed);
    assert!(state.queues.cascades_due.is_empty(), "{:?}", state.queues.cascades_due);
    let left = state.task(C).remedies.as_deref().map(|left| left.failed.clone());
    assert_eq!(left, Some(vec![failed(B)]));

    // The orchestrator is asked about both: what it says of the other one still counts.
    let mut state = begun(&yaml);
    let orchestrator = state.plan.find_agent("o").unwrap();
    for (number, dependency) in [(1, A), (2, B)] {
        let asked = Event::Ask(
            AskId { task: C, number, attempt_try: 1 },
            AskEvent::Requested {
                purpose: Purpose::Resolve { dependency },
                agent: orchestrator,
                strict: None,
                not_before: None,
            },
        );
        apply(&mut state, &asked);
    }
    assert_eq!(state.sums.calls_open, 2);
    is_tried_again(&mut state, C, A, DependencyState::Failed);
    let about: Vec<_> = state.task(C).work.asks.iter().map(|open| open.purpose).collect();
    assert_eq!(about, [Purpose::Resolve { dependency: B }]);
    assert_eq!(state.sums.calls_open, 1);
    is_up_to_date(&state);
}

const ROUTED: &str = "name: m
agents: {w: {run: [/bin/true]}}
settings: {evaluate: false, maxRetries: 0}
tasks:
  - {title: base, priority: 9}
  - {title: write}
  - {title: verify, type: verification, dependsOn: [write], acceptance: [c], verification: {grader: heuristic}, onPass: publish, onFail: repair, onRefer: repair}
  - {title: publish, dependsOn: [base]}
  - {title: repair}
  - {title: later, deadline: '1970-01-01T01:00:00'}
checkpoints: [{name: h, afterTasks: [publish], blocksTasks: [later]}]
";
const WRITE: TaskId = TaskId(1);
const VERIFY: TaskId = TaskId(2);
const PUBLISH: TaskId = TaskId(3);
const LATER: TaskId = TaskId(5);

#[test]
fn what_a_verdict_leaves_out_waits_for_no_decision() {
    let mut simulation = Simulation::new(ROUTED, options());
    simulation.run(graded(vec![10]));
    let taken = |event: &Event| matches!(event, Event::Task(_, TaskEvent::EdgeTaken { .. }));
    let (mut state, taken) = before(&simulation, ROUTED, taken);
    state.queues.cascades_due = [(PUBLISH, BASE), (PUBLISH, WRITE), (LATER, BASE)].into();
    state.is_not_ready(PUBLISH);
    state.queues.watchers.watch(PUBLISH, Prerequisite::Agreement, 0);
    apply(&mut state, &taken);
    assert!(state.task(PUBLISH).not_taken);
    assert!(state.queues.cascades_due.is_empty() && state.queues.watchers.watched(PUBLISH).is_none());
    is_up_to_date(&state);
}

/// The grader says this, one after the other.
fn graded(points: Vec<u8>) -> impl FnMut(&State, &Effect) -> Response {
    let mut points = points.into_iter();
    move |state, effect| match effect {
        Effect::Job { job: Job::Grade(_), .. } => Response::Score(points.next().unwrap()),
        _ => good(state, effect),
    }
}

#[test]
fn work_that_a_verdict_leaves_out_and_another_brings_back_counts_once() {
    let yaml = ROUTED
        .replace("checkpoints", "delays")
        .replace("blocksTasks: [later]}", "blocksTasks: [later], duration: 5s}");
    let mut simulation = Simulation::new(&yaml, options());
    let mut script = graded(vec![90, 90, 10, 90]);
    simulation.run(&mut script);
    for (attempt, taken) in [(2, true), (3, false), (3, true)] {
        goes_on(&mut simulation, &Fact::Redo(WRITE), &mut script);
        let task = simulation.state.task(PUBLISH);
        assert_eq!((task.attempt.number, !task.not_taken), (attempt, taken));
    }
    at_every_moment(&yaml, &simulation);
}

#[test]
fn what_leaves_with_a_task_that_is_tried_again_in_vain_has_no_deadline_any_more() {
    let mut simulation = Simulation::new(ROUTED, options());
    let mut grades = graded(vec![10]);
    let mut script = |state: &State, effect: &Effect| match effect {
        Effect::RunTurn { turn, .. } if turn.task == TaskId(0) => {
            Response::AgentFailed(FailureClass::Unknown)
        }
        _ => grades(state, effect),
    };
    while !simulation.todo.is_empty() {
        simulation.perform(0, &mut script);
    }
    let passes = |state: &State| state.timers.at(Timer::DeadlinePassed(Some(LATER)));
    let state = &simulation.state;
    assert_eq!((state.task(PUBLISH).status(), state.task(VERIFY).status()), (Status::Failed, Status::Done));
    assert!(!state.task(LATER).not_taken && passes(state).is_some());
    assert!(simulation.say(&Fact::RetryFailed));
    let state = &simulation.state;
    assert!(state.task(PUBLISH).not_taken, "the verdict stands");
    assert!(state.task(LATER).not_taken && passes(state).is_none());
    is_up_to_date(state);
}

#[test]
fn what_fails_again_is_no_news_to_who_does_without_it() {
    let yaml = ABSORBED.replace("MORE", "");
    for (did_without, due) in [(true, false), (false, true)] {
        let mut state = begun(&yaml);
        // Sent back while that was tried again: it still does without.
        let task = &mut state.tasks[C.index()];
        task.remedies = did_without.then(|| Box::new(without(A)));
        became_terminal(&mut state, A, DependencyState::Failed);
        assert_eq!(state.queues.cascades_due.contains(&(C, A)), due);
    }
}
