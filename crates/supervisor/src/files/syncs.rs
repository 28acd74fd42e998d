//! Where the files and folders of the state are asked to survive a power loss; the journal asks by itself (`log_file`). One
//! place, so that tests can count and fail it.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// Makes the content of a file durable.
///
/// # Errors
/// Whatever the file system says.
pub fn sync_file(file: &File) -> io::Result<()> {
    asked(file)?;
    file.sync_all()
}

/// Makes the entries of a folder durable.
///
/// # Errors
/// Whatever the file system says.
pub fn sync_folder(folder: &OwnedFd) -> io::Result<()> {
    asked(folder)?;
    Ok(rustix::fs::fsync(folder)?)
}

#[cfg(not(any(test, feature = "testing")))]
fn asked(_: &impl AsFd) -> io::Result<()> {
    Ok(())
}

#[cfg(any(test, feature = "testing"))]
fn asked(opened: &impl AsFd) -> io::Result<()> {
    double::asked(opened.as_fd())
}

/// A file system whose syncs are counted, and fail where they are told to.
#[cfg(any(test, feature = "testing"))]
pub mod double {
    use std::cell::RefCell;
    use std::fs;
    use std::io;
    use std::os::fd::{AsRawFd, BorrowedFd};
    use std::path::PathBuf;

    /// What was synced, by the name that it had at that moment, and how many bytes it held; a folder holds none.
    pub type Synced = (PathBuf, u64);

    #[derive(Default)]
    struct Disk {
        synced: Vec<Synced>,
        fails_at: Option<usize>,
    }

    thread_local! {
        static DISK: RefCell<Option<Disk>> = const { RefCell::new(None) };
    }

    pub fn asked(opened: BorrowedFd<'_>) -> io::Result<()> {
        DISK.with_borrow_mut(|disk| {
            let Some(disk) = disk else { return Ok(()) };
            let name = PathBuf::from(format!("/proc/self/fd/{}", opened.as_raw_fd()));
            let found = fs::metadata(&name)?;
            let bytes = if found.is_file() { found.len() } else { 0 };
            disk.synced.push((fs::read_link(name)?, bytes));
            if disk.fails_at == Some(disk.synced.len() - 1) {
                Err(io::Error::other("the disk is failing"))
            } else {
                Ok(())
            }
        })
    }

    /// Plays something on such a disk, whose sync of this number, from 0, fails: what it comes to, and what was synced.
    pub fn on_a_disk<T>(fails_at: Option<usize>, play: impl FnOnce() -> T) -> (T, Vec<Synced>) {
        let disk = Disk { fails_at, ..Disk::default() };
        DISK.set(Some(disk));
        let played = play();
        (played, DISK.take().unwrap_or_default().synced)
    }
}
