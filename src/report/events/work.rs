//! Work under its public names: everything that is asked, run, looked at or told for a run.
//!
//! `work:requested` when it is on record, `work:started` when a turn is about to act, `work:progressed` with a `detail`,
//! and one of `work:ended` (`result: ok | failed | lost`) and `work:dropped` (nobody waits for it any more). `kind` and
//! `purpose` say what it is, `place` where in the run. `result` says whether an answer came, not whether it is a good one:
//! a check that failed ended `ok` with `passed: false`.
//!
//! [`EventExpander::step_of`] is the one table from the engine's events to kind, purpose, place and names. What happened
//! beside that is told under the keys of [`EventExpander::details`].
//!
//! | file | what |
//! |---|---|
//! | `tables` | which event is about which work, and what it is in its life |

mod tables;

use std::collections::BTreeMap;

use rules::{
    domain::{HoldOwner, Stage, Status, TaskId},
    engine::{BudgetEvent, Event, HoldEvent, Job, RunEvent, TaskEvent},
};

use super::expander::{EventExpander, NamedPayload};
use super::payload::{Payload, payload};

/// The key of a piece of work among those of one task.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum WorkKey {
    /// A turn, by attempt and number.
    Turn(u32, u32),
    /// An agent that is asked.
    Ask(u32),
    /// A command that is run, or files that are looked at.
    Job(Job),
    /// A piece of work of the run, not of a task.
    OfRun,
}

/// A piece of work, as the outside names it.
#[derive(Debug, Clone)]
pub struct PublicWork {
    task: Option<TaskId>,
    key: WorkKey,
    kind: &'static str,
    /// `None`: of a call whose request is not on record.
    purpose: Option<&'static str>,
    place: EventScope,
}

/// Where in the run: only what applies.
#[derive(Debug, Clone, Copy, Default)]
struct EventScope {
    attempt: Option<u32>,
    stage: Option<Stage>,
    round: Option<u32>,
    seat: Option<u32>,
}

impl PublicWork {
    fn at(self, stage: Option<Stage>, round: Option<u32>) -> Self {
        let place = EventScope { stage, round, ..self.place };
        Self { place, ..self }
    }
}

impl EventScope {
    fn payload(self) -> Option<Payload> {
        let Self { attempt, stage, round, seat } = self;
        let stage = stage.map(Stage::as_str);
        Some(payload!(attempt, stage, round, seat)).filter(|place| !place.0.is_empty())
    }
}

/// The step that an event is in the life of its work.
enum Life {
    Requested,
    Started,
    /// The work goes on; the text is the public word for how.
    Progressed(&'static str),
    /// The work came to an end; the text is the public `result`.
    Ended(&'static str),
}

/// Work that has been requested and has not ended.
#[derive(Debug, Default)]
pub struct OpenPublicWork(BTreeMap<TaskId, Vec<PublicWork>>);

impl OpenPublicWork {
    fn find(&self, task: TaskId, key: WorkKey) -> Option<&PublicWork> {
        self.0.get(&task)?.iter().find(|work| work.key == key)
    }

    /// Opens a piece of work; `true` if it was not open before.
    fn open(&mut self, work: &PublicWork) -> bool {
        let Some(task) = work.task else { return true };
        let is_new = self.find(task, work.key).is_none();
        if is_new {
            self.0.entry(task).or_default().push(work.clone());
        }
        is_new
    }

    fn close(&mut self, work: &PublicWork) {
        if let Some(task) = work.task {
            self.take(task, |open| open.key == work.key);
        }
    }

    fn take(&mut self, task: TaskId, is_meant: impl Fn(&PublicWork) -> bool) -> Vec<PublicWork> {
        let open = self.0.entry(task).or_default();
        open.extract_if(.., |work| is_meant(work)).collect()
    }
}

impl EventExpander {
    /// The public events of what happens to a piece of work; `rest` is what was decided behind it in the same record.
    pub fn work_event(&mut self, event: &Event, rest: &[Event]) -> Vec<NamedPayload> {
        let Some((work, life)) = self.step_of(event, rest) else {
            return Vec::new();
        };
        let mut named = Vec::new();
        let is_held = matches!(event, Event::Budget(BudgetEvent::Held { released: false, .. }));
        if matches!(life, Life::Requested | Life::Started) || is_held {
            let is_new = self.work.open(&work);
            // It was asked for before: by what went wrong then, it is known that this follows.
            if !is_new && matches!(life, Life::Requested) {
                return named;
            }
            if is_new && !matches!(life, Life::Requested) {
                named.push(("work:requested", self.head(&work).extend(self.doer(event))));
            }
        }
        if matches!(life, Life::Ended(_)) {
            self.work.close(&work);
        }
        let head = self.head(&work);
        let (name, head) = match life {
            Life::Requested => ("work:requested", head),
            Life::Started => ("work:started", head),
            Life::Progressed(detail) => ("work:progressed", payload!(head; detail)),
            Life::Ended(result) => ("work:ended", payload!(head; result)),
        };
        named.push((name, head.extend(self.details(event, rest))));
        named
    }

    /// The events for work that nobody waits for any more once `event` has happened. Comes behind it.
    pub fn dropped_by(&mut self, event: &Event) -> Vec<NamedPayload> {
        let mut all_of = |task: &TaskId| self.work.take(*task, |_| true);
        let dropped = match event {
            // The first turn of an attempt starts with the step to in_progress.
            Event::Task(task, TaskEvent::Transition { to: Status::InProgress, .. }) => {
                self.work.take(*task, |work| !matches!(work.key, WorkKey::Turn(..)))
            }
            Event::Task(task, TaskEvent::Transition { .. }) => all_of(task),
            Event::Task(_, TaskEvent::StageVerdict(report)) => {
                self.work.take(report.task, |work| work.place.stage == Some(report.stage))
            }
            // What goes on behind a stage waits for nobody who was asked before.
            Event::Task(task, TaskEvent::Deferred { until: Some(deferral) }) if deferral.stage.is_some() => {
                self.work
                    .take(*task, |work| matches!(work.key, WorkKey::Ask(_)) && work.place.stage.is_some())
            }
            // Whoever was to approve need not any more.
            Event::Hold(HoldOwner::Task(task), HoldEvent::Closed { .. }) => {
                self.work.take(*task, |work| matches!(work.key, WorkKey::Job(Job::Approver { .. })))
            }
            _ => called_off(event).iter().flat_map(all_of).collect(),
        };
        dropped.iter().map(|work| ("work:dropped", self.head(work))).collect()
    }
}

/// The tasks that nobody waits for any more once an event has happened, whatever they wait for themselves.
pub fn called_off(event: &Event) -> Vec<TaskId> {
    match event {
        Event::Task(_, TaskEvent::EdgeTaken { stopped, not_taken, .. }) => [&stopped[..], not_taken].concat(),
        Event::Run(RunEvent::TasksWithdrawn { tasks }) => tasks.clone(),
        Event::Run(RunEvent::MissionChanged(change)) => [&change.removed[..], &change.changed].concat(),
        _ => Vec::new(),
    }
}
