//! What the turn prints, line by line, and how long each text in it may be.

use serde_json::{Value, json};

use rules::mission::char_start;

/// Texts of messages and errors, in bytes.
pub const LONG_TEXT: usize = 8 << 10;
/// Titles, names, ids, kinds, in bytes.
pub const SHORT_TEXT: usize = 1 << 10;

/// The beginning of a text, at most `most` bytes of it.
pub fn cut(text: &str, most: usize) -> String {
    text.get(..char_start(text, most)).unwrap_or_default().to_owned()
}

fn short(text: &str) -> String {
    cut(text, SHORT_TEXT)
}

/// A failure of a turn, as far as the server told it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ServerFailure {
    pub message: String,
    /// The code of a JSON-RPC error.
    pub code: Option<i64>,
    /// The HTTP status that the server had from its model.
    pub status: Option<u16>,
    /// The server's own word for the failure.
    pub kind: Option<String>,
}

impl ServerFailure {
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), ..Self::default() }
    }

    pub fn line(&self) -> Value {
        let message = cut(&self.message, LONG_TEXT);
        let kind = self.kind.as_deref().map(short);
        json!({"type": "error", "message": message, "code": self.code, "status": self.status, "kind": kind})
    }
}

/// Without an id where nobody can go on in it.
pub fn session(id: Option<&String>, is_resumed: bool) -> Value {
    json!({"type": "session", "id": id, "resumed": is_resumed})
}

pub fn mode(id: &str) -> Value {
    json!({"type": "mode", "id": short(id)})
}

pub fn tool(id: &str, name: &str, kind: &str, title: &str) -> Value {
    json!({"type": "tool", "name": short(name), "kind": short(kind), "title": short(title), "id": short(id)})
}

pub fn tool_end(id: &str, status: &str) -> Value {
    json!({"type": "tool_end", "id": short(id), "status": status})
}

pub fn denied(name: &str, title: &str) -> Value {
    json!({"type": "denied", "tool": short(name), "title": short(title)})
}

pub fn permission(wish: &str, kind: &str) -> Value {
    json!({"type": "permission", "wish": wish, "kind": short(kind)})
}

pub fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

pub fn end(stop_reason: &str) -> Value {
    json!({"type": "end", "stopReason": short(stop_reason)})
}
