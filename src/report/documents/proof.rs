//! What the checks of a task said before its work, and what that shows (semantics, section 24).

use schemars::JsonSchema;
use serde::Serialize;

use super::fields;
use rules::{
    domain::{BeforeWork, Cause, TaskId},
    engine::{Mark, State},
    judging::baseline_checks::is_wanted,
};

/// How many checks of a task said what before its work.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProofRow {
    /// Checks that failed before the work.
    pub red: usize,
    /// Checks that passed before the work.
    green: usize,
    /// Checks of which nobody knows what they said before the work.
    unknown: usize,
    /// How many are proven by tests that the work brought.
    proven_by_new_tests: usize,
    /// The meaning of the counts, in words.
    #[serde(skip_serializing_if = "fields::in_json")]
    #[schemars(skip)]
    pub words: String,
}

impl ProofRow {
    /// `None` where nothing is known yet, and where there is no check.
    pub fn of(state: &State, id: TaskId) -> Option<Self> {
        let mut items = state.weighed_items(id);
        items.retain(|item| !state.is_left_out(id, item));
        let is_off = !is_wanted(&state.plan, id);
        let is_known = !state.baseline_results(id).is_empty() || is_off || state.task(id).attempt.turn > 0;
        if items.is_empty() || !is_known {
            return None;
        }
        let count = |result| {
            let said = items.iter().map(|item| state.before(id, item).result);
            said.filter(|before| *before == result).count()
        };
        let task = state.task(id);
        let proven = items.iter().filter(|item| state.weighed(id, task, item).is_proven_by_new_tests());
        let proven_by_new_tests = proven.count();
        let all = [BeforeWork::Red, BeforeWork::Green, BeforeWork::Unknown];
        let [red, green, unknown] = all.map(count);
        let total = items.len();
        let before = match (red, unknown) {
            _ if is_off => "baselines off".to_owned(),
            (0, _) if unknown == total => "baseline unknown".to_owned(),
            (_, 0) => format!("{red} of {total} checks were red before"),
            _ => format!("{red} of {total} checks were red before, {unknown} unknown"),
        };
        let before = match proven_by_new_tests {
            0 => before,
            number => format!("{before}, {number} proven by new tests"),
        };
        let words = match shows_nothing(state, id) {
            Some(why) => format!("{before}; {why}"),
            None => before,
        };
        Some(Self { red, green, unknown, proven_by_new_tests, words })
    }
}

/// Why accepted work is proved by nothing: nothing but checks stands for it, and these show nothing. `None`
/// where something does.
pub(crate) fn shows_nothing(state: &State, id: TaskId) -> Option<&'static str> {
    let attempt = &state.task(id).attempt;
    if attempt.is_vacuous() && state.weighed_items(id).is_empty() {
        Some("proved by nothing: no file is another one than before the work")
    } else if attempt.is_vacuous() {
        Some("proved by nothing: its checks were green before the work began")
    } else if attempt.has(Mark::OnlyGuards) {
        Some("only guards: nothing shows that the work was done")
    } else {
        None
    }
}

/// Why the flag of accepted work is what it is, where that is no verdict's cause.
pub fn flag_cause(state: &State, id: TaskId) -> Option<Cause> {
    let task = state.task(id);
    task.flag()?;
    if task.attempt.has(Mark::TestsChanged) {
        Some(Cause::TestsChanged)
    } else {
        task.attempt.is_vacuous().then_some(Cause::Vacuous)
    }
}
