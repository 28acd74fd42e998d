//! What an operator's command leads to (sections 5, 14 and 20). Each command has one result, which is journaled with
//! the id of a queued one, so that it is never taken twice.

use crate::domain::{
    Cause, FailureMode, Finding, GateId, Severity, Stage, StageKey, Status, TaskId, Timestamp, Verdict,
    WaitingReason,
};
use crate::engine::command::{Command, CommandResult, meets};
use crate::engine::event::{Event, GateEvent, RunEvent, TaskEvent};
use crate::engine::fact::OperatorInput;
use crate::engine::payload::StageReport;
use crate::engine::stages::Grounds;
use crate::engine::state::{APPROVED, REJECTED, State};

use super::conclude;
use super::draft::Draft;
use super::gates::evaluate_gate;
use super::questions;
use super::{admission, approvals, escalation, holds, intake, side_effects};

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
    let waits = |task: TaskId| state.task(task).waiting.as_ref().map(|waiting| waiting.reason);
    match command {
        Command::Approve { task, number } => match waits(*task) {
            Some(WaitingReason::Approval) => approvals::approve(state, *task, by, now),
            Some(WaitingReason::SideEffects) => side_effects::approve(state, *task, by),
            Some(WaitingReason::Operator) => escalation::approve(state, *task, by, now),
            Some(WaitingReason::Auth) => questions::allow(state, *task, *number, by),
            _ => approve(state, *task, *number, by, now),
        },
        Command::Reject { task, number, reason } => match waits(*task) {
            Some(WaitingReason::Approval) => approvals::reject(state, *task, reason, by),
            Some(WaitingReason::SideEffects) => side_effects::reject(state, *task, reason, by),
            Some(WaitingReason::Auth) => questions::deny(state, *task, reason, by),
            _ => reject(state, *task, *number, reason, by),
        },
        Command::PassCheckpoint { hold, .. } => holds::pass(*hold, by),
        Command::RejectCheckpoint { hold, reason, .. } => holds::reject(state, *hold, reason, by),
        Command::Answer { task, number, text } => questions::answered(state, *task, *number, text, by),
        Command::CancelTask { task } => cancel(state, *task, by),
        Command::CancelRun => {
            let open = state
                .plan
                .selected_ids()
                .filter(|id| state.takes(*id) && !state.task(*id).status.is_terminal());
            open.flat_map(|id| cancel(state, id, by)).collect()
        }
        Command::AddTask { request, task } => intake::add(state, request, task),
        Command::Pause => vec![Event::Run(RunEvent::Paused { by: by.to_owned() })],
        Command::OverrideGate { gate, reason } => override_gate(state, *gate, reason, by),
    }
}

/// A person's word stands for the stage that referred the work: that person is the reviewer, beside the panel that let it
/// pass, if there was one; its score is then the work's score. The stages behind it still have their say, for a person
/// who was asked about one did not speak of the others. The last of them speaks of the work: where no reviewer had read
/// it, the question says so, and the person is its reviewer (clean, not unreviewed).
fn approve(state: &State, task: TaskId, number: u32, by: &str, now: Timestamp) -> Vec<Event> {
    let at = referred_at(state, task);
    let panel = asked_about(state, task, at);
    let last_word = is_exhausted(state, task);
    let points = state.task(task).points;
    let changed = &state.task(task).changed;
    let mut draft = answered(state, task, number, APPROVED, by);
    let mut report = draft.view().report(at, Verdict::Pass, None);
    // What the judges gave stays the score, whatever the person says of it.
    report.points = points.filter(|_| last_word);
    if let Some(panel) = panel {
        report.points = panel.points;
        report.dimensions.clone_from(&panel.dimensions);
        report.outliers.clone_from(&panel.outliers);
        report.findings.clone_from(&panel.findings);
    }
    let since = |path: &String| {
        let text =
            format!("{path} changed after the question was asked; the yes is for what it was when given");
        Finding::new(Severity::Info, text)
    };
    report.findings.extend(changed.iter().map(since));
    report.by = Some(by.to_owned());
    conclude::record(&mut draft, *report);
    if last_word {
        conclude::accept(&mut draft, conclude::Accepted::On(Grounds::ByPerson));
    } else {
        admission::go_on_behind(&mut draft, at, now);
    }
    draft.into_events()
}

/// The work is sent back with the person's reason, within the limits of its attempts. What a panel found goes with it;
/// its score does not, for the work is not as good as the panel thought.
fn reject(state: &State, task: TaskId, number: u32, reason: &str, by: &str) -> Vec<Event> {
    let at = referred_at(state, task);
    let panel = asked_about(state, task, at);
    let last_word = is_exhausted(state, task);
    let mut draft = answered(state, task, number, REJECTED, by);
    let mut report = draft.view().report(at, Verdict::Fail, Some(Cause::Rejected));
    report.findings = vec![Finding::new(Severity::High, reason)];
    let found = panel.into_iter().flat_map(|panel| panel.findings.clone());
    report.findings.extend(found);
    report.by = Some(by.to_owned());
    conclude::record(&mut draft, *report);
    if last_word {
        draft.fail(FailureMode::Rejected, format!("rejected by {by}: {reason}"));
    } else {
        conclude::not_good_enough(&mut draft);
    }
    draft.into_events()
}

/// Whether a person was asked because the attempts are used up: then their word ends the task, either way.
fn is_exhausted(state: &State, task: TaskId) -> bool {
    let waiting = state.task(task).waiting.as_ref();
    waiting.is_some_and(|waiting| waiting.cause == Some(Cause::Exhausted))
}

/// The stage that a task waits for a person at.
fn referred_at(state: &State, task: TaskId) -> StageKey {
    let waiting = state.task(task).waiting.as_ref();
    waiting.map_or(StageKey::Of(Stage::Judge), |waiting| waiting.stage)
}

/// What the panel said about the work, if it is the panel's word that the person was asked to confirm.
fn asked_about(state: &State, task: TaskId, at: StageKey) -> Option<&StageReport> {
    let panel = state.task(task).panel.as_deref();
    panel.filter(|_| at == StageKey::Of(Stage::Judge))
}

fn answered<'a>(state: &'a State, task: TaskId, number: u32, resolution: &str, by: &str) -> Draft<'a> {
    let mut draft = Draft::new(state, task);
    draft.emit(Event::Task(
        task,
        TaskEvent::ApprovalResolved {
            number,
            resolution: resolution.to_owned(),
            by: by.to_owned(),
        },
    ));
    draft.enter(Status::Review);
    draft
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
