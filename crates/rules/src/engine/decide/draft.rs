//! Deciding about one task in several steps.
//!
//! A decision often takes several steps, each of which depends on the one before: the last check passed, so the
//! stage passed, so the reviewers are asked. A [`Draft`] holds a copy of that one task's state and applies each
//! event to it as it is emitted, so that later steps read what earlier ones decided. Cost: one small copy.

use crate::domain::{FailureMode, Phase, QualityFlag, Status, TaskId, Timestamp};
use crate::engine::event::{Event, RunEvent, TaskEvent};
use crate::engine::job::Job;
use crate::engine::stages::View;
use crate::engine::state::{End, State, TaskState};
use crate::mission::model::Check;
use crate::plan::{AddedTask, Addition, Origin, Plan, TaskPlan};

#[derive(Clone)]
pub struct Draft<'a> {
    pub state: &'a State,
    pub id: TaskId,
    /// The task as it is after the events emitted so far.
    pub task: TaskState,
    /// The moment from which on the task waits for a slot, where it has none and gets none: what needs one begins later.
    pub no_slot: Option<Timestamp>,
    events: Vec<Event>,
}

impl<'a> Draft<'a> {
    pub fn new(state: &'a State, id: TaskId) -> Self {
        Self { state, id, task: state.task(id).clone(), no_slot: None, events: Vec::new() }
    }

    pub fn plan(&self) -> &'a Plan {
        &self.state.plan
    }

    pub fn task_plan(&self) -> &'a TaskPlan {
        self.state.plan.task(self.id)
    }

    /// The check that runs as this job; `None` for jobs that are no checks.
    pub fn check_of(&self, job: Job) -> Option<&'a Check> {
        let (task, check) = match job {
            Job::Check(check) => (self.id, check),
            Job::PeerCheck(peer, check) => (peer, check),
            _ => return None,
        };
        self.state.plan.task(task).checks().get(check as usize)
    }

    /// The task as its stages see it.
    pub fn view(&self) -> View<'_> {
        View { state: self.state, id: self.id, task: &self.task }
    }

    pub fn emit(&mut self, event: Event) {
        self.task.apply(&event);
        self.events.push(event);
    }

    /// Emits what happens to the task.
    pub fn emit_own(&mut self, event: TaskEvent) {
        self.emit(Event::Task(self.id, event));
    }

    /// Tasks come to the run that come from this one.
    pub fn add(&mut self, origin: Origin, tasks: Vec<AddedTask>) {
        self.emit(Event::Run(RunEvent::TasksAdded(Box::new(Addition {
            origin,
            source: Some(self.id),
            request: None,
            tasks,
        }))));
    }

    /// Moves the task along an edge of the life cycle.
    pub fn enter(&mut self, to: Status) {
        if to == Status::Assigned
            && let Some((stored, now)) = self.plan().drifted(self.id)
        {
            self.emit_own(TaskEvent::DelegationDrift { stored_hash: stored, chain_hash: now });
        }
        let phase = match to {
            Status::Review => Some(Phase::Review),
            Status::InProgress => Some(self.task.attempt.kind.phase()),
            _ => None,
        };
        self.transition(to, phase, End::default(), None);
    }

    pub fn enter_because(&mut self, to: Status, reason: impl Into<String>) {
        self.transition(to, None, End::default(), Some(reason.into()));
    }

    /// The task has failed. Where accepted work is done once more because it did not stand, an attempt that fails, whatever
    /// made it fail, has not restored it (section 6); what a person, a deadline, a dependency or the judges' own files say
    /// stays what it is.
    pub fn fail(&mut self, mode: FailureMode, reason: impl Into<String>) {
        let (mut mode, mut reason) = (mode, reason.into());
        let is_of_attempt = match mode {
            FailureMode::Error
            | FailureMode::Timeout
            | FailureMode::RateLimit
            | FailureMode::Quality
            | FailureMode::Hollow => true,
            FailureMode::Cascade
            | FailureMode::Rejected
            | FailureMode::Cancelled
            | FailureMode::Protected
            | FailureMode::Deadline
            | FailureMode::Regressed => false,
        };
        if let Some(open) = self.task.reopened.as_deref().filter(|_| is_of_attempt) {
            mode = FailureMode::Regressed;
            reason = match self.task.edge() {
                Some(_) => format!("{}; {reason}", open.why),
                None => format!("{}; the attempt to restore it failed: {reason}", open.why),
            };
        }
        self.transition(Status::Failed, None, (Some(mode), None), Some(reason));
    }

    /// Writes `done`. Called by the acceptance step of `conclude` and by nothing else.
    pub fn done(&mut self, flag: QualityFlag) {
        self.transition(Status::Done, None, (None, Some(flag)), None);
    }

    /// Events of another task that stand in the same record.
    pub fn also(&mut self, events: Vec<Event>) {
        self.events.extend(events);
    }

    pub fn into_events(self) -> Vec<Event> {
        self.events
    }

    pub fn transition(
        &mut self,
        to: Status,
        phase: Option<Phase>,
        (mode, flag): End,
        reason: Option<String>,
    ) {
        let from = self.task.status();
        self.emit_own(TaskEvent::Transition { from, to, phase, mode, flag, reason });
    }
}
