//! Deadlines: when their time begins, when somebody is warned, what follows when they pass (section 14). A deadline alone
//! never changes the outcome.

use crate::domain::{FailureMode, Status, TaskId, Timestamp};
use crate::engine::deadline::{DeadlineEvent, DeadlineStep, due};
use crate::engine::event::{Event, RunEvent, TaskEvent, TurnEvent};
use crate::engine::state::State;

use super::draft::Draft;

/// Appends to a decision what follows from it for deadlines.
pub fn follow_up(state: &State, mut events: Vec<Event>, now: Timestamp) -> Vec<Event> {
    let mut more = Vec::new();
    for event in &events {
        let step = match event {
            // A changed mission may have got one: its time begins with the session that takes it up.
            Event::Run(RunEvent::Started(_) | RunEvent::Resumed(_)) => begun(state, None, now),
            Event::Turn(turn, TurnEvent::Started(_)) => begun(state, Some(turn.task), now),
            Event::Task(task, TaskEvent::Transition { to: Status::Done, .. }) => {
                settled(state, Some(*task), now)
            }
            // What a fixup mended is as good as done.
            Event::Run(RunEvent::Finished { .. })
                if state.sums.counts.done + state.sums.counts.superseded == state.sums.counts.selected =>
            {
                settled(state, None, now)
            }
            _ => None,
        };
        more.extend(step);
    }
    // The last event of a session stays the last one.
    let end = match events.last() {
        Some(Event::Run(RunEvent::Finished { .. })) => events.pop(),
        _ => None,
    };
    events.extend(more.into_iter().map(|event| Event::Deadline(Box::new(event))));
    events.extend(end);
    events
}

/// The time of a task begins with its first turn, that of the mission with the run.
fn begun(state: &State, entity: Option<TaskId>, now: Timestamp) -> Option<DeadlineEvent> {
    let deadline = state.deadline_planned(entity)?;
    let known = state.deadlines.of(entity);
    if known.is_some_and(|known| known.since.is_some() || known.is_settled()) {
        return None;
    }
    Some(DeadlineEvent {
        step: DeadlineStep::Set,
        task: entity,
        since: Some(now),
        due: due(deadline, now),
        at: now,
    })
}

/// The event of a deadline whose work came to a good end: in time, or not.
fn settled(state: &State, entity: Option<TaskId>, now: Timestamp) -> Option<DeadlineEvent> {
    let step = match state.deadlines.of(entity) {
        Some(known) if now <= known.due => DeadlineStep::Met,
        Some(_) => DeadlineStep::Violated,
        None => return None,
    };
    said(state, entity, step, now)
}

/// Each thing is said once.
fn said(state: &State, entity: Option<TaskId>, step: DeadlineStep, now: Timestamp) -> Option<DeadlineEvent> {
    state.deadline_planned(entity)?;
    let known = state.deadlines.of(entity).filter(|known| !known.is_settled())?;
    Some(DeadlineEvent { step, task: entity, since: known.since, due: known.due, at: now })
}

/// Most of the time is gone.
pub fn near(state: &State, entity: Option<TaskId>, now: Timestamp) -> Vec<Event> {
    // Late enough, there is more to say.
    if state.deadlines.of(entity).is_some_and(|known| known.due < now) {
        return passed(state, entity, now);
    }
    said(state, entity, DeadlineStep::Warned, now)
        .map(|event| Event::Deadline(Box::new(event)))
        .into_iter()
        .collect()
}

/// The time is gone: somebody is told, and where the mission says so the work is ended. No retry, no escalation.
pub fn passed(state: &State, entity: Option<TaskId>, now: Timestamp) -> Vec<Event> {
    let Some(event) = said(state, entity, DeadlineStep::Violated, now) else {
        return Vec::new();
    };
    let mut events = vec![Event::Deadline(Box::new(event))];
    if !state.plan.rules.sla.fails {
        return events;
    }
    let of_mission = entity.is_none().then(|| state.plan.selected_ids());
    let tasks = of_mission.into_iter().flatten().chain(entity);
    for id in tasks.filter(|id| !state.task(*id).status().is_terminal()) {
        let whose = if entity.is_some() { "its" } else { "the mission's" };
        let mut draft = Draft::new(state, id);
        draft.fail(FailureMode::Deadline, format!("{whose} deadline, {}, passed", event.due.to_rfc3339()));
        events.extend(draft.into_events());
    }
    events
}
