//! Why work cannot be begun, or what it left cannot be used.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};

use tokio::task::JoinError;

use crate::agents::channel::ChannelError;
use crate::agents::endpoint::EndpointError;
use crate::review::facts::FactsError;
use crate::review::file_changes::PatternError;
use crate::review::handoff::OwnWork;
use crate::review::pictures::PictureError;
use rules::mission::UnsetVariable;

/// Why work cannot be begun, or what it left cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum WorkError {
    /// A file or folder cannot be dealt with: what was to be done to it.
    #[error("cannot {0} {1}: {2}")]
    File(&'static str, PathBuf, #[source] io::Error),
    /// A recorded thing, which the text names, is gone, was changed or cannot be read.
    #[error("{0}: {1}")]
    Lost(Cow<'static, str>, #[source] io::Error),
    /// The channel cannot be told.
    #[error(transparent)]
    Channel(#[from] ChannelError),
    /// The model cannot be reached.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// The environment lacks a variable.
    #[error(transparent)]
    Variable(#[from] UnsetVariable),
    /// A file that its criteria name cannot be looked at.
    #[error(transparent)]
    Facts(#[from] FactsError),
    /// A screenshot cannot be used.
    #[error(transparent)]
    Picture(#[from] PictureError),
    /// A pattern of files cannot be read.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// The work was to be judged by whoever did it.
    #[error(transparent)]
    OwnWork(#[from] OwnWork),
    /// A file of the run says something else than it must.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// The system said no.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The preparation of the work broke off.
    #[error(transparent)]
    BrokeOff(#[from] JoinError),
    /// The supervisor, a provider or the mission has none of it, in words of its own.
    #[error("{0}")]
    Refused(Cow<'static, str>),
}

impl WorkError {
    /// The error of a file that cannot be dealt with, from that of the system.
    pub fn file(act: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::File(act, path.to_owned(), error)
    }

    /// The error of a recorded thing that is lost, from that of the system.
    pub fn lost(what: impl Into<Cow<'static, str>>) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::Lost(what.into(), error)
    }
}

impl From<&'static str> for WorkError {
    fn from(why: &'static str) -> Self {
        Self::Refused(why.into())
    }
}

impl From<String> for WorkError {
    fn from(why: String) -> Self {
        Self::Refused(why.into())
    }
}

impl From<WorkError> for String {
    fn from(why: WorkError) -> Self {
        why.to_string()
    }
}
