//! The fallback for Unixes other than Linux: process groups only. A descendant that leaves its group is not found, and
//! no process is recognised again after a crash.

use std::fs;
use std::io;
use std::os::fd::RawFd;
use std::time::Duration;

use rustix::process::Pid;

use super::identity::ProcessIdentity;

/// Orphans go to the system's first process.
pub(super) fn adopt_orphans() -> io::Result<()> {
    Ok(())
}

pub(super) fn name_process(_name: &str) {}

/// Not known, so the caller of [`fork`](super::fork) is trusted.
pub(super) fn thread_count() -> io::Result<usize> {
    Ok(1)
}

/// The open file descriptors of this process.
pub(super) fn open_descriptors() -> io::Result<Vec<RawFd>> {
    let mut open = Vec::new();
    for entry in fs::read_dir("/dev/fd")? {
        open.extend(
            entry?
                .file_name()
                .to_str()
                .and_then(|name| name.parse::<RawFd>().ok()),
        );
    }
    Ok(open)
}

pub(super) fn boot_id() -> io::Result<String> {
    Ok(String::new())
}

pub(super) fn start_time(_pid: Pid) -> io::Result<u64> {
    Ok(0)
}

/// No process is ever adopted, so there is none to be listed.
pub(super) struct Children;

impl Children {
    pub(super) fn open() -> Children {
        Children
    }

    pub(super) fn list(&mut self, pids: &mut Vec<Pid>) -> io::Result<()> {
        pids.clear();
        Ok(())
    }
}

/// What can be read of the marker in another process's environment.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(dead_code, reason = "the orphans' rules handle what only Linux can find")]
pub(super) enum Marked {
    With(String),
    Without,
    NoEnvironment,
}

pub(super) fn marker_of(_pid: Pid) -> Marked {
    Marked::Without
}

pub(super) fn alive(_identity: &ProcessIdentity) -> bool {
    false
}

pub(super) fn open_output(_identity: &ProcessIdentity, _descriptor: RawFd) -> Option<fs::File> {
    None
}

pub(super) fn end(_identity: &ProcessIdentity, _wait: Duration) -> io::Result<()> {
    Ok(())
}
