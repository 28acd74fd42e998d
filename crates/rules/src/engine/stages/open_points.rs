//! What becomes of the points of an earlier review (semantics, section 4).

use crate::domain::{Answer, Cause, Finding, PriorAnswer, Stage, TaskId};
use crate::engine::state::TaskState;
use crate::judging::prior;
use crate::plan::Plan;

use super::view::View;

/// The points of the last review that sent a task's work back, where whoever judges it must answer for them.
pub fn prior_points(plan: &Plan, id: TaskId, task: &TaskState) -> Vec<Finding> {
    let verify = plan
        .task(id)
        .panel()
        .map_or(plan.rules.settings.verify_prior_feedback, |panel| panel.verify_prior_feedback);
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
        match findings.iter_mut().find(|known| known.description == point.description) {
            Some(known) => known.open = true,
            None => findings.push(point),
        }
    }
}

/// Why a judge's answers to the points of the review before are not whole; `None` where they are.
pub fn unanswered(points: usize, answer: &Answer) -> Option<String> {
    let answers: &[PriorAnswer] = match answer {
        Answer::Scores { prior, .. } | Answer::Evaluation { prior, .. } => prior,
        Answer::Grades(reply) => &reply.prior,
        Answer::Opinion(opinion) => &opinion.prior,
        Answer::Findings(report) => &report.prior,
        _ => &[],
    };
    prior::unanswered(points, answers)
}
