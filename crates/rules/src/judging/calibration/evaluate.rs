//! Every judge and panel of a set against its people.

use crate::domain::Points;
use crate::mission::model::Consensus;

use super::{
    CalibrationItem, Fit, LabelSet, LabelledWork, Measures, Sample, Skips, Suggestion, Unfit,
    consensus_points, lowest, skips, suggest,
};

/// Up to so many judges, panels of three are made of all of them where none is named.
pub const MOST_JUDGES: usize = 6;

/// The rules by which seats become one.
pub const RULES: [Consensus; 4] =
    [Consensus::Median, Consensus::ExcludeOutliers, Consensus::ClippedMean, Consensus::Mean];

/// How rows are held against people.
#[derive(Debug, Clone, Copy)]
pub struct EvaluationSettings {
    /// The bar of good work, for judges and for people.
    pub bar: Points,
    /// Bootstrap resamples; 0 gives no intervals.
    pub rounds: u32,
    /// The seed of the resamples.
    pub seed: u64,
}

/// One judge, or one panel by one rule.
#[derive(Debug, Clone)]
pub struct EvaluatedJudge {
    /// The judges, by position in the set.
    pub seats: Vec<usize>,
    /// How the scores of the seats become one; `None` for a judge alone.
    pub rule: Option<Consensus>,
    /// Replies that our parser read, that only the recording has a score for, and that nobody read.
    pub replies: ReplyCounts,
    /// The measures over all dimensions.
    pub measures: Measures,
    /// The measures of each dimension; `None` where people did not score it.
    pub dimensions: Vec<Option<Measures>>,
    /// The provable stop, for panels of three.
    pub skips: Option<Skips>,
    /// The items that all judges of the entry scored.
    pub cases: Vec<LabelledWork>,
    /// The fit of the scores to the labels, or why there is none.
    pub fit: Result<Fit, Unfit>,
    /// The rows that the entry is measured on.
    sample: Sample,
}

/// How many replies could be read.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ReplyCounts {
    /// Replies that our own parser read.
    pub read: u32,
    /// Replies that only whoever recorded them read.
    pub recorded: u32,
    /// Replies that nobody could read.
    pub unread: u32,
}

/// The measures of a set of labels.
#[derive(Debug, Clone)]
pub struct Evaluation {
    /// Judges alone, then panels.
    pub entries: Vec<EvaluatedJudge>,
    /// The suggested entry, by its position, and its bar; `None` where the rows do not tell good work from bad.
    pub suggestion: Option<Suggestion>,
}

/// Measures every judge of a set and these panels; without any, all panels of three, of which those by the median
/// are kept. `step` is told after each entry.
pub fn evaluate(
    set: &LabelSet,
    panels: &[Vec<usize>],
    settings: &EvaluationSettings,
    mut step: impl FnMut(),
) -> Evaluation {
    let mut entries = Vec::new();
    for judge in 0..set.judges.len() {
        entries.push(entry(set, vec![judge], None, settings));
        step();
    }
    let by_default = panels.is_empty();
    let panels = if by_default { triples(set) } else { panels.to_vec() };
    for panel in panels {
        let rules = if by_default { &RULES[..1] } else { &RULES };
        for rule in rules {
            entries.push(entry(set, panel.clone(), Some(*rule), settings));
            step();
        }
    }
    let candidates: Vec<_> =
        entries.iter().map(|entry| (entry.seats.len(), entry.measures, entry.sample.clone())).collect();
    let has_scores = set.items.iter().any(|item| item.truth.points.is_some());
    Evaluation { suggestion: suggest(&candidates, has_scores), entries }
}

/// How many entries a set has: what `step` counts up to.
pub fn steps(set: &LabelSet, panels: &[Vec<usize>]) -> usize {
    set.judges.len() + if panels.is_empty() { triples(set).len() } else { panels.len() * RULES.len() }
}

fn triples(set: &LabelSet) -> Vec<Vec<usize>> {
    let n = set.judges.len();
    if n > MOST_JUDGES {
        return Vec::new();
    }
    let mut triples = Vec::new();
    for a in 0..n {
        for b in a + 1..n {
            triples.extend((b + 1..n).map(|c| vec![a, b, c]));
        }
    }
    triples
}

/// The points that one judge or a panel gives an item; `None` where there are none.
fn said_of(
    set: &LabelSet,
    item: &CalibrationItem,
    seats: &[usize],
    rule: Option<Consensus>,
) -> Option<Points> {
    match rule {
        None => set.points_of(item, *seats.first()?),
        Some(rule) => consensus_points(set, item, seats, rule),
    }
}

/// The labelled items that every seat scored.
pub fn cases(set: &LabelSet, seats: &[usize], rule: Option<Consensus>, bar: Points) -> Vec<LabelledWork> {
    let is_whole = |item: &&CalibrationItem| {
        let mut says = seats.iter().filter_map(|seat| item.says[*seat].as_ref());
        says.all(|say| say.complete().is_some())
    };
    let case = |item: &CalibrationItem| {
        Some(LabelledWork {
            row: item.row,
            group: item.group,
            points: said_of(set, item, seats, rule)?,
            good: item.truth.is_good(bar)?,
            held_out: 0.0,
        })
    };
    set.items_of(seats).filter(is_whole).filter_map(case).collect()
}

fn entry(
    set: &LabelSet,
    seats: Vec<usize>,
    rule: Option<Consensus>,
    settings: &EvaluationSettings,
) -> EvaluatedJudge {
    let mut sample = Sample::default();
    for item in set.items_of(&seats) {
        let Some(good) = item.truth.is_good(settings.bar) else {
            continue;
        };
        let said = said_of(set, item, &seats, rule);
        let passed = said.is_some_and(|points| points >= settings.bar);
        sample.push(item.group, said.unwrap_or_else(lowest), passed, item.truth.points, good);
    }
    let dimensions = (0..set.dimensions.len())
        .map(|dimension| {
            let one = sample_of_dimension(set, &seats, rule, dimension, settings.bar);
            (!one.is_empty()).then(|| one.measures(settings.rounds, settings.seed))
        })
        .collect();
    let mut cases = cases(set, &seats, rule, settings.bar);
    EvaluatedJudge {
        replies: replies(set, &seats),
        measures: sample.measures(settings.rounds, settings.seed),
        dimensions,
        skips: rule.filter(|_| seats.len() == 3).map(|rule| skips(set, &seats, rule, settings.bar)),
        fit: Fit::of(&mut cases),
        cases,
        seats,
        rule,
        sample,
    }
}

fn sample_of_dimension(
    set: &LabelSet,
    seats: &[usize],
    rule: Option<Consensus>,
    dimension: usize,
    bar: Points,
) -> Sample {
    // The same rows with one dimension: what holds for the whole holds for it.
    let only = |item: &CalibrationItem| CalibrationItem {
        row: item.row,
        group: item.group,
        truth: item.truth.clone(),
        says: item
            .says
            .iter()
            .map(|say| {
                say.as_ref().map(|say| super::Say { dimensions: vec![say.dimensions[dimension]], ..*say })
            })
            .collect(),
    };
    let narrow = LabelSet {
        name: set.name.clone(),
        dimensions: vec![set.dimensions[dimension].clone()],
        judges: Vec::new(),
        items: Vec::new(),
    };
    let mut sample = Sample::default();
    for item in set.items_of(seats) {
        let Some(truth) = item.truth.dimensions.get(dimension).copied().flatten() else {
            continue;
        };
        let item = only(item);
        let said = said_of(&narrow, &item, seats, rule);
        let passed = said.is_some_and(|points| points >= bar);
        sample.push(item.group, said.unwrap_or_else(lowest), passed, Some(truth), truth >= bar);
    }
    sample
}

fn replies(set: &LabelSet, seats: &[usize]) -> ReplyCounts {
    let mut replies = ReplyCounts::default();
    for item in set.items_of(seats) {
        for say in seats.iter().filter_map(|seat| item.says[*seat].as_ref()) {
            replies.read += say.read;
            replies.recorded += say.recorded;
            let scored = say.dimensions.len() - (say.read + say.recorded) as usize;
            replies.unread += u32::try_from(scored).unwrap_or(u32::MAX);
        }
    }
    replies
}

#[cfg(test)]
#[path = "evaluate_tests.rs"]
mod tests;
