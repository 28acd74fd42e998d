//! What the state knows of what checks said before the work of their task began, and what of it is weighed (semantics, section 24).
//! When that is looked at is in `baseline_due`, what follows in `decide::after_baseline` and `stages::proof`.

use crate::domain::{BeforeWork, Millis, TaskId};
use crate::judging::baseline_checks::{BaselineCheck, Weighed, is_wanted, items};
use crate::plan::{Extent, ListOf, TaskPlan};

use super::baseline_record::{Baseline, BaselineResult};
use super::state::{State, TaskState};

/// The result of a check before the work, where it is known, and the reason for it.
#[derive(Debug, Clone, Copy)]
pub struct Before<'a> {
    pub result: BeforeWork,
    /// In words; empty for what was green.
    pub reason: &'a str,
    /// Whether the check failed only because its program or its folder was not there.
    pub never_ran: bool,
    /// The time that the check took.
    pub duration: Millis,
}

impl<'a> Before<'a> {
    fn unknown(reason: &'a str) -> Self {
        Self { result: BeforeWork::Unknown, reason, never_ran: false, duration: Millis::default() }
    }
}

impl State {
    /// The recorded results of the task's checks before the work; empty where nobody has looked.
    pub fn baseline_results(&self, id: TaskId) -> &[BaselineResult] {
        let of = self.task(self.plan.mended_by(id).unwrap_or(id));
        of.course.baseline.as_deref().map_or(&[], |baseline| &baseline.checks)
    }

    /// What was seen before the work of each task, where anything was.
    pub fn baselines(&self) -> impl Iterator<Item = (&TaskPlan, &Baseline)> {
        let tasks = self.plan.every_task_id().zip(&self.tasks);
        tasks.filter_map(|(id, task)| Some((self.plan.task(id), task.course.baseline.as_deref()?)))
    }

    /// The result of a check of a task before the work.
    pub fn before(&self, id: TaskId, item: &BaselineCheck) -> Before<'_> {
        let mut seen = self.baseline_results(id).iter();
        match seen.find(|seen| seen.key == item.key) {
            Some(seen) => Before {
                result: seen.before,
                reason: &seen.reason,
                never_ran: seen.never_ran,
                duration: seen.duration,
            },
            None if !is_wanted(&self.plan, id) => Before::unknown("baselines are off"),
            None => Before::unknown("nobody looked before the work began"),
        }
    }

    /// The checks of a task that are weighed.
    pub fn weighed_items(&self, id: TaskId) -> Vec<BaselineCheck> {
        if self.plan.rules.extent == Extent::Judging {
            return Vec::new();
        }
        items(self.plan.task(id))
    }

    /// Whether a test of `passToPass` failed before the work: what was broken is not held against it.
    pub fn is_left_out(&self, id: TaskId, item: &BaselineCheck) -> bool {
        item.list == Some(ListOf::PassToPass) && self.before(id, item).result == BeforeWork::Red
    }

    /// The results of a check of accepted work, before and now.
    pub fn weighed(&self, id: TaskId, task: &TaskState, item: &BaselineCheck) -> Weighed {
        let before = self.before(id, item);
        Weighed {
            before: before.result,
            never_ran: before.never_ran,
            new_tests_fail: task.new_tests_fail(&self.plan, id, item.key),
            passes: task.passes(item.place),
            is_left_out: self.is_left_out(id, item),
            is_declared_guard: item.is_declared_guard() || task.consent.begins_green && item.is_to_be_red(),
        }
    }
}
