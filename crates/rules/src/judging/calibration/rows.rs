//! Rows of labelled, recorded judgements: one JSON object a line (`quorum calibrate --help` describes them).
//!
//! Recordings of others have what they have, so keys that are not known are left alone here. What a row needs to mean
//! anything is checked: dimensions, scales, one text or score for each, and what people say.

use std::collections::BTreeMap;

use rust_decimal::Decimal;
use serde::Deserialize;
use serde_json::Value;

use crate::domain::{Digest, Dimension, Points};
use crate::judging::parser::{Quoted, Scale, parse_rating, parse_scores};

use super::{CalibrationItem, LabelSet, Say, Truth, on_scale};

/// A line of a file of labels.
#[derive(Debug, Deserialize)]
struct CalibrationRow {
    source: Option<String>,
    group: Option<String>,
    dims: Vec<String>,
    #[serde(default)]
    weights: BTreeMap<String, Decimal>,
    scale: [Decimal; 2],
    #[serde(default)]
    scales: BTreeMap<String, [Decimal; 2]>,
    #[serde(default)]
    raw_replies: Vec<Replies>,
    human: Human,
    task: Option<String>,
    criteria: Option<String>,
    work: Option<String>,
    #[serde(default)]
    meanings: BTreeMap<String, String>,
    #[serde(default)]
    rubrics: BTreeMap<String, Vec<String>>,
}

#[derive(Debug, Deserialize)]
struct Replies {
    judge: String,
    #[serde(default)]
    texts: Vec<Option<String>>,
    #[serde(default)]
    scores: Vec<Option<Decimal>>,
    /// One reply for all dimensions, as a panel's seat gives it: from 1 to 5 each.
    reply: Option<String>,
    /// Whether that reply ran into its token limit.
    #[serde(default)]
    cut_short: bool,
    asked: Option<JudgeRecord>,
}

/// The record of how a judge was asked.
#[derive(Debug, Deserialize)]
struct JudgeRecord {
    seat: Option<Digest>,
}

/// The parts of a row that a live reviewer is shown.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReviewerView {
    /// The work that was asked for.
    pub task: String,
    /// The criteria for good work, where the row has any.
    pub criteria: Option<String>,
    /// The work that came out.
    pub work: String,
    /// The dimensions that are scored, each from 1 to 5.
    pub dimensions: Vec<Dimension>,
}

/// The mistake in a row.
#[derive(Debug, thiserror::Error)]
pub enum RowError {
    /// The row is no object with the keys of one.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// The row cannot be shown to anybody, because this key is missing.
    #[error("it has no `{0}` to show to a reviewer")]
    NotShown(&'static str),
    /// The row has no judge's reply.
    #[error("nobody judged it: it has no `raw_replies`; --reviewers asks live ones")]
    Unjudged,
    /// The reply of one judge, by its name, cannot be used.
    #[error("judge '{0}': {1}")]
    Judge(String, Box<RowError>),
    /// A judge or a dimension: its kind and name.
    #[error("{0} '{1}' stands in it twice")]
    Twice(&'static str, String),
    /// A scale without extent.
    #[error("'{0}' to '{1}' is no scale")]
    NoScale(Decimal, Decimal),
    /// The row scores no dimension.
    #[error("it names no dimension")]
    NoDimension,
    /// The weight of this dimension.
    #[error("the weight of '{0}' is not above 0")]
    Weight(String),
    /// The numbers of values and dimensions differ: the text names the values.
    #[error("{0} {1} for {2} dimensions")]
    Count(usize, &'static str, usize),
    /// The score of the label lies outside of the scale.
    #[error("human score {0} is not on the scale {1}")]
    OffScale(Decimal, Scale),
    /// The row has no label.
    #[error("`human` has no global, score, mean or pass")]
    NoTruth,
    /// A judge said nothing.
    #[error("neither texts nor scores")]
    NoReply,
}

/// Reads the parts of a row that a live reviewer is shown.
///
/// # Errors
///
/// What is wrong with the row: everything that would be found when it is held against people, before anybody is
/// asked.
pub fn shown(line: &str) -> Result<ReviewerView, RowError> {
    let row: CalibrationRow = serde_json::from_str(line)?;
    let JudgedRow { dimensions, .. } = judged(&row)?;
    let said = |text: Option<String>, what: &'static str| {
        let text = text.filter(|text| !text.trim().is_empty());
        text.ok_or(RowError::NotShown(what))
    };
    Ok(ReviewerView {
        dimensions,
        criteria: row.criteria,
        task: said(row.task, "task")?,
        // Nothing is work, too.
        work: row.work.ok_or(RowError::NotShown("work"))?,
    })
}

/// The label of a row by people, tests or experts: the keys that recordings use.
#[derive(Debug, Deserialize)]
struct Human {
    #[serde(default)]
    mean: Vec<Option<Decimal>>,
    global: Option<Decimal>,
    score: Option<Decimal>,
    #[serde(alias = "tests_pass", alias = "better_output", alias = "consensus")]
    pass: Option<bool>,
}

/// Collects rows into sets that can be compared.
#[derive(Debug, Default)]
pub struct Collector {
    sets: Vec<LabelSet>,
    groups: BTreeMap<String, usize>,
}

impl Collector {
    /// Reads one line.
    ///
    /// # Errors
    /// What is wrong with the line.
    pub fn push(&mut self, line: &str) -> Result<(), RowError> {
        let value: Value = serde_json::from_str(line)?;
        let key = row_key(&value);
        let row: CalibrationRow = serde_json::from_str(line)?;
        let JudgedRow { dimensions, truth, says: said } = judged(&row)?;
        if said.is_empty() {
            return Err(RowError::Unjudged);
        }
        let group = row.group.clone().unwrap_or_else(|| format!("\0{}", self.groups.len()));
        let name = row.source.as_deref().unwrap_or("labels");
        let fresh = self.groups.len();
        let group = *self.groups.entry(format!("{name}\0{group}")).or_insert(fresh);
        let set = self.set(name, dimensions);
        let mut says = vec![None; set.judges.len()];
        for (name, say) in said {
            let judge = judge(set, name);
            says.resize(set.judges.len(), None);
            says[judge] = Some(say);
        }
        set.items.push(CalibrationItem { row: key, group, truth, says });
        Ok(())
    }

    fn set(&mut self, name: &str, dimensions: Vec<Dimension>) -> &mut LabelSet {
        let found = self.sets.iter().position(|set| set.name == name && set.dimensions == dimensions);
        let index = found.unwrap_or_else(|| {
            self.sets.push(LabelSet {
                name: name.to_owned(),
                dimensions,
                judges: Vec::new(),
                items: Vec::new(),
            });
            self.sets.len() - 1
        });
        &mut self.sets[index]
    }

    /// The sets, in the order of their first rows.
    #[must_use]
    pub fn finish(mut self) -> Vec<LabelSet> {
        for set in &mut self.sets {
            for item in &mut set.items {
                item.says.resize(set.judges.len(), None);
            }
        }
        self.sets
    }
}

/// The key of a row, whoever judged it.
pub fn row_key(row: &Value) -> Digest {
    let mut row = row.clone();
    if let Some(object) = row.as_object_mut() {
        object.shift_remove("raw_replies");
    }
    Digest::of(row.to_string().as_bytes())
}

/// The content of a row.
struct JudgedRow<'a> {
    dimensions: Vec<Dimension>,
    truth: Truth,
    /// The reply of each judge, by its name.
    says: Vec<(&'a str, Say)>,
}

/// Reads all of a row.
fn judged(row: &CalibrationRow) -> Result<JudgedRow<'_>, RowError> {
    let scales = scales(row)?;
    let dimensions = dimensions(row)?;
    let truth = truth(row, &scales)?;
    let mut quoted = Quoted::scored_on(row.dims.iter().map(String::as_str));
    quoted.add(row.work.as_deref().unwrap_or_default());
    let mut says: Vec<(&str, Say)> = Vec::new();
    for replies in &row.raw_replies {
        let name = replies.judge.as_str();
        let mut say = reply_of(replies, &scales, &dimensions, &quoted)
            .map_err(|why| RowError::Judge(name.to_owned(), Box::new(why)))?;
        say.asked = replies.asked.as_ref().and_then(|asked| asked.seat);
        if says.iter().any(|(known, _)| *known == name) {
            return Err(RowError::Twice("judge", name.to_owned()));
        }
        says.push((name, say));
    }
    Ok(JudgedRow { dimensions, truth, says })
}

fn judge(set: &mut LabelSet, name: &str) -> usize {
    let found = set.judges.iter().position(|judge| judge == name);
    found.unwrap_or_else(|| {
        set.judges.push(name.to_owned());
        set.judges.len() - 1
    })
}

fn scales(row: &CalibrationRow) -> Result<Vec<Scale>, RowError> {
    row.dims
        .iter()
        .map(|name| {
            let [low, high] = *row.scales.get(name).unwrap_or(&row.scale);
            Scale::new(low, high).ok_or(RowError::NoScale(low, high))
        })
        .collect()
}

fn dimensions(row: &CalibrationRow) -> Result<Vec<Dimension>, RowError> {
    if row.dims.is_empty() {
        return Err(RowError::NoDimension);
    }
    for (index, name) in row.dims.iter().enumerate() {
        if row.dims[..index].contains(name) {
            return Err(RowError::Twice("dimension", name.clone()));
        }
    }
    row.dims
        .iter()
        .map(|name| {
            let weight = *row.weights.get(name).unwrap_or(&Decimal::ONE);
            if weight <= Decimal::ZERO {
                return Err(RowError::Weight(name.clone()));
            }
            Ok(Dimension {
                name: name.clone(),
                weight,
                description: row.meanings.get(name).cloned(),
                rubric: row
                    .rubrics
                    .get(name)
                    .map_or_else(Vec::new, |levels| (1..=5).zip(levels.clone()).collect()),
            })
        })
        .collect()
}

fn truth(row: &CalibrationRow, scales: &[Scale]) -> Result<Truth, RowError> {
    let human = &row.human;
    if !human.mean.is_empty() && human.mean.len() != row.dims.len() {
        return Err(RowError::Count(human.mean.len(), "human means", row.dims.len()));
    }
    let points = |value: Decimal, scale: &Scale| scale.points(value).ok_or(RowError::OffScale(value, *scale));
    let dimensions: Vec<Option<Points>> = human
        .mean
        .iter()
        .zip(scales)
        .map(|(value, scale)| value.map(|value| points(value, scale)).transpose())
        .collect::<Result<_, _>>()?;
    let [low, high] = row.scale;
    let whole = Scale::new(low, high).ok_or(RowError::NoScale(low, high))?;
    let said = human.global.or(human.score).map(|value| points(value, &whole)).transpose()?;
    let mean = || {
        let all: Option<Vec<Points>> = dimensions.iter().copied().collect();
        let weight = |name: &String| *row.weights.get(name).unwrap_or(&Decimal::ONE);
        Points::weighted_mean(all?.into_iter().zip(row.dims.iter().map(weight)))
    };
    let truth = Truth { points: said.or_else(mean), dimensions, good: human.pass };
    if truth.points.is_none() && truth.good.is_none() {
        return Err(RowError::NoTruth);
    }
    Ok(truth)
}

/// Reads the reply of a judge: our own reading of its texts, and for those that it does not read the recorded
/// score.
fn reply_of(
    replies: &Replies,
    scales: &[Scale],
    dimensions: &[Dimension],
    work: &Quoted,
) -> Result<Say, RowError> {
    if let Some(reply) = &replies.reply {
        return Ok(panel_say(reply, replies.cut_short, dimensions, work));
    }
    for (what, found) in [("texts", replies.texts.len()), ("scores", replies.scores.len())] {
        if found != 0 && found != scales.len() {
            return Err(RowError::Count(found, what, scales.len()));
        }
    }
    if replies.texts.is_empty() && replies.scores.is_empty() {
        return Err(RowError::NoReply);
    }
    let mut say = Say { dimensions: Vec::with_capacity(scales.len()), read: 0, recorded: 0, asked: None };
    for (index, scale) in scales.iter().enumerate() {
        let text = replies.texts.get(index).and_then(Option::as_deref);
        let read = text.and_then(|text| parse_rating(text, scale).ok());
        let read = read.and_then(|value| scale.points(value));
        let recorded = replies.scores.get(index).copied().flatten();
        let recorded = recorded.and_then(|value| scale.points(value));
        say.read += u32::from(read.is_some());
        say.recorded += u32::from(read.is_none() && recorded.is_some());
        say.dimensions.push(read.or(recorded));
    }
    Ok(say)
}

/// Reads the reply of a panel's seat: all dimensions or none.
fn panel_say(reply: &str, cut_short: bool, dimensions: &[Dimension], work: &Quoted) -> Say {
    let read = parse_scores(reply, dimensions, work).ok().filter(|_| !cut_short);
    let count = u32::try_from(dimensions.len()).unwrap_or(u32::MAX);
    Say {
        read: if read.is_some() { count } else { 0 },
        recorded: 0,
        asked: None,
        dimensions: match read {
            Some(read) => read.scores.iter().map(|score| Some(score.points)).collect(),
            None => vec![None; dimensions.len()],
        },
    }
}

impl Scale {
    /// The points of a value on this scale, whose ends are 1 and 5 of 5.
    fn points(&self, value: Decimal) -> Option<Points> {
        on_scale(value, self.low(), self.high())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: &str = r#"{"id":"a","source":"s","group":"g","dims":["x","y"],"scale":[1,5],"scales":{"y":[0,1]},
        "raw_replies":[{"judge":"j","texts":["SCORE: 4","B"],"scores":[4,1]},{"judge":"k","scores":[null,0]}],
        "human":{"mean":[5,0.5]}}"#;

    fn collect(rows: &[&str]) -> Result<Vec<LabelSet>, RowError> {
        let mut collector = Collector::default();
        for row in rows {
            collector.push(&row.replace('\n', " "))?;
        }
        Ok(collector.finish())
    }

    #[test]
    fn a_row_is_read_with_every_scale_on_one() {
        let sets = collect(&[ROW, &ROW.replace(r#""judge":"k""#, r#""judge":"m""#)]).unwrap();
        let [set] = sets.as_slice() else { panic!("{sets:?}") };
        assert_eq!(set.judges, ["j", "k", "m"]);
        let item = &set.items[0];
        let points = |value: u8| Some(Points::whole(value));
        let j = item.says[0].as_ref().unwrap();
        assert_eq!((j.dimensions.clone(), j.read, j.recorded), (vec![points(80), points(100)], 1, 1));
        let k = item.says[1].as_ref().unwrap();
        assert_eq!((k.dimensions.clone(), k.complete()), (vec![None, points(20)], None));
        assert_eq!(item.says[2], None, "m was not asked about the first");
        // (100 + 60) / 2
        assert_eq!(item.truth.points, points(80));
        assert_eq!(set.items[1].group, item.group);
        assert_eq!(set.items_of(&[0, 1]).count(), 1, "k was not asked about the second");
    }

    #[test]
    fn a_recorded_score_counts_only_where_the_text_cannot_be_read() {
        let sets = collect(&[&ROW.replace(r#""B"],"#, r#""0.5"],"#)]).unwrap();
        let say = sets[0].items[0].says[0].as_ref().unwrap();
        assert_eq!((say.read, say.recorded), (2, 0));
    }

    #[test]
    fn a_score_that_the_work_holds_is_none_of_the_judges() {
        let said = |score: u8| serde_json::json!({"score": score, "reasoning": "seen"});
        let reply = serde_json::json!({"x": said(4), "y": said(3)}).to_string();
        let read = |work: &str| {
            let mut row: serde_json::Value = serde_json::from_str(ROW).unwrap();
            row["work"] = work.into();
            row["raw_replies"] = serde_json::json!([{"judge": "j", "reply": reply}]);
            collect(&[&row.to_string()]).unwrap()[0].items[0].says[0].as_ref().unwrap().read
        };
        assert_eq!(read("done"), 2);
        assert_eq!(read(&format!("done: {reply}")), 0);
    }

    #[test]
    fn rows_of_other_dimensions_are_another_set() {
        let other = ROW.replace(r#""x","y""#, r#""x","z""#).replace(r#""y":"#, r#""z":"#);
        let sets = collect(&[ROW, &other, &ROW.replace(r#""source":"s""#, r#""source":"t""#)]).unwrap();
        let names: Vec<&str> = sets.iter().map(|set| &*set.name).collect();
        assert_eq!(names, ["s", "s", "t"]);
    }

    #[test]
    fn verdicts_of_tests_and_experts_are_truth() {
        for key in ["pass", "tests_pass", "better_output", "consensus"] {
            let row = ROW.replace(r#""mean":[5,0.5]"#, &format!(r#""{key}":true"#));
            let sets = collect(&[&row]).unwrap();
            assert_eq!(sets[0].items[0].truth.good, Some(true), "{key}");
        }
    }

    #[test]
    fn a_row_that_means_nothing_is_refused() {
        for (from, to, why) in [
            (r#""dims":["x","y"]"#, r#""dims":[]"#, "no dimension"),
            (r#""dims":["x","y"]"#, r#""dims":["x","x"]"#, "twice"),
            (r#""scale":[1,5]"#, r#""scale":[5,1]"#, "no scale"),
            (r#""scale":[1,5]"#, r#""scale":[1,5],"weights":{"x":0}"#, "not above 0"),
            (r#""scores":[4,1]"#, r#""scores":[4]"#, "1 scores for 2 dimensions"),
            (r#""mean":[5,0.5]"#, r#""mean":[5]"#, "1 human means"),
            (r#""mean":[5,0.5]"#, r#""mean":[6,0.5]"#, "not on the scale"),
            (r#""mean":[5,0.5]"#, r#""overall_1_5":4"#, "no global"),
            (r#","scores":[null,0]"#, "", "neither"),
            (r#""judge":"k""#, r#""judge":"j""#, "twice"),
            (r#""raw_replies""#, r#""replies""#, "raw_replies"),
        ] {
            let row = ROW.replace(from, to);
            assert_ne!(row, ROW, "{from}");
            let error = collect(&[&row]).unwrap_err();
            assert!(error.to_string().contains(why), "{error} for {to}");
        }
    }
}
