//! Work that another run has on record is judged once more: `quorum review TASK`.

use std::sync::Arc;

use crate::domain::{StageKey, TaskId, Timestamp};
use crate::plan::Plan;

use super::event_payload::{Deferral, DeferralReason};
use super::state::{Attempt, Course, Lifecycle, State, TaskState};

/// A run that is about to judge the last attempt of a task by all stages of its plan, and has nothing else to do. What no
/// stage can see again is as it is on record: what the worker said, which files it wrote, which calls it made, who worked,
/// what the work was built without, which files were protected when its run began. No verdict of the record counts, and the
/// work is not done again, whatever is found.
pub fn judged_again(plan: Arc<Plan>, id: TaskId, run: &State) -> State {
    let (mut state, recorded) = (State::new(plan), run.task(id));
    state.protected = Some(run.protected.clone().unwrap_or_default());
    state.notes.clone_from(&run.notes);
    let mut attempt = Attempt {
        number: recorded.attempt.number,
        kind: recorded.attempt.kind,
        turn: recorded.attempt.turn,
        calls: recorded.attempt.calls,
        denied: recorded.attempt.denied.clone(),
        looks: recorded.attempt.looks.again(),
        ..Attempt::default()
    };
    // Its worker was told of what is missing as often as it may be.
    (attempt.nudged.compilation, attempt.nudged.others) = (u32::MAX, u32::MAX);
    *state.task_mut(id) = TaskState {
        lifecycle: Lifecycle::Review(Box::default()),
        attempt,
        course: Course {
            tries: u32::MAX,
            retries: u32::MAX,
            evidence: recorded.course.evidence.clone(),
            told_of_tests: recorded.course.told_of_tests,
            authors_before: recorded.course.authors_before.clone(),
            ..Course::default()
        },
        output: recorded.output.clone(),
        remedies: recorded.remedies.clone(),
        // As work whose reviewers are asked again goes on behind its outcome, once it has a slot.
        deferral: Some(Box::new(Deferral {
            why: DeferralReason::Slot,
            until: Timestamp::default(),
            since: Timestamp::default(),
            message: String::new(),
            stage: Some(StageKey::OUTCOME),
        })),
        ..TaskState::default()
    };
    // What its checks said before the work is on record, for a fixup with what it mends.
    let begun = run.plan.mended_by(id).unwrap_or(id);
    state.task_mut(begun).course.baseline = run.task(begun).course.baseline.clone();
    state.task_mut(id).consent.begins_green = recorded.consent.begins_green;
    state.derive();
    state
}
