//! Judges held against people: what their recorded scores are worth, alone and as a panel (`quorum calibrate`).
//!
//! A row that a judge gave no readable score for counts for that judge as the lowest score: a judge that cannot be read
//! lets nothing pass. In a panel such a seat is left out, as in a run.
//!
//! | file | what |
//! |---|---|
//! | `evaluate` | every judge and panel of a set against its people |
//! | `fit` | what a score says of the work: P(good), the bar that few bad ones pass, drift |
//! | `measure` | the measures of one judge or panel, with how sure they are |
//! | `panel` | what a panel of recorded judges would have said |
//! | `rows` | rows of labelled, recorded judgements: one JSON object a line |
//! | `statistics` | how well numbers agree: rank correlation, error, agreement beyond chance |
//! | `stored` | fits as they are stored beside a mission |
//! | `suggest` | which seats and which bar the recorded rows speak for |

mod evaluate;
mod fit;
mod measure;
mod panel;
mod rows;
pub mod statistics;
mod stored;
mod suggest;

pub use evaluate::{EvaluatedJudge, Evaluation, EvaluationSettings, MOST_JUDGES, cases, evaluate, steps};
pub use fit::{Drift, FEW, Figures, Fit, LabelledWork, Unfit, reliability, roc};
pub use measure::{Estimate, Measures, Random, Sample, rounded, share_of};
pub use panel::{Skips, consensus_points, skips};
pub use rows::{Collector, ReviewerView, row_key, shown};
pub use stored::{StoredFit, StoredFits, StoredSeat};
pub use suggest::{Suggestion, suggest};

use rust_decimal::Decimal;

use crate::domain::{Digest, Dimension, Points};

/// Rows that were judged by the same scale of dimensions: what is compared with each other.
#[derive(Debug, Clone, PartialEq)]
pub struct LabelSet {
    /// The name of the set: the rows' `source`.
    pub name: String,
    /// The scored dimensions.
    pub dimensions: Vec<Dimension>,
    /// The names of the judges.
    pub judges: Vec<String>,
    /// The items, one for each row.
    pub items: Vec<CalibrationItem>,
}

/// One piece of work that people and judges looked at.
#[derive(Debug, Clone, PartialEq)]
pub struct CalibrationItem {
    /// The row that it stands in, whoever judged it.
    pub row: Digest,
    /// The document, dialogue or project that it belongs to: items of one group are not independent.
    pub group: usize,
    /// The label of the item.
    pub truth: Truth,
    /// The reply of each judge, in the order of the set's judges; `None` where it was not asked.
    pub says: Vec<Option<Say>>,
}

/// The label of a piece of work by people, tests or experts.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Truth {
    /// The score of the label, where it has one.
    pub points: Option<Points>,
    /// The score of each dimension; `None` where the label has none.
    pub dimensions: Vec<Option<Points>>,
    /// The verdict of the label, where it has no score.
    pub good: Option<bool>,
}

impl Truth {
    /// Whether the work is good: as they said, or because their score reaches the bar.
    pub fn is_good(&self, bar: Points) -> Option<bool> {
        self.good.or_else(|| self.points.map(|points| points >= bar))
    }
}

/// The reply of one judge about one piece of work.
#[derive(Debug, Clone, PartialEq)]
pub struct Say {
    /// One for each dimension, in their order; `None` where nothing could be read.
    pub dimensions: Vec<Option<Points>>,
    /// Replies that could be read by our own parser.
    pub read: u32,
    /// Replies that it left unread and the recording has a score for.
    pub recorded: u32,
    /// As whom the judge was asked, where that is on record.
    pub asked: Option<Digest>,
}

impl Say {
    /// The scores, if there is one for every dimension.
    pub fn complete(&self) -> Option<Vec<Points>> {
        self.dimensions.iter().copied().collect()
    }
}

impl LabelSet {
    /// The points that one judge's scores of an item come to; `None` where it gave none.
    pub fn points_of(&self, item: &CalibrationItem, judge: usize) -> Option<Points> {
        let scores = item.says.get(judge)?.as_ref()?.complete()?;
        let parts = scores.into_iter().zip(self.dimensions.iter().map(|dimension| dimension.weight));
        Points::weighted_mean(parts)
    }

    /// The items that all these judges were asked about.
    pub fn items_of<'a>(&'a self, judges: &'a [usize]) -> impl Iterator<Item = &'a CalibrationItem> {
        let asked =
            |item: &CalibrationItem, judge: &usize| item.says.get(*judge).is_some_and(Option::is_some);
        self.items.iter().filter(move |item| judges.iter().all(|judge| asked(item, judge)))
    }
}

/// The points of a value on a scale: its lowest value is 1 of 5, its highest 5 of 5. `None` off the scale.
pub fn on_scale(value: Decimal, low: Decimal, high: Decimal) -> Option<Points> {
    let share = value.checked_sub(low)?.checked_div(high.checked_sub(low)?)?;
    let score = share.checked_mul(Decimal::from(4))?.checked_add(Decimal::ONE)?;
    Points::from_score(score)
}

/// The lowest score there is: 1 of 5.
pub fn lowest() -> Points {
    Points::whole(20)
}
