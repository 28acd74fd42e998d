//! Tool calls: each is told once when enough is known of it, and once when it has ended.

use std::collections::{HashMap, VecDeque};

use serde_json::Value;

use super::lines::{self, SHORT_TEXT, cut};
use super::paths;
use super::permission::PermissionRequest;

/// How many calls are remembered. An older one that is told of again is told as a new one.
const MAX_CALLS: usize = 4_096;
/// How many bytes of paths are remembered of a call.
const MAX_PATH_BYTES: usize = 8 << 10;

/// The calls of a turn.
#[derive(Debug, Default)]
pub struct TurnTools {
    calls: HashMap<String, OpenCall>,
    order: VecDeque<String>,
    count: u64,
}

#[derive(Debug, Default)]
struct OpenCall {
    name: String,
    kind: String,
    title: String,
    paths: Vec<String>,
    is_told: bool,
    has_ended: bool,
}

/// The text of `value` at `key`; `None` where it is empty or no text.
fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value[key].as_str().filter(|text| !text.is_empty())
}

/// The tool's own name, where the server tells it.
fn name_in<'a>(id: &'a str, call: &'a Value) -> Option<&'a str> {
    let meta = &call["_meta"];
    let of_claude = || text(&meta["claudeCode"], "toolName");
    let of_qwen = || text(meta, "toolName");
    // gemini has it only in the id: `write_file__write_file_1795663724468_0`.
    let of_gemini = || id.split_once("__").map(|(name, _)| name).filter(|name| is_word(name));
    text(call, "name").or_else(of_claude).or_else(of_qwen).or_else(of_gemini)
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-.".contains(letter))
}

impl OpenCall {
    fn merge(&mut self, id: &str, told: &Value) {
        let take = |from: Option<&str>, into: &mut String| {
            if let Some(text) = from {
                *into = cut(text, SHORT_TEXT);
            }
        };
        // opencode's first title is the name, later ones are not.
        let first_title = text(told, "title").filter(|title| self.name.is_empty() && is_word(title));
        take(name_in(id, told).or(first_title), &mut self.name);
        take(text(told, "kind"), &mut self.kind);
        take(text(told, "title"), &mut self.title);
        let paths = paths::of_call(told);
        let bytes: usize = paths.iter().map(String::len).sum();
        if !paths.is_empty() {
            // A part of them would say that there are no others.
            self.paths = if bytes <= MAX_PATH_BYTES { paths } else { Vec::new() };
        }
    }

    fn name(&self) -> &str {
        let names = [self.name.as_str(), self.kind.as_str()];
        names.into_iter().find(|name| !name.is_empty()).unwrap_or("tool")
    }

    fn announce(&mut self, id: &str, lines: &mut Vec<Value>) {
        if !self.is_told {
            self.is_told = true;
            lines.push(lines::tool(id, self.name(), &self.kind, &self.title));
        }
    }
}

/// Whether more than that there will be a call is known: servers announce it before they know what of.
fn says_what(told: &Value) -> bool {
    let has_entries = |key: &str| match told.get(key) {
        Some(Value::Array(entries)) => !entries.is_empty(),
        Some(Value::Object(entries)) => !entries.is_empty(),
        Some(Value::String(entry)) => !entry.is_empty(),
        _ => false,
    };
    has_entries("rawInput")
        || has_entries("locations")
        || text(told, "status").is_some_and(|status| status != "pending")
}

impl TurnTools {
    /// How many calls there were.
    pub fn count(&self) -> u64 {
        self.count
    }

    fn call(&mut self, id: &str) -> &mut OpenCall {
        if !self.calls.contains_key(id) {
            self.count = self.count.saturating_add(1);
            self.order.push_back(id.to_owned());
            if self.order.len() > MAX_CALLS
                && let Some(oldest) = self.order.pop_front()
            {
                self.calls.remove(&oldest);
            }
        }
        self.calls.entry(id.to_owned()).or_default()
    }

    /// Takes what a `tool_call` or `tool_call_update` tells; either may come first.
    pub fn update(&mut self, told: &Value, lines: &mut Vec<Value>) {
        let Some(id) = text(told, "toolCallId").map(|id| cut(id, SHORT_TEXT)) else {
            return;
        };
        let call = self.call(&id);
        call.merge(&id, told);
        if says_what(told) {
            call.announce(&id, lines);
        }
        if let Some(status @ ("completed" | "failed")) = text(told, "status")
            && !call.has_ended
        {
            call.has_ended = true;
            lines.push(lines::tool_end(&id, status));
        }
    }

    /// The request for a permission for a call, with the tool's name. What the request does not say is what was known
    /// before.
    pub fn request(&mut self, told: &Value, lines: &mut Vec<Value>) -> (PermissionRequest, String) {
        let id = text(told, "toolCallId").map(|id| cut(id, SHORT_TEXT)).unwrap_or_default();
        // Without an id nothing that was told before is about it.
        let mut unknown = OpenCall::default();
        let call = if id.is_empty() { &mut unknown } else { self.call(&id) };
        call.merge(&id, told);
        call.announce(&id, lines);
        let paths = paths::of_call(told);
        let request = PermissionRequest {
            kind: call.kind.clone(),
            title: text(told, "title").unwrap_or(&call.title).to_owned(),
            paths: if paths.is_empty() { call.paths.clone() } else { paths },
            input: told["rawInput"].clone(),
        };
        (request, call.name().to_owned())
    }

    /// The turn ends: tells what was announced only.
    pub fn end(&mut self, lines: &mut Vec<Value>) {
        for id in &self.order {
            if let Some(call) = self.calls.get_mut(id) {
                call.announce(id, lines);
            }
        }
    }
}
