//! The tasks of a plan: those of the mission in one block, and those that came while the run worked behind them.

use std::ops::{Index, IndexMut};
use std::sync::Arc;

use rpds::{HashTrieMapSync, VectorSync};

use super::model::TaskPlan;

/// Tasks by position. Copies share what they have in common, so that a plan may grow while others still read it.
#[derive(Debug, Clone)]
pub struct TaskList {
    base: Arc<Vec<TaskPlan>>,
    /// Tasks of the block that are not what they were, by position.
    changed: HashTrieMapSync<usize, Arc<TaskPlan>>,
    later: VectorSync<Arc<TaskPlan>>,
}

impl TaskList {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.base.len() + self.later.len()
    }

    /// The tasks in order.
    pub fn iter(&self) -> impl Iterator<Item = &TaskPlan> {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    /// Adds one behind the others.
    pub fn push(&mut self, task: TaskPlan) {
        self.later.push_back_mut(Arc::new(task));
    }

    /// The one at a position, if there is one.
    pub fn get(&self, index: usize) -> Option<&TaskPlan> {
        match index.checked_sub(self.base.len()) {
            None if self.changed.is_empty() => self.base.get(index),
            None => self.changed.get(&index).map_or_else(|| self.base.get(index), |task| Some(task)),
            Some(later) => self.later.get(later).map(AsRef::as_ref),
        }
    }
}

impl From<Vec<TaskPlan>> for TaskList {
    fn from(tasks: Vec<TaskPlan>) -> Self {
        Self { base: Arc::new(tasks), changed: HashTrieMapSync::new_sync(), later: VectorSync::new_sync() }
    }
}

impl Index<usize> for TaskList {
    type Output = TaskPlan;

    fn index(&self, index: usize) -> &TaskPlan {
        self.get(index).expect("a plan names only tasks that it has")
    }
}

/// Where another plan shares the mission's tasks, this one gets its own copy of that one task.
impl IndexMut<usize> for TaskList {
    fn index_mut(&mut self, index: usize) -> &mut TaskPlan {
        const KNOWN: &str = "a plan names only tasks that it has";
        if let Some(later) = index.checked_sub(self.base.len()) {
            return Arc::make_mut(self.later.get_mut(later).expect(KNOWN));
        }
        if self.changed.is_empty() && Arc::get_mut(&mut self.base).is_some() {
            return &mut Arc::make_mut(&mut self.base)[index];
        }
        if !self.changed.contains_key(&index) {
            self.changed.insert_mut(index, Arc::new(self.base[index].clone()));
        }
        Arc::make_mut(self.changed.get_mut(&index).expect(KNOWN))
    }
}
