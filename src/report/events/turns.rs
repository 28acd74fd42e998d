//! Public events and payloads of turns.

use crate::domain::{FailureClass, TurnId};
use crate::engine::{Event, Exit, TurnEvent};

use super::explode::{Exploder, Named};
use super::payload::{Payload, file, tool_ledger, turn_files};

impl Exploder {
    /// The public events of a turn.
    pub(super) fn turn_event(&mut self, event: &Event) -> Vec<Named> {
        match event {
            Event::Turn(turn, TurnEvent::Spawned { process }) => vec![(
                "agent:spawned",
                self.turn(*turn)
                    .with("agentName", self.agent_name(self.plan.task(turn.task).agent))
                    .with("taskTitle", &*self.plan.task(turn.task).title)
                    .maybe("pid", process.as_ref().map(|process| process.pid)),
            )],
            Event::Turn(turn, TurnEvent::Activity { summary }) => vec![(
                "agent:activity",
                self.turn(*turn)
                    .with("agentName", self.agent_name(self.plan.task(turn.task).agent))
                    .with("summary", summary.as_str()),
            )],
            Event::Turn(turn, TurnEvent::Finished { exit, .. }) => {
                let mut named = self.work_event(event, &[]);
                if exit.failure == Some(FailureClass::Timeout) {
                    named.push(("task:timeout", self.timeout(*turn, event)));
                }
                named
            }
            Event::Turn(turn, TurnEvent::FilesNoted { file: record, .. }) => {
                vec![("files:noted", self.turn(*turn).with("record", file(record)))]
            }
            _ => self.work_event(event, &[]),
        }
    }

    /// What is told of a turn.
    pub(super) fn turn_details(&self, event: &Event) -> Payload {
        match event {
            Event::Turn(turn, TurnEvent::Started { prompt }) => self
                .turn(*turn)
                .with("agentName", self.agent_name(self.plan.task(turn.task).agent))
                .maybe("promptDigest", prompt.map(|digest| digest.to_string())),
            Event::Turn(
                turn,
                TurnEvent::RequestFailed {
                    class,
                    message,
                    not_before,
                    of,
                    ..
                },
            ) => self
                .turn(*turn)
                .failure(*class, Some(message))
                .with("notBefore", not_before.to_rfc3339())
                .maybe("maxRequests", (*of > 0).then_some(*of)),
            Event::Turn(_, TurnEvent::Finished { .. }) => self.turn_finished(event),
            Event::Turn(turn, TurnEvent::Lost | TurnEvent::Adopted) => self.turn(*turn),
            _ => unreachable!("details() sends only a turn's events here"),
        }
    }

    fn turn_finished(&self, event: &Event) -> Payload {
        let Event::Turn(
            turn,
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
            },
        ) = event
        else {
            unreachable!("called for the end of a turn");
        };
        let Exit {
            code,
            signal,
            failure,
            message,
            retry_after,
        } = exit;
        let payload = self
            .turn(*turn)
            .with("agentName", self.agent_name(self.plan.task(turn.task).agent))
            .maybe("exitCode", *code)
            .maybe("signal", *signal)
            .with("duration", duration.0)
            .maybe("model", model.as_deref())
            .usage(usage)
            .maybe("output", output.as_ref().map(file))
            .maybe("stderr", stderr.as_ref().map(file))
            .maybe("resultFile", result.as_ref().map(file))
            .maybe("files", files.as_ref().map(turn_files))
            .maybe("toolCalls", tool_calls.map(|calls| calls.calls))
            .maybe("tools", tools.as_deref().map(tool_ledger))
            .maybe("retryAfterMs", retry_after.map(|pause| pause.0));
        match failure {
            Some(class) => payload.failure(*class, message.as_deref()),
            None => payload,
        }
    }

    fn timeout(&self, turn: TurnId, event: &Event) -> Payload {
        let elapsed = match event {
            Event::Turn(_, TurnEvent::Finished { duration, .. }) => duration.0,
            _ => 0,
        };
        self.task(turn.task)
            .with("elapsed", elapsed)
            .with("timeout", self.plan.task(turn.task).turn_timeout.0)
    }
}
