//! Audits: what was accepted is looked at again (semantics, section 6). Looks and commands only; each distinct command of a
//! workspace is run once, whoever asked for it. What was seen is a sealed file of the spool, which the record names.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::executor::check;
use crate::executor::command::CommandJob;
use crate::executor::error::WorkError;
use crate::executor::runner::{CommandOwner, Commands};
use crate::executor::spool;
use crate::executor::task_command::{CommandWork, TaskCommands};
use crate::review::evidence;
use crate::store::SpoolName;
use rules::domain::TaskId;
use rules::engine::{AuditEvidence, AuditReport, AuditedWork, CheckResult, Fact, FileFact, Looks};
use rules::mission::model::Check;
use rules::plan::Plan;

use super::context::{Undone, WorkContext, blocking};
use super::folder_setup::FolderUse;
use crate::runtime::isolation::worktrees::note_stored;

/// One command of an audit, with the checks that it answers for.
struct Rerun {
    job: CommandJob,
    checks: Vec<(TaskId, u32)>,
    /// How often the command runs again where a check fails.
    reruns: u32,
}

/// Looks at the files of all accepted work, runs the checks that are due by what it sees, and looks again. `commands` are those of
/// the run, for no task of it.
pub async fn audit(
    context: WorkContext,
    commands: TaskCommands,
    (number, work): (u32, Vec<AuditedWork>),
) -> Result<Fact, Undone> {
    let (plan, work) = (commands.plan.clone(), Arc::new(work));
    let merged = work.iter().find(|work| plan.task(work.task).has_worktree());
    if let Some(merged) = merged {
        let commands = commands_of(&commands, merged, None);
        context.accepted_folder(&commands, FolderUse::Audit).await?;
    }
    let (of, at) = (plan.clone(), work.clone());
    let looks = blocking(move || look(&of, &at)).await?;
    let due = work.iter().zip(&looks);
    let due = due.flat_map(|(work, (_, seen))| work.checks_due(seen).map(move |check| (work, check)));
    let due: Vec<_> = due.collect();
    let ((reruns, files), runs_none) = (reruns(&commands, number, &due), due.is_empty());
    let ends = run_all(&plan, &context.commands, reruns).await?;
    let path = context.folder.spool_file(&SpoolName::AuditSeen(number));
    let report = blocking(move || {
        let mut seen = AuditEvidence { looks, ..AuditEvidence::default() };
        for (task, check, result) in ends {
            seen.take(task, check, result);
        }
        for (task, check) in files {
            let folder = plan.audited_workspace_of(task);
            seen.take(task, check, check::files(&plan, task, check, &folder));
        }
        if !runs_none {
            seen.behind = look(&plan, &work);
        }
        let text = serde_json::to_vec(&seen)?;
        Ok(AuditReport { number, file: Some(spool::write_sealed(&path, &text)?), seen: Some(Box::new(seen)) })
    });
    let report: Result<_, WorkError> = report.await?;
    Ok(Fact::Audited(Box::new(report?)))
}

/// The commands of audited work, in a folder if that is not the task's.
fn commands_of(commands: &TaskCommands, work: &AuditedWork, folder: Option<PathBuf>) -> TaskCommands {
    TaskCommands { task: work.task, attempt: work.attempt, elsewhere: folder, ..commands.clone() }
}

/// The commands to be run, each distinct one once; and the checks that look at files.
fn reruns(
    commands: &TaskCommands,
    number: u32,
    due: &[(&AuditedWork, u32)],
) -> (Vec<Rerun>, Vec<(TaskId, u32)>) {
    let plan = &commands.plan;
    let mut files = Vec::new();
    let mut reruns: BTreeMap<(PathBuf, String, Option<TaskId>, u32, bool), Rerun> = BTreeMap::new();
    for (work, check) in due {
        let (task, check) = (work.task, *check);
        let Some(declared) = check::declared(plan, task, check) else {
            continue;
        };
        let (command, times) = match declared {
            Check::FileExists { .. } => {
                files.push((task, check));
                continue;
            }
            Check::Command { command, .. } | Check::Metric { command, .. } => (command, declared.reruns()),
        };
        let number_of_run = reruns.len().try_into().unwrap_or(u32::MAX);
        let output = SpoolName::Audit(number, number_of_run);
        let of_task = commands_of(commands, work, Some(plan.audited_workspace_of(task)));
        let Ok(mut job) = of_task.job(CommandWork::Check(check, output)) else {
            continue;
        };
        job.label = format!("audit.{number}.{number_of_run}");
        // One that asks for whom it runs is another command for each of them.
        let own = command.contains("QUORUM_").then_some(task);
        let timeout = job.timeout;
        let rerun = reruns
            .entry((job.cwd.clone(), command.clone(), own, times, job.sees_hidden))
            .or_insert_with(|| Rerun { job, checks: Vec::new(), reruns: times });
        // Whoever gives it the most time decides.
        rerun.job.timeout = rerun.job.timeout.max(timeout);
        rerun.checks.push((task, check));
    }
    (reruns.into_values().collect(), files)
}

fn look(plan: &Plan, work: &[AuditedWork]) -> Looks {
    let look = |work: &AuditedWork| {
        let folder = plan.audited_workspace_of(work.task);
        let look = |(file, _): &(FileFact, FileFact)| {
            let seen = evidence::look(&folder, file.path.clone());
            // Of the same bytes git stores the same.
            let stored = file.stored.clone().filter(|_| seen.digest == file.digest);
            FileFact { stored, ..seen }
        };
        let mut seen: Vec<FileFact> = work.files.iter().map(look).collect();
        note_stored(plan, &folder, &mut seen);
        (work.task, seen)
    };
    work.iter().map(look).collect()
}

/// The result of a task's check.
type RerunResult = (TaskId, u32, CheckResult);

/// As many at once as tasks may run; those of exclusive tasks alone.
async fn run_all(
    plan: &Arc<Plan>,
    commands: &Commands,
    reruns: Vec<Rerun>,
) -> Result<Vec<RerunResult>, WorkError> {
    let is_alone = |rerun: &Rerun| rerun.checks.iter().any(|(task, _)| plan.task(*task).exclusive);
    let (alone, others): (Vec<_>, Vec<_>) = reruns.into_iter().partition(is_alone);
    let slots = Arc::new(Semaphore::new(plan.rules.concurrency.max(1) as usize));
    let mut running = JoinSet::new();
    for rerun in others {
        let (plan, commands, slots) = (plan.clone(), commands.clone(), slots.clone());
        running.spawn(async move {
            // It is never closed.
            let _slot = slots.acquire_owned().await;
            run(plan, &commands, rerun).await
        });
    }
    let mut ends = running.join_all().await;
    for rerun in alone {
        ends.push(run(plan.clone(), commands, rerun).await);
    }
    let shown: Result<Vec<_>, _> = ends.into_iter().collect();
    Ok(shown?.concat())
}

/// Runs the command, and again as long as one of its checks has not passed and may run again.
async fn run(plan: Arc<Plan>, commands: &Commands, rerun: Rerun) -> Result<Vec<RerunResult>, WorkError> {
    let (mut open, mut shown) = (rerun.checks, Vec::new());
    for reruns in 0..=rerun.reruns {
        let end = commands.run(CommandOwner::Audit, rerun.job.clone()).await;
        let (plan, of) = (plan.clone(), open);
        let results = blocking(move || -> Vec<RerunResult> {
            let result = |(task, check)| CheckResult { reruns, ..check::result(&plan, task, check, &end) };
            of.into_iter().map(|of| (of.0, of.1, result(of))).collect()
        });
        let is_last = reruns == rerun.reruns;
        let (last, failed): (Vec<_>, Vec<_>) =
            results.await?.into_iter().partition(|(.., result)| result.passed || is_last);
        shown.extend(last);
        open = failed.into_iter().map(|(task, check, _)| (task, check)).collect();
        if open.is_empty() {
            break;
        }
    }
    Ok(shown)
}
