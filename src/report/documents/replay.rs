//! `quorum.replay/v1`: judgements derived again, held against what the journal says.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::runtime::{Comparison, Decision, Reading, Replay};
use rules::domain::{OutcomeClass, RunId};

use super::fields;
use crate::report::screens::{
    style::{Role, TextLayout},
    text::{columns, sanitize},
};

/// Judgements of a run, derived again: `quorum review --replay`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "schema", rename = "quorum.replay/v1")]
pub struct ReplayDocument<'a> {
    /// The id of the run.
    run_id: &'a RunId,
    /// The version that judged.
    recorded_by: &'a str,
    /// The version that derives.
    derived_by: &'static str,
    /// Whether everything was derived again and is as it is recorded.
    equal: bool,
    /// The outcome that gives the exit code.
    #[schemars(with = "fields::OutcomeShape")]
    outcome: &'static str,
    /// The exit code of the process.
    exit_code: u8,
    /// How many judgements and decisions are equal, differ, or are lost.
    counts: Counts,
    /// Every stored reply, read again.
    judgements: &'a [Reading],
    /// Everything that was decided from them, decided again.
    decisions: &'a [Decision],
}

#[derive(Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Counts {
    /// Replies that were read again.
    judgements: usize,
    /// Decisions that were made again.
    decisions: usize,
    /// Judgements and decisions that are as recorded.
    equal: usize,
    /// Judgements and decisions that differ from what is recorded.
    differing: usize,
    /// Judgements and decisions that cannot be derived any more.
    lost: usize,
    /// Records of sessions that went by other rules: not decided again.
    #[serde(skip_serializing_if = "is_zero")]
    other_rules: usize,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature of skip_serializing_if"
)]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// The outcome of a replay: a verdict that cannot be derived again, by whatever rules, cannot be trusted.
pub fn class(replay: &Replay) -> OutcomeClass {
    if replay.is_equal() {
        OutcomeClass::Ok
    } else {
        OutcomeClass::Indeterminate
    }
}

/// The document of a replay.
pub fn document(replay: &Replay) -> ReplayDocument<'_> {
    let mut counts = Counts {
        judgements: replay.readings.len(),
        decisions: replay.decisions.len(),
        other_rules: replay.of_other_rules,
        ..Counts::default()
    };
    for standing in replay.comparisons() {
        match standing {
            Comparison::Equal => counts.equal += 1,
            Comparison::Differs(_) => counts.differing += 1,
            Comparison::Lost(_) => counts.lost += 1,
        }
    }
    let class = class(replay);
    let started = &replay.recovered.started;
    ReplayDocument {
        run_id: &started.run_id,
        recorded_by: &started.version,
        derived_by: env!("CARGO_PKG_VERSION"),
        equal: replay.is_equal(),
        outcome: class.as_str(),
        exit_code: class.exit_code(),
        counts,
        judgements: &replay.readings,
        decisions: &replay.decisions,
    }
}

/// The page, with a line feed at its end.
pub fn human(replay: &Replay, screen: &TextLayout) -> String {
    let document = document(replay);
    let mut rows = vec![["ABOUT", "ATTEMPT", "STAGE", "BY", "RECORDED", "DERIVED"].map(str::to_owned)];
    let mut notes = Vec::new();
    let cells = |about: &str, attempt: Option<u32>, stage: &str, by: &str, was: String, is: String| {
        let attempt = attempt.map_or(String::new(), |attempt| attempt.to_string());
        [about, &attempt, stage, by, &was, &is].map(|cell| sanitize(cell).into_owned())
    };
    for row in document.judgements {
        let is = row.derived.as_ref();
        let is = is.map_or_else(|| row.comparison.words().0.to_owned(), brief);
        let attempt = Some(row.attempt);
        rows.push(cells(
            &row.task,
            attempt,
            row.stage,
            &row.agent,
            brief(&row.recorded),
            is,
        ));
        notes.push(note(&row.comparison, Some(row.record)));
    }
    for row in document.decisions {
        let (was, is) = (brief(&row.recorded), brief(&row.derived));
        rows.push(cells(&row.about, row.attempt, row.stage, "", was, is));
        notes.push(note(&row.comparison, row.record));
    }
    let mut text = table(&rows, &notes, screen);
    let counts = &document.counts;
    let (role, verdict) = match (document.equal, counts.differing + counts.lost) {
        (true, _) => (Role::Good, "everything is as it is recorded"),
        (false, 0) => (Role::Bad, "not everything can be derived again"),
        (false, _) => (Role::Bad, "not everything is as it is recorded"),
    };
    let verdict = screen.style.paint(role, verdict);
    append_line!(
        text,
        "run {}: {verdict}: {} judgements and {} decisions, {} equal, {} differ, {} lost",
        document.run_id,
        counts.judgements,
        counts.decisions,
        counts.equal,
        counts.differing,
        counts.lost
    );
    if counts.other_rules > 0 {
        append_line!(
            text,
            "{} records were decided by other rules than those of this version: their replies were read again, and nothing was decided again; \
             derive them with version {}",
            counts.other_rules,
            document.recorded_by
        );
    }
    if !document.equal && document.recorded_by != document.derived_by {
        append_line!(
            text,
            "it was judged by version {}, this is {}",
            document.recorded_by,
            document.derived_by
        );
    }
    append_line!(text, "exit {} ({})", document.exit_code, document.outcome);
    text
}

/// The line below a row that is not as it should be; `None` for a row that is.
fn note(comparison: &Comparison, record: Option<u64>) -> Option<String> {
    let (standing, why) = comparison.words();
    let record = record.map_or_else(String::new, |record| format!("record {record} "));
    why.map(|why| format!("  {record}{standing}: {}", sanitize(why)))
}

fn table(rows: &[[String; 6]], notes: &[Option<String>], screen: &TextLayout) -> String {
    let mut text = String::new();
    for (number, line) in columns(rows).iter().enumerate() {
        let line = screen.fit(line, 0);
        let note = number.checked_sub(1).and_then(|at| notes.get(at)?.as_deref());
        match (number, note) {
            (0, _) => append_line!(text, "{}", screen.style.paint(Role::Dim, line)),
            (_, None) => append_line!(text, "{line}"),
            (_, Some(note)) => append_line!(text, "{line}\n{}", screen.style.paint(Role::Bad, note)),
        }
    }
    text
}

/// A result in a few words.
fn brief(value: &Value) -> String {
    let text = |key: &str| value[key].as_str().map(str::to_owned);
    let number = |key: &str| value[key].as_f64().map(|number| number.to_string());
    let each = |list: &str, name: &str, number: &str| {
        let rows = value[list].as_array().into_iter().flatten();
        let number = |row: &Value| {
            row[number]
                .as_f64()
                .map_or_else(String::new, |number| number.to_string())
        };
        let rows = rows.map(|row| format!("{} {}", row[name].as_str().unwrap_or_default(), number(row)));
        rows.collect::<Vec<_>>().join(", ")
    };
    let parts: Vec<Option<String>> = match value["result"].as_str() {
        Some("scores") => vec![Some(each("dimensions", "dimension", "score"))],
        Some("grades") => vec![text("verdict"), Some(each("criteria", "criterion", "grade"))],
        Some("score") => vec![number("points")],
        Some("opinion") => vec![text("verdict")],
        Some("findings") => vec![number("findings"), Some("findings".to_owned())],
        Some(other) => vec![Some(other.to_owned())],
        None if value.is_null() => vec![Some("nothing".to_owned())],
        None if value.get("verdict").is_some() => vec![text("verdict"), text("cause"), number("points")],
        None if value.get("to").is_some() => vec![text("to"), text("mode"), text("flag")],
        None if value.get("passed").is_some() => {
            let passed = if value["passed"] == true {
                "passed"
            } else {
                "failed"
            };
            vec![Some(passed.to_owned()), number("avgScore")]
        }
        None if value.get("outcome").is_some() => vec![text("outcome")],
        None => vec![number("points"), number("forced")],
    };
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    parts.join(" ")
}
