//! What the state knows of what checks said before the work of their task began (semantics, section 24). When that is looked at is
//! in `decide::admission`, what follows from it in `decide::baseline` and `stages::proof`.

use crate::domain::{BeforeWork, Millis, TaskId};
use crate::judging::baseline::{BaselineCheck, Weighed, is_wanted, items};
use crate::mission::model::Isolation;
use crate::mission::{Extent, ListOf, TaskPlan};

use super::baseline_result::{Baseline, BaselineResult};
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
        Self {
            result: BeforeWork::Unknown,
            reason,
            never_ran: false,
            duration: Millis::default(),
        }
    }
}

impl State {
    /// Whether the checks of the task are to be looked at before its first turn.
    pub(crate) fn must_look_before(&self, id: TaskId) -> bool {
        let task = self.task(id);
        let has_begun = task.attempt.number > 1 || task.attempt.turn > 0;
        // Whoever mends a task begins with what that began with.
        task.course.baseline.is_none()
            && !has_begun
            && self.plan.mended_by(id).is_none()
            && is_wanted(&self.plan, id)
    }

    /// The recorded results of the task's checks before the work; empty where nobody has looked.
    pub fn baseline_results(&self, id: TaskId) -> &[BaselineResult] {
        let of = self.task(self.plan.mended_by(id).unwrap_or(id));
        of.course
            .baseline
            .as_deref()
            .map_or(&[], |baseline| &baseline.checks)
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

    /// Whether another turn is at work where a task works, or its files are looked at for it: a look of ours would be one beside.
    pub(crate) fn turn_is_near(&self, id: TaskId) -> bool {
        self.near(id).any(|other| {
            let task = self.task(other);
            let is_noted = task.is_between_turns() && !task.is_looked_at_before() && self.must_note(other);
            task.work.turn.is_some() || is_noted
        })
    }

    /// Whether the checks of another task are being looked at where this one works: no turn begins there.
    pub(crate) fn baseline_is_near(&self, id: TaskId) -> bool {
        let mut all = self.queues.ready.working();
        all.any(|other| self.task(other).is_looked_at_before() && self.is_near(id, other))
    }

    /// Other tasks with a slot that work in the folder of this one, in one above or below it.
    pub(crate) fn near(&self, id: TaskId) -> impl Iterator<Item = TaskId> {
        let all = self.queues.ready.working();
        all.filter(move |other| self.is_near(id, *other))
    }

    fn is_near(&self, id: TaskId, other: TaskId) -> bool {
        let is_shared = self.plan.task(id).isolation == Isolation::Shared;
        let beside = other != id && !self.plan.task(other).is_isolated();
        is_shared && beside && self.plan.share_folder(id, other)
    }
}
