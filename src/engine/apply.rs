//! Applying events: the only way state changes, live and in recovery.
//!
//! Applying never judges and never fails: an event that stands in the journal has happened.

use crate::domain::{
    AgentId, AttemptKind, Cause, ConsultId, HoldId, Phase, Purpose, QualityFlag, Stage, Status, TaskId,
    Timestamp, Verdict, WaitingReason,
};

use crate::mission::Part;

use super::deadline;
use super::derive::change_plan;
use super::event::Event;
use super::fixups::{no_longer_superseded, supersede};
use super::growth;
use super::ledger;
use super::payload::{SeatResult, StageReport, ToolCalls, TurnFiles, Way};
use super::remedies::{all_have_ended, forget_remedies, is_tried_again};
use super::state::{
    APPROVED, Answer, Calls, Consult, Evidence, Feedback, Grading, HoldStage, Judging, Noted, Nudged,
    OutputRefs, RunPhase, Seat, SeatState, State, TaskState, Turn, Waiting,
};
use super::timers::Timer;

/// How many rounds of feedback a task carries along; older ones are in the journal.
const FEEDBACK_KEPT: usize = 8;

/// Changes the state by one event. Costs O(degree of the task).
pub fn apply(state: &mut State, event: &Event) {
    change(state, event);
    deadline::follow(state, event);
}

fn change(state: &mut State, event: &Event) {
    ledger::follow(state, event);
    if state.notices.apply(event) {
        // The session ends: it waits for nobody any more.
        state.timers.cancel(Timer::WaitOver);
    }
    match event {
        Event::RunStarted(started) => {
            state.options = started.options.clone();
            state.phase = RunPhase::Running;
            for id in state.plan.every_task_id() {
                make_ready_if_unblocked(state, id);
            }
        }
        Event::RunResumed { options, .. } => {
            state.options = (**options).clone();
            state.phase = RunPhase::Running;
            state.stop = None;
            state.paused = false;
            state.timers.cancel(Timer::WaitOver);
            state.failed_fast = false;
            state.threshold_failed = None;
        }
        Event::Stopping { cause } => {
            state.phase = RunPhase::Stopping;
            state.stop = Some(*cause);
            state.timers.cancel(Timer::WaitOver);
        }
        Event::RunFinished { .. } => {
            state.phase = RunPhase::Finished;
            state.timers.cancel(Timer::WaitOver);
        }
        Event::GateEvaluated { gate, result } => {
            let gate_state = &mut state.gates[gate.index()];
            gate_state.result = Some(result.clone());
            state.gates_due.remove(gate);
            if result.passed {
                open_gate(state, *gate);
            } else if state.plan.gate(*gate).halt_on_fail {
                state.halted = true;
            }
        }
        Event::GateOverridden { gate, .. } => {
            let was_open = state.gates[gate.index()].is_open();
            state.gates[gate.index()].overridden = true;
            if !was_open {
                open_gate(state, *gate);
            }
            state.halted = is_halted(state);
        }
        Event::HoldReached { hold, number, until } => {
            let held = &mut state.holds[hold.index()];
            (held.number, held.stage) = (*number, HoldStage::Reached);
            state.holds_due.remove(hold);
            state.holds_reached.insert(*hold);
            if let Some(until) = until {
                state.timers.set(Timer::Delay(*hold), *until);
            }
        }
        Event::HoldPassed { hold, .. } => {
            leave_hold(state, *hold, HoldStage::Passed);
            let plan = state.plan.clone();
            for blocked in &plan.hold(*hold).blocks {
                unblock(state, *blocked);
            }
        }
        Event::HoldRejected { hold, .. } => leave_hold(state, *hold, HoldStage::Rejected),
        Event::MissionChanged(change) => change_plan(state, change),
        Event::TasksAdded(addition) => growth::add(state, addition),
        Event::TasksWithdrawn { tasks } => growth::withdraw(state, tasks),
        Event::Superseded { task, .. } => supersede(state, *task),
        Event::Paused { .. } => {
            state.paused = true;
            state.timers.cancel(Timer::WaitOver);
        }
        Event::Waiting { until } => state.timers.set(Timer::WaitOver, *until),
        Event::CommandTaken { id, result, .. } => {
            state.commands.insert(id.clone(), *result);
        }
        Event::ThresholdFailed { points, .. } => state.threshold_failed = Some(*points),
        // The transition beside it takes the task out of the queue.
        Event::DependencyFailed { .. } => {}
        Event::DeadlockDetected { task, dependency } | Event::ArtifactsRequested { task, dependency } => {
            state.cascades_due.remove(&(*task, *dependency));
            change_task(state, *task, event);
            if matches!(event, Event::DeadlockDetected { .. }) {
                all_have_ended(state, *task);
            }
        }
        Event::ArtifactsScanned { task, .. } => change_task(state, *task, event),
        Event::DependencyResolved {
            task,
            dependency,
            way,
            ..
        } => {
            state.cascades_due.remove(&(*task, *dependency));
            let does_without = state.task(*task).does_without(*dependency);
            change_task(state, *task, event);
            if *way != Way::Retry && !does_without {
                unblock(state, *task);
            }
        }
        // Whatever the last session ended with: the records behind the cut may have changed it. A session must say anew.
        Event::Salvaged { .. } => {
            state.phase = RunPhase::Running;
            state.timers.cancel(Timer::WaitOver);
        }
        Event::Notice(_)
        | Event::Deadline(_)
        | Event::LimitReached { .. }
        | Event::CallHeld { .. }
        | Event::CallReleased { .. }
        | Event::BudgetClock { .. }
        | Event::Warning { .. } => {}
        Event::Transition { task, .. } => transition(state, *task, event),
        Event::AttemptPlanned {
            task,
            kind: AttemptKind::Execute,
            ..
        } => {
            // A person wants it done and judged anew.
            forgive(state, *task);
            change_task(state, *task, event);
        }
        Event::AttemptPlanned { task, .. }
        | Event::ScanRequested { task }
        | Event::FilesScanned { task, .. }
        | Event::FinishRequested { task, .. }
        | Event::FinishChecked { task, .. }
        | Event::Nudged { task, .. }
        | Event::CheckRequested { task, .. }
        | Event::CheckFinished { task, .. }
        | Event::GradingRequested { task, .. }
        | Event::GradingFailed { task, .. }
        | Event::SeatRequested { task, .. }
        | Event::SeatReplied { task, .. }
        | Event::SeatFailed { task, .. }
        | Event::EvalUnparsed { task }
        | Event::ForceAccepted { task, .. }
        | Event::DelegationRequested { task, .. }
        | Event::DelegationRefused { task, .. }
        | Event::ApprovalRequested { task, .. }
        | Event::ApproverAsked { task, .. }
        | Event::ApproverUndecided { task, .. }
        | Event::ApprovalTimedOut { task, .. }
        | Event::RetryBlocked { task, .. }
        | Event::ApprovalResolved { task, .. }
        | Event::Question { task, .. }
        | Event::Answered { task, .. } => change_task(state, *task, event),
        Event::StageVerdict(report) => {
            count_rejection(state, report);
            change_task(state, report.task, event);
        }
        Event::ConsultRequested {
            id,
            purpose: Purpose::Resolve { dependency },
            ..
        } => {
            state.cascades_due.remove(&(id.task, *dependency));
            change_task(state, id.task, event);
        }
        Event::ConsultRequested { id, .. } => change_task(state, id.task, event),
        Event::ConsultReplied { id, .. } | Event::ConsultFailed { id, .. } => {
            change_task(state, id.task, event);
        }
        Event::FilesNoted { turn, .. } => {
            let starts = state.turns_started;
            change_task(state, turn.task, event);
            if let Some(noted) = &mut state.tasks[turn.task.index()].evidence.noted {
                noted.starts = starts;
            }
        }
        Event::TurnStarted { turn, .. } => {
            state.turns_started += 1;
            change_task(state, turn.task, event);
        }
        Event::AgentSpawned { turn, .. }
        | Event::AgentActivity { turn, .. }
        | Event::AgentStale { turn, .. }
        | Event::TurnRequestFailed { turn, .. }
        | Event::TurnFinished { turn, .. }
        | Event::TurnLost { turn }
        | Event::TurnAdopted { turn } => change_task(state, turn.task, event),
    }
}

/// The judges' word about a model's work: rejections in a row are counted, a pass ends the row. A person's word is not a
/// judge's.
fn count_rejection(state: &mut State, report: &StageReport) {
    if report.stage != Stage::Judge || report.by.is_some() {
        return;
    }
    match (report.verdict, report.cause) {
        (Verdict::Fail, _) => {
            let key = (
                Box::from(state.worker_model(report.task)),
                state.plan.task(report.task).wave,
            );
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

/// Applies a task's event and keeps the sums that hang on it.
fn change_task(state: &mut State, id: TaskId, event: &Event) {
    let task = &mut state.tasks[id.index()];
    let asks = |task: &TaskState| {
        task.waiting
            .as_ref()
            .is_some_and(|waiting| waiting.asking.is_some())
    };
    let waits = |task: &TaskState| task.waiting.as_ref().map(|waiting| waiting.number);
    let sums = |task: &TaskState| {
        let looked_at = task.is_looked_at();
        (
            task.indeterminate,
            task.attempt > 1,
            task.running.is_some(),
            looked_at,
        )
    };
    let (before, asked, waited) = (sums(task), asks(task), waits(task));
    let calls_before = task.calls();
    task.apply(event);
    state.calls_open = (state.calls_open + task.calls()).saturating_sub(calls_before);
    let (after, now_asked, now_waits) = (sums(task), asks(task), waits(task));
    adjust(&mut state.approvers_asked, asked, now_asked);
    if let Some(number) = waited.filter(|_| waited != now_waits) {
        state.timers.cancel(Timer::Approval { task: id, number });
        state.timers.cancel(Timer::AskAgain { task: id, number });
    }
    follow_approval(state, id, event);
    adjust(&mut state.counts.indeterminate, before.0, after.0);
    adjust(&mut state.counts.reworked, before.1, after.1);
    adjust(&mut state.turns_running, before.2, after.2);
    adjust(&mut state.looked_at, before.3, after.3);
}

/// The timers of an approval.
fn follow_approval(state: &mut State, task: TaskId, event: &Event) {
    match event {
        Event::ApprovalRequested {
            number,
            expires: Some(at),
            ..
        } => state.timers.set(
            Timer::Approval {
                task,
                number: *number,
            },
            *at,
        ),
        Event::ApprovalTimedOut { number, .. } => {
            state.timers.cancel(Timer::Approval {
                task,
                number: *number,
            });
        }
        Event::ApproverAsked { number, .. } => {
            state.timers.cancel(Timer::AskAgain {
                task,
                number: *number,
            });
        }
        Event::ApproverUndecided {
            number,
            again: Some(at),
            ..
        } => state.timers.set(
            Timer::AskAgain {
                task,
                number: *number,
            },
            *at,
        ),
        _ => {}
    }
}

fn leave_hold(state: &mut State, hold: HoldId, stage: HoldStage) {
    state.holds[hold.index()].stage = stage;
    state.holds_reached.remove(&hold);
    state.holds_due.remove(&hold);
    state.timers.cancel(Timer::Delay(hold));
    state.timers.cancel(Timer::WaitOver);
}

fn adjust(count: &mut u32, before: bool, after: bool) {
    *count = (*count + u32::from(after)).saturating_sub(u32::from(before));
}

fn transition(state: &mut State, id: TaskId, event: &Event) {
    // The next wait, if there is one, is another one.
    state.timers.cancel(Timer::WaitOver);
    let plan = state.plan.clone();
    let task_plan = plan.task(id);
    let stood = Standing::of(state, id);
    let mends = state
        .mends(id)
        .map(|source| (source, Standing::of(state, source)));
    no_longer_superseded(state, id);
    let task = &mut state.tasks[id.index()];
    let (from, held, flag) = (task.status, task.holds_slot(), task.flag);
    change_task(state, id, event);
    ledger::drop_what_nobody_waits_for(state, id);
    let task = &state.tasks[id.index()];
    let (to, holds) = (task.status, task.holds_slot());

    let counts = &mut state.counts;
    for (status, count) in [
        (Status::Done, &mut counts.done),
        (Status::Failed, &mut counts.failed),
        (Status::AwaitingApproval, &mut counts.awaiting),
    ] {
        adjust(count, from == status, to == status);
    }
    adjust(&mut counts.running, held, holds);
    if let Some(flag) = flag {
        adjust(counts.of_flag(flag), true, false);
    }
    if let Some(flag) = task.flag {
        adjust(counts.of_flag(flag), false, true);
    }

    if held != holds {
        adjust(&mut state.slots, held, holds);
        if holds {
            state.ready.occupy(task_plan.agent);
        } else {
            state.ready.release(task_plan.agent);
        }
        if task_plan.exclusive {
            adjust(&mut state.exclusive, held, holds);
        }
    }
    if from == Status::Pending {
        state.ready.remove(id, task_plan.agent, task_plan.priority);
        state.approvals_due.remove(&id);
        while let Some(due) = state
            .cascades_due
            .range((id, TaskId(0))..=(id, TaskId(u32::MAX)))
            .next()
            .copied()
        {
            state.cascades_due.remove(&due);
        }
    }
    if from.is_terminal() && !to.is_terminal() {
        begins_anew(state, id);
        withdraw_result(state, id, stood);
        if let Some((source, stood)) = mends {
            no_longer_superseded(state, source);
            withdraw_result(state, source, stood);
        }
    }
    if to == Status::Pending {
        make_ready_if_unblocked(state, id);
    }
    if to.is_terminal() && !from.is_terminal() {
        settle(state, id);
        if let Some((source, _)) = mends {
            settle(state, source);
        }
    }
}

/// How far a task had come for those who wait for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// Nobody goes on yet.
    Open,
    /// They have what they need.
    Met,
    /// They know that they will not get it.
    Failed,
}

impl Standing {
    fn of(state: &State, id: TaskId) -> Self {
        if !state.is_settled(id) {
            Self::Open
        } else if state.is_met(id) {
            Self::Met
        } else {
            Self::Failed
        }
    }
}

/// The task has come to an end; where that is one for others too, they go on.
fn settle(state: &mut State, id: TaskId) {
    let stands = Standing::of(state, id);
    if stands == Standing::Open {
        return;
    }
    state.failed_fast |= stands == Standing::Failed && state.options.fail_fast;
    let to = if stands == Standing::Met {
        Status::Done
    } else {
        Status::Failed
    };
    became_terminal(state, id, to);
}

/// What others built on is not there any more, if they had built on it.
fn withdraw_result(state: &mut State, id: TaskId, stood: Standing) {
    match stood {
        Standing::Open => {}
        Standing::Met => no_longer_terminal(state, id, Status::Done),
        Standing::Failed => no_longer_terminal(state, id, Status::Failed),
    }
}

fn became_terminal(state: &mut State, id: TaskId, to: Status) {
    let plan = state.plan.clone();
    for dependent in plan.dependents.of(id.index()) {
        let does_without = state.task(*dependent).does_without(id);
        if to == Status::Done && !does_without {
            unblock(state, *dependent);
        } else if to == Status::Failed
            && !does_without
            && state.task(*dependent).status == Status::Pending
            && plan.task(*dependent).part == Part::Selected
        {
            state.cascades_due.insert((*dependent, id));
        }
        all_have_ended(state, *dependent);
    }
    for gate in plan.gates_after.of(id.index()) {
        let gate_state = &mut state.gates[gate.index()];
        gate_state.open = gate_state.open.saturating_sub(1);
        if gate_state.open == 0 && gate_state.result.is_none() {
            state.gates_due.insert(*gate);
        }
    }
    for hold in plan.holds_after.of(id.index()) {
        let held = &mut state.holds[hold.index()];
        held.open = held.open.saturating_sub(1);
        if held.open == 0 && held.stage == HoldStage::Ahead {
            state.holds_due.insert(*hold);
        }
    }
}

/// The task's result is withdrawn: its dependents are held again, and the gates over it are closed until they are
/// evaluated anew.
fn no_longer_terminal(state: &mut State, id: TaskId, from: Status) {
    let plan = state.plan.clone();
    for dependent in plan.dependents.of(id.index()) {
        is_tried_again(state, *dependent, id, from);
    }
    for gate in plan.gates_after.of(id.index()) {
        let gate_state = &mut state.gates[gate.index()];
        let was_open = gate_state.is_open();
        gate_state.open += 1;
        gate_state.result = None;
        gate_state.overridden = false;
        state.gates_due.remove(gate);
        if was_open {
            for blocked in &plan.gate(*gate).blocks {
                block(state, *blocked);
            }
        }
    }
    for hold in plan.holds_after.of(id.index()) {
        let was_passed = state.hold(*hold).stage == HoldStage::Passed;
        leave_hold(state, *hold, HoldStage::Ahead);
        state.holds[hold.index()].open += 1;
        if was_passed {
            for blocked in &plan.hold(*hold).blocks {
                block(state, *blocked);
            }
        }
    }
    state.halted = is_halted(state);
}

/// The task itself starts from the beginning.
fn begins_anew(state: &mut State, id: TaskId) {
    let plan = state.plan.clone();
    forget_remedies(state, id);
    // What a person refused is asked again, if it is to be done after all.
    for hold in plan.holds_before.of(id.index()) {
        if state.hold(*hold).stage == HoldStage::Rejected {
            state.holds[hold.index()].stage = HoldStage::Ahead;
            if state.hold(*hold).open == 0 {
                state.holds_due.insert(*hold);
            }
        }
    }
    // A dependency that stays failed holds it as it held it before.
    for dependency in plan.dependencies.of(id.index()) {
        if state.has_failed_for_good(*dependency) {
            state.cascades_due.insert((id, *dependency));
        }
    }
}

fn is_halted(state: &State) -> bool {
    let mut gates = state.gates.iter().zip(state.plan.gates.iter());
    gates.any(|(gate_state, gate)| gate_state.has_failed() && gate.halt_on_fail)
}

fn open_gate(state: &mut State, gate: crate::domain::GateId) {
    let plan = state.plan.clone();
    for blocked in &plan.gate(gate).blocks {
        unblock(state, *blocked);
    }
}

pub(super) fn block(state: &mut State, id: TaskId) {
    let task = &mut state.tasks[id.index()];
    task.blockers += 1;
    if task.status == Status::Pending {
        let plan = state.plan.task(id);
        state.ready.remove(id, plan.agent, plan.priority);
        state.approvals_due.remove(&id);
    }
}

pub(super) fn unblock(state: &mut State, id: TaskId) {
    let task = &mut state.tasks[id.index()];
    task.blockers = task.blockers.saturating_sub(1);
    make_ready_if_unblocked(state, id);
}

pub(super) fn make_ready_if_unblocked(state: &mut State, id: TaskId) {
    let task = &state.tasks[id.index()];
    let plan = state.plan.task(id);
    if task.status == Status::Pending && task.blockers == 0 && plan.part == Part::Selected {
        if super::decide::needs_agreement(plan, task) {
            state.approvals_due.insert(id);
        } else {
            state.ready.insert(id, plan.agent, plan.priority);
        }
    }
}

impl TaskState {
    /// Changes one task by one of its events. What other tasks feel of it is [`apply`]'s business.
    pub(super) fn apply(&mut self, event: &Event) {
        match event {
            Event::Transition {
                to,
                phase,
                mode,
                flag,
                ..
            } => self.enter(*to, *phase, *mode, *flag),
            Event::AttemptPlanned { attempt, kind, .. } => self.plan_attempt(*attempt, *kind),
            Event::TurnStarted { turn, .. } => {
                self.turn = turn.turn;
                self.acted = true;
                self.allowed_again = false;
                self.running = Some(Turn {
                    failed_requests: 0,
                    not_before: None,
                });
            }
            Event::FilesNoted { turn, file, shared } => {
                self.evidence.noted = Some(Box::new(Noted {
                    turn: *turn,
                    file: file.clone(),
                    starts: 0,
                    shared: *shared,
                }));
            }
            Event::TurnRequestFailed { not_before, .. } => {
                if let Some(running) = &mut self.running {
                    running.failed_requests += 1;
                    running.not_before = Some(*not_before);
                }
            }
            Event::TurnFinished {
                output,
                result,
                files,
                tool_calls,
                asked,
                model,
                ..
            } => {
                self.running = None;
                self.model = model.as_deref().map(Box::from);
                if asked.is_some() || self.dialog.is_some() {
                    self.dialog.get_or_insert_default().said.clone_from(asked);
                }
                self.evidence.take_turn(files.as_ref(), *tool_calls);
                self.output = OutputRefs {
                    stdout: output.clone(),
                    result: result.clone(),
                };
            }
            Event::TurnLost { .. } => {
                self.running = None;
                self.evidence.calls = self.evidence.calls.and(None);
            }
            Event::ScanRequested { .. } => self.judging_mut().scanning = true,
            Event::FilesScanned { files, hollow, .. } => {
                let judging = self.judging_mut();
                judging.scanning = false;
                judging.files.clone_from(files);
                judging.hollow.clone_from(hollow);
            }
            Event::FinishRequested { .. } => self.judging_mut().finish.push(None),
            Event::FinishChecked { result, .. } => {
                if let Some(slot) = self.judging_mut().finish.last_mut() {
                    *slot = Some(result.clone());
                }
            }
            Event::Nudged {
                compilation,
                others,
                missing,
                ..
            } => {
                self.nudged.compilation += u32::from(*compilation);
                self.nudged.others += u32::from(*others);
                self.missing.clone_from(missing);
            }
            Event::CheckRequested { check, .. } => {
                let checks = &mut self.judging_mut().checks;
                if checks.len() <= *check as usize {
                    checks.resize(*check as usize + 1, None);
                }
            }
            Event::CheckFinished { check, result, .. } => {
                if let Some(slot) = self.judging_mut().checks.get_mut(*check as usize) {
                    *slot = Some(result.clone());
                }
            }
            Event::GradingRequested {
                round, unreviewed, ..
            } => {
                self.judging_mut().grading = Some(Grading {
                    round: *round,
                    open: true,
                    unreviewed: *unreviewed,
                });
            }
            Event::GradingFailed { .. } => self.end_grading(),
            Event::SeatRequested { seat, .. } => {
                self.rounds = self.rounds.max(seat.round);
                self.judging_mut().apply_seat(event);
            }
            Event::SeatReplied { .. } | Event::SeatFailed { .. } => self.judging_mut().apply_seat(event),
            Event::StageVerdict(report) => self.take_verdict(report),
            Event::ApprovalRequested {
                number,
                reason,
                cause,
                stage,
                gate,
                expires,
                ..
            } => {
                self.asked = *number;
                self.waiting = Some(Waiting {
                    reason: *reason,
                    cause: *cause,
                    stage: stage.unwrap_or(Stage::Judge),
                    number: *number,
                    gate: gate.as_deref().map(Box::from),
                    expires: *expires,
                    asking: None,
                    undecided: 0,
                });
            }
            Event::ApproverAsked { approver, .. } => {
                if let Some(waiting) = &mut self.waiting {
                    waiting.asking = Some(*approver);
                }
            }
            Event::ApproverUndecided { approver, again, .. } => {
                if let Some(waiting) = &mut self.waiting {
                    waiting.asking = None;
                    waiting.undecided = approver + 1;
                    if again.is_some() {
                        waiting.undecided = 0;
                    }
                }
            }
            Event::ApprovalResolved {
                number, resolution, ..
            } => self.resolve(*number, resolution == APPROVED),
            Event::DeadlockDetected { .. }
            | Event::ArtifactsRequested { .. }
            | Event::ArtifactsScanned { .. }
            | Event::DependencyResolved { .. } => self.remedies.get_or_insert_default().apply(event),
            Event::Question { .. } => {
                self.phase = Some(Phase::Clarification);
                self.dialog.get_or_insert_default().apply(event);
            }
            Event::Answered { .. } => {
                self.dialog.get_or_insert_default().apply(event);
                if self.status == Status::InProgress {
                    self.phase = Some(self.kind.phase());
                }
            }
            Event::ConsultRequested {
                id,
                purpose,
                agent,
                not_before,
            } => self.consult(*id, *purpose, *agent, *not_before),
            Event::ConsultReplied { id, .. }
            | Event::ConsultFailed {
                id, gave_up: true, ..
            } => {
                let ended = self.consults.iter().find(|open| open.id == *id);
                if let Some(Purpose::Resolve { dependency }) = ended.map(|ended| ended.purpose)
                    && let Some(remedies) = self.remedies.as_deref_mut()
                    && let Some(entry) = remedies.entry_mut(dependency)
                {
                    // Where it knew a way, the entry goes with the next event.
                    entry.unresolvable = true;
                }
                self.consults.retain(|open| open.id != *id);
            }
            // The next try stands behind it in the same record.
            Event::ConsultFailed { id, .. } => {
                if let Some(open) = self.consults.iter_mut().find(|open| open.id == *id) {
                    open.failed_requests += 1;
                }
            }
            Event::DelegationRequested { sub_tasks, .. } => {
                for sub_task in sub_tasks {
                    self.delegations.retain(|earlier| earlier.title != sub_task.title);
                    self.delegations.push(sub_task.clone());
                }
            }
            // Whatever becomes of the work now, the score of earlier work is not its score.
            Event::EvalUnparsed { .. } => self.points = None,
            // What these say is in the transition beside them, or matters to readers only.
            Event::AgentSpawned { .. }
            | Event::AgentActivity { .. }
            | Event::AgentStale { .. }
            | Event::TurnAdopted { .. }
            | Event::ApprovalTimedOut { .. }
            | Event::RetryBlocked { .. }
            | Event::ForceAccepted { .. }
            | Event::DelegationRefused { .. }
            | Event::DependencyFailed { .. } => {}
            Event::RunStarted(_)
            | Event::RunResumed { .. }
            | Event::Stopping { .. }
            | Event::RunFinished { .. }
            | Event::GateEvaluated { .. }
            | Event::GateOverridden { .. }
            | Event::ThresholdFailed { .. }
            | Event::HoldReached { .. }
            | Event::HoldPassed { .. }
            | Event::HoldRejected { .. }
            | Event::MissionChanged(_)
            | Event::TasksAdded(_)
            | Event::TasksWithdrawn { .. }
            | Event::Superseded { .. }
            | Event::Paused { .. }
            | Event::Waiting { .. }
            | Event::CommandTaken { .. }
            | Event::Salvaged { .. }
            | Event::Deadline(_)
            | Event::LimitReached { .. }
            | Event::CallHeld { .. }
            | Event::CallReleased { .. }
            | Event::BudgetClock { .. }
            | Event::Notice(_)
            | Event::Warning { .. } => {}
        }
    }

    /// What was asked is answered.
    fn resolve(&mut self, number: u32, approved: bool) {
        self.answers.push(Answer { number, approved });
        let Some(waiting) = self.waiting.take().filter(|_| approved) else {
            return;
        };
        match waiting.reason {
            WaitingReason::Approval => self.agreed.push(waiting.gate),
            WaitingReason::SideEffects => self.allowed_again = true,
            _ => {}
        }
    }
    /// A consult, or another try of one.
    fn consult(&mut self, id: ConsultId, purpose: Purpose, agent: AgentId, not_before: Option<Timestamp>) {
        self.consulted = self.consulted.max(id.number);
        if matches!(purpose, Purpose::Resolve { .. }) && id.attempt_try == 1 {
            self.remedies.get_or_insert_default().resolutions += 1;
        }
        let open = self.consults.iter_mut().find(|open| open.id.number == id.number);
        match open {
            Some(open) => (open.id, open.not_before) = (id, not_before),
            None => self.consults.push(Consult {
                id,
                purpose,
                agent,
                failed_requests: 0,
                not_before,
            }),
        }
    }

    fn end_grading(&mut self) {
        if let Some(grading) = self
            .judging
            .as_deref_mut()
            .and_then(|judging| judging.grading.as_mut())
        {
            grading.open = false;
        }
    }

    fn judging_mut(&mut self) -> &mut Judging {
        self.judging.get_or_insert_default()
    }

    fn enter(
        &mut self,
        to: Status,
        phase: Option<Phase>,
        mode: Option<crate::domain::FailureMode>,
        flag: Option<QualityFlag>,
    ) {
        // A result that is withdrawn, and a request that nobody answered, take earlier agreement along.
        let withdrawn = self.waiting.is_some() && to == Status::Pending;
        if self.status.is_terminal() || withdrawn {
            self.agreed = Vec::new();
            self.allowed_again = false;
        }
        self.status = to;
        self.phase = phase;
        self.mode = mode;
        self.flag = flag;
        if to == Status::Assigned && self.attempt == 0 {
            self.plan_attempt(1, AttemptKind::Execute);
        }
        if to != Status::Review {
            self.judging = None;
        }
        if to != Status::AwaitingApproval {
            self.waiting = None;
            self.panel = None;
        }
        if to.is_terminal() {
            self.running = None;
            self.delegations.clear();
        }
        self.consults.clear();
        if let Some(remedies) = &mut self.remedies {
            remedies.failed.clear();
            remedies.scanning.clear();
        }
        if !matches!(to, Status::InProgress | Status::AwaitingApproval)
            && let Some(dialog) = &mut self.dialog
        {
            dialog.open = None;
        }
    }

    /// Begins an attempt and counts it against the allowances (section 4).
    pub(super) fn plan_attempt(&mut self, attempt: u32, kind: AttemptKind) {
        self.attempt = attempt;
        self.kind = kind;
        self.turn = 0;
        self.rounds = 0;
        self.tries += 1;
        self.indeterminate = false;
        // The score of earlier work is not the score of what is coming, however that is judged.
        self.points = None;
        self.evidence.calls = Calls::default();
        // A fix corrects what was found and keeps what was good; every other attempt asks anew.
        if kind != AttemptKind::Fix {
            self.delegations.clear();
        }
        self.nudged = Nudged::default();
        self.missing = Vec::new();
        self.unverified = false;
        self.relaxed = false;
        match kind {
            // The first one, or the first by a person's word: full allowances, and nothing left of an old result.
            AttemptKind::Execute => {
                if attempt > 1 {
                    self.agreed = Vec::new();
                }
                self.tries = 1;
                self.fixes = 0;
                self.retries = 0;
                self.signature = None;
                if let Some(dialog) = &mut self.dialog {
                    dialog.rounds = 0;
                }
                self.evidence = Evidence::default();
            }
            AttemptKind::Fix => self.fixes += 1,
            AttemptKind::Retry => {
                self.retries += 1;
                self.fixes = 0;
            }
        }
    }

    fn take_verdict(&mut self, report: &StageReport) {
        if report.stage == Stage::Verification {
            self.end_grading();
        }
        match report.verdict {
            Verdict::Pass if report.stage == Stage::Judge => {
                self.points = report.points;
                self.judging_mut().scored = report.points.is_some();
                self.relaxed = report.relaxed;
                self.indeterminate = false;
            }
            // What judges scored stays the score. Without any, the criteria that were met are.
            Verdict::Pass if report.stage == Stage::Verification => {
                self.relaxed |= report.relaxed;
                let scored = self.judging.as_deref().is_some_and(|judging| judging.scored);
                if !scored && report.by.is_none() {
                    self.points = report.points;
                }
                self.indeterminate = false;
            }
            Verdict::Fail => {
                self.points = report.points;
                self.indeterminate = report.cause == Some(Cause::Unparsed);
                self.signature = super::decide::signature(report, self.judging.as_deref());
                if self.feedback.len() == FEEDBACK_KEPT {
                    self.feedback.remove(0);
                }
                self.feedback.push(Feedback {
                    attempt: report.attempt,
                    stage: report.stage,
                    cause: report.cause,
                    points: report.points,
                    dimensions: report.dimensions.clone(),
                    findings: report.findings.clone(),
                });
            }
            Verdict::Refer => {
                self.indeterminate = matches!(report.cause, Some(Cause::GateError | Cause::NoReviewer));
                let asks_about_score = matches!(report.cause, Some(Cause::Person | Cause::Confidence));
                if report.stage == Stage::Judge && asks_about_score {
                    self.points = report.points;
                    self.panel = report.points.map(|_| Box::new(report.clone()));
                }
            }
            // Nobody saw what should have been shown.
            Verdict::Skip if matches!(report.cause, Some(Cause::Unmet | Cause::Breaker)) => {
                self.unverified = true;
                self.indeterminate |= report.indeterminate;
            }
            Verdict::Pass if report.stage == Stage::Finish => self.unverified = false,
            Verdict::Pass | Verdict::Skip | Verdict::Fault => {}
        }
    }
}

impl Evidence {
    /// A turn ended. What it did is on record, and the next one is looked at anew.
    fn take_turn(&mut self, files: Option<&TurnFiles>, calls: Option<ToolCalls>) {
        let was_watched = self.noted.take().is_some();
        self.calls = self.calls.and(calls);
        if !was_watched {
            return;
        }
        let shared = files.is_some_and(|files| files.shared);
        self.changed = self.changed.and(files.and_then(|files| files.changed), shared);
        self.written = self.written.and(files.and_then(|files| files.written), shared);
    }
}

impl Judging {
    fn apply_seat(&mut self, event: &Event) {
        match event {
            Event::SeatRequested {
                seat,
                agent,
                strict,
                not_before,
                ..
            } => {
                if self.round != seat.round {
                    self.round = seat.round;
                    self.rounds += 1;
                    self.seats.clear();
                }
                let asked = |failed_requests| Seat {
                    agent: *agent,
                    tries: seat.attempt_try,
                    failed_requests,
                    strict: strict.clone(),
                    not_before: *not_before,
                    state: SeatState::Asked,
                };
                match self.seats.get_mut(seat.seat as usize) {
                    Some(existing) => *existing = asked(existing.failed_requests),
                    None => self.seats.push(asked(0)),
                }
            }
            Event::SeatReplied { seat, result, .. } => {
                if let Some(existing) = self.seats.get_mut(seat.seat as usize) {
                    existing.state = match result {
                        SeatResult::Unparsed { .. } => SeatState::Unparsed(result.clone()),
                        SeatResult::Scores { .. } | SeatResult::Evaluation { .. } => {
                            SeatState::Replied(result.clone())
                        }
                    };
                }
            }
            Event::SeatFailed { seat, class, .. } => {
                if let Some(existing) = self.seats.get_mut(seat.seat as usize) {
                    existing.failed_requests += 1;
                    existing.state = SeatState::Failed(*class);
                }
            }
            _ => {}
        }
    }
}
