//! Public events of consulted agents.

use crate::domain::{Advice, Purpose, Timestamp};
use crate::engine::Event;
use crate::report::ids::task_key;

use super::explode::{Exploder, Named};
use super::payload::{Payload, file};

impl Exploder {
    /// The public event of a call to a consulted agent.
    pub(super) fn consult_event(&self, event: &Event) -> Named {
        match event {
            Event::ConsultRequested {
                id,
                purpose,
                agent,
                not_before,
            } => {
                let payload = self.consult(*id).with("purpose", purpose.as_str());
                let payload = match purpose {
                    Purpose::Resolve { dependency } => payload.with("failedDepId", task_key(*dependency)),
                    Purpose::Confirm | Purpose::Answer | Purpose::Approve { .. } => payload,
                };
                let payload = payload.with("agentName", self.agent_name(*agent));
                let not_before = not_before.map(Timestamp::to_rfc3339);
                ("consult:requested", payload.maybe("notBefore", not_before))
            }
            Event::ConsultReplied { id, reply, advice } => {
                let payload = self.consult(*id).maybe("model", reply.model.as_deref());
                let payload = payload.usage(&reply.usage).with("reply", file(&reply.file));
                ("consult:replied", advised(payload, advice))
            }
            Event::ConsultFailed {
                id,
                gave_up,
                class,
                message,
            } => {
                let payload = self.consult(*id).failure(*class, Some(message));
                ("consult:failed", payload.with("final", *gave_up))
            }
            _ => unreachable!("name() sends only events of consults here"),
        }
    }

    fn consult(&self, id: crate::domain::ConsultId) -> Payload {
        self.task(id.task)
            .with("consult", id.number)
            .with("try", id.attempt_try)
    }
}

/// What was said, in the words it was asked for.
fn advised(payload: Payload, advice: &Advice) -> Payload {
    if let Advice::Unreadable { why, excerpt } = advice {
        let payload = payload.with("parsed", false).with("reason", why.as_str());
        return payload.with("excerpt", excerpt.as_str());
    }
    let payload = payload.with("parsed", true);
    match advice {
        Advice::IsQuestion(question) => payload.with("question", *question),
        Advice::Answer(answer) => payload.with("answer", answer.as_str()),
        Advice::NoAnswer => payload.with("answer", serde_json::Value::Null),
        Advice::Absorb { prompt } => payload.with("action", "absorb").with("prompt", prompt.as_str()),
        Advice::Retry { reason } => payload.with("action", "retry").with("reason", reason.as_str()),
        Advice::Unresolvable { reason } => payload
            .with("action", "unresolvable")
            .with("reason", reason.as_str()),
        Advice::Approve => payload.with("decision", "approve"),
        Advice::Reject { reason } => payload.with("decision", "reject").with("reason", reason.as_str()),
        Advice::Undecided { reason } => payload
            .with("decision", "undecided")
            .with("reason", reason.as_str()),
        Advice::Unreadable { .. } => payload,
    }
}
