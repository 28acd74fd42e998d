//! What an operator's command leads to (sections 5, 14 and 20). Each command has one result, which is journaled with
//! the id of a queued one, so that it is never taken twice.

use std::cmp::Ordering;

use crate::domain::{FailureMode, GateId, HoldOwner, Status, TaskId, Timestamp, WaitingReason};
use crate::engine::event::{Event, GateEvent, MOST_AT_ONCE, RunEvent};
use crate::engine::fact::OperatorInput;
use crate::engine::operator_command::{Command, CommandResult};
use crate::engine::state::{BarrierStage, BelowBar, RunPhase, State, TaskState};
use crate::plan::{BarrierKind, Part};

use super::answers::{self, HoldCommand};
use super::draft::Draft;
use super::gates::evaluate_gate;
use super::intake;

pub fn command(state: &State, input: &OperatorInput, now: Timestamp) -> Vec<Event> {
    if input.id.as_ref().is_some_and(|id| state.commands.contains_key(id)) {
        return Vec::new();
    }
    let result = evaluate_command(state, &input.command);
    let mut events = match result {
        CommandResult::Applied => apply(state, &input.command, &input.by, now),
        _ => Vec::new(),
    };
    // A run of many tasks is cancelled in several records; the last one says that the command is taken.
    let is_whole =
        !matches!(input.command, Command::CancelRun) || open_tasks(state).nth(MOST_AT_ONCE).is_none();
    events.extend(
        input
            .id
            .clone()
            .filter(|_| is_whole)
            .map(|id| Event::Run(RunEvent::CommandTaken { id, result, by: input.by.clone() })),
    );
    events
}

fn apply(state: &State, command: &Command, by: &str, now: Timestamp) -> Vec<Event> {
    match command {
        Command::Approve { of, .. } => answers::said(state, *of, HoldCommand::Yes, by, now),
        Command::Reject { of, reason, .. } => answers::said(state, *of, HoldCommand::No(reason), by, now),
        Command::Answer { task, text, .. } => {
            answers::said(state, (*task).into(), HoldCommand::Text(text), by, now)
        }
        Command::AnswerAcceptance { task, refused, .. } => {
            answers::below_its_bar(state, *task, refused.as_deref(), by)
        }
        Command::CancelTask { task } => cancel(state, *task, by),
        Command::CancelRun => {
            let open = open_tasks(state).take(MOST_AT_ONCE);
            let is_new = !state.called_off;
            let cancelled = is_new.then(|| paused(by, true));
            let open = open.flat_map(|id| cancel(state, id, by));
            cancelled.into_iter().chain(open).collect()
        }
        Command::AddTask { request, task } => intake::add(state, request, task),
        Command::Pause => vec![paused(by, false)],
        Command::OverrideGate { gate, reason } => override_gate(state, *gate, reason, by),
    }
}

fn paused(by: &str, for_good: bool) -> Event {
    Event::Run(RunEvent::Paused { by: by.to_owned(), for_good })
}

fn open_tasks(state: &State) -> impl Iterator<Item = TaskId> {
    let ids = state.plan.selected_ids();
    ids.filter(|id| state.takes(*id) && !state.task(*id).status().is_terminal())
}

/// Ends whatever the task was doing with the transition: the turn in flight counts no more.
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
    events.push(Event::Gate(gate, GateEvent::Overridden { reason: reason.to_owned(), by: by.to_owned() }));
    events
}

/// The result of a command in a state. Decides nothing.
pub fn evaluate_command(state: &State, command: &Command) -> CommandResult {
    use CommandResult::{AlreadySo, Applied, DecidedOtherwise, TooEarly, Unknown};
    match command {
        Command::Approve { of, number } => answer_meets(state, *of, *number, true),
        Command::Reject { of, number, .. } => answer_meets(state, *of, *number, false),
        Command::Answer { task, number, text } => question_meets(state, *task, *number, text),
        Command::AnswerAcceptance { task, attempt, refused } => {
            acceptance_meets(state, *task, *attempt, refused.is_none())
        }
        Command::CancelTask { task } => match state.known(*task) {
            None => Unknown,
            // Nobody works on it, and nobody will.
            Some(_) if !state.takes(*task) => DecidedOtherwise,
            Some(task) if !task.status().is_terminal() => Applied,
            Some(task) if task.mode() == Some(FailureMode::Cancelled) => AlreadySo,
            Some(_) => DecidedOtherwise,
        },
        Command::CancelRun if state.is_unfinished() => Applied,
        Command::CancelRun => {
            let cancelled = |task: &TaskState| task.mode() == Some(FailureMode::Cancelled);
            if state.tasks.iter().any(cancelled) { AlreadySo } else { DecidedOtherwise }
        }
        Command::AddTask { request, task } => match intake::task_of(&state.plan, request) {
            Some(_) => AlreadySo,
            None if intake::scope(&state.plan, task).is_ok() => Applied,
            None => Unknown,
        },
        Command::Pause if state.phase == RunPhase::Running && !state.session.paused => Applied,
        Command::Pause => AlreadySo,
        Command::OverrideGate { gate, .. } => match state.gates.get(gate.index()) {
            None => Unknown,
            Some(found) if found.left || state.plan.gate(*gate).part != Part::Selected => TooEarly,
            Some(gate) if gate.is_open() => AlreadySo,
            Some(gate) if gate.result.is_none() && gate.open > 0 => TooEarly,
            // Evaluated or not: its tasks have ended.
            Some(found) if found.has_failed() || !evaluate_gate(state, *gate).passed => Applied,
            Some(_) => AlreadySo,
        },
    }
}

/// The result of a yes or a no to a hold.
fn answer_meets(state: &State, of: HoldOwner, number: u32, approve: bool) -> CommandResult {
    let Some((asked, given)) = answers(state, of, number) else {
        return CommandResult::Unknown;
    };
    if let Some(hold) = state.hold(of).filter(|hold| hold.number == number) {
        // Yes and no are no answers to a question.
        return match hold.reason {
            WaitingReason::Question => CommandResult::Unknown,
            _ => CommandResult::Applied,
        };
    }
    closed_meets(given.map(|approved| approved == approve), asked, number)
}

/// The result of an answer to a question that is not open; `is_same` says whether it was given this answer.
fn closed_meets(is_same: Option<bool>, asked: u32, number: u32) -> CommandResult {
    match is_same {
        Some(true) => CommandResult::AlreadySo,
        Some(false) => CommandResult::DecidedOtherwise,
        // It was asked and is not asked any more: called off, or the reviewers were asked again.
        None if (1..=asked).contains(&number) => CommandResult::DecidedOtherwise,
        None => CommandResult::Unknown,
    }
}

/// The result of a yes or a no to work that was accepted below its bar.
fn acceptance_meets(state: &State, task: TaskId, attempt: u32, approve: bool) -> CommandResult {
    let Some(task) = state.known(task) else {
        return CommandResult::Unknown;
    };
    match (task.attempt.number.cmp(&attempt), task.attempt.below_bar) {
        (Ordering::Equal, BelowBar::Told) if task.status() == Status::Done => CommandResult::Applied,
        (Ordering::Equal, BelowBar::Answered(answer)) if answer == approve => CommandResult::AlreadySo,
        (Ordering::Less, _) | (Ordering::Equal, BelowBar::No) => CommandResult::Unknown,
        _ => CommandResult::DecidedOtherwise,
    }
}

/// How often a person was asked about it, and whether they said yes or no to that number; `None` where nobody is asked.
fn answers(state: &State, of: HoldOwner, number: u32) -> Option<(u32, Option<bool>)> {
    match of {
        HoldOwner::Task(task) => {
            let consent = &state.known(task)?.consent;
            let mut given = consent.answers.iter().filter(|answer| answer.number == number);
            Some((consent.asked, given.next().map(|answer| answer.approved)))
        }
        HoldOwner::Barrier(barrier) => {
            let found = state.barriers.get(barrier.index())?;
            let is_asked = state.plan.barrier(barrier).kind == BarrierKind::Checkpoint;
            let given = match found.stage {
                BarrierStage::Passed => Some(true),
                BarrierStage::Rejected => Some(false),
                BarrierStage::Ahead | BarrierStage::Held(_) => None,
            };
            is_asked.then(|| (found.number, given.filter(|_| found.number == number)))
        }
    }
}

fn question_meets(state: &State, task: TaskId, number: u32, text: &str) -> CommandResult {
    let Some(task) = state.known(task) else {
        return CommandResult::Unknown;
    };
    if let Some(waiting) = task.hold().filter(|waiting| waiting.number == number) {
        return match waiting.reason {
            WaitingReason::Question => CommandResult::Applied,
            _ => CommandResult::Unknown,
        };
    }
    let exchanges = task.dialog.iter().flat_map(|dialog| &dialog.exchanges);
    let mut given = exchanges.filter(|exchange| exchange.number == Some(number));
    let is_same = given.next().map(|exchange| exchange.answer == text);
    closed_meets(is_same, task.consent.asked, number)
}
