//! The processes that a process descends from, as `/proc` shows them.

use std::fs;
use std::io;

use rustix::process::Pid;

use super::{Stat, environment_of, variable_in};
use crate::identity::{ProcessIdentity, number, pid_of};

/// A process, or one it descends from.
pub struct Forebear {
    pid: Pid,
    start_time: u64,
    environment: Vec<u8>,
}

impl Forebear {
    fn of(pid: Pid, stat: &Stat) -> Forebear {
        // What may not be read, or is hidden, tells nothing; the other signs do.
        let environment = environment_of(pid);
        Forebear { pid, start_time: stat.start_time, environment }
    }

    /// A variable that it was started with.
    pub fn variable(&self, name: &str) -> Option<String> {
        if self.pid == rustix::process::getpid() {
            // A process that has hidden cannot read itself there.
            return std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
        }
        variable_in(&self.environment, name)
    }

    /// The name that the process gives itself.
    pub fn name(&self) -> String {
        let name = fs::read_to_string(format!("/proc/{}/comm", self.pid)).unwrap_or_default();
        name.trim_end().to_owned()
    }

    /// Whether the process is this very one.
    pub fn is(&self, identity: &ProcessIdentity) -> bool {
        (number(self.pid), self.start_time) == (identity.pid, identity.start_time)
    }
}

/// Whether a process or one it descends from is such a one. An error where there is no such process, or none that can be
/// seen.
pub fn any_forebear(pid: u32, is_one: impl Fn(&Forebear) -> bool) -> io::Result<bool> {
    let mut pid = pid_of(pid).ok_or(io::ErrorKind::NotFound)?;
    let mut stat = Stat::of(pid)?;
    loop {
        if is_one(&Forebear::of(pid, &stat)) {
            return Ok(true);
        }
        let Some(parent) = Pid::from_raw(stat.parent) else {
            return Ok(false);
        };
        match Stat::of(parent) {
            Ok(above) => (pid, stat) = (parent, above),
            Err(_) => {
                // A parent that has just ended handed its children on: they must not be taken for orphans. One that is
                // still named is there and hidden, as other users' processes may be.
                let again = Stat::of(pid)?;
                if again.parent == stat.parent {
                    return Ok(false);
                }
                stat = again;
            }
        }
    }
}
