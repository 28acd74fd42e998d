//! The further stages at work: commands are run here; agents are asked in `ask`, with what is composed
//! here.

use serde_json::json;

use crate::executor::command::{CommandEnd, CommandJob};
use crate::executor::error::WorkError;
use crate::executor::runner::CommandOwner;
use crate::executor::spool::write_request;
use crate::executor::task_command::{CommandWork, TaskCommands};
use crate::review::evidence;
use crate::review::further_stages as prompt;
use crate::review::judgement::Judgement;
use crate::review::pictures::{self, Picture};
use crate::review::prompt::{JudgePrompt, ReviewedWork};
use crate::store::SpoolName;
use rules::domain::{Answer, FindingsReport, StageKey, TaskId, TurnId};
use rules::engine::{JobEnd, TaskState};
use rules::plan::{Plan, StageJudge, StagePlan, TaskPlan};

use super::context::{JobOrder, WorkContext, blocking};
use super::review_context::Case;

/// The answer of a stage's command, by its end.
fn judged(plan: &Plan, task: TaskId, step: StageKey, end: &CommandEnd) -> Result<Answer, WorkError> {
    let command = plan.task(task).step_command(step);
    let command = command.ok_or("the mission has no such stage any more")?;
    prompt::command_opinion(command, &end.outcome()).map_err(|fault| fault.to_string().into())
}

/// Reads the work, writes what the command of a stage is given and runs it; a vision check without an agent looks at its screenshots.
pub async fn stage(
    context: WorkContext,
    order: JobOrder,
    task_state: TaskState,
    (step, round): (StageKey, u32),
) -> Result<JobEnd, WorkError> {
    let JobOrder { turn, commands, .. } = order;
    let (task, plan) = (turn.task, commands.plan.clone());
    if step == StageKey::VISION {
        return blocking(move || match round {
            0 => JobEnd::Seen {
                files: evidence::scan(&plan.workspace_of(task), plan.task(task).screenshots()),
                hollow: None,
            },
            _ => JobEnd::Judged(look(&plan, task).map_err(String::from)),
        })
        .await;
    }
    let prepared = blocking(move || stage_command(&commands, &task_state, turn, (step, round)));
    let answer = match prepared.await? {
        Err(why) => Err(why),
        Ok(job) => {
            let end = context.commands.run(CommandOwner::Task(task), job).await;
            blocking(move || judged(&plan, task, step, &end)).await?
        }
    };
    Ok(JobEnd::Judged(answer.map_err(String::from)))
}

/// The command of a stage, its review request written. Blocks.
fn stage_command(
    commands: &TaskCommands,
    task_state: &TaskState,
    turn: TurnId,
    (step, round): (StageKey, u32),
) -> Result<CommandJob, WorkError> {
    let case = Case { commands, task: task_state };
    let (_, _, request) = compose(case, (step, round), None, &[])?;
    let review = SpoolName::StageReview(turn.task, turn.attempt, step, round);
    let review = write_request(&commands.file(&review), &request)?;
    let output = SpoolName::StageOut(turn.task, turn.attempt, step, round);
    commands.job(CommandWork::Stage(step, Some(review), output))
}

/// The prompt of a stage about the work.
///
/// # Errors
///
/// When the mission has no such stage any more.
fn question(
    work: &ReviewedWork<'_>,
    task: &TaskPlan,
    (step, unread): (StageKey, Option<&str>),
    pictures: &[Picture],
) -> Result<JudgePrompt, WorkError> {
    Ok(match task.stage(step) {
        Some(StagePlan::Own(stage)) => {
            let criteria = match &stage.by {
                StageJudge::Agent { criteria, .. } => criteria.as_deref(),
                StageJudge::Command(_) => None,
            };
            prompt::stage(work, &stage.name, criteria, unread)
        }
        Some(StagePlan::RedTeam(_)) => prompt::red_team(work, unread),
        Some(StagePlan::Vision(vision)) => {
            let is_shown = |path: &str| pictures.iter().any(|picture| picture.path == path);
            let named = task.screenshots();
            let missing: Vec<&str> = named.filter(|path| !is_shown(path)).collect();
            prompt::vision(work, &vision.expectations, (pictures, &missing), unread)
        }
        _ => return Err("the mission has no such stage any more".into()),
    })
}

/// The prompt of a stage, its record, and the prompt as JSON. Reads the work's output and files. Blocks.
///
/// # Errors
///
/// When the output is not what was recorded, or the mission has no such stage any more.
pub fn compose(
    case: Case<'_>,
    (step, round): (StageKey, u32),
    unread: Option<&str>,
    pictures: &[Picture],
) -> Result<(JudgePrompt, Judgement, Vec<u8>), WorkError> {
    let task = case.commands.plan.task(case.commands.task);
    let (asked, judgement) = case.ask(|work| question(work, task, (step, unread), pictures))?;
    let folder = case.commands.workspace();
    let screenshots: Vec<_> = pictures
        .iter()
        .map(|picture| {
            json!({
                "path": folder.join(&picture.path),
                "mediaType": picture.media_type,
                "digest": picture.digest.to_string(),
            })
        })
        .collect();
    let more = json!({
        "stage": step.stage().as_str(),
        "name": task.step_name(step),
        "autonomy": task.autonomy.as_str(),
        "stakes": task.stakes.as_str(),
        "screenshots": screenshots,
    });
    let request = case.as_json(round, &asked, more);
    Ok((asked, judgement, request))
}

/// The screenshots that a step is about: none but for a vision check. Blocks.
///
/// # Errors
/// When there is none any more, or one of them cannot be used.
pub fn pictures_of(plan: &Plan, task: TaskId, step: StageKey) -> Result<Vec<Picture>, WorkError> {
    if step != StageKey::VISION {
        return Ok(Vec::new());
    }
    let paths = plan.task(task).screenshots();
    let found = pictures::read_all(&plan.workspace_of(task), paths)?;
    if found.is_empty() {
        return Err("the screenshots are gone".into());
    }
    Ok(found)
}

/// The heuristic check: the last screenshot against all that it must show. Blocks.
fn look(plan: &Plan, task: TaskId) -> Result<Answer, WorkError> {
    let vision = plan.task(task).vision();
    let vision = vision.ok_or("the mission has no vision check any more")?;
    let found = pictures_of(plan, task, StageKey::VISION)?;
    let last = found.last().ok_or("the screenshots are gone")?;
    let found = pictures::violations(last, &vision.expectations, vision.tolerance)?;
    Ok(Answer::Findings(FindingsReport::whole(found)))
}
