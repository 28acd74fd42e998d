//! Commands of finish gates: run like checks, in the same clean environment (semantics, section 6.3).

use crate::review::checks::{CommandOutcome, command_result};
use crate::test_clock::scaled_ms;
use rules::domain::{Millis, TaskId};
use rules::engine::CheckResult;
use rules::mission::model::{Check, CommandCheck};
use rules::mission::{FinishCommand, Plan, Requirement};

use super::command::{COMMAND_TIMEOUT, CommandEnd};

/// A command of the gate of a task, by position.
pub fn declared(plan: &Plan, task: TaskId, command: u32) -> Option<&FinishCommand> {
    let gate = plan.task(task).finish()?;
    gate.commands.get(command as usize)
}

/// Reads the result of a finish gate's command: only exit 0 shows anything. Blocks.
pub fn finished(plan: &Plan, task: TaskId, command: u32, end: &CommandEnd) -> CheckResult {
    match declared(plan, task, command) {
        Some(declared) => result(declared, &end.outcome()),
        None => CheckResult::new(false, "there is no such command", Millis(0)),
    }
}

fn result(declared: &FinishCommand, outcome: &CommandOutcome) -> CheckResult {
    let (kind, command) = match &declared.shows {
        Requirement::Test(test) => (CommandCheck::Test, declared.command.replace("{test}", test)),
        Requirement::Compilation | Requirement::Command => (CommandCheck::Script, declared.command.clone()),
    };
    let check = Check::Command {
        kind,
        command,
        timeout: Millis(scaled_ms(COMMAND_TIMEOUT.0)),
        cwd: None,
        before: None,
        reruns: 0,
        hidden: false,
    };
    command_result(&check, outcome)
}
