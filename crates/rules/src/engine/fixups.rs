//! Fixups as state (semantics, section 12): what the failure of a task that has one means for everybody who waits for it.
//!
//! A task that failed and has a fixup has not come to its end for others before the fixup has: its dependents wait, and
//! gates, checkpoints and delays over it are not due. A fixup that ends clean supersedes it; then it counts as if it were
//! done, with the fixup's work for its own. The rules are in `decide::fixups`.

use crate::domain::{Status, TaskId};

use super::state::{Lifecycle, State};

/// How far a task has come for those who wait for it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum DependencyState {
    /// Nobody goes on yet.
    Open,
    /// The dependents have what they need: the task is done, a clean fixup has superseded it, or it left the run.
    Met,
    /// The dependents will not get what they need: the task failed, and nothing may make up for that any more.
    Failed,
}

impl State {
    /// How far a task has come for those who wait for it.
    pub(crate) fn stands(&self, id: TaskId) -> DependencyState {
        let task = self.task(id);
        match task.status() {
            Status::Done => DependencyState::Met,
            _ if task.not_taken || task.is_superseded() => DependencyState::Met,
            Status::Failed if self.open_fixup(id).is_none() => DependencyState::Failed,
            _ => DependencyState::Open,
        }
    }

    /// Whether what became of a task is final for those who wait for it.
    pub(crate) fn is_settled(&self, id: TaskId) -> bool {
        self.stands(id) != DependencyState::Open
    }

    /// The fixup of a failed task that may still mend it.
    pub fn open_fixup(&self, id: TaskId) -> Option<TaskId> {
        let failed = self.task(id).status() == Status::Failed;
        let fixup = self.plan.fixup(id).filter(|_| failed)?;
        (!self.task(fixup).status().is_terminal()).then_some(fixup)
    }

    /// Whether the dependents of a task have what they need from it.
    pub fn is_met(&self, id: TaskId) -> bool {
        self.stands(id) == DependencyState::Met
    }

    /// Whether the task failed, and nothing may make up for that any more.
    pub(crate) fn has_failed_for_good(&self, id: TaskId) -> bool {
        self.stands(id) == DependencyState::Failed
    }

    /// The task whose work stands for that of this one: its fixup, where that superseded it, else itself.
    pub fn effective_task(&self, id: TaskId) -> TaskId {
        let superseded = self.task(id).is_superseded();
        self.plan.fixup(id).filter(|_| superseded).unwrap_or(id)
    }

    /// The failed task that this one is the fixup of.
    pub fn fixup_of(&self, id: TaskId) -> Option<TaskId> {
        let source = self.plan.mended_by(id)?;
        (self.task(source).status() == Status::Failed).then_some(source)
    }
}

/// Whether a clean fixup made up for the task's failure. Not any more, where that fixup begins anew.
pub fn supersede(state: &mut State, id: TaskId, is: bool) {
    state.alter(id, |task| {
        if let Lifecycle::Failed { superseded, .. } = &mut task.lifecycle {
            *superseded = is;
        }
    });
}
