//! `quorum.replay/v1`: judgements derived again, held against what the journal says.

use schemars::JsonSchema;
use serde::Serialize;

use crate::runtime::{Comparison, Decision, Reading, Replay};
use rules::domain::{OutcomeClass, RunId};

use super::fields;

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

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature of skip_serializing_if")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// The outcome of a replay: a verdict that cannot be derived again, by whatever rules, cannot be trusted.
pub fn class(replay: &Replay) -> OutcomeClass {
    if replay.is_equal() { OutcomeClass::Ok } else { OutcomeClass::Indeterminate }
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
