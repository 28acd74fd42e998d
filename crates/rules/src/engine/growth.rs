//! Tasks that come and go while the run works: what [`super::apply`] does to the state about them.
//!
//! Each costs its own edges: a run of 100,000 tasks that hands down as many never pays for all of them at once.

use std::sync::Arc;

use crate::domain::TaskId;
use crate::plan::{Addition, Origin, Part};

use super::apply::{failed_dependencies_are_due, leave_order};
use super::prerequisite::{look, withdrawn};
use super::remedies::nothing_is_due;
use super::state::{State, TaskState};

/// The run has these tasks from here on.
pub fn add(state: &mut State, addition: &Addition) {
    let ids = addition.tasks.iter().map(|added| added.id);
    state.resum(ids, |state| {
        Arc::make_mut(&mut state.plan).extend(addition);
        state.tasks.resize_with(state.plan.tasks.len(), TaskState::default);
    });
    for added in &addition.tasks {
        withdrawn(state, &added.awaited_by);
        // Asked for behind what has failed already: that is decided about like any failed dependency.
        failed_dependencies_are_due(state, added.id);
        if let (Origin::Fixup, Some(source)) = (addition.origin, addition.source) {
            inherit(state, source, added.id);
        }
        look(state, added.id);
    }
}

/// Hands a fixup what its source knows: the findings and that judges found them, the work that the source had
/// to do without by the coordinator's word, and that it may have acted. A fixup begins with these, not with
/// what an earlier fixup of the task left.
fn inherit(state: &mut State, source: TaskId, fixup: TaskId) {
    let of = state.task(source);
    let (feedback, remedies) = (of.feedback.clone(), of.remedies.clone());
    let (acted, sent_back) = (of.consent.acted, of.course.sent_back);
    let authors_before = of.course.authors_before.clone();
    state.alter(fixup, |task| {
        task.feedback = feedback;
        task.course.sent_back = sent_back;
        task.remedies = remedies;
        task.course.authors_before = authors_before;
        task.consent.acted |= acted;
    });
}

/// The run has these added tasks no more. They have been made pending, if they had begun.
pub fn withdraw(state: &mut State, tasks: &[TaskId]) {
    let waiting = tasks.iter().flat_map(|id| state.plan.dependents.of(*id));
    let waiting: Vec<TaskId> = waiting.copied().collect();
    for id in tasks {
        forget(state, *id);
    }
    state.resum(tasks.iter().copied(), |state| {
        Arc::make_mut(&mut state.plan).withdraw(tasks);
    });
    // Whoever waited for them does so no more.
    for id in waiting {
        look(state, id);
    }
}

fn forget(state: &mut State, id: TaskId) {
    if state.plan.task(id).part != Part::Selected {
        return;
    }
    state.is_not_ready(id);
    nothing_is_due(state, id);
    if let Some(open) = state.task_mut(id).reopened.take() {
        leave_order(state, id, &open);
    }
}
