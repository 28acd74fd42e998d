//! Checks: what the end of one says (semantics, section 6.4).

use std::path::Path;

use crate::review::checks::{command_result, files_result};
use rules::domain::{Millis, TaskId};
use rules::engine::CheckResult;
use rules::mission::model::Check;
use rules::plan::Plan;

use super::command::{CommandEnd, SHOWN};
use super::spool::read_head;

/// A check of a task, by position.
pub fn declared(plan: &Plan, task: TaskId, check: u32) -> Option<&Check> {
    plan.task(task).checks().get(check as usize)
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
        Some(Check::FileExists { paths, min_bytes, contains, .. }) => {
            files_result(workspace, paths, *min_bytes, contains.as_deref())
        }
        _ => missing(),
    }
}

/// The result of a check that the mission does not have any more.
fn missing() -> CheckResult {
    CheckResult::new(false, "there is no such check", Millis(0))
}
