//! The verification stage: the task's criteria, graded one by one (semantics, sections 6.6 and 10).
//!
//! The engine counts rounds here and knows of no grader: whoever grades, its grades come back as one input, and what
//! they mean is decided in `judging::verification`. A grader that fails never costs the worker an attempt.

use crate::domain::{Cause, CriterionGrade, Stage, TaskId, Verdict};
use crate::engine::event::Event;
use crate::engine::state::State;
use crate::judging::verification::decide;

use super::conclude::{self, Accepted};
use super::draft::Draft;
use super::seats::panel_rounds;
use super::stages::in_review;

/// The stages before are content: on to the criteria, where the task has some, else to acceptance.
pub(super) fn begin(draft: &mut Draft<'_>, grounds: Accepted) {
    if draft.task_plan().verification.is_some() {
        ask(draft, 1, grounds == Accepted::Unreviewed);
    } else {
        conclude::accept(draft, grounds);
    }
}

fn ask(draft: &mut Draft<'_>, round: u32, unreviewed: bool) {
    draft.emit(Event::GradingRequested {
        task: draft.id,
        round,
        unreviewed,
    });
}

/// A grader came back.
pub(super) fn graded(
    state: &State,
    task: TaskId,
    attempt: u32,
    round: u32,
    result: &Result<Vec<CriterionGrade>, String>,
) -> Vec<Event> {
    let Some(mut draft) = in_review(state, task, attempt) else {
        return Vec::new();
    };
    let grading = draft.task.judging.as_deref().and_then(|judging| judging.grading);
    let Some(grading) = grading.filter(|grading| grading.open && grading.round == round) else {
        return Vec::new();
    };
    match result {
        Ok(grades) => settle(&mut draft, grades, grading.unreviewed),
        Err(message) => {
            draft.emit(Event::GradingFailed {
                task,
                round,
                message: message.clone(),
            });
            if u64::from(round) < panel_rounds(draft.plan()) {
                ask(&mut draft, round + 1, grading.unreviewed);
            } else {
                let message = format!("the criteria could not be graded: {message}");
                let message = put_to_a_person(message, grading.unreviewed);
                conclude::refer(&mut draft, Stage::Verification, Cause::GateError, &message);
            }
        }
    }
    draft.into_events()
}

fn settle(draft: &mut Draft<'_>, grades: &[CriterionGrade], unreviewed: bool) {
    let Some(verification) = draft.task_plan().verification.as_deref() else {
        return;
    };
    let decision = decide(
        &verification.criteria,
        grades,
        draft.plan().relieved(draft.id, verification.bar),
        verification.min_confidence,
    );
    let verdict = decision.verdict;
    let cause = decision.cause.unwrap_or(Cause::Confidence);
    let open: Vec<&str> = verification
        .criteria
        .iter()
        .zip(grades)
        .filter(|(_, grade)| grade.points.is_none())
        .map(|(criterion, _)| criterion.as_str())
        .collect();
    let message = format!(
        "{} of {} criteria could not be checked: {}",
        open.len(),
        grades.len(),
        open.join("; ")
    );
    conclude::stage(draft, Stage::Verification, verdict, decision.cause, |report| {
        report.points = decision.points;
        report.findings = decision.findings;
        report.grades = grades.to_vec();
        report.confidence = Some(decision.confidence);
    });
    match verdict {
        Verdict::Pass if unreviewed => conclude::accept(draft, Accepted::Unreviewed),
        Verdict::Pass => conclude::accept(draft, Accepted::Checked),
        Verdict::Fail => conclude::not_good_enough(draft),
        Verdict::Refer | Verdict::Skip | Verdict::Fault => {
            let message = put_to_a_person(message, unreviewed);
            conclude::ask_person(draft, Stage::Verification, cause, &message);
        }
    }
}

/// What a person is asked. Whoever says yes accepts the work, not only the criteria, and is then its reviewer; so they
/// must know where nobody else was (sections 9 and 20).
fn put_to_a_person(message: String, unreviewed: bool) -> String {
    if unreviewed {
        message + "; nobody has reviewed the work itself, so whoever approves it is its only reviewer"
    } else {
        message
    }
}
