//! What went wrong in a server, made out of the ways in which servers tell it.

use serde_json::Value;

use super::lines::{LONG_TEXT, ServerFailure, cut};
use super::wire::RpcError;

/// ACP: the agent needs a login first.
pub const AUTH_REQUIRED: i64 = -32000;
/// Where servers put their own word for an error.
const KINDS: [&str; 3] = ["errorKind", "codexErrorInfo", "errorName"];
/// The keys under which servers put the text of an error that they only call internal.
const DETAILS: [&str; 2] = ["details", "message"];
/// Words before the status of HTTP in a message.
const BEFORE_STATUS: [&str; 3] = ["API Error: ", "Request rejected (", "unexpected status "];

/// The failure that a JSON-RPC error tells.
pub fn of_error(error: &RpcError) -> ServerFailure {
    let details = DETAILS.iter().find_map(|key| error.data.get(key)?.as_str());
    let text = details.unwrap_or(&error.message);
    let mut failure = of_text(text.strip_prefix("Internal error: ").unwrap_or(text));
    failure.code = error.code;
    // gemini gives the status as the code.
    failure.status = error.code.and_then(as_status).or(failure.status);
    if let Some(told) = KINDS.iter().find_map(|key| error.data.get(key)) {
        failure.kind = word(told).or(failure.kind);
        failure.status = failure.status.or_else(|| nested_status(told));
    }
    if error.code == Some(AUTH_REQUIRED) && failure.status.is_none() {
        failure.kind.get_or_insert_with(|| "auth_required".to_owned());
    }
    failure
}

/// The failure that a text tells, which may be what a provider has sent: `{"error": {"message": …}}`.
pub fn of_text(text: &str) -> ServerFailure {
    let text = text.trim();
    let body: Option<Value> = serde_json::from_str(text).ok();
    let Some(error) = body.as_ref().and_then(|body| body.get("error")) else {
        return ServerFailure { status: status_in(text), ..ServerFailure::new(cut(text, LONG_TEXT)) };
    };
    let message = error["message"].as_str().unwrap_or(text);
    let code = &error["code"];
    ServerFailure {
        message: cut(message, LONG_TEXT),
        code: None,
        status: code.as_i64().and_then(as_status),
        kind: word(code),
    }
}

/// The word for a kind of error: a text, or the one key of an object.
fn word(kind: &Value) -> Option<String> {
    match kind {
        Value::String(text) => Some(text.clone()),
        Value::Object(object) => object.keys().next().cloned(),
        _ => None,
    }
}

/// Reads the status in `{"responseStreamDisconnected": {"httpStatusCode": 402}}`.
fn nested_status(info: &Value) -> Option<u16> {
    let inside = info.as_object()?.values().next()?;
    inside["httpStatusCode"].as_i64().and_then(as_status)
}

fn as_status(code: i64) -> Option<u16> {
    u16::try_from(code).ok().filter(|code| (400..600).contains(code))
}

/// A status at the beginning of a message, or after words that stand before one.
fn status_in(text: &str) -> Option<u16> {
    let after = BEFORE_STATUS.iter().filter_map(|words| text.split_once(words)).map(|(_, rest)| rest);
    after.chain([text]).find_map(|rest| {
        let digits = rest.get(..3)?;
        let is_number = !rest.get(3..)?.starts_with(|next: char| next.is_alphanumeric());
        digits.parse().ok().filter(|_| is_number).and_then(as_status)
    })
}

/// The messages of codex about its thread beside the protocol: failures end its turns with `end_turn`.
#[derive(Debug, Default)]
pub struct Codex {
    /// The server tells such things at all.
    is_told: bool,
    has_failed: bool,
    /// The words of the agent after it had failed.
    words: String,
    /// The last error that it tried to get over.
    error: ServerFailure,
}

impl Codex {
    /// Takes what a `session/update` tells.
    pub fn update(&mut self, update: &Value) {
        let Some(codex) = update["_meta"].get("codex") else {
            return;
        };
        self.is_told = true;
        match codex["threadStatus"]["type"].as_str() {
            Some("systemError") => self.has_failed = true,
            Some("active") => *self = Self { is_told: true, ..Self::default() },
            _ => {}
        }
        let Some(error) = codex.get("error") else { return };
        let texts = ["additionalDetails", "message"];
        let text = texts.iter().find_map(|key| error[key].as_str());
        let info = &error["codexErrorInfo"];
        let mut failure = of_text(text.unwrap_or_default());
        failure.status = nested_status(info).or(failure.status);
        failure.kind = word(info);
        self.error = failure;
    }

    /// Whether what it says now is about a failure.
    pub fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// Whether a turn that came to its end by its own account has failed: without a reply of a model it has used nothing.
    pub fn has_failed_with(&self, answer: &Value) -> bool {
        self.has_failed || self.is_told && answer.get("usage").is_some_and(Value::is_null)
    }

    /// Takes a text of the agent, which after a failure says what it was.
    pub fn words(&mut self, text: &str) {
        let room = LONG_TEXT.saturating_sub(self.words.len());
        self.words.push_str(&cut(text, room));
    }

    /// The failure that the thread told.
    pub fn failure(&self) -> ServerFailure {
        let told = of_text(&self.words);
        let message = match (told.message.as_str(), self.error.message.as_str()) {
            ("", "") => "the agent's thread ended with an error of its system",
            ("", error) => error,
            (told, _) => told,
        };
        ServerFailure {
            message: message.to_owned(),
            code: None,
            status: told.status.or(self.error.status),
            kind: told.kind.or_else(|| self.error.kind.clone()),
        }
    }
}
