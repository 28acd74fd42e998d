//! Deadlines follow what happens: their timers are set by what is known of them (14).

use crate::domain::{Millis, TaskId};
use crate::engine::deadline::DeadlineStep;
use crate::engine::event::{Event, RunEvent, TaskEvent};
use crate::engine::state::State;
use crate::engine::timers::Timer;
use crate::mission::Deadline;

/// Follows one event, behind the change of the state.
pub fn follow(state: &mut State, event: &Event) {
    match event {
        Event::Run(RunEvent::Started(_) | RunEvent::MissionChanged(_)) => {
            let tasks = state.plan.every_task_id().map(Some);
            for entity in tasks.chain([None]).collect::<Vec<_>>() {
                arm(state, entity);
            }
        }
        // A fixup has the moment of what it mends; what was withdrawn has none any more.
        Event::Run(RunEvent::TasksAdded(addition)) => {
            for added in &addition.tasks {
                arm(state, Some(added.id));
            }
        }
        Event::Run(RunEvent::TasksWithdrawn { tasks }) => {
            for task in tasks {
                arm(state, Some(*task));
            }
        }
        Event::Task(task, TaskEvent::Transition { from, to, .. })
            if from.is_terminal() != to.is_terminal() =>
        {
            arm(state, Some(*task));
        }
        Event::Deadline(event) => {
            let entry = state.deadlines.0.entry(event.task).or_default();
            match event.step {
                DeadlineStep::Set => (entry.since, entry.due) = (event.since, event.due),
                DeadlineStep::Warned => entry.warned = true,
                DeadlineStep::Violated => (entry.violated, entry.due) = (true, event.due),
                DeadlineStep::Met => entry.met = true,
            }
            arm(state, event.task);
        }
        _ => {}
    }
}

/// Sets the timers of a deadline by what is known of it now.
pub fn arm(state: &mut State, entity: Option<TaskId>) {
    let (warning, passing) = (Timer::DeadlineNear(entity), Timer::DeadlinePassed(entity));
    state.timers.cancel(warning);
    state.timers.cancel(passing);
    let Some(deadline) = state.deadline_planned(entity) else {
        return;
    };
    let known = state.deadlines.0.get(&entity).copied();
    let is_over = entity.is_some_and(|id| !state.takes(id) || state.task(id).status().is_terminal());
    if is_over || known.is_some_and(|known| known.is_settled()) {
        return;
    }
    let since = known.and_then(|known| known.since);
    let due = match (deadline, since) {
        (Deadline::At(at), _) => at,
        (Deadline::After(span), Some(since)) => since.plus(span),
        (Deadline::After(_), None) => {
            // Of a moment that the mission does not name any more nothing is known.
            state.deadlines.0.remove(&entity);
            return;
        }
    };
    state.deadlines.0.entry(entity).or_default().due = due;
    let sla = &state.plan.rules.sla;
    // A moment belongs to what it ends: in time is up to and with it.
    let passed = due.plus(Millis(1));
    let passed = since.map_or(passed, |since| sla.look_at(since, passed));
    state.timers.set(passing, passed);
    if let Some(since) = since.filter(|_| !known.is_some_and(|known| known.warned)) {
        let near = sla.look_at(since, sla.warning_at(since, due));
        if near <= due {
            state.timers.set(warning, near);
        }
    }
}
