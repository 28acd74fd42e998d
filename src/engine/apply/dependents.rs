//! What the end of a task, or its end withdrawn, means for those that wait for it: dependents, gates, checkpoints, delays.

use crate::domain::{Status, TaskId};
use crate::engine::remedies::{all_have_ended, is_tried_again};
use crate::engine::requirement::{Requirement, met, withdrawn};
use crate::engine::routes;
use crate::engine::state::{BarrierStage, State};

use super::{is_halted, leave_barrier};

/// How far a task had come for those who wait for it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum DependencyState {
    /// Nobody goes on yet.
    Open,
    /// They have what they need.
    Met,
    /// They know that they will not get it.
    Failed,
}

impl DependencyState {
    pub fn of(state: &State, id: TaskId) -> Self {
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
pub fn settle(state: &mut State, id: TaskId) {
    let stands = DependencyState::of(state, id);
    if stands == DependencyState::Open {
        return;
    }
    state.failed_fast |= stands == DependencyState::Failed && state.options.fail_fast;
    let to = if stands == DependencyState::Met {
        Status::Done
    } else {
        Status::Failed
    };
    became_terminal(state, id, to);
}

/// What others built on is not there any more, if they had built on it.
pub fn withdraw_result(state: &mut State, id: TaskId, stood: DependencyState) {
    match stood {
        DependencyState::Open => {}
        DependencyState::Met => no_longer_terminal(state, id, Status::Done),
        DependencyState::Failed => no_longer_terminal(state, id, Status::Failed),
    }
}

pub fn became_terminal(state: &mut State, id: TaskId, to: Status) {
    let plan = state.plan.clone();
    if to == Status::Done {
        met(state, Requirement::Dependency(id));
    }
    for dependent in plan.dependents.of(id) {
        let task = state.task(*dependent);
        let needs_it = task.status() == Status::Pending && !task.does_without(id);
        if to == Status::Failed && needs_it && state.takes(*dependent) {
            state.cascades_due.insert((*dependent, id));
        }
        all_have_ended(state, *dependent);
    }
    for gate in plan.gates_after.of(id) {
        let gate_state = &mut state.gates[gate.index()];
        gate_state.open = gate_state.open.saturating_sub(1);
        if gate_state.open > 0 || gate_state.result.is_some() {
            continue;
        }
        if routes::all_left(state, &plan.gate(*gate).after) {
            state.gates[gate.index()].left = true;
            met(state, Requirement::Gate(*gate));
        } else {
            state.gates_due.insert(*gate);
        }
    }
    for hold in plan.barriers_after.of(id) {
        let held = &mut state.barriers[hold.index()];
        held.open = held.open.saturating_sub(1);
        if held.open > 0 || held.stage != BarrierStage::Ahead {
            continue;
        }
        if routes::all_left(state, &plan.barrier(*hold).after) {
            leave_barrier(state, *hold, BarrierStage::Passed);
        } else {
            state.barriers_due.insert(*hold);
        }
    }
}

/// The task's result is withdrawn: its dependents are held again, and the gates over it are closed until they are
/// evaluated anew.
pub fn no_longer_terminal(state: &mut State, id: TaskId, from: Status) {
    let plan = state.plan.clone();
    for dependent in plan.dependents.of(id) {
        is_tried_again(state, *dependent, id, from);
    }
    withdrawn(state, plan.dependents.of(id));
    for gate in plan.gates_after.of(id) {
        let gate_state = &mut state.gates[gate.index()];
        gate_state.open += 1;
        gate_state.result = None;
        gate_state.overridden = false;
        gate_state.left = false;
        state.gates_due.remove(gate);
        withdrawn(state, &plan.gate(*gate).blocks);
    }
    for hold in plan.barriers_after.of(id) {
        leave_barrier(state, *hold, BarrierStage::Ahead);
        state.barriers[hold.index()].open += 1;
        withdrawn(state, &plan.barrier(*hold).blocks);
    }
    state.halted = is_halted(state);
}

/// A task is to be done behind checkpoints, of which a person may have refused one: that one is asked about again, for
/// nothing waits for an answer that was given.
pub fn refused_barriers_are_due(state: &mut State, id: TaskId) {
    let plan = state.plan.clone();
    for hold in plan.barriers_before.of(id) {
        if state.barrier(*hold).stage == BarrierStage::Rejected {
            state.barriers[hold.index()].stage = BarrierStage::Ahead;
            if state.barrier(*hold).open == 0 {
                state.barriers_due.insert(*hold);
            }
        }
    }
}

/// A dependency that failed, and that a task does not do without, holds it.
pub fn failed_dependencies_are_due(state: &mut State, id: TaskId) {
    let plan = state.plan.clone();
    for dependency in plan.dependencies.of(id) {
        if state.has_failed_for_good(*dependency) && !state.task(id).does_without(*dependency) {
            state.cascades_due.insert((id, *dependency));
        }
    }
}
