//! A thread that has no more rights on files than any user, also where root tests.

#![allow(dead_code, reason = "each of the test binaries that share it uses a part")]

use std::os::unix::fs::lchown;
use std::path::Path;

/// Who owns nothing.
pub const NOBODY: u32 = 65534;

/// Whether root tests.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Makes a folder, with all that is in it, that of whoever tests without rights: nobody's where root tests.
pub fn give_away(path: &Path) {
    if !is_root() {
        return;
    }
    lchown(path, Some(NOBODY), Some(NOBODY)).expect("root may");
    let is_folder = path.symlink_metadata().is_ok_and(|found| found.is_dir());
    for entry in is_folder.then(|| std::fs::read_dir(path).expect("root may")).into_iter().flatten() {
        give_away(&entry.expect("root may").path());
    }
}

/// Plays something as an ordinary user, as far as files go: this thread, and what it forks, may do with them what `nobody`
/// may. A program that it starts has its rights back.
pub fn without_rights_on_files<T>(play: impl FnOnce() -> T) -> T {
    if !is_root() {
        return play();
    }
    become_user(NOBODY);
    let played = std::panic::catch_unwind(std::panic::AssertUnwindSafe(play));
    become_user(0);
    played.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

#[cfg(target_os = "linux")]
fn become_user(user: u32) {
    // SAFETY: it changes a number of this thread.
    unsafe { libc::setfsuid(user) };
}

#[cfg(not(target_os = "linux"))]
fn become_user(_: u32) {
    panic!("only on Linux a thread has rights of its own");
}
