//! The fallback for Unixes other than Linux: process groups only. A descendant that leaves its group is not found, and
//! no process is recognised again after a crash.
//!
//! | file | what |
//! |---|---|
//! | `confine` | starting a child where nothing can be confined |
//! | `forebears` | what this process itself was given: nothing is known of others |
//! | `starter` | starting a program, by the standard library |
//! | `tcp_peers` | who is at the other end of a TCP connection: not known |

pub mod confine;
pub mod forebears;
pub mod starter;
pub mod tcp_peers;

use std::convert::Infallible;
use std::fs::{self, File};
use std::io::{self, PipeReader, PipeWriter, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::time::Duration;

use rustix::process::Pid;

use crate::identity::ProcessIdentity;
use crate::posix;

/// Whether a later session finds the supervisor again: here it does not, so the supervisor ends with its
/// runner.
pub const IS_FOUND_AGAIN: bool = false;

/// Orphans go to the system's first process.
pub fn adopt_orphans() -> io::Result<()> {
    Ok(())
}

pub fn name_process(_name: &str) {}

/// Not known, so the caller of [`fork`](crate::fork) is trusted.
pub fn thread_count() -> io::Result<usize> {
    Ok(1)
}

/// The open file descriptors of this process.
pub fn open_descriptors() -> io::Result<Vec<RawFd>> {
    posix::numbers_in("/dev/fd")
}

pub fn boot_id() -> io::Result<String> {
    Ok(String::new())
}

pub fn start_time(_pid: Pid) -> io::Result<u64> {
    Ok(0)
}

/// No process is ever adopted, so there is none to be listed.
pub struct Children;

impl Children {
    pub fn open() -> Children {
        Children
    }

    pub fn list(&mut self, pids: &mut Vec<Pid>) -> io::Result<()> {
        pids.clear();
        Ok(())
    }
}

// A signal handler can only reach statics. There is one supervisor in a process, which lives as long as it.
static WAKE_PIPE: AtomicI32 = AtomicI32::new(-1);
static WOKEN: AtomicBool = AtomicBool::new(false);
static ASKED_TO_END: AtomicBool = AtomicBool::new(false);

extern "C" fn on_signal(signal: libc::c_int) {
    if signal == libc::SIGTERM {
        ASKED_TO_END.store(true, Ordering::SeqCst);
    }
    // At most one byte is ever under way, so the write never blocks and never fails, and `errno` stays as it was.
    if !WOKEN.swap(true, Ordering::SeqCst) {
        let byte = 0u8;
        // SAFETY: write(2) may be called in a handler; the byte lives through the call.
        unsafe { libc::write(WAKE_PIPE.load(Ordering::SeqCst), (&raw const byte).cast(), 1) };
    }
}

/// Turns SIGCHLD and SIGTERM into something that can be polled.
pub struct Signals {
    pipe: PipeReader,
    _write_end: PipeWriter,
}

impl Signals {
    /// Takes over all signals of the process.
    pub fn install() -> io::Result<Signals> {
        let (pipe, write_end) = io::pipe()?;
        WAKE_PIPE.store(write_end.as_raw_fd(), Ordering::SeqCst);
        posix::take_over_signals()?;
        for signal in [libc::SIGCHLD, libc::SIGTERM] {
            posix::handle(signal, on_signal as extern "C" fn(libc::c_int) as libc::sighandler_t)?;
        }
        posix::hold_back(&[])?;
        Ok(Signals { pipe, _write_end: write_end })
    }

    /// Takes what woke the supervisor.
    pub fn take(&mut self) {
        if WOKEN.load(Ordering::SeqCst) {
            // The handler has run to its end in this very thread, so the byte is there. A failed read would only leave it.
            let _ = self.pipe.read(&mut [0]);
            WOKEN.store(false, Ordering::SeqCst);
        }
    }

    /// Whether a SIGTERM ever came.
    pub fn asked_to_end(&self) -> bool {
        ASKED_TO_END.load(Ordering::SeqCst)
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }
}

pub fn marker_of(_pid: Pid) -> Option<String> {
    None
}

/// Nothing can be sealed.
pub fn sealed(_bytes: &[u8]) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

/// A file without a name. There are none.
#[derive(Debug)]
pub struct Unnamed(Infallible);

impl Unnamed {
    pub fn create(_folder: &Path) -> io::Result<Unnamed> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub fn metadata(&self) -> io::Result<std::fs::Metadata> {
        match self.0 {}
    }

    pub fn cut(&self, _length: u64) -> io::Result<()> {
        match self.0 {}
    }

    pub fn is_as_new(&self) -> bool {
        match self.0 {}
    }

    pub fn give_name(&self, _path: &Path) -> io::Result<()> {
        match self.0 {}
    }
}

/// The way to open one once more.
#[derive(Debug)]
pub struct Reopen;

impl Reopen {
    pub fn new() -> Reopen {
        Reopen
    }

    pub fn writer(&self, file: &Unnamed) -> io::Result<File> {
        match file.0 {}
    }
}

/// The path as it is: there is no shorter one here.
pub fn short_path(_folder: &File, path: &Path) -> PathBuf {
    path.to_owned()
}

pub fn peer(_socket: &UnixStream) -> io::Result<(u32, Option<u32>)> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Always `false`, because nothing is known of it here.
pub fn alive(_identity: &ProcessIdentity) -> bool {
    false
}

/// Always `None`, because nothing is known of it here.
pub fn open_output(_identity: &ProcessIdentity, _descriptor: RawFd) -> Option<fs::File> {
    None
}

/// A supervisor ends with its runner.
///
/// # Errors
/// Never.
pub fn end(_identity: &ProcessIdentity, _wait: Duration) -> io::Result<()> {
    Ok(())
}

pub fn own_session() -> Option<Pid> {
    None
}

pub fn is_at_terminal(_pid: Pid) -> bool {
    false
}

/// Always `None`, because nothing is known of it here.
pub fn something_left_of(_supervisors: &[ProcessIdentity]) -> Option<u32> {
    None
}

/// A supervisor ends with its runner.
///
/// # Errors
/// Never.
pub fn end_some(
    _identity: &ProcessIdentity,
    _leaders: &[ProcessIdentity],
    _named: (&str, &str),
) -> io::Result<()> {
    Ok(())
}

/// A supervisor ends with its runner.
///
/// # Errors
/// Never.
pub fn end_group(_identity: &ProcessIdentity) -> io::Result<()> {
    Ok(())
}
