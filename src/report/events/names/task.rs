//! The public events of what happens to the standing of a task. The names are one list, which has every event; what one
//! says beside the task and its name stands in one of two matches, by subject.

use crate::report::{
    events::{
        expander::{EventExpander, NamedPayload},
        judging::flag_in,
        ledgers::no_progress,
        payload::{Payload, payload},
    },
    vocabulary::ids::task_key,
};
use rules::{
    domain::{AttemptKind, Points, TaskId, Timestamp, WaitingReason},
    engine::{DeferralReason, DependencyStep, Event, HoldEvent, TaskEvent},
};

impl EventExpander {
    pub fn task_event(&self, task: TaskId, of: &TaskEvent, rest: &[Event]) -> Option<NamedPayload> {
        Some((name(of)?, self.task_payload(task, of, rest)))
    }

    /// What is told beside an event: that waves in a row brought nothing, where a dependency that failed has its task fail;
    /// that a task which may have acted is parked until a person lets its agent act again.
    pub fn beside(&self, task: TaskId, of: &TaskEvent, rest: &[Event]) -> Option<NamedPayload> {
        let told = self.task(task);
        match (of, rest) {
            (TaskEvent::DependencyFailed { step: DependencyStep::Unresolvable(Some(waves)), .. }, _) => {
                let payload = payload!(told; "kind": "no_progress", "evidence": no_progress(*waves));
                Some(("task:escalated", payload))
            }
            (
                TaskEvent::Transition { reason, .. },
                [Event::Hold(_, HoldEvent::Opened { reason: WaitingReason::SideEffects, .. }), ..],
            ) => Some(("task:retry:blocked", payload!(told; reason))),
            _ => None,
        }
    }

    /// The payload of an event about a task; more than the task where the event says more than its name.
    fn task_payload(&self, task: TaskId, of: &TaskEvent, rest: &[Event]) -> Payload {
        let told = self.task(task);
        match of {
            TaskEvent::AttemptPlanned { attempt, kind } => {
                payload!(self.counted_attempts(task, *kind); "attemptNumber": attempt)
            }
            TaskEvent::StageVerdict(report) => self.stage_verdict(report),
            TaskEvent::StageVoided(voided) => {
                payload!(told; "what": voided.work.describe()).extend(self.told_by(of))
            }
            TaskEvent::FilesChanged { paths, .. } => payload!(told; "files": paths),
            TaskEvent::ForceAccepted { points, message } => payload!(told;
                "qualityFlag": flag_in(rest, task),
                "points": points.map(Points::to_f64),
                "score": points.map(Points::score_f64),
                message,
            ),
            TaskEvent::AcceptanceAnswered { reason, .. } => {
                let answer = if reason.is_none() { "yes" } else { "no" };
                payload!(told; answer).extend(self.told_by(of))
            }
            _ => self.waiting_payload(task, of),
        }
    }

    /// The payload of an event about a wait of a task for an answer or a moment, or about the effect of other tasks and
    /// agents on it. A wait for a person is a hold.
    fn waiting_payload(&self, task: TaskId, of: &TaskEvent) -> Payload {
        let told = self.task(task);
        match of {
            TaskEvent::Question { question, call: Some(_), .. } => payload!(told; "call": question),
            TaskEvent::Answered { answer, by, .. } => payload!(told; answer, by),
            TaskEvent::Deferred { until: Some(deferral) } if deferral.why != DeferralReason::Slot => {
                payload!(told; "until": deferral.moment().map(Timestamp::to_rfc3339), "message": deferral.message)
            }
            TaskEvent::FellBack { from, to, class, message, work } => payload!(told;
                "agentName": self.agent_name(*from),
                "insteadName": self.agent_name(*to),
                "work": work.then_some(true),
            )
            .failure(*class, Some(message)),
            TaskEvent::DependencyFailed { dependency, step, note } => {
                let told = self.failed_dependency(task, *dependency);
                match step {
                    DependencyStep::Detected => payload!(told;
                        "taskIds": [task_key(task)],
                        "resolvableCount": u32::from(self.is_resolvable(task)),
                    ),
                    DependencyStep::Resolved(way) => payload!(told; "action": way.as_str(), "reason": note),
                    DependencyStep::Unresolvable(_) => payload!(told; "reason": note),
                }
            }
            TaskEvent::Deferred { .. } => told,
            _ => told.extend(self.told_by(of)),
        }
    }
}

/// The name of an event about the state of a task; `None` where the event of its question or work tells it.
fn name(of: &TaskEvent) -> Option<&'static str> {
    Some(match of {
        TaskEvent::Transition { .. } => "task:transition",
        TaskEvent::AttemptPlanned { kind, .. } => match kind {
            AttemptKind::Execute => "task:execute",
            AttemptKind::Fix => "task:fix",
            AttemptKind::Retry => "task:retry",
        },
        TaskEvent::StageVerdict(_) => "stage:verdict",
        TaskEvent::StageVoided(_) => "stage:voided",
        TaskEvent::FilesChanged { .. } => "files:changed",
        TaskEvent::AcceptanceRecorded { .. } => "acceptance:recorded",
        TaskEvent::Regressed { .. } => "task:regressed",
        TaskEvent::Superseded { .. } => "task:superseded",
        TaskEvent::Nudged { .. } => "task:nudge",
        TaskEvent::Probed { .. } => "probes:made",
        TaskEvent::EvalUnparsed => "task.eval.unparsed",
        TaskEvent::ForceAccepted { .. } => "task.forceAccept",
        TaskEvent::AcceptanceAnswered { .. } => "acceptance:answered",
        TaskEvent::FellBack { .. } => "agent:fallback",
        TaskEvent::Question { call: None, .. } => "task:question",
        TaskEvent::Question { .. } => "tool:asked",
        TaskEvent::Answered { .. } => "task:answered",
        TaskEvent::DependencyFailed { step, .. } => match step {
            DependencyStep::Detected => "deadlock:detected",
            DependencyStep::Resolved(_) => "deadlock:resolved",
            DependencyStep::Unresolvable(_) => "deadlock:unresolvable",
        },
        TaskEvent::EdgeTaken { .. } => "verification:routed",
        TaskEvent::Deferred { until: Some(deferral) } => match deferral.why {
            DeferralReason::Window => "task:window",
            DeferralReason::BackOff => "task:backoff",
            DeferralReason::Slot => "task:queued",
        },
        TaskEvent::Deferred { until: None } => "task:released",
        TaskEvent::DelegationRefused { .. } => "delegation:refused",
        TaskEvent::DelegationDrift { .. } => "delegation:drift",
        TaskEvent::StageFailed { .. } | TaskEvent::MergeBegun { .. } => return None,
    })
}
