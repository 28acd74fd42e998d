//! `quorum.stats/v1`: how agents and judges did over all runs of a state folder (semantics, section 14, across runs).

use schemars::JsonSchema;
use serde::Serialize;

use rules::{
    domain::{Money, RunId, Timestamp},
    engine::Usage,
    judging::calibration::{Estimate, share_of},
};

use super::fields;
use crate::report::folds::track_record::{JudgeSums, TrackRecord, WorkSums};

/// How agents, types of tasks or judges did over the runs of a state folder: `quorum stats`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "schema", rename = "quorum.stats/v1")]
pub struct StatsDocument<'a> {
    /// Whose figures they are: `agent`, `type` or `judge`.
    by: &'static str,
    /// The moment from which on runs count by their beginning; `null` where all do.
    #[serde(serialize_with = "fields::moment")]
    #[schemars(with = "Option<fields::MomentShape>")]
    since: Option<Timestamp>,
    /// How many runs were counted.
    runs: usize,
    /// The runs that were not: nobody can read them, or nobody vouches for them.
    left_out: &'a [LeftOutRun],
    /// The agents, or the types of tasks; left out where judges are asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    work: Vec<WorkStats>,
    /// The judges; left out where others are asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    judges: Vec<JudgeStats>,
}

/// A run that was not counted.
#[derive(Serialize, JsonSchema)]
pub struct LeftOutRun {
    /// The id of the run.
    #[serde(rename = "runId")]
    pub run: RunId,
    /// Why it was not counted.
    pub why: String,
}

/// What an agent, or a type of tasks, came to. Shares have their 95 % interval (Wilson's); what nothing is known of is `null`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct WorkStats {
    /// The name of the agent, or the type.
    name: String,
    /// How many tasks were worked at and have ended.
    tasks: u64,
    /// How many of them were accepted by all that judged them.
    accepted: u64,
    /// How many had a first attempt of which judging said pass or fail.
    judged: u64,
    /// The share of these that passed.
    first_pass: Option<Estimate>,
    /// How many attempts they took.
    attempts: u64,
    /// The attempts behind the first one, for each task.
    rework: f64,
    /// How often accepted work did not stand.
    regressions: u64,
    /// The known cost of all of them in dollars, for each that was accepted.
    cost_per_accepted: Option<f64>,
    /// The known tokens of all of them, for each that was accepted.
    tokens_per_accepted: Option<f64>,
    /// The mean time from the beginning of an accepted task to its end, in milliseconds.
    mean_ms: Option<u64>,
}

/// What a judge came to.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct JudgeStats {
    /// The name of the judge.
    name: String,
    /// How many replies it gave.
    replies: u64,
    /// The share of them that could not be read.
    unread: Option<Estimate>,
    /// How many calls failed without a reply.
    failed: u64,
    /// How many of its scores stood beside the verdict of a panel of several.
    compared: u64,
    /// The share of these on the same side of the bar.
    agreement: Option<Estimate>,
    /// The mean time to a reply, in milliseconds.
    wait_ms: Option<u64>,
    /// The known cost in dollars.
    cost: Option<f64>,
}

impl<'a> StatsDocument<'a> {
    /// The figures of agents or types of tasks.
    pub fn of_work(by: &'static str, record: &TrackRecord) -> Self {
        let work = record.work.iter().map(|(name, sums)| WorkStats::of(name, sums)).collect();
        Self { work, ..Self::empty(by) }
    }

    /// The figures of judges.
    pub fn of_judges(by: &'static str, record: &TrackRecord) -> Self {
        let judges = record.judges.iter().map(|(name, sums)| JudgeStats::of(name, sums)).collect();
        Self { judges, ..Self::empty(by) }
    }

    /// The figures with the runs that they are of.
    #[must_use]
    pub fn over(self, since: Option<Timestamp>, runs: usize, left_out: &'a [LeftOutRun]) -> Self {
        Self { since, runs, left_out, ..self }
    }

    fn empty(by: &'static str) -> Self {
        Self { by, since: None, runs: 0, left_out: &[], work: Vec::new(), judges: Vec::new() }
    }
}

impl WorkStats {
    fn of(name: &str, sums: &WorkSums) -> Self {
        let per_accepted = |amount: f64| (sums.accepted > 0).then(|| amount / sums.accepted as f64);
        let rework = sums.attempts.saturating_sub(sums.tasks) as f64 / sums.tasks.max(1) as f64;
        Self {
            name: name.to_owned(),
            tasks: sums.tasks,
            accepted: sums.accepted,
            judged: sums.judged,
            first_pass: share_of(sums.first_passes, sums.judged),
            attempts: sums.attempts,
            rework: (rework * 100.0).round() / 100.0,
            regressions: sums.regressions,
            cost_per_accepted: sums.usage.cost.map(Money::to_f64).and_then(per_accepted),
            tokens_per_accepted: tokens(sums.usage).and_then(per_accepted).map(f64::round),
            mean_ms: sums.millis.checked_div(sums.accepted),
        }
    }
}

impl JudgeStats {
    fn of(name: &str, sums: &JudgeSums) -> Self {
        Self {
            name: name.to_owned(),
            replies: sums.replies,
            unread: share_of(sums.unread, sums.replies),
            failed: sums.failed,
            compared: sums.compared,
            agreement: share_of(sums.agreed, sums.compared),
            wait_ms: sums.millis.checked_div(sums.replies),
            cost: sums.usage.cost.map(Money::to_f64),
        }
    }
}

/// The tokens that are known, read and written.
fn tokens(usage: Usage) -> Option<f64> {
    let known = [usage.input_tokens, usage.output_tokens];
    known.iter().any(Option::is_some).then(|| known.iter().flatten().sum::<u64>() as f64)
}
