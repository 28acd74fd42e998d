//! How much a task may cost before anything has happened: found by playing the engine's own rules, so that a plan
//! cannot promise other limits than a run keeps.

use crate::domain::{AttemptKind, Purpose, TaskId};
use crate::engine::stages::{judges, panel_rounds};
use crate::engine::state::{Committed, State, TaskState};
use crate::engine::work::policy::{WorkKind, policy};
use crate::mission::model::OnExhausted;
use crate::plan::{Judge, TaskPlan};

use crate::plan::eligibility::candidates;

use super::conclude::allowed_attempt;

/// More attempts than this are not counted: such a limit limits nothing.
const COUNTED: u32 = 10_000;

/// The most that one task may take in a run without a person's help, with the fixup that it may get.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WorstCase {
    /// Attempts of every kind; `None` where the limits allow more than anybody would count.
    pub attempts: Option<u32>,
    /// Calls to reviewers when every attempt is judged and every call answered as it should be.
    pub judge_calls: Option<u64>,
    /// Calls to reviewers when all of them are reprompted, refused by providers and asked again as often as possible.
    /// A request that met the limit of a subscription and waited for it is not counted: `maxWindowWait` bounds it.
    pub judge_calls_with_repeats: Option<u64>,
}

/// The most that a task may take in a run without a person's help (sections 4 and 7). Depends on the plan alone.
pub fn worst_case(state: &State, id: TaskId) -> WorstCase {
    let judge = state.plan.judge(id);
    let rounds = panel_rounds(&state.plan);
    let seat_rounds = match judge {
        Some(Judge::Panel(_)) => rounds,
        _ => 1,
    };
    let mut attempts = attempts(state.plan.task(id), judge);
    if gets_fixup(state, id) {
        let fixup = TaskPlan { foundation: false, ..state.plan.task(id).clone() };
        attempts = attempts.zip(self::attempts(&fixup, judge)).map(|(own, fixup)| own.saturating_add(fixup));
    }
    let per_attempt = |calls: u64| attempts.map(|attempts| u64::from(attempts).saturating_mul(calls));
    // What its criteria are cut into holds for all attempts of a task; a fixup is another task.
    let cuts = 1 + u64::from(gets_fixup(state, id));
    let (mut calls, mut repeats, mut calls_once, mut repeats_once) = (0, 0_u64, 0, 0);
    for (purpose, first) in judges(&state.plan, id) {
        // Whoever stands in for a judge has as many requests as that one had.
        let asked = candidates(&state.plan, id, first, purpose.step()).count() as u64;
        let most = asked * most_requests(purpose);
        if let Purpose::Decompose { .. } = purpose {
            (calls_once, repeats_once) = (cuts, most * cuts);
            continue;
        }
        let rounds = if purpose.seat().is_some() { seat_rounds } else { 1 };
        calls += 1;
        repeats = repeats.saturating_add(most.saturating_mul(rounds));
    }
    WorstCase {
        attempts,
        judge_calls: per_attempt(calls).map(|calls| calls.saturating_add(calls_once)),
        judge_calls_with_repeats: per_attempt(repeats).map(|calls| calls.saturating_add(repeats_once)),
    }
}

/// The most requests to one agent for a reply of that purpose: those that fail count over both questions. A judge that is
/// alone in its stage has room to be asked anew about files that changed meanwhile.
fn most_requests(purpose: Purpose) -> u64 {
    let policy = policy(WorkKind::Ask(purpose));
    u64::from(match purpose {
        Purpose::Score(_) => 1 + policy.request_retries + policy.reprompts,
        _ => (1 + policy.request_retries) * (1 + policy.reprompts),
    })
}

/// Whether the task is given to a fixup when its attempts are used up.
fn gets_fixup(state: &State, id: TaskId) -> bool {
    let policy = state.plan.task(id).on_exhausted.or(state.plan.rules.on_exhausted);
    policy == Some(OnExhausted::Fixup)
}

/// Plays a task whose every attempt is sent back.
fn attempts(plan: &TaskPlan, judge: Option<&Judge>) -> Option<u32> {
    if plan.route.is_some() {
        // Of one visit: what is sent back is begun anew, with it.
        return Some(1);
    }
    let evaluated = judge.is_some_and(Judge::is_evaluation);
    let has_checks =
        !plan.checks().is_empty() || plan.verification().is_some() || plan.steps().next().is_some();
    let has_judges = judge.is_some_and(|judge| !judge.seats().is_empty() || !judge.people().is_empty());
    // Work that nothing can reject comes back only when its agent fails, and then it is never fixed.
    let only_by_agent = !has_checks && !has_judges && plan.target_files.is_empty() && !plan.is_isolated();
    let mut task = TaskState::default();
    task.plan_attempt(1, AttemptKind::Execute);
    if plan.is_isolated() {
        // Its merge may send it back once beside the limits.
        task.course.committed = Some(Box::new(Committed { conflicts: 1, ..Committed::default() }));
    }
    while let Some(kind) = allowed_attempt(plan, &task, only_by_agent, evaluated) {
        if task.course.tries >= COUNTED {
            return None;
        }
        task.plan_attempt(task.attempt.number + 1, kind);
    }
    Some(task.course.tries)
}
