//! The files that go with a folder, beside it.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use crate::executor::error::WorkError;
use supervisor::files;
use supervisor::files::if_there;
use supervisor::files::no_links::OpenFolder;

use super::super::Worktrees;
use super::super::creation::{make, remove};
use super::super::git::refused;
use super::super::unmerged::is_git_name;
use super::commit_trees::MOST_BYTES;

/// The file beside a folder with patterns of what git is not to follow there.
pub const EXCLUDE: &str = "exchange.exclude";
/// The file beside a folder that says how many bytes a file in it may have.
pub const LARGEST: &str = "exchange.largest";
/// The file beside a folder that has the name of the carried command.
pub const NAME: &str = "exchange.name";
/// The file beside a folder that says why the work in it cannot be brought home.
pub const REFUSED: &str = "exchange.refused";
/// The folders of a drop that lie one in the other.
const DEEPEST: usize = 16;

/// Files that go with a folder, each with the name that it has beside it: one name, which does not begin with `exchange.`.
pub type CarriedFiles = Vec<(Box<str>, CarriedFile)>;

/// What goes with a folder.
#[derive(Debug, Clone)]
pub enum CarriedFile {
    /// A file of these bytes.
    Bytes(Vec<u8>),
    /// What lies at a path: a regular file, or a folder with its regular files, however deep. What is not there does not go.
    At(PathBuf),
}

/// Copies regular files, which an agent may have written, and nothing else.
struct Copying {
    /// How many bytes may still be copied.
    left: u64,
}

impl Copying {
    fn file(&mut self, from: &Path, to: &Path) -> Result<(), WorkError> {
        let open = files::open_of_any_length(from);
        let source = match open {
            Err(error) if files::is_unfit(&error) => return Ok(()),
            open => open.map_err(WorkError::file("read", from))?,
        };
        let mut copy = files::create_new(to).map_err(WorkError::file("write", to))?;
        let copied = io::copy(&mut source.take(self.left.saturating_add(1)), &mut copy);
        let copied = copied.map_err(WorkError::file("copy to", to))?;
        self.left = self.left.checked_sub(copied).ok_or_else(too_much)?;
        Ok(())
    }

    fn folder(&mut self, from: &Path, to: &Path, depth: usize) -> Result<(), WorkError> {
        let names = OpenFolder::open(from).and_then(|folder| folder.names());
        let names = names.map_err(WorkError::file("read", from))?;
        make(to)?;
        for name in names {
            if !is_git_name(name.as_encoded_bytes()) {
                self.any(&from.join(&name), &to.join(&name), depth + 1)?;
            }
        }
        Ok(())
    }

    fn any(&mut self, from: &Path, to: &Path, depth: usize) -> Result<(), WorkError> {
        let found = if_there(fs::symlink_metadata(from)).map_err(WorkError::file("read", from))?;
        match found {
            Some(found) if found.is_dir() && depth < DEEPEST => self.folder(from, to, depth),
            Some(found) if found.is_file() => self.file(from, to),
            _ => Ok(()),
        }
    }
}

fn too_much() -> WorkError {
    refused(format!("what goes with the folder has more than {MOST_BYTES} bytes"))
}

/// Whether a file can have a name beside a folder.
fn is_own_name(name: &str) -> bool {
    let is_one = !name.is_empty() && !name.starts_with("exchange.") && !name.contains(['/', '\0']);
    is_one && name != "." && name != ".." && !is_git_name(name.as_bytes())
}

impl Worktrees {
    /// The tree of files that go with a folder, which are copied into `place`. `ours` are those of the exchange itself.
    pub(super) fn tree_of_files(
        &self,
        place: &Path,
        files: &CarriedFiles,
        ours: &[(&str, &str)],
    ) -> Result<String, WorkError> {
        remove(place)?;
        make(place)?;
        let mut copying = Copying { left: MOST_BYTES };
        for (name, file) in files {
            if !is_own_name(name) {
                return Err(refused(format!("'{name}' is no name beside a folder")));
            }
            let to = place.join(&**name);
            match file {
                CarriedFile::Bytes(bytes) => {
                    files::write_new(&to, bytes).map_err(WorkError::file("write", &to))?;
                }
                CarriedFile::At(from) => copying.any(from, &to, 0)?,
            }
        }
        for (name, text) in ours {
            let to = place.join(name);
            files::write_new(&to, text.as_bytes()).map_err(WorkError::file("write", &to))?;
        }
        remove(&place.with_extension("index"))?;
        self.at(place)?.run(["add", "-A", "-f", "."])?;
        let tree = self.at(place)?.line(["write-tree"])?;
        remove(&place.with_extension("index"))?;
        remove(place)?;
        Ok(tree)
    }
}
