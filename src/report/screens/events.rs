//! One line per event for people: `quorum events` on a terminal.

use serde_json::Value;

use super::style::{Role, TextLayout};
use super::text::sanitize;

use crate::report::events::PublicEvent;

/// Keys that repeat what a line already says, and references that only a machine follows.
const LEFT_OUT: [&str; 15] = [
    "taskId",
    "title",
    "taskTitle",
    "task",
    "missionId",
    "missionDigest",
    "previousDigest",
    "promptDigest",
    "options",
    "output",
    "stderr",
    "place",
    "resultFile",
    "reply",
    "facts",
];

/// Longer names push their own line to the right only.
const NAME_WIDTH: usize = 20;

/// The event on one line, without a line feed: number, time (UTC), name, title, then `key=value`. Whatever others wrote
/// is made harmless; on a terminal the line is cut to its width.
pub fn human_line(event: &PublicEvent, screen: &TextLayout) -> String {
    let at = event.at.to_rfc3339();
    // 2026-11-21T21:59:00.123Z: the time of day without fractions; the date stands in `run:started`'s JSON.
    let time = at.get(11..19).unwrap_or(&at);
    let head = format!("{:>5} {time}", event.seq);
    let name = format!("{:<NAME_WIDTH$}", event.name);
    let mut words = String::new();
    if let Some(title) = event.payload.get("title").and_then(Value::as_str) {
        words.push_str(title);
    }
    for (key, value) in event.payload.iter().filter(|(key, _)| !LEFT_OUT.contains(&key.as_str())) {
        let gap = if words.is_empty() { "" } else { "  " };
        append!(words, "{gap}{key}={}", plain(value));
    }
    let used = head.len() + 1 + name.len() + 1;
    let style = screen.style;
    let line = format!(
        "{} {} {}",
        style.paint(Role::Dim, head),
        style.paint(role(event.name), name),
        screen.fit(&words, used)
    );
    line.trim_end().to_owned()
}

/// A value as people read it: bare words without quotes, lists and what has parts without the signs of JSON.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => {
            let text = sanitize(text);
            if text.is_empty() || text.contains([' ', '"', '=']) {
                Value::String(text.into_owned()).to_string()
            } else {
                text.into_owned()
            }
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(plain).collect();
            format!("[{}]", items.join("; "))
        }
        Value::Object(map) => {
            let known = map.iter().filter(|(_, value)| !value.is_null());
            let parts: Vec<String> = known.map(|(key, value)| format!("{key} {}", plain(value))).collect();
            parts.join(", ")
        }
        other => other.to_string(),
    }
}

fn role(name: &str) -> Role {
    match name {
        "task.forceAccept"
        | "task.eval.unparsed"
        | "log"
        | "run:unconfined"
        | "approval:requested"
        | "quality:gate:overridden" => Role::Warn,
        "task:timeout" | "deadlock:unresolvable" | "state:foreign" => Role::Bad,
        _ if name.ends_with(":failed") => Role::Bad,
        _ if name.ends_with(":passed") => Role::Good,
        _ => Role::Strong,
    }
}
