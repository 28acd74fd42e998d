//! How a child is ended: SIGTERM when its time runs out or the runner wants it, SIGKILL after a grace, each to its process group.

use std::time::{Duration, Instant};

use rustix::process::{Signal, getpgid, kill_process, kill_process_group};

use super::{Child, LOOK};

impl Child {
    /// When [`enforce`](Self::enforce) has something to do next.
    pub fn deadline(&self) -> Option<Instant> {
        [self.time_out, self.kill, self.look].into_iter().flatten().min()
    }

    /// Sends the signals that are due, and cuts outputs that have become too long.
    pub fn enforce(&mut self, now: Instant) {
        if self.look.is_some_and(|due| due <= now) {
            self.streams.trim();
            self.look = Some(now + LOOK);
        }
        if self.time_out.is_some_and(|due| due <= now) {
            self.time_out = None;
            self.timed_out = true;
            self.ask_to_end(now, self.grace);
        }
        if self.kill.is_some_and(|due| due <= now) {
            self.kill = None;
            self.signal(Signal::KILL);
        }
    }

    /// SIGTERM now, SIGKILL after `grace`, because the runner wants it.
    pub fn terminate(&mut self, now: Instant, grace: Duration) {
        self.terminated = true;
        self.ask_to_end(now, grace);
    }

    /// SIGKILL now, because the runner wants it or is gone.
    pub fn kill(&mut self) {
        self.terminated = true;
        self.signal(Signal::KILL);
    }

    fn ask_to_end(&mut self, now: Instant, grace: Duration) {
        // A second request never prolongs the first one's grace.
        let due = now.checked_add(grace).into_iter().chain(self.kill).min();
        self.kill = due;
        self.signal(Signal::TERM);
    }

    /// SIGKILL to all that is still in the process group of a child that has exited and is not reaped.
    pub fn kill_rest(&self) {
        let _ = kill_process_group(self.pid, Signal::KILL);
    }

    /// Reaches the child's process group, and the child itself if it moved to another one. A refusal means that there
    /// is nobody to reach, or somebody who changed the user; neither can be helped.
    fn signal(&self, signal: Signal) {
        let _ = kill_process_group(self.pid, signal);
        if getpgid(Some(self.pid)) != Ok(self.pid) {
            let _ = kill_process(self.pid, signal);
        }
    }
}
