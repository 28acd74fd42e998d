//! Payloads: keys and values in a fixed order, and the pieces that several events share.

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::report::vocabulary::ids::task_key;
use rules::{
    domain::{DimensionScore, FailureClass, Money, OutcomeClass, PriorAnswer, TaskId},
    engine::{FileFact, FileRef, StopCause, ToolLedgerRef, TurnFiles, Usage, Used},
    plan::Plan,
};

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

    pub fn usage(self, usage: &Usage) -> Self {
        payload!(self;
            "inputTokens": usage.input_tokens,
            "outputTokens": usage.output_tokens,
            "cost": usage.cost.map(Money::to_f64),
        )
    }

    pub fn failure(self, class: FailureClass, message: Option<&str>) -> Self {
        payload!(self; class, "errorType": class.error_type(), "error": message)
    }

    /// Adds the usage of a failed call until its failure.
    pub fn used(self, used: Option<&Used>) -> Self {
        match used {
            Some(used) => payload!(self.usage(&used.usage); "tools": tool_ledger(&used.tools)),
            None => self,
        }
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

/// The name of a cause, as JSON and people read it.
pub(crate) fn stop_cause(cause: StopCause) -> &'static str {
    match cause {
        StopCause::Interrupted => "interrupted",
        StopCause::Terminated => "terminated",
        StopCause::TimeLimit => "time limit",
    }
}

/// The payload of a model's tool calls.
pub fn tool_ledger(tools: &ToolLedgerRef) -> Payload {
    payload!(
        "calls": tools.calls,
        "failed": tools.failed,
        "requests": tools.requests,
        "unanswered": tools.unanswered,
        "askedAgain": tools.asked_again,
        "ledger": tools.file.as_ref().map(file),
    )
}

pub fn file(file: &FileRef) -> Payload {
    payload!("length": file.len, "digest": file.digest)
}

/// The payloads of files as they were seen.
pub fn facts(files: &[FileFact]) -> Vec<Payload> {
    let fact = |fact: &FileFact| payload!("path": fact.path, "size": fact.size, "obstacle": fact.obstacle, "digest": fact.digest);
    files.iter().map(fact).collect()
}

pub fn scores(dimensions: &[DimensionScore]) -> Vec<Payload> {
    let score = |scored: &DimensionScore| {
        payload!(
            "dimension": scored.dimension,
            "score": scored.points.score_f64(),
            "reasoning": scored.reasoning,
        )
    };
    dimensions.iter().map(score).collect()
}

/// Adds a judge's answers to the points of the review before; nothing where it was not asked.
pub fn with_answers(payload: Payload, prior: &[PriorAnswer]) -> Payload {
    let row = |answer: &PriorAnswer| payload!("id": answer.point, "addressed": answer.addressed, "note": answer.note);
    let rows = || prior.iter().map(row).collect::<Vec<_>>();
    payload!(payload; "prior": (!prior.is_empty()).then(rows))
}

/// The payload of the changes that a turn made to files, as the runtime saw them.
pub fn turn_files(files: &TurnFiles) -> Payload {
    payload!(
        "protected": files.protected,
        "changed": files.changed,
        "written": files.written,
        "overlapped": files.shared,
        "nothingToDo": files.nothing_to_do,
    )
}
