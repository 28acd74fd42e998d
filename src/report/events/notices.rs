//! Public names and keys of what happens to notifications and dead letters.

use crate::report::vocabulary::ids::{notification_id, task_key};
use rules::{domain::Timestamp, engine::NoticeEvent, plan::Plan};

use super::expander::NamedPayload;
use super::payload::{Payload, payload};

/// The public event of a dead letter; `run` is the run's id.
pub fn letter_event(plan: &Plan, run: &str, event: &NoticeEvent) -> Option<NamedPayload> {
    match event {
        NoticeEvent::Died(letter) => {
            let id = format!("{run}.{}", letter.id);
            let payload = payload!(id, "operation": letter.operation.name(plan));
            Some(("dlq:requested", payload.failure(letter.class, Some(&letter.error))))
        }
        NoticeEvent::Filed(ids) => {
            let ids = ids.iter().map(|id| format!("{run}.{id}"));
            let ids = ids.collect::<Vec<_>>();
            Some(("dlq:added", payload!(ids)))
        }
        NoticeEvent::Requested { .. } | NoticeEvent::Tried { .. } => None,
    }
}

/// The payload of an event about a notification; `run` is the run's id.
pub fn notice_details(plan: &Plan, run: &str, event: &NoticeEvent) -> Payload {
    let of = |number: u32, channel: &str| payload!("notificationId": notification_id(run, number), channel);
    match event {
        NoticeEvent::Requested { number, channel, notice } => payload!(of(*number, channel);
            "about": notice.topic.as_str(),
            "taskId": notice.task.map(task_key),
            "title": notice.task.map(|task| plan.title(task)),
            "gateName": notice.gate.map(|gate| &plan.gate(gate).name),
            "holdName": notice.barrier.map(|hold| &plan.barrier(hold).name),
            "message": notice.text,
        ),
        NoticeEvent::Tried { number, channel, failure } => {
            let told = of(*number, channel);
            let Some(failure) = failure else { return told };
            payload!(told.failure(failure.class, Some(&failure.message)); "notBefore": failure.again.map(Timestamp::to_rfc3339))
        }
        NoticeEvent::Died(_) | NoticeEvent::Filed(_) => Payload::default(),
    }
}
