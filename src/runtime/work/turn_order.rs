//! What a turn is given, by value: what the engine decided, and who does it.

use std::sync::Arc;

use tokio::sync::oneshot;

use crate::agents::endpoint::Endpoint;
use crate::agents::preset::CommandAgent;
use crate::agents::transport::Transport;
use crate::executor::runner::UnreadExit;
use crate::executor::task_command::TaskCommands;
use crate::runtime::isolation::{protection::SeenFiles, watch::NotedFiles};
use rules::domain::{Digest, Millis, TurnId};
use supervisor::MountPlan;

/// A turn that the engine has decided on.
#[derive(Clone)]
pub struct TurnOrder {
    pub turn: TurnId,
    pub commands: TaskCommands,
    /// The records that its files are held against.
    pub files: NotedFiles,
}

/// The worker that does a turn.
pub enum Worker {
    /// The agent that repeats its prompt.
    Echo,
    /// The program of an agent that is to be started, the session of it that it goes on in, and the call that a person has allowed,
    /// once, in words.
    Program(Arc<CommandAgent>, Option<Box<str>>, Option<String>),
    /// A model behind HTTP, and how long it was silent, where its turn is ended for that.
    Model(Box<ModelWorker>, oneshot::Receiver<Millis>),
    /// A program that an earlier session has started, and what was protected by default then.
    Adopted(UnreadExit, Option<SeenFiles>),
}

/// A model behind HTTP.
pub struct ModelWorker {
    pub line: Transport,
    pub endpoint: Endpoint,
    /// The mounts that a process of the agent would have; `None` where it would not be confined.
    pub mounts: Option<MountPlan>,
    /// The call that a person has allowed, once.
    pub allowed: Option<Digest>,
}
