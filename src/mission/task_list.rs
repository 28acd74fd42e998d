//! The tasks of a plan: those of the mission in one block, and those that came while the run worked behind them.

use std::ops::{Index, IndexMut};
use std::sync::Arc;

use rpds::VectorSync;

use super::plan::TaskPlan;

/// Tasks by position. Copies share what they have in common, so that a plan may grow while others still read it.
#[derive(Debug, Clone)]
pub struct TaskList {
    base: Arc<Vec<TaskPlan>>,
    later: VectorSync<Arc<TaskPlan>>,
}

impl TaskList {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.base.len() + self.later.len()
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = &TaskPlan> {
        self.base.iter().chain(self.later.iter().map(AsRef::as_ref))
    }

    /// Adds one behind the others.
    pub fn push(&mut self, task: TaskPlan) {
        self.later.push_back_mut(Arc::new(task));
    }

    /// The one at a position, if there is one.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<&TaskPlan> {
        match index.checked_sub(self.base.len()) {
            None => self.base.get(index),
            Some(later) => self.later.get(later).map(AsRef::as_ref),
        }
    }
}

impl From<Vec<TaskPlan>> for TaskList {
    fn from(tasks: Vec<TaskPlan>) -> Self {
        Self {
            base: Arc::new(tasks),
            later: VectorSync::new_sync(),
        }
    }
}

impl Index<usize> for TaskList {
    type Output = TaskPlan;

    fn index(&self, index: usize) -> &TaskPlan {
        self.get(index).expect("a plan names only tasks that it has")
    }
}

/// Costs a copy of the mission's tasks if another plan shares them.
impl IndexMut<usize> for TaskList {
    fn index_mut(&mut self, index: usize) -> &mut TaskPlan {
        let base = self.base.len();
        match index.checked_sub(base) {
            None => &mut Arc::make_mut(&mut self.base)[index],
            Some(later) => Arc::make_mut(
                self.later
                    .get_mut(later)
                    .expect("a plan names only tasks that it has"),
            ),
        }
    }
}
