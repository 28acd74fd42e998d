//! What tasks that are to begin wait for.

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::{BarrierId, GateId, TaskId};

/// Something that a task lacks before it may begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Prerequisite {
    /// A dependency is done, a clean fixup has superseded it, or the task does without it.
    Dependency(TaskId),
    /// A checkpoint or a delay is passed.
    Barrier(BarrierId),
    /// A gate is open.
    Gate(GateId),
    /// Work that is done again before this one, because it names a file of it, has ended.
    Regressed(TaskId),
    /// Somebody agrees to its start. It is asked for last.
    Agreement,
}

/// The prerequisite that each waiting task watches. Watching costs O(log of the tasks that wait).
#[derive(Debug, Clone, Default)]
pub struct WaitList {
    by_prerequisite: BTreeSet<(Prerequisite, TaskId)>,
    /// The prerequisite of each task, with the number of its dependencies, from the first on, that were met
    /// when the task looked.
    by_task: BTreeMap<TaskId, (Prerequisite, usize)>,
}

impl WaitList {
    pub fn watch(&mut self, id: TaskId, prerequisite: Prerequisite, met: usize) {
        self.by_prerequisite.insert((prerequisite, id));
        self.by_task.insert(id, (prerequisite, met));
    }

    pub fn forget(&mut self, id: TaskId) {
        if let Some((prerequisite, _)) = self.by_task.remove(&id) {
            self.by_prerequisite.remove(&(prerequisite, id));
        }
    }

    /// The prerequisite that a task watches, with how many of its dependencies were met when it looked; `None` where it
    /// watches none.
    pub fn entry(&self, id: TaskId) -> Option<(Prerequisite, usize)> {
        self.by_task.get(&id).copied()
    }

    /// The prerequisite that a task watches; `None` where it watches none.
    #[cfg(any(test, feature = "testing"))]
    pub fn watched(&self, id: TaskId) -> Option<Prerequisite> {
        self.entry(id).map(|(prerequisite, _)| prerequisite)
    }

    /// The tasks that watch for this, in their order.
    pub fn of(&self, prerequisite: Prerequisite) -> impl Iterator<Item = TaskId> {
        let all = (prerequisite, TaskId(0))..=(prerequisite, TaskId(u32::MAX));
        self.by_prerequisite.range(all).map(|(_, id)| *id)
    }
}
