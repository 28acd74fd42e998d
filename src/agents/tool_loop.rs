//! A model that may look before it answers: it asks for tools, gets their results, and in the end gives its reply.
//!
//! Bounded in every direction: calls, rounds, bytes handed over, time. A model that has used them up must reply
//! without them, and what it says then is its reply. One request is never repeated here; a request that fails ends the
//! conversation, and whether all of it is tried again is decided elsewhere.

use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;
use serde_json::Value;

use crate::domain::{Digest, Timestamp};

use super::endpoint::Endpoint;
use super::line::Line;
use super::model::{
    Dialogue, Exchange, ModelError, ModelReply, ModelRequest, ToolCall, ToolResult, Usage, say,
};
use super::tools::{Toolbox, brief};

/// Replies that may ask for tools.
const MOST_ROUNDS: usize = 16;
/// Calls in all.
const MOST_CALLS: usize = 48;
/// Bytes of results in all.
const MOST_BYTES: usize = 512 * 1024;

/// One call, as it goes on record.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolRecord {
    /// The tool, as the model named it.
    pub tool: String,
    /// Its arguments, long texts cut.
    pub arguments: Value,
    /// Whether it was refused or failed.
    pub failed: bool,
    /// Bytes of the result.
    pub bytes: usize,
    /// What the model was given.
    pub digest: Digest,
}

/// A conversation that came to its end.
#[derive(Debug, Clone, PartialEq)]
pub struct Conversation {
    /// The last reply; its usage is that of all requests.
    pub reply: ModelReply,
    /// What was done with tools, in order.
    pub ledger: Vec<ToolRecord>,
    /// Requests that were made.
    pub requests: u32,
}

/// Asks a model that may use tools. The request's time-out holds for the whole conversation.
///
/// # Errors
/// When a request fails, or time runs out.
pub async fn converse(
    line: &Line,
    endpoint: &Endpoint,
    request: &ModelRequest,
    toolbox: Arc<Toolbox>,
) -> Result<Conversation, ModelError> {
    let end = Instant::now() + request.timeout;
    let mut dialogue = Dialogue {
        tools: toolbox.specs(),
        ..Dialogue::default()
    };
    let mut done = Progress::default();
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let timed = ModelRequest {
            timeout: left,
            // A form that the reply must keep to and tools shut each other out with most providers. The prompt spells
            // the form out, and a reply that does not keep to it is asked for again without tools.
            schema: None,
            ..request.clone()
        };
        let mut reply = say(line, endpoint, &timed, &dialogue, Timestamp::now()).await?;
        done.count(&reply.usage);
        if reply.calls.is_empty() || dialogue.must_reply {
            reply.usage = done.usage.unwrap_or_default();
            return Ok(Conversation {
                reply,
                ledger: done.ledger,
                requests: done.requests,
            });
        }
        let exchange = done.use_tools(&toolbox, reply).await;
        dialogue.exchanges.push(exchange);
        dialogue.must_reply = done.is_used_up(dialogue.exchanges.len());
    }
}

#[derive(Default)]
struct Progress {
    ledger: Vec<ToolRecord>,
    usage: Option<Usage>,
    requests: u32,
    bytes: usize,
}

impl Progress {
    /// Adds what a request used. One that does not say makes the sum unknown: it is never free.
    fn count(&mut self, usage: &Usage) {
        self.requests += 1;
        let sum = |a: Option<u64>, b: Option<u64>| a?.checked_add(b?);
        self.usage = Some(match self.usage {
            None => *usage,
            Some(so_far) => Usage {
                input_tokens: sum(so_far.input_tokens, usage.input_tokens),
                output_tokens: sum(so_far.output_tokens, usage.output_tokens),
            },
        });
    }

    fn is_used_up(&self, rounds: usize) -> bool {
        rounds >= MOST_ROUNDS || self.ledger.len() >= MOST_CALLS || self.bytes >= MOST_BYTES
    }

    async fn use_tools(&mut self, toolbox: &Arc<Toolbox>, reply: ModelReply) -> Exchange {
        let mut calls = Vec::with_capacity(reply.calls.len());
        for call in reply.calls {
            // Every call that was asked for is answered, or providers refuse what follows.
            let result = if self.is_used_up(0) {
                refused("no more tool calls are allowed; give your reply")
            } else {
                perform(toolbox, &call).await
            };
            self.bytes += result.text.len();
            self.ledger.push(ToolRecord {
                tool: call.name.clone(),
                arguments: brief(&call.arguments),
                failed: result.failed,
                bytes: result.text.len(),
                digest: Digest::of(result.text.as_bytes()),
            });
            calls.push((call, result));
        }
        Exchange {
            said: reply.said,
            calls,
        }
    }
}

/// Files are read on a thread of their own: the loop never waits for a disk.
async fn perform(toolbox: &Arc<Toolbox>, call: &ToolCall) -> ToolResult {
    let (toolbox, call) = (Arc::clone(toolbox), call.clone());
    let performed = tokio::task::spawn_blocking(move || toolbox.call(&call)).await;
    performed.unwrap_or_else(|_| refused("the tool broke off"))
}

fn refused(why: &str) -> ToolResult {
    ToolResult {
        text: why.to_owned(),
        failed: true,
    }
}

#[cfg(test)]
mod tests;
