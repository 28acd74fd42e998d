//! The clock of a session: it hands the engine the timers whose moment has come.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use crate::test_clock::{is_scaled, scaled};
use rules::domain::Timestamp;
use rules::engine::{Fact, RunPhase, State, Timer};

/// The next timer of the state, by a clock that nobody sets: the state says when, and how far away that is, is asked
/// once.
#[derive(Debug, Default)]
pub struct Clock {
    next: Option<(Timestamp, Timer, Instant)>,
    /// Handed in already. One that runs on all the same would keep the loop busy for nothing.
    told: BTreeSet<(Timestamp, Timer)>,
}

/// Whether a timer is for a window or back-off, of a test that does not wait for these as long as the rules say.
fn is_hurried(timer: Timer) -> bool {
    is_scaled() && matches!(timer, Timer::Deferral(_))
}

fn wait((at, timer): (Timestamp, Timer)) -> Duration {
    let wait = at.since(Timestamp::now()).as_duration();
    if is_hurried(timer) { scaled(wait) } else { wait }
}

impl Clock {
    /// Takes over what the state says now.
    pub fn follow(&mut self, state: &State) {
        self.told.retain(|(at, timer)| state.timers.runs(*timer, *at));
        let mut untold = state.timers.iter().filter(|timer| !self.told.contains(timer));
        let next = match state.phase {
            RunPhase::Running if is_scaled() => untold.min_by_key(|timer| wait(*timer)),
            RunPhase::Running => untold.next(),
            _ => None,
        };
        if self.next.map(|(at, timer, _)| (at, timer)) != next {
            self.next = next.map(|(at, timer)| (at, timer, Instant::now() + wait((at, timer))));
        }
    }

    /// Comes when the next timer is due. Cancel safe.
    pub async fn next(&self) -> (Timestamp, Timer) {
        match self.next {
            Some((at, timer, when)) => {
                sleep_until(when).await;
                (at, timer)
            }
            None => std::future::pending().await,
        }
    }

    /// The facts that are due with the next timer.
    pub fn fire(&mut self, state: &State, (at, timer): (Timestamp, Timer)) -> Vec<Fact> {
        if !is_hurried(timer) {
            return self.due(state, at);
        }
        let is_new = self.told.insert((at, timer));
        is_new.then_some(Fact::TimerDue { at, timer }).into_iter().collect()
    }

    /// The facts that are due at a moment, each timer once.
    pub fn due(&mut self, state: &State, moment: Timestamp) -> Vec<Fact> {
        let due: Vec<_> = state.timers.due(moment).collect();
        let untold = due.into_iter().filter(|timer| self.told.insert(*timer));
        untold.map(|(at, timer)| Fact::TimerDue { at, timer }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rules::domain::Millis;
    use rules::engine::{Event, RunEvent, apply, simulation};

    #[test]
    fn each_timer_is_handed_in_once_when_its_moment_has_come() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let mut state = simulation::Simulation::new(
                "name: m\nagents: {a: {run: x}}\ntasks: [{title: t}]",
                simulation::options(),
            )
            .state;
            let wait = |state: &mut State, until| {
                apply(state, &Event::Run(RunEvent::SessionLimit { until, waits: true }))
            };
            let mut clock = Clock::default();
            wait(&mut state, Timestamp::now().plus(Millis::from_secs(3600)));
            clock.follow(&state);
            let (_, _, when) = clock.next.unwrap();
            assert!(when > Instant::now() + Millis::from_secs(1800).as_duration());
            // The next one is over already.
            wait(&mut state, Timestamp(1));
            clock.follow(&state);
            assert_eq!(clock.next().await.0, Timestamp(1));
            assert_eq!(clock.due(&state, Timestamp(1)).len(), 1);
            // Whatever was made of it: it is not handed in twice.
            clock.follow(&state);
            assert_eq!((clock.next, clock.due(&state, Timestamp(1)).len()), (None, 0));
            wait(&mut state, Timestamp(2));
            clock.follow(&state);
            assert_eq!(clock.next().await.0, Timestamp(2));
        });
    }
}
