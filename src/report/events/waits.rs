//! Public names and payloads of what a run waits for: approvals, checkpoints, delays.

use crate::domain::{Cause, HoldId, Stage, TaskId, Timestamp};
use crate::engine::Event;
use crate::mission::HoldKind;
use crate::report::ids::{ApprovalId, CheckpointId, task_key};

use super::explode::{Exploder, Named};
use super::payload::Payload;

impl Exploder {
    /// What happens to an approval.
    pub(super) fn approval_event(&self, event: &Event) -> Named {
        match event {
            Event::ApprovalRequested {
                task,
                number,
                reason,
                cause,
                stage,
                step,
                message,
                gate,
                expires,
            } => (
                "approval:requested",
                self.task(*task)
                    .maybe("requestId", self.approval(*task, *number))
                    .with("missionId", &*self.run_id)
                    .with("reason", reason.as_str())
                    .maybe("gateName", gate.as_deref())
                    .maybe("cause", cause.map(Cause::as_str))
                    .maybe("stage", stage.map(Stage::as_str))
                    .maybe("name", step.map(|step| self.step_name(*task, step)))
                    .with("message", message.as_str())
                    .maybe("expires", expires.map(Timestamp::to_rfc3339)),
            ),
            Event::ApproverAsked {
                task,
                number,
                approver,
            } => (
                "approval:asked",
                self.approval_of(*task, *number).with("approver", *approver),
            ),
            Event::ApproverUndecided {
                task,
                number,
                approver,
                message,
                again,
            } => (
                "approval:undecided",
                self.approval_of(*task, *number)
                    .with("approver", *approver)
                    .with("reason", message.as_str())
                    .maybe("again", again.map(Timestamp::to_rfc3339)),
            ),
            Event::ApprovalTimedOut { task, number } => (
                "approval:timeout",
                self.approval_of(*task, *number).with("action", "wait"),
            ),
            Event::ApprovalResolved {
                task,
                number,
                resolution,
                by,
            } => (
                "approval:resolved",
                self.approval_of(*task, *number)
                    .with("status", resolution.as_str())
                    .with("resolvedBy", by.as_str()),
            ),
            Event::RetryBlocked { task, reason } => (
                "task:retry:blocked",
                self.task(*task).with("reason", reason.as_str()),
            ),
            _ => unreachable!("name() sends only an approval's events here"),
        }
    }

    fn approval_of(&self, task: TaskId, number: u32) -> Payload {
        self.task(task).maybe("requestId", self.approval(task, number))
    }

    fn approval(&self, task: TaskId, number: u32) -> Option<String> {
        let run = self.view.run_id.as_ref()?;
        Some(ApprovalId { run, task, number }.to_string())
    }

    /// What happens to a checkpoint or a delay.
    pub(super) fn hold_event(&self, event: &Event) -> Named {
        match event {
            Event::HoldReached { hold, number, until } => {
                let plan = self.plan.hold(*hold);
                let titles = |tasks: &[TaskId]| tasks.iter().map(|id| task_key(*id)).collect::<Vec<_>>();
                let (name, payload) = match plan.kind {
                    HoldKind::Checkpoint => {
                        let run = self.view.run_id.as_ref();
                        let id = run.map(|run| CheckpointId {
                            run,
                            hold: *hold,
                            number: *number,
                        });
                        let payload = self.hold(*hold).maybe("requestId", id.map(|id| id.to_string()));
                        ("checkpoint:reached", payload)
                    }
                    HoldKind::Delay(duration) => {
                        let payload = self.hold(*hold).with("duration", duration.0);
                        let until = until.map(Timestamp::to_rfc3339);
                        ("delay:started", payload.maybe("expiresAt", until))
                    }
                };
                let payload = payload.maybe("message", plan.message.as_deref());
                let payload = payload.with("afterTasks", titles(&plan.after));
                (name, payload.with("blocksTasks", titles(&plan.blocks)))
            }
            Event::HoldPassed { hold, by } => match self.plan.hold(*hold).kind {
                HoldKind::Checkpoint => (
                    "checkpoint:resumed",
                    self.hold(*hold).maybe("resolvedBy", by.as_deref()),
                ),
                HoldKind::Delay(_) => ("delay:expired", self.hold(*hold)),
            },
            Event::HoldRejected { hold, reason, by } => (
                "checkpoint:rejected",
                self.hold(*hold)
                    .with("reason", reason.as_str())
                    .with("resolvedBy", by.as_str()),
            ),
            _ => unreachable!("name() sends only a hold's events here"),
        }
    }

    fn hold(&self, id: HoldId) -> Payload {
        let plan = self.plan.hold(id);
        let key = match plan.kind {
            HoldKind::Checkpoint => "checkpointName",
            HoldKind::Delay(_) => "delayName",
        };
        Payload::default()
            .with("missionId", &*self.run_id)
            .with(key, &*plan.name)
    }
}
