//! What is told of turns.

use crate::domain::TurnId;
use crate::engine::{Exit, TurnEvent};

use super::expander::EventExpander;
use super::payload::{Payload, file, payload, tool_ledger, turn_files};

impl EventExpander {
    /// What is told of a turn.
    pub(super) fn turn_details(&self, turn: TurnId, of: &TurnEvent) -> Payload {
        let told = self.turn(turn);
        let agent = self.agent_name(self.plan.task(turn.task).agent);
        match of {
            TurnEvent::Started { prompt } => payload!(told; "agentName": agent, "promptDigest": prompt),
            TurnEvent::RequestFailed {
                class,
                message,
                not_before,
                of,
                ..
            } => payload!(told.failure(*class, Some(message));
                "notBefore": not_before.to_rfc3339(),
                "maxRequests": (*of > 0).then_some(of),
            ),
            TurnEvent::Finished {
                exit,
                output,
                stderr,
                result,
                duration,
                usage,
                model,
                files,
                tool_calls,
                tools,
                asked: _,
                session,
                denied,
            } => {
                let Exit {
                    code,
                    signal,
                    failure,
                    message,
                    retry_after,
                } = exit;
                let denials = || denied.iter().map(ToString::to_string).collect::<Vec<_>>();
                let told = payload!(told; "agentName": agent, "exitCode": code, signal, duration, model);
                let told = payload!(told.usage(usage);
                    "output": output.as_ref().map(file),
                    "stderr": stderr.as_ref().map(file),
                    "resultFile": result.as_ref().map(file),
                    "files": files.as_ref().map(turn_files),
                    "session": session.as_deref().map(|session| session.id.to_string()),
                    "denied": (!denied.is_empty()).then(denials),
                    "toolCalls": tool_calls.map(|calls| calls.calls),
                    "tools": tools.as_deref().map(tool_ledger),
                    "retryAfterMs": retry_after,
                );
                match failure {
                    Some(class) => told.failure(*class, message.as_deref()),
                    None => told,
                }
            }
            _ => told,
        }
    }
}
