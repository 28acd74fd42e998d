//! The engine against a scripted world, a random world, and every crash in between.

mod audit;
mod bookkeeping;
mod breaker;
mod budget;
mod calls;
mod change;
mod deadlines;
mod delegation;
mod dependency_rules;
mod derived;
mod edges;
mod evidence;
mod exhausted;
mod fallback;
mod finish;
mod fixups;
mod foundation;
mod gate_rules;
mod intake;
mod invariants;
mod ledger;
mod limits;
mod merging;
mod notices;
mod operator;
mod policy;
mod probes;
pub(crate) mod properties;
pub(crate) mod random;
mod rules;
mod scenarios;
mod scrutiny;
mod seats;
pub(crate) mod simulation;
mod task;
mod turns;
mod verification;
mod waiting;

use crate::domain::{QualityFlag, SeatPlace, Status, Timestamp};
use crate::engine::state::{Ask, Lifecycle, RunPhase, State, TaskState};
use crate::engine::timers::Timer;

impl From<Status> for Lifecycle {
    /// Where a task stands that came there at once; what is done is clean.
    fn from(status: Status) -> Self {
        Self::default().next(status, None, (None, Some(QualityFlag::Clean)))
    }
}

impl TaskState {
    /// What a seat of the round that is out is asked.
    pub fn ask_of_seat(&self, seat: u32) -> Option<&Ask> {
        let round = self.judging()?.round;
        let is_meant = |place: SeatPlace| {
            place.attempt == self.attempt.number && place.round == round && place.seat == seat
        };
        let mut asks = self.work.asks.iter();
        asks.find(|open| open.purpose.seat().is_some_and(is_meant))
    }
}

impl State {
    /// The timer that is due next. A session that does not work waits for none.
    pub fn next_timer(&self) -> Option<(Timestamp, Timer)> {
        self.timers
            .iter()
            .next()
            .filter(|_| self.phase == RunPhase::Running)
    }
}
