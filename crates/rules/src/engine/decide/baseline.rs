//! What checks that were looked at before the work mean for its beginning (semantics, section 24). When they are looked at is in
//! `admission`; what follows for accepted work is in `stages::proof`.

use crate::domain::BeforeWork;
use crate::engine::event::{Concern, Event, RunEvent};
use crate::judging::baseline::{self, BaselineCheck, items, named};
use crate::mission::model::{BeforeRule, TaskType};

use super::transaction::Transaction;

fn before(draft: &Transaction<'_>, item: &BaselineCheck) -> BeforeWork {
    let of_draft = draft.task.seen_before(item);
    of_draft.map_or(BeforeWork::Unknown, |seen| seen.before)
}

/// Checks that are to fail before the work and do not.
pub fn wrongly_green(draft: &Transaction<'_>) -> Vec<BaselineCheck> {
    baseline::wrongly_green(&items(draft.task_plan()), |item| before(draft, item))
}

/// Says beforehand that nothing would show that the work was done.
pub fn warn(draft: &mut Transaction<'_>) {
    let all = items(draft.task_plan());
    let is_green =
        |item: &BaselineCheck| before(draft, item) == BeforeWork::Green && !item.is_declared_guard();
    let is_refactoring = draft.task_plan().kind == TaskType::Refactor && draft.task_plan().is_of_mission();
    let brings_tests = |item: &BaselineCheck| item.declared == Some(BeforeRule::NewTests);
    if is_refactoring
        || all.iter().any(brings_tests)
        || !all.iter().all(is_green)
        || draft.plan().will_be_judged(draft.id)
    {
        return;
    }
    let message = format!(
        "'{}': green before the work began, so that nothing will show that it was done: {} (files of an earlier run?); add a \
         check that fails now, write `before: green` where it only guards, or let somebody judge",
        draft.plan().title(draft.id),
        named(&all)
    );
    draft.emit(Event::Run(RunEvent::Warning(Concern::Notice, message)));
}
