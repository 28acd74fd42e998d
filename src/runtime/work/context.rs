//! How work reaches the world, and how it comes back: each piece of it is one async function that is given what the engine decided,
//! by value, and ends in one [`Fact`].

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::{Notify, mpsc};
use tokio::task::AbortHandle;

use crate::executor::error::WorkError;
use crate::executor::runner::Commands;
use crate::executor::task_command::TaskCommands;
use crate::runtime::isolation::{protection::Protection, worktrees::Worktrees};
use crate::store::{AskFile, RunFolder, SpoolName};
use rules::domain::{AgentId, AskId, FailureClass, Purpose, TurnId};
use rules::engine::{Effect, Fact, Job, TaskState};
use rules::plan::Plan;
use supervisor::SupervisorCommand;

use super::agent_backends::AgentBackends;
use super::at_work::AtWork;
use super::baseline_cache::BaselineCache;
use super::message_folders::MessageFolders;
use super::review_context::Judged;

/// A message to the loop over its channel.
pub enum Message {
    /// A fact that happened.
    Fact(Fact),
    /// An effect that is to be performed now, if it is still wanted.
    Due(Effect),
    /// Something for the supervisor.
    ToSupervisor(SupervisorCommand),
    /// The program cannot do its own part, in which nobody who works or judges has a share.
    Broken(WorkError),
}

/// Where messages for the loop are handed in.
pub type Sender = mpsc::UnboundedSender<Message>;

/// Why a piece of work ends without a fact.
pub enum Undone {
    /// It could not be begun yet: its effect is performed anew.
    NotNow,
    /// Nobody wants it any more.
    CalledOff,
    /// The program cannot do its own part.
    Broken(WorkError),
}

impl From<WorkError> for Undone {
    fn from(why: WorkError) -> Self {
        Self::Broken(why)
    }
}

/// The things by which work reaches the world.
#[derive(Clone)]
pub struct WorkContext {
    pub folder: RunFolder,
    /// Where commands are handed in, to be run below the supervisor.
    pub commands: Commands,
    /// How agents and channels are reached.
    pub agents: Arc<AgentBackends>,
    /// The files that must not change while the session lives.
    pub protection: Arc<Protection>,
    /// The frozen missions of the run.
    pub frozen: Arc<[PathBuf]>,
    /// Folders in which turns leave their messages.
    pub messages: Arc<Mutex<MessageFolders>>,
    /// The folders of isolated tasks, and what was accepted of their work.
    pub worktrees: Worktrees,
    /// The results of checks on commits that nobody has worked on.
    pub seen_on: Arc<Mutex<BaselineCache>>,
    pub at_work: Arc<Mutex<AtWork>>,
    /// Notified whenever something that was at work has ended.
    pub ended: Arc<Notify>,
    pub sender: Sender,
}

impl WorkContext {
    /// Hands the loop a fact.
    pub fn post(&self, fact: Fact) {
        // The loop holds the receiver as long as it lives; after it this is of no use.
        let _ = self.sender.send(Message::Fact(fact));
        self.ended.notify_waiters();
    }

    /// Does work beside the loop, which hears of its end.
    pub fn spawn(
        &self,
        effect: Effect,
        work: impl Future<Output = Result<Fact, Undone>> + Send + 'static,
    ) -> AbortHandle {
        let context = self.clone();
        tokio::spawn(async move {
            let undone = match work.await {
                Ok(fact) => return context.post(fact),
                Err(Undone::NotNow) => Message::Due(effect),
                Err(Undone::CalledOff) => return,
                Err(Undone::Broken(why)) => Message::Broken(why),
            };
            // The loop holds the receiver as long as it lives.
            let _ = context.sender.send(undone);
        })
        .abort_handle()
    }

    /// The plan as it is now, of which a piece of work knows an earlier one.
    pub fn newest_plan(&self, known: &Arc<Plan>) -> Arc<Plan> {
        let newest = self.at_work().newest_plan.clone();
        newest.unwrap_or_else(|| known.clone())
    }

    pub fn at_work(&self) -> MutexGuard<'_, AtWork> {
        crate::locked(&self.at_work)
    }
}

/// A job that the engine has decided on, and the commands of its task.
#[derive(Clone)]
pub struct JobOrder {
    pub turn: TurnId,
    pub job: Job,
    pub commands: TaskCommands,
}

/// A call to an agent that the engine has decided on, with what it is about as it stood then.
pub struct AskOrder {
    pub id: AskId,
    pub purpose: Purpose,
    pub agent: AgentId,
    /// For a strict reprompt of a judge: why its reply before does not count.
    pub strict: Option<String>,
    pub commands: TaskCommands,
    pub task: TaskState,
    /// The task that the purpose names beside it.
    pub dependency: Option<TaskState>,
    /// The graded work; empty for other purposes.
    pub judged: Vec<Judged>,
    /// Whether mounts hold files for it.
    pub is_confined: bool,
}

impl AskOrder {
    /// A file of the call.
    pub fn path(&self, file: AskFile) -> PathBuf {
        self.commands.file(&SpoolName::Ask(self.id, file))
    }
}

/// Waits for work that may wait for the disk, on a thread of its own.
///
/// # Errors
/// When the program ends meanwhile.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, WorkError> {
    Ok(tokio::task::spawn_blocking(work).await?)
}

/// Randomness for a back-off, 0 to 1000: calls that failed in the same moment must not come back in the same moment.
pub fn jitter() -> u16 {
    fastrand::u16(0..=1000)
}

/// An environment problem in the middle of a run: nothing was started.
pub fn not_reachable(turn: TurnId, why: impl Into<String>) -> Fact {
    refused(turn, FailureClass::Unknown, why)
}

/// The fact that a turn cannot be begun, by class.
pub fn refused(turn: TurnId, class: FailureClass, why: impl Into<String>) -> Fact {
    Fact::TurnRequestFailed {
        turn,
        class,
        before_effect: false,
        message: why.into(),
        retry_after: None,
        jitter: 0,
    }
}
