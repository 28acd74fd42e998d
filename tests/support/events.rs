//! Public events, found by what they say.

use std::collections::{BTreeSet, HashMap};
use std::ops::Deref;

use serde_json::Value;

use super::Workspace;

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

/// How many such events the latest run has; none while there is no run yet.
pub fn on_record(workspace: &Workspace, event: &str) -> usize {
    let listed = workspace.quorum(&["events", "--format", "jsonl"]);
    let lines = listed.stdout.lines();
    let events = lines.filter_map(|line| serde_json::from_str(line).ok());
    events.filter(|found| is(found, event)).count()
}

/// The table of the life cycle (semantics, section 5). Written down again on purpose.
const LEGAL: [(&str, &[&str]); 7] = [
    ("pending", &["assigned", "awaiting_approval", "failed"]),
    ("awaiting_approval", &["assigned", "in_progress", "pending", "review", "failed"]),
    ("assigned", &["in_progress", "pending", "failed"]),
    ("in_progress", &["review", "awaiting_approval", "pending", "failed"]),
    ("review", &["done", "in_progress", "pending", "awaiting_approval", "failed"]),
    ("done", &["pending"]),
    ("failed", &["pending"]),
];

/// Every task goes from state to state as the table allows; sequence numbers never decrease; each session ends with
/// `run:finished`, unless it was killed.
pub fn assert_lawful(events: &[Value], killed: bool) {
    assert_legal_steps(events);
    let mut finished = true;
    for event in events {
        let name = event["event"].as_str().expect("every event has a name");
        match name {
            "run:started" | "run:resumed" => {
                assert!(finished || killed, "a session did not end before {event}");
                finished = false;
            }
            "run:finished" => finished = true,
            _ => assert!(!finished, "{name} outside of a session"),
        }
    }
    assert!(finished || killed, "the last session has no end");
}

/// Every task goes from state to state as the table allows; sequence numbers never decrease; work has a beginning and at
/// most one end.
pub fn assert_legal_steps(events: &[Value]) {
    assert_work_is_whole(events);
    let mut states: HashMap<&str, &str> = HashMap::new();
    let mut last_seq = 0;
    for event in events {
        let seq = event["seq"].as_u64().expect("every event has a number");
        assert!(seq >= last_seq, "{seq} after {last_seq}");
        last_seq = seq;
        assert!(event["at"].is_string() && event["runId"].is_string(), "{event}");
        if event["event"] == "task:transition" {
            let text = |key: &str| event[key].as_str().expect("a transition says from where to where");
            let (task, from, to) = (text("taskId"), text("from"), text("to"));
            let before = states.insert(task, to).unwrap_or("pending");
            assert_eq!(before, from, "{event}");
            let (_, allowed) = LEGAL.iter().find(|(state, _)| *state == from).expect("a known state");
            assert!(allowed.contains(&to), "{from} may not become {to}");
        }
    }
}
