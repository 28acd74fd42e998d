//! What has the place of something of the state and is not it: a link, a FIFO, a device, another kind of file, or somebody
//! else's (semantics, section 22). It is named before any work begins, and nothing is read or written through it.

use std::fs::{self, FileType, Metadata};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

worded! {
    /// The kind of thing that belongs at a place.
    pub enum ItemKind {
        Folder = "a folder",
        File = "a regular file",
        Socket = "a socket",
    }
}

/// The places of a state folder; what lies in a folder comes after it.
pub const OF_STATE: &[(&str, ItemKind)] = &[
    ("VERSION", ItemKind::File),
    (".gitignore", ItemKind::File),
    ("lock", ItemKind::File),
    ("control.sock", ItemKind::Socket),
    ("commands", ItemKind::Folder),
    ("commands/refused", ItemKind::Folder),
    ("runs", ItemKind::Folder),
    ("requests", ItemKind::Folder),
    ("requests/lock", ItemKind::File),
    ("dead-letters.jsonl", ItemKind::File),
    ("dead-letters.lock", ItemKind::File),
];

/// The places of a run's folder.
pub const OF_RUN: &[(&str, ItemKind)] = &[
    ("", ItemKind::Folder),
    ("work", ItemKind::Folder),
    ("journal.jsonl", ItemKind::File),
    ("mission.yaml", ItemKind::File),
    ("state.json", ItemKind::File),
    ("exits.log", ItemKind::File),
    ("supervisor.sock", ItemKind::Socket),
    ("foreign-write", ItemKind::File),
];

/// Something is in the place of a file or folder of the state.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{path} is {what}: nothing is read or written there")]
pub struct Misplaced {
    /// The path of the thing.
    pub path: PathBuf,
    /// The kind of the thing, and the kind that belongs there.
    pub what: String,
}

/// Looks at the state folder itself. It is ours if we own it, or if whoever owns the folder around it does: so a checkout
/// that was mounted for us is one, and what somebody left in a folder for all is not.
pub fn look_at_root(root: &Path) -> Result<(), Misplaced> {
    let around = root.parent().and_then(|around| fs::metadata(around).ok());
    let around = around.map(|around| around.uid());
    look(root, ItemKind::Folder, around)
}

/// Looks at places below a folder of the state. They are ours if we own them, or if the state folder's owner does.
pub fn look_at(state: &Path, below: &Path, places: &[(&str, ItemKind)]) -> Result<(), Misplaced> {
    let owner = fs::symlink_metadata(state).ok().map(|state| state.uid());
    for (name, kind) in places {
        let path = if name.is_empty() { below.to_owned() } else { below.join(name) };
        look(&path, *kind, owner)?;
    }
    Ok(())
}

fn look(path: &Path, wanted: ItemKind, owner: Option<u32>) -> Result<(), Misplaced> {
    let misplaced = |what: String| Err(Misplaced { path: path.to_owned(), what });
    // What cannot be looked at is said by whoever needs it.
    let Ok(found) = fs::symlink_metadata(path) else {
        return Ok(());
    };
    if !wanted.is(found.file_type()) {
        return misplaced(format!("{}, not {}", described(found.file_type()), wanted.as_str()));
    }
    if !is_ours(&found, owner) {
        return misplaced(format!("user {}'s, not yours", found.uid()));
    }
    Ok(())
}

fn is_ours(found: &Metadata, owner: Option<u32>) -> bool {
    let me = rustix::process::geteuid().as_raw();
    found.uid() == me || owner == Some(found.uid())
}

/// Whether a name in `runs/` may be a run: a folder. Anything but a plain file in its place is named.
pub fn may_be_run(state: &Path, path: &Path) -> Result<bool, Misplaced> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_file() => Ok(false),
        Ok(_) => look_at(state, path, &OF_RUN[..1]).map(|()| true),
        Err(_) => Ok(false),
    }
}

impl From<Misplaced> for io::Error {
    fn from(misplaced: Misplaced) -> Self {
        Self::new(io::ErrorKind::InvalidInput, misplaced)
    }
}

impl ItemKind {
    fn is(self, found: FileType) -> bool {
        match self {
            Self::Folder => found.is_dir(),
            Self::File => found.is_file(),
            Self::Socket => found.is_socket(),
        }
    }
}

fn described(found: FileType) -> &'static str {
    match found {
        found if found.is_symlink() => "a link",
        found if found.is_fifo() => "a FIFO",
        found if found.is_socket() => "a socket",
        found if found.is_dir() => "a folder",
        found if found.is_file() => "a regular file",
        _ => "a device",
    }
}
