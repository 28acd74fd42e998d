//! What the commands have in common that work or judge for a task: its workspace, its variables, and the bounds and
//! secrets of the run.

use std::path::PathBuf;
use std::sync::Arc;

use crate::agents::command::{TASK_VARIABLE, environment};
use crate::agents::preset::CommandAgent;
use crate::agents::secrets::Secrets;
use crate::store::{RunFolder, SpoolName};
use rules::domain::{Millis, TaskId};
use rules::mission::Plan;

use super::command::{Apart, CommandJob, CommandOutputs, PromptFiles};
use super::error::WorkError;
use super::spool::clear;

/// A task, as far as its commands depend on it.
#[derive(Clone)]
pub struct TaskCommands {
    /// The plan of the run.
    pub plan: Arc<Plan>,
    /// The folder of the run.
    pub folder: RunFolder,
    /// The secrets that are taken out of the commands' outputs.
    pub secrets: Arc<Secrets>,
    pub task: TaskId,
    /// The number of the task's attempt.
    pub attempt: u32,
    /// The folder of the commands, if that is not the task's.
    pub elsewhere: Option<PathBuf>,
    /// The folder that stands for its own, where there is one.
    pub apart: Option<Apart>,
}

impl TaskCommands {
    /// The variables that each of them is told (`docs/reference/agents.md`).
    pub fn variables(&self) -> Vec<(String, String)> {
        vec![
            ("QUORUM_RUN_ID".to_owned(), self.folder.id().to_string()),
            (TASK_VARIABLE.to_owned(), self.title().to_owned()),
            ("QUORUM_ATTEMPT".to_owned(), self.attempt.to_string()),
        ]
    }

    /// The title of the task.
    pub fn title(&self) -> &str {
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

    /// Outputs with the bounds and secrets of the run, without any file.
    pub fn outputs(&self) -> CommandOutputs {
        CommandOutputs {
            secrets: self.secrets.clone(),
            limit: self.plan.rules.settings.max_output.get(),
            ..CommandOutputs::default()
        }
    }

    /// A command of the mission, in the clean environment; `told` are more variables. All that it prints comes into one
    /// file.
    pub fn plain(
        &self,
        what: &str,
        argv: Vec<String>,
        told: Vec<(String, String)>,
        output: &SpoolName,
        timeout: Millis,
    ) -> CommandJob {
        let mut variables = self.variables();
        variables.extend(told);
        CommandJob {
            label: format!("{}.{}.{what}", self.task.0, self.attempt),
            argv,
            env: environment(variables),
            cwd: self.workspace(),
            outputs: self.outputs().together(self.file(output)),
            timeout,
            ..self.job()
        }
    }

    /// The command of an agent that is asked about the task by files. It replies on standard output, may complain on
    /// standard error and claim something in a file; `told` are more variables. Blocks.
    ///
    /// # Errors
    /// When there is no room for that file.
    pub fn asking(
        &self,
        agent: &CommandAgent,
        asked: PromptFiles,
        [reply, stderr, result]: [SpoolName; 3],
        told: Vec<(String, String)>,
    ) -> Result<CommandJob, WorkError> {
        let result = self.file(&result);
        clear(&result)?;
        let mut variables = self.variables();
        variables.extend(told);
        let shown = result.to_string_lossy().into_owned();
        variables.push(("QUORUM_RESULT_FILE".to_owned(), shown));
        let about = (self.title(), self.attempt);
        Ok(CommandJob {
            within: self.job().within,
            outputs: CommandOutputs {
                stdout: Some(self.file(&reply)),
                stderr: Some(self.file(&stderr)),
                result: Some(result),
                preset: agent.by.as_ref().map(|by| by.preset.clone()),
                ..self.outputs()
            },
            ..CommandJob::asking(agent, about, self.workspace(), asked, variables)?
        })
    }

    /// One with nothing but where folders are made.
    pub fn job(&self) -> CommandJob {
        CommandJob {
            within: Some(match &self.apart {
                Some(apart) => apart.folder.clone(),
                None => self.plan.root_of(self.task),
            }),
            apart: self.apart.clone().map(Box::new),
            ..CommandJob::default()
        }
    }
}
