//! What follows when a timer is due: one rule for each kind, and each of them ends its timer.

use crate::domain::Timestamp;
use crate::engine::event::Event;
use crate::engine::state::State;
use crate::engine::timers::Timer;

use super::{admission, answers, approvals, budget, ending, sla};

/// A timer that does not run any more, or that was set anew since, means nothing.
pub fn due(state: &State, timer: Timer, at: Timestamp, now: Timestamp) -> Vec<Event> {
    if !state.timers.runs(timer, at) {
        return Vec::new();
    }
    // A clock that was set back does not make a moment come twice.
    let now = now.max(at);
    match timer {
        Timer::WaitOver => ending::wait_over(state, at),
        Timer::Expiry { of, number } => answers::time_is_up(state, of, number, now),
        Timer::AskAgain { task, .. } => approvals::ask_again(state, task),
        Timer::DeadlineNear(entity) => sla::near(state, entity, now),
        Timer::DeadlinePassed(entity) => sla::passed(state, entity, now),
        Timer::Budget => budget::time_is_up(),
        Timer::Deferral(task) => admission::moment_came(state, task, now),
    }
}
