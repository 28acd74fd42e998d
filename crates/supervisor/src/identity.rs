//! How a process is recognised again after a crash: its number alone may by then be a stranger's.

use rustix::process::Pid;
use serde::{Deserialize, Serialize};

/// A process, told apart from every other one that had or will have its number.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ProcessIdentity {
    /// The process id.
    pub pid: u32,
    /// The start of the process, in clock ticks since boot (from `/proc/PID/stat`); 0 where the system does not
    /// tell.
    pub start_time: u64,
    /// The boot in which the two mean something; empty where the system does not tell.
    pub boot_id: String,
}

/// The process id that a number is, if it is one.
pub fn pid_of(number: u32) -> Option<Pid> {
    i32::try_from(number).ok().and_then(Pid::from_raw)
}

/// A process id as the number it is.
pub fn number(pid: Pid) -> u32 {
    pid.as_raw_nonzero().get().unsigned_abs()
}
