//! Why a judge is asked once more, and what becomes of the points of an earlier review (semantics, section 4).
//!
//! One reprompt in all: a reply that cannot be read, or that leaves points without an answer, is asked for again once, and
//! is told the real reason. The second reply counts if it can be read, else the first.

use crate::domain::{Answer, Cause, Finding, PriorAnswer, Purpose, Stage, TaskId};
use crate::engine::state::TaskState;
use crate::judging::{prior, probes, rubric};
use crate::mission::Plan;

use super::view::View;

/// The points of the last review that sent a task's work back, where whoever judges it must answer for them.
pub fn prior_points(plan: &Plan, id: TaskId, task: &TaskState) -> Vec<Finding> {
    let verify = plan
        .task(id)
        .panel()
        .map_or(plan.rules.settings.verify_prior_feedback, |panel| {
            panel.verify_prior_feedback
        });
    let last = task.feedback.last().filter(|_| verify);
    // Where no review could be read, or none took place, there is nothing to answer for.
    let said = last.filter(|last| last.cause != Some(Cause::Unparsed) && last.stage != Stage::Outcome);
    said.map_or_else(Vec::new, |last| prior::points(&last.findings, &last.dimensions))
}

/// The points that are still open by what the judges of a stage answered. What a stage of facts had found, it has looked at
/// again before any judge is asked: of that only what a judge says itself is open.
pub fn open_points(view: View<'_>, reviewers: &[&[PriorAnswer]]) -> Vec<Finding> {
    let points = view.prior_points();
    let found_by = view.task.feedback.last().map(|last| last.stage);
    let holds_now = matches!(
        found_by,
        Some(Stage::Preflight | Stage::Finish | Stage::Checks | Stage::Merge | Stage::Audit)
    );
    prior::open(points, reviewers, !holds_now)
}

/// Adds what is still open to what was found; what a reviewer says itself is not said twice.
pub fn carry_on(findings: &mut Vec<Finding>, open: Vec<Finding>) {
    for point in open {
        match findings
            .iter_mut()
            .find(|known| known.description == point.description)
        {
            Some(known) => known.open = true,
            None => findings.push(point),
        }
    }
}

/// The answers of a judge to the points of the review before.
pub fn answers(answer: &Answer) -> &[PriorAnswer] {
    match answer {
        Answer::Grades(reply) => &reply.prior,
        Answer::Opinion(opinion) => &opinion.prior,
        Answer::Findings(report) => &report.prior,
        _ => &[],
    }
}

/// Why a judge of a verification, or of a stage behind it, is asked this round; `None` where it is asked for the first
/// time, or could not be asked before.
pub fn reprompt(plan: &Plan, id: TaskId, task: &TaskState, purpose: Purpose) -> Option<String> {
    if purpose.round()? <= 1 {
        return None;
    }
    let heard = task.judging()?.heard.as_deref()?;
    let verification = plan.task(id).verification();
    let unfit = match &heard.answer {
        Answer::Unreadable { why, .. } => Some(why.clone()),
        Answer::Findings(report) if report.unread.is_some() => report.unread.clone(),
        Answer::Grades(reply) => verification
            .and_then(|verification| verification.rubric.as_deref())
            .and_then(|rubric| rubric::fit(rubric, reply).err()),
        Answer::Probes(found) => probes::fit(plan.task(id).acceptance.len(), found).err(),
        _ => None,
    };
    let is_judge = purpose.sees_the_work();
    let unanswered = || {
        let points = prior_points(plan, id, task);
        prior::unanswered(points.len(), answers(&heard.answer)).filter(|_| is_judge)
    };
    unfit.or_else(unanswered)
}
