//! Whether the engine still waits for what it asked for.

use crate::engine::{Effect, State};

/// Whether the task is still where the effect expects it.
pub(super) fn is_wanted(state: &State, effect: &Effect) -> bool {
    match effect {
        Effect::NoteFiles { turn, .. } => {
            let task = state.task(turn.task);
            let is_ahead = task.attempt.number == turn.attempt && task.attempt.turn < turn.turn;
            is_ahead && task.is_between_turns()
        }
        Effect::Audit { number } => state.audit.out && state.audit.number == *number,
        _ => effect.work().is_none_or(|work| state.is_out(work)),
    }
}
