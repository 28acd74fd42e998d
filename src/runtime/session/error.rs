//! Why a session could not go on.

use std::io;

use crate::executor::error::WorkError;
use crate::store::JournalError;

/// Why a session could not go on. The state that was durable is safe, and the run can be resumed.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The journal cannot be written.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The supervisor is gone, and with it every child.
    #[error("the process that holds the agents ended unexpectedly: {0}")]
    Supervisor(io::Error),
    /// The supervisor does not answer, or does not do what it is told. It was ended, and with it every child.
    #[error("the process that holds the agents gave no sign of life in time and was ended")]
    Silent,
    /// A process could not be confined that was to be: no failure of what it was to do.
    #[error("{0}")]
    Confinement(String),
    /// There is no folder for a task to work in, or its work cannot be kept: nothing that its agent has a part
    /// in.
    #[error(transparent)]
    Folder(WorkError),
    /// A prompt or request cannot be written.
    #[error(transparent)]
    Spool(#[from] WorkError),
    /// Signals cannot be listened to.
    #[error("cannot listen to signals: {0}")]
    Signals(io::Error),
}

impl RunError {
    /// Whether the machine or its user can mend it, so that the run goes on once that is done.
    pub fn is_of_environment(&self) -> bool {
        matches!(self, Self::Folder(_))
    }
}
