//! Replies of a panel's seat: every dimension with a score from 1 to 5.

use rust_decimal::Decimal;
use serde_json::{Map, Value, json};

use crate::domain::{Dimension, DimensionScore, Finding, Points, PriorAnswer};

use super::form::{ReplyValues, values};
use super::json::{Json, JsonPlace, plain};
use super::keys::{CONTAINERS, NAMES, REASONS, SCORES};
use super::point_answers::answers_in;
use super::quoted::Quoted;
use super::unparsed_reason::{Scale, Unparsed};

/// Findings that are kept of one reply; more than anybody can act on.
pub const MAX_FINDINGS: usize = 50;

/// The reply of a panel's seat.
#[derive(Debug, Clone, PartialEq)]
pub struct ParsedPanel {
    /// One score for each of the task's dimensions, in the task's order and spelling.
    pub scores: Vec<DimensionScore>,
    /// Whether the reply declares, beside the scores, that the work passes; `None` where it declares nothing.
    pub declared: Option<bool>,
    /// The findings of the reviewer.
    pub findings: Vec<Finding>,
    /// The reviewer's answers to the points of the review before.
    pub prior: Vec<PriorAnswer>,
    /// The reviewer's summary, if any.
    pub summary: Option<String>,
}

impl ParsedPanel {
    /// Whether the scores come to this number, on whichever of the two scales.
    pub fn is_worth(&self, number: Points) -> bool {
        let mut scores = self.scores.iter().map(|score| score.points);
        scores.all(|points| points == number || points.score() == number.value())
    }
}

/// One dimension as the reply scores it.
struct ScoreEntry<'a> {
    /// The position of the dimension in the task's list.
    dimension: usize,
    /// Everything given as its score; one, where the reply is well formed.
    values: Vec<&'a Json>,
    reasoning: String,
}

pub fn parse(reply: &str, dimensions: &[Dimension], work: &Quoted) -> Result<ParsedPanel, Unparsed> {
    let found = values(reply, work)?;
    let findings = found.findings(MAX_FINDINGS);
    let declared = found.declared.clone()?;
    let mut verdict: Option<ParsedPanel> = None;
    for (value, place) in &found.own {
        let Some(entries) = entries_of(value, *place, dimensions) else {
            continue;
        };
        value.unambiguous()?;
        let scores = scores_of(&entries, dimensions)?;
        match &verdict {
            Some(first) if !same_points(&first.scores, &scores) => return Err(Unparsed::Conflicting),
            // Of objects that agree the last is the one that the reply ends on.
            _ => {
                verdict = Some(ParsedPanel {
                    scores,
                    declared,
                    findings: findings.clone(),
                    prior: answers_in(value),
                    summary: value.get(&["summary"]).and_then(Json::text).map(str::to_owned),
                });
            }
        }
    }
    let has_form = |(value, place): &(Json, JsonPlace)| entries_of(value, *place, dimensions).is_some();
    let verdict = verdict.ok_or_else(|| found.nothing_own(has_form, Unparsed::NoJson))?;
    let agrees = |(value, place): &(Json, JsonPlace)| {
        entries_of(value, *place, dimensions).is_none_or(|entries| {
            scores_of(&entries, dimensions).is_ok_and(|scores| same_points(&scores, &verdict.scores))
        })
    };
    if found.doubted.iter().all(agrees) { Ok(verdict) } else { Err(Unparsed::Conflicting) }
}

/// The form of a seat's reply with something everywhere. Sent back as it stands it is no verdict: no score is 0.
pub fn filled_in(dimensions: &[Dimension], asks_for_answers: bool) -> Value {
    let score = json!({"reasoning": "why", "score": 0});
    let scores = dimensions.iter().map(|dimension| (dimension.name.clone(), score.clone()));
    let mut form = json!({"scores": Map::from_iter(scores), "findings": [], "summary": "in short"});
    if asks_for_answers {
        form["prior"] = json!([{"id": 1, "addressed": "partly", "note": "what shows it"}]);
    }
    form
}

/// Reads a reply that scores one dimension, whatever it calls it.
pub fn parse_alone(reply: &str, work: &Quoted) -> Result<ParsedPanel, Unparsed> {
    let [name] = &scored(&values(reply, work)?, &["scores"])[..] else {
        return Err(Unparsed::NoScore);
    };
    let alone = Dimension { name: name.clone(), weight: Decimal::ONE, description: None, rubric: Vec::new() };
    parse(reply, &[alone], work)
}

/// Whether a reply scores anything in the form of a panel, asked for or not.
pub fn has_scores(reply: &str, work: &Quoted) -> Result<bool, Unparsed> {
    let found = values(reply, work)?;
    // Names with their scores and nothing else, without a key around them.
    let is_flat = |(value, _): &(Json, JsonPlace)| {
        let mut entries = value.entries().iter();
        let names_scores =
            |(key, item): &(String, Json)| is_graded(item) && !SCORES.contains(&plain(key).as_str());
        !value.entries().is_empty() && entries.all(names_scores)
    };
    Ok(found.own.iter().any(is_flat) || !scored(&found, CONTAINERS).is_empty())
}

/// The names that a reply scores under these keys. A doubted value can contradict.
fn scored(found: &ReplyValues, keys: &[&str]) -> Vec<String> {
    let objects = found.own.iter().chain(&found.doubted);
    let holders = objects.flat_map(|(value, _)| value.all(keys));
    let names = holders.flat_map(|holder| match holder {
        Json::List(items) => {
            let graded = items.iter().filter(|item| is_graded(item));
            graded.filter_map(|item| item.get(NAMES)?.text()).collect::<Vec<_>>()
        }
        object => {
            let graded = object.entries().iter().filter(|(_, item)| is_graded(item));
            graded.map(|(name, _)| name.as_str()).collect()
        }
    });
    names.map(str::to_owned).collect()
}

/// Whether something has a score, or is one.
fn is_graded(item: &Json) -> bool {
    item.number().is_some() || !scores_in(item).is_empty()
}

fn same_points(a: &[DimensionScore], b: &[DimensionScore]) -> bool {
    a.iter().zip(b).all(|(a, b)| a.points == b.points)
}

/// The scored dimensions of a value, or `None` if it is not a verdict at all but some other JSON amid the prose.
fn entries_of<'a>(
    value: &'a Json,
    place: JsonPlace,
    dimensions: &[Dimension],
) -> Option<Vec<ScoreEntry<'a>>> {
    let mut entries = Vec::new();
    let mut verdict = place == JsonPlace::Whole;
    for holder in value.all(CONTAINERS).chain([value]) {
        let items: Vec<_> = match holder {
            Json::List(items) => items.iter().filter_map(|item| listed(item, dimensions)).collect(),
            object => {
                object.entries().iter().filter_map(|(key, item)| keyed(key, item, dimensions)).collect()
            }
        };
        entries.extend(items);
    }
    verdict |= !entries.is_empty();
    verdict.then_some(entries)
}

/// `{"dimension": "correctness", "score": 4, "reasoning": "…"}`
fn listed<'a>(item: &'a Json, dimensions: &[Dimension]) -> Option<ScoreEntry<'a>> {
    Some(ScoreEntry {
        dimension: find_dimension(item.get(NAMES)?.text()?, dimensions)?,
        values: scores_in(item),
        reasoning: reasoning_of(item),
    })
}

/// `"correctness": {"score": 4, "reasoning": "…"}` or `"correctness": 4`
fn keyed<'a>(key: &str, item: &'a Json, dimensions: &[Dimension]) -> Option<ScoreEntry<'a>> {
    Some(ScoreEntry {
        dimension: find_dimension(key, dimensions)?,
        values: match item {
            Json::Object(_) => scores_in(item),
            plain => vec![plain],
        },
        reasoning: reasoning_of(item),
    })
}

fn scores_in(object: &Json) -> Vec<&Json> {
    object.all(SCORES).collect()
}

/// The dimension that `name` means: spelled exactly, or the only one that is the same but for case, spaces,
/// underscores and hyphens.
fn find_dimension(name: &str, dimensions: &[Dimension]) -> Option<usize> {
    if let Some(exact) = dimensions.iter().position(|dimension| dimension.name == name) {
        return Some(exact);
    }
    let wanted = plain(name);
    let mut alike = dimensions.iter().enumerate().filter(|(_, dimension)| plain(&dimension.name) == wanted);
    let (index, _) = alike.next()?;
    alike.next().is_none().then_some(index)
}

/// Exactly one score on the scale for every dimension, in the task's order.
fn scores_of(entries: &[ScoreEntry], dimensions: &[Dimension]) -> Result<Vec<DimensionScore>, Unparsed> {
    let mut slots: Vec<Option<&ScoreEntry>> = vec![None; dimensions.len()];
    for entry in entries {
        if slots[entry.dimension].replace(entry).is_some() {
            return Err(Unparsed::Duplicate(dimensions[entry.dimension].name.clone()));
        }
    }
    let names = dimensions.iter().map(|dimension| &dimension.name);
    let missing: Vec<_> =
        names.zip(&slots).filter(|(_, slot)| slot.is_none()).map(|(name, _)| name.clone()).collect();
    if !missing.is_empty() {
        return Err(Unparsed::MissingDimensions(missing));
    }
    let entries = slots.into_iter().flatten();
    entries
        .map(|entry| {
            let dimension = dimensions[entry.dimension].name.clone();
            let points = points_of(&entry.values, &dimension)?;
            Ok(DimensionScore { dimension, points, reasoning: entry.reasoning.clone() })
        })
        .collect()
}

fn points_of(values: &[&Json], what: &str) -> Result<Points, Unparsed> {
    let value = match values {
        [value] => value.number().ok_or_else(|| Unparsed::NotANumber(what.to_owned()))?,
        [] => return Err(Unparsed::NotANumber(what.to_owned())),
        _ => return Err(Unparsed::Duplicate(what.to_owned())),
    };
    Points::from_score(value).ok_or_else(|| Unparsed::OffScale {
        what: what.to_owned(),
        value,
        scale: Scale::SCORE,
    })
}

/// The reviewer's reasons beside a score; empty if there are none.
pub fn reasoning_of(object: &Json) -> String {
    let text = object.get(REASONS).and_then(Json::text).unwrap_or_default();
    text.trim().to_owned()
}
