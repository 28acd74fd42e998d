//! The hunt for processes that left their turn's process group (`setsid`, a double fork) to live on after it.
//!
//! On Linux each child of the supervisor adopts the orphans of its own tree as long as it lives, and the supervisor those of
//! children that have ended. So what the supervisor finds among its own children without having started it is a leftover,
//! whatever else runs, and is killed, however it hid: a new session, a double fork, an environment without a mark, or with
//! the mark of a turn that still runs. A program that gives up adopting its orphans only gives them up to be killed.
//!
//! Of which ended turn it is left over, is told by a marker in the environment it inherited, or by its process group.
//! Where neither tells, every turn that has ended waits for its death, since it may be theirs.

use std::collections::{HashMap, HashSet};

use rustix::process::{Pid, Signal, getpgid, kill_process};

use super::platform;
use super::turn_marker::TurnMarker;

/// The turns that the supervisor knows when it looks for orphans.
pub struct Turns<'a> {
    /// Process (and group) ids of the running turns, with their keys.
    pub running: &'a HashMap<Pid, u64>,
    /// Process (and group) ids of turns that have exited but are not reported yet, with their keys.
    pub ended: &'a [(Pid, u64)],
}

/// The owner of a leftover process.
enum LeftoverOwner {
    Ended(u64),
    /// A turn of this supervisor that was reported already, or so its marker says.
    Gone,
    /// The process has no marker, or hid it, or has one that it cannot have inherited.
    NotTold,
}

/// The children that the supervisor adopted, as it sees them.
pub struct Orphans {
    children: platform::Children,
    pids: Vec<Pid>,
    marker: TurnMarker,
}

impl Orphans {
    pub fn new(marker: TurnMarker) -> Orphans {
        Orphans { children: platform::Children::open(), pids: Vec::new(), marker }
    }

    pub fn marker_for(&self, key: u64) -> String {
        self.marker.value(key)
    }

    /// Kills the adopted children. Signals only children that are not reaped, so never a stranger. What dies is seen by
    /// SIGCHLD, after which its own children are found by the next look. Returns the keys of ended turns of which processes
    /// are still dying, or may be.
    pub fn hunt(&mut self, turns: &Turns<'_>) -> HashSet<u64> {
        let mut dying = HashSet::new();
        if self.children.list(&mut self.pids).is_err() || self.pids.len() == turns.running.len() {
            return dying;
        }
        for &pid in self.pids.iter().filter(|pid| !turns.running.contains_key(pid)) {
            // A refusal is only possible for a program that changed its user; it is reported as still dying.
            let dies = kill_process(pid, Signal::KILL).is_ok();
            match owner(pid, &self.marker, turns) {
                LeftoverOwner::Ended(key) => drop(dying.insert(key)),
                // What was refused once is refused for ever: it is not waited for again.
                LeftoverOwner::Gone if !dies => {}
                LeftoverOwner::Gone | LeftoverOwner::NotTold => {
                    dying.extend(turns.ended.iter().map(|&(_, key)| key))
                }
            }
        }
        dying
    }
}

fn owner(pid: Pid, marker: &TurnMarker, turns: &Turns<'_>) -> LeftoverOwner {
    let marked = platform::marker_of(pid);
    if let Some(key) = marked.and_then(|value| marker.key_in(&value)) {
        return if turns.ended.iter().any(|&(_, ended)| ended == key) {
            LeftoverOwner::Ended(key)
        } else if turns.running.values().any(|&running| running == key) {
            LeftoverOwner::NotTold
        } else {
            LeftoverOwner::Gone
        };
    }
    // A group's number stays taken as long as it has members, so it cannot be another turn's.
    let group = getpgid(Some(pid)).ok();
    let ended = turns.ended.iter().find(|(leader, _)| Some(*leader) == group);
    ended.map_or(LeftoverOwner::NotTold, |&(_, key)| LeftoverOwner::Ended(key))
}
