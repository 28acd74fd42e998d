//! The judge breaker: so many judged rejections of one model's work in a row, and its work is not judged any more in this
//! wave (semantics, section 7). It is unverified then, never clean, and indeterminate where a review was asked for.
//!
//! A task that its judges have sent back stays theirs, and so does the fixup that mends it: every attempt that it is allowed
//! is judged, the last one too (section 4), and work that is known to be bad is never accepted unseen.

use crate::domain::{Cause, Finding, Severity, Stage, TaskId, Verdict};
use crate::engine::state::State;
use crate::mission::model::Review;

use super::conclude::{self, Accepted};
use super::draft::Draft;
use super::stages::{JudgedBy, ask_people, judged_by};
use super::verification;

/// The rejections in a row that keep a task's work from its judges; `None` while they are asked. Preflight rejects and
/// failed checks never count: they are no judge's word.
pub(super) fn open(state: &State, id: TaskId) -> Option<u32> {
    let asks_agents = match judged_by(state, id) {
        JudgedBy::Panel(panel) => !panel.seats.is_empty(),
        JudgedBy::Evaluation(agents) => !agents.is_empty(),
        JudgedBy::ChecksOnly | JudgedBy::Nobody => false,
    };
    if !asks_agents || state.task(id).course.sent_back {
        return None;
    }
    let panel = state
        .plan
        .task(id)
        .expectations
        .as_deref()
        .and_then(|e| e.panel.as_ref());
    let own = panel.and_then(|panel| panel.judge_breaker);
    let limit = own.unwrap_or(state.plan.rules.judge_breaker);
    let rejections = state.rejections(id);
    (limit > 0 && rejections >= limit).then_some(rejections)
}

/// On without the judges. People who were named have their say all the same.
pub(super) fn not_judged(draft: &mut Draft<'_>, rejections: u32) {
    let judged_by = judged_by(draft.state, draft.id);
    if let JudgedBy::Panel(panel) = &judged_by
        && !panel.people.is_empty()
    {
        return ask_people(draft, &panel.people);
    }
    let asked_for = matches!(judged_by, JudgedBy::Panel(_)) || draft.task_plan().review == Review::Required;
    let message = format!(
        "not judged: {rejections} rejections in a row of the work of {} in this wave",
        draft.state.worker_model(draft.id)
    );
    conclude::stage(
        draft,
        Stage::Judge,
        Verdict::Skip,
        Some(Cause::Breaker),
        |report| {
            report.findings = vec![Finding::new(Severity::High, message)];
            report.indeterminate = asked_for;
        },
    );
    verification::begin(draft, Accepted::Unreviewed);
}
