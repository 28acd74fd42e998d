//! Applying events: the only way state changes, live and in recovery.
//!
//! Applying never judges and never fails: an event that stands in the journal has happened.
//!
//! | file | what |
//! |---|---|
//! | `budget` | the budget follows what happens: which calls are still waited for (19) |
//! | `deadline` | deadlines follow what happens: their timers are set by what is known of them (14) |
//! | `dependents` | what the end of a task, or its end withdrawn, means for those that wait for it |
//! | `run` | what events of the run change of its state |
//! | `task` | what events change of one task |
//! | `judging` | what events change of the judging of a task |
//! | `work` | what events of work, turns and questions change of their task |

mod budget;
mod deadline;
mod dependents;
mod judging;
mod run;
mod task;
mod work;

use std::sync::Arc;

use super::event::{
    AskEvent, DependencyStep, Event, GateEvent, HoldEvent, Resolution, RunEvent, TaskEvent, TurnEvent,
    WorkEvent,
};
use super::event_payload::{DeferralReason, StageReport};
use super::fixups::supersede;
use super::job::{Job, JobEnd};
use super::merging::Merged;
use super::not_taken;
use super::prerequisite::{look, met, met_for, withdrawn};
use super::remedies::{all_have_ended, nothing_is_due};
use super::state::{BarrierStage, Hold, Lifecycle, Prerequisite, Reopened, State, TaskState};
use super::timers::Timer;
use crate::domain::{
    AttemptKind, BarrierId, Cause, GateId, HoldOwner, Purpose, Stage, Status, TaskId, Verdict,
};

pub(super) use budget::drop_what_nobody_waits_for;
pub(super) use deadline::arm;
pub(super) use dependents::{became_terminal, failed_dependencies_are_due, no_longer_terminal};
use dependents::{refused_barriers_are_due, settle};

/// Changes the state by one event. Costs O(degree of the task).
pub fn apply(state: &mut State, event: &Event) {
    change(state, event);
    deadline::follow(state, event);
}

fn change(state: &mut State, event: &Event) {
    budget::follow(state, event);
    follow_notices(state, event);
    match event {
        Event::Run(event) => run::change(state, event),
        Event::Task(task, said) => change_standing(state, *task, event, said),
        Event::Work(task, said) => change_work(state, *task, event, said),
        Event::Turn(turn, said) => change_turn(state, turn.task, event, said),
        Event::Ask(id, said) => {
            if let AskEvent::Requested { purpose: Purpose::Resolve { dependency }, .. } = said {
                state.queues.cascades_due.remove(&(id.task, *dependency));
            }
            change_task(state, id.task, event);
        }
        Event::Gate(gate, event) => change_gate(state, *gate, event),
        Event::Hold(of, said) => change_hold(state, *of, event, said),
        Event::Budget(_) | Event::Deadline(_) | Event::Notice(_) => {}
    }
}

fn follow_notices(state: &mut State, event: &Event) {
    let was_announced = state.notices.announced;
    match event {
        // What was announced is not the end after all, or was the end of an earlier session.
        Event::Run(RunEvent::Resumed(_) | RunEvent::Salvaged(_))
        | Event::Task(_, TaskEvent::Transition { .. }) => state.notices.announced = false,
        Event::Notice(event) => state.notices.apply(event),
        _ => {}
    }
    if state.notices.announced && !was_announced {
        // The session ends: it waits for nobody any more.
        state.timers.cancel(Timer::WaitOver);
    }
}

/// The standing of a task, and what others feel of it.
fn change_standing(state: &mut State, task: TaskId, event: &Event, said: &TaskEvent) {
    match said {
        TaskEvent::Transition { .. } => transition(state, task, event),
        TaskEvent::Deferred { .. } => defer(state, task, event),
        TaskEvent::Superseded { .. } => supersede(state, task, true),
        TaskEvent::FellBack { work: true, .. } => change_worker(state, task, event),
        TaskEvent::AttemptPlanned { kind: AttemptKind::Execute, .. } => {
            // A person wants it done and judged anew.
            forgive(state, task);
            change_worker(state, task, event);
            // A verification that was to judge once more decides anew: its verdict is withdrawn after all.
            not_taken::undecided(state, task);
        }
        TaskEvent::Regressed { behind, ahead_of, judged_again, .. } => {
            change_task(state, task, event);
            regressed(state, task, (behind, ahead_of), judged_again);
        }
        TaskEvent::StageVerdict(report) => {
            count_rejection(state, report);
            change_task(state, task, event);
        }
        TaskEvent::AcceptanceRecorded { .. } => {
            change_task(state, task, event);
            state.acceptances += 1;
            state.audit.due = true;
            let (order, turns, session) = (state.acceptances, state.turns_ended, state.sessions);
            if let Some(acceptance) = state.task_mut(task).acceptance_mut() {
                (acceptance.order, acceptance.turns, acceptance.session) = (order, turns, session);
            }
        }
        TaskEvent::EdgeTaken { not_taken: left, kept, .. } => {
            change_task(state, task, event);
            for id in left {
                not_taken::leave(state, *id);
            }
            for (id, visits) in kept {
                state.task_mut(*id).course.visits = *visits;
            }
        }
        TaskEvent::DependencyFailed { dependency, step, .. } => {
            if !matches!(step, DependencyStep::Unresolvable(_)) {
                state.queues.cascades_due.remove(&(task, *dependency));
            }
            change_task(state, task, event);
            match step {
                DependencyStep::Detected => all_have_ended(state, task),
                DependencyStep::Resolved(_) => met_for(state, task, Prerequisite::Dependency(*dependency)),
                DependencyStep::Unresolvable(_) => {}
            }
        }
        _ => change_task(state, task, event),
    }
}

/// Follows a change of a task's agent: who is busy, and who has something to do.
fn change_worker(state: &mut State, id: TaskId, event: &Event) {
    change_task(state, id, event);
    let Some(step) = event.plan_step() else {
        return;
    };
    let is_busy = state.task(id).holds_slot();
    state.is_not_ready(id);
    if is_busy {
        state.queues.ready.release(state.plan.task(id).agent, id);
    }
    Arc::make_mut(&mut state.plan).follow(&step);
    if is_busy {
        state.queues.ready.occupy(state.plan.task(id).agent, id);
    }
    look(state, id);
}

/// Work for a task, and what it looks at.
fn change_work(state: &mut State, task: TaskId, event: &Event, said: &WorkEvent) {
    change_task(state, task, event);
    match said {
        WorkEvent::Requested(Job::Artifacts(dependency)) => {
            state.queues.cascades_due.remove(&(task, *dependency));
        }
        WorkEvent::Requested(Job::Check(_)) => {
            // A turn that ends while a check runs may change what the check has looked at.
            let ended = state.turns_ended;
            if let Lifecycle::Review(judging) = &mut state.task_mut(task).lifecycle {
                judging.turns_ended = ended;
            }
        }
        WorkEvent::Ended { end: JobEnd::Merged(Merged::Landed(commit)), .. } => state.work_landed(commit),
        WorkEvent::Requested(_) | WorkEvent::Ended { .. } => {}
    }
}

fn change_turn(state: &mut State, task: TaskId, event: &Event, said: &TurnEvent) {
    change_task(state, task, event);
    match said {
        TurnEvent::FilesNoted { .. } => {
            let starts = state.turns_started;
            let course = &mut state.task_mut(task).course;
            if let Some(noted) = &mut course.evidence.noted {
                noted.starts = starts;
            }
            if let Some(first) = course.first.as_deref_mut().filter(|first| first.turns == 0) {
                first.noted.starts = starts;
            }
        }
        TurnEvent::Started(_) => state.turns_started += 1,
        TurnEvent::Finished(_) | TurnEvent::Lost => state.turn_ended_in(task),
        _ => {}
    }
}

fn change_gate(state: &mut State, gate: GateId, event: &GateEvent) {
    match event {
        GateEvent::Evaluated { result } => {
            state.gates[gate.index()].result = Some(result.clone());
        }
        GateEvent::Overridden { .. } => state.gates[gate.index()].overridden = true,
    }
    state.follow_gate(gate);
    met(state, Prerequisite::Gate(gate));
}

/// Changes a hold and its timers.
fn change_hold(state: &mut State, of: HoldOwner, event: &Event, said: &HoldEvent) {
    match of {
        HoldOwner::Task(task) => {
            change_task(state, task, event);
            if matches!(said, HoldEvent::Closed { .. }) {
                follow_asks(state, task);
            }
        }
        HoldOwner::Barrier(barrier) => change_barrier(state, barrier, said),
    }
    match said {
        HoldEvent::Opened { number, expires, .. } => {
            let number = *number;
            if let Some(at) = expires {
                state.timers.set(Timer::Expiry { of, number }, *at);
            }
        }
        HoldEvent::TimedOut { number } => state.timers.cancel(Timer::Expiry { of, number: *number }),
        HoldEvent::Undecided { number, again, .. } => {
            if let (Some(at), Some(task)) = (again, of.task()) {
                let number = *number;
                state.timers.set(Timer::AskAgain { task, number }, *at);
            }
        }
        HoldEvent::Closed { .. } => {}
    }
}

fn change_barrier(state: &mut State, barrier: BarrierId, event: &HoldEvent) {
    match event {
        HoldEvent::Opened { number, .. } => {
            let found = &mut state.barriers[barrier.index()];
            found.number = *number;
            found.stage = Hold::opened(event).map_or(BarrierStage::Ahead, BarrierStage::Held);
            state.follow_barrier(barrier);
        }
        HoldEvent::Closed { resolution: Resolution::Approved | Resolution::TimedOut, .. } => {
            leave_barrier(state, barrier, BarrierStage::Passed);
        }
        HoldEvent::Closed { .. } => leave_barrier(state, barrier, BarrierStage::Rejected),
        HoldEvent::Undecided { .. } | HoldEvent::TimedOut { .. } => {}
    }
}

/// Accepted work is done again: what has judged it judges once more, and what names its files waits behind others.
fn regressed(
    state: &mut State,
    task: TaskId,
    (behind, ahead_of): (&[TaskId], &[TaskId]),
    judged_again: &[TaskId],
) {
    let why = format!("'{}', which it judged, is done again", state.plan.title(task));
    for id in judged_again {
        state.task_mut(*id).reopen(&why, &[]);
    }
    let first = behind.iter().map(|first| (*first, task));
    for (first, second) in first.chain(ahead_of.iter().map(|second| (task, *second))) {
        go_behind(state, first, second);
    }
}

/// Regressed work waits for other regressed work, as long as that is done again.
fn go_behind(state: &mut State, first: TaskId, second: TaskId) {
    let Some(open) = state.task_mut(first).reopened.as_deref_mut() else {
        return;
    };
    if open.ahead_of.contains(&second) {
        return;
    }
    open.ahead_of.push(second);
    if let Some(open) = state.task_mut(second).reopened.as_deref_mut() {
        open.behind.push(first);
    }
    withdrawn(state, &[second]);
}

/// Regressed work leaves the order in which it is done again: what waited for it waits for what it waited for itself.
pub fn leave_order(state: &mut State, id: TaskId, left: &Reopened) {
    for first in &left.behind {
        if let Some(open) = state.task_mut(*first).reopened.as_deref_mut() {
            open.ahead_of.retain(|second| *second != id);
        }
    }
    for second in &left.ahead_of {
        if let Some(open) = state.task_mut(*second).reopened.as_deref_mut() {
            open.behind.retain(|first| *first != id);
        }
        for first in &left.behind {
            go_behind(state, *first, *second);
        }
    }
    met(state, Prerequisite::Regressed(id));
}

/// The judges' word about a model's work: rejections in a row are counted, a pass ends the row. A person's word is not a
/// judge's.
fn count_rejection(state: &mut State, report: &StageReport) {
    if report.stage != Stage::Judge || report.by.is_some() {
        return;
    }
    match (report.verdict, report.cause) {
        (Verdict::Fail, _) => {
            let key = (Box::from(state.worker_model(report.task)), state.plan.task(report.task).wave);
            *state.rejections.entry(key).or_default() += 1;
        }
        // What reviewers let pass is put before a person.
        (Verdict::Refer, Some(Cause::Person)) if report.points.is_some() => forgive(state, report.task),
        (Verdict::Pass, _) => forgive(state, report.task),
        _ => {}
    }
}

fn forgive(state: &mut State, task: TaskId) {
    if !state.rejections.is_empty() {
        let key = (Box::from(state.worker_model(task)), state.plan.task(task).wave);
        state.rejections.remove(&key);
    }
}

/// Applies a task's event, and what hangs on it: sums, and the timers of its hold, once that is gone or its approvers are
/// asked.
fn change_task(state: &mut State, id: TaskId, event: &Event) {
    let waits = |task: &TaskState| task.hold().map(|waiting| waiting.number);
    let reopened = state.task(id).reopened.clone();
    let (waited, now_waits) = state.alter(id, |task| {
        let waited = waits(task);
        task.apply(event);
        (waited, waits(task))
    });
    if let Some(number) = waited.filter(|_| waited != now_waits) {
        state.timers.cancel(Timer::Expiry { of: id.into(), number });
        state.timers.cancel(Timer::AskAgain { task: id, number });
    }
    if let Event::Work(_, WorkEvent::Requested(Job::Approver { number, .. }))
    | Event::Ask(_, AskEvent::Requested { purpose: Purpose::Approve { number, .. }, .. }) = event
    {
        let number = *number;
        state.timers.cancel(Timer::AskAgain { task: id, number });
    }
    if let Some(open) = reopened.filter(|_| state.task(id).reopened.is_none()) {
        leave_order(state, id, &open);
    }
}

/// A task begins to wait for a moment, or has waited for it.
fn defer(state: &mut State, id: TaskId, event: &Event) {
    state.timers.cancel(Timer::WaitOver);
    change_task(state, id, event);
    follow_asks(state, id);
    look(state, id);
}

/// The calls that a task waits for, and the timer of the moment that it waits for, if it waits for one.
pub fn follow_asks(state: &mut State, id: TaskId) {
    drop_what_nobody_waits_for(state, id);
    let deferral = state.task(id).deferral.as_deref();
    let moment = deferral.filter(|deferral| deferral.why != DeferralReason::Slot);
    match moment.map(|deferral| deferral.until) {
        Some(until) => state.timers.set(Timer::Deferral(id), until),
        None => state.timers.cancel(Timer::Deferral(id)),
    }
}

fn leave_barrier(state: &mut State, barrier: BarrierId, stage: BarrierStage) {
    let found = &mut state.barriers[barrier.index()];
    let (of, number) = (barrier.into(), found.number);
    found.stage = stage;
    state.follow_barrier(barrier);
    state.timers.cancel(Timer::Expiry { of, number });
    state.timers.cancel(Timer::WaitOver);
    // What it holds looks whether it still does.
    met(state, Prerequisite::Barrier(barrier));
}

fn transition(state: &mut State, id: TaskId, event: &Event) {
    // The next wait, if there is one, is another one.
    state.timers.cancel(Timer::WaitOver);
    let stood = state.stands(id);
    let mended = state.fixup_of(id).map(|source| (source, state.stands(source)));
    let from = state.task(id).status();
    let replaced = state.task(id).acceptance().cloned();
    change_task(state, id, event);
    follow_asks(state, id);
    state.audit.replaced.extend(replaced.map(|acceptance| (id, acceptance)));
    let to = state.task(id).status();
    if to == Status::Done {
        state.audit.replaced.remove(&id);
    }
    // A failure that is withdrawn, because a verification sends back what it was built on, holds nothing up.
    state.session.failed_fast &= state.sums.counts.failed > 0;
    // What waited for a slot in its review waits for it no more.
    state.is_not_ready(id);
    if from == Status::Pending {
        nothing_is_due(state, id);
    }
    if from.is_terminal() && !to.is_terminal() {
        state.called_off = false;
        // It begins anew: what it did without, it needs again.
        state.alter(id, |task| task.remedies = None);
        not_taken::undecided(state, id);
        no_longer_terminal(state, id, stood);
        if let Some((source, stood)) = mended {
            supersede(state, source, false);
            no_longer_terminal(state, source, stood);
        }
    }
    if to == Status::Pending {
        refused_barriers_are_due(state, id);
        // What it was started on may have failed since, where that did not stand.
        if state.takes(id) {
            failed_dependencies_are_due(state, id);
        }
        look(state, id);
        // Its verification may have led elsewhere while it was not pending.
        not_taken::returned(state, id);
    }
    if to.is_terminal() && !from.is_terminal() {
        settle(state, id);
        if let Some((source, _)) = mended {
            settle(state, source);
        }
    }
}
