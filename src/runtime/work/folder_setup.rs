//! A folder of its own is made before anybody works or looks there, and the setup command of the mission is run in it once.

use crate::executor::error::WorkError;
use crate::executor::runner::CommandOwner;
use crate::executor::task_command::{CommandWork, TaskCommands};
use crate::review::checks::failure;
use crate::store::SpoolName;
use rules::domain::TaskId;
use rules::engine::Committed;
use rules::plan::Plan;

use super::context::{WorkContext, blocking};
use crate::runtime::isolation::{git::refused, worktrees::Worktrees};

/// The purpose of a folder.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FolderUse {
    /// The work, or the verification, of a task.
    Task(TaskId),
    /// The audits of the run.
    Audit,
}

impl FolderUse {
    /// Its name, whose it is, and where what its setup command prints is kept.
    fn place(self) -> FolderPlace {
        match self {
            Self::Task(task) => (task.0.to_string(), CommandOwner::Task(task), SpoolName::Setup(Some(task))),
            Self::Audit => (Plan::MERGED.to_owned(), CommandOwner::Audit, SpoolName::Setup(None)),
        }
    }
}

/// A folder by its name, whose it is, and the output of its setup command.
pub type FolderPlace = (String, CommandOwner, SpoolName);

impl WorkContext {
    /// Makes the folder of an isolated task ready for whoever works or looks there: what it begins with is nobody's change.
    ///
    /// # Errors
    /// Why it cannot be worked in. The agent has no part in that.
    pub async fn own_folder(&self, commands: TaskCommands, known: Committed) -> Result<(), WorkError> {
        let (worktrees, plan, task) = (self.worktrees.clone(), commands.plan.clone(), commands.task);
        let made = blocking(move || worktrees.create(&plan, task, &known)).await??;
        if commands.plan.task(task).has_worktree() {
            let place = FolderUse::Task(task).place();
            self.set_up(&commands, &self.worktrees, place).await?;
        }
        if made {
            let protection = self.protection.clone();
            blocking(move || protection.take_folder(task)).await?;
        }
        Ok(())
    }

    /// Puts all that was accepted so far into a folder.
    ///
    /// # Errors
    /// Why it cannot be looked at there.
    pub async fn accepted_folder(&self, commands: &TaskCommands, folder: FolderUse) -> Result<(), WorkError> {
        let (worktrees, plan, place) = (self.worktrees.clone(), commands.plan.clone(), folder.place());
        let name = place.0.clone();
        blocking(move || worktrees.check_out_accepted(&plan, &name)).await??;
        self.set_up(commands, &self.worktrees, place).await
    }

    /// Runs the setup command in a folder that was made just now.
    ///
    /// # Errors
    /// Why it has failed.
    pub async fn set_up(
        &self,
        commands: &TaskCommands,
        worktrees: &Worktrees,
        (name, owner, output): FolderPlace,
    ) -> Result<(), WorkError> {
        if worktrees.ready_mark(&name).exists() {
            return Ok(());
        }
        let Some(setup) = commands.plan.rules.worktrees.setup.as_deref() else {
            return worktrees.is_ready(&name);
        };
        let job = commands.job(CommandWork::Setup(worktrees.place_of(&name), output))?;
        let end = self.commands.run(owner, job).await;
        let what = format!("the command that prepares worktrees, `{setup}`,");
        let outcome = blocking(move || end.outcome()).await?;
        match failure(&what, setup, &outcome) {
            None => worktrees.is_ready(&name),
            Some(why) => Err(refused(why)),
        }
    }
}
