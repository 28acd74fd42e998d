//! Looks at tests that the work changed, between its checks and its judges (semantics, section 24): which is made, in which order,
//! and what becomes of the work behind them. What they mean is in `stages::changed_and_new_test_files`.

use crate::engine::event_payload::StageReport;
use crate::engine::job::Job;
use crate::engine::stages;
use crate::engine::test_looks::Look;

use super::draft::Draft;
use super::outgoing;

/// Makes what is to be looked at before anybody judges the work. Whether judges must wait for it.
pub fn come_first(draft: &mut Draft<'_>) -> bool {
    let open = draft.task.attempt.looks.open;
    let is_over = is_over(draft);
    let look = open.or_else(|| next(draft)).filter(|_| !is_over);
    if let Some(look) = look.filter(|_| open.is_none()) {
        outgoing::run(draft, Job::Look(look));
    }
    look.is_some()
}

/// The report on the looks at tests, once they are made; it is told once.
pub fn meaning(draft: &Draft<'_>) -> Option<Box<StageReport>> {
    stages::weigh_tests(draft.view()).filter(|_| !is_over(draft))
}

/// Whether nothing of the attempt is looked at any more: it was told, or a person has accepted it.
fn is_over(draft: &Draft<'_>) -> bool {
    draft.task.attempt.looks.told || draft.task.attempt.accepted.is_some()
}

/// The look that is to be made now.
fn next(draft: &Draft<'_>) -> Option<Look> {
    let touched = draft.task.course.evidence.tests.as_deref()?;
    let changes_tests = !touched.old.is_empty() || !touched.new.is_empty();
    if !changes_tests || !draft.task.can_look(draft.plan(), draft.id) {
        return None;
    }
    let looks = &draft.task.attempt.looks;
    let old = (!touched.old.is_empty()).then_some(Look::Old);
    let mut due = old.into_iter().chain([Look::New]);
    let look = due.find(|look| looks.of(*look).is_none())?;
    // Work that goes back for the first one needs no second one.
    let goes_back = look == Look::New && stages::sends_back(draft.view());
    (!goes_back).then_some(look)
}
