//! `quorum.metrics/v1`: how tasks, agents and the mission did (semantics, section 14).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use rules::domain::RunId;

/// How tasks, agents and the mission of a run did: `quorum metrics`. Scores are on the scale 1 to 5, points are what all other figures are in, 0 to 100.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "schema", rename = "quorum.metrics/v1")]
pub struct MetricsDocument<'a> {
    /// The id of the run.
    pub(crate) run_id: &'a RunId,
    /// The mission as a whole.
    pub(crate) mission: MetricsRow<'a>,
    /// The agents that have tasks.
    pub(crate) agents: Vec<MetricsRow<'a>>,
    /// The tasks, in file order.
    pub(crate) tasks: Vec<MetricsRow<'a>>,
}

/// How a task, an agent or the mission did. Judged are attempts on which judging said pass or fail.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MetricsRow<'a> {
    /// The name of the mission, the agent or the task.
    pub(crate) name: &'a str,
    /// How many attempts were judged.
    pub(crate) total_assessments: u64,
    /// How many of the judged attempts passed.
    pub(crate) passed_assessments: u64,
    /// The mean score; `null` where there is none.
    pub(crate) avg_score: Option<f64>,
    /// The lowest score, from 1 to 5; `null` where there is none.
    pub(crate) min_score: Option<f64>,
    /// The highest score, from 1 to 5; `null` where there is none.
    pub(crate) max_score: Option<f64>,
    /// The mean score in points.
    pub(crate) avg_points: Option<f64>,
    /// The lowest score in points.
    pub(crate) min_points: Option<f64>,
    /// The highest score in points.
    pub(crate) max_points: Option<f64>,
    /// The mean score of each dimension.
    pub(crate) dimension_scores: BTreeMap<String, f64>,
    /// The mean score of each dimension in points.
    pub(crate) dimension_points: BTreeMap<String, f64>,
    /// How many attempts began afresh.
    pub(crate) total_retries: u64,
    /// How many attempts corrected what a review found.
    pub(crate) total_fixes: u64,
    /// How many deadlines were met.
    pub(crate) deadlines_met: u64,
    /// How many deadlines were missed.
    pub(crate) deadlines_missed: u64,
}
