//! What is done about dependencies that failed, as state: kept as events come, at the cost of the task's degree
//! (semantics, section 11). The rules are in `decide::dependencies`.

use crate::domain::{Purpose, Status, TaskId};

use super::apply::follow_asks;
use super::fixups::DependencyState;
use super::payload::Way;
use super::state::State;

/// The recovery of a task from dependencies that failed.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DependencyRecovery {
    /// Dependencies that nothing stands in for yet.
    pub failed: Vec<FailedDependency>,
    /// The failed dependencies whose files are being looked at.
    pub scanning: Vec<TaskId>,
    /// Dependencies that the task does without.
    pub without: Vec<WaivedDependency>,
    /// How often the orchestrator was asked.
    pub resolutions: u32,
}

/// A dependency that failed, and what was tried about it.
#[derive(Debug, Clone, PartialEq)]
pub struct FailedDependency {
    pub dependency: TaskId,
    /// Whether the dependency's files were looked at.
    pub looked: bool,
    /// Why the orchestrator knew no way, in its words; `None` before it was asked.
    pub no_way: Option<Box<str>>,
}

/// A dependency that a task does without.
#[derive(Debug, Clone, PartialEq)]
pub struct WaivedDependency {
    pub dependency: TaskId,
    /// The way by which the task may go on without the dependency.
    pub way: Way,
    /// The words for the task's agent.
    pub note: String,
}

impl DependencyRecovery {
    /// The entry about a dependency; `None` where nothing was tried.
    pub fn entry(&self, dependency: TaskId) -> Option<&FailedDependency> {
        self.failed.iter().find(|entry| entry.dependency == dependency)
    }

    pub fn entry_mut(&mut self, dependency: TaskId) -> Option<&mut FailedDependency> {
        self.failed
            .iter_mut()
            .find(|entry| entry.dependency == dependency)
    }

    /// A dependency failed for good.
    pub fn detected(&mut self, dependency: TaskId) {
        self.failed.push(FailedDependency {
            dependency,
            looked: false,
            no_way: None,
        });
    }

    /// The files of a dependency were looked at.
    pub fn scanned(&mut self, dependency: TaskId) {
        self.scanning.retain(|id| *id != dependency);
        if let Some(entry) = self.entry_mut(dependency) {
            entry.looked = true;
        }
    }

    /// The task does without a dependency, or that is tried again.
    pub fn resolved(&mut self, dependency: TaskId, way: Way, note: &str) {
        self.forget(dependency);
        if way != Way::Retry {
            self.without.push(WaivedDependency {
                dependency,
                way,
                note: note.to_owned(),
            });
        }
    }

    /// The dependency is tried again: nothing of what was tried about its failure holds.
    pub fn forget(&mut self, dependency: TaskId) {
        self.failed.retain(|entry| entry.dependency != dependency);
        self.scanning.retain(|id| *id != dependency);
    }
}

/// Nothing is to be decided any more about dependencies of a task that failed.
pub fn nothing_is_due(state: &mut State, id: TaskId) {
    let due = state
        .queues
        .cascades_due
        .range((id, TaskId(0))..=(id, TaskId(u32::MAX)));
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
