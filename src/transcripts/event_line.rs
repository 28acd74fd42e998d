//! A public event on one short line: its name, the task, and the keys that matter.

use serde_json::{Map, Value};

use crate::report::events::PublicEvent;
use rules::domain::Timestamp;

/// Names of the same thing, digests and files, and what the driver makes up.
const LEFT_OUT: [&str; 38] = [
    "approvalIds",
    "chainHash",
    "chars",
    "commandId",
    "digest",
    "duration",
    "elapsed",
    "entityId",
    "error",
    "errorType",
    "exitCode",
    "globalScore",
    "excerpt",
    "index",
    "length",
    "marginMs",
    "missionDigest",
    "missionId",
    "output",
    "overdueMs",
    "percentUsed",
    "options",
    "previousDigest",
    "promptDigest",
    "record",
    "remaining",
    "reply",
    "resolvableCount",
    "score",
    "seat",
    "since",
    "size",
    "taskId",
    "taskIds",
    "taskTitle",
    "title",
    "total",
    "usedMs",
];

/// Numbers that say something only once they have grown.
const COUNTS: [&str; 6] = ["attempt", "turn", "round", "try", "visit", "ask"];

/// The events with which every run begins in the same way.
const ROUTINE: [&str; 4] = ["run:started", "agent:spawned", "ledger:plan", "ledger:progress"];

/// Whether an event is left out: it is told of every run or turn alike.
pub fn is_routine(event: &PublicEvent) -> bool {
    ROUTINE.contains(&event.name)
}

/// The event on one line. `titles` are those of the tasks, by number.
pub fn event_line(event: &PublicEvent, titles: &[String]) -> String {
    let mut words = vec![event.name.to_owned()];
    let text = |key: &str| event.payload.get(key).and_then(Value::as_str);
    words.extend(text("title").map(str::to_owned));
    words.extend(text("from").zip(text("to")).map(|(from, to)| format!("{from} → {to}")));
    let is_way = words.len() == 3;
    for (key, value) in &event.payload {
        let is_told = LEFT_OUT.contains(&key.as_str()) || is_way && (key == "from" || key == "to");
        if is_told || COUNTS.contains(&key.as_str()) && value.as_u64() < Some(2) {
            continue;
        }
        let value = short(value, event.at, titles);
        if !value.is_empty() {
            words.push(format!("{key}={value}"));
        }
    }
    words.join(" ")
}

/// Nothing for what is empty.
fn short(value: &Value, at: Timestamp, titles: &[String]) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text_of(text, at, titles),
        Value::Array(all) if all.iter().any(|one| one.get("dimension").is_some()) => scores(all),
        Value::Array(all) => {
            let all = all.iter().map(|one| short(one, at, titles)).collect::<Vec<_>>();
            if all.iter().all(String::is_empty) { String::new() } else { format!("[{}]", all.join(", ")) }
        }
        Value::Object(map) => object(map, at, titles),
        other => other.to_string(),
    }
}

/// One number where all dimensions have the same.
fn scores(dimensions: &[Value]) -> String {
    let mut scores: Vec<String> = dimensions.iter().map(|one| one["score"].to_string()).collect();
    scores.dedup();
    scores.join("/")
}

/// The values of an object, without their keys.
fn object(map: &Map<String, Value>, at: Timestamp, titles: &[String]) -> String {
    let told = map.iter().filter(|(key, _)| !LEFT_OUT.contains(&key.as_str()));
    let values = told.map(|(_, value)| short(value, at, titles));
    let mut values: Vec<String> = values.filter(|value| !value.is_empty()).collect();
    if let Some(Value::String(title)) = map.get("title") {
        values.insert(0, title.clone());
    }
    values.join(":")
}

fn text_of(text: &str, at: Timestamp, titles: &[String]) -> String {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if let Some(number) = text.strip_prefix('t').filter(|number| is_number(number)) {
        let index: usize = number.parse().expect("digits only");
        return titles.get(index).cloned().unwrap_or_else(|| text.to_owned());
    }
    let words: Vec<String> = text.split(' ').map(|word| moment_of(word, at)).collect();
    let text = words.join(" ");
    // The number of an approval or a letter within the run, without the run.
    match text.strip_prefix("r.") {
        Some(id) => format!("#{}", id.rsplit('.').next().unwrap_or(id)),
        None if text.contains(' ') => format!("\"{text}\""),
        None => text.to_owned(),
    }
}

/// A moment as the time from another one to it.
fn moment_of(word: &str, at: Timestamp) -> String {
    let bare = word.trim_end_matches(',');
    let comma = &word[bare.len()..];
    let Ok(moment) = chrono::DateTime::parse_from_rfc3339(bare) else {
        return word.to_owned();
    };
    let at = i64::try_from(at.0).expect("a moment of a test");
    let tenths = (moment.timestamp_millis() - at + 50).div_euclid(100);
    if tenths < 0 { format!("{}s{comma}", tenths / 10) } else { format!("+{}s{comma}", (tenths + 5) / 10) }
}
