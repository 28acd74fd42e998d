//! Public events, found by what they say.

use std::collections::BTreeSet;
use std::ops::Deref;

use serde_json::Value;

/// The keys that tell work and holds of one name apart.
const KEYS: [&str; 6] = ["kind", "purpose", "detail", "result", "reason", "answer"];

/// The keys that tell one piece of work from another.
const IDENTITY: [&str; 11] = [
    "taskId",
    "kind",
    "purpose",
    "place",
    "turn",
    "index",
    "ask",
    "approver",
    "failedDepId",
    "notificationId",
    "number",
];

/// Whether an event has a name and, behind it, these words in the keys that tell work and holds apart; with a `!` none of
/// them has the word. `is(event, "work:ended turn !lost")`: the end of a turn that was not lost.
pub fn is(event: &Value, words: &str) -> bool {
    let mut words = words.split(' ');
    let has = |word: &str| KEYS.iter().any(|key| event[key] == word);
    words.next().is_some_and(|name| event["event"] == name)
        && words.all(|word| match word.strip_prefix('!') {
            Some(absent) => !has(absent),
            None => has(word),
        })
}

/// The events that [`is`] finds, in order.
pub fn named<'e>(events: &'e [Value], words: &str) -> Vec<&'e Value> {
    events.iter().filter(|event| is(event, words)).collect()
}

/// All public events of a run, in order. Words are those of [`is`].
#[derive(Debug)]
pub struct Events(pub Vec<Value>);

impl Events {
    pub fn named(&self, words: &str) -> Vec<Value> {
        named(self, words).into_iter().cloned().collect()
    }

    /// The first of this name, which must be there.
    pub fn first_named(&self, words: &str) -> Value {
        let found = named(self, words);
        (*found.first().unwrap_or_else(|| panic!("there is no event '{words}' in {self:#?}"))).clone()
    }

    pub fn count(&self, words: &str) -> usize {
        named(self, words).len()
    }
}

impl Deref for Events {
    type Target = [Value];

    fn deref(&self) -> &[Value] {
        &self.0
    }
}

impl IntoIterator for Events {
    type Item = Value;
    type IntoIter = std::vec::IntoIter<Value>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// Work is requested before anything else happens to it, is not requested again while it is open, and ends once. What
/// was open when a session was killed may stay so.
pub fn assert_work_is_whole(events: &[Value]) {
    let mut open = BTreeSet::new();
    for event in events {
        let name = event["event"].as_str().unwrap_or_default();
        let Some(step) = name.strip_prefix("work:") else {
            continue;
        };
        let has_stage = !event["place"]["stage"].is_null();
        // What a notification is about, and which dependency an agent is asked about, is told once. Another agent that is
        // asked instead has a number of its own.
        let id = IDENTITY.map(|key| match (key, event["kind"].as_str()) {
            ("taskId", Some("deliver")) | ("failedDepId", Some("ask")) => String::new(),
            ("ask", _) if has_stage => String::new(),
            _ => event[key].to_string(),
        });
        let was_open = match step {
            "requested" => !open.insert(id),
            "ended" | "dropped" => open.remove(&id),
            _ => open.contains(&id),
        };
        assert_eq!(was_open, step != "requested", "{event}");
    }
}
