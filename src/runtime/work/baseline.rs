//! Looks at what the checks of a task say before its work begins, in the folder that it will work in (semantics, section 24).

use std::collections::BTreeMap;

use crate::executor::baseline_look::BaselineLook;
use crate::executor::error::WorkError;
use rules::engine::JobEnd;

use super::baseline_cache::known;
use super::context::{JobOrder, WorkContext, blocking};

/// Looks what the checks of a task say before its work, and puts a worktree back to what it began with.
pub async fn baseline(context: WorkContext, order: JobOrder) -> Result<JobEnd, WorkError> {
    let (plan, task) = (order.commands.plan.clone(), order.turn.task);
    let mut look =
        BaselineLook { commands: order.commands, turn: order.turn, known: BTreeMap::new(), elsewhere: None };
    if !plan.task(task).has_worktree() {
        let checks = look.look(&context.commands).await;
        return Ok(JobEnd::Baseline { on: None, checks });
    }
    let (worktrees, of) = (context.worktrees.clone(), plan.clone());
    let (commit, start) = blocking(move || worktrees.start_of(&of, task)).await??;
    let place = {
        let mut all = crate::locked(&context.seen_on);
        all.at(&commit, plan.task(task).workspace.as_deref())
    };
    let mut seen = place.lock().await;
    look.known = seen.clone();
    let checks = look.look(&context.commands).await;
    seen.extend(known(&checks));
    drop(seen);
    blocking(move || context.worktrees.put_back(task, &start)).await??;
    Ok(JobEnd::Baseline { on: Some(commit.into()), checks })
}
