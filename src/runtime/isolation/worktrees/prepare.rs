//! A folder of its own is made before anybody works or looks there, and the setup command of the mission is run in it once.

use crate::executor::error::WorkError;
use crate::executor::runner::{CommandOwner, Commands};
use crate::executor::task_command::{CommandWork, TaskCommands};
use crate::review::checks::failure;
use crate::store::SpoolName;
use rules::domain::TaskId;
use rules::engine::Committed;

use super::Worktrees;
use super::git::refused;

/// The things that a folder is made with.
pub struct Preparation {
    /// The task that it is for, or one of those whose work lies there.
    pub task: TaskCommands,
    /// The runner of the setup command.
    pub commands: Commands,
    /// The worktrees of the run.
    pub worktrees: Worktrees,
}

/// The purpose of a folder that has all accepted work.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FolderUse {
    /// The folder is for a verification.
    Verification(TaskId),
    /// The audits of the run.
    Audit,
}

impl FolderUse {
    fn name(self) -> String {
        match self {
            Self::Verification(task) => task.0.to_string(),
            Self::Audit => rules::mission::Plan::MERGED.to_owned(),
        }
    }

    fn owner(self) -> CommandOwner {
        match self {
            Self::Verification(task) => CommandOwner::Task(task),
            Self::Audit => CommandOwner::Audit,
        }
    }

    fn output(self) -> SpoolName {
        match self {
            Self::Verification(task) => SpoolName::Setup(Some(task)),
            Self::Audit => SpoolName::Setup(None),
        }
    }
}

impl Preparation {
    /// Makes the folder of the task ready for a turn, and says whether any file was put there.
    ///
    /// # Errors
    /// Why it cannot be worked in. The agent has no part in that.
    pub async fn for_turn(&self, known: &Committed) -> Result<bool, WorkError> {
        let known = known.clone();
        let (worktrees, plan, task) = (self.worktrees.clone(), self.task.plan.clone(), self.task.task);
        let made = tokio::task::spawn_blocking(move || worktrees.create(&plan, task, &known)).await??;
        if self.task.plan.task(task).has_worktree() {
            let place = (
                task.0.to_string(),
                CommandOwner::Task(task),
                SpoolName::Setup(Some(task)),
            );
            self.set_up(place).await?;
        }
        Ok(made)
    }

    /// Puts all that was accepted so far into a folder.
    ///
    /// # Errors
    /// Why it cannot be looked at there.
    pub async fn of_accepted(&self, folder: FolderUse) -> Result<(), WorkError> {
        let (worktrees, plan, name) = (self.worktrees.clone(), self.task.plan.clone(), folder.name());
        tokio::task::spawn_blocking(move || worktrees.check_out_accepted(&plan, &name)).await??;
        self.set_up((folder.name(), folder.owner(), folder.output()))
            .await
    }

    /// Runs the setup command in a folder that was made just now.
    ///
    /// # Errors
    /// Why it has failed.
    pub async fn set_up(
        &self,
        (name, owner, output): (String, CommandOwner, SpoolName),
    ) -> Result<(), WorkError> {
        let worktrees = &self.worktrees;
        if worktrees.ready_mark(&name).exists() {
            return Ok(());
        }
        let Some(setup) = self.task.plan.rules.worktrees.setup.as_deref() else {
            return worktrees.is_ready(&name);
        };
        let job = self
            .task
            .job(CommandWork::Setup(worktrees.root.join(&name), output))?;
        let end = self.commands.run(owner, job).await;
        let what = format!("the command that prepares worktrees, `{setup}`,");
        let outcome = tokio::task::spawn_blocking(move || end.outcome()).await?;
        match failure(&what, setup, &outcome) {
            None => worktrees.is_ready(&name),
            Some(why) => Err(refused(why)),
        }
    }
}
