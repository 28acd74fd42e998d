//! The public events of an event of the engine: what they are called, what they say, what they mean.
//!
//! No other place outside of the engine must know every event. What begins and ends by one is told beside it: work in
//! `work`, holds in `holds`, waves in `ledgers`.
//!
//! | file | what |
//! |---|---|
//! | `task` | the same for what happens to the standing of a task |

mod task;

use serde_json::json;

use crate::domain::{AskId, FailureClass, GateId, Points, Purpose, TurnId};
use crate::engine::{AskEvent, BudgetEvent, Ceiling, Event, GateEvent, GateResult, RunEvent, TurnEvent};

use super::expander::{EventExpander, Named};
use super::notices::letter_event;
use super::payload::{Payload, file, run_finished, stop_cause};

/// Public names of events, with bars between them, and what they mean.
pub(super) type Meaning = (&'static str, &'static str);

/// What every public event means. Each stands beside what gives it its name; the order is that of pages and screens.
pub(in crate::report) const HAPPENINGS: [&[Meaning]; 8] = [
    super::worktrees::WORKTREES,
    RUNS,
    task::STANDING,
    WORK,
    task::JUDGING,
    HOLDS,
    task::OTHERS,
    REST,
];

/// Events of the run as a whole.
const RUNS: &[Meaning] = &[
    (
        "run:started|run:resumed|run:finished",
        "A session of the run began for the first time, began again, or ended; the last one tells the outcome.",
    ),
    (
        "run:stopping|run:paused|run:waiting",
        "The session starts nothing more: it is ended, paused by a person, or kept alive only for a person's answer.",
    ),
    (
        "run:cancelled",
        "A person cancelled the whole run: what is open of it fails, and what was accepted is not looked at again.",
    ),
    ("run:limit", "A budget or a time is used up."),
    (
        "run:moved",
        "The state was carried to another folder since the last session: the run now works in the folder where its state lies.",
    ),
    (
        "run:salvaged",
        "A damaged journal was cut back to its last good record by a person; what stood behind it is lost.",
    ),
    (
        "run:unconfined",
        "Agents are not confined by the system's kernel.",
    ),
    (
        "state:foreign",
        "Somebody else touched what the session rests on; it ends as internal (1).",
    ),
    (
        "mission:changed",
        "A person accepted a changed mission file; what it changes is done again.",
    ),
    (
        "tasks:added|tasks:withdrawn|task:created",
        "Tasks came or went while the run worked: delegated by an agent, requested from outside, made as a fixup, or changed with the mission.",
    ),
];

/// Work and turns.
const WORK: &[Meaning] = &[
    (
        "work:requested|work:started|work:progressed|work:ended|work:dropped",
        "Work is on record, begins, goes on (`detail`), came to an end (`result`), is not waited for any more. `kind`, `purpose` and `place` say which: a turn, an agent that is asked, a command, files that are looked at, a notification.",
    ),
    (
        "agent:spawned|agent:activity",
        "The agent of a turn has its process; it told something of its progress or called a tool.",
    ),
    (
        "agent:stale",
        "Nothing was heard of an agent for longer than its `staleThreshold`.",
    ),
];

/// What waits, gates, deadlines.
const HOLDS: &[Meaning] = &[
    (
        "hold:opened|hold:closed",
        "A task, or what stands behind a checkpoint or a delay, begins to wait (`reason`); it does not any more (`answer`: yes, no, expired, withdrawn).",
    ),
    (
        "approval:requested|approval:resolved|approval:timeout",
        "A person or approver is asked, decided, or did not in time.",
    ),
    (
        "checkpoint:reached|delay:started",
        "What a notification is about: the run reached a checkpoint, or waits for some time between tasks. In the stream of events both are `hold:opened`.",
    ),
    (
        "quality:gate:passed|quality:gate:failed",
        "A quality gate was evaluated: what it blocks may start, or may not.",
    ),
    (
        "quality:gate:overridden",
        "A person let a failed gate pass; the reason is on record.",
    ),
    (
        "quality:threshold:failed|quality:sla",
        "The mission's own bar was missed; a deadline is kept, near or missed.",
    ),
    (
        "deadline:set|sla:warning|sla:violated|sla:met",
        "A deadline has begun, is near, was missed, was kept.",
    ),
];

/// Ledgers, budget, notices, what persons say.
const REST: &[Meaning] = &[
    (
        "ledger:plan|task_ledger",
        "What is planned in a wave, before its first task begins (coordination middleware `task_ledger`).",
    ),
    (
        "ledger:progress|progress_ledger|stall",
        "What a wave brought, once all of its tasks have ended, and how many waves in a row brought nothing (`stall`). From three on the orchestrator is asked for no other way (coordination middleware `progress_ledger`).",
    ),
    (
        "budget:clock|budget:exhausted",
        "The clock of the budget; the budget is used up.",
    ),
    (
        "dlq:added|dlq:requested",
        "Something that failed for good is in the queue of dead letters, or on its way there.",
    ),
    ("operator:command", "A person's command was taken."),
    ("tool:asked", "A model asks for a tool that only a person allows."),
];

impl EventExpander {
    /// The public events of one engine event; `rest` is what was decided behind it in the same record.
    pub(super) fn name(&mut self, event: &Event, rest: &[Event]) -> Vec<Named> {
        let mut named = self.work_event(event, rest);
        named.extend(self.worktree_event(event));
        match event {
            Event::Run(of) => named.extend(self.run_event(of)),
            Event::Task(task, of) => {
                named.extend(self.task_event(*task, of, rest));
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

    fn run_event(&self, of: &RunEvent) -> Option<Named> {
        let told = Payload::default();
        Some(match of {
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
            RunEvent::SessionLimit { until } => ("run:limit", told.with("until", until.to_rfc3339())),
            RunEvent::StateForeign { what } => ("state:foreign", told.with("what", what.as_str())),
            RunEvent::Unconfined { reason } => ("run:unconfined", told.with("reason", reason.as_str())),
            RunEvent::Warning { message } => {
                let log = told.with("level", "warn");
                ("log", log.with("message", message.as_str()))
            }
            RunEvent::Salvaged(salvaged) => {
                let told = told.with("by", salvaged.by.as_str()).with("line", salvaged.line);
                let told = told
                    .with("lostBytes", salvaged.bytes)
                    .with("lostRecords", salvaged.records);
                ("run:salvaged", told.with("file", salvaged.file.as_str()))
            }
            RunEvent::MissionChanged(change) => ("mission:changed", self.mission_changed(change)),
            RunEvent::TasksAdded(addition) => ("tasks:added", self.tasks_added(addition)),
            RunEvent::TasksWithdrawn { tasks } => ("tasks:withdrawn", told.with("tasks", self.titles(tasks))),
            RunEvent::Paused { by } => ("run:paused", told.with("by", by.as_str())),
            RunEvent::Cancelled { by } => ("run:cancelled", told.with("by", by.as_str())),
            RunEvent::Waiting { until } => ("run:waiting", told.with("until", until.to_rfc3339())),
            RunEvent::CommandTaken { id, result, by } => {
                let told = told.with("commandId", id.as_str());
                let told = told.with("result", json!(result));
                ("operator:command", told.with("by", by.as_str()))
            }
            RunEvent::ThresholdFailed { points, threshold } => {
                let told = self.of_mission().with("avgScore", points.score_f64());
                let told = told.with("threshold", threshold.score_f64());
                ("quality:threshold:failed", told)
            }
            RunEvent::ProtectionNoted { files } => {
                let paths: Vec<&str> = files.iter().map(|(path, _)| path.as_str()).collect();
                ("protection:noted", told.with("files", paths))
            }
            RunEvent::AuditRequested { .. }
            | RunEvent::AuditFinished { .. }
            | RunEvent::DeliveryRequested { .. }
            | RunEvent::WorkDelivered(_) => return None,
        })
    }

    fn turn_event(&self, turn: TurnId, of: &TurnEvent) -> Option<Named> {
        let told = self.turn(turn);
        let plan = self.plan.task(turn.task);
        let agent = self.agent_name(plan.agent);
        Some(match of {
            TurnEvent::Spawned { process } => {
                let told = told.with("agentName", agent).with("taskTitle", &*plan.title);
                let pid = process.as_ref().map(|process| process.pid);
                ("agent:spawned", told.maybe("pid", pid))
            }
            TurnEvent::Activity { summary } => {
                let told = told.with("agentName", agent);
                ("agent:activity", told.with("summary", summary.as_str()))
            }
            TurnEvent::Stale { idle, killed } => {
                let action = if *killed { "kill" } else { "warning" };
                let told = self.task(turn.task).with("agentName", agent);
                ("agent:stale", told.with("idleMs", idle.0).with("action", action))
            }
            TurnEvent::FilesNoted { file: record, .. } => ("files:noted", told.with("record", file(record))),
            TurnEvent::AuthorityCues { cues, result } => {
                let place = if *result { "result" } else { "prompt" };
                ("authority:cues", told.with("cues", *cues).with("in", place))
            }
            TurnEvent::Escalated { broken } => {
                let told = told.with("kind", broken.kind.as_str());
                ("task:escalated", told.with("evidence", broken.evidence.as_str()))
            }
            TurnEvent::Finished { exit, duration, .. } if exit.failure == Some(FailureClass::Timeout) => {
                let told = self.task(turn.task).with("elapsed", duration.0);
                ("task:timeout", told.with("timeout", plan.turn_timeout.0))
            }
            TurnEvent::Started { .. }
            | TurnEvent::RequestFailed { .. }
            | TurnEvent::Finished { .. }
            | TurnEvent::Lost
            | TurnEvent::Adopted => return None,
        })
    }

    fn ask_event(&self, id: AskId, of: &AskEvent) -> Option<Named> {
        match of {
            AskEvent::HandedOver { agent, file: record } => {
                let told = self.task(id.task).with("ask", id.number);
                let told = told.with("agentName", self.agent_name(*agent));
                Some(("handoff:recorded", told.with("record", file(record))))
            }
            AskEvent::Requested {
                purpose: Purpose::Resolve { dependency },
                ..
            } if id.attempt_try == 1 => {
                Some(("deadlock:resolving", self.failed_dependency(id.task, *dependency)))
            }
            AskEvent::Requested { .. } | AskEvent::Replied { .. } | AskEvent::Failed { .. } => None,
        }
    }

    fn gate_event(&self, gate: GateId, of: &GateEvent) -> Named {
        let told = self.of_mission().with("gateName", &*self.plan.gate(gate).name);
        match of {
            GateEvent::Evaluated { result } => {
                let GateResult { passed, avg, reason } = result;
                let told = told.maybe("avgScore", avg.map(Points::score_f64));
                let told = told.maybe("reason", reason.as_deref());
                match passed {
                    true => ("quality:gate:passed", told),
                    false => ("quality:gate:failed", told),
                }
            }
            GateEvent::Overridden { reason, by } => {
                let told = told.with("reason", reason.as_str());
                ("quality:gate:overridden", told.with("by", by.as_str()))
            }
        }
    }

    fn budget_event(&self, of: &BudgetEvent) -> Option<Named> {
        let told = Payload::default();
        match of {
            BudgetEvent::Exhausted { ceiling } => {
                let unknown = match ceiling {
                    Ceiling::UnknownCost(id) | Ceiling::UnknownTokens(id) => Some(self.agent_name(*id)),
                    Ceiling::Cost | Ceiling::Tokens | Ceiling::Requests | Ceiling::Time => None,
                };
                let told = told.with("limit", ceiling.key());
                Some(("budget:exhausted", told.maybe("unknownOf", unknown)))
            }
            BudgetEvent::Clock { since, used, until } => {
                let told = told.with("since", since.to_rfc3339()).with("usedMs", used.0);
                Some(("budget:clock", told.with("until", until.to_rfc3339())))
            }
            BudgetEvent::Held { .. } | BudgetEvent::Released { .. } | BudgetEvent::Settled { .. } => None,
        }
    }

    fn of_mission(&self) -> Payload {
        Payload::default().with("missionId", &*self.run_id)
    }
}
