//! Deadlines of tasks and of the mission (semantics, section 14): when they began, when they end, and what was said of
//! them. Each thing is said once, whatever sessions come and go: it is state like any other.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::domain::{Millis, TaskId, Timestamp};
use crate::mission::Deadline;

use super::event::{Event, RunEvent, TaskEvent};
use super::state::State;
use super::timers::Timer;

/// What happens to a deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DeadlineStep {
    /// `deadline:set`: its task has begun, or the run has.
    Set,
    /// `sla:warning`
    Warned,
    /// `sla:violated`
    Violated,
    /// `sla:met`
    Met,
}

/// Something that happened to a deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeadlineEvent {
    /// What.
    pub step: DeadlineStep,
    /// Whose; `None` is the mission's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// When its time began; `None` for a task that never did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// The last moment that is in time.
    pub due: Timestamp,
    /// When it happened.
    pub at: Timestamp,
}

impl DeadlineEvent {
    /// How much of the time was used, as a share of 1; 1 where there was none to use.
    #[must_use]
    pub fn share_used(&self) -> f64 {
        let since = self.since.unwrap_or(self.at);
        let (elapsed, all) = (self.at.since(since).0, self.due.since(since).0);
        if all == 0 {
            return 1.0;
        }
        #[expect(
            clippy::cast_precision_loss,
            reason = "it is shown to people; no rule looks at it"
        )]
        let share = elapsed as f64 / all as f64;
        (share * 10_000.0).round() / 10_000.0
    }
}

/// Where a deadline stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DeadlineState {
    /// When its time began.
    pub since: Option<Timestamp>,
    /// The last moment that is in time.
    pub due: Timestamp,
    /// Whether a warning was given.
    pub warned: bool,
    /// Whether it passed.
    pub violated: bool,
    /// Whether it was met.
    pub met: bool,
}

impl DeadlineState {
    /// Whether nothing more is said of it.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.violated || self.met
    }

    /// The word for it in documents.
    #[must_use]
    pub fn status(&self) -> &'static str {
        match self {
            Self { violated: true, .. } => "violated",
            Self { met: true, .. } => "met",
            Self { warned: true, .. } => "warning",
            Self { since: Some(_), .. } => "running",
            Self { since: None, .. } => "waiting",
        }
    }
}

/// The deadlines of a run, by task; `None` is the mission's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Deadlines(BTreeMap<Option<TaskId>, DeadlineState>);

impl Deadlines {
    /// Where a deadline stands; `None` as long as nothing is known of its moment.
    #[must_use]
    pub fn of(&self, task: Option<TaskId>) -> Option<&DeadlineState> {
        self.0.get(&task)
    }
}

/// The deadline that a mission gives to a task or to itself.
pub(super) fn planned(state: &State, task: Option<TaskId>) -> Option<Deadline> {
    match task {
        Some(id) => state.plan.task(id).deadline,
        None => state.plan.rules.deadline,
    }
}

/// When a deadline passes whose time began at a moment.
pub(super) fn due(deadline: Deadline, since: Timestamp) -> Timestamp {
    match deadline {
        Deadline::At(at) => at,
        Deadline::After(span) => since.plus(span),
    }
}

/// Follows one event, behind the change of the state.
pub(super) fn follow(state: &mut State, event: &Event) {
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
pub(super) fn arm(state: &mut State, entity: Option<TaskId>) {
    let (warning, passing) = (Timer::DeadlineNear(entity), Timer::DeadlinePassed(entity));
    state.timers.cancel(warning);
    state.timers.cancel(passing);
    let Some(deadline) = planned(state, entity) else {
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
    // A moment belongs to what it ends: in time is up to and with it.
    state.timers.set(passing, due.plus(Millis(1)));
    if let Some(since) = since.filter(|_| !known.is_some_and(|known| known.warned)) {
        let near = state.plan.rules.sla.warning_at(since, due);
        if near <= due {
            state.timers.set(warning, near);
        }
    }
}
