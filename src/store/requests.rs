//! `requests/`: what is asked for from outside before any run has it (semantics, section 16).
//!
//! One file each, replaced in one step under a lock of the folder's own: a crash leaves the old state of a request or the
//! new one, and two people cannot both decide about it. Every step is kept with its time and whoever took it.

use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::domain::{RequestStatus, RunId, Timestamp};
use crate::mission::SubTask;

use super::checked_line;
use super::file_util::{create_dir_durable, if_there, read_regular, replace_file};
use super::layout::StateFolder;
use super::lock::{Lock, LockError};
use super::no_links::OpenFolder;

/// Requests that a state folder holds.
pub const MOST_REQUESTS: u32 = 10_000;
/// A request is shorter, in bytes.
const LONGEST_REQUEST: u64 = 16 << 20;
/// Before the number of a request.
const NAME: &str = "req-";

/// A request for work.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkRequest {
    /// The number of the request in its state folder, from 1.
    pub number: u32,
    /// The work that is asked for.
    pub task: SubTask,
    /// The status of the request.
    pub status: RequestStatus,
    /// The run that has its task, or is to have it.
    pub run: Option<RunId>,
    /// Every state that the request was in, the oldest first.
    pub history: Vec<RequestStep>,
}

/// A step that a request took.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestStep {
    /// The state that it came to.
    pub status: RequestStatus,
    pub at: Timestamp,
    /// The name of whoever took the step, as recorded.
    pub by: String,
    /// Why, where that was said.
    pub reason: Option<String>,
}

impl WorkRequest {
    /// The id by which people name the request: `req-7`.
    pub fn id(&self) -> String {
        format!("{NAME}{}", self.number)
    }

    /// Why the request was cancelled, where that was said.
    pub fn reason(&self) -> Option<&str> {
        self.history.last()?.reason.as_deref()
    }

    /// Takes a step, if it may be taken. Returns whether it was.
    pub fn step(&mut self, to: RequestStatus, at: Timestamp, by: &str, reason: Option<&str>) -> bool {
        let may = self.status.may_become(to);
        if may {
            self.status = to;
            self.history.push(RequestStep {
                status: to,
                at,
                by: by.to_owned(),
                reason: reason.map(str::to_owned),
            });
        }
        may
    }
}

/// The requests of a state folder.
#[derive(Debug, Clone)]
pub struct Requests {
    folder: PathBuf,
}

/// Why requests cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RequestsError {
    /// A file is not what was written.
    #[error("{path} is damaged: {why}; move it away to go on without it")]
    Damaged {
        /// The path of the file.
        path: PathBuf,
        /// The mistake in the line.
        why: String,
    },
    /// There is no request of this name.
    #[error("there is no request '{0}'")]
    Unknown(String),
    /// There are too many requests.
    #[error("there are {MOST_REQUESTS} requests in {0}; remove old ones")]
    Full(PathBuf),
    /// The file system said no.
    #[error("cannot use {path}: {source}")]
    Io {
        /// The path that was touched.
        path: PathBuf,
        source: io::Error,
    },
    /// Another process writes and does not end.
    #[error(transparent)]
    Locked(#[from] LockError),
}

impl Requests {
    /// The requests of a state folder, whether there are any or not.
    pub fn of(folder: &StateFolder) -> Self {
        Self {
            folder: folder.path().join("requests"),
        }
    }

    /// The requests, the oldest first.
    ///
    /// # Errors
    ///
    /// [`RequestsError`]; a missing folder has none.
    pub fn all(&self) -> Result<Vec<WorkRequest>, RequestsError> {
        let numbers = self.numbers()?;
        numbers.into_iter().map(|number| self.read(number)).collect()
    }

    /// The one that people name so: `req-7`, or `7`.
    ///
    /// # Errors
    /// [`RequestsError`]
    pub fn find(&self, id: &str) -> Result<WorkRequest, RequestsError> {
        let number = id.strip_prefix(NAME).unwrap_or(id).parse().ok();
        let number = number.filter(|number| std::fs::symlink_metadata(self.path(*number)).is_ok());
        self.read(number.ok_or_else(|| RequestsError::Unknown(id.to_owned()))?)
    }

    /// Adds a request, which is durable when this returns.
    ///
    /// # Errors
    ///
    /// [`RequestsError`]; then there is none.
    pub fn submit(&self, task: SubTask, at: Timestamp, by: &str) -> Result<WorkRequest, RequestsError> {
        create_dir_durable(&self.folder).map_err(|source| self.io(source))?;
        let _lock = self.lock()?;
        let number = self.numbers()?.last().map_or(1, |last| last + 1);
        if number > MOST_REQUESTS {
            return Err(RequestsError::Full(self.folder.clone()));
        }
        let request = WorkRequest {
            number,
            task,
            status: RequestStatus::Submitted,
            run: None,
            history: vec![RequestStep {
                status: RequestStatus::Submitted,
                at,
                by: by.to_owned(),
                reason: None,
            }],
        };
        self.write(&request)?;
        Ok(request)
    }

    /// Changes a request under the lock, as it is then; durable when it returns. Returns what it is now.
    ///
    /// # Errors
    /// [`RequestsError`]; then nothing has changed.
    pub fn change(
        &self,
        number: u32,
        change: impl FnOnce(&mut WorkRequest),
    ) -> Result<WorkRequest, RequestsError> {
        let _lock = self.lock()?;
        let before = self.read(number)?;
        let mut request = before.clone();
        change(&mut request);
        if request != before {
            self.write(&request)?;
        }
        Ok(request)
    }

    fn numbers(&self) -> Result<Vec<u32>, RequestsError> {
        let Some(names) = if_there(OpenFolder::open(&self.folder).and_then(|folder| folder.names()))
            .map_err(|source| self.io(source))?
        else {
            return Ok(Vec::new());
        };
        let mut numbers = Vec::new();
        for name in names {
            let name = name.to_str().and_then(|name| name.strip_suffix(".json"));
            let number = name.and_then(|name| name.strip_prefix(NAME)?.parse::<u32>().ok());
            numbers.extend(number);
        }
        numbers.sort_unstable();
        Ok(numbers)
    }

    fn path(&self, number: u32) -> PathBuf {
        self.folder.join(format!("{NAME}{number}.json"))
    }

    fn read(&self, number: u32) -> Result<WorkRequest, RequestsError> {
        let path = self.path(number);
        let damaged = |why: String| RequestsError::Damaged {
            path: path.clone(),
            why,
        };
        let bytes = read_regular(&path, LONGEST_REQUEST).map_err(|source| RequestsError::Io {
            path: path.clone(),
            source,
        })?;
        let line = bytes.strip_suffix(b"\n");
        let line = line.ok_or_else(|| damaged("it is cut short".to_owned()))?;
        checked_line::verify(line).map_err(|why| damaged(why.to_owned()))?;
        serde_json::from_slice(line).map_err(|error| damaged(error.to_string()))
    }

    fn write(&self, request: &WorkRequest) -> Result<(), RequestsError> {
        let mut bytes = Vec::new();
        checked_line::encode(&mut bytes, request).map_err(|error| self.io(error.into()))?;
        bytes.push(b'\n');
        let path = self.path(request.number);
        replace_file(&path, &bytes).map_err(|source| RequestsError::Io { path, source })
    }

    fn lock(&self) -> Result<Lock, RequestsError> {
        Ok(Lock::await_turn(&self.folder.join("lock"), "the requests")?)
    }

    fn io(&self, source: io::Error) -> RequestsError {
        RequestsError::Io {
            path: self.folder.clone(),
            source,
        }
    }
}
