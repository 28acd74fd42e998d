//! What has become due, in its order: gates, failed dependencies, holds, free slots, the end of a session.
//!
//! `apply` pushes what becomes due to queues; [`advance`] drains them. The runtime asks again until there is nothing
//! left, so each call may decide only what the state already shows.

use std::collections::BTreeSet;

use crate::domain::{Status, Timestamp};
use crate::engine::event::{BudgetEvent, Event, MOST_AT_ONCE};
use crate::engine::ledger::CallAdmission;
use crate::engine::state::{RunPhase, State};

use super::admission::{Admission, Work};
use super::draft::Draft;
use super::{admission, approvals, audit, budget, dependencies, ending, gates, holds, verification_edges};

/// Decides what the state makes due.
pub fn advance(state: &State, now: Timestamp) -> Vec<Event> {
    let mut events = gates::due(state);
    events.extend(cascades(state));
    // Nothing is started before it is known whether what was accepted still stands, or while it is delivered.
    if events.is_empty() && state.is_held() {
        return events;
    }
    if events.is_empty() && state.phase == RunPhase::Running {
        events = budget::release(state);
    }
    // Whatever has failed with them is out of the way by now.
    if events.is_empty() {
        events = holds::reached(state, now);
    }
    if events.is_empty() && state.phase == RunPhase::Running {
        if state.may_start_work() {
            events = approvals::requests(state, now);
        }
        events.extend(start_tasks(state));
    }
    if events.is_empty() && ending::is_over(state) {
        if let Some(audit) = audit::at_the_end(state) {
            return audit;
        }
        let wait = ending::wait(state, now).filter(|_| !state.notices.announced);
        events = wait.unwrap_or_else(|| ending::finish(state, now));
    }
    events
}

/// Tasks whose dependency failed for good (section 11). One at a time for each task: what is decided may settle the others.
fn cascades(state: &State) -> Vec<Event> {
    let mut seen = BTreeSet::new();
    let mut events = Vec::new();
    for (task, dependency) in &state.queues.cascades_due {
        if events.len() >= MOST_AT_ONCE {
            break;
        }
        if !seen.insert(*task) {
            continue;
        }
        events.extend(dependencies::failed(state, *task, *dependency));
    }
    events
}

/// Fills the free slots by priority. An exclusive task waits until nothing else holds a slot, and while it waits
/// at the head nothing overtakes it: otherwise it might never start.
fn start_tasks(state: &State) -> Vec<Event> {
    let mut admission = Admission::of(state);
    if !admission.is_open() {
        return Vec::new();
    }
    let mut events = Vec::new();
    for id in state.queues.ready.next_up() {
        let is_begun = state.task(id).is_queued();
        // A run that was halted finishes what has begun.
        if !is_begun && !state.may_begin(id) {
            continue;
        }
        if !admission.admits(id, if is_begun { Work::Begun } else { Work::New }) {
            break;
        }
        let plan = state.plan.task(id);
        if is_begun {
            // Its verdict may add tasks or end it: nothing else is decided in the same record.
            if events.is_empty() {
                let mut draft = Draft::new(state, id);
                admission::release(&mut draft);
                events = draft.into_events();
            }
            break;
        }
        let is_node = plan.route.is_some();
        match budget::room(state, id) {
            CallAdmission::Admitted => {}
            // It calls nobody to work; a judge that has no room is held by itself.
            CallAdmission::Wait if is_node => {}
            // With a budget one is started at a time: nothing has been before it.
            CallAdmission::Exhausted(ceiling) => {
                return vec![Event::Budget(BudgetEvent::Exhausted { ceiling })];
            }
            CallAdmission::Wait => break,
        }
        // What this decision has begun is not seen yet where it is told who works near it.
        if !events.is_empty() && state.must_look_before(id) {
            break;
        }
        let mut draft = Draft::new(state, id);
        if is_node {
            draft.enter(Status::Assigned);
            verification_edges::begin(&mut draft);
        } else {
            admission::begin(&mut draft);
        }
        events.extend(draft.into_events());
        if state.must_look_before(id) {
            break;
        }
        admission.take(id);
        // The next one needs the room that this one leaves.
        if !state.plan.rules.budget.is_none() {
            break;
        }
    }
    events
}
