//! From an event of the engine to its public names and payload keys.
//!
//! | file | what |
//! |---|---|
//! | `judging` | events of judging: checks, seats, verdicts |

mod judging;

use std::sync::Arc;

use serde_json::json;

use crate::domain::{
    AgentId, AttemptKind, FailureMode, GateId, Phase, Points, QualityFlag, TaskId, Timestamp, TurnId,
};
use crate::engine::{
    AskEvent, BudgetEvent, Event, GateEvent, GateResult, HoldEvent, MissionChange, RunEvent, RunStarted,
    TaskEvent, TurnEvent, WorkEvent,
};
use crate::mission::{Addition, Part, Plan, migrate_plan};
use crate::report::events::asks::probe_rows;
use crate::report::ids::task_key;
use crate::report::view::{AttemptView, RunView};

use judging::flag_in;

use super::PublicEvent;
use super::holds::OpenHolds;
use super::ledgers::Ledgers;
use super::notices::letter_event;
use super::payload::{Payload, created_task, file, findings_of, run_finished, stop_cause};
use super::work::OpenWork;

/// Turns records into public events. Feed it a run's records from the first one on: reviewers' names and counts of
/// fixes come from what went before.
#[derive(Debug)]
pub struct Exploder {
    /// The plan that holds; the events bring those that follow it.
    pub(super) plan: Arc<Plan>,
    pub(super) view: RunView,
    pub(super) run_id: Arc<str>,
    ledgers: Ledgers,
    pub(super) work: OpenWork,
    pub(super) holds: OpenHolds,
}

/// A name and what belongs to it.
pub(super) type Named = (&'static str, Payload);

impl Exploder {
    /// Before the first record.
    #[must_use]
    pub fn new(plan: &Arc<Plan>) -> Self {
        Self {
            plan: Arc::clone(plan),
            view: RunView::new(plan),
            run_id: Arc::from(""),
            ledgers: Ledgers::default(),
            work: OpenWork::default(),
            holds: OpenHolds::default(),
        }
    }

    /// The public events of one record, in order. The tasks of `run:started` are made one by one as they are asked
    /// for. Dropping the iterator early loses the rest of the record. A record that changes the mission is told by the
    /// new plan as a whole, which has the ids and names of the old one too.
    pub fn explode<'a>(
        &'a mut self,
        seq: u64,
        at: Timestamp,
        events: &'a [Event],
    ) -> impl Iterator<Item = PublicEvent> + use<'a> {
        for event in events {
            self.follow(event);
        }
        let plan = Arc::clone(&self.plan);
        (seq..)
            .zip(events)
            .enumerate()
            .flat_map(move |(index, (seq, event))| {
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
                named
                    .into_iter()
                    .chain(created)
                    .map(move |(name, payload)| PublicEvent {
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
            Event::Run(RunEvent::TasksAdded(addition)) => Arc::make_mut(&mut self.plan).extend(addition),
            Event::Run(RunEvent::TasksWithdrawn { tasks }) => Arc::make_mut(&mut self.plan).withdraw(tasks),
            _ => {}
        }
    }

    /// The public events of one engine event; `rest` is what was decided behind it in the same record.
    fn name(&mut self, event: &Event, rest: &[Event]) -> Vec<Named> {
        match event {
            Event::Run(of) => self.run_event(event, of, rest),
            Event::Task(task, of) => self.event_of_task(event, (*task, of), rest),
            Event::Turn(turn, of) => self.event_of_turn(event, (*turn, of)),
            Event::Ask(id, AskEvent::HandedOver { agent, file: record }) => {
                let payload = self.task(id.task).with("ask", id.number);
                let payload = payload.with("agentName", self.agent_name(*agent));
                vec![("handoff:recorded", payload.with("record", file(record)))]
            }
            Event::Ask(
                _,
                AskEvent::Requested { .. } | AskEvent::Replied { .. } | AskEvent::Failed { .. },
            ) => self.ask_event(event, rest),
            Event::Work(_, WorkEvent::Requested(_) | WorkEvent::Ended { .. })
            | Event::Budget(
                BudgetEvent::Held { .. } | BudgetEvent::Released { .. } | BudgetEvent::Settled { .. },
            ) => self.work_event(event, rest),
            Event::Budget(BudgetEvent::Exhausted { .. } | BudgetEvent::Clock { .. }) => {
                vec![self.budget_event(event)]
            }
            Event::Deadline(event) => self.deadline_event(event),
            Event::Gate(_, GateEvent::Evaluated { .. } | GateEvent::Overridden { .. }) => {
                vec![self.gate_event(event)]
            }
            Event::Notice(notice) => match letter_event(&self.plan, &self.run_id, notice) {
                Some(named) => vec![named],
                None => self.work_event(event, rest),
            },
            // Told as a hold.
            Event::Hold(
                _,
                HoldEvent::Reached { .. } | HoldEvent::Passed { .. } | HoldEvent::Rejected { .. },
            ) => Vec::new(),
        }
    }

    /// What happens to the run as a whole.
    fn run_event(&mut self, event: &Event, of: &RunEvent, rest: &[Event]) -> Vec<Named> {
        let told = Payload::default();
        vec![match of {
            RunEvent::Started(started) => ("run:started", self.run_started(started)),
            RunEvent::Resumed { options, .. } => ("run:resumed", told.with("options", json!(options))),
            RunEvent::Moved { from, to } => {
                let path = |path: &std::path::Path| path.to_string_lossy().into_owned();
                ("run:moved", told.with("from", path(from)).with("to", path(to)))
            }
            RunEvent::Stopping { cause } => ("run:stopping", told.with("cause", stop_cause(*cause))),
            RunEvent::Finished {
                outcome,
                conditions,
                allowed,
                ..
            } => ("run:finished", run_finished(*outcome, conditions, allowed)),
            RunEvent::SessionLimit { .. } => self.budget_event(event),
            RunEvent::StateForeign { what } => ("state:foreign", told.with("what", what.as_str())),
            RunEvent::Warning { message } => {
                let log = told.with("level", "warn");
                ("log", log.with("message", message.as_str()))
            }
            RunEvent::Salvaged {
                by,
                line,
                bytes,
                records,
                file,
            } => {
                let payload = told.with("by", by.as_str()).with("line", *line);
                let payload = payload.with("lostBytes", *bytes).with("lostRecords", *records);
                ("run:salvaged", payload.with("file", file.as_str()))
            }
            RunEvent::MissionChanged(change) => ("mission:changed", self.mission_changed(change)),
            RunEvent::TasksAdded(addition) => ("tasks:added", self.tasks_added(addition)),
            RunEvent::TasksWithdrawn { tasks } => ("tasks:withdrawn", told.with("tasks", self.titles(tasks))),
            RunEvent::Paused { by } => ("run:paused", told.with("by", by.as_str())),
            RunEvent::Waiting { until } => ("run:waiting", told.with("until", until.to_rfc3339())),
            RunEvent::CommandTaken { id, result, by } => {
                let taken = told.with("commandId", id.as_str());
                let taken = taken.with("result", json!(result)).with("by", by.as_str());
                ("operator:command", taken)
            }
            RunEvent::ThresholdFailed { .. } => self.gate_event(event),
            RunEvent::ProtectionNoted { files } => {
                let paths: Vec<&str> = files.iter().map(|(path, _)| path.as_str()).collect();
                ("protection:noted", told.with("files", paths))
            }
            RunEvent::AuditRequested { .. } | RunEvent::AuditFinished { .. } => {
                return self.work_event(event, rest);
            }
        }]
    }

    fn event_of_turn(&mut self, event: &Event, (turn, of): (TurnId, &TurnEvent)) -> Vec<Named> {
        match of {
            TurnEvent::Stale { idle, killed } => {
                let agent = self.plan.task(turn.task).agent;
                let action = if *killed { "kill" } else { "warning" };
                let payload = self.task(turn.task).with("agentName", self.agent_name(agent));
                vec![(
                    "agent:stale",
                    payload.with("idleMs", idle.0).with("action", action),
                )]
            }
            TurnEvent::FilesNoted { .. }
            | TurnEvent::Started { .. }
            | TurnEvent::Spawned { .. }
            | TurnEvent::Activity { .. }
            | TurnEvent::RequestFailed { .. }
            | TurnEvent::Finished { .. }
            | TurnEvent::Lost
            | TurnEvent::Adopted => self.turn_event(event),
            TurnEvent::AuthorityCues { .. } | TurnEvent::Escalated { .. } => vec![self.waiting_event(event)],
        }
    }

    fn event_of_task(
        &mut self,
        event: &Event,
        (task, of): (TaskId, &TaskEvent),
        rest: &[Event],
    ) -> Vec<Named> {
        vec![match of {
            TaskEvent::EdgeTaken {
                edge,
                to,
                visit,
                left,
                stopped,
                kept: _,
            } => {
                let payload = self.task(task).with("edge", edge.as_str());
                let payload = payload.with("to", &*self.plan.task(*to).title);
                let payload = payload.with("visit", *visit).with("notTaken", self.titles(left));
                (
                    "verification:routed",
                    payload.with("stopped", self.titles(stopped)),
                )
            }
            TaskEvent::Probed { probes } => {
                ("probes:made", self.task(task).with("probes", probe_rows(probes)))
            }
            TaskEvent::FellBack {
                from,
                to,
                class,
                message,
            } => {
                let payload = self.task(task).with("agentName", self.agent_name(*from));
                let payload = payload.with("insteadName", self.agent_name(*to));
                ("agent:fallback", payload.failure(*class, Some(message)))
            }
            TaskEvent::Superseded { by } => {
                let payload = self.task(task).with("by", &*self.plan.task(*by).title);
                ("task:superseded", payload)
            }
            TaskEvent::StageVoided(voided) => {
                let payload = self.task(voided.work.task).with("what", voided.work.describe());
                let payload = payload.with("changed", voided.changed.clone());
                let payload = payload.with("restored", voided.restored.clone());
                ("stage:voided", payload.with("shared", voided.shared))
            }
            TaskEvent::FilesChanged { .. }
            | TaskEvent::AcceptanceRecorded { .. }
            | TaskEvent::Regressed { .. } => self.check_event(event),
            // What is asked or run for it is told.
            TaskEvent::StageOpened { .. } | TaskEvent::StageFailed { .. } => return Vec::new(),
            TaskEvent::ApprovalUndecided { .. } => return self.work_event(event, rest),
            TaskEvent::StageVerdict(report) => return self.stage_verdict(report, rest),
            TaskEvent::Transition { .. }
            | TaskEvent::AttemptPlanned { .. }
            | TaskEvent::Nudged { .. }
            | TaskEvent::EvalUnparsed
            | TaskEvent::ForceAccepted { .. }
            | TaskEvent::DelegationRequested { .. }
            | TaskEvent::DelegationRefused { .. } => self.task_event(event, rest),
            TaskEvent::Question { .. }
            | TaskEvent::DelegationDrift { .. }
            | TaskEvent::NoProgress { .. }
            | TaskEvent::Answered { .. }
            | TaskEvent::Deferred { .. }
            | TaskEvent::Released => self.waiting_event(event),
            TaskEvent::DeadlockDetected { .. }
            | TaskEvent::DependencyResolved { .. }
            | TaskEvent::DependencyFailed { .. } => self.dependency_event(event),
            TaskEvent::ApprovalRequested { .. }
            | TaskEvent::ApprovalTimedOut { .. }
            | TaskEvent::RetryBlocked { .. }
            | TaskEvent::ApprovalResolved { .. } => self.approval_event(event),
        }]
    }

    fn titles(&self, ids: &[TaskId]) -> Vec<&str> {
        ids.iter().map(|id| &*self.plan.task(*id).title).collect()
    }

    pub(super) fn plan(&self) -> &Plan {
        &self.plan
    }

    pub(super) fn task(&self, id: TaskId) -> Payload {
        Payload::default()
            .with("taskId", task_key(id))
            .with("title", &*self.plan.task(id).title)
    }

    pub(super) fn turn(&self, turn: TurnId) -> Payload {
        self.task(turn.task)
            .with("attempt", turn.attempt)
            .with("turn", turn.turn)
    }

    pub(super) fn agent_name(&self, id: AgentId) -> &str {
        &self.plan.agent(id).name
    }

    fn run_started(&self, started: &RunStarted) -> Payload {
        Payload::default()
            .with("mission", self.plan.name.as_str())
            .with("tasks", self.plan.selected_ids().count())
            .with("version", started.version.as_str())
            .with("format", started.format)
            .with("missionDigest", started.mission_digest.to_string())
            .maybe(
                "missionPath",
                started.mission_path.as_ref().map(|path| path.to_string_lossy()),
            )
            .with("options", json!(started.options))
    }

    fn mission_changed(&self, change: &MissionChange) -> Payload {
        let gates = change.gates.iter().map(|id| &*self.plan.gate(*id).name);
        Payload::default()
            .with("mission", self.plan.name.as_str())
            .with("number", change.number)
            .with("missionDigest", change.to.to_string())
            .with("previousDigest", change.from.to_string())
            .with("added", self.titles(&change.added))
            .with("removed", self.titles(&change.removed))
            .with("changed", self.titles(&change.changed))
            .with("gates", gates.collect::<Vec<&str>>())
    }

    fn tasks_added(&self, addition: &Addition) -> Payload {
        let titles = addition.tasks.iter().map(|task| &*task.title);
        let source = addition.source.map(|id| &*self.plan.task(id).title);
        Payload::default()
            .with("origin", addition.origin.as_str())
            .maybe("source", source)
            .maybe("requestId", addition.request.as_deref())
            .with("tasks", titles.collect::<Vec<&str>>())
    }

    /// What happens to a task as a whole.
    fn task_event(&self, event: &Event, rest: &[Event]) -> Named {
        match event {
            Event::Task(
                task,
                TaskEvent::Transition {
                    from,
                    to,
                    phase,
                    mode,
                    flag,
                    reason,
                },
            ) => (
                "task:transition",
                self.task(*task)
                    .with("from", from.as_str())
                    .with("to", to.as_str())
                    .maybe("phase", phase.map(Phase::as_str))
                    .maybe("mode", mode.map(FailureMode::as_str))
                    .maybe("qualityFlag", flag.map(QualityFlag::as_str))
                    .maybe("reason", reason.as_deref()),
            ),
            Event::Task(task, TaskEvent::AttemptPlanned { attempt, kind }) => {
                self.attempt_planned(*task, *attempt, *kind)
            }
            Event::Task(task, TaskEvent::Nudged { missing, .. }) => (
                "task:nudge",
                self.task(*task).with("missing", findings_of(missing)),
            ),
            Event::Task(task, TaskEvent::EvalUnparsed) => ("task.eval.unparsed", self.task(*task)),
            Event::Task(task, TaskEvent::ForceAccepted { points, message }) => (
                "task.forceAccept",
                self.task(*task)
                    .with("qualityFlag", flag_in(rest, *task).as_str())
                    .maybe("points", points.map(Points::to_f64))
                    .maybe("score", points.map(Points::score_f64))
                    .with("message", message.as_str()),
            ),
            Event::Task(task, TaskEvent::DelegationRequested { sub_tasks }) => {
                let titles = sub_tasks.iter().map(|sub_task| sub_task.title.as_str());
                let titles: Vec<&str> = titles.collect();
                ("delegation:requested", self.task(*task).with("tasks", titles))
            }
            Event::Task(task, TaskEvent::DelegationRefused { title, reason }) => (
                "delegation:refused",
                self.task(*task)
                    .with("refused", title.as_str())
                    .with("reason", reason.as_str()),
            ),
            _ => unreachable!("name() sends only a task's events here"),
        }
    }

    /// `attempt` counts fixes or retries, as its maximum does; `attemptNumber` counts attempts of every kind.
    fn attempt_planned(&self, task: TaskId, number: u32, kind: AttemptKind) -> Named {
        let limits = self.plan.task(task).limits;
        let attempts = &self.view.task(task).attempts;
        let of_kind = |wanted| move |attempt: &&AttemptView| attempt.kind == wanted;
        // A new allowance begins with an execute.
        let allowance = || {
            attempts
                .iter()
                .rev()
                .take_while(|attempt| attempt.kind != AttemptKind::Execute)
        };
        let payload = self.task(task);
        let (name, payload) = match kind {
            AttemptKind::Execute => ("task:execute", payload),
            AttemptKind::Fix => {
                let fixes = attempts
                    .iter()
                    .rev()
                    .take_while(of_kind(AttemptKind::Fix))
                    .count();
                let payload = payload
                    .with("attempt", fixes)
                    .with("maxFix", limits.max_fix_attempts);
                ("task:fix", payload)
            }
            AttemptKind::Retry => {
                let retries = allowance().filter(of_kind(AttemptKind::Retry)).count();
                let payload = payload
                    .with("attempt", retries)
                    .with("maxRetries", limits.max_retries);
                ("task:retry", payload)
            }
        };
        (name, payload.with("attemptNumber", number))
    }

    fn gate_event(&self, event: &Event) -> Named {
        let mission = || Payload::default().with("missionId", &*self.run_id);
        let of = |gate: GateId| mission().with("gateName", &*self.plan.gate(gate).name);
        match event {
            Event::Gate(gate, GateEvent::Evaluated { result }) => {
                let GateResult { passed, avg, reason } = result;
                let payload = of(*gate)
                    .maybe("avgScore", avg.map(Points::score_f64))
                    .maybe("reason", reason.as_deref());
                let name = if *passed {
                    "quality:gate:passed"
                } else {
                    "quality:gate:failed"
                };
                (name, payload)
            }
            Event::Gate(gate, GateEvent::Overridden { reason, by }) => (
                "quality:gate:overridden",
                of(*gate).with("reason", reason.as_str()).with("by", by.as_str()),
            ),
            Event::Run(RunEvent::ThresholdFailed { points, threshold }) => (
                "quality:threshold:failed",
                mission()
                    .with("avgScore", points.score_f64())
                    .with("threshold", threshold.score_f64()),
            ),
            _ => unreachable!("name() sends only events of gates here"),
        }
    }
}
