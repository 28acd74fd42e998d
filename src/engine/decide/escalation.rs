//! Escalation (semantics, section 17): an agent says that what it was told does not hold. No number of attempts mends that, so a
//! person is asked before its work is judged. Their yes has it judged as it is; it is no word about the work.

use crate::domain::{BrokenAssumption, Stage, StageKey, Status, TaskId, Timestamp, TurnId, WaitingReason};
use crate::engine::event::{Event, TaskEvent, TurnEvent};
use crate::engine::state::{APPROVED, State};

use super::draft::Draft;
use super::{admission, approvals};

/// Parks the task until a person answers.
pub(super) fn raise(draft: &mut Draft<'_>, broken: &BrokenAssumption) {
    let turn = TurnId {
        task: draft.id,
        attempt: draft.task.attempt,
        turn: draft.task.turn,
    };
    draft.emit(Event::Turn(
        turn,
        TurnEvent::Escalated {
            broken: broken.clone(),
        },
    ));
    draft.enter_because(
        Status::AwaitingApproval,
        "its agent says that what it was told does not hold",
    );
    let number = draft.task.asked + 1;
    draft.emit(Event::Task(draft.id, TaskEvent::ApprovalRequested {
        number,
        reason: WaitingReason::Operator,
        cause: None,
        stage: Some(StageKey::Of(Stage::Outcome)),
        message: format!(
            "its agent says that what it was told does not hold ({}): {:?}; approve to have its work judged as it is, reject \
             to send it back with your reason",
            broken.kind.as_str(),
            broken.evidence
        ),
        gate: None,
        expires: None }));
}

/// A person wants the work judged as it is.
pub(super) fn approve(state: &State, task: TaskId, by: &str, now: Timestamp) -> Vec<Event> {
    let mut draft = Draft::new(state, task);
    approvals::resolve(&mut draft, APPROVED, by);
    draft.enter(Status::Review);
    admission::go_on_behind(&mut draft, StageKey::Of(Stage::Outcome), now);
    draft.into_events()
}
