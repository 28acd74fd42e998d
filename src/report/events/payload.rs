//! Payloads: keys and values in a fixed order, and the pieces that several events share.

use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};

use crate::report::{documents::reviews::share, vocabulary::ids::task_key};
use rules::{
    domain::{FailureClass, GateId, Money, OutcomeClass, Points, TaskId},
    plan::Plan,
};

use super::expander::EventExpander;

/// Keys and values in order; what has no value is left out.
#[derive(Debug, Default, Serialize)]
pub struct Payload(pub Map<String, Value>);

/// A payload of keys and values in this order; with `head;` before them, that payload with these behind its own. A
/// variable alone is a value under its own name, and a `None` is left out.
macro_rules! payload {
    (@entry $payload:ident $name:ident) => { $payload.put(stringify!($name), &$name) };
    (@entry $payload:ident $key:literal $value:expr) => { $payload.put($key, &$value) };
    ($head:expr; $($key:tt $(: $value:expr)?),+ $(,)?) => {{
        let mut payload = $head;
        $(payload!(@entry payload $key $($value)?);)+
        payload
    }};
    ($($entries:tt)+) => {
        payload!($crate::report::events::payload::Payload::default(); $($entries)+)
    };
}
pub(super) use payload;

impl Payload {
    pub fn put(&mut self, key: &str, value: &impl Serialize) {
        let value = json!(value);
        if !value.is_null() {
            self.0.insert(key.to_owned(), value);
        }
    }

    /// Adds the keys of another payload; a key that is there already keeps its value.
    pub fn extend(mut self, other: Self) -> Self {
        for (key, value) in other.0 {
            self.0.entry(key).or_insert(value);
        }
        self
    }

    pub fn failure(self, class: FailureClass, message: Option<&str>) -> Self {
        payload!(self; class, "errorType": class.error_type(), "error": message)
    }
}

pub fn created_task(plan: &Plan, id: TaskId) -> Payload {
    let task = plan.task(id);
    let row = payload!(
        "title": task.title,
        "agent": plan.agent_name(task.agent),
        "dependsOn": plan.titles(plan.dependencies.of(id)),
        "chainHash": plan.records_digest(id).then(|| plan.chain_hash(id)),
    );
    payload!("taskId": task_key(id), "title": task.title, "task": row)
}

pub fn run_finished(outcome: OutcomeClass, conditions: &[OutcomeClass], allowed: &[OutcomeClass]) -> Payload {
    // Both signals have one name, unlike in the journal.
    let names = |classes: &[OutcomeClass]| classes.iter().map(|class| class.as_str()).collect::<Vec<_>>();
    payload!(
        "outcome": outcome.as_str(),
        "exitCode": outcome.exit_code(),
        "conditions": names(conditions),
        "allowed": names(allowed),
    )
}

/// Keys of the journal that only a session needs, or that are told in another form.
const UNTOLD: [&str; 23] = [
    "asked",
    "broken",
    "commit",
    "compilation",
    "cues",
    "delegate",
    "exit",
    "failedTools",
    "grave",
    "interrupted",
    "jitter",
    "kept",
    "killed",
    "last",
    "origin",
    "others",
    "rules",
    "runId",
    "stored",
    "supervisor",
    "tests",
    "turn",
    "work",
];

impl EventExpander {
    /// What the journal says, as events tell it: ids are titles and names, points and money are numbers, and what only a
    /// session needs is left out.
    pub fn told(&self, said: &impl Serialize) -> Payload {
        match json!(said) {
            Value::Object(keys) => self.keys(keys),
            _ => Payload::default(),
        }
    }

    /// Tells what the variant of an enum says.
    pub fn told_by(&self, variant: &impl Serialize) -> Payload {
        let said = json!(variant);
        self.told(&said.as_object().and_then(|named| named.values().next()))
    }

    /// Tells every value of a list.
    pub fn each(&self, list: &[impl Serialize]) -> Vec<Payload> {
        list.iter().map(|said| self.told(said)).collect()
    }

    fn keys(&self, keys: Map<String, Value>) -> Payload {
        let mut told = Payload::default();
        for (key, value) in keys {
            match value {
                _ if UNTOLD.contains(&&*key) => {}
                Value::Object(usage) if matches!(&*key, "usage" | "used") => {
                    told = told.extend(self.keys(usage));
                }
                value => told.put(&key, &self.value(&key, value)),
            }
        }
        told
    }

    fn value(&self, key: &str, value: Value) -> Value {
        let title = |id| self.plan.title(id);
        match (key, value) {
            ("options", options) => options,
            (_, Value::Object(keys)) => json!(self.keys(keys)),
            ("gates", gates) => read(gates, |ids: Vec<GateId>| {
                ids.into_iter().map(|id| &self.plan.gate(id).name).collect::<Vec<_>>()
            }),
            (_, Value::Array(list)) => {
                // Whatever is named by its number is a task, but for checks.
                let part = |part: Value| match part {
                    Value::Number(_) if key != "checks" => read(part, title),
                    part => self.value(key, part),
                };
                list.into_iter().map(part).collect()
            }
            ("by" | "to", id @ Value::Number(_)) => read(id, title),
            ("cost", money) => read(money, Money::to_f64),
            ("points", points) => read(points, Points::to_f64),
            ("score", points) => read(points, Points::score_f64),
            ("confidence", points) => read(points, share),
            (_, value) => value,
        }
    }
}

/// Tells a value that is a `T`; one that is not stays as the journal has it.
fn read<T: DeserializeOwned, U: Serialize>(value: Value, tell: impl Fn(T) -> U) -> Value {
    serde_json::from_value(value.clone()).map_or(value, |said| json!(tell(said)))
}
