//! The stages behind the verification at work: commands are run here; agents are asked in `consult`, with what is
//! composed here.

use std::path::Path;
use std::sync::Arc;

use crate::agents::command::{check_argv, environment};
use crate::agents::secrets::Secrets;
use crate::domain::{Advice, FindingsReport, Millis, Step, TaskId};
use crate::engine::{Input, State, TaskState};
use crate::mission::{Plan, StageJudge, StagePlan};
use crate::review::checks::CommandOutcome;
use crate::review::evidence;
use crate::review::judgement::Judgement;
use crate::review::pictures::{self, Picture};
use crate::review::prompt::{JudgePrompt, Work};
use crate::review::scrutiny as prompt;
use crate::store::{RunFolder, SpoolName};
use crate::supervisor::{self, Spawn};

use super::children::{CHECK_SHOWN, command_outcome};
use super::material::Material;
use super::session::RunError;
use super::spool::{clean, read_tail, write_told};
use super::world::{Child, Message, World, workspace};

/// How long a stage may take that does not say: as long as a check (section 6).
const STAGE_TIMEOUT: Millis = Millis::from_secs(600);

/// One round of a stage that needs no agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StepRun {
    pub task: TaskId,
    pub attempt: u32,
    pub step: Step,
    pub round: u32,
}

/// One that is to be run.
struct Job {
    run: StepRun,
    plan: Arc<Plan>,
    folder: RunFolder,
    secrets: Arc<Secrets>,
    task_state: TaskState,
    variables: Vec<(String, String)>,
}

/// One that can be started, or why not.
pub(super) struct PreparedStep {
    run: StepRun,
    plan: Arc<Plan>,
    spawn: Result<Box<Spawn>, String>,
}

impl StepRun {
    /// Whether the engine still waits for it.
    pub(super) fn is_wanted(&self, state: &State) -> bool {
        let task = state.task(self.task);
        let open = task.judging.as_deref().and_then(|judging| judging.step);
        task.attempt == self.attempt
            && open.is_some_and(|open| open.open && open.step == self.step && open.round == self.round)
    }

    fn said(self, result: Result<Advice, String>, never_began: bool) -> Input {
        Input::StepJudged {
            task: self.task,
            attempt: self.attempt,
            step: self.step,
            round: self.round,
            result,
            never_began,
        }
    }

    /// Which screenshots are there. Blocks.
    fn seen(self, plan: &Plan) -> Input {
        let screenshots = plan.task(self.task).scrutiny.screenshots();
        Input::ScreenshotsSeen {
            task: self.task,
            attempt: self.attempt,
            files: evidence::scan(&workspace(plan, self.task), screenshots),
        }
    }

    /// There never was a process.
    pub(super) fn never_started(self, plan: &Plan, why: String) -> Input {
        let outcome = CommandOutcome {
            not_started: Some(why),
            ..CommandOutcome::default()
        };
        self.ended(plan, &outcome)
    }

    fn ended(self, plan: &Plan, outcome: &CommandOutcome) -> Input {
        let result = match command_of(plan, self.task, self.step) {
            Some((_, command)) => prompt::command_opinion(command, outcome),
            None => Err("the mission has no such stage any more".to_owned()),
        };
        self.said(result, outcome.not_started.is_some())
    }

    /// Its position among the stages of the task.
    fn position(self) -> u32 {
        match self.step {
            Step::Stage(n) => n,
            Step::RedTeam | Step::Vision => 0,
        }
    }

    fn output(self) -> SpoolName {
        SpoolName::StageOut(self.task, self.attempt, self.position(), self.round)
    }
}

/// The stage of a step, and its command.
fn command_of(plan: &Plan, task: TaskId, step: Step) -> Option<(&StagePlan, &str)> {
    let Step::Stage(n) = step else {
        return None;
    };
    let stage = plan.task(task).scrutiny.stage(n)?;
    match &stage.by {
        StageJudge::Command(command) => Some((stage, command)),
        StageJudge::Agent { .. } => None,
    }
}

impl World {
    /// Reads the work and writes what the command is given, beside the loop; then it is started.
    pub(super) fn run_step(&mut self, state: &State, run: StepRun) {
        if run.step == Step::Vision {
            let plan = state.plan.clone();
            return self.blocking(move || {
                vec![match run.round {
                    0 => run.seen(&plan),
                    _ => run.said(look(&plan, run.task), false),
                }]
            });
        }
        let job = Job {
            run,
            plan: state.plan.clone(),
            folder: self.folder.clone(),
            secrets: self.programs.secrets(),
            task_state: state.task(run.task).clone(),
            variables: self.task_variables(&state.plan, run.task, run.attempt),
        };
        let sender = self.sender.clone();
        tokio::task::spawn_blocking(move || {
            let prepared = PreparedStep {
                spawn: job.prepare(),
                run: job.run,
                plan: job.plan,
            };
            // After the loop has ended nobody wants to know.
            let _ = sender.send(Message::StepPrepared(Box::new(prepared)));
        });
    }

    /// Starts the command of a stage, if it is still wanted.
    pub(super) fn start_step(&mut self, state: &State, prepared: PreparedStep) -> Result<(), RunError> {
        let PreparedStep { run, plan, spawn } = prepared;
        if self.is_stopping() || !run.is_wanted(state) {
            return Ok(());
        }
        match spawn {
            Ok(spawn) => self.spawn(&plan, Child::Step(run), *spawn),
            Err(why) => {
                self.post(run.said(Err(why), true));
                Ok(())
            }
        }
    }

    /// The command of a stage ended.
    pub(super) fn step_exited(&mut self, run: StepRun, plan: Arc<Plan>, mut exit: supervisor::Exit) {
        let path = self.folder.spool_file(&run.output());
        let secrets = self.programs.secrets();
        self.blocking(move || {
            clean(&secrets, &path, &mut exit);
            let outcome = command_outcome(&exit, read_tail(&path, CHECK_SHOWN));
            vec![run.ended(&plan, &outcome)]
        });
    }
}

impl Job {
    /// What it is started with; its review request is written. Blocks.
    fn prepare(&self) -> Result<Box<Spawn>, String> {
        let (run, plan) = (self.run, &self.plan);
        let Some((stage, command)) = command_of(plan, run.task, run.step) else {
            return Err("the mission has no such stage any more".to_owned());
        };
        let (asked, _) = compose(
            (&self.folder, &self.secrets),
            plan,
            &self.task_state,
            run.task,
            (run.step, None),
            &[],
        )?;
        let review = self.folder.spool_file(&SpoolName::StageReview(
            run.task,
            run.attempt,
            run.position(),
            run.round,
        ));
        let request = review_json(
            plan,
            &self.task_state,
            run.task,
            (run.step, run.round),
            &asked.joined(),
            &[],
        );
        let told = vec![write_told(&review, &request)?];
        let mut variables = self.variables.clone();
        let text = |path: &Path| path.to_string_lossy().into_owned();
        variables.push(("QUORUM_PURPOSE".to_owned(), run.step.as_str().to_owned()));
        variables.push(("QUORUM_STAGE".to_owned(), stage.name.to_string()));
        variables.push(("QUORUM_REVIEW_FILE".to_owned(), text(&review)));
        let output = self.folder.spool_file(&run.output());
        Ok(Box::new(Spawn {
            label: format!("{}.{}.stages.{}", run.task.0, run.attempt, run.position()),
            argv: check_argv(command),
            env: environment(variables),
            cwd: workspace(plan, run.task),
            // One file for both, so that errors stand where they happened.
            stderr: Some(output.clone()),
            stdout: Some(output),
            told,
            sealed: true,
            timeout_ms: Some(stage.timeout.unwrap_or(STAGE_TIMEOUT).0),
            ..Spawn::default()
        }))
    }
}

/// What a stage is asked about the work, and the record of that. Reads the work's output and files. Blocks.
///
/// # Errors
/// When the output is not what was recorded, or the mission has no such stage any more.
pub(super) fn compose(
    (folder, secrets): (&RunFolder, &Secrets),
    plan: &Plan,
    task_state: &TaskState,
    task: TaskId,
    (step, unread): (Step, Option<&str>),
    pictures: &[Picture],
) -> Result<(JudgePrompt, Judgement), String> {
    let judged = [(task, task_state.clone())];
    let material = Material::gather((folder, secrets), plan, task, task_state, &judged)?;
    let work: Work<'_> = material.work(plan, task);
    let asked = match step {
        Step::Stage(n) => {
            let stage = plan.task(task).scrutiny.stage(n);
            let stage = stage.ok_or("the mission has no such stage any more")?;
            let criteria = match &stage.by {
                StageJudge::Agent { criteria, .. } => criteria.as_deref(),
                StageJudge::Command(_) => None,
            };
            prompt::stage(&work, &stage.name, criteria, unread)
        }
        Step::RedTeam => prompt::red_team(&work, unread),
        Step::Vision => {
            let vision = plan.task(task).scrutiny.vision.as_ref();
            let vision = vision.ok_or("the mission has no vision check any more")?;
            let is_shown = |path: &str| pictures.iter().any(|picture| picture.path == path);
            let named = plan.task(task).scrutiny.screenshots();
            let missing: Vec<&str> = named.filter(|path| !is_shown(path)).collect();
            prompt::vision(&work, &vision.expectations, (pictures, &missing), unread)
        }
    };
    let prior = work.prior.points.len();
    let judgement = material.judgement(&asked.joined(), prior);
    Ok((asked, judgement))
}

/// The screenshots that a step is about: none but for a vision check. Blocks.
///
/// # Errors
/// When there is none any more, or one of them cannot be used.
pub(super) fn pictures_of(plan: &Plan, task: TaskId, step: Step) -> Result<Vec<Picture>, String> {
    if step != Step::Vision {
        return Ok(Vec::new());
    }
    let paths = plan.task(task).scrutiny.screenshots();
    let found = pictures::read_all(&workspace(plan, task), paths)?;
    if found.is_empty() {
        return Err("the screenshots are gone".to_owned());
    }
    Ok(found)
}

/// The heuristic check: the last screenshot against all that it must show. Blocks.
fn look(plan: &Plan, task: TaskId) -> Result<Advice, String> {
    let vision = plan.task(task).scrutiny.vision.as_ref();
    let vision = vision.ok_or("the mission has no vision check any more")?;
    let found = pictures_of(plan, task, Step::Vision)?;
    let last = found.last().ok_or("the screenshots are gone")?;
    pictures::violations(last, &vision.expectations, vision.tolerance)
        .map(FindingsReport::whole)
        .map(Advice::Findings)
}

/// The review request as JSON, for commands that would rather not read prose.
pub(super) fn review_json(
    plan: &Plan,
    task_state: &TaskState,
    task: TaskId,
    (step, round): (Step, u32),
    asked: &str,
    pictures: &[Picture],
) -> Vec<u8> {
    let task_plan = plan.task(task);
    let folder = workspace(plan, task);
    let screenshots: Vec<_> = pictures
        .iter()
        .map(|picture| {
            serde_json::json!({
                "path": folder.join(&picture.path),
                "mediaType": picture.media_type,
                "digest": picture.digest.to_string(),
            })
        })
        .collect();
    let request = serde_json::json!({
        "schema": "quorum.review-request/v1",
        "task": task_plan.title,
        "description": task_plan.description,
        "attempt": task_state.attempt,
        "round": round,
        "stage": step.stage().as_str(),
        "name": task_plan.scrutiny.name(step),
        "autonomy": task_plan.scrutiny.autonomy.as_str(),
        "stakes": task_plan.scrutiny.stakes.as_str(),
        "acceptance": task_plan.acceptance,
        "screenshots": screenshots,
        "prompt": asked,
    });
    request.to_string().into_bytes()
}
