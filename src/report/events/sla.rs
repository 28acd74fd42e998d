//! Public names and payloads of deadlines.

use crate::domain::Timestamp;
use crate::engine::{DeadlineEvent, DeadlineStep};
use crate::report::ids::task_key;

use super::expander::{EventExpander, Named};
use super::payload::Payload;

impl EventExpander {
    /// What happens to a deadline: under its own name, and as a status of `quality:sla`.
    pub(super) fn deadline_event(&self, event: &DeadlineEvent) -> Vec<Named> {
        let (name, status) = match event.step {
            DeadlineStep::Set => return vec![("deadline:set", self.entity(event))],
            DeadlineStep::Warned => ("sla:warning", "warning"),
            DeadlineStep::Violated => ("sla:violated", "violated"),
            DeadlineStep::Met => ("sla:met", "met"),
        };
        vec![
            (name, self.entity(event)),
            ("quality:sla", self.entity(event).with("status", status)),
        ]
    }

    fn entity(&self, event: &DeadlineEvent) -> Payload {
        let remaining = event.due.since(event.at).0;
        let payload = match event.task {
            Some(task) => Payload::default()
                .with("entityId", task_key(task))
                .with("entityType", "task")
                .with("taskId", task_key(task))
                .with("title", &*self.plan.task(task).title),
            None => Payload::default()
                .with("entityId", &*self.run_id)
                .with("entityType", "mission"),
        };
        let payload = payload.with("deadline", Timestamp::to_rfc3339(event.due));
        match event.step {
            DeadlineStep::Set => payload.maybe("since", event.since.map(Timestamp::to_rfc3339)),
            _ => {
                let payload = payload
                    .maybe("elapsed", event.since.map(|since| event.at.since(since).0))
                    .with("remaining", remaining)
                    .with("percentUsed", event.share_used());
                match event.step {
                    DeadlineStep::Violated => payload.with("overdueMs", event.at.since(event.due).0),
                    DeadlineStep::Met => payload.with("marginMs", remaining),
                    DeadlineStep::Set | DeadlineStep::Warned => payload,
                }
            }
        }
    }
}
