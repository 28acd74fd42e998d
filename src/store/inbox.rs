//! `inbox/`: operators' commands for a writer that could not be asked directly.
//!
//! The sender writes a whole file durably; the writer journals the command's id with its result, syncs, and only then
//! removes the file, so that a command is taken once however often either of them dies. What carries no valid code of
//! the user's key is no command: it is moved aside, unopened where it is not even a plain file.

use std::fs::{self, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::domain::RunId;
use crate::engine::Command;

use super::file_util::{create_dir_durable, replace_file, sync_parent};
use super::operator_key::OperatorKey;

/// No command is longer, in bytes.
pub const LONGEST_COMMAND: u64 = 64 << 10;
/// Where files go that are no commands.
const REFUSED: &str = "refused";

/// A command on its way: in a file of the inbox, or through the socket of a live writer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queued {
    /// Its id: it is taken once.
    pub id: String,
    /// The run it is for.
    pub run: RunId,
    /// Who gave it, as recorded.
    pub by: String,
    /// What it says.
    pub command: Command,
}

#[derive(Serialize, Deserialize)]
struct Envelope {
    code: String,
    body: String,
}

/// A file of the inbox.
#[derive(Debug)]
pub enum Found {
    /// A command of the user's.
    Command(PathBuf, Box<Queued>),
    /// Something else, and why.
    Refused(PathBuf, String),
}

/// Queues a command, durably. Returns its file.
///
/// # Errors
/// Whatever the file system says; then nothing is queued.
pub fn put(inbox: &Path, key: &OperatorKey, queued: &Queued) -> io::Result<PathBuf> {
    create_dir_durable(inbox)?;
    let body = serde_json::to_string(queued)?;
    let envelope = Envelope {
        code: key.code(&body),
        body,
    };
    let path = inbox.join(format!("{}.json", queued.id));
    replace_file(&path, &serde_json::to_vec(&envelope)?)?;
    Ok(path)
}

/// What waits, by name. `key` is asked for when something does.
///
/// # Errors
/// When the folder cannot be read; a missing one is empty.
pub fn waiting(
    inbox: &Path,
    key: impl FnOnce() -> io::Result<Option<OperatorKey>>,
) -> io::Result<Vec<Found>> {
    let entries = match fs::read_dir(inbox) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut names = Vec::new();
    for entry in entries {
        let name = entry?.file_name();
        // A file that is still being written will be there under its own name.
        if name != REFUSED && !name.as_encoded_bytes().starts_with(b".tmp-") {
            names.push(name);
        }
    }
    if names.is_empty() {
        return Ok(Vec::new());
    }
    names.sort();
    let key = key()?;
    let open = |path: PathBuf| match opened(&path, key.as_ref()) {
        Ok(queued) => Found::Command(path, Box::new(queued)),
        Err(why) => Found::Refused(path, why),
    };
    Ok(names.into_iter().map(|name| open(inbox.join(name))).collect())
}

fn opened(path: &Path, key: Option<&OperatorKey>) -> Result<Queued, String> {
    let said = |error: io::Error| error.to_string();
    // Neither a link into somewhere else nor a pipe that never ends.
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags)
        .open(path)
        .map_err(said)?;
    let metadata = file.metadata().map_err(said)?;
    if !metadata.is_file() || metadata.len() > LONGEST_COMMAND {
        return Err("it is not a small plain file".to_owned());
    }
    let mut text = Vec::new();
    file.take(LONGEST_COMMAND).read_to_end(&mut text).map_err(said)?;
    let envelope: Envelope = serde_json::from_slice(&text).map_err(|error| error.to_string())?;
    let key = key.ok_or("there is no key that it could be checked with")?;
    if !key.verifies(&envelope.body, &envelope.code) {
        return Err("it does not carry the code of the user's key".to_owned());
    }
    serde_json::from_str(&envelope.body).map_err(|error| error.to_string())
}

/// Moves a file that is no command out of the way.
///
/// # Errors
/// Whatever the file system says.
pub fn move_aside(path: &Path) -> io::Result<()> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Ok(());
    };
    let refused = folder.join(REFUSED);
    create_dir_durable(&refused)?;
    fs::rename(path, refused.join(name))?;
    sync_parent(path)
}
