//! The finish gate of a sub-task that an agent delegates (semantics, sections 12 and 22): it may rest on no file that nobody would
//! protect from the sub-task, and only who may run commands may have it run any.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use rules::domain::TaskId;
use rules::engine::Fact;
use rules::judging::protected::paths_in;
use rules::mission::model::{ToolKind, ToolPolicy};
use rules::plan::{Plan, SubTask, read_delegations};

use super::context::WorkContext;

/// The sub-tasks that a turn delegates. Whoever watches is told of those that cannot be read, of at most so many.
pub fn taken(
    context: &WorkContext,
    plan: &Plan,
    task: TaskId,
    (delegated, most): (&Value, usize),
) -> Vec<SubTask> {
    let (sub_tasks, refused) = handed_down(plan, task, delegated);
    let title = plan.title(task);
    for why in refused.into_iter().take(most) {
        context.post(Fact::Warn(format!("'{title}' wants to delegate work: {why}")));
    }
    sub_tasks
}

/// Reads the sub-tasks that a task delegates. A gate that rests on a file of the workspace is for the mission to set: what a session
/// protects is known when it begins, and nobody would protect that file from the sub-task. And whoever may not run commands
/// has none run for it by a gate. Blocks.
pub fn handed_down(plan: &Plan, task: TaskId, value: &Value) -> (Vec<SubTask>, Vec<String>) {
    let (read, mut refused) = read_delegations(value);
    let mut held = Vec::with_capacity(read.len());
    let tools = plan.worker_of(task).spec.tools;
    let may_run = tools.is_none_or(|tools| tools.policy(ToolKind::Run) == ToolPolicy::Allow);
    for sub_task in read {
        let why = match unprotected(&plan.workspace_of(task), &sub_task) {
            _ if !may_run && sub_task.verify.is_some() => {
                "runs commands, which its agent may not (`tools.run`)".to_owned()
            }
            Some(file) => format!(
                "names {}, which nobody would protect from it; such a gate is for the mission to set",
                file.display()
            ),
            None => {
                held.push(sub_task);
                continue;
            }
        };
        refused.push(format!("'{}': its `verify` {why}", sub_task.title));
    }
    (held, refused)
}

/// A regular file below the workspace that the finish gate of a sub-task names.
fn unprotected(workspace: &Path, sub_task: &SubTask) -> Option<PathBuf> {
    let gate = sub_task.verify.as_deref()?;
    let workspace = fs::canonicalize(workspace).ok()?;
    let commands = gate.commands.iter().map(AsRef::as_ref);
    let own = [&gate.test_command, &gate.compile_command];
    let mut commands = commands.chain(own.into_iter().flatten().map(String::as_str));
    let file = |path: &PathBuf| {
        let found = fs::canonicalize(path).ok()?;
        (found.is_file() && (found.starts_with(&workspace) || path.starts_with(&workspace))).then_some(found)
    };
    commands.find_map(|command| paths_in(&workspace, command).iter().find_map(file))
}
