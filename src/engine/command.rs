//! What a person can say to a run from outside, while it works or while nobody works on it.

use serde::{Deserialize, Serialize};

use crate::domain::{GateId, HoldId, Status, TaskId, WaitingReason};
use crate::mission::{HoldKind, Part, SubTask};

use super::state::{HoldStage, RunPhase, State};

/// An operator's command, as it is queued and as it is decided about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "do")]
pub enum Command {
    /// A task's work is accepted on a person's word.
    Approve {
        /// The task.
        task: TaskId,
        /// The approval's number within the task.
        number: u32,
    },
    /// A task's work is sent back.
    Reject {
        /// The task.
        task: TaskId,
        /// The approval's number within the task.
        number: u32,
        /// Why: what the worker is told.
        reason: String,
    },
    /// A question is answered.
    Answer {
        /// The task.
        task: TaskId,
        /// The approval's number within the task.
        number: u32,
        /// What its agent is told.
        text: String,
    },
    /// The run may go on behind a checkpoint.
    PassCheckpoint {
        /// The checkpoint.
        hold: HoldId,
        /// How often it was reached, this time included.
        number: u32,
    },
    /// It may not: what the checkpoint blocks is not done.
    RejectCheckpoint {
        /// The checkpoint.
        hold: HoldId,
        /// How often it was reached, this time included.
        number: u32,
        /// Why.
        reason: String,
    },
    /// A task is called off.
    CancelTask {
        /// The task.
        task: TaskId,
    },
    /// Everything that is not terminal is called off.
    CancelRun,
    /// Nothing more is started; what has started may finish.
    Pause,
    /// A request from outside is approved: the run gets its task.
    AddTask {
        /// The request's id.
        request: String,
        /// What is to be done.
        task: Box<SubTask>,
    },
    /// A failed gate is let pass.
    OverrideGate {
        /// The gate.
        gate: GateId,
        /// Why.
        reason: String,
    },
}

/// What a command meets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CommandResult {
    /// It changes the run.
    Applied,
    /// What it asks for holds already.
    AlreadySo,
    /// It came too late: something else was decided.
    DecidedOtherwise,
    /// It names what this run does not have.
    Unknown,
    /// It may hold later: what it decides about has not come up yet.
    TooEarly,
}

impl Command {
    /// Whether it is a person's judgement, which nobody else may give: it approves, rejects, answers or overrides. Work that
    /// is asked for, paused or cancelled is none.
    #[must_use]
    pub fn is_a_persons_word(&self) -> bool {
        match self {
            Self::Approve { .. }
            | Self::Reject { .. }
            | Self::Answer { .. }
            | Self::PassCheckpoint { .. }
            | Self::RejectCheckpoint { .. }
            | Self::OverrideGate { .. } => true,
            Self::CancelTask { .. } | Self::CancelRun | Self::Pause | Self::AddTask { .. } => false,
        }
    }
}

/// What a command meets in a state. Decides nothing.
#[must_use]
pub fn meets(state: &State, command: &Command) -> CommandResult {
    use CommandResult::{AlreadySo, Applied, DecidedOtherwise, TooEarly, Unknown};
    match command {
        Command::Approve { task, number } => answer_meets(state, *task, *number, true),
        Command::Reject { task, number, .. } => answer_meets(state, *task, *number, false),
        Command::Answer { task, number, text } => question_meets(state, *task, *number, text),
        Command::PassCheckpoint { hold, number } => checkpoint_meets(state, *hold, *number, true),
        Command::RejectCheckpoint { hold, number, .. } => checkpoint_meets(state, *hold, *number, false),
        Command::CancelTask { task } => match state.tasks.get(task.index()) {
            None => Unknown,
            // Nobody works on it, and nobody will.
            Some(_) if !state.takes(*task) => DecidedOtherwise,
            Some(task) if !task.status().is_terminal() => Applied,
            Some(task) if task.mode() == Some(crate::domain::FailureMode::Cancelled) => AlreadySo,
            Some(_) => DecidedOtherwise,
        },
        Command::CancelRun if state.is_unfinished() => Applied,
        Command::CancelRun => {
            let cancelled =
                |task: &super::TaskState| task.mode() == Some(crate::domain::FailureMode::Cancelled);
            if state.tasks.iter().any(cancelled) {
                AlreadySo
            } else {
                DecidedOtherwise
            }
        }
        Command::AddTask { request, task } => match super::decide::task_of(&state.plan, request) {
            Some(_) => AlreadySo,
            None if super::decide::scope(&state.plan, task).is_ok() => Applied,
            None => Unknown,
        },
        Command::Pause if state.phase == RunPhase::Running && !state.paused => Applied,
        Command::Pause => AlreadySo,
        Command::OverrideGate { gate, .. } => match state.gates.get(gate.index()) {
            None => Unknown,
            Some(found) if found.left || state.plan.gate(*gate).part != Part::Selected => TooEarly,
            Some(gate) if gate.is_open() => AlreadySo,
            Some(gate) if gate.result.is_none() && gate.open > 0 => TooEarly,
            // Evaluated or not: its tasks have ended.
            Some(found) if found.has_failed() || !super::evaluate_gate(state, *gate).passed => Applied,
            Some(_) => AlreadySo,
        },
    }
}

fn checkpoint_meets(state: &State, hold: HoldId, number: u32, pass: bool) -> CommandResult {
    let Some(held) = state.holds.get(hold.index()) else {
        return CommandResult::Unknown;
    };
    let is_checkpoint = state.plan.hold(hold).kind == HoldKind::Checkpoint;
    if !is_checkpoint || !(1..=held.number).contains(&number) {
        return CommandResult::Unknown;
    }
    let answered = if pass {
        HoldStage::Passed
    } else {
        HoldStage::Rejected
    };
    if super::decide::waits_for(state, hold, number) {
        CommandResult::Applied
    } else if number == held.number && held.stage == answered {
        CommandResult::AlreadySo
    } else {
        CommandResult::DecidedOtherwise
    }
}

fn answer_meets(state: &State, task: TaskId, number: u32, approve: bool) -> CommandResult {
    let Some(task) = state.tasks.get(task.index()) else {
        return CommandResult::Unknown;
    };
    let waits = task.hold().filter(|waiting| waiting.number == number);
    if let Some(waiting) = waits.filter(|_| task.status() == Status::AwaitingApproval) {
        // Yes and no are no answers to a question.
        return match waiting.reason {
            WaitingReason::Question => CommandResult::Unknown,
            _ => CommandResult::Applied,
        };
    }
    let given = task.consent.answers.iter().find(|answer| answer.number == number);
    match given {
        Some(answer) if answer.approved == approve => CommandResult::AlreadySo,
        Some(_) => CommandResult::DecidedOtherwise,
        // It was asked and is not asked any more: called off, or the reviewers were asked again.
        None if (1..=task.consent.asked).contains(&number) => CommandResult::DecidedOtherwise,
        None => CommandResult::Unknown,
    }
}

fn question_meets(state: &State, task: TaskId, number: u32, text: &str) -> CommandResult {
    let Some(task) = state.tasks.get(task.index()) else {
        return CommandResult::Unknown;
    };
    let waits = task.hold().filter(|waiting| waiting.number == number);
    if let Some(waiting) = waits.filter(|_| task.status() == Status::AwaitingApproval) {
        return match waiting.reason {
            WaitingReason::Question => CommandResult::Applied,
            _ => CommandResult::Unknown,
        };
    }
    let exchanges = task.dialog.iter().flat_map(|dialog| &dialog.exchanges);
    let mut given = exchanges.filter(|exchange| exchange.number == Some(number));
    match given.next() {
        Some(exchange) if exchange.answer == text => CommandResult::AlreadySo,
        Some(_) => CommandResult::DecidedOtherwise,
        None if (1..=task.consent.asked).contains(&number) => CommandResult::DecidedOtherwise,
        None => CommandResult::Unknown,
    }
}
