//! The bar for the score of a task, and who set it (semantics, sections 2 and 3).

use crate::domain::{Bar, TaskId};

use super::model::Plan;
use super::pipeline::Judge;

impl Plan {
    /// The bar for the score of a task, and who set it; `None` where no score decides (sections 2 and 3).
    pub fn bar(&self, id: TaskId) -> Option<Bar> {
        Some(self.relieved(id, self.full_bar(id)?))
    }

    /// The bar for a number of any judge of the task, also of a stage where nobody else scores.
    pub fn bar_of_judges(&self, id: TaskId) -> Bar {
        self.bar(id).unwrap_or(self.rules.settings.eval_threshold)
    }

    /// The bar of a task without the relief of a foundation.
    pub fn full_bar(&self, id: TaskId) -> Option<Bar> {
        self.bar_of_review(id).or_else(|| Some(self.task(id).verification()?.bar))
    }

    /// The bar of the panel or evaluation of a task, without the relief of a foundation.
    pub fn bar_of_review(&self, id: TaskId) -> Option<Bar> {
        match self.judge(id)? {
            Judge::Panel(panel) => Some(panel.bar),
            Judge::Evaluation(_) => Some(self.rules.settings.eval_threshold),
            Judge::Nobody => None,
        }
    }
}
