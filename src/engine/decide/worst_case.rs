//! How much a task may cost before anything has happened: found by playing the engine's own rules, so that a plan
//! cannot promise other limits than a run keeps.

use crate::domain::{AttemptKind, TaskId};
use crate::engine::state::{State, TaskState};
use crate::mission::TaskPlan;
use crate::mission::model::OnExhausted;

use crate::judging::eligibility::grader;

use super::conclude::allowed_attempt;
use super::scrutiny;
use super::seats::{MAX_REPROMPTS, panel_rounds};
use super::stages::{JudgedBy, judged_by};
use super::turns::MAX_REQUEST_RETRIES;

/// More attempts than this are not counted: such a limit limits nothing.
const COUNTED: u32 = 10_000;

/// The most that one task may take in a run without a person's help, with the fixup that it may get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorstCase {
    /// Attempts of every kind; `None` where the limits allow more than anybody would count.
    pub attempts: Option<u32>,
    /// Calls to reviewers when every attempt is judged and every call answered as it should be.
    pub judge_calls: Option<u64>,
    /// Calls to reviewers when all of them are reprompted, refused by providers and asked again as often as possible.
    pub judge_calls_with_repeats: Option<u64>,
}

/// The most that a task may take. Depends on the plan alone.
pub(in crate::engine) fn worst_case(state: &State, id: TaskId) -> WorstCase {
    let judged_by = judged_by(state, id);
    let rounds = panel_rounds(&state.plan);
    let (seats, in_all_rounds) = match &judged_by {
        JudgedBy::Panel(panel) => (panel.seats.len() as u64, panel.seats.len() as u64 * rounds),
        JudgedBy::Evaluation(agents) => (agents.len() as u64, agents.len() as u64),
        JudgedBy::ChecksOnly | JudgedBy::Nobody => (0, 0),
    };
    let mut attempts = attempts(state.plan.task(id), &judged_by);
    if gets_fixup(state, id) {
        let fixup = TaskPlan {
            foundation: false,
            ..state.plan.task(id).clone()
        };
        attempts = attempts
            .zip(self::attempts(&fixup, &judged_by))
            .map(|(own, fixup)| own.saturating_add(fixup));
    }
    let per_attempt = |calls: u64| attempts.map(|attempts| u64::from(attempts).saturating_mul(calls));
    let tries = u64::from(1 + MAX_REPROMPTS + MAX_REQUEST_RETRIES);
    // A judge that grades by a rubric is asked anew, without a strict reprompt of its own.
    let grades = u64::from(state.plan.rules.evaluate && grader(&state.plan, id).is_some());
    let grade_repeats = u64::from(1 + MAX_REQUEST_RETRIES).saturating_mul(rounds);
    let further = scrutiny::agents(&state.plan, id).count() as u64;
    let further_repeats = u64::from(1 + MAX_REQUEST_RETRIES).saturating_mul(scrutiny::MOST_ROUNDS.into());
    // What its criteria are cut into holds for all attempts of a task; a fixup is another task.
    let verification = state.plan.task(id).verification.as_deref();
    let is_cut = verification.is_some_and(|verification| verification.decomposer.is_some());
    let cuts = grades * u64::from(is_cut) * (1 + u64::from(gets_fixup(state, id)));
    let repeats = in_all_rounds.saturating_mul(tries);
    WorstCase {
        attempts,
        judge_calls: per_attempt(seats + grades + further).map(|calls| calls.saturating_add(cuts)),
        judge_calls_with_repeats: per_attempt(
            repeats
                .saturating_add(grades * grade_repeats)
                .saturating_add(further * further_repeats),
        )
        .map(|calls| calls.saturating_add(cuts.saturating_mul(grade_repeats))),
    }
}

/// Whether the task is given to a fixup when its attempts are used up.
fn gets_fixup(state: &State, id: TaskId) -> bool {
    let policy = state.plan.task(id).on_exhausted.or(state.plan.rules.on_exhausted);
    policy == Some(OnExhausted::Fixup)
}

/// Plays a task whose every attempt is sent back.
fn attempts(plan: &TaskPlan, judged_by: &JudgedBy) -> Option<u32> {
    if plan.route.is_some() {
        // Of one visit: what is sent back is begun anew, with it.
        return Some(1);
    }
    let evaluated = matches!(judged_by, JudgedBy::Evaluation(_));
    let has_checks = plan
        .expectations
        .as_deref()
        .is_some_and(|expectations| !expectations.checks.is_empty())
        || plan.verification.is_some()
        || plan.scrutiny.next(None).is_some();
    let has_judges = match judged_by {
        JudgedBy::Panel(panel) => !panel.is_empty(),
        JudgedBy::Evaluation(agents) => !agents.is_empty(),
        JudgedBy::ChecksOnly | JudgedBy::Nobody => false,
    };
    // Work that nothing can reject comes back only when its agent fails, and then it is never fixed.
    let only_by_agent = !has_checks && !has_judges && plan.target_files.is_empty();
    let mut task = TaskState::default();
    task.plan_attempt(1, AttemptKind::Execute);
    while let Some(kind) = allowed_attempt(plan, &task, only_by_agent, evaluated) {
        if task.tries >= COUNTED {
            return None;
        }
        task.plan_attempt(task.attempt + 1, kind);
    }
    Some(task.tries)
}
