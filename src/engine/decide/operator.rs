//! What an operator's command leads to (sections 5, 14 and 20). Each command has one result, which is journaled with
//! the id of a queued one, so that it is never taken twice.

use crate::domain::{FailureMode, GateId, TaskId, Timestamp};
use crate::engine::command::{Command, CommandResult, meets};
use crate::engine::event::{Event, GateEvent, RunEvent};
use crate::engine::fact::OperatorInput;
use crate::engine::state::State;

use super::draft::Draft;
use super::gates::evaluate_gate;
use super::holds::{self, Word};
use super::intake;

pub(super) fn command(state: &State, input: &OperatorInput, now: Timestamp) -> Vec<Event> {
    if input
        .id
        .as_ref()
        .is_some_and(|id| state.commands.contains_key(id))
    {
        return Vec::new();
    }
    let result = meets(state, &input.command);
    let mut events = match result {
        CommandResult::Applied => apply(state, &input.command, &input.by, now),
        _ => Vec::new(),
    };
    events.extend(input.id.clone().map(|id| {
        Event::Run(RunEvent::CommandTaken {
            id,
            result,
            by: input.by.clone(),
        })
    }));
    events
}

fn apply(state: &State, command: &Command, by: &str, now: Timestamp) -> Vec<Event> {
    match command {
        Command::Approve { task, .. } => holds::said(state, *task, Word::Yes, by, now),
        Command::Reject { task, reason, .. } => holds::said(state, *task, Word::No(reason), by, now),
        Command::Answer { task, text, .. } => holds::said(state, *task, Word::Text(text), by, now),
        Command::PassCheckpoint { hold, .. } => holds::passed(*hold, Some(by)),
        Command::RejectCheckpoint { hold, reason, .. } => holds::refused(state, *hold, reason, by),
        Command::CancelTask { task } => cancel(state, *task, by),
        Command::CancelRun => {
            let open = state
                .plan
                .selected_ids()
                .filter(|id| state.takes(*id) && !state.task(*id).status().is_terminal());
            open.flat_map(|id| cancel(state, id, by)).collect()
        }
        Command::AddTask { request, task } => intake::add(state, request, task),
        Command::Pause => vec![Event::Run(RunEvent::Paused { by: by.to_owned() })],
        Command::OverrideGate { gate, reason } => override_gate(state, *gate, reason, by),
    }
}

/// Whatever the task was doing ends with the transition: the turn in flight counts no more.
fn cancel(state: &State, task: TaskId, by: &str) -> Vec<Event> {
    let mut draft = Draft::new(state, task);
    draft.fail(FailureMode::Cancelled, format!("cancelled by {by}"));
    draft.into_events()
}

/// Lets a failed gate pass. One that a killed run never came to evaluate is evaluated first, for the record.
fn override_gate(state: &State, gate: GateId, reason: &str, by: &str) -> Vec<Event> {
    let Some(found) = state.gates.get(gate.index()) else {
        return Vec::new();
    };
    let mut events = Vec::new();
    if found.result.is_none() && found.open == 0 && !found.overridden {
        let result = evaluate_gate(state, gate);
        if result.passed {
            return Vec::new();
        }
        events.push(Event::Gate(gate, GateEvent::Evaluated { result }));
    } else if !found.has_failed() {
        return Vec::new();
    }
    events.push(Event::Gate(
        gate,
        GateEvent::Overridden {
            reason: reason.to_owned(),
            by: by.to_owned(),
        },
    ));
    events
}
