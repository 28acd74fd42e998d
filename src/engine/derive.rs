//! What follows from a plan and the states of its tasks and gates: what holds what, what is ready, what is due, sums.
//!
//! `apply` keeps it up to date event by event, at the cost of the task's degree. Here it is made from nothing: for a
//! run that begins, and for one whose mission was changed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::domain::{AgentId, GateId, HoldId, Status, TaskId};
use crate::mission::{HoldPlan, Part, Plan, succeed};

use super::apply::make_ready_if_unblocked;
use super::mission_change::MissionChange;
use super::ready::ReadyQueue;
use super::remedies::all_have_ended;
use super::routes::{self, all_left};
use super::state::{Counts, GateState, HoldStage, HoldState, RunPhase, State, TaskState};
use super::timers::Timer;

/// Goes on with another plan. Tasks and gates keep their ids, and whatever they have reached.
///
/// A change that comes without its plan changes nothing: whoever replays a journal puts the plans into its events.
pub(super) fn change_plan(state: &mut State, change: &MissionChange) {
    let Some(mission) = &change.mission else {
        return;
    };
    for gate in &change.gates {
        state.gates[gate.index()] = GateState::default();
    }
    let plan = Arc::new(succeed(&state.plan, Plan::clone(mission)));
    for (index, new) in plan.holds.iter().enumerate() {
        let old = state.plan.holds.get(index);
        let wait = |hold: &HoldPlan| (hold.kind, hold.after.iter().copied().collect::<BTreeSet<_>>());
        // It waits for something else: whatever it came to was about the other.
        if old.is_some_and(|old| wait(old) != wait(new)) {
            state.holds[index].stage = HoldStage::Ahead;
        }
    }
    state.plan = plan;
    state.derive();
}

impl State {
    /// Makes everything anew that follows from the plan and from where tasks and gates stand. Costs O(tasks and edges).
    pub(super) fn derive(&mut self) {
        let plan = Arc::clone(&self.plan);
        self.tasks.resize_with(plan.tasks.len(), TaskState::default);
        self.gates.resize_with(plan.gates.len(), GateState::default);
        self.holds.resize_with(plan.holds.len(), HoldState::default);
        routes::derive(self);
        self.derive_gates(&plan);
        self.derive_holds(&plan);
        self.derive_sums(&plan);
        let behind = self.derive_order_of_reopened();
        self.ready = ReadyQueue::default();
        for (index, agent) in plan.agents.iter().enumerate() {
            if let Some(limit) = agent.spec.max_concurrent {
                self.ready.set_limit(AgentId::from_index(index), limit);
            }
        }
        self.cascades_due = BTreeSet::new();
        self.approvals_due = BTreeSet::new();
        for id in plan.every_task_id() {
            let dependencies = plan.dependencies.of(id.index()).iter();
            let open = dependencies
                .clone()
                .filter(|on| !self.is_met(**on) && !self.task(id).does_without(**on))
                .count();
            let gates = plan.gates_before.of(id.index()).iter();
            let shut = gates.filter(|gate| !self.gate(**gate).is_open()).count();
            let holds = plan.holds_before.of(id.index()).iter();
            let held = holds
                .filter(|hold| self.hold(**hold).stage != HoldStage::Passed)
                .count();
            if self.takes(id) && self.task(id).status == Status::Pending {
                let task = self.task(id);
                let is_known = |on: TaskId| {
                    let entry = task.remedies.as_deref().and_then(|remedies| remedies.entry(on));
                    task.does_without(on) || entry.is_some()
                };
                let failed = dependencies.filter(|on| self.has_failed_for_good(**on) && !is_known(**on));
                let due: Vec<_> = failed.map(|on| (id, *on)).collect();
                self.cascades_due.extend(due);
            }
            all_have_ended(self, id);
            let first = behind.get(&id).copied().unwrap_or(0);
            self.tasks[id.index()].blockers =
                u32::try_from(open + shut + held + first).expect("edges are counted in u32 by the loader");
            if self.task(id).holds_slot() {
                self.ready.occupy(plan.task(id).agent);
            }
            // Before the run has started nothing is ready; its start makes it so.
            if self.phase != RunPhase::New {
                make_ready_if_unblocked(self, id);
            }
        }
    }

    /// How many tasks, which are done again, each one waits for that is done again too. Nobody waits for what left the run.
    fn derive_order_of_reopened(&mut self) -> BTreeMap<TaskId, usize> {
        let mut behind = BTreeMap::new();
        for index in 0..self.tasks.len() {
            let takes = self.takes(TaskId::from_index(index));
            let Some(open) = self.tasks[index].reopened.as_deref_mut() else {
                continue;
            };
            if !takes {
                open.ahead_of.clear();
            }
            for id in &open.ahead_of {
                *behind.entry(*id).or_default() += 1;
            }
        }
        behind
    }

    fn derive_gates(&mut self, plan: &Plan) {
        self.gates_due = BTreeSet::new();
        self.halted = false;
        for (index, gate) in plan.gates.iter().enumerate() {
            let after = gate.after.iter();
            let open = after.filter(|id| !self.is_settled(**id)).count();
            let left = !gate.after.is_empty() && all_left(self, &gate.after);
            let state = &mut self.gates[index];
            state.open = u32::try_from(open).expect("edges are counted in u32 by the loader");
            state.left = left && state.result.is_none();
            let is_due = open == 0 && !left && state.result.is_none() && !gate.after.is_empty();
            if gate.part == Part::Selected && is_due {
                self.gates_due.insert(GateId::from_index(index));
            }
            self.halted |= state.has_failed() && gate.halt_on_fail;
        }
    }

    fn derive_holds(&mut self, plan: &Plan) {
        self.holds_due = BTreeSet::new();
        self.holds_reached = BTreeSet::new();
        let is_pending = |id| self.takes(id) && self.task(id).status == Status::Pending;
        let pending: Vec<bool> = (0..self.tasks.len())
            .map(TaskId::from_index)
            .map(is_pending)
            .collect();
        for (index, hold) in plan.holds.iter().enumerate() {
            let id = HoldId::from_index(index);
            let after = hold.after.iter();
            let open = after.filter(|id| !self.is_settled(**id)).count();
            let left = !hold.after.is_empty() && all_left(self, &hold.after);
            let state = &mut self.holds[index];
            state.open = u32::try_from(open).expect("edges are counted in u32 by the loader");
            if left {
                state.stage = HoldStage::Passed;
            }
            // Of another mission, or with other tasks to wait for: it is ahead again.
            if state.stage == HoldStage::Reached && (hold.part != Part::Selected || open > 0) {
                state.stage = HoldStage::Ahead;
            }
            // What it holds now was not there when a person refused it.
            if state.stage == HoldStage::Rejected && hold.blocks.iter().any(|id| pending[id.index()]) {
                state.stage = HoldStage::Ahead;
            }
            let stage = state.stage;
            if hold.part == Part::Selected && open == 0 && stage == HoldStage::Ahead {
                self.holds_due.insert(id);
            }
            if stage == HoldStage::Reached {
                self.holds_reached.insert(id);
            } else {
                self.timers.cancel(Timer::Delay(id));
            }
        }
    }

    fn derive_sums(&mut self, plan: &Plan) {
        let mut counts = Counts::default();
        (
            self.slots,
            self.turns_running,
            self.exclusive,
            self.approvers_asked,
            self.calls_open,
            self.looked_at,
            self.faulted,
        ) = (0, 0, 0, 0, 0, 0, 0);
        for (task, state) in plan.tasks.iter().zip(&self.tasks) {
            match task.part {
                Part::Selected if !state.not_taken => counts.selected += 1,
                Part::Selected | Part::NotSelected => counts.not_taken += 1,
                Part::Removed => {}
            }
            let holds = u32::from(state.holds_slot());
            self.slots += holds;
            self.turns_running += u32::from(state.running.is_some());
            let asking = state.waiting.as_ref().and_then(|waiting| waiting.asking);
            self.approvers_asked += u32::from(asking.is_some());
            self.calls_open += state.calls();
            self.looked_at += u32::from(state.is_looked_at());
            if task.exclusive {
                self.exclusive += holds;
            }
            if task.part != Part::Selected || state.not_taken {
                continue;
            }
            self.faulted += u32::from(state.faulted);
            counts.running += holds;
            counts.done += u32::from(state.status == Status::Done);
            counts.failed += u32::from(state.status == Status::Failed && !state.superseded);
            counts.superseded += u32::from(state.superseded);
            counts.awaiting += u32::from(state.status == Status::AwaitingApproval);
            counts.indeterminate += u32::from(state.indeterminate);
            counts.reworked += u32::from(state.is_reworked());
            if let Some(flag) = state.flag {
                *counts.of_flag(flag) += 1;
            }
        }
        self.counts = counts;
        let deferred = self.tasks.iter().enumerate();
        let deferred = deferred.filter(|(_, task)| task.deferral.is_some() && !task.is_queued());
        self.deferred = deferred.map(|(index, _)| TaskId::from_index(index)).collect();
    }
}
