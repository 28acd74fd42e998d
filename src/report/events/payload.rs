//! Payloads: keys and values in a fixed order, and the pieces that several events share.

use serde_json::{Map, Value, json};

use crate::domain::{DimensionScore, FailureClass, Finding, Money, OutcomeClass, PriorAnswer, TaskId};
use crate::engine::{FileFact, FileRef, StopCause, ToolLedgerRef, TurnFiles, Usage, Used};
use crate::mission::Plan;
use crate::report::ids::task_key;

/// Keys and values in order; what has no value is left out.
#[derive(Debug, Default)]
pub(super) struct Payload(pub Map<String, Value>);

impl Payload {
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.0.insert(key.to_owned(), value.into());
        self
    }

    pub fn maybe<T: Into<Value>>(self, key: &str, value: Option<T>) -> Self {
        match value {
            Some(value) => self.with(key, value),
            None => self,
        }
    }

    /// The same with what another one says beside it: what is there already stays as it is.
    pub fn extend(mut self, other: Self) -> Self {
        for (key, value) in other.0 {
            self.0.entry(key).or_insert(value);
        }
        self
    }

    pub fn usage(self, usage: &Usage) -> Self {
        self.maybe("inputTokens", usage.input_tokens)
            .maybe("outputTokens", usage.output_tokens)
            .maybe("cost", usage.cost.map(Money::to_f64))
    }

    pub fn failure(self, class: FailureClass, message: Option<&str>) -> Self {
        self.with("class", class.as_str())
            .with("errorType", class.error_type())
            .maybe("error", message)
    }

    /// What a call that failed had used until then.
    pub fn used(self, used: Option<&Used>) -> Self {
        match used {
            Some(used) => self.usage(&used.usage).with("tools", tool_ledger(&used.tools)),
            None => self,
        }
    }
}

pub(super) fn created_task(plan: &Plan, id: TaskId) -> Payload {
    let task = plan.task(id);
    let titles = plan
        .dependencies
        .of(id.index())
        .iter()
        .map(|id| &*plan.task(*id).title);
    let row = Payload::default()
        .with("title", &*task.title)
        .with("agent", &*plan.agent(task.agent).name)
        .with("dependsOn", titles.collect::<Vec<_>>());
    let row = match plan.records_digest(id) {
        true => row.with("chainHash", plan.chain_hash(id).to_string()),
        false => row,
    };
    Payload::default()
        .with("taskId", task_key(id))
        .with("title", &*task.title)
        .with("task", row.0)
}

pub(super) fn run_finished(
    outcome: OutcomeClass,
    conditions: &[OutcomeClass],
    allowed: &[OutcomeClass],
) -> Payload {
    let names = |classes: &[OutcomeClass]| classes.iter().map(|class| class.as_str()).collect::<Vec<_>>();
    Payload::default()
        .with("outcome", outcome.as_str())
        .with("exitCode", outcome.exit_code())
        .with("conditions", names(conditions))
        .with("allowed", names(allowed))
}

/// The name of a cause, as JSON and people read it.
pub(in crate::report) fn stop_cause(cause: StopCause) -> &'static str {
    match cause {
        StopCause::Interrupted => "interrupted",
        StopCause::Terminated => "terminated",
        StopCause::TimeLimit => "time limit",
    }
}

/// What a model did with tools.
pub(super) fn tool_ledger(tools: &ToolLedgerRef) -> Value {
    let row = Payload::default()
        .with("calls", tools.calls)
        .with("failed", tools.failed)
        .with("requests", tools.requests)
        .with("unanswered", tools.unanswered)
        .with("askedAgain", tools.asked_again);
    Value::Object(row.maybe("ledger", tools.file.as_ref().map(file)).0)
}

pub(super) fn file(file: &FileRef) -> Value {
    json!({"length": file.len, "digest": file.digest.to_string()})
}

/// What was seen of files.
pub(super) fn facts(files: &[FileFact]) -> Vec<Value> {
    let fact = |fact: &FileFact| {
        let row = Payload::default().with("path", fact.path.as_str());
        let row = row.maybe("size", fact.size);
        let row = row.maybe("obstacle", fact.obstacle.as_deref());
        Value::Object(
            row.maybe("digest", fact.digest.map(|digest| digest.to_string()))
                .0,
        )
    };
    files.iter().map(fact).collect()
}

pub(super) fn scores(dimensions: &[DimensionScore]) -> Value {
    let score = |scored: &DimensionScore| {
        json!({
            "dimension": scored.dimension,
            "score": scored.points.score_f64(),
            "reasoning": scored.reasoning,
        })
    };
    dimensions.iter().map(score).collect()
}

pub(super) fn findings_of(findings: &[Finding]) -> Value {
    json!(findings)
}

/// What a judge answered for the points of the review before; nothing where it was not asked.
pub(super) fn with_answers(payload: Payload, prior: &[PriorAnswer]) -> Payload {
    let row = |answer: &PriorAnswer| json!({"id": answer.point, "addressed": answer.addressed, "note": answer.note});
    let rows: Vec<Value> = prior.iter().map(row).collect();
    payload.maybe("prior", Some(rows).filter(|rows| !rows.is_empty()))
}

/// What a turn did to files, as the runtime saw it.
pub(super) fn turn_files(files: &TurnFiles) -> Value {
    let row = Payload::default()
        .with("protected", files.protected.clone())
        .maybe("changed", files.changed)
        .maybe("written", files.written)
        .with("overlapped", files.shared);
    Value::Object(row.0)
}
