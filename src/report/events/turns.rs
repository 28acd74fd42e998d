//! What is told of turns.

use rules::{domain::TurnId, engine::TurnEvent};

use super::expander::EventExpander;
use super::payload::{Payload, payload};

impl EventExpander {
    /// The payload of an event about a turn.
    pub fn turn_details(&self, turn: TurnId, of: &TurnEvent) -> Payload {
        let told = self.turn(turn);
        let agent = self.agent_name(self.plan.task(turn.task).agent);
        match of {
            TurnEvent::Started(prompt) => {
                payload!(told; "agentName": agent, "promptDigest": prompt.digest)
            }
            TurnEvent::RequestFailed { class, message, not_before, of, .. } => {
                payload!(told.failure(*class, Some(message));
                    "notBefore": not_before.to_rfc3339(),
                    "maxRequests": (*of > 0).then_some(of),
                )
            }
            TurnEvent::Finished(end) => {
                let exit = &end.exit;
                let told = payload!(told;
                    "agentName": agent,
                    "exitCode": exit.code,
                    "signal": exit.signal,
                    "duration": end.duration,
                );
                let told = payload!(told.extend(self.told(end));
                    "session": end.session.as_deref().map(|session| &session.id),
                    "toolCalls": end.tool_calls.map(|calls| calls.calls),
                    "retryAfterMs": exit.retry_after,
                );
                match exit.failure {
                    Some(class) => told.failure(class, exit.message.as_deref()),
                    None => told,
                }
            }
            _ => told,
        }
    }
}
