//! What is done about dependencies that failed, as state: kept as events come, at the cost of the task's degree
//! (semantics, section 11). The rules are in `decide::dependencies`.

use crate::domain::{Purpose, Status, TaskId};

use super::apply::follow_asks;
use super::fixups::DependencyState;
use super::state::State;

/// Nothing is to be decided any more about dependencies of a task that failed.
pub fn nothing_is_due(state: &mut State, id: TaskId) {
    let due = state.queues.cascades_due.range((id, TaskId(0))..=(id, TaskId(u32::MAX)));
    let due: Vec<_> = due.copied().collect();
    for pair in due {
        state.queues.cascades_due.remove(&pair);
    }
}

/// A task that waits until it is known how many of its dependencies are done: once all have ended, that is due.
pub fn all_have_ended(state: &mut State, id: TaskId) {
    let Some(remedies) = state.task(id).remedies.as_deref() else {
        return;
    };
    let plan = state.plan.clone();
    let dependencies = plan.dependencies.of(id);
    if dependencies.iter().any(|on| !state.is_settled(*on)) {
        return;
    }
    let task = state.task(id);
    let is_resolving = |wanted: TaskId| {
        let mut asks = task.work.asks.iter();
        asks.any(|open| open.purpose == Purpose::Resolve { dependency: wanted })
    };
    let waiting = remedies.failed.iter().map(|entry| entry.dependency);
    let waiting = waiting.filter(|on| !remedies.scanning.contains(on) && !is_resolving(*on));
    let due: Vec<_> = waiting.map(|on| (id, on)).collect();
    state.queues.cascades_due.extend(due);
}

/// A dependency that had ended is tried again: nothing of what was tried about its failure holds. A task that has not
/// begun waits for it, even if it was to do without; so does one that did without what was done since.
pub fn is_tried_again(state: &mut State, id: TaskId, dependency: TaskId, stood: DependencyState) {
    let mut waiting = vec![dependency];
    state.alter(id, |task| {
        let is_pending = task.status() == Status::Pending;
        task.keep_asks(|purpose| purpose != Purpose::Resolve { dependency });
        if let Some(remedies) = task.remedies.as_deref_mut() {
            remedies.forget(dependency);
            waiting.extend(remedies.failed.iter().map(|entry| entry.dependency));
            if is_pending || stood == DependencyState::Met {
                remedies.without.retain(|known| known.dependency != dependency);
            }
        }
    });
    // What the orchestrator says about it now means nothing, and is paid for all the same.
    follow_asks(state, id);
    for on in waiting {
        state.queues.cascades_due.remove(&(id, on));
    }
}
