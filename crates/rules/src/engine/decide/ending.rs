//! The end of a session: whether nothing is left to do, the wait for a person before it, the mission's score and its
//! threshold, the last event (sections 14 and 20).
//!
//! What the run ended with is told by `engine/outcome.rs`.

use crate::domain::{Points, Status, Timestamp};
use crate::engine::event::{Event, RunEvent, RunWork};
use crate::engine::fact::Fact;
use crate::engine::outcome::outcome;
use crate::engine::state::{RunPhase, State};

use super::notify;

/// Where only a person can move the run on and the session is to be kept alive for that: the wait, announced once.
pub fn wait(state: &State, now: Timestamp) -> Option<Vec<Event>> {
    let wait = state.options.wait_approvals?;
    // Once the session has delivered the work the wait is over.
    if !state.only_a_person_moves_it_on() || state.delivered_in == state.sessions {
        return None;
    }
    Some(match state.waits_until() {
        Some(_) => Vec::new(),
        None => vec![Event::Run(RunEvent::SessionLimit { until: now.plus(wait), waits: true })],
    })
}

/// Nobody answered in time: the session ends. A wait that has ended otherwise is over already.
pub fn wait_over(state: &State, now: Timestamp) -> Vec<Event> {
    if !state.only_a_person_moves_it_on() {
        Vec::new()
    } else if state.plan.rules.default_channels.is_empty() {
        notify::overdue(state, now)
    } else {
        finish(state, now)
    }
}

/// Whether the session has nothing left to do.
pub fn is_over(state: &State) -> bool {
    match state.phase {
        RunPhase::Running if state.is_held() => false,
        // What is free of charge is finished with what runs.
        RunPhase::Running if state.ledger.limit().is_some() => {
            state.sums.turns_running == 0 && state.ledger.nothing_open() && state.sums.looked_at == 0
        }
        RunPhase::Running => {
            state.sums.slots == 0
                && state.sums.calls_open == 0
                && state.sums.approvers_asked == 0
                && !state.a_delay_moves_it_on()
                && !state.a_moment_moves_it_on()
        }
        RunPhase::Stopping => state.sums.turns_running == 0,
        RunPhase::New | RunPhase::Finished => false,
    }
}

pub fn finish(state: &State, now: Timestamp) -> Vec<Event> {
    if let (Some(threshold), None, false) =
        (state.plan.rules.quality_threshold, state.session.threshold_failed, !state.has_all_ended())
        && let Some(points) = mission_score(state).filter(|points| *points < threshold)
    {
        return vec![Event::Run(RunEvent::ThresholdFailed { avg_score: points, threshold })];
    }
    // What it ends with is known only once the work is where it is wanted. A session that was stopped waits for nothing.
    if state.phase == RunPhase::Running && state.is_to_be_delivered() {
        let merge = state.is_ok_by_its_tasks();
        return vec![Event::Run(RunEvent::WorkRequested(RunWork::Delivery { merge }))];
    }
    notify::before_the_end(state, now).unwrap_or_else(|| run_finished(state))
}

/// The last event of a session.
pub fn run_finished(state: &State) -> Vec<Event> {
    let outcome = outcome(state);
    vec![Event::Run(RunEvent::Finished {
        outcome: outcome.class,
        conditions: outcome.conditions,
        allowed: outcome.allowed,
        origin: None,
    })]
}

/// Σ(score × priority) / Σ(priority) over done tasks with a score; `None` if there is none (section 14).
pub fn mission_score(state: &State) -> Option<Points> {
    let scored = state.plan.tasks.iter().zip(&state.tasks).filter(|(_, task)| task.status() == Status::Done);
    Points::weighted_mean(scored.filter_map(|(plan, task)| Some((task.attempt.points?, plan.priority))))
}

/// Somebody else touched what the session rests on. One that has said what it ends with says it anew.
pub fn foreign(state: &State, fact: &Fact) -> Vec<Event> {
    let mut events = Vec::from_iter(fact.as_event());
    if state.phase == RunPhase::Finished {
        let mut touched = state.clone();
        touched.session.foreign = true;
        events.extend(run_finished(&touched));
    }
    events
}
