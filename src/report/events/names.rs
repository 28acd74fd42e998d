//! The public events of an event of the engine: what they are called and what they say.
//!
//! No other place outside of the engine must know every event. What begins and ends by one is told beside it: work in
//! `work`, holds in `holds`, waves in `ledgers`.
//!
//! | file | what |
//! |---|---|
//! | `task` | the same for what happens to the standing of a task |

mod task;

use rules::{
    domain::{AskId, FailureClass, GateId, Points, Purpose, TurnId},
    engine::{
        AskEvent, BudgetEvent, Ceiling, Concern, Event, GateEvent, GateResult, RunEvent, TaskEvent,
        TurnEvent, TurnUpdate,
    },
};

use super::expander::{EventExpander, NamedPayload};
use super::notices::letter_event;
use super::payload::{Payload, payload, run_finished};

impl EventExpander {
    /// The public events of one engine event; `rest` is what was decided behind it in the same record.
    pub fn name(&mut self, event: &Event, rest: &[Event]) -> Vec<NamedPayload> {
        let mut named = self.work_event(event, rest);
        named.extend(self.worktree_event(event));
        match event {
            Event::Run(of) => named.extend(self.run_event(of)),
            Event::Task(task, of) => {
                let mut told = [self.task_event(*task, of, rest), self.beside(*task, of, rest)];
                // Waves without progress are the reason of what follows.
                if matches!(of, TaskEvent::DependencyFailed { .. }) {
                    told.reverse();
                }
                named.extend(told.into_iter().flatten());
                named.extend(self.assessment(of, rest));
            }
            Event::Turn(turn, of) => named.extend(self.turn_event(*turn, of)),
            Event::Ask(id, of) => named.extend(self.ask_event(*id, of)),
            Event::Gate(gate, of) => named.push(self.gate_event(*gate, of)),
            Event::Budget(of) => named.extend(self.budget_event(of)),
            Event::Deadline(of) => named.extend(self.deadline_event(of)),
            Event::Notice(of) => named.extend(letter_event(&self.plan, &self.run_id, of)),
            Event::Hold(of, event) => named.extend(self.approval_event(*of, event)),
            // Told as work.
            Event::Work(..) => {}
        }
        named
    }

    fn run_event(&self, of: &RunEvent) -> Option<NamedPayload> {
        Some(match of {
            RunEvent::Started(started) => ("run:started", self.run_started(started)),
            RunEvent::Resumed(_) => ("run:resumed", self.told_by(of)),
            RunEvent::Moved { .. } => ("run:moved", self.told_by(of)),
            RunEvent::Stopping(cause) => ("run:stopping", payload!("cause": cause)),
            RunEvent::Finished { outcome, conditions, allowed, .. } => {
                ("run:finished", run_finished(*outcome, conditions, allowed))
            }
            RunEvent::SessionLimit { until, waits } => {
                let name = if *waits { "run:waiting" } else { "run:limit" };
                (name, payload!("until": until.to_rfc3339()))
            }
            RunEvent::Warning(concern, message) => match concern {
                Concern::Notice => ("log", payload!("level": "warn", message)),
                Concern::Unconfined => ("run:unconfined", payload!("reason": message)),
                Concern::Foreign => ("state:foreign", payload!("what": message)),
            },
            RunEvent::Salvaged(_) => ("run:salvaged", self.told_by(of)),
            RunEvent::MissionChanged(change) => ("mission:changed", self.mission_changed(change)),
            RunEvent::TasksAdded(addition) => ("tasks:added", self.tasks_added(addition)),
            RunEvent::TasksWithdrawn { .. } => ("tasks:withdrawn", self.told_by(of)),
            RunEvent::Paused { by, for_good } => {
                let name = if *for_good { "run:cancelled" } else { "run:paused" };
                (name, payload!(by))
            }
            RunEvent::CommandTaken { .. } => ("operator:command", self.told_by(of)),
            RunEvent::ThresholdFailed { avg_score: points, threshold } => {
                let payload = payload!(self.of_mission();
                    "avgScore": points.score_f64(),
                    "threshold": threshold.score_f64(),
                );
                ("quality:threshold:failed", payload)
            }
            RunEvent::ProtectionNoted(known) => {
                let paths: Vec<&String> = known.files.iter().map(|(path, _)| path).collect();
                ("protection:noted", payload!("files": paths))
            }
            RunEvent::WorkRequested(_) | RunEvent::AuditFinished { .. } | RunEvent::WorkDelivered(_) => {
                return None;
            }
        })
    }

    /// What a turn brings beside its own beginning and end: sub-tasks, words of authority, an assumption that does not hold.
    pub fn turn_brings(&self, turn: TurnId, of: &TurnEvent) -> Vec<NamedPayload> {
        let cues = |cues: u32, place: &str| {
            let payload = payload!(self.turn(turn); cues, "in": place);
            (cues > 0).then_some(("authority:cues", payload))
        };
        match of {
            TurnEvent::Started(prompt) => cues(prompt.cues, "prompt").into_iter().collect(),
            TurnEvent::Finished(end) => {
                let titles = end.delegate.iter().map(|sub_task| &sub_task.title);
                let requested = payload!(self.task(turn.task); "tasks": titles.collect::<Vec<_>>());
                let requested = (!end.delegate.is_empty()).then_some(("delegation:requested", requested));
                let escalated = end.broken.as_ref().map(|broken| {
                    let payload = payload!(self.turn(turn); "kind": broken.kind, "evidence": broken.evidence);
                    ("task:escalated", payload)
                });
                let brought = requested.into_iter().chain(cues(end.cues, "result"));
                brought.chain(escalated).collect()
            }
            _ => Vec::new(),
        }
    }

    fn turn_event(&self, turn: TurnId, of: &TurnEvent) -> Option<NamedPayload> {
        let turn_of = || self.turn(turn);
        let plan = self.plan.task(turn.task);
        let agent = self.agent_name(plan.agent);
        Some(match of {
            TurnEvent::Progress(TurnUpdate::Spawned { process }) => {
                let pid = process.as_ref().map(|process| process.pid);
                let payload = payload!(turn_of(); "agentName": agent, "taskTitle": plan.title, pid);
                ("agent:spawned", payload)
            }
            TurnEvent::Progress(TurnUpdate::Activity { summary }) => {
                ("agent:activity", payload!(turn_of(); "agentName": agent, summary))
            }
            TurnEvent::Progress(TurnUpdate::Stale { idle, killed }) => {
                let action = if *killed { "kill" } else { "warning" };
                let payload = payload!(self.task(turn.task); "agentName": agent, "idleMs": idle, action);
                ("agent:stale", payload)
            }
            TurnEvent::FilesNoted { file: record, .. } => {
                ("files:noted", payload!(turn_of(); "record": self.told(record)))
            }
            TurnEvent::Finished(end) if end.exit.failure == Some(FailureClass::Timeout) => {
                let payload =
                    payload!(self.task(turn.task); "elapsed": end.duration, "timeout": plan.turn_timeout);
                ("task:timeout", payload)
            }
            TurnEvent::Started(_)
            | TurnEvent::Finished(_)
            | TurnEvent::RequestFailed { .. }
            | TurnEvent::Lost
            | TurnEvent::Adopted => return None,
        })
    }

    fn ask_event(&self, id: AskId, of: &AskEvent) -> Option<NamedPayload> {
        match of {
            AskEvent::HandedOver { agent, file: record } => {
                let payload = payload!(self.task(id.task);
                    "ask": id.number,
                    "agentName": self.agent_name(*agent),
                    "record": self.told(record),
                );
                Some(("handoff:recorded", payload))
            }
            AskEvent::Requested { purpose: Purpose::Resolve { dependency }, .. } if id.attempt_try == 1 => {
                Some(("deadlock:resolving", self.failed_dependency(id.task, *dependency)))
            }
            AskEvent::Requested { .. } | AskEvent::Replied(_) | AskEvent::Failed { .. } => None,
        }
    }

    fn gate_event(&self, gate: GateId, of: &GateEvent) -> NamedPayload {
        let payload = payload!(self.of_mission(); "gateName": self.plan.gate(gate).name);
        match of {
            GateEvent::Evaluated { result } => {
                let GateResult { passed, avg_score: avg, reason } = result;
                let payload = payload!(payload; "avgScore": avg.map(Points::score_f64), reason);
                if *passed { ("quality:gate:passed", payload) } else { ("quality:gate:failed", payload) }
            }
            GateEvent::Overridden { .. } => ("quality:gate:overridden", payload.extend(self.told_by(of))),
        }
    }

    fn budget_event(&self, of: &BudgetEvent) -> Option<NamedPayload> {
        match of {
            BudgetEvent::Exhausted { ceiling } => {
                let unknown = match ceiling {
                    Ceiling::UnknownCost(id) | Ceiling::UnknownTokens(id) => Some(self.agent_name(*id)),
                    _ => None,
                };
                let payload = payload!("limit": ceiling.key(), "unknownOf": unknown);
                Some(("budget:exhausted", payload))
            }
            BudgetEvent::Clock { since, used, until } => {
                let payload = payload!(
                    "since": since.to_rfc3339(),
                    "usedMs": used,
                    "until": until.to_rfc3339(),
                );
                Some(("budget:clock", payload))
            }
            BudgetEvent::Held { .. } | BudgetEvent::Settled { .. } => None,
        }
    }

    fn of_mission(&self) -> Payload {
        payload!("missionId": self.run_id)
    }
}
