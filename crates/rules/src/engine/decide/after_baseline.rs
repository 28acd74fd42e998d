//! What checks that were looked at before the work mean for its beginning (semantics, section 24). When they are looked at is in
//! `admission`; what follows for accepted work is in `stages::proof`.

use crate::domain::{BeforeWork, Cause, Status, WaitingReason};
use crate::engine::baseline_record::BaselineResult;
use crate::engine::event::{Concern, Event, RunEvent, WorkEvent};
use crate::engine::job::{Job, JobEnd};
use crate::engine::state::{Hold, State};
use crate::engine::voided::VoidedStage;
use crate::judging::baseline_checks::{self, BaselineCheck, items, named};
use crate::mission::model::{BeforeRule, TaskType};
use crate::plan::Extent;

use super::draft::Draft;
use super::{admission, holds};

fn before(draft: &Draft<'_>, item: &BaselineCheck) -> BeforeWork {
    let of_draft = draft.task.baseline_result(item);
    of_draft.map_or(BeforeWork::Unknown, |seen| seen.before)
}

/// Checks that are to fail before the work and do not.
pub fn wrongly_green(draft: &Draft<'_>) -> Vec<BaselineCheck> {
    baseline_checks::wrongly_green(&items(draft.task_plan()), |item| before(draft, item))
}

/// Says beforehand that nothing would show that the work was done.
pub fn warn(draft: &mut Draft<'_>) {
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

/// Nobody can tell what its checks say.
pub fn unknown(draft: &mut Draft<'_>, why: &str) {
    let items = items(draft.task_plan()).into_iter();
    let checks = items.map(|item| BaselineResult::unknown(item.key, why)).collect();
    let end = JobEnd::Baseline { on: None, checks };
    draft.emit(Event::Work(draft.id, WorkEvent::Ended { job: Job::Baseline, end }));
    ended(draft);
}

/// Drops the results of checks before the work, because what judges was changed meanwhile.
pub fn voided(state: &State, voided: &VoidedStage) -> Vec<Event> {
    if !state.is_out(voided.work) {
        return Vec::new();
    }
    let mut draft = Draft::new(state, voided.work.task);
    unknown(&mut draft, &format!("protected files changed meanwhile: {}", voided.what()));
    draft.into_events()
}

/// Goes on behind the look at the checks before the work, whether they are known or nobody can tell. Where a
/// check that is to fail before the work does not, the mission is wrong about its own check, and a person
/// decides whether the work begins.
pub fn ended(draft: &mut Draft<'_>) {
    if admission::goes_back(draft) {
        return;
    }
    if draft.plan().rules.extent == Extent::Baselines {
        let why = "what its checks say was all that was asked for";
        draft.enter_because(Status::Pending, why);
        return holds::ask(draft, Hold::of(WaitingReason::Approval), why, why.to_owned());
    }
    let green = wrongly_green(draft);
    if !green.is_empty() && !draft.task.consent.begins_green {
        let message = format!(
            "green before the work began, and the mission wants it red: {}; yes begins the work all the same, and the check \
             proves nothing then; no fails the task",
            named(&green)
        );
        draft.enter_because(Status::Pending, "a check that is to fail before the work passes");
        let hold = Hold { cause: Some(Cause::Vacuous), ..Hold::of(WaitingReason::Approval) };
        return holds::ask(draft, hold, &message.clone(), message);
    }
    warn(draft);
    admission::start_turn(draft);
}
