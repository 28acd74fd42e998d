//! What is told of turns.

use crate::domain::TurnId;
use crate::engine::{Exit, TurnEvent};

use super::expander::EventExpander;
use super::payload::{Payload, file, tool_ledger, turn_files};

impl EventExpander {
    /// What is told of a turn.
    pub(super) fn turn_details(&self, turn: TurnId, of: &TurnEvent) -> Payload {
        let told = self.turn(turn);
        let agent = self.agent_name(self.plan.task(turn.task).agent);
        match of {
            TurnEvent::Started { prompt } => told
                .with("agentName", agent)
                .maybe("promptDigest", prompt.map(|digest| digest.to_string())),
            TurnEvent::RequestFailed {
                class,
                message,
                not_before,
                of,
                ..
            } => told
                .failure(*class, Some(message))
                .with("notBefore", not_before.to_rfc3339())
                .maybe("maxRequests", (*of > 0).then_some(*of)),
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
                let told = told
                    .with("agentName", agent)
                    .maybe("exitCode", *code)
                    .maybe("signal", *signal)
                    .with("duration", duration.0)
                    .maybe("model", model.as_deref())
                    .usage(usage)
                    .maybe("output", output.as_ref().map(file))
                    .maybe("stderr", stderr.as_ref().map(file))
                    .maybe("resultFile", result.as_ref().map(file))
                    .maybe("files", files.as_ref().map(turn_files))
                    .maybe(
                        "session",
                        session.as_deref().map(|session| session.id.to_string()),
                    )
                    .maybe(
                        "denied",
                        (!denied.is_empty())
                            .then(|| denied.iter().map(ToString::to_string).collect::<Vec<_>>()),
                    )
                    .maybe("toolCalls", tool_calls.map(|calls| calls.calls))
                    .maybe("tools", tools.as_deref().map(tool_ledger))
                    .maybe("retryAfterMs", retry_after.map(|pause| pause.0));
                match failure {
                    Some(class) => told.failure(*class, message.as_deref()),
                    None => told,
                }
            }
            _ => told,
        }
    }
}
