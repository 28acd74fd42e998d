//! What a panel of recorded judges would have said, and how often its last seat need not have been asked.

use crate::domain::{DimensionScore, Points};
use crate::judging::consensus::{SeatScores, is_decided, merge};
use crate::mission::model::Consensus;

use super::{CalibrationItem, LabelSet, Say};

/// The points that the panel gives an item by a rule; `None` where no seat could be read.
pub fn consensus_points(
    set: &LabelSet,
    item: &CalibrationItem,
    panel: &[usize],
    rule: Consensus,
) -> Option<Points> {
    merge(&seats(set, item, panel), &set.dimensions, rule).points
}

fn seats(set: &LabelSet, item: &CalibrationItem, panel: &[usize]) -> Vec<SeatScores> {
    let said = panel.iter().filter_map(|judge| item.says.get(*judge)?.as_ref());
    said.filter_map(|say| seat(set, say)).collect()
}

/// A seat's scores; `None` if one of them could not be read: then the seat failed, as in a run.
fn seat(set: &LabelSet, say: &Say) -> Option<SeatScores> {
    let scores = say.complete()?.into_iter().zip(&set.dimensions);
    Some(SeatScores {
        scores: scores
            .map(|(points, dimension)| DimensionScore {
                dimension: dimension.name.clone(),
                points,
                reasoning: String::new(),
            })
            .collect(),
    })
}

/// How an adaptive panel of three would have done (section 7).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Skips {
    /// With the seats in the order in which they were named.
    pub in_order: Skipped,
    /// With each of the three asked last in turn.
    pub in_any_order: Skipped,
}

/// How often the last seat need not have been asked.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Skipped {
    /// The number of panels that were looked at.
    pub panels: u32,
    /// Panels whose third seat could not have changed the verdict.
    pub skipped: u32,
    /// Panels among those whose verdict with the third seat is another one. Always 0, or the rule is wrong.
    pub changed: u32,
}

impl Skipped {
    /// The share of third calls that need not have been made.
    pub fn rate(self) -> Option<f64> {
        (self.panels > 0).then(|| f64::from(self.skipped) / f64::from(self.panels))
    }

    /// Takes in one panel: the verdict that stood before its third seat, and the one with it.
    fn count(&mut self, decided: Option<bool>, with_all: bool) {
        self.panels += 1;
        self.skipped += u32::from(decided.is_some());
        self.changed += u32::from(decided.is_some_and(|verdict| verdict != with_all));
    }
}

/// Plays an adaptive panel on every item. Panels of another size have no third seat, and where a seat could not be read
/// there is nobody to leave out.
pub fn skips(set: &LabelSet, panel: &[usize], rule: Consensus, bar: Points) -> Skips {
    let mut counts = Skips::default();
    if panel.len() != 3 {
        return counts;
    }
    for item in set.items_of(panel) {
        let seats = seats(set, item, panel);
        if seats.len() != 3 {
            continue;
        }
        let with_all = merge(&seats, &set.dimensions, rule).points;
        let with_all = with_all.is_some_and(|points| points >= bar);
        for last in 0..3 {
            let mut first = seats.clone();
            first.remove(last);
            let decided = is_decided(&first, 1, &set.dimensions, rule, bar);
            counts.in_any_order.count(decided, with_all);
            if last == 2 {
                counts.in_order.count(decided, with_all);
            }
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_that_the_third_seat_changes_are_counted() {
        let mut counts = Skipped::default();
        for (decided, with_all) in
            [(None, true), (Some(true), true), (Some(true), false), (Some(false), true)]
        {
            counts.count(decided, with_all);
        }
        assert_eq!((counts.panels, counts.skipped, counts.changed), (4, 3, 2));
        assert_eq!(counts.rate(), Some(0.75));
        assert_eq!(Skipped::default().rate(), None);
    }
}
