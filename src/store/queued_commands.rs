//! `commands/`: operators' commands for a writer that could not be asked directly.
//!
//! The sender writes a whole file durably; the writer journals the command's id with its result, syncs, and only then
//! removes the file, so that a command is taken once however often either of them dies. A letter that carries no valid
//! code of the user's key is no command and is moved aside. What is not even called a letter, or is a folder, was put
//! there by another process, and stays untouched where it is.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use rustix::fs::FileType;

use serde::{Deserialize, Serialize};

use rules::domain::RunId;
use rules::engine::Command;

use super::operator_key::OperatorKey;
use supervisor::files::no_links::{OpenFolder, UNFINISHED};
use supervisor::files::{create_dir_durable, if_there, open_regular, remove_file, replace_file};

/// No command is longer, in bytes.
pub const LONGEST_COMMAND: u64 = 64 << 10;
/// Where files go that are no commands.
const REFUSED: &str = "refused";

/// A command on its way: in a file of the inbox, or through the socket of a live writer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Queued {
    /// The id of the command, which is taken once.
    pub id: String,
    /// The run that the command is for.
    pub run: RunId,
    /// The name of the person who gave the command, as recorded.
    pub by: String,
    pub command: Command,
}

#[derive(Serialize, Deserialize)]
struct Envelope {
    code: String,
    body: String,
}

/// A file of the inbox.
#[derive(Debug)]
pub enum InboxFile {
    /// A command of the user's.
    Command(PathBuf, Box<Queued>),
    /// A letter that is none, and why.
    Refused(PathBuf, String),
    /// Something that was never put there to be read. It is left alone.
    Stranger(PathBuf),
}

/// Queues a command, durably. Returns its file.
///
/// # Errors
/// Whatever the file system says; then nothing is queued.
pub fn put(inbox: &Path, key: &OperatorKey, queued: &Queued) -> io::Result<PathBuf> {
    create_dir_durable(inbox)?;
    let body = serde_json::to_string(queued)?;
    let envelope = Envelope { code: key.code(&body), body };
    let path = inbox.join(format!("{}.json", queued.id));
    replace_file(&path, &serde_json::to_vec(&envelope)?)?;
    Ok(path)
}

/// The commands that wait, by name of their files. `key` is asked for when there is one.
///
/// # Errors
///
/// When the folder cannot be read; a missing one is empty.
pub fn waiting(
    inbox: &Path,
    key: impl FnOnce() -> io::Result<Option<OperatorKey>>,
) -> io::Result<Vec<InboxFile>> {
    let Some(folder) = if_there(OpenFolder::open(inbox))? else {
        return Ok(Vec::new());
    };
    let mut names = folder.names()?;
    // A file that is still being written will be there under its own name.
    names.retain(|name| name != REFUSED && !name.as_encoded_bytes().starts_with(UNFINISHED.as_bytes()));
    if names.is_empty() {
        return Ok(Vec::new());
    }
    names.sort();
    let key = key()?;
    let mut found = Vec::new();
    for name in names {
        let path = inbox.join(&name);
        found.push(if is_letter(&folder, &name)? {
            match opened(&path, key.as_ref()) {
                Ok(queued) => InboxFile::Command(path, Box::new(queued)),
                Err(why) => InboxFile::Refused(path, why.to_string()),
            }
        } else {
            InboxFile::Stranger(path)
        });
    }
    Ok(found)
}

fn is_letter(folder: &OpenFolder, name: &OsStr) -> io::Result<bool> {
    let is_named = Path::new(name).extension() == Some(OsStr::new("json"));
    // A link or a FIFO of that name is a bad letter: its name is moved, what is behind it is not looked at.
    Ok(is_named && folder.kind(name)? != Some(FileType::Directory))
}

fn opened(path: &Path, key: Option<&OperatorKey>) -> io::Result<Queued> {
    let refused = |why| Err(io::Error::new(io::ErrorKind::InvalidData, why));
    let file = open_regular(path)?;
    if file.metadata()?.len() > LONGEST_COMMAND {
        return refused("it is not a small plain file");
    }
    let mut text = Vec::new();
    file.take(LONGEST_COMMAND).read_to_end(&mut text)?;
    let envelope: Envelope = serde_json::from_slice(&text)?;
    let Some(key) = key else {
        return refused("there is no key that it could be checked with");
    };
    if !key.verifies(&envelope.body, &envelope.code) {
        return refused("it does not carry the code of the user's key");
    }
    Ok(serde_json::from_str(&envelope.body)?)
}

/// Removes the letter of a command that was taken.
///
/// # Errors
/// Whatever the file system says.
pub fn taken(path: &Path) -> io::Result<()> {
    remove_file(path)
}

/// Moves a letter that is no command out of the way. What is no letter stays.
///
/// # Errors
/// Whatever the file system says.
pub fn move_aside(path: &Path) -> io::Result<()> {
    let (folder, name) = OpenFolder::of(path)?;
    if !is_letter(&folder, name)? {
        return Ok(());
    }
    let aside = path.with_file_name(REFUSED);
    let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", aside.display()));
    folder.make(REFUSED.as_ref()).map_err(named)?;
    let refused = OpenFolder::open(&aside).map_err(named)?;
    folder.rename(name, &refused, name).map_err(named)?;
    folder.sync()
}
