//! Looks at tests that the work changed, between its checks and its judges (semantics, section 24): which is made, in which order,
//! and what becomes of the work behind them. What they mean is in `stages::changed_tests`.

use crate::domain::Verdict;
use crate::engine::job::Job;
use crate::engine::looks::Look;
use crate::engine::stages;

use super::transaction::Transaction;
use super::{conclude, request};

/// Makes what is to be looked at before anybody judges the work. Whether judges must wait for it, or the work went back.
pub(super) fn come_first(draft: &mut Transaction<'_>) -> bool {
    let looks = &draft.task.attempt.looks;
    // What a person has accepted is not looked at any more.
    if looks.told || draft.task.attempt.accepted.is_some() {
        return false;
    }
    if let Some(look) = looks.open.or_else(|| next(draft)) {
        if looks.open.is_none() {
            request::run(draft, Job::Look(look));
        }
        return true;
    }
    conclude(draft)
}

/// The look that is to be made now.
fn next(draft: &Transaction<'_>) -> Option<Look> {
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

fn conclude(draft: &mut Transaction<'_>) -> bool {
    let Some(report) = stages::weigh_tests(draft.view()) else {
        return false;
    };
    let goes_back = report.verdict == Verdict::Fail;
    conclude::record(draft, *report);
    if goes_back {
        conclude::not_good_enough(draft);
    }
    goes_back
}
