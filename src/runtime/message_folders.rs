//! The folders in which turns leave their messages (`QUORUM_TASK_DIR`). To make and remove one for each turn costs more
//! than all else that is done for it, for file systems do not like to use again what was just removed. So one that stayed
//! empty is handed on to the next turn, under its name.

use std::path::PathBuf;

use crate::domain::TurnId;
use crate::store::{self, SpoolName};

use super::children::clear;
use super::world::World;

/// Empty folders that no turn uses, under the names of those that had them. They are gone with the session.
#[derive(Debug, Default)]
pub(super) struct IdleFolders(Vec<PathBuf>);

impl Drop for IdleFolders {
    fn drop(&mut self) {
        for path in &self.0 {
            store::remove_if_empty(path);
        }
    }
}

impl World {
    /// Gives a turn an empty folder for its messages; what another agent left in its place is removed.
    ///
    /// # Errors
    /// In words, why it cannot have one.
    pub(super) fn give_message_folder(&mut self, turn: TurnId) -> Result<(), String> {
        let path = self.folder.spool_file(&SpoolName::Drop(turn));
        if let Some(idle) = self.idle_folders.0.pop() {
            if store::rename_to_new(&idle, &path).is_ok() {
                return Ok(());
            }
            store::remove_if_empty(&idle);
        }
        clear(&path)?;
        store::create_dir_briefly(&path).map_err(|error| format!("cannot make {}: {error}", path.display()))
    }

    /// Takes the folder of a turn back that has ended, if it stayed empty. Whether there is anything in it, or in its place.
    pub(super) fn take_message_folder(&mut self, turn: TurnId) -> bool {
        let path = self.folder.spool_file(&SpoolName::Drop(turn));
        match store::is_empty_folder(&path) {
            Ok(true) => {
                self.idle_folders.0.push(path);
                false
            }
            Ok(false) => true,
            Err(error) => error.kind() != std::io::ErrorKind::NotFound,
        }
    }
}
