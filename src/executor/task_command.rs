//! The commands that work or judge for a task: each is made here, from the plan, the folders of the run and what it does,
//! and is complete.

use std::path::PathBuf;
use std::sync::Arc;

use crate::agents::cassette::CallKey;
use crate::agents::command_line::{TASK_VARIABLE, check_argv, inherited, script_argv, test_argv};
use crate::agents::preset::{ByPreset, CommandAgent, TurnSession, Use};
use crate::agents::secrets::Secrets;
use crate::store::{AskFile, RunFolder, SpoolName};
use rules::domain::{
    AgentId, AskId, Millis, RUN_SPAN, StageKey, TaskId, TraceParent, TurnId, call_span, turn_span,
};
use rules::engine::{AfterCrash, WorkKind, policy};
use rules::mission::model::{AgentMiddleware, Check, Input, Preset};
use rules::plan::{Plan, Requirement};
use supervisor::RequestFile;

use super::command::{Apart, COMMAND_TIMEOUT, CommandJob, CommandOutputs, PromptFiles, built_in_timeout};
use super::error::WorkError;
use super::spool::clear;
use super::{check, finish_gate};

/// Why there is no command.
const GONE: &str = "the mission has no such command any more";

/// The work that a command of a task does.
pub enum CommandWork<'w> {
    /// A turn of the task's worker, whose prompt is written: by its agent, in a session, with the call that a person has allowed
    /// once.
    Turn(TurnId, &'w CommandAgent, TurnSession<'w>, Option<&'w str>),
    /// A question to an agent, with its purpose and the most time for it. The agent replies on standard output, may complain on
    /// standard error and claim something in a file.
    Question(AskId, &'w str, &'w CommandAgent, PromptFiles, Millis),
    /// A check of the task, by position, with the name of its output.
    Check(u32, SpoolName),
    /// A command of the task's finish gate, by position, with the name of its output.
    Finish(u32, SpoolName),
    /// The command of a stage, with the review that it is given, which it has not before the work, and the name of its output.
    Stage(StageKey, Option<RequestFile>, SpoolName),
    /// The command by which an approver is asked, by the number of the approval within the task and the position of the approver.
    Approver(u32, u32, &'w str),
    /// A command that a criterion names, by round of grading and position.
    Criterion(u32, u32, &'w str),
    /// The command of the mission that prepares a folder, with the folder and the name of its output.
    Setup(PathBuf, SpoolName),
    /// A command that a turn runs as a tool, by position; it may take so long.
    Tool(TurnId, u32, Vec<String>, Millis),
}

/// A task, as far as its commands depend on it.
#[derive(Clone)]
pub struct TaskCommands {
    /// The plan of the run.
    pub plan: Arc<Plan>,
    /// The folder of the run.
    pub folder: RunFolder,
    /// The secrets that are taken out of the commands' outputs.
    pub secrets: Arc<Secrets>,
    /// The trace that the run is a part of, where there is one.
    pub trace: Option<TraceParent>,
    pub task: TaskId,
    /// The number of the task's attempt.
    pub attempt: u32,
    /// The folder of the commands, if that is not the task's.
    pub elsewhere: Option<PathBuf>,
    /// The folder that stands for its own, where there is one.
    pub apart: Option<Apart>,
}

impl TaskCommands {
    /// The variables that each of them is told (`docs/reference/agents.md`), and `more`.
    fn variables(&self, span: &str, more: &[(&str, &str)]) -> Vec<(String, String)> {
        let trace = self.trace.as_ref().map(|trace| trace.within(span).to_string());
        let trace = trace.as_deref().map(|trace| ("TRACEPARENT", trace));
        let own = [
            ("QUORUM_RUN_ID", &*self.folder.id().to_string()),
            (TASK_VARIABLE, self.title()),
            ("QUORUM_ATTEMPT", &*self.attempt.to_string()),
        ];
        let all = own.iter().chain(more).chain(&trace);
        all.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    /// The key of a recorded call for the task.
    pub fn call_key(&self, agent: AgentId, stage: &str, place: Vec<u32>) -> CallKey {
        CallKey {
            task: self.title().to_owned(),
            agent: self.plan.agent_name(agent).to_owned(),
            attempt: self.attempt,
            stage: stage.to_owned(),
            place,
        }
    }

    /// The title of the task.
    fn title(&self) -> &str {
        self.plan.title(self.task)
    }

    /// The folder that the commands work in.
    pub fn workspace(&self) -> PathBuf {
        match (&self.elsewhere, &self.apart) {
            (Some(elsewhere), _) => elsewhere.clone(),
            (None, Some(apart)) => match &self.plan.task(self.task).workspace {
                Some(own) => apart.folder.join(own.as_ref()),
                None => apart.folder.clone(),
            },
            (None, None) => self.plan.workspace_of(self.task),
        }
    }

    /// A file of the run.
    pub fn file(&self, name: &SpoolName) -> PathBuf {
        self.folder.spool_file(name)
    }

    /// The command of a piece of work, with all that it needs. Blocks.
    ///
    /// # Errors
    /// When the mission has no such command any more, or a file that it needs cannot be written or read.
    pub fn job(&self, work: CommandWork<'_>) -> Result<CommandJob, WorkError> {
        Ok(match work {
            CommandWork::Turn(turn, agent, session, allowed) => self.turn(turn, agent, session, allowed)?,
            CommandWork::Question(id, purpose, agent, asked, timeout) => {
                self.question((id, purpose), agent, asked, timeout)?
            }
            CommandWork::Check(at, output) => self.check(at, output)?,
            CommandWork::Finish(at, output) => {
                let declared = finish_gate::declared(&self.plan, self.task, at).ok_or(GONE)?;
                let argv = match &declared.shows {
                    Requirement::Test(test) => test_argv(&declared.command, test),
                    Requirement::Compilation | Requirement::Command => check_argv(&declared.command),
                };
                self.plain(&format!("finish.{at}"), argv, &[], output, built_in_timeout())
            }
            CommandWork::Stage(step, review, output) => self.stage(step, review, output)?,
            CommandWork::Approver(number, approver, command) => {
                let output = SpoolName::Approver(self.task, number, approver);
                CommandJob {
                    label: format!("{}.approval.{number}.{approver}", self.task.0),
                    sealed: true,
                    ..self.plain("", check_argv(command), &[], output, built_in_timeout())
                }
            }
            CommandWork::Criterion(round, at, command) => {
                let output = SpoolName::Probe(self.task, self.attempt, round, at);
                let what = format!("verification.{at}");
                CommandJob {
                    sealed: true,
                    ..self.plain(&what, check_argv(command), &[], output, built_in_timeout())
                }
            }
            CommandWork::Setup(cwd, output) => {
                let setup = self.plan.rules.worktrees.setup.as_deref().ok_or(GONE)?;
                CommandJob {
                    cwd,
                    prepares: true,
                    ..self.plain("setup", script_argv(setup), &[], output, COMMAND_TIMEOUT)
                }
            }
            CommandWork::Tool(turn, at, argv, timeout) => {
                let told = [("QUORUM_TURN", &*turn.turn.to_string())];
                CommandJob {
                    label: format!("{turn}.run.{at}"),
                    ..self.plain("", argv, &told, SpoolName::TurnRun(turn, at), timeout)
                }
            }
        })
    }

    fn turn(
        &self,
        turn: TurnId,
        agent: &CommandAgent,
        session: TurnSession<'_>,
        allowed: Option<&str>,
    ) -> Result<CommandJob, WorkError> {
        let task = self.plan.task(self.task);
        let input = self.plan.agent(task.agent).spec.input;
        let prompt = (input != Input::None).then(|| self.file(&SpoolName::Prompt(turn)));
        let [messages, result] =
            [SpoolName::Drop(turn), SpoolName::Result(turn)].map(|name| self.file(&name));
        let variables = self.variables(
            &turn_span(turn),
            &[
                ("QUORUM_TURN", &turn.turn.to_string()),
                ("QUORUM_TASK_DIR", &messages.to_string_lossy()),
                ("QUORUM_RESULT_FILE", &result.to_string_lossy()),
            ],
        );
        let permissions = agent.by.as_ref().map(ByPreset::permissions).unwrap_or_default();
        let job = CommandJob::of_agent(
            agent,
            (self.title(), self.attempt, self.workspace()),
            (prompt.as_deref(), variables),
            (Use::Work(permissions), session),
            (None, allowed),
        )?;
        Ok(CommandJob {
            label: turn.to_string(),
            stdin: job.stdin.filter(|_| input == Input::Stdin),
            outputs: self.turn_outputs(turn),
            timeout: task.turn_timeout,
            // It may have worked for long, and reads nothing but files: the next session can take it over.
            outlives_session: policy(WorkKind::Turn).after_crash == AfterCrash::AdoptOrLose
                && self.plan.middleware(self.task).has(AgentMiddleware::CheckpointResume),
            within: Some(self.within()),
            ..job
        })
    }

    fn question(
        &self,
        (id, purpose): (AskId, &str),
        agent: &CommandAgent,
        asked: PromptFiles,
        timeout: Millis,
    ) -> Result<CommandJob, WorkError> {
        let preset = agent.by.as_ref().map(|by| by.preset.clone());
        let printed = [AskFile::Stream, AskFile::Reply, AskFile::Err].map(|file| SpoolName::Ask(id, file));
        let claims = SpoolName::Ask(id, AskFile::Result);
        let result = self.file(&claims);
        clear(&result)?;
        let variables = self.variables(
            &call_span(id),
            &[("QUORUM_PURPOSE", purpose), ("QUORUM_RESULT_FILE", &result.to_string_lossy())],
        );
        let about = (self.title(), self.attempt, self.workspace());
        Ok(CommandJob {
            label: id.to_string(),
            timeout,
            within: Some(self.within()),
            outputs: self.outputs(preset, printed, Some(claims)),
            ..CommandJob::asking(agent, about, asked, variables)?
        })
    }

    fn check(&self, at: u32, output: SpoolName) -> Result<CommandJob, WorkError> {
        let check = check::declared(&self.plan, self.task, at).ok_or(GONE)?;
        let (Check::Command { command, timeout, .. } | Check::Metric { command, timeout, .. }) = check else {
            return Err(GONE.into());
        };
        let what = format!("check.{at}");
        let mut job = self.plain(&what, check_argv(command), &[], output, *timeout);
        job.sees_hidden = check.is_hidden();
        match check {
            Check::Command { cwd, .. } => job.cwd.extend(cwd),
            // What a metric prints decides, of the others it is how they end: its number must stand alone.
            _ => (job.sealed, job.outputs.stderr) = (true, None),
        }
        Ok(job)
    }

    fn stage(
        &self,
        step: StageKey,
        review: Option<RequestFile>,
        output: SpoolName,
    ) -> Result<CommandJob, WorkError> {
        let task = self.plan.task(self.task);
        let (stage, command) = task.own_stage(step).zip(task.step_command(step)).ok_or(GONE)?;
        let purpose = review.as_ref().map_or("baseline", |_| step.as_str());
        let told = [("QUORUM_PURPOSE", purpose), ("QUORUM_STAGE", &*stage.name)];
        let timeout = stage.timeout.unwrap_or(COMMAND_TIMEOUT);
        let mut job = self.plain(&step.to_string(), check_argv(command), &told, output, timeout);
        job.sealed = review.is_some();
        Ok(job.given(review))
    }

    /// A command of the mission, in the clean environment; `told` are more variables. All that it prints comes into one
    /// file.
    fn plain(
        &self,
        what: &str,
        argv: Vec<String>,
        told: &[(&str, &str)],
        output: SpoolName,
        timeout: Millis,
    ) -> CommandJob {
        CommandJob {
            label: format!("{}.{}.{what}", self.task.0, self.attempt),
            argv,
            variables: self.variables(RUN_SPAN, told),
            env: inherited(),
            cwd: self.workspace(),
            outputs: self.outputs(None, [output; 3], None),
            timeout,
            within: Some(self.within()),
            apart: self.apart.clone().map(Box::new),
            ..CommandJob::default()
        }
    }

    /// The files that a turn may leave behind.
    pub fn turn_outputs(&self, turn: TurnId) -> CommandOutputs {
        let preset = self.plan.worker_of(self.task).spec.preset.clone();
        let printed = [SpoolName::Stream(turn), SpoolName::Out(turn), SpoolName::Err(turn)];
        self.outputs(preset, printed, Some(SpoolName::Result(turn)))
    }

    /// Outputs with the bounds and secrets of the run: `stream` where a preset reads it, else `stdout`.
    fn outputs(
        &self,
        preset: Option<Arc<Preset>>,
        [stream, stdout, stderr]: [SpoolName; 3],
        result: Option<SpoolName>,
    ) -> CommandOutputs {
        let stdout = if preset.is_some() { stream } else { stdout };
        CommandOutputs {
            stdout: Some(self.file(&stdout)),
            stderr: Some(self.file(&stderr)),
            result: result.map(|name| self.file(&name)),
            secrets: self.secrets.clone(),
            limit: self.plan.rules.settings.max_output.get(),
            preset,
            given_up: None,
        }
    }

    /// The folder that is there already, in which folders are made.
    fn within(&self) -> PathBuf {
        match &self.apart {
            Some(apart) => apart.folder.clone(),
            None => self.plan.root_of(self.task),
        }
    }
}
