//! Starting a program where only the standard library knows how.
//!
//! It is used without a hook between fork and exec and with absolute paths, because only then does it use `posix_spawn`,
//! whose cost does not grow with the process that calls it.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use rustix::process::Pid;

use crate::start::{Bounds, Start};
use crate::turn_marker::TURN_KEY_VARIABLE;

/// Starts programs one after the other.
pub struct Starter;

impl Starter {
    pub fn new() -> Starter {
        Starter
    }

    /// Starts a program in a process group of its own.
    ///
    /// # Errors
    ///
    /// `InvalidInput` for a text with a zero in it, else what the system refuses; then there is no process.
    pub fn start(&mut self, start: &Start<'_>) -> io::Result<Pid> {
        let stdio = |file: &Option<std::fs::File>| match file {
            None => Ok(Stdio::inherit()),
            Some(file) => file.try_clone().map(|file| Stdio::from(OwnedFd::from(file))),
        };
        let [stdin, stdout, stderr] = &start.standard;
        let (program, arguments) = start.arguments.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let child = Command::new(program)
            .args(arguments)
            .env_clear()
            .envs(start.environment.iter().map(|(name, value)| (name, value)))
            .env(TURN_KEY_VARIABLE, start.marker)
            .current_dir(start.folder)
            .process_group(0)
            .stdin(stdio(stdin)?)
            .stdout(stdio(stdout)?)
            .stderr(stdio(stderr)?)
            .spawn()?;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        pid.ok_or_else(|| io::ErrorKind::Other.into())
    }

    /// Starts a program for a thread that waits. Here nothing tells the program of that thread's end, or keeps
    /// it from other places.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start).
    pub fn start_bound(&mut self, start: &Start<'_>, _: &Bounds<'_>) -> io::Result<Pid> {
        self.start(start)
    }
}
