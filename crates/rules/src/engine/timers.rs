//! What becomes due by itself, and when. The clock is outside: `apply` sets and cancels timers, the runtime sleeps until
//! the next one and hands it back as [`super::Fact::TimerDue`].
//!
//! Timers are state like any other, so they outlive a kill: what is left of one is what the journal says, not the whole.
//!
//! A new kind of timer needs three things: a variant here; an event that carries the moment, whose `apply` sets it and
//! whose successor cancels it; a rule in `decide::due`. That rule must always lead to an event that cancels the timer,
//! else it stays due.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::domain::{HoldOwner, TaskId, Timestamp};

/// A thing that becomes due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Timer {
    /// A session that only a person can move on ends (`--wait-approvals`).
    WaitOver,
    /// The time of a hold is up: of an approval (section 5), of a delay (section 14).
    Expiry {
        /// The owner of the hold.
        of: HoldOwner,
        /// The number of the hold.
        number: u32,
    },
    /// Approvers that left it open are asked again.
    AskAgain {
        /// The task that waits.
        task: TaskId,
        /// The number of the hold.
        number: u32,
    },
    /// Most of the time to a deadline is gone (section 14); `None` is the mission's.
    DeadlineNear(Option<TaskId>),
    DeadlinePassed(Option<TaskId>),
    /// The run has worked as long as it may (section 19).
    Budget,
    /// The moment that a task waits for has come (sections 4 and 13). The last in order, so that all of them stand together.
    Deferral(TaskId),
}

/// The timers that run. Setting, cancelling and finding the next one cost O(log n).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Timers {
    by_time: BTreeSet<(Timestamp, Timer)>,
    by_timer: BTreeMap<Timer, Timestamp>,
}

impl Timers {
    /// Sets a timer; one that runs already goes by the new moment alone.
    pub fn set(&mut self, timer: Timer, at: Timestamp) {
        self.cancel(timer);
        self.by_time.insert((at, timer));
        self.by_timer.insert(timer, at);
    }

    /// Stops a timer, if it runs.
    pub fn cancel(&mut self, timer: Timer) {
        if let Some(at) = self.by_timer.remove(&timer) {
            self.by_time.remove(&(at, timer));
        }
    }

    /// When a timer is due, if it runs.
    pub(crate) fn at(&self, timer: Timer) -> Option<Timestamp> {
        self.by_timer.get(&timer).copied()
    }

    /// Whether this very timer runs: one that was set anew is another one.
    pub fn runs(&self, timer: Timer, at: Timestamp) -> bool {
        self.by_time.contains(&(at, timer))
    }

    /// The tasks that wait for a moment, in their order.
    pub fn deferred(&self) -> impl Iterator<Item = TaskId> {
        let deferrals = self.by_timer.range(Timer::Deferral(TaskId(0))..);
        deferrals.filter_map(|(timer, _)| match timer {
            Timer::Deferral(task) => Some(*task),
            _ => None,
        })
    }

    /// All that run, the next one first.
    pub fn iter(&self) -> impl Iterator<Item = (Timestamp, Timer)> {
        self.by_time.iter().copied()
    }

    /// The timers that are due at a moment, the oldest first.
    pub fn due(&self, now: Timestamp) -> impl Iterator<Item = (Timestamp, Timer)> {
        self.iter().take_while(move |(at, _)| *at <= now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_that_is_set_anew_is_another_one() {
        let mut timers = Timers::default();
        let (early, late) = (Timestamp(5), Timestamp(9));
        timers.set(Timer::WaitOver, late);
        timers.set(Timer::WaitOver, early);
        assert_eq!(timers.iter().collect::<Vec<_>>(), [(early, Timer::WaitOver)]);
        assert!(timers.runs(Timer::WaitOver, early) && !timers.runs(Timer::WaitOver, late));
        assert_eq!(timers.due(Timestamp(4)).count(), 0);
        assert_eq!(timers.due(early).count(), 1, "a moment belongs to what it ends");
        timers.cancel(Timer::WaitOver);
        assert_eq!(timers, Timers::default());
    }
}
