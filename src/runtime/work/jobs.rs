//! Work of a task that is neither a turn nor a question to an agent: what all of it has in common, and the kinds that are one
//! command or one step.

use std::pin::Pin;

use crate::agents::command_line::missing_program;
use crate::executor::approver;
use crate::executor::command::{CommandEnd, CommandJob, How};
use crate::executor::error::WorkError;
use crate::executor::runner::CommandOwner;
use crate::executor::task_command::{CommandWork, TaskCommands};
use crate::executor::{check, finish_gate};
use crate::runtime::isolation::guard::guarded;
use crate::store::SpoolName;
use rules::domain::TaskId;
use rules::engine::{CheckResult, Committed, Fact, Job, JobEnd, WorkId};

use super::context::{JobOrder, Undone, WorkContext, blocking};

/// The work of a job, which has not begun.
pub type JobWork = Pin<Box<dyn Future<Output = Result<JobEnd, WorkError>> + Send>>;

/// Does a job; one that judges while protected files are as they must be. `is_confined`: whether mounts hold files for it; `known` is
/// what the folder of an isolated task is made with before its baseline.
pub async fn job(
    context: WorkContext,
    order: JobOrder,
    (is_confined, known): (bool, Option<Committed>),
    work: JobWork,
) -> Result<Fact, Undone> {
    let JobOrder { turn, job, commands } = order;
    let plan = commands.plan.clone();
    if let Some(known) = known {
        context.own_folder(commands, known).await?;
    }
    let work = async {
        let end = work.await?;
        Ok(Fact::JobEnded { turn, job, end })
    };
    if job.judges() {
        guarded(&context, (plan, WorkId::job(turn, job), is_confined), work).await
    } else {
        Ok(work.await?)
    }
}

/// Runs a check of a task, or that of another one in the folder of this one, where both lie together. `reruns`: how often it has run
/// before.
pub async fn check(
    context: WorkContext,
    order: JobOrder,
    (of, check): (TaskId, u32),
    reruns: u32,
) -> Result<JobEnd, WorkError> {
    let JobOrder { turn, job, commands } = order;
    let plan = commands.plan.clone();
    let commands =
        TaskCommands { elsewhere: Some(plan.workspace_seen_by(turn.task, of)), task: of, ..commands };
    let output = match job {
        Job::PeerCheck(..) => SpoolName::PeerCheck(turn.task, turn.attempt, of, check),
        _ => SpoolName::Check(turn.task, turn.attempt, check),
    };
    let Ok(command) = commands.job(CommandWork::Check(check, output)) else {
        let folder = commands.workspace();
        return blocking(move || JobEnd::Checked(check::files(&plan, of, check, &folder))).await;
    };
    let end = run(&context, turn.task, command, matches!(job, Job::Check(_))).await?;
    blocking(move || JobEnd::Checked(CheckResult { reruns, ..check::result(&plan, of, check, &end) })).await
}

/// Runs a command of the finish gate.
pub async fn finish(context: WorkContext, order: JobOrder, command: u32) -> Result<JobEnd, WorkError> {
    let (plan, turn) = (order.commands.plan.clone(), order.turn);
    let work = CommandWork::Finish(command, SpoolName::Finish(turn, command));
    let end = match order.commands.job(work) {
        Ok(job) => run(&context, turn.task, job, true).await?,
        Err(_) => CommandEnd::default(),
    };
    blocking(move || JobEnd::Checked(finish_gate::finished(&plan, turn.task, command, &end))).await
}

/// Runs a command that judges. Where its program is missing that is no word about the work: whoever can install it need not have
/// that done again.
async fn run(
    context: &WorkContext,
    task: TaskId,
    job: CommandJob,
    needs_program: bool,
) -> Result<CommandEnd, WorkError> {
    let script = job.script().filter(|_| needs_program);
    let script = script.unwrap_or_default().to_owned();
    let end = context.commands.run(CommandOwner::Task(task), job).await;
    match (end.how(), missing_program(&script)) {
        (How::Exited(127), Some(program)) => {
            Err(format!("`{script}` judges the work, and `{program}` was not found on PATH").into())
        }
        _ => Ok(end),
    }
}

/// Asks an approver that is a command.
pub async fn ask_approver(
    context: WorkContext,
    order: JobOrder,
    (number, approver): (u32, u32),
    command: Box<str>,
) -> Result<JobEnd, WorkError> {
    let job = order.commands.job(CommandWork::Approver(number, approver, &command))?;
    let end = context.commands.run(CommandOwner::Task(order.turn.task), job).await;
    blocking(move || approver::answered(&command, &end)).await
}

/// Merges the work of a task; `known` is what was committed of it, where it has worked.
pub async fn merge(
    context: WorkContext,
    order: JobOrder,
    known: Option<Committed>,
) -> Result<JobEnd, WorkError> {
    let (plan, task) = (order.commands.plan, order.turn.task);
    let WorkContext { worktrees, protection, .. } = context;
    let merged = blocking(move || worktrees.merge(&plan, &protection, task, known.as_ref()));
    Ok(JobEnd::Merged(merged.await??))
}
