//! The file under the journal: append and sync, and nothing else. A trait, so that tests can lose and tear what was
//! not synced.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// An append-only file.
pub trait LogFile {
    /// Appends bytes. After an error some of them may have been written.
    ///
    /// # Errors
    /// Whatever the file system says, or that somebody else wrote to the file.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Makes everything appended so far survive a power loss.
    ///
    /// # Errors
    /// Whatever the file system says. What was appended since the last success may or may not be there.
    fn sync(&mut self) -> io::Result<()>;
}

/// A [`LogFile`] on disk that notices foreign writes.
#[derive(Debug)]
pub struct FsLog {
    path: PathBuf,
    file: File,
    device: u64,
    inode: u64,
    len: u64,
}

impl FsLog {
    /// Opens or creates the file, cutting it to `len` bytes.
    ///
    /// # Errors
    /// Whatever the file system says.
    pub fn open(path: &Path, len: u64) -> io::Result<Self> {
        let file = OpenOptions::new().append(true).create(true).open(path)?;
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
            file,
        })
    }
}

impl LogFile for FsLog {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let there = std::fs::metadata(&self.path)?;
        if (there.dev(), there.ino(), there.len()) != (self.device, self.inode, self.len) {
            return Err(io::Error::other(format!(
                "{} was changed by somebody else (expected {} bytes, found {})",
                self.path.display(),
                self.len,
                there.len()
            )));
        }
        self.file.write_all(bytes)?;
        self.len += bytes.len() as u64;
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync_data()
    }
}
