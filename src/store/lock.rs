//! The lock of the one writer: advisory, exclusive, released by the kernel when its holder dies.

use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use rustix::process::{Pid, test_kill_process};
use serde::{Deserialize, Serialize};

use rules::domain::{RunId, Timestamp};

use supervisor::files::{if_there, open_regular, open_with};

/// How long a lock that is only held for a moment is waited for.
const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// How long a writer waits for a reader that is looking.
const PAUSE: Duration = Duration::from_millis(1);
/// How many such pauses a holder may take to write its name.
const PATIENCE: u32 = 100;

/// The variable by which a host names the run to the session that it begins, which takes the lock after that of another host.
pub const HOSTED: &str = "QUORUM_HOSTED";

/// Holds the state folder for writing until dropped.
#[derive(Debug)]
pub struct Lock {
    // Closing the file releases the lock; the content stays behind as a hint that no longer counts.
    _file: File,
}

/// The holder of a lock, as written inside it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Holder {
    /// The process id of the holder.
    pub pid: u32,
    /// The name of the holder's host.
    pub host: String,
    /// The moment at which the holder took the lock.
    pub started_at: String,
    /// The command that holds the lock.
    pub command: String,
    /// The run that the holder writes.
    pub run: Option<RunId>,
}

impl Holder {
    /// Whether the holder is a process of this machine.
    pub fn is_here(&self) -> bool {
        self.host == host()
    }

    /// Whether the holder is not known to be dead.
    fn may_live(&self) -> bool {
        let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
        let is_gone = |pid| matches!(test_kill_process(pid), Err(rustix::io::Errno::SRCH));
        !self.is_here() || pid.is_some_and(|pid| !is_gone(pid))
    }
}

/// The name of this machine.
pub fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Why the lock could not be had.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process writes.
    #[error("{path} is held by {}", describe(holder.as_deref()))]
    Held {
        /// The path of the lock file.
        path: PathBuf,
        /// The holder of the lock, if it could be read.
        holder: Option<Box<Holder>>,
    },
    /// The file system said no.
    #[error("cannot lock {path}: {source}")]
    Io {
        /// The path of the lock file.
        path: PathBuf,
        source: io::Error,
    },
}

fn describe(holder: Option<&Holder>) -> String {
    holder.map_or_else(
        || "another process".to_owned(),
        |h| format!("process {} on {} since {} ({})", h.pid, h.host, h.started_at, h.command),
    )
}

impl Lock {
    /// Takes the lock, or says who has it. Waits only where that process is dead: a child that it was about to start when it was
    /// killed holds the file until it has become another program, or has ended; at most five seconds.
    ///
    /// # Errors
    /// [`LockError`]
    pub fn take(path: &Path, command: &str, run: Option<&RunId>) -> Result<Self, LockError> {
        let io = |source| LockError::Io { path: path.to_owned(), source };
        let begin = Instant::now();
        loop {
            let file = open_with(path, OFlags::RDWR | OFlags::CREATE).map_err(io)?;
            match Self::of_opened(file, path, command, run) {
                Ok(Some(lock)) => return Ok(lock),
                Ok(None) => {}
                Err(LockError::Held { holder: Some(holder), .. })
                    if !holder.may_live() && begin.elapsed() < LONGEST_WAIT => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Takes the lock by a file that was opened at `path`; `None` where it is to be opened again.
    fn of_opened(
        mut file: File,
        path: &Path,
        command: &str,
        run: Option<&RunId>,
    ) -> Result<Option<Self>, LockError> {
        let io = |source| LockError::Io { path: path.to_owned(), source };
        match file.try_lock() {
            Ok(()) => {}
            // A reader that looks whether somebody writes holds the file for a moment; that is no lock.
            Err(TryLockError::WouldBlock) if only_readers(&file).map_err(io)? => {
                std::thread::sleep(PAUSE);
                return Ok(None);
            }
            Err(TryLockError::WouldBlock) => {
                return Err(LockError::Held {
                    path: path.to_owned(),
                    holder: read_holder(&mut file).map(Box::new),
                });
            }
            Err(TryLockError::Error(error)) => return Err(io(error)),
        }
        // Another process may have deleted the file between our open and our lock: then we hold nothing that counts.
        let same = std::fs::symlink_metadata(path).is_ok_and(|there| {
            file.metadata().is_ok_and(|ours| (ours.dev(), ours.ino()) == (there.dev(), there.ino()))
        });
        if !same {
            return Ok(None);
        }
        write_holder(&mut file, command, run).map_err(io)?;
        Ok(Some(Self { _file: file }))
    }

    /// Takes a lock that is only held for a moment: waits for who has it.
    ///
    /// # Errors
    ///
    /// As [`Self::take`], when the wait has lasted five seconds.
    pub fn await_turn(path: &Path, command: &str) -> Result<Self, LockError> {
        let begin = Instant::now();
        loop {
            match Self::take(path, command, None) {
                Err(LockError::Held { .. }) if begin.elapsed() < LONGEST_WAIT => std::thread::sleep(PAUSE),
                taken => return taken,
            }
        }
    }

    /// The holder of the lock right now; `None` if it is free.
    ///
    /// # Errors
    ///
    /// When the lock file exists and cannot be opened.
    pub fn holder(path: &Path) -> io::Result<Option<Option<Holder>>> {
        let Some(mut file) = if_there(open_regular(path))? else {
            return Ok(None);
        };
        match file.try_lock_shared() {
            Ok(()) => Ok(None),
            Err(TryLockError::WouldBlock) => Ok(Some(read_holder(&mut file))),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

/// Whether a lock that could not be taken is held by readers alone, or not any more.
fn only_readers(file: &File) -> io::Result<bool> {
    match file.try_lock_shared() {
        Ok(()) => file.unlock().map(|()| true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Reads the holder of the lock. Between taking a lock and writing into it the file is empty or names the
/// holder before, who is dead: so it is looked at again until it names a process that can be holding it, or the
/// patience is over.
fn read_holder(file: &mut File) -> Option<Holder> {
    for _ in 0..PATIENCE {
        if let Some(holder) = written_holder(file).filter(Holder::may_live) {
            return Some(holder);
        }
        std::thread::sleep(PAUSE);
    }
    written_holder(file)
}

fn written_holder(file: &mut File) -> Option<Holder> {
    let mut text = String::new();
    file.rewind().ok()?;
    file.take(4096).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

fn write_holder(file: &mut File, command: &str, run: Option<&RunId>) -> io::Result<()> {
    let holder = Holder {
        pid: std::process::id(),
        host: host(),
        started_at: Timestamp::now().to_rfc3339(),
        command: command.to_owned(),
        run: run.cloned(),
    };
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(&serde_json::to_vec(&holder)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_writer_is_told_who_holds_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let first = Lock::take(&path, "run", None).unwrap();
        let Err(LockError::Held { holder: Some(holder), .. }) = Lock::take(&path, "run", None) else {
            panic!("two writers")
        };
        assert_eq!(holder.pid, std::process::id());
        assert!(Lock::holder(&path).unwrap().is_some());
        drop(first);
        assert!(Lock::holder(&path).unwrap().is_none());
        Lock::take(&path, "run", None).unwrap();
    }

    #[test]
    fn what_a_dead_writer_was_about_to_start_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let mut file = open_with(&path, OFlags::RDWR | OFlags::CREATE).unwrap();
        file.try_lock().unwrap();
        write_holder(&mut file, "run", None).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let own = format!("\"pid\":{}", std::process::id());
        // No system counts its processes so far.
        std::fs::write(&path, text.replace(&own, &format!("\"pid\":{}", i32::MAX))).unwrap();
        let late = std::thread::spawn(move || {
            // Longer than a holder may take to write its name.
            std::thread::sleep(PAUSE * PATIENCE * 5);
            drop(file);
        });
        Lock::take(&path, "resume", None).unwrap();
        late.join().unwrap();
    }

    #[test]
    fn a_deleted_lock_file_does_not_make_two_writers() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let first = Lock::take(&path, "run", None).unwrap();
        std::fs::remove_file(&path).unwrap();
        // The path is free now; who takes it holds the file that others will see.
        let second = Lock::take(&path, "run", None).unwrap();
        drop(first);
        assert!(matches!(Lock::take(&path, "run", None), Err(LockError::Held { .. })));
        drop(second);
    }

    #[test]
    fn a_lock_file_that_is_deleted_between_open_and_lock_locks_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let opened = || open_with(&path, OFlags::RDWR | OFlags::CREATE).unwrap();
        let lock = |file| Lock::of_opened(file, &path, "run", None).unwrap();
        // Nothing is there any more.
        let late = opened();
        std::fs::remove_file(&path).unwrap();
        assert!(lock(late).is_none());
        // Another file is there, whether somebody holds it or not, and another name of none of it.
        for held in [false, true] {
            let late = opened();
            std::fs::remove_file(&path).unwrap();
            let first = lock(opened()).unwrap();
            let first = held.then_some(first);
            assert!(lock(late).is_none(), "held: {held}");
            drop(first);
            // A child that another test starts at this moment may have it still.
            std::fs::remove_file(&path).unwrap();
        }
        let late = opened();
        std::fs::rename(&path, folder.path().join("moved")).unwrap();
        assert!(lock(late).is_none());
        assert!(lock(opened()).is_some());
    }
}
