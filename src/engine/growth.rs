//! Tasks that come and go while the run works: what [`super::apply`] does to the state about them.
//!
//! Each costs its own edges: a run of 100,000 tasks that hands down as many never pays for all of them at once.

use std::sync::Arc;

use crate::domain::{Status, TaskId};
use crate::mission::{Addition, Part};

use super::apply::{block, make_ready_if_unblocked, unblock};
use super::state::{State, TaskState};

/// The run has these tasks from here on.
pub(super) fn add(state: &mut State, addition: &Addition) {
    Arc::make_mut(&mut state.plan).extend(addition);
    let plan = Arc::clone(&state.plan);
    state.tasks.resize_with(plan.tasks.len(), TaskState::default);
    for added in &addition.tasks {
        state.counts.selected += 1;
        for waiting in &added.awaited_by {
            block(state, *waiting);
        }
    }
    for added in &addition.tasks {
        let needed = plan.dependencies.of(added.id.index()).iter();
        let open = needed
            .filter(|on| state.task(**on).status != Status::Done)
            .count();
        state.tasks[added.id.index()].blockers =
            u32::try_from(open).expect("edges are counted in u32 by whoever adds tasks");
        make_ready_if_unblocked(state, added.id);
    }
}

/// The run has these added tasks no more. They have been made pending, if they had begun.
pub(super) fn withdraw(state: &mut State, tasks: &[TaskId]) {
    let plan = Arc::clone(&state.plan);
    for id in tasks {
        let task_plan = plan.task(*id);
        if task_plan.part != Part::Selected {
            continue;
        }
        state.counts.selected = state.counts.selected.saturating_sub(1);
        state.ready.remove(*id, task_plan.agent, task_plan.priority);
        let due = state
            .cascades_due
            .range((*id, TaskId(0))..=(*id, TaskId(u32::MAX)));
        let due: Vec<_> = due.copied().collect();
        for pair in due {
            state.cascades_due.remove(&pair);
        }
        // Whoever waited for it does so no more. It is pending, so it held them.
        for waiting in plan.dependents.of(id.index()) {
            if !tasks.contains(waiting) {
                unblock(state, *waiting);
            }
        }
        state.tasks[id.index()].blockers = 0;
    }
    drop(plan);
    Arc::make_mut(&mut state.plan).withdraw(tasks);
}
