//! Replies that are no words of an agent but the JSON in which its program wraps them.

use super::json::{Json, is_in, parse, plain};
use super::reasoning::own_words;
use super::unparsed_reason::Unparsed;

/// Keys by which programs name the conversation that a line belongs to.
const SESSIONS: &[&str] = &["sessionid", "threadid"];
/// Kinds of lines that such programs print.
const KINDS: &str = " assistant result stepstart system text turn user message init ";

/// Whether a reply looks like the output of an agent's program that was told to print JSON: one object, or one in each
/// line, that names a conversation, wraps a reply beside figures about it, or has the kind of an event.
fn is_envelope(reply: &str) -> bool {
    let text = own_words(reply).unwrap_or_default();
    let text = text.trim();
    let first = parse(text).or_else(|| parse(text.lines().next()?));
    match first {
        Some(Json::List(items)) => items.first().is_some_and(wraps),
        Some(object) => wraps(&object),
        None => false,
    }
}

impl Unparsed {
    /// The reason that helps most: of a reply that is wrapped in the JSON of its program, that it is.
    #[must_use]
    pub fn or_envelope(self, reply: &str) -> Self {
        if is_envelope(reply) { Self::Envelope } else { self }
    }
}

fn wraps(object: &Json) -> bool {
    let kind = object.get(&["type"]).and_then(Json::text).unwrap_or_default();
    let kind = plain(kind);
    let is_event = kind.contains('.') || is_in(KINDS, &kind);
    object.get(SESSIONS).is_some()
        || is_event
        || object.get(&["response"]).is_some() && object.get(&["stats"]).is_some()
}
