//! `requests/`: what is asked for from outside before any run has it (semantics, section 16).
//!
//! One file each, replaced in one step under a lock of the folder's own: a crash leaves the old state of a request or the
//! new one, and two people cannot both decide about it. Every step is kept with its time and whoever took it.

use std::ffi::OsString;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use rules::domain::{RequestStatus, RunId, Timestamp};
use rules::plan::SubTask;

use super::layout::StateFolder;
use super::lock::Lock;
use super::state_file::{StateFileError, read_lines, replace_lines};
use supervisor::files::no_links::OpenFolder;
use supervisor::files::{create_dir_durable, if_there};

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
    /// The state folder that they lie in.
    pub state: StateFolder,
    folder: PathBuf,
}

impl Requests {
    /// The requests of a state folder, whether there are any or not.
    pub fn of(folder: &StateFolder) -> Self {
        Self { state: folder.clone(), folder: folder.path().join("requests") }
    }

    /// The requests, the oldest first.
    ///
    /// # Errors
    ///
    /// [`StateFileError`]; a missing folder has none.
    pub fn all(&self) -> Result<Vec<WorkRequest>, StateFileError> {
        let numbers = self.numbers()?;
        numbers.into_iter().map(|number| self.read(number)).collect()
    }

    /// The one that people name so, if there is one: `req-7`, or `7`.
    ///
    /// # Errors
    ///
    /// [`StateFileError`]
    pub fn find(&self, id: &str) -> Result<Option<WorkRequest>, StateFileError> {
        let number = id.strip_prefix(NAME).unwrap_or(id).parse().ok();
        let number = number.filter(|number| std::fs::symlink_metadata(self.path(*number)).is_ok());
        number.map(|number| self.read(number)).transpose()
    }

    /// Adds a request, which is durable when this returns.
    ///
    /// # Errors
    ///
    /// [`StateFileError`]; then there is none.
    pub fn submit(&self, task: SubTask, at: Timestamp, by: &str) -> Result<WorkRequest, StateFileError> {
        create_dir_durable(&self.folder).map_err(StateFileError::io(&self.folder))?;
        let _lock = self.lock()?;
        let number = self.numbers()?.last().map_or(1, |last| last + 1);
        if number > MOST_REQUESTS {
            return Err(StateFileError::Full(self.folder.clone()));
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
    ///
    /// [`StateFileError`]; then nothing has changed.
    pub fn change(
        &self,
        number: u32,
        change: impl FnOnce(&mut WorkRequest),
    ) -> Result<WorkRequest, StateFileError> {
        let _lock = self.lock()?;
        let before = self.read(number)?;
        let mut request = before.clone();
        change(&mut request);
        if request != before {
            self.write(&request)?;
        }
        Ok(request)
    }

    fn numbers(&self) -> Result<Vec<u32>, StateFileError> {
        let names = if_there(OpenFolder::open(&self.folder).and_then(|folder| folder.names()));
        let names = names.map_err(StateFileError::io(&self.folder))?.unwrap_or_default();
        let number = |name: &OsString| {
            let name = name.to_str()?.strip_suffix(".json")?;
            name.strip_prefix(NAME)?.parse().ok()
        };
        let mut numbers: Vec<u32> = names.iter().filter_map(number).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    fn path(&self, number: u32) -> PathBuf {
        self.folder.join(format!("{NAME}{number}.json"))
    }

    fn read(&self, number: u32) -> Result<WorkRequest, StateFileError> {
        let path = self.path(number);
        let lines = read_lines(&path, LONGEST_REQUEST)?;
        <[WorkRequest; 1]>::try_from(lines).map(|[request]| request).map_err(|_| StateFileError::Damaged {
            path,
            line: 1,
            why: "it is not one whole line".to_owned(),
        })
    }

    fn write(&self, request: &WorkRequest) -> Result<(), StateFileError> {
        replace_lines(&self.path(request.number), std::slice::from_ref(request))
    }

    fn lock(&self) -> Result<Lock, StateFileError> {
        Ok(Lock::await_turn(&self.folder.join("lock"), "the requests")?)
    }
}
