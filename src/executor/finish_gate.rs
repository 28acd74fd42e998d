//! Commands of finish gates: run like checks, in the same clean environment (semantics, section 6.3).

use crate::review::checks::exit_result;
use rules::domain::{Millis, TaskId};
use rules::engine::CheckResult;
use rules::plan::{FinishCommand, Plan, Requirement};

use super::command::CommandEnd;

/// A command of the gate of a task, by position.
pub fn declared(plan: &Plan, task: TaskId, command: u32) -> Option<&FinishCommand> {
    let gate = plan.task(task).finish()?;
    gate.commands.get(command as usize)
}

/// Reads the result of a finish gate's command: only exit 0 shows anything. Blocks.
pub fn finished(plan: &Plan, task: TaskId, command: u32, end: &CommandEnd) -> CheckResult {
    match declared(plan, task, command) {
        Some(FinishCommand { shows, command, .. }) => match shows {
            Requirement::Test(test) => exit_result("test", &command.replace("{test}", test), &end.outcome()),
            Requirement::Compilation | Requirement::Command => exit_result("script", command, &end.outcome()),
        },
        None => CheckResult::new(false, "there is no such command", Millis(0)),
    }
}
