//! The file under the journal: append and sync, and nothing else. A trait, so that tests can lose and tear what was
//! not synced.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use supervisor::files::{open_with, replace_file};

/// A file that is only appended to, and synced when it is told to.
pub trait LogFile {
    /// Appends bytes. After an error some of them may have been written.
    ///
    /// # Errors
    /// Whatever the file system says, or that another process wrote to the file.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Makes everything appended so far survive a power loss.
    ///
    /// # Errors
    /// Whatever the file system says. What was appended since the last success may or may not be there.
    fn sync(&mut self) -> io::Result<()>;
}

/// The path of the mark that another process wrote to a log.
pub fn foreign_write_mark(log: &Path) -> PathBuf {
    log.with_file_name("foreign-write")
}

/// A [`LogFile`] on disk that notices foreign writes.
///
/// After a failed write or sync it is cut back to what was durable, as far as the disk lets it: the kernel may show bytes
/// that never reached the disk, and nothing that they decided has happened.
#[derive(Debug)]
pub struct FsLog {
    path: PathBuf,
    file: File,
    device: u64,
    inode: u64,
    len: u64,
    synced: u64,
}

impl FsLog {
    /// Opens or creates the file, cutting it to `len` bytes.
    ///
    /// # Errors
    /// Whatever the file system says.
    pub fn open(path: &Path, len: u64) -> io::Result<Self> {
        let file = open_with(path, OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE)?;
        let metadata = file.metadata()?;
        if metadata.len() > len {
            file.set_len(len)?;
            file.sync_all()?;
        }
        Ok(Self {
            path: path.to_owned(),
            device: metadata.dev(),
            inode: metadata.ino(),
            len,
            synced: len,
            file,
        })
    }

    /// Whether the file is still the one that was opened, as long as it was left.
    fn check(&self) -> io::Result<()> {
        let there = std::fs::symlink_metadata(&self.path);
        let found = match &there {
            Ok(there) if (there.dev(), there.ino()) != (self.device, self.inode) => "another file".to_owned(),
            Ok(there) if there.len() != self.len => format!("{} bytes", there.len()),
            Ok(_) => return Ok(()),
            Err(error) => error.to_string(),
        };
        Err(io::Error::other(format!(
            "{} was changed by somebody else (expected {} bytes, found {found})",
            self.path.display(),
            self.len,
        )))
    }

    /// Not synced, since a failed sync is never tried again: where the cut is lost, readers find a torn tail.
    fn cut_back(&self, error: io::Error) -> io::Error {
        let _ = self.file.set_len(self.synced);
        error
    }
}

impl LogFile for FsLog {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Err(foreign) = self.check() {
            // For later readers: the forgery may be a good one. That the session stops does not hang on this mark.
            let _ = replace_file(&foreign_write_mark(&self.path), format!("{foreign}\n").as_bytes());
            return Err(foreign);
        }
        self.file.write_all(bytes).map_err(|error| self.cut_back(error))?;
        self.len += bytes.len() as u64;
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync_data().map_err(|error| self.cut_back(error))?;
        self.synced = self.len;
        Ok(())
    }
}
