//! Public names and payloads of what people are asked.

use crate::domain::{Cause, StageKey, TaskId, Timestamp};
use crate::engine::{Event, TaskEvent};
use crate::report::ids::ApprovalId;

use super::explode::{Exploder, Named};
use super::payload::Payload;

impl Exploder {
    /// What happens to an approval.
    pub(super) fn approval_event(&self, event: &Event) -> Named {
        match event {
            Event::Task(_, TaskEvent::ApprovalRequested { .. }) => {
                ("approval:requested", self.approval_request(event))
            }
            Event::Task(task, TaskEvent::ApprovalTimedOut { number }) => (
                "approval:timeout",
                self.approval_of(*task, *number).with("action", "wait"),
            ),
            Event::Task(
                task,
                TaskEvent::ApprovalResolved {
                    number,
                    resolution,
                    by,
                },
            ) => (
                "approval:resolved",
                self.approval_of(*task, *number)
                    .with("status", resolution.as_str())
                    .with("resolvedBy", by.as_str()),
            ),
            Event::Task(task, TaskEvent::RetryBlocked { reason }) => (
                "task:retry:blocked",
                self.task(*task).with("reason", reason.as_str()),
            ),
            _ => unreachable!("name() sends only an approval's events here"),
        }
    }

    /// What is told of a request to a person.
    pub(super) fn approval_request(&self, event: &Event) -> Payload {
        let Event::Task(
            task,
            TaskEvent::ApprovalRequested {
                number,
                reason,
                cause,
                stage,
                message,
                gate,
                expires,
            },
        ) = event
        else {
            unreachable!("called for a request to a person");
        };
        self.approval_of(*task, *number)
            .with("missionId", &*self.run_id)
            .with("reason", reason.as_str())
            .maybe("gateName", gate.as_deref())
            .maybe("cause", cause.map(Cause::as_str))
            .maybe("stage", stage.map(|at| at.stage().as_str()))
            .maybe(
                "name",
                stage
                    .filter(|_| *cause != Some(Cause::Exhausted))
                    .and_then(StageKey::step)
                    .map(|step| self.step_name(*task, step)),
            )
            .with("message", message.as_str())
            .maybe("expires", expires.map(Timestamp::to_rfc3339))
    }

    /// What is told of an approver that left it open.
    pub(super) fn undecided(&self, task: TaskId, event: &Event) -> Payload {
        let Event::Task(
            _,
            TaskEvent::ApprovalUndecided {
                number,
                message,
                again,
                ..
            },
        ) = event
        else {
            return Payload::default();
        };
        self.approval_of(task, *number)
            .with("decision", "undecided")
            .with("reason", message.as_str())
            .maybe("again", again.map(Timestamp::to_rfc3339))
    }

    pub(super) fn approval_of(&self, task: TaskId, number: u32) -> Payload {
        self.task(task).maybe("requestId", self.approval(task, number))
    }

    fn approval(&self, task: TaskId, number: u32) -> Option<String> {
        let run = self.view.run_id.as_ref()?;
        Some(ApprovalId { run, task, number }.to_string())
    }
}
