//! The mark of a supervisor on everything that it starts, which no process can shed.
//!
//! An agent's child can clear its environment, begin a session of its own, outlive its parents and hide in namespaces. One
//! thing stays: a resource limit. The supervisor lowers its hard limit of file locks, which Linux has not looked at since 2.4, to
//! a number of its own; every descendant inherits it, and nobody without the rights of the machine's administrator raises it
//! again. So whatever carries a number is an agent's, and whose, for as long as it lives.

use std::fs;

use rustix::process::Pid;

use super::identity::ProcessIdentity;
use rules::domain::Digest;

/// The upper 16 bits of every mark; far below "unlimited", far above any limit that somebody would set by hand.
const KIND: u64 = 0x5155 << OWN_BITS;
/// The lower bits, which tell one supervisor from another.
const OWN_BITS: u32 = 48;

/// The mark of everything that a supervisor starts.
fn mark_of(supervisor: &ProcessIdentity) -> u64 {
    let ProcessIdentity { pid, start_time, boot_id } = supervisor;
    let digest = Digest::of(format!("{pid}.{start_time}.{boot_id}").as_bytes()).to_string();
    let own = digest.get(..OWN_BITS as usize / 4);
    KIND | own.and_then(|digits| u64::from_str_radix(digits, 16).ok()).unwrap_or(0)
}

fn is_mark(limit: u64) -> bool {
    limit >> OWN_BITS == KIND >> OWN_BITS
}

/// Marks this process and with it whatever it will start. Inside of another run's turn the mark of that run stays: a limit
/// can only be lowered.
pub fn mark_this_process(supervisor: &ProcessIdentity) {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        if getrlimit(Resource::Locks).maximum.is_some() {
            return;
        }
        let mark = Some(mark_of(supervisor));
        let limit = Rlimit { current: mark, maximum: mark };
        // Where it cannot be set, tree and environment still tell.
        let _ = setrlimit(Resource::Locks, limit);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = mark_of(supervisor);
}

/// Whether a process, or one it descends from, was started by this supervisor.
pub fn is_marked_by(pid: Pid, supervisor: &ProcessIdentity) -> bool {
    limit_of(pid).is_some_and(|limit| limit == mark_of(supervisor))
}

/// Whether a process carries a mark, or a limit that is lower than this process's own and may have been one.
pub fn carries_a_mark(pid: Pid) -> bool {
    let Some(limit) = limit_of(pid) else {
        return false;
    };
    is_mark(limit) || limit_of(rustix::process::getpid()).is_none_or(|own| limit < own)
}

/// Whether a process carries a limit that is no mark: somebody's choice, or a mark that was lowered.
#[cfg(target_os = "linux")]
pub fn may_have_lowered_its_mark(pid: Pid) -> bool {
    limit_of(pid).is_some_and(|limit| !is_mark(limit))
}

/// The hard limit of a process; `None` where there is none, or none that can be seen.
fn limit_of(pid: Pid) -> Option<u64> {
    let limits = fs::read_to_string(format!("/proc/{}/limits", pid.as_raw_nonzero())).ok()?;
    parse(&limits)
}

/// `Max file locks   SOFT   HARD   locks`
fn parse(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max file locks"))?;
    line.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn supervisor(pid: u32) -> ProcessIdentity {
        ProcessIdentity { pid, start_time: 4711, boot_id: "b".to_owned() }
    }

    #[test]
    fn a_mark_is_of_one_supervisor_and_no_limit_of_anybodys_choice() {
        assert!(is_mark(mark_of(&supervisor(1))));
        assert_ne!(mark_of(&supervisor(1)), mark_of(&supervisor(2)));
        assert!(!is_mark(0) && !is_mark(65_536) && !is_mark(u64::MAX));
    }

    #[test]
    fn the_hard_limit_is_what_counts() {
        let limits = "Limit   Soft Limit   Hard Limit   Units\n\
                      Max locked memory   1   2   bytes\n\
                      Max file locks            12                   345                  locks     \n";
        assert_eq!(parse(limits), Some(345));
        assert_eq!(parse("Max file locks   unlimited   unlimited   locks\n"), None);
    }
}
