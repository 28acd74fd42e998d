//! What this machine can do. Programs that are not ours are asked, so that a defect of ours is no reason to skip a test.

#![allow(dead_code, reason = "each of the test binaries that share it uses a part")]

use std::process::Command;

/// Whether this machine lets processes be confined.
pub fn makes_namespaces() -> bool {
    let mut way = Command::new("unshare");
    way.args(["-Urpim", "--fork", "true"]);
    way.output().is_ok_and(|output| output.status.success())
}

/// Whether bubblewrap can be asked to make namespaces.
pub fn has_bubblewrap() -> bool {
    let mut way = Command::new("bwrap");
    way.args(["--unshare-user", "--unshare-pid", "--dev-bind", "/", "/", "--proc", "/proc", "true"]);
    way.output().is_ok_and(|output| output.status.success())
}
