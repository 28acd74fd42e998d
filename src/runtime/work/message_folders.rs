//! The folders in which turns leave their messages, their result among them (`QUORUM_TASK_DIR`). To make and remove one for
//! each turn costs more than all else that is done for it, for file systems do not like to use again what was just removed.
//! So one that stayed empty is handed on to the next turn, under its name.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::time::SystemTime;

use crate::executor::error::WorkError;
use crate::review::file_changes::SHOWS_AFTER;
use supervisor::files::no_links::{FileTimes, OpenFolder};

/// Empty folders that no turn uses, under the names of those that had them. They are gone with the session.
#[derive(Debug, Default)]
pub struct MessageFolders {
    /// The folder that they are in, held open.
    spool: Option<OpenFolder>,
    idle: Vec<OsString>,
    /// Folders that turns have, each as it was when it was handed on: one that is still so is empty.
    untouched: HashMap<OsString, FileTimes>,
}

impl MessageFolders {
    /// The folder of the spool and the name of a file in it.
    fn place(&mut self, path: &Path) -> io::Result<(&OpenFolder, OsString)> {
        let (folder, name) = match self.spool.take() {
            Some(folder) => (folder, path.file_name().ok_or(io::ErrorKind::InvalidInput)?),
            None => OpenFolder::of(path)?,
        };
        Ok((self.spool.insert(folder), name.to_owned()))
    }

    /// Gives a turn an empty folder for its messages, its result among them: what another agent left there beforehand is not
    /// what this one will say.
    ///
    /// # Errors
    /// Why it cannot have one.
    pub fn add_folder(&mut self, path: &Path) -> Result<(), WorkError> {
        self.provide(path).map_err(WorkError::file("make", path))
    }

    /// Takes the folder of a turn back that has ended, if it stayed empty. Whether there is anything in it or in its place, or
    /// it is not where it was: whoever looks closer says what that is.
    pub fn take(&mut self, path: &Path) -> bool {
        !self.take_empty(path).unwrap_or(false)
    }

    fn provide(&mut self, path: &Path) -> io::Result<()> {
        let idle = self.idle.pop();
        let (spool, name) = self.place(path)?;
        if let Some(idle) = idle {
            // Some file systems know no such renaming, and something may stand in its place.
            if spool.rename_to_new(&idle, &name).is_ok() {
                let times = spool.times(&name)?;
                if times.modified < SystemTime::now() - SHOWS_AFTER {
                    self.untouched.insert(name, times);
                }
                return Ok(());
            }
            let _ = spool.remove_empty(&idle);
        }
        spool.clear(&name)?;
        spool.make_new(&name)
    }

    fn take_empty(&mut self, path: &Path) -> io::Result<bool> {
        let was = path.file_name().and_then(|name| self.untouched.remove(name));
        let (spool, name) = self.place(path)?;
        let is_untouched = was.is_some_and(|was| spool.times(&name).is_ok_and(|is| is == was));
        let is_empty = is_untouched || spool.is_empty(&name)?;
        if is_empty {
            self.idle.push(name);
        }
        Ok(is_empty)
    }
}

impl Drop for MessageFolders {
    fn drop(&mut self) {
        for name in &self.idle {
            if let Some(spool) = &self.spool {
                let _ = spool.remove_empty(name);
            }
        }
    }
}
