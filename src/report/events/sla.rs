//! Public names and payloads of deadlines.

use crate::report::vocabulary::ids::task_key;
use rules::{
    domain::Timestamp,
    engine::{DeadlineEvent, DeadlineStep},
};

use super::expander::{EventExpander, NamedPayload};
use super::payload::{Payload, payload};

impl EventExpander {
    /// The events about a deadline: one under its own name, one as a status of `quality:sla`.
    pub fn deadline_event(&self, event: &DeadlineEvent) -> Vec<NamedPayload> {
        let (name, status) = match event.step {
            DeadlineStep::Set => return vec![("deadline:set", self.entity(event))],
            DeadlineStep::Warned => ("sla:warning", "warning"),
            DeadlineStep::Violated => ("sla:violated", "violated"),
            DeadlineStep::Met => ("sla:met", "met"),
        };
        vec![(name, self.entity(event)), ("quality:sla", payload!(self.entity(event); status))]
    }

    fn entity(&self, event: &DeadlineEvent) -> Payload {
        let remaining = event.due.since(event.at);
        let payload = match event.task {
            Some(task) => payload!("entityId": task_key(task), "entityType": "task").extend(self.task(task)),
            None => payload!("entityId": self.run_id, "entityType": "mission"),
        };
        let payload = payload!(payload; "deadline": event.due.to_rfc3339());
        match event.step {
            DeadlineStep::Set => payload!(payload; "since": event.since.map(Timestamp::to_rfc3339)),
            _ => {
                let payload = payload!(payload;
                    "elapsed": event.since.map(|since| event.at.since(since)),
                    remaining,
                    "percentUsed": event.share_used(),
                );
                match event.step {
                    DeadlineStep::Violated => payload!(payload; "overdueMs": event.at.since(event.due)),
                    DeadlineStep::Met => payload!(payload; "marginMs": remaining),
                    DeadlineStep::Set | DeadlineStep::Warned => payload,
                }
            }
        }
    }
}
