//! Files that a task's rules name are looked at.

use std::sync::Arc;

use crate::executor::error::WorkError;
use crate::executor::spool::read_output;
use crate::review::evidence;
use crate::runtime::isolation::worktrees::note_stored;
use rules::domain::{TaskId, TurnId};
use rules::engine::{AfterScan, FileFact, Job, JobEnd, OutputRefs};
use rules::judging::heuristic::named_files;
use rules::judging::hollow::hollow;
use rules::plan::Plan;

use super::context::{JobOrder, WorkContext, blocking};
use super::folder_setup::FolderUse;

/// How much of either end of an answer is read, in bytes.
const MOST_ANSWER: usize = 64 * 1024;

/// Looks at the files that a task's rules name, and at the `answer` that may stand for no work, where its rules ask for that. A
/// verification that begins is given all that was accepted so far.
pub async fn scan(
    context: WorkContext,
    order: JobOrder,
    answer: Option<OutputRefs>,
) -> Result<JobEnd, WorkError> {
    let (plan, turn) = (order.commands.plan.clone(), order.turn);
    let task = turn.task;
    let begins = matches!(order.job, Job::Scan { then: AfterScan::Preflight, .. });
    let is_given = begins && plan.task(task).has_worktree() && !plan.task(task).commits();
    if is_given {
        context.accepted_folder(&order.commands, FolderUse::Task(task)).await?;
    }
    blocking(move || {
        is_given.then(|| context.protection.take_folder(task));
        JobEnd::Seen {
            files: files_of(&plan, task),
            hollow: answer.and_then(|output| hollow_answer(&context, &plan, turn, &output)),
        }
    })
    .await
}

/// Looks at what a failed task was to make, in the workspace where it worked.
pub async fn artifacts(plan: Arc<Plan>, dependency: TaskId) -> Result<JobEnd, WorkError> {
    blocking(move || {
        let targets = plan.task(dependency).target_files.iter().map(AsRef::as_ref);
        JobEnd::Seen { files: evidence::scan(&plan.workspace_of(dependency), targets), hollow: None }
    })
    .await
}

/// The files that a task's rules name, as they are now. Blocks.
pub fn files_of(plan: &Plan, task: TaskId) -> Vec<FileFact> {
    let task_plan = plan.task(task);
    let criteria = task_plan.verification().map_or(&[][..], |v| &v.criteria);
    let spoken_of = named_files(criteria);
    let folder = plan.workspace_of(task);
    let mut files = evidence::scan(
        &folder,
        task_plan.named_files().chain(spoken_of.iter().map(String::as_str)).chain(task_plan.screenshots()),
    );
    note_stored(plan, &folder, &mut files);
    files
}

/// Why the answer of an agent that is known to have done or written nothing stands for no work; `None` where it stands for the
/// work, or cannot be read, which is not hollow. Blocks.
fn hollow_answer(context: &WorkContext, plan: &Plan, turn: TurnId, output: &OutputRefs) -> Option<String> {
    let answer = read_output(&context.folder, turn, output, MOST_ANSWER).ok()?;
    let only_speaks = !plan.worker_of(turn.task).spec.may_delegate();
    hollow(&format!("{}{}", answer.head, answer.tail), only_speaks).map(str::to_owned)
}
