//! `quorum.metrics/v1`: how tasks, agents and the mission did (semantics, section 14).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::report::screens::{
    style::{Role, TextLayout},
    text::{number, sanitize, width},
};
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

/// The tables for people, with a line feed at their end.
pub fn human(document: &MetricsDocument<'_>, screen: &TextLayout) -> String {
    let mut text = format!("metrics of run {}\n", document.run_id);
    table(
        &mut text,
        "assessments of the mission",
        std::slice::from_ref(&document.mission),
        screen,
    );
    table(&mut text, "assessments of agents", &document.agents, screen);
    table(&mut text, "assessments of tasks", &document.tasks, screen);
    text
}

fn table(text: &mut String, heading: &str, rows: &[MetricsRow<'_>], screen: &TextLayout) {
    let nothing = screen.style.symbols().nothing;
    append_line!(text, "\n{}", screen.style.paint(Role::Strong, heading));
    let score = |score: Option<f64>| score.map_or_else(|| nothing.to_owned(), number);
    let numbers = |row: &MetricsRow<'_>| {
        let deadlines = match (row.deadlines_met, row.deadlines_missed) {
            (0, 0) => String::new(),
            (met, missed) => format!(", deadlines {met} met, {missed} missed"),
        };
        let scores = match row.avg_points {
            None => "no score".to_owned(),
            average => format!(
                "average {} of 100 ({} to {})",
                score(average),
                score(row.min_points),
                score(row.max_points)
            ),
        };
        format!(
            "{} of {} passed, {scores}, retries {}, fixes {}{deadlines}",
            row.passed_assessments, row.total_assessments, row.total_retries, row.total_fixes,
        )
    };
    let numbers: Vec<String> = rows.iter().map(numbers).collect();
    let beside = numbers.iter().map(|numbers| width(numbers)).max().unwrap_or(0) + 4;
    // Where there is too little room for both, names are cut: the numbers are what is asked for.
    let names: Vec<String> = rows
        .iter()
        .map(|row| screen.fit(&sanitize(row.name), beside).into_owned())
        .collect();
    let widest = names.iter().map(|name| width(name)).max().unwrap_or(0);
    for ((row, name), numbers) in rows.iter().zip(&names).zip(&numbers) {
        let gap = " ".repeat(widest - width(name));
        append_line!(text, "  {name}{gap}  {numbers}");
        for (dimension, mean) in &row.dimension_points {
            append_line!(text, "    {} {}", sanitize(dimension), number(*mean));
        }
    }
}
