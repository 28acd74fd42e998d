//! When checks are looked at before the work of their task begins (semantics, section 24): before which tasks, and beside whom not.
//! What they said is in `before_work`, what follows from it in `decide::after_baseline` and `stages::proof`.

use crate::domain::TaskId;
use crate::judging::baseline_checks::is_wanted;
use crate::mission::model::Isolation;

use super::state::{FirstTurn, State};

impl State {
    /// Whether the checks of the task are to be looked at before its first turn.
    pub(crate) fn must_look_before(&self, id: TaskId) -> bool {
        let task = self.task(id);
        // Whoever mends a task begins with what that began with.
        let is_due = match task.course.first_turn {
            FirstTurn::Ahead => task.course.baseline.is_none(),
            FirstTurn::Outdated => true,
            FirstTurn::Begun => false,
        };
        is_due && self.plan.mended_by(id).is_none() && is_wanted(&self.plan, id)
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
