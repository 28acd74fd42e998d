//! Children that have exited: what is left of their trees is ended, then they are reaped, reported and recorded.

use std::collections::HashSet;
use std::time::Instant;

use super::{Supervisor, TREE_PATIENCE};
use crate::child::Ended;
use crate::exits::ExitRecord;
use crate::identity::number;
use crate::orphans::Turns;
use crate::posix::{self, Waited};
use crate::protocol::SupervisorEvent;

impl Supervisor {
    /// Ends the tree of every child that has exited, while its process id is still its own, then reaps it.
    pub fn reap(&mut self) {
        loop {
            let pid = match posix::look_for_exit() {
                Ok(Waited::Exited(pid)) => pid,
                Ok(waited) => {
                    self.alone = waited == Waited::NoChildren;
                    return;
                }
                Err(_) => return,
            };
            let child = self.by_pid.remove(&pid).and_then(|key| self.children.remove(&key));
            if let Some(child) = &child {
                child.kill_rest();
            }
            let Ok((status, usage)) = posix::reap(pid) else {
                return;
            };
            let now = Instant::now();
            self.hunt = Some(now);
            if let Some(child) = child {
                self.ended.push(child.ended(status, usage, now, TREE_PATIENCE));
            }
        }
    }

    /// Looks for what is left of ended children's trees, and reports those of which nothing is.
    pub fn report_ended(&mut self, now: Instant) {
        let due = |at: Instant| at <= now;
        if !self.hunt.is_some_and(due) && !self.ended.iter().any(|ended| due(ended.give_up)) {
            return;
        }
        let dying = if self.alone { HashSet::new() } else { self.look_for_orphans() };
        self.hunt = None;
        for ended in std::mem::take(&mut self.ended) {
            let held = dying.contains(&ended.child.key);
            if held && !due(ended.give_up) {
                self.ended.push(ended);
                continue;
            }
            if held {
                self.warn(format!("processes of {} did not die when they were killed", ended.child.label));
            }
            self.report(ended);
        }
    }

    fn look_for_orphans(&mut self) -> HashSet<u64> {
        let ended: Vec<_> = self.ended.iter().map(|ended| (ended.child.pid, ended.child.key)).collect();
        self.orphans.hunt(&Turns { running: &self.by_pid, ended: &ended })
    }

    fn report(&mut self, mut ended: Ended) {
        let key = ended.child.key;
        if let Some(at) = self.starting.iter().position(|starting| *starting == key) {
            self.starting.swap_remove(at);
            self.send(&ended.child.spawned());
        }
        let exit = ended.report(&mut self.outputs).clone();
        if let Some(lost) = &exit.output_lost {
            self.warn(format!("output of {}: {lost}", ended.child.label));
        }
        self.record(ExitRecord {
            pid: number(ended.child.pid),
            start_time: ended.child.start_time,
            label: ended.child.label,
            boot_id: self.identity.boot_id.clone(),
            exit: exit.clone(),
            ..ExitRecord::default()
        });
        self.send(&SupervisorEvent::Exited(exit));
    }
}
