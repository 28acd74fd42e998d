//! Deadlines of tasks and of the mission (semantics, section 14): when they began, when they end, and what was said of
//! them. Each thing is said once, whatever sessions come and go: it is state like any other.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::domain::{TaskId, Timestamp};
use crate::mission::Deadline;

/// A step in the life of a deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DeadlineStep {
    /// The time of the deadline's task, or of the run, has begun (`deadline:set`).
    Set,
    /// The deadline is near (`sla:warning`).
    Warned,
    /// The deadline has passed (`sla:violated`).
    Violated,
    /// The work ended in time (`sla:met`).
    Met,
}

/// Something that happened to a deadline.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeadlineEvent {
    pub step: DeadlineStep,
    /// The task of the deadline; `None` is the mission.
    pub task: Option<TaskId>,
    /// The beginning of the deadline's time; `None` for a task that never began.
    pub since: Option<Timestamp>,
    /// The last moment that is in time.
    pub due: Timestamp,
    /// The moment of the step.
    pub at: Timestamp,
}

impl DeadlineEvent {
    /// How much of the time was used, as a share of 1; 1 where there was none to use.
    pub fn share_used(&self) -> f64 {
        let since = self.since.unwrap_or(self.at);
        let (elapsed, all) = (self.at.since(since).0, self.due.since(since).0);
        if all == 0 {
            return 1.0;
        }
        #[expect(clippy::cast_precision_loss, reason = "it is shown to people; no rule looks at it")]
        let share = elapsed as f64 / all as f64;
        (share * 10_000.0).round() / 10_000.0
    }
}

/// Where a deadline stands.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct DeadlineState {
    /// The beginning of the deadline's time.
    pub since: Option<Timestamp>,
    /// The last moment that is in time.
    pub due: Timestamp,
    /// Whether a warning was given.
    pub warned: bool,
    /// Whether the deadline passed.
    pub violated: bool,
    /// Whether the deadline was met.
    pub met: bool,
}

impl DeadlineState {
    /// Whether nothing more is said of it.
    pub(crate) fn is_settled(&self) -> bool {
        self.violated || self.met
    }

    /// The word for the state in documents.
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
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Deadlines(pub BTreeMap<Option<TaskId>, DeadlineState>);

impl Deadlines {
    /// Where a deadline stands; `None` as long as nothing is known of its moment.
    pub fn of(&self, task: Option<TaskId>) -> Option<&DeadlineState> {
        self.0.get(&task)
    }
}

/// When a deadline passes whose time began at a moment.
pub fn due(deadline: Deadline, since: Timestamp) -> Timestamp {
    match deadline {
        Deadline::At(at) => at,
        Deadline::After(span) => since.plus(span),
    }
}
