//! Asking a model over HTTP, whatever protocol it speaks.
//!
//! What a protocol makes different (bodies, replies, errors) is one small file each; sending, time-outs, limits, classes
//! of failure and the hiding of secrets are here, once.
//!
//! Written on reqwest itself rather than on a provider library, because judging needs what such libraries smooth over:
//! the model as returned and nothing where the body names none, answers of bounded size, and missing usage as unknown
//! rather than zero. One call is one request: no retry, no fallback, no second question hides in here.
//!
//! | file | what |
//! |---|---|
//! | `ends` | ends of replies: whole, cut at a limit, or none of a reply |
//! | `refusals` | what of a request a provider refuses |

use std::time::{Duration, Instant};

use reqwest::header::{HeaderMap, RETRY_AFTER};
use reqwest::{Client, Response, StatusCode};
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use rules::domain::{FailureClass, Millis, Timestamp};
use rules::judging::parser::json::Json;
use rules::mission::model::Agent;

use super::cassette::RecordedQuestion;
use super::endpoint::{self, Endpoint};
use super::failure::{self, ErrorAnswer, Moment, classify_answer, of_transport, wait_in_text};
use super::transport::Transport;
use refusals::{refuses_schema, refuses_tools};

pub(super) use refusals::{ProviderError, RequestPart};

/// Bytes of an answer that are read.
pub const MAX_ANSWER: usize = 8 * 1024 * 1024;

/// Characters of a provider's error message that are kept.
const MAX_MESSAGE: usize = 500;

/// One question to a model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelRequest {
    /// The system prompt: the role of the model.
    pub system: Option<String>,
    /// The question, which is the user's message.
    pub prompt: String,
    /// Pictures that belong to the question, in their order.
    pub images: Vec<Image>,
    /// The JSON Schema that the reply must keep to, where the provider can enforce one.
    pub schema: Option<Value>,
    /// The sampling temperature; `None` leaves it to the provider.
    pub temperature: Option<Decimal>,
    /// Tokens that the reply may have.
    pub max_tokens: Option<u32>,
    /// How long request and reply may take together.
    pub timeout: Duration,
}

impl ModelRequest {
    /// A question to an agent, as its definition would have it asked.
    pub fn to(agent: &Agent, prompt: impl Into<String>, timeout: Millis) -> Self {
        Self {
            prompt: prompt.into(),
            temperature: agent.temperature,
            max_tokens: agent.max_tokens,
            timeout: timeout.as_duration(),
            ..Self::default()
        }
    }
}

/// A picture for a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Image {
    /// The media type: `image/png` or `image/jpeg`.
    pub media_type: &'static str,
    /// The bytes in base64.
    pub data: String,
}

impl Image {
    /// Makes a picture from its bytes.
    pub fn of(media_type: &'static str, bytes: &[u8]) -> Self {
        use base64::Engine as _;
        Self { media_type, data: base64::engine::general_purpose::STANDARD.encode(bytes) }
    }
}

/// The reply of a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelReply {
    /// The text; empty when the provider sent none.
    pub text: String,
    /// The model that the provider says it used. Never filled in from the request.
    pub model: Option<String>,
    /// The usage of the request.
    pub usage: ModelUsage,
    /// Why the reply ended, in the provider's word: `stop`, `length`, `content_filter` …
    pub finish_reason: Option<String>,
    /// Tools that the model wants to be used before it goes on.
    pub calls: Vec<ToolCall>,
    /// The reply as the provider sent it: some want to see it again unchanged. Null without calls.
    pub said: Value,
}

/// A tool that a model may ask for.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    pub name: &'static str,
    /// The description of the tool for the model.
    pub description: &'static str,
    /// The JSON Schema of the arguments.
    pub parameters: Value,
}

/// A model's wish to use a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The provider's name for the call; empty where it has none.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// The arguments; null where they are no JSON.
    pub arguments: Value,
}

/// The result of a tool call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolResult {
    /// The text for the model.
    pub text: String,
    /// Whether the call was refused or failed.
    pub failed: bool,
    /// Why, in plain words, however the text that the model is told is wrapped.
    pub why: Option<String>,
    /// The exit code of a command that ran to its end; `None` for every other call.
    pub exit: Option<i32>,
    /// The class of the failure of a call that was begun and came to nothing; `None` for every other one.
    pub class: Option<FailureClass>,
}

impl ToolResult {
    /// The result of a call that gave a text.
    pub fn given(text: impl Into<String>) -> Self {
        Self { text: text.into(), failed: false, why: None, exit: None, class: None }
    }

    /// Why a call gave nothing.
    pub fn refused(why: impl Into<String>) -> Self {
        let why = why.into();
        Self { failed: true, why: Some(why.clone()), ..Self::given(why) }
    }
}

/// One reply that asked for tools, with what they gave.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolExchange {
    /// The reply as the provider sent it.
    pub said: Value,
    /// The tool calls, each with its result.
    pub calls: Vec<(ToolCall, ToolResult)>,
}

/// A conversation with tools: what may be used, and what was said since the first question.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Dialogue {
    /// Tools that the model may ask for, or might until now.
    pub tools: Vec<ToolSpec>,
    /// Whether the model must reply now, without any tool.
    pub must_reply: bool,
    /// The exchanges so far, the oldest first.
    pub exchanges: Vec<ToolExchange>,
}

impl ModelReply {
    /// Whether the reply ended because it ran into its limit, so that its end is missing.
    pub fn is_cut_short(&self) -> bool {
        ends::is_cut_short(self.finish_reason.as_deref())
    }
}

/// Tokens as the provider counted them. Missing or negative counts are unknown, never free (semantics, section 19).
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelUsage {
    /// Tokens of the question.
    pub input_tokens: Option<u64>,
    /// Tokens of the reply.
    pub output_tokens: Option<u64>,
}

/// The reading of a body with a status of success.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ResponseBody {
    /// A reply, whose text may be empty.
    Reply(ModelReply),
    /// An answer of the right form without a reply in it: a refusal, a block, no candidate. Never an empty success.
    Declined(String),
    /// Something else: an error, or a page.
    NotAReply,
}

/// Why there is no reply.
#[derive(Debug, Clone, PartialEq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[error("{message}")]
pub struct ModelError {
    /// The class of the failure: decides about retries.
    pub class: FailureClass,
    /// The HTTP status, where there was an answer.
    pub status: Option<u16>,
    /// How long the provider asks to be left alone.
    #[serde(skip)]
    pub retry_after: Option<Millis>,
    /// For people: cut to one short line, without secrets.
    pub message: String,
    /// The provider refused the schema, not the question: the same request without a schema may work.
    pub schema_unsupported: bool,
    /// The provider refused the tools that were offered: the same request without them may work.
    #[serde(default)]
    pub tools_unsupported: bool,
    /// The provider refused this part of the request: the same without it may work.
    #[serde(skip)]
    pub(super) refused: Option<RequestPart>,
    /// No connection was made, so nothing was asked.
    #[serde(skip)]
    pub unsent: bool,
    /// Whether the failure is on this side: the provider was never asked, or its reply is lost here.
    #[serde(skip)]
    pub ours: bool,
}

impl ModelError {
    /// A failure on this side of the request.
    pub fn here(message: impl Into<String>) -> Self {
        Self { ours: true, ..Self::new(FailureClass::Unknown, None, message) }
    }

    pub(super) fn new(class: FailureClass, status: Option<u16>, message: impl Into<String>) -> Self {
        Self {
            class,
            status,
            retry_after: None,
            message: message.into(),
            schema_unsupported: false,
            tools_unsupported: false,
            refused: None,
            unsent: false,
            ours: false,
        }
    }

    /// Whether our own timer ended the wait for an answer: how far the provider came is not known.
    pub fn is_our_timer(&self) -> bool {
        self.class == FailureClass::Timeout && self.status.is_none() && !self.unsent
    }
}

/// Asks a model once. `now` is what a Retry-After date is measured against.
///
/// # Errors
/// When no complete, well-formed reply came back.
pub async fn complete(
    line: &Transport,
    endpoint: &Endpoint,
    request: &ModelRequest,
    now: Timestamp,
) -> Result<ModelReply, ModelError> {
    converse_once(line, endpoint, request, &Dialogue::default(), now).await
}

/// Asks for a reply by a schema, and once more without one where the provider knows none. That is no failure of
/// the model, and the prompt spells the form out anyway.
///
/// # Errors
///
/// As [`complete`].
pub async fn complete_by_schema(
    line: &Transport,
    endpoint: &Endpoint,
    request: &mut ModelRequest,
) -> Result<ModelReply, ModelError> {
    let reply = complete(line, endpoint, request, Timestamp::now()).await;
    if request.schema.is_none() || !matches!(&reply, Err(error) if error.schema_unsupported) {
        return reply;
    }
    if let Err(error) = &reply {
        endpoint.leave_out(RequestPart::Schema, &error.message);
    }
    request.schema = None;
    complete(line, endpoint, request, Timestamp::now()).await
}

/// Makes one request of a conversation and reads one reply, which may ask for tools.
///
/// # Errors
///
/// When no complete, well-formed reply came back.
pub async fn converse_once(
    line: &Transport,
    endpoint: &Endpoint,
    request: &ModelRequest,
    dialogue: &Dialogue,
    now: Timestamp,
) -> Result<ModelReply, ModelError> {
    let question = || RecordedQuestion::of(endpoint, request, dialogue);
    let reply = match line {
        Transport::Direct(client) => ask(client, endpoint, request, dialogue, now).await,
        Transport::Recording(client, tape) => {
            let result = ask(client, endpoint, request, dialogue, now).await;
            tape.record(question(), result).await
        }
        Transport::Recorded(tape) => tape.replay(question()).await,
    }?;
    match ends::fault(reply.finish_reason.as_deref(), endpoint.protocol.good_ends) {
        None => Ok(reply),
        Some((class, how)) => {
            let message = presentable(endpoint, &format!("the reply of {} {how}", host(endpoint)));
            Err(ModelError::new(class, Some(200), message))
        }
    }
}

/// Asks without what the model was seen to refuse, and once more without each part that it refuses now: a refusal is no answer.
async fn ask(
    client: &Client,
    endpoint: &Endpoint,
    request: &ModelRequest,
    dialogue: &Dialogue,
    now: Timestamp,
) -> Result<ModelReply, ModelError> {
    let end = Instant::now() + request.timeout;
    loop {
        let request = ModelRequest {
            timeout: end.saturating_duration_since(Instant::now()),
            ..endpoint.as_taken(request)
        };
        match ask_once(client, endpoint, &request, dialogue, now).await {
            Err(ModelError { refused: Some(part), message, .. }) => endpoint.leave_out(part, &message),
            answer => return answer,
        }
    }
}

async fn ask_once(
    client: &Client,
    endpoint: &Endpoint,
    request: &ModelRequest,
    dialogue: &Dialogue,
    now: Timestamp,
) -> Result<ModelReply, ModelError> {
    let has_new_name = endpoint.takes_new_limit();
    let body = (endpoint.protocol.body)(&endpoint.model, has_new_name, request, dialogue);
    let sent = client
        .post(endpoint.url.clone())
        .headers(endpoint.headers().clone())
        .timeout(request.timeout)
        .json(&body)
        .send()
        .await;
    let response = sent.map_err(|error| transport_error(endpoint, error, None))?;
    let status = response.status();
    let retry_after = retry_after(response.headers(), now);
    let answer = read_bounded(endpoint, response).await?;
    let answer = answer.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&answer);
    let body = serde_json::from_slice(answer).unwrap_or(Value::Null);
    // An error may stand beside a reply, or in it.
    let choice = [&body["choices"][0], &body["candidates"][0]];
    let within = [choice[0], choice[1], &choice[0]["message"], &body["message"]];
    let told = within.into_iter().find(|part| tells_error(part));
    let told = told.filter(|_| !tells_error(&body)).unwrap_or(&body);
    if status.is_success() {
        let unread = |why: String| {
            let message = presentable(endpoint, &why);
            ModelError::new(FailureClass::Unknown, Some(status.as_u16()), message)
        };
        if let Some(why) = is_doubtful(status, answer) {
            return Err(unread(format!("the answer of {} {why}", host(endpoint))));
        }
        match (endpoint.protocol.answer)(&body) {
            // Whatever else it says, it says that it failed.
            _ if tells_error(told) => {}
            ResponseBody::Reply(mut reply) => {
                if reply.calls.is_empty() {
                    reply.said = Value::Null;
                }
                return Ok(without_secrets(endpoint, reply));
            }
            ResponseBody::Declined(why) => {
                return Err(unread(format!("{}: {why}", host(endpoint))));
            }
            ResponseBody::NotAReply => {}
        }
    }
    let mut error = error_of(endpoint, request, status.as_u16(), told);
    // Once it has taken them, a refusal is about something else.
    let offers = !dialogue.tools.is_empty() && !dialogue.must_reply && dialogue.exchanges.is_empty();
    error.tools_unsupported &= offers;
    error.retry_after = retry_after.or(error.retry_after);
    if error.class == FailureClass::UsageWindow && error.retry_after.is_none() {
        error.retry_after = wait_in_text(&error.message, Moment::utc(now));
    }
    Err(error)
}

/// Why an answer with a status of success cannot be read as one: a part of it is missing, or it says two things at once.
fn is_doubtful(status: StatusCode, answer: &[u8]) -> Option<String> {
    if status == StatusCode::PARTIAL_CONTENT {
        return Some("is only a part of one (HTTP 206)".to_owned());
    }
    let answer: Json = serde_json::from_slice(answer).ok()?;
    let key = answer.key_twice()?;
    Some(format!("says two things at once: the key '{key}' stands twice in one object"))
}

/// Whether a body calls itself an error.
fn tells_error(body: &Value) -> bool {
    match &body["error"] {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        _ => true,
    }
}

/// A reply without the endpoint's own key: some providers repeat it.
fn without_secrets(endpoint: &Endpoint, mut reply: ModelReply) -> ModelReply {
    let secrets = endpoint.secrets();
    secrets.redact_in(&mut reply.text);
    if let Some(model) = &mut reply.model {
        secrets.redact_in(model);
    }
    for call in &mut reply.calls {
        secrets.redact_value(&mut call.arguments);
    }
    secrets.redact_value(&mut reply.said);
    reply
}

/// Reads the whole answer, but no more than [`MAX_ANSWER`] bytes of it. Of an error the status is enough.
async fn read_bounded(endpoint: &Endpoint, mut response: Response) -> Result<Vec<u8>, ModelError> {
    let status = response.status().as_u16();
    let mut answer = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) if answer.len() + chunk.len() > MAX_ANSWER && !response.status().is_success() => {
                return Ok(answer);
            }
            Ok(Some(chunk)) if answer.len() + chunk.len() > MAX_ANSWER => {
                let message = format!("the answer is longer than {MAX_ANSWER} bytes");
                return Err(ModelError::new(FailureClass::Unknown, Some(status), message));
            }
            Ok(Some(chunk)) => answer.extend_from_slice(&chunk),
            Ok(None) => return Ok(answer),
            Err(error) => return Err(transport_error(endpoint, error, Some(status))),
        }
    }
}

/// The failure that an answer describes. Some gateways send errors with status 200 and the true status in the body.
fn error_of(endpoint: &Endpoint, request: &ModelRequest, http_status: u16, body: &Value) -> ModelError {
    // Some servers wrap the error in a list.
    let told = (endpoint.protocol.error_in)(body.get(0).unwrap_or(body));
    let status = match told.status {
        Some(told) if http_status == 200 => told,
        _ => http_status,
    };
    let answer = ErrorAnswer { status, codes: &told.codes, message: told.message };
    let host = host(endpoint);
    let shown = match told.message {
        "" if status == 200 => format!("the answer of {host} is not {}", endpoint.protocol.reply_name),
        "" => format!("HTTP {status} from {host}"),
        message => format!("HTTP {status} from {host}: {message}"),
    };
    let class = classify_answer(&answer);
    let is_refusal = class == FailureClass::Unknown && matches!(status, 400 | 404 | 422 | 501);
    let has_old_name = endpoint.protocol.name == "openai" && !endpoint.takes_new_limit();
    let has_limit = request.max_tokens.is_some();
    let sent =
        [has_limit && has_old_name, has_limit, request.temperature.is_some(), request.system.is_some()];
    let refused = || RequestPart::refused(sent, &told);
    ModelError {
        refused: is_refusal.then(refused).flatten(),
        retry_after: told.retry_after,
        schema_unsupported: request.schema.is_some()
            && refuses_schema(endpoint.protocol.schema_words, status, &told),
        tools_unsupported: refuses_tools(status, &told),
        ..ModelError::new(class, Some(status), presentable(endpoint, &shown))
    }
}

fn transport_error(endpoint: &Endpoint, error: reqwest::Error, status: Option<u16>) -> ModelError {
    let unsent = error.is_connect();
    let (class, message) = of_transport(&host(endpoint), error);
    ModelError { unsent, ..ModelError::new(class, status, presentable(endpoint, &message)) }
}

/// The host that the requests go to.
fn host(endpoint: &Endpoint) -> String {
    endpoint::host(&endpoint.url, "the provider")
}

/// One line without secrets, cut to size.
fn presentable(endpoint: &Endpoint, message: &str) -> String {
    failure::presentable(message, endpoint.secrets(), MAX_MESSAGE)
}

/// The text of a field; `None` where it is missing, empty or something else.
pub(super) fn non_empty(value: &Value) -> Option<String> {
    value.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

/// The text of a field; nothing where it is missing or something else.
pub(super) fn string(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The words of an error: its message, or the error itself.
pub(super) fn error_message(error: &Value) -> &str {
    error["message"].as_str().or(error.as_str()).unwrap_or_default()
}

/// The request's temperature as JSON.
pub(super) fn temperature(request: &ModelRequest) -> Option<Value> {
    request.temperature?.to_f64().map(|temperature| json!(temperature))
}

/// Milliseconds from a number of seconds that may have a fraction.
pub(super) fn millis_of(seconds: &str) -> Option<Millis> {
    let seconds: Decimal = seconds.parse().ok()?;
    Some(Millis(seconds.checked_mul(1000.into())?.to_u64()?))
}

/// How long the provider asks to be left alone: milliseconds, seconds or an HTTP date.
pub(super) fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Millis> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    if let Some(ms) = text("retry-after-ms").and_then(|text| text.parse().ok()) {
        return Some(Millis(ms));
    }
    let text = text(RETRY_AFTER.as_str())?;
    if text.parse::<Decimal>().is_ok() {
        return millis_of(text);
    }
    let at = httpdate::parse_http_date(text).ok()?;
    let since_epoch = at.duration_since(std::time::UNIX_EPOCH).ok()?;
    Some(Timestamp(Millis::from(since_epoch).0).since(now))
}

mod ends;
mod refusals;

#[cfg(test)]
mod protocol_tests;
#[cfg(test)]
pub(super) mod tests;
