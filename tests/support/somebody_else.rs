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

/// Makes a folder, with all that is in it, that of whoever tests without rights: nobody's where root tests. What a run that has
/// ended still removes may go meanwhile.
pub fn give_away(path: &Path) {
    if !is_root() || if_there(lchown(path, Some(NOBODY), Some(NOBODY))).is_none() {
        return;
    }
    let is_folder = path.symlink_metadata().is_ok_and(|found| found.is_dir());
    let entries = is_folder.then(|| if_there(std::fs::read_dir(path))).flatten();
    for entry in entries.into_iter().flatten().filter_map(if_there) {
        give_away(&entry.path());
    }
}

/// What root did or found, unless nothing is there.
fn if_there<T>(done: std::io::Result<T>) -> Option<T> {
    if matches!(&done, Err(error) if error.kind() == std::io::ErrorKind::NotFound) {
        return None;
    }
    Some(done.expect("root may"))
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
