//! `quorum.calibration/v1`: judges and panels held against people.

use schemars::JsonSchema;
use serde::Serialize;
use serde_with::skip_serializing_none;

use rules::{
    domain::{OutcomeClass, Points},
    judging::calibration::{
        Drift, EvaluatedJudge, Evaluation, EvaluationSettings, FEW, Figures, Fit, LabelSet, MOST_JUDGES,
        Measures, Suggestion, reliability, roc, rounded,
    },
    mission::model::Consensus,
};

/// Judges and panels held against people: `quorum calibrate`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "schema", rename = "quorum.calibration/v1")]
pub struct CalibrationDocument {
    /// The bar in points that tells good work from bad.
    bar: f64,
    /// How often the rows were resampled for an interval.
    bootstrap: u32,
    /// The seed of that.
    seed: u64,
    /// How asking live reviewers went.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub asked: Vec<serde_json::Value>,
    /// The sets of labels, one a file.
    sets: Vec<Set>,
    /// The file that fits were stored in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub saved: Option<String>,
    /// Judges held against what they did when they were stored.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub drift: Vec<DriftRow>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Set {
    /// The name of the set: the `source` of its rows, or its file.
    name: String,
    /// How many rows it has.
    items: usize,
    /// How many groups these are of.
    groups: usize,
    /// The share of good work among the labels; `null` without any label.
    base_rate: Option<f64>,
    /// The dimensions that people scored.
    dimensions: Vec<String>,
    /// The measures of each judge alone.
    judges: Vec<Row>,
    /// The measures of panels of several judges.
    panels: Vec<Row>,
    /// The panel and the bar that are suggested; `null` where the rows do not tell good work from bad.
    suggestion: Option<Suggested>,
    /// Notes on what was left out of the measurement, and why.
    notes: Vec<String>,
}

#[skip_serializing_none]
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Row {
    /// The name of the judge; left out for a panel.
    judge: Option<String>,
    /// The judges on the seats of a panel; left out for a judge.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    seats: Vec<String>,
    /// How the scores of a panel's seats become one; left out for a judge.
    consensus: Option<Consensus>,
    /// The share of replies that the verdict parser reads.
    #[serialize_always]
    parse_rate: Option<f64>,
    /// Replies that it leaves unread and the recording has a score for.
    recorded_only: u32,
    /// Replies without any score.
    unread: u32,
    #[serde(flatten)]
    measures: Measures,
    /// The measures of each dimension.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    per_dimension: Vec<OfDimension>,
    /// What `panel: adaptive` would have saved.
    adaptive: Option<Adaptive>,
    /// What the score says of the work, where labels carry a fit.
    fit: Option<FitRow>,
}

/// P(good) = σ(a + b · points), with its figures on groups that it was not fitted to.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct FitRow {
    #[serde(flatten)]
    fit: Fit,
    #[serde(flatten)]
    figures: Figures,
    /// The lowest score that keeps the share of false passes below 20 %; `null` where none does.
    bar: Option<f64>,
    /// The scores around it that a person decides, a fifth of the work.
    refer: Option<[f64; 2]>,
    /// In ten classes of what was foretold: its mean, the share of good work, labels.
    reliability: Vec<(f64, f64, usize)>,
    /// The shares of bad and of good work that pass at each bar, the strictest first.
    roc: Vec<(f64, f64)>,
}

/// Judges held against what they did when they were stored.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DriftRow {
    /// The names of the judges.
    pub seats: Vec<String>,
    /// How the scores of the judges become one; left out for a judge alone.
    pub consensus: Option<Consensus>,
    /// Rows that they judged then.
    pub of: usize,
    #[serde(flatten)]
    pub drift: Drift,
}

#[derive(Debug, Serialize, JsonSchema)]
struct OfDimension {
    /// The name of the dimension.
    dimension: String,
    #[serde(flatten)]
    measures: Measures,
}

/// What `panel: adaptive` would have saved.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Adaptive {
    /// With the seats in their order: the share of third calls that could not have changed the verdict.
    third_calls_saved: Option<f64>,
    /// The share of third calls that could not have changed the verdict, with each seat last in turn.
    third_calls_saved_in_any_order: Option<f64>,
    /// Verdicts that the skipped call would have changed. Always 0.
    changed_verdicts: u32,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Suggested {
    /// The judges on its seats.
    seats: Vec<String>,
    /// How the scores of the judges become one; `null` for a judge alone.
    consensus: Option<Consensus>,
    /// The bar in points.
    bar: f64,
    /// The share of bad work that would have passed.
    false_pass_rate: Option<f64>,
    /// The share of verdicts that people gave too.
    accuracy: Option<f64>,
}

impl CalibrationDocument {
    /// A document without any measurement yet.
    pub fn new(settings: &EvaluationSettings, asked: Vec<serde_json::Value>) -> Self {
        Self {
            asked,
            saved: None,
            drift: Vec::new(),
            bar: settings.bar.to_f64(),
            bootstrap: settings.rounds,
            seed: settings.seed,
            sets: Vec::new(),
        }
    }

    /// The outcome that gives the exit code; `is_partial` where replies are missing.
    pub fn class(&self, is_partial: bool) -> OutcomeClass {
        match self.drift.iter().any(|row| row.drift.drifted) {
            _ if is_partial => OutcomeClass::Indeterminate,
            true => OutcomeClass::BelowThreshold,
            false => OutcomeClass::Ok,
        }
    }

    /// Takes in a set. `named` says whether panels were asked for by name.
    pub fn push(&mut self, set: &LabelSet, evaluation: &Evaluation, named: bool, bar: Points) {
        let groups: std::collections::BTreeSet<_> = set.items.iter().map(|item| item.group).collect();
        let is_panel = |entry: &&EvaluatedJudge| entry.rule.is_some();
        let mut notes = Vec::new();
        if !named && set.judges.len() > MOST_JUDGES {
            notes.push(format!(
                "{} judges: panels are measured where --panel names their seats",
                set.judges.len()
            ));
        }
        let labels = set.items.iter().filter_map(|item| item.truth.is_good(bar));
        let labels: Vec<bool> = labels.collect();
        let good = labels.iter().filter(|good| **good).count();
        if labels.len() < FEW {
            notes.push(format!(
                "{} labels: below {FEW} every figure is rough; label more before a gate depends on it",
                labels.len()
            ));
        }
        self.sets.push(Set {
            base_rate: (!labels.is_empty()).then(|| rounded(good as f64 / labels.len() as f64)),
            name: set.name.clone(),
            items: set.items.len(),
            groups: groups.len(),
            dimensions: set.dimensions.iter().map(|d| d.name.clone()).collect(),
            judges: evaluation.entries.iter().filter(|e| !is_panel(e)).map(|e| row(set, e)).collect(),
            panels: evaluation.entries.iter().filter(is_panel).map(|e| row(set, e)).collect(),
            suggestion: evaluation.suggestion.as_ref().and_then(|s| suggested(set, evaluation, s)),
            notes,
        });
    }
}

fn row(set: &LabelSet, entry: &EvaluatedJudge) -> Row {
    let seats: Vec<String> = entry.seats.iter().map(|seat| set.judges[*seat].clone()).collect();
    let replies = entry.replies;
    let all = replies.read + replies.recorded + replies.unread;
    let per_dimension = set.dimensions.iter().zip(&entry.dimensions).filter_map(|(dimension, measures)| {
        Some(OfDimension { dimension: dimension.name.clone(), measures: (*measures)? })
    });
    Row {
        judge: entry.rule.is_none().then(|| seats[0].clone()),
        consensus: entry.rule,
        parse_rate: (all > 0).then(|| rounded(f64::from(replies.read) / f64::from(all))),
        recorded_only: replies.recorded,
        unread: replies.unread,
        measures: entry.measures,
        per_dimension: per_dimension.collect(),
        adaptive: entry.skips.map(|skips| Adaptive {
            third_calls_saved: skips.in_order.rate().map(rounded),
            third_calls_saved_in_any_order: skips.in_any_order.rate().map(rounded),
            changed_verdicts: skips.in_any_order.changed,
        }),
        fit: entry.fit.ok().map(|fit| fit_row(entry, fit)),
        seats: if entry.rule.is_some() { seats } else { Vec::new() },
    }
}

/// The fit with the bounds of referral that runs take where their missions do not set any.
fn fit_row(entry: &EvaluatedJudge, fit: Fit) -> FitRow {
    const SHARE: f64 = 0.2;
    let bar = fit.bar(&entry.cases, SHARE);
    let refer = bar.and_then(|bar| fit.band(&entry.cases, bar, SHARE));
    FitRow {
        fit,
        figures: fit.figures(&entry.cases),
        bar: bar.map(Points::to_f64),
        refer: refer.map(|ends| ends.map(Points::to_f64)),
        reliability: reliability(&entry.cases),
        roc: roc(&entry.cases),
    }
}

fn suggested(set: &LabelSet, evaluation: &Evaluation, suggestion: &Suggestion) -> Option<Suggested> {
    let entry = evaluation.entries.get(suggestion.candidate)?;
    Some(Suggested {
        seats: entry.seats.iter().map(|seat| set.judges[*seat].clone()).collect(),
        consensus: entry.rule,
        bar: suggestion.bar.to_f64(),
        false_pass_rate: suggestion.false_pass_rate.map(rounded),
        accuracy: suggestion.accuracy.map(rounded),
    })
}
