//! A file system that is soon full.

use std::fs;
use std::process::Command;

use crate::support::{Finished, Running, Workspace, skipped};

/// What a script of bash does, `$0` being quorum, with a file system of so many KiB at `small`; what follows the script are its
/// arguments. `None`, which is told, where nothing can be mounted.
pub fn with_a_small_disk(workspace: &Workspace, size: u32, script: &[&str]) -> Option<Finished> {
    fs::create_dir(workspace.path("small")).expect("a folder can be made");
    let (script, arguments) = script.split_first().expect("there is a script");
    let mount = format!("mount -t tmpfs -o size={size}k tmpfs small && echo mounted >&2 || exit 77");
    let script = format!("{mount}\n{script}");
    let mut command = workspace.other_command("unshare");
    command.args(["--map-root-user", "--mount", "bash", "-c", &script, crate::support::BINARY]);
    command.args(arguments);
    if let Err(error) = Command::new("unshare").arg("--version").output() {
        skipped(format!("a full disk: there is no `unshare`: {error}"));
        return None;
    }
    let finished = Running::start(command).finish();
    let is_mounted = finished.stderr.contains("mounted");
    if !is_mounted {
        skipped(format!("a full disk: nothing can be mounted: {}", finished.stderr.trim()));
    }
    is_mounted.then_some(finished)
}
