//! Tasks with side effects: once their agent may have acted, only a person's answer makes it act again (section 5).
//!
//! Everything that would make it act again comes through here: a failed review or a failed agent in `conclude::rework`, a
//! turn lost with its runner in `turns` and `resume`, a task that is done once more in `approvals::go_on`, and
//! whatever else starts a turn in `turns::start_turn`, which is the only place that does.

use crate::domain::{TurnId, WaitingReason};
use crate::engine::event::{Event, TurnEvent};
use crate::engine::state::{Hold, State};

use super::draft::Draft;
use super::holds;

/// Whether side effects hold a task that is being decided about.
pub fn is_held(draft: &Draft<'_>) -> bool {
    draft.task.must_be_allowed(draft.task_plan())
}

/// Parks the task until a person answers. `why` says what its agent would act again for.
pub fn hold_back(draft: &mut Draft<'_>, why: &str) {
    let message = format!(
        "it has side effects and may have acted already: {why}; approve to let its agent act again, reject to fail it"
    );
    holds::ask(draft, Hold::of(WaitingReason::SideEffects), why, message);
}

/// A turn was lost: nobody knows how far it came.
pub fn turn_lost(state: &State, turn: TurnId) -> Vec<Event> {
    let mut draft = Draft::new(state, turn.task);
    draft.emit(Event::Turn(turn, TurnEvent::Lost));
    if is_held(&draft) {
        hold_back(&mut draft, "its turn was lost, and how far it came is unknown");
    }
    draft.into_events()
}
