//! What the end of a task, or its end withdrawn, means for those that wait for it: dependents, gates, checkpoints, delays.

use crate::domain::{Status, TaskId};
use crate::engine::fixups::DependencyState;
use crate::engine::not_taken;
use crate::engine::prerequisite::{met, withdrawn};
use crate::engine::remedies::{all_have_ended, is_tried_again};
use crate::engine::state::{BarrierStage, Prerequisite, State};

use super::leave_barrier;

/// The task has come to an end; where that is one for others too, they go on.
pub fn settle(state: &mut State, id: TaskId) {
    let stands = state.stands(id);
    state.session.failed_fast |= stands == DependencyState::Failed && state.options.fail_fast;
    if stands != DependencyState::Open {
        became_terminal(state, id, stands);
    }
}

pub fn became_terminal(state: &mut State, id: TaskId, stands: DependencyState) {
    let plan = state.plan.clone();
    if stands == DependencyState::Met {
        met(state, Prerequisite::Dependency(id));
    }
    for dependent in plan.dependents.of(id) {
        let task = state.task(*dependent);
        let needs_it = task.status() == Status::Pending && !task.does_without(id);
        if stands == DependencyState::Failed && needs_it && state.takes(*dependent) {
            state.queues.cascades_due.insert((*dependent, id));
        }
        all_have_ended(state, *dependent);
    }
    for gate in plan.gates_after.of(id) {
        let gate_state = &mut state.gates[gate.index()];
        gate_state.open = gate_state.open.saturating_sub(1);
        if gate_state.open > 0 || gate_state.result.is_some() {
            continue;
        }
        state.gates[gate.index()].left = not_taken::all_left(state, &plan.gate(*gate).after);
        state.follow_gate(*gate);
        met(state, Prerequisite::Gate(*gate));
    }
    for hold in plan.barriers_after.of(id) {
        let held = &mut state.barriers[hold.index()];
        held.open = held.open.saturating_sub(1);
        if held.open > 0 || held.stage != BarrierStage::Ahead {
            continue;
        }
        if not_taken::all_left(state, &plan.barrier(*hold).after) {
            leave_barrier(state, *hold, BarrierStage::Passed);
        } else {
            state.follow_barrier(*hold);
        }
    }
}

/// The task's result is withdrawn: its dependents are held again, and the gates over it are closed until they are
/// evaluated anew. Nothing changes for anybody where nobody went on because of it.
pub fn no_longer_terminal(state: &mut State, id: TaskId, stood: DependencyState) {
    if stood == DependencyState::Open {
        return;
    }
    let plan = state.plan.clone();
    for dependent in plan.dependents.of(id) {
        is_tried_again(state, *dependent, id, stood);
    }
    withdrawn(state, plan.dependents.of(id));
    for gate in plan.gates_after.of(id) {
        let gate_state = &mut state.gates[gate.index()];
        gate_state.open += 1;
        gate_state.result = None;
        gate_state.overridden = false;
        gate_state.left = false;
        state.follow_gate(*gate);
        withdrawn(state, &plan.gate(*gate).blocks);
    }
    for hold in plan.barriers_after.of(id) {
        state.barriers[hold.index()].open += 1;
        leave_barrier(state, *hold, BarrierStage::Ahead);
        withdrawn(state, &plan.barrier(*hold).blocks);
    }
}

/// A task is to be done behind checkpoints, of which a person may have refused one: that one is asked about again, for
/// nothing waits for an answer that was given.
pub fn refused_barriers_are_due(state: &mut State, id: TaskId) {
    let plan = state.plan.clone();
    for hold in plan.barriers_before.of(id) {
        if state.barrier(*hold).stage == BarrierStage::Rejected {
            state.barriers[hold.index()].stage = BarrierStage::Ahead;
            state.follow_barrier(*hold);
        }
    }
}

/// A dependency that failed, and that a task does not do without, holds it.
pub fn failed_dependencies_are_due(state: &mut State, id: TaskId) {
    let plan = state.plan.clone();
    for dependency in plan.dependencies.of(id) {
        if state.has_failed_for_good(*dependency) && !state.task(id).does_without(*dependency) {
            state.queues.cascades_due.insert((id, *dependency));
        }
    }
}
