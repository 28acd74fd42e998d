//! Tasks with side effects: once their agent may have acted, only a person's answer makes it act again (section 5).
//!
//! Everything that would make it act again comes through here: a failed review or a failed agent in `conclude::rework`, a
//! turn lost with its runner in `turns` and `resume`, a task that is done once more in `approvals::requests`, and
//! whatever else starts a turn in `turns::start_turn`, which is the only place that does.

use crate::domain::{Status, TurnId, WaitingReason};
use crate::engine::event::{Event, TaskEvent, TurnEvent};
use crate::engine::state::{APPROVED, REJECTED, State, TaskState};
use crate::mission::TaskPlan;

use super::approvals;
use super::draft::Draft;

/// Whether a person must let the agent act again first.
pub(in crate::engine) fn must_be_allowed(plan: &TaskPlan, task: &TaskState) -> bool {
    plan.side_effects && task.acted && !task.allowed_again
}

/// The same of a task that is being decided about.
pub(super) fn is_held(draft: &Draft<'_>) -> bool {
    must_be_allowed(draft.task_plan(), &draft.task)
}

/// Parks the task until a person answers. `why` says what its agent would act again for.
pub(super) fn hold_back(draft: &mut Draft<'_>, why: &str) {
    draft.enter_because(Status::AwaitingApproval, why);
    ask(draft, why);
}

/// Asks the person, once the task is parked.
pub(super) fn ask(draft: &mut Draft<'_>, why: &str) {
    let task = draft.id;
    draft.emit(Event::Task(
        task,
        TaskEvent::RetryBlocked {
            reason: why.to_owned(),
        },
    ));
    let number = draft.task.asked + 1;
    draft.emit(Event::Task(task, TaskEvent::ApprovalRequested {
        number,
        reason: WaitingReason::SideEffects,
        cause: None,
        stage: None,
        message: format!(
            "it has side effects and may have acted already: {why}; approve to let its agent act again, reject to fail it"
        ),
        gate: None,
        expires: None }));
}

/// A turn was lost: nobody knows how far it came.
pub(super) fn turn_lost(state: &State, turn: TurnId) -> Vec<Event> {
    let mut draft = Draft::new(state, turn.task);
    draft.emit(Event::Turn(turn, TurnEvent::Lost));
    if is_held(&draft) {
        hold_back(&mut draft, "its turn was lost, and how far it came is unknown");
    }
    draft.into_events()
}

/// A person lets it act again: the attempt that was planned begins, with a warning in its prompt.
pub(super) fn approve(state: &State, task: crate::domain::TaskId, by: &str) -> Vec<Event> {
    let mut draft = Draft::new(state, task);
    approvals::resolve(&mut draft, APPROVED, by);
    approvals::start(&mut draft);
    draft.into_events()
}

/// A person does not: it has failed.
pub(super) fn reject(state: &State, task: crate::domain::TaskId, reason: &str, by: &str) -> Vec<Event> {
    let mut draft = Draft::new(state, task);
    approvals::resolve(&mut draft, REJECTED, by);
    draft.fail(
        crate::domain::FailureMode::Rejected,
        format!("rejected by {by}: {reason}"),
    );
    draft.into_events()
}
