//! What is told of calls to agents that are asked.

use serde_json::Value;

use crate::report::vocabulary::ids::task_key;
use rules::{
    domain::{AgentId, Answer, AskId, Purpose, TaskId, Timestamp},
    engine::{AskEvent, AskReply},
    mission::model::Remedy,
};

use super::expander::EventExpander;
use super::payload::{Payload, payload};

impl EventExpander {
    pub fn failed_dependency(&self, task: TaskId, dependency: TaskId) -> Payload {
        payload!(self.task(task); "failedDepId": task_key(dependency))
    }

    /// Whether anything but skipping can be tried for a task.
    pub fn is_resolvable(&self, task: TaskId) -> bool {
        let rules = &self.plan().rules;
        let own = self.plan().task(task).on_dependency_failed;
        let order = own.unwrap_or(rules.settings.on_dependency_failed);
        order.iter().any(|remedy| match remedy {
            Remedy::Skip => false,
            Remedy::Resolve => rules.orchestrator.is_some(),
            Remedy::Artifacts | Remedy::Partial => true,
        })
    }

    /// The payload of an event about a call to an agent.
    pub fn ask_details(&self, id: AskId, of: &AskEvent) -> Payload {
        match of {
            AskEvent::Requested { purpose, agent, strict, not_before } => {
                // The round of a seat is in its place.
                let round = purpose.round().filter(|_| purpose.seat().is_none());
                let strict = strict.as_ref().filter(|_| purpose.seat().is_some());
                payload!(self.ask(id, *purpose, *agent);
                    "failedDepId": purpose.dependency().map(task_key),
                    "name": purpose.step().map(|step| self.step_name(id.task, step)),
                    round,
                    strict,
                    "notBefore": not_before.map(Timestamp::to_rfc3339),
                )
            }
            AskEvent::Replied(AskReply { purpose, agent, reply, answer, .. }) => {
                let payload = self.ask(id, *purpose, *agent).extend(self.told(reply));
                self.answered(payload, answer)
            }
            AskEvent::Failed { purpose, agent, gave_up, class, message, used, until, .. } => {
                let payload = self.ask(id, *purpose, *agent).failure(*class, Some(message));
                let payload = payload!(payload; "until": until.map(Timestamp::to_rfc3339));
                payload!(payload.extend(self.told(used)); "final": gave_up)
            }
            AskEvent::HandedOver { .. } => Payload::default(),
        }
    }

    fn ask(&self, id: AskId, purpose: Purpose, agent: AgentId) -> Payload {
        let payload = self.task(id.task);
        let payload = match purpose.seat() {
            Some(place) => {
                payload!(payload; "attempt": place.attempt, "round": place.round, "seat": place.seat)
            }
            None => payload!(payload; "ask": id.number),
        };
        payload!(payload; "try": id.attempt_try, "agentName": self.agent_name(agent))
    }

    /// Adds the answer to the payload, in the words that the agent was asked for.
    fn answered(&self, payload: Payload, answer: &Answer) -> Payload {
        if let Answer::Unreadable { why, excerpt, .. } = answer {
            return payload!(payload; "parsed": false, "reason": why, excerpt);
        }
        let payload = payload!(payload; "parsed": true);
        match (answer, answer.short()) {
            (Answer::Probes(probes), _) => payload!(payload; "probes": self.each(probes)),
            (_, Some(Value::Object(form))) => payload.extend(Payload(form)),
            _ => payload.extend(self.told_by(answer)),
        }
    }
}
