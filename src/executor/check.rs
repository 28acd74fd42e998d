//! Checks: how the command of one is started, and what its end says (semantics, section 6.4).

use std::path::Path;

use crate::agents::command::check_argv;
use crate::review::checks::{command_result, files_result};
use crate::store::SpoolName;
use rules::domain::{Millis, TaskId};
use rules::engine::CheckResult;
use rules::mission::Plan;
use rules::mission::model::Check;

use super::command::{CommandEnd, CommandJob, SHOWN};
use super::spool::read_head;
use super::task_command::TaskCommands;

/// A check of a task, by position.
pub fn declared(plan: &Plan, task: TaskId, check: u32) -> Option<&Check> {
    plan.task(task).checks().get(check as usize)
}

/// How the command of a check is started; `None` for one that runs none.
pub fn job(commands: &TaskCommands, check: u32, output: &SpoolName) -> Option<CommandJob> {
    let declared = declared(&commands.plan, commands.task, check)?;
    let (command, timeout, cwd) = match declared {
        Check::Command {
            command,
            timeout,
            cwd,
            ..
        } => (command, *timeout, cwd.as_ref()),
        Check::Metric { command, timeout, .. } => (command, *timeout, None),
        Check::FileExists { .. } => return None,
    };
    let mut job = commands.plain(
        &format!("check.{check}"),
        check_argv(command),
        Vec::new(),
        output,
        timeout,
    );
    job.sees_hidden = declared.is_hidden();
    if let Some(cwd) = cwd {
        job.cwd = job.cwd.join(cwd);
    }
    if matches!(declared, Check::Metric { .. }) {
        // What a metric prints decides, of the others it is how they end: its number must stand alone.
        job.sealed = true;
        job.outputs.stderr = None;
    }
    Some(job)
}

/// Reads the result of a check from the end of its command. Blocks.
pub fn result(plan: &Plan, task: TaskId, check: u32, end: &CommandEnd) -> CheckResult {
    let outcome = match (declared(plan, task, check), &end.outputs().stdout) {
        // A metric prints one number and nothing else, so that more than this is none.
        (Some(Check::Metric { .. }), Some(output)) => {
            let read = read_head(output, SHOWN).map(|mut head| {
                if end.exit.stdout_len > SHOWN {
                    head.push('…');
                }
                head
            });
            end.outcome_with(read)
        }
        _ => end.outcome(),
    };
    match declared(plan, task, check) {
        Some(declared) => command_result(declared, &outcome),
        None => missing(),
    }
}

/// The result of a check that looks at files. Blocks.
pub fn files(plan: &Plan, task: TaskId, check: u32, workspace: &Path) -> CheckResult {
    match declared(plan, task, check) {
        Some(Check::FileExists {
            paths,
            min_bytes,
            contains,
            ..
        }) => files_result(workspace, paths, *min_bytes, contains.as_deref()),
        _ => missing(),
    }
}

/// The result of a check that the mission does not have any more.
fn missing() -> CheckResult {
    CheckResult::new(false, "there is no such check", Millis(0))
}
