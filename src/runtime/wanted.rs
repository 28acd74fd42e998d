//! Whether the engine still waits for what it asked for.

use crate::domain::Status;
use crate::engine::{Effect, State};

/// Whether the task is still where the effect expects it.
pub(super) fn is_wanted(state: &State, effect: &Effect) -> bool {
    match effect {
        Effect::RunTurn { turn, .. } | Effect::KillTurn { turn, .. } => {
            state.task(turn.task).work.turn.is_some() && state.current_turn(turn.task) == *turn
        }
        Effect::NoteFiles { turn, .. } => {
            let task = state.task(turn.task);
            let waits =
                task.work.turn.is_none() && matches!(task.status(), Status::Assigned | Status::InProgress);
            waits && task.attempt.number == turn.attempt && task.attempt.turn < turn.turn
        }
        Effect::Job { turn, job } => state.is_out(*turn, *job),
        Effect::Audit { number } => state.audit.out && state.audit.number == *number,
        Effect::Ask { id, .. } => state.task(id.task).work.asks.iter().any(|open| open.id == *id),
        Effect::PreparePrompt(_)
        | Effect::StopTask(_)
        | Effect::StopAll
        | Effect::Deliver { .. }
        | Effect::File { .. } => true,
    }
}
