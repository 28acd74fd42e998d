//! A model that may look before it answers: it asks for tools, gets their results, and in the end gives its reply.
//!
//! Bounded in every direction: calls, rounds, bytes said on either side, time. A model that wants more than that must
//! reply without; what it says then is its reply, and the conversation says that it did not end by itself. The first
//! request is never repeated here, for nothing is lost with it; a later one is, within the bounds of section 13, because
//! what was done until then is not done twice.

use std::future::Future;
use std::io;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::Value;
use serde_with::skip_serializing_none;

use crate::test_clock::scaled;
use rules::domain::{Digest, FailureClass, Timestamp};
use rules::engine::{FailedTry, Retry, Tries, WorkKind, policy};

use super::endpoint::Endpoint;
use super::model::{
    Dialogue, ModelError, ModelReply, ModelRequest, ModelUsage, RequestPart, ToolCall, ToolExchange,
    ToolResult, ToolSpec, converse_once,
};
use super::tools::brief;
use super::transport::Transport;

/// How much longer than the conversation a tool may take.
const GRACE: Duration = Duration::from_secs(5);
/// Characters of a refusal that are kept.
const LONGEST_WHY: usize = 300;
/// Characters of a tool's name that are kept. A model may ask for anything.
const LONGEST_NAME: usize = 100;

/// The limits of a conversation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Replies that may ask for tools.
    pub rounds: usize,
    /// The most tool calls in all.
    pub calls: usize,
    /// Bytes that the model says when it asks for tools, and that it is given, in all.
    pub bytes: usize,
}

impl Limits {
    /// The limits of a conversation that only looks.
    pub const REVIEWER: Self = Self { rounds: 16, calls: 48, bytes: 512 * 1024 };
    /// The limits of a conversation that works.
    pub const WORKER: Self = Self { rounds: 120, calls: 400, bytes: 8 * 1024 * 1024 };
}

/// The tools that a model may use, and the place where their use goes on record.
pub trait ToolHost: Sync {
    /// The descriptions of the tools.
    fn specs(&self) -> Vec<ToolSpec>;
    /// Takes in the results for the model, before the request that carries them (hook `beforeModel`).
    fn before_model(&self, _: &mut [(ToolCall, ToolResult)]) {}
    /// Takes in a reply of the model; `is_last`: it asks for no tool, so the conversation ends with it (hook
    /// `afterModel`).
    fn after_model(&self, _: &ModelReply, _is_last: bool) {}
    /// Performs one tool call.
    fn perform(&self, call: &ToolCall) -> impl Future<Output = ToolResult> + Send;
    /// Takes a call on record, once it was made or refused.
    fn note(&self, record: ToolRecord) -> impl Future<Output = ()> + Send;
    /// Whether a reply has the form that was asked for; else it is asked for once more, without tools, by schema.
    fn has_form(&self, _reply: &str) -> bool {
        true
    }
    /// Takes a reply on record that lacked its form and does not count.
    fn set_aside(&self, reply: &str) -> impl Future<Output = ()> + Send;
}

/// One call, as it goes on record.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolRecord {
    /// The moment of the call.
    pub at: String,
    /// The tool, as the model named it.
    pub tool: String,
    /// The arguments, long texts cut.
    pub arguments: Value,
    /// Whether the call was refused or failed.
    pub failed: bool,
    pub why: Option<String>,
    /// The exit code of a command that ran to its end; `None` for every other call.
    pub exit: Option<i32>,
    /// Bytes of the result.
    pub bytes: usize,
    /// The digest of the text that the model was given.
    pub digest: Digest,
    /// The time that the call took, in milliseconds.
    pub took_ms: u64,
}

/// The usage of a conversation so far.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ConversationUsage {
    /// The tokens of all requests that were answered. A request that does not say makes the sum unknown: it is
    /// never free.
    pub usage: ModelUsage,
    /// Requests that were answered.
    pub requests: u32,
    /// Requests that were made in vain.
    pub unanswered: u32,
    /// The number of tool calls.
    pub calls: usize,
    bytes: usize,
}

/// A conversation that came to its end.
#[derive(Debug, Clone, PartialEq)]
pub struct Conversation {
    /// The last reply; its usage is that of all requests.
    pub reply: ModelReply,
    /// The usage of the conversation.
    pub spent: ConversationUsage,
    /// Whether the provider held the last reply to the schema.
    pub by_schema: bool,
    /// Whether the model wanted more than its limits: it did not end by itself.
    pub used_up: bool,
}

/// A conversation that broke off.
#[derive(Debug, Clone, PartialEq)]
pub struct Broken {
    pub error: ModelError,
    /// The usage until the conversation broke off.
    pub spent: ConversationUsage,
}

/// Asks a model that may use tools. The request's time-out holds for the whole conversation.
///
/// # Errors
/// When a request fails for good, or time runs out.
pub async fn converse(
    line: &Transport,
    endpoint: &Endpoint,
    request: &ModelRequest,
    limits: Limits,
    host: &impl ToolHost,
) -> Result<Conversation, Broken> {
    let mut talk = Talk {
        line,
        endpoint,
        end: Instant::now() + request.timeout,
        request: ModelRequest {
            // A form that the reply must keep to and tools shut each other out with most providers: the form is asked
            // for once no tool may be used any more.
            schema: None,
            ..request.clone()
        },
        dialogue: Dialogue { tools: host.specs(), ..Dialogue::default() },
        spent: ConversationUsage::default(),
        used_up: false,
    };
    let broken = |error, talk: &Talk<'_>| Broken { error, spent: talk.spent };
    loop {
        let mut reply = talk.ask().await.map_err(|error| broken(error, &talk))?;
        let is_last = talk.dialogue.must_reply;
        host.after_model(&reply, reply.calls.is_empty() || is_last);
        if reply.calls.is_empty() || is_last {
            let lacks_form = !is_last && request.schema.is_some() && !host.has_form(&reply.text);
            if !lacks_form {
                reply.usage = talk.spent.usage;
                let spent = talk.spent;
                let by_schema = talk.request.schema.is_some();
                return Ok(Conversation { reply, spent, by_schema, used_up: talk.used_up });
            }
            host.set_aside(&reply.text).await;
            talk.dialogue.must_reply = true;
        } else {
            let mut exchange = talk.use_tools(limits, host, reply).await;
            host.before_model(&mut exchange.calls);
            talk.dialogue.exchanges.push(exchange);
            talk.dialogue.must_reply = talk.used_up;
        }
        if talk.dialogue.must_reply {
            talk.request.schema.clone_from(&request.schema);
        }
    }
}

struct Talk<'a> {
    line: &'a Transport,
    endpoint: &'a Endpoint,
    end: Instant,
    request: ModelRequest,
    dialogue: Dialogue,
    spent: ConversationUsage,
    /// Whether the model was denied a call that its limits do not allow.
    used_up: bool,
}

impl Talk<'_> {
    /// Makes one request and reads its reply.
    async fn ask(&mut self) -> Result<ModelReply, ModelError> {
        let mut tries = Tries::default();
        loop {
            self.request.timeout = self.end.saturating_duration_since(Instant::now());
            if self.request.timeout.is_zero() {
                // A provider that is quick enough would answer all the same.
                let message = "the time of the conversation is up";
                return Err(ModelError::new(FailureClass::Timeout, None, message));
            }
            let said =
                converse_once(self.line, self.endpoint, &self.request, &self.dialogue, Timestamp::now());
            let error = match said.await {
                Ok(reply) => {
                    self.count(&reply.usage);
                    return Ok(reply);
                }
                Err(error) => error,
            };
            self.spent.unanswered += 1;
            if self.request.schema.is_some() && error.schema_unsupported {
                // Not a failure: this endpoint does not know schemas. The prompt spells the form out anyway.
                self.endpoint.leave_out(RequestPart::Schema, &error.message);
                self.request.schema = None;
                continue;
            }
            let Some(pause) = self.pause_after(&error, tries) else {
                return Err(error);
            };
            tries.fail(None);
            tokio::time::sleep(pause).await;
        }
    }

    /// How long to wait before a request is made again; `None`: it is not.
    fn pause_after(&self, error: &ModelError, before: Tries) -> Option<Duration> {
        let is_first = self.dialogue.exchanges.is_empty();
        let jitter = u16::try_from(Timestamp::now().0 % 1001).unwrap_or(0);
        let failure = FailedTry::of(error.class, error.retry_after, jitter);
        let Retry::After { pause, .. } = failure.leads_to(policy(WorkKind::Turn), before) else {
            return None;
        };
        let pause = scaled(pause.as_duration());
        (!is_first && Instant::now() + pause < self.end).then_some(pause)
    }

    fn count(&mut self, usage: &ModelUsage) {
        let sum = |a: Option<u64>, b: Option<u64>| a?.checked_add(b?);
        let so_far = self.spent.usage;
        self.spent.usage = match self.spent.requests {
            0 => *usage,
            _ => ModelUsage {
                input_tokens: sum(so_far.input_tokens, usage.input_tokens),
                output_tokens: sum(so_far.output_tokens, usage.output_tokens),
            },
        };
        self.spent.requests += 1;
    }

    fn is_used_up(&self, limits: Limits) -> bool {
        self.dialogue.exchanges.len() >= limits.rounds
            || self.spent.calls >= limits.calls
            || self.spent.bytes >= limits.bytes
    }

    async fn use_tools(&mut self, limits: Limits, host: &impl ToolHost, reply: ModelReply) -> ToolExchange {
        let is_cut_short = reply.is_cut_short();
        self.spent.bytes += length(&reply.said);
        let mut calls = Vec::with_capacity(reply.calls.len());
        for call in reply.calls {
            let (at, begin) = (Timestamp::now(), Instant::now());
            // Every call that was asked for is answered, or providers refuse what follows.
            let result = if self.is_used_up(limits) {
                self.used_up = true;
                ToolResult::refused("no more tool calls are allowed; give your reply")
            } else if is_cut_short {
                // Its end is missing, and with it perhaps the end of what was to be written.
                ToolResult::refused(
                    "your reply was cut short at its limit, so this call was not made; say less at a time",
                )
            } else {
                // One that ends itself in time says more than one that is cut off.
                let left = self.end.saturating_duration_since(Instant::now()) + GRACE;
                let performed = tokio::time::timeout(left, host.perform(&call)).await;
                performed.unwrap_or_else(|_| ToolResult::refused("the time of the conversation is up"))
            };
            self.spent.bytes += result.text.len();
            self.spent.calls += 1;
            let record = ToolRecord {
                at: at.to_rfc3339(),
                tool: call.name.chars().take(LONGEST_NAME).collect(),
                arguments: brief(&call.arguments),
                failed: result.failed,
                why: result.why.as_ref().map(|why| why.chars().take(LONGEST_WHY).collect()),
                exit: result.exit,
                bytes: result.text.len(),
                digest: Digest::of(result.text.as_bytes()),
                took_ms: u64::try_from(begin.elapsed().as_millis()).unwrap_or(u64::MAX),
            };
            host.note(record).await;
            calls.push((call, result));
        }
        ToolExchange { said: reply.said, calls }
    }
}

/// Bytes of what a model said.
fn length(said: &Value) -> usize {
    struct Count(usize);
    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // A value is always JSON, and counting never fails.
    let _ = serde_json::to_writer(&mut count, said);
    count.0
}

#[cfg(test)]
mod tests;
