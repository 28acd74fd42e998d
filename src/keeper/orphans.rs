//! The hunt for processes that left their turn's process group (`setsid`, a double fork) to live on after it.
//!
//! Where the keeper adopts orphans, such a process becomes its child as soon as its own parents are dead. Which turn it
//! belongs to is told by a marker in the environment it inherited, or by its process group. A process that belongs to
//! a running turn is left alone; one that belongs to none is killed, at the latest when no turn is running.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, getpgid, kill_process};

use super::identity::ProcessIdentity;
use super::platform::{self, Marked};

/// The variable that the keeper adds to every child's environment. Its value says which keeper and which turn the
/// child belongs to: a comma-separated list, from the outermost run to the innermost, of `PID.STARTTIME.KEY`.
pub const TURN_KEY_VARIABLE: &str = "QUORUM_TURN_KEY";

/// A process that is just starting a program has no environment for a moment. So long we wait before we believe that
/// it has none at all, looking again in steps of [`LOOK_AGAIN`].
const SETTLE: Duration = Duration::from_millis(100);
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// Writes and reads the values of [`TURN_KEY_VARIABLE`] for one keeper.
pub(super) struct Marker {
    /// `PID.STARTTIME.`
    keeper: String,
    /// What the keeper itself inherited, if its run is part of a turn of another run.
    outer: Option<String>,
}

impl Marker {
    pub(super) fn of(keeper: &ProcessIdentity) -> Marker {
        Marker {
            keeper: format!("{}.{}.", keeper.pid, keeper.start_time),
            outer: None,
        }
    }

    pub(super) fn within(self, outer: Option<String>) -> Marker {
        Marker {
            outer: outer.filter(|outer| !outer.is_empty()),
            ..self
        }
    }

    /// The value for the child with this key.
    pub(super) fn value(&self, key: u64) -> String {
        match &self.outer {
            Some(outer) => format!("{outer},{}{key}", self.keeper),
            None => format!("{}{key}", self.keeper),
        }
    }

    /// The key in a value that [`value`](Self::value) made, or that a run inside that child extended.
    pub(super) fn key_in(&self, value: &str) -> Option<u64> {
        value
            .split(',')
            .find_map(|part| part.strip_prefix(&self.keeper)?.parse().ok())
    }
}

/// What the keeper knows about its turns when it looks for orphans.
pub(super) struct Turns<'a> {
    /// Process (and group) ids of the running turns, with their keys.
    pub(super) running: &'a HashMap<Pid, u64>,
    /// The same of turns that have exited but are not reported yet.
    pub(super) ended: &'a [(Pid, u64)],
}

/// What a look for orphans found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// Keys of ended turns of which processes are still dying.
    pub(super) dying: HashSet<u64>,
    /// Some processes cannot be told apart yet and may belong to any ended turn: look again at this time.
    pub(super) look_again: Option<Instant>,
}

enum Owner {
    Running,
    Ended(u64),
    /// A turn of this keeper that was reported already.
    Gone,
    /// It inherited no marker, or hid it.
    Nobody,
    NotKnownYet,
}

/// The keeper's view of its adopted children.
pub(super) struct Orphans {
    children: platform::Children,
    pids: Vec<Pid>,
    marker: Marker,
    /// When each adopted child was first seen. An entry lives as long as the process is not reaped.
    seen: HashMap<Pid, Instant>,
}

impl Orphans {
    pub(super) fn new(marker: Marker) -> Orphans {
        let children = platform::Children::open();
        Orphans {
            children,
            pids: Vec::new(),
            marker,
            seen: HashMap::new(),
        }
    }

    pub(super) fn marker_for(&self, key: u64) -> String {
        self.marker.value(key)
    }

    /// Forgets a process that is about to be reaped.
    pub(super) fn forget(&mut self, pid: Pid) {
        self.seen.remove(&pid);
    }

    /// Kills the adopted children that belong to no running turn. Signals only children that are not reaped, so never
    /// a stranger. What dies is seen by SIGCHLD, after which its own children are found by the next look.
    pub(super) fn hunt(&mut self, turns: &Turns<'_>, now: Instant) -> Found {
        let mut found = Found::default();
        if self.children.list(&mut self.pids).is_err() || self.pids.len() == turns.running.len() {
            return found;
        }
        for &pid in self.pids.iter().filter(|pid| !turns.running.contains_key(pid)) {
            let first_seen = *self.seen.entry(pid).or_insert(now);
            let all_ended = turns.ended.iter().map(|&(_, key)| key);
            let kill = match owner(pid, &self.marker, turns) {
                Owner::Running => false,
                Owner::Gone => true,
                Owner::Ended(key) => {
                    found.dying.insert(key);
                    true
                }
                Owner::Nobody | Owner::NotKnownYet if turns.running.is_empty() => {
                    found.dying.extend(all_ended);
                    true
                }
                Owner::Nobody => false,
                Owner::NotKnownYet => {
                    if now < first_seen + SETTLE {
                        found.look_again = Some(now + LOOK_AGAIN);
                    }
                    false
                }
            };
            if kill {
                // A refusal is only possible for a program that changed its user; it is reported as still dying.
                let _ = kill_process(pid, Signal::KILL);
            }
        }
        found
    }
}

fn owner(pid: Pid, marker: &Marker, turns: &Turns<'_>) -> Owner {
    let by_key = |key| {
        if turns.running.values().any(|&running| running == key) {
            Owner::Running
        } else if turns.ended.iter().any(|&(_, ended)| ended == key) {
            Owner::Ended(key)
        } else {
            Owner::Gone
        }
    };
    let marked = platform::marker_of(pid);
    if let Marked::With(value) = &marked
        && let Some(key) = marker.key_in(value)
    {
        return by_key(key);
    }
    // A group's number stays taken as long as it has members, so it cannot be another turn's.
    let group = getpgid(Some(pid)).ok();
    let key_of = |group: Pid| {
        let ended = turns
            .ended
            .iter()
            .find(|(leader, _)| *leader == group)
            .map(|&(_, key)| key);
        turns.running.get(&group).copied().or(ended)
    };
    match group.and_then(key_of) {
        Some(key) => by_key(key),
        None if marked == Marked::NoEnvironment => Owner::NotKnownYet,
        None => Owner::Nobody,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marker(pid: u32, start_time: u64) -> Marker {
        Marker::of(&ProcessIdentity {
            pid,
            start_time,
            boot_id: String::new(),
        })
    }

    #[test]
    fn a_marker_names_keeper_and_turn() {
        let value = marker(12, 345).value(6);
        assert_eq!(value, "12.345.6");
        assert_eq!(marker(12, 345).key_in(&value), Some(6));
        assert_eq!(marker(12, 34).key_in(&value), None);
        assert_eq!(marker(2, 345).key_in(&value), None);
        assert_eq!(marker(12, 345).key_in("12.345.x"), None);
    }

    #[test]
    fn a_run_inside_a_turn_belongs_to_both() {
        let outer = marker(12, 345).value(6);
        let inner = marker(78, 9).within(Some(outer)).value(1);
        assert_eq!(inner, "12.345.6,78.9.1");
        assert_eq!(marker(12, 345).key_in(&inner), Some(6));
        assert_eq!(marker(78, 9).key_in(&inner), Some(1));
    }
}
