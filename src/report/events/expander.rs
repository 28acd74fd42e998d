//! Records of the engine become public events, one by one.

use std::sync::Arc;

use crate::report::{
    folds::view::RunView,
    vocabulary::ids::{ApprovalId, task_key},
};
use rules::{
    domain::{AgentId, AttemptKind, HoldOwner, TaskId, Timestamp, TurnId},
    engine::{Event, MissionChange, NoticeEvent, RunEvent, RunStarted, TaskEvent, TurnEvent},
    plan::{Addition, Part, Plan, migrate_plan},
};

use super::PublicEvent;
use super::holds::OpenHolds;
use super::ledgers::Ledgers;
use super::payload::{Payload, created_task, payload};
use super::work::OpenPublicWork;

/// Turns records into public events. Feed it a run's records from the first one on: reviewers' names and counts of
/// fixes come from what went before.
#[derive(Debug)]
pub struct EventExpander {
    /// The plan that holds; the events bring those that follow it.
    pub plan: Arc<Plan>,
    pub view: RunView,
    pub run_id: Arc<str>,
    ledgers: Ledgers,
    pub work: OpenPublicWork,
    pub holds: OpenHolds,
}

/// A name and what belongs to it.
pub type NamedPayload = (&'static str, Payload);

impl EventExpander {
    /// Before the first record.
    pub fn new(plan: &Arc<Plan>) -> Self {
        Self {
            plan: Arc::clone(plan),
            view: RunView::new(plan),
            run_id: Arc::from(""),
            ledgers: Ledgers::default(),
            work: OpenPublicWork::default(),
            holds: OpenHolds::default(),
        }
    }

    /// The public events of one record, in order. The tasks of `run:started` are made one by one as they are asked
    /// for. Dropping the iterator early loses the rest of the record. A record that changes the mission is told by the
    /// new plan as a whole, which has the ids and names of the old one too.
    pub fn expand<'a>(
        &'a mut self,
        seq: u64,
        at: Timestamp,
        events: &'a [Event],
    ) -> impl Iterator<Item = PublicEvent> + use<'a> {
        for event in events {
            self.follow(event);
        }
        let plan = Arc::clone(&self.plan);
        // What is told of a turn behind the step that its task takes, and behind the dead letters of its tools.
        let mut brought = Vec::new();
        (seq..).zip(events).enumerate().flat_map(move |(index, (seq, event))| {
            self.view.apply(&plan, seq, at, event);
            if let Event::Run(RunEvent::Started(started)) = event {
                self.run_id = Arc::from(started.run_id.as_str());
            }
            let run_id = self.run_id.clone();
            let mut named = Vec::from_iter(self.ledgers.before(&plan, event));
            named.extend(self.name(event, &events[index + 1..]));
            named.extend(self.dropped_by(event));
            named.extend(self.hold_events(event));
            named.extend(self.ledgers.after(&plan, event));
            if let Event::Turn(turn, of) = event {
                brought = self.turn_brings(*turn, of);
            }
            let waits = match events.get(index + 1) {
                Some(Event::Task(_, TaskEvent::Transition { .. })) => {
                    matches!(event, Event::Turn(_, TurnEvent::Started(_)))
                }
                Some(Event::Notice(next)) => matches!(**next, NoticeEvent::Died(_)),
                _ => false,
            };
            if !waits {
                named.append(&mut brought);
            }
            let (all, added) = match event {
                Event::Run(RunEvent::Started(_)) => (Some(plan.every_task_id()), Vec::new()),
                Event::Run(RunEvent::MissionChanged(change)) => (None, change.added.clone()),
                Event::Run(RunEvent::TasksAdded(addition)) => {
                    (None, addition.tasks.iter().map(|task| task.id).collect())
                }
                _ => (None, Vec::new()),
            };
            let created_by = Arc::clone(&plan);
            let created = all.into_iter().flatten().chain(added).filter_map(move |id| {
                let is_taken = created_by.task(id).part == Part::Selected;
                is_taken.then(|| ("task:created", created_task(&created_by, id)))
            });
            named.into_iter().chain(created).map(move |(name, payload)| PublicEvent {
                seq,
                at,
                run_id: run_id.clone(),
                name,
                payload: payload.0,
            })
        })
    }

    /// Goes on with the plan that an event leads to.
    fn follow(&mut self, event: &Event) {
        match event {
            Event::Run(RunEvent::MissionChanged(change)) => {
                if let Some(mission) = &change.mission {
                    self.plan = Arc::new(migrate_plan(&self.plan, Plan::clone(mission)));
                }
            }
            _ => {
                if let Some(step) = event.plan_step() {
                    Arc::make_mut(&mut self.plan).follow(&step);
                }
            }
        }
    }

    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    pub fn task(&self, id: TaskId) -> Payload {
        payload!("taskId": task_key(id), "title": self.plan.title(id))
    }

    pub fn turn(&self, turn: TurnId) -> Payload {
        payload!(self.task(turn.task); "attempt": turn.attempt, "turn": turn.turn)
    }

    pub fn approval_of(&self, task: TaskId, number: u32) -> Payload {
        payload!(self.task(task); "requestId": self.approval(task.into(), number))
    }

    /// The id of a hold that waits for a person.
    pub fn approval(&self, of: HoldOwner, number: u32) -> Option<String> {
        let run = self.view.run_id.as_ref()?;
        Some(ApprovalId { run, of, number }.to_string())
    }

    pub fn agent_name(&self, id: AgentId) -> &str {
        self.plan.agent_name(id)
    }

    pub fn run_started(&self, started: &RunStarted) -> Payload {
        let head = payload!("mission": self.plan.name, "tasks": self.plan.selected_ids().count());
        head.extend(self.told(started))
    }

    pub fn mission_changed(&self, change: &MissionChange) -> Payload {
        payload!("mission": self.plan.name).extend(self.told(change))
    }

    pub fn tasks_added(&self, addition: &Addition) -> Payload {
        let titles = addition.tasks.iter().map(|task| &*task.title);
        payload!(
            "origin": addition.origin,
            "source": addition.source.map(|id| self.plan.title(id)),
            "requestId": addition.request,
            "tasks": titles.collect::<Vec<&str>>(),
        )
    }

    /// `attempt` counts fixes or retries, as its maximum does; `attemptNumber` counts attempts of every kind.
    pub fn counted_attempts(&self, task: TaskId, kind: AttemptKind) -> Payload {
        let limits = self.plan.task(task).limits;
        let before = self.view.task(task).attempts.iter().rev();
        let kinds = before.map(|attempt| attempt.kind);
        let payload = self.task(task);
        match kind {
            AttemptKind::Execute => payload,
            AttemptKind::Fix => {
                let fixes = kinds.take_while(|of| *of == kind).count();
                payload!(payload; "attempt": fixes, "maxFix": limits.max_fix_attempts)
            }
            AttemptKind::Retry => {
                // A new allowance begins with an execute.
                let allowance = kinds.take_while(|of| *of != AttemptKind::Execute);
                let retries = allowance.filter(|of| *of == kind).count();
                payload!(payload; "attempt": retries, "maxRetries": limits.max_retries)
            }
        }
    }
}
