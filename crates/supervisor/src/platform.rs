//! What differs between systems, by the same names everywhere, and what follows from it alone.

use std::io;

use super::identity::{ProcessIdentity, number};

#[cfg(target_os = "linux")]
pub use super::linux::*;
#[cfg(not(target_os = "linux"))]
pub use super::other::*;

/// The identity of this process.
pub fn own_identity() -> io::Result<ProcessIdentity> {
    let pid = rustix::process::getpid();
    Ok(ProcessIdentity { pid: number(pid), start_time: start_time(pid)?, boot_id: boot_id()? })
}

/// Whether this is the boot of that name, so that process ids and start times of it mean something.
pub fn is_this_boot(name: &str) -> bool {
    boot_id().is_ok_and(|current| current == name)
}

/// The id of this boot of the system; empty where it has none.
pub fn this_boot() -> String {
    boot_id().unwrap_or_default()
}
