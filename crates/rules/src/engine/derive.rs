//! What follows from a plan and the states of its tasks and gates: what holds what, what is ready, what is due, sums.
//!
//! `apply` keeps it up to date event by event, at the cost of the task's degree. Here it is made from nothing: for a
//! run that begins, and for one whose mission was changed.
//!
//! [`contribution`] says what a task adds to the sums, and nothing else does. Whatever changes a task, or its plan, goes
//! through [`State::alter`] or [`State::resum`], which take back what it added before and add what it adds after.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::domain::{AgentId, BarrierId, GateId, Status, TaskId};
use crate::engine::quality_flag::Mark;
use crate::plan::{BarrierPlan, Part, Plan, TaskPlan, migrate_plan};

use super::apply::leave_order;
use super::mission_change::MissionChange;
use super::not_taken::{self, all_left};
use super::prerequisite::look;
use super::remedies::all_have_ended;
use super::state::{BarrierStage, BarrierState, GateState, Queues, State, TaskState};
use super::sums::{Counts, Sums};
use super::timers::Timer;

/// Goes on with another plan. Tasks and gates keep their ids, and whatever they have reached.
///
/// A change that comes without its plan changes nothing: whoever replays a journal puts the plans into its events.
pub fn change_plan(state: &mut State, change: &MissionChange) {
    let Some(mission) = &change.mission else {
        return;
    };
    for gate in &change.gates {
        state.gates[gate.index()] = GateState::default();
    }
    let plan = Arc::new(migrate_plan(&state.plan, Plan::clone(mission)));
    for (index, new) in plan.barriers.iter().enumerate() {
        let old = state.plan.barriers.get(index);
        let wait = |hold: &BarrierPlan| (hold.kind, hold.after.iter().copied().collect::<BTreeSet<_>>());
        // It waits for something else: whatever it came to was about the other.
        if old.is_some_and(|old| wait(old) != wait(new)) {
            state.barriers[index].stage = BarrierStage::Ahead;
        }
    }
    state.plan = plan;
    state.derive();
    // It was looked at when it lacked nothing.
    let lacks = |id: &TaskId| state.task(*id).course.baseline.is_some() && state.lacks(*id);
    let lacking: Vec<TaskId> = state.plan.task_ids().filter(lacks).collect();
    for id in change.changed.iter().copied().chain(lacking) {
        state.task_mut(id).outdate();
    }
}

/// The part of the sums that one task adds.
fn contribution(plan: &TaskPlan, task: &TaskState) -> Sums {
    let slots = u32::from(task.holds_slot());
    // An approver that met a limit is asked again when it has reset.
    let waiting = task.hold().filter(|_| task.deferral.is_none());
    let asking = waiting.and_then(|waiting| waiting.asking);
    let is_taken = plan.part == Part::Selected && !task.not_taken;
    Sums {
        counts: match plan.part {
            _ if is_taken => taken(task, slots),
            Part::Selected | Part::NotSelected => Counts { not_taken: 1, ..Counts::default() },
            Part::Removed => Counts::default(),
        },
        slots,
        turns_running: u32::from(task.work.turn.is_some()),
        calls_open: task.calls(),
        looked_at: u32::from(task.is_looked_at()),
        faulted: u32::from(is_taken && task.attempt.has(Mark::Faulted)),
        exclusive: if plan.exclusive { slots } else { 0 },
        approvers_asked: u32::from(asking.is_some()),
    }
}

/// The counts that a task adds which the run takes.
fn taken(task: &TaskState, running: u32) -> Counts {
    let is_done = task.status() == Status::Done;
    let mut counts = Counts {
        selected: 1,
        done: u32::from(is_done),
        failed: u32::from(task.status() == Status::Failed && !task.is_superseded()),
        superseded: u32::from(task.is_superseded()),
        awaiting: u32::from(task.status() == Status::AwaitingApproval),
        running,
        indeterminate: u32::from(task.attempt.has(Mark::Indeterminate) && !task.is_superseded()),
        reworked: u32::from(task.attempt.number > 1),
        unproven: u32::from(is_done && task.attempt.is_vacuous()),
        baseline_unknown: u32::from(is_done && task.attempt.has(Mark::BaselineUnknown)),
        ..Counts::default()
    };
    if let Some(flag) = task.flag() {
        *counts.of_flag(flag) += 1;
    }
    counts
}

impl State {
    /// Changes a task, and with it the sums and what its agent is busy with.
    pub fn alter<T>(&mut self, id: TaskId, change: impl FnOnce(&mut TaskState) -> T) -> T {
        let (plan, task) = (self.plan.task(id), &mut self.tasks[id.index()]);
        let before = contribution(plan, task);
        let result = change(task);
        let after = contribution(plan, task);
        self.sums -= before;
        self.sums += after;
        match (before.slots, after.slots) {
            (0, 1) => self.queues.ready.occupy(plan.agent, id),
            (1, 0) => self.queues.ready.release(plan.agent, id),
            _ => {}
        }
        result
    }

    /// Changes the plans of tasks, some of which may be new. None of them holds a slot.
    pub fn resum(&mut self, ids: impl Iterator<Item = TaskId> + Clone, change: impl FnOnce(&mut Self)) {
        let known = ids.clone().filter(|id| id.index() < self.tasks.len());
        let before = self.sum_of(known);
        self.sums -= before;
        change(self);
        let after = self.sum_of(ids);
        self.sums += after;
    }

    /// Adds up all tasks anew. Costs O(tasks).
    pub fn sum_up(&mut self) {
        self.sums = self.sum_of((0..self.tasks.len()).map(TaskId::from_index));
    }

    fn sum_of(&self, ids: impl Iterator<Item = TaskId>) -> Sums {
        let mut sums = Sums::default();
        ids.for_each(|id| sums += contribution(self.plan.task(id), self.task(id)));
        sums
    }

    /// Makes everything anew that follows from the plan and from where tasks and gates stand. Costs O(tasks and edges).
    pub fn derive(&mut self) {
        let plan = Arc::clone(&self.plan);
        self.tasks.resize_with(plan.tasks.len(), TaskState::default);
        self.gates.resize_with(plan.gates.len(), GateState::default);
        self.barriers.resize_with(plan.barriers.len(), BarrierState::default);
        self.queues = Queues::default();
        not_taken::derive(self);
        self.derive_gates(&plan);
        self.derive_barriers(&plan);
        self.sum_up();
        self.derive_order_of_reopened();
        for (index, agent) in plan.agents.iter().enumerate() {
            if let Some(limit) = agent.spec.max_concurrent {
                self.queues.ready.set_limit(AgentId::from_index(index), limit);
            }
        }
        for id in plan.every_task_id() {
            if self.takes(id) && self.task(id).status() == Status::Pending {
                let task = self.task(id);
                let is_known = |on: TaskId| {
                    let entry = task.remedies.as_deref().and_then(|remedies| remedies.entry(on));
                    task.does_without(on) || entry.is_some()
                };
                let failed = plan.dependencies.of(id).iter();
                let failed = failed.filter(|on| self.has_failed_for_good(**on) && !is_known(**on));
                let due: Vec<_> = failed.map(|on| (id, *on)).collect();
                self.queues.cascades_due.extend(due);
            }
            all_have_ended(self, id);
            if self.task(id).holds_slot() {
                self.queues.ready.occupy(plan.task(id).agent, id);
            }
            look(self, id);
        }
    }

    /// Nobody waits for regressed work that left the run.
    fn derive_order_of_reopened(&mut self) {
        for id in (0..self.tasks.len()).map(TaskId::from_index) {
            let takes = self.takes(id);
            let left = self.tasks[id.index()].reopened.take_if(|_| !takes);
            left.iter().for_each(|open| leave_order(self, id, open));
        }
    }

    /// How many of these tasks have not ended, and whether verdicts of verifications left all of them out.
    fn open_of(&self, after: &[TaskId]) -> (u32, bool) {
        let open = after.iter().filter(|id| !self.is_settled(**id)).count();
        let open = u32::try_from(open).expect("edges are counted in u32 by the loader");
        (open, !after.is_empty() && all_left(self, after))
    }

    fn derive_gates(&mut self, plan: &Plan) {
        for (index, gate) in plan.gates.iter().enumerate() {
            let (open, left) = self.open_of(&gate.after);
            let state = &mut self.gates[index];
            state.open = open;
            state.left = left && state.result.is_none();
            self.follow_gate(GateId::from_index(index));
        }
    }

    fn derive_barriers(&mut self, plan: &Plan) {
        let is_pending = |id| self.takes(id) && self.task(id).status() == Status::Pending;
        let pending: Vec<bool> = (0..self.tasks.len()).map(TaskId::from_index).map(is_pending).collect();
        for (index, hold) in plan.barriers.iter().enumerate() {
            let id = BarrierId::from_index(index);
            let (open, left) = self.open_of(&hold.after);
            let state = &mut self.barriers[index];
            state.open = open;
            if left {
                state.stage = BarrierStage::Passed;
            }
            // Of another mission, or with other tasks to wait for: it is ahead again.
            if state.hold().is_some() && (hold.part != Part::Selected || open > 0) {
                state.stage = BarrierStage::Ahead;
            }
            // What it holds now was not there when a person refused it.
            if state.stage == BarrierStage::Rejected && hold.blocks.iter().any(|id| pending[id.index()]) {
                state.stage = BarrierStage::Ahead;
            }
            if state.hold().is_none() {
                let (of, number) = (id.into(), state.number);
                self.timers.cancel(Timer::Expiry { of, number });
            }
            self.follow_barrier(id);
        }
    }

    /// A gate has changed: whether it is due, and whether it halts the run.
    pub fn follow_gate(&mut self, id: GateId) {
        let (plan, gate) = (self.plan.gate(id), &self.gates[id.index()]);
        let is_open = gate.open > 0 || gate.left || gate.result.is_some();
        let is_due = plan.part == Part::Selected && !is_open && !plan.after.is_empty();
        set(&mut self.queues.gates_due, id, is_due);
        set(&mut self.queues.halting, id, gate.has_failed() && plan.halt_on_fail);
    }

    /// A checkpoint or a delay has changed: whether it is reached, or waits there.
    pub fn follow_barrier(&mut self, id: BarrierId) {
        let (plan, hold) = (self.plan.barrier(id), &self.barriers[id.index()]);
        let is_due = plan.part == Part::Selected && hold.open == 0 && hold.stage == BarrierStage::Ahead;
        set(&mut self.queues.barriers_due, id, is_due);
        set(&mut self.queues.barriers_reached, id, hold.hold().is_some());
    }
}

fn set<T: Ord>(queue: &mut BTreeSet<T>, id: T, is_in: bool) {
    if is_in {
        queue.insert(id);
    } else {
        queue.remove(&id);
    }
}
