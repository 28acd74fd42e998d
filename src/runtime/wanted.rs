//! Whether the engine still waits for what it asked for.

use crate::domain::Status;
use crate::engine::{Effect, State};

/// Whether the task is still where the effect expects it.
pub(super) fn is_wanted(state: &State, effect: &Effect) -> bool {
    match effect {
        Effect::RunTurn { turn, .. } | Effect::KillTurn { turn, .. } => {
            state.task(turn.task).running.is_some() && state.current_turn(turn.task) == *turn
        }
        Effect::NoteFiles { turn, .. } => {
            let task = state.task(turn.task);
            let waits =
                task.running.is_none() && matches!(task.status, Status::Assigned | Status::InProgress);
            waits && task.attempt == turn.attempt && task.turn < turn.turn
        }
        Effect::RunFinish { turn, command } => {
            let judging = state.task(turn.task).judging.as_deref();
            let is_open = judging.is_some_and(|judging| judging.finish_open() == Some(*command));
            is_open && state.current_turn(turn.task) == *turn
        }
        Effect::Audit { number } => state.audit.out && state.audit.number == *number,
        Effect::ScanFiles { turn, .. } => {
            state.task(turn.task).status == Status::Review && state.current_turn(turn.task) == *turn
        }
        Effect::RunCheck { task, attempt, .. } => {
            state.task(*task).status == Status::Review && state.task(*task).attempt == *attempt
        }
        Effect::Grade { task, attempt, round } => {
            let task = state.task(*task);
            let judging = task.judging.as_deref();
            let grading = judging.and_then(|judging| judging.grading);
            task.attempt == *attempt && grading.is_some_and(|grading| grading.open && grading.round == *round)
        }
        Effect::RunStep {
            task,
            attempt,
            step,
            round,
        } => {
            let task = state.task(*task);
            let open = task.judging.as_deref().and_then(|judging| judging.step);
            task.attempt == *attempt
                && open.is_some_and(|open| open.open && open.step == *step && open.round == *round)
        }
        Effect::ScanArtifacts { task, dependency } => {
            let remedies = state.task(*task).remedies.as_deref();
            remedies.is_some_and(|remedies| remedies.scanning.contains(dependency))
        }
        Effect::AskApprover {
            task,
            number,
            approver,
        } => {
            let waiting = state.task(*task).waiting.as_ref();
            waiting.is_some_and(|waiting| waiting.number == *number && waiting.asking == Some(*approver))
        }
        Effect::Ask { id, .. } => state.task(id.task).asks.iter().any(|open| open.id == *id),
        Effect::PreparePrompt(_)
        | Effect::StopTask(_)
        | Effect::StopAll
        | Effect::Deliver { .. }
        | Effect::File { .. } => true,
    }
}
