//! Waiting for what must come, with a deadline. Never a sleep that hopes.

use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, test_kill_process};

/// How long anything may take before the test is red. It ends what hangs and measures nothing: the machine may be busy.
pub const DEADLINE: Duration = Duration::from_secs(300);
const PAUSE: Duration = Duration::from_millis(2);

/// Asks again and again until it is so; `false` when the deadline has passed.
pub fn poll(deadline: Duration, mut is_so: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + deadline;
    loop {
        if is_so() {
            return true;
        }
        if Instant::now() >= end {
            return false;
        }
        std::thread::sleep(PAUSE);
    }
}

/// Waits until it is so.
pub fn wait_for(what: &str, is_so: impl FnMut() -> bool) {
    assert!(poll(DEADLINE, is_so), "waited in vain for: {what}");
}

/// Waits until a file has at least one whole line.
pub fn wait_for_file(path: &Path) {
    wait_for(&path.display().to_string(), || std::fs::read(path).is_ok_and(|bytes| bytes.ends_with(b"\n")));
}

/// The process id that a script wrote to a file.
pub fn read_pid(path: &Path) -> Pid {
    wait_for_file(path);
    let text = std::fs::read_to_string(path).expect("it is there");
    let pid = text.trim().parse().ok().and_then(Pid::from_raw);
    pid.unwrap_or_else(|| panic!("'{text}' is not a process id"))
}

/// The process that a process descends from.
pub fn parent(pid: Pid) -> Pid {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).expect("it is there");
    let (_, rest) = stat.rsplit_once(") ").expect("behind its name");
    let parent = rest.split(' ').nth(1).and_then(|parent| parent.parse().ok());
    parent.and_then(Pid::from_raw).expect("a process has a parent")
}

/// Whether a process lives; one that is only not reaped yet does not.
pub fn is_alive(pid: Pid) -> bool {
    if test_kill_process(pid).is_err() {
        return false;
    }
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    // Behind the name, which stands in brackets and may hold anything, comes the state.
    !stat.is_ok_and(|stat| stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['Z', 'X'])))
}
