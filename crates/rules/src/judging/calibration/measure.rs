//! The measures of one judge or panel, with how sure they are.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::domain::Points;
use crate::judging::calibration::statistics::{
    Confusion, auroc, interval, kendall, mean_error, spearman, wilson,
};

/// Scores beside the truth, item by item.
#[derive(Debug, Clone, Default)]
pub struct Sample {
    groups: Vec<usize>,
    said: Vec<f64>,
    passed: Vec<bool>,
    truth: Vec<f64>,
    good: Vec<bool>,
}

impl Sample {
    /// Takes in one item: what was said, and what people say. Without a score of theirs their verdict is the score.
    pub fn push(&mut self, group: usize, said: Points, passed: bool, truth: Option<Points>, good: bool) {
        self.groups.push(group);
        self.said.push(said.to_f64());
        self.passed.push(passed);
        let by_verdict = if good { 100.0 } else { 20.0 };
        self.truth.push(truth.map_or(by_verdict, Points::to_f64));
        self.good.push(good);
    }

    /// How many items there are.
    pub fn len(&self) -> usize {
        self.said.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.said.is_empty()
    }

    /// Pass and fail at another bar than the one it was made with.
    pub fn at_bar(&self, bar: Points) -> Confusion {
        let bar = bar.to_f64();
        Confusion::of(self.said.iter().map(|said| *said >= bar), &self.good)
    }

    fn values(&self) -> MeasureValues {
        let verdicts = Confusion::of(self.passed.iter().copied(), &self.good);
        [
            spearman(&self.said, &self.truth),
            kendall(&self.said, &self.truth),
            // Scores are compared on the scale from 1 to 5.
            mean_error(&self.said, &self.truth).map(|error| error / 20.0),
            verdicts.accuracy(),
            verdicts.false_pass_rate(),
            auroc(&self.said, &self.good),
            verdicts.kappa(),
            verdicts.false_fail_rate(),
        ]
    }

    fn resampled(&self, by_group: &[Vec<usize>], random: &mut Random) -> Self {
        let mut sample = Self::default();
        for _ in 0..by_group.len() {
            for index in &by_group[random.below(by_group.len())] {
                sample.said.push(self.said[*index]);
                sample.passed.push(self.passed[*index]);
                sample.truth.push(self.truth[*index]);
                sample.good.push(self.good[*index]);
            }
        }
        sample
    }

    /// The measures, each with its bootstrap interval over `rounds` resamples of whole groups. The same seed gives the
    /// same intervals.
    pub fn measures(&self, rounds: u32, seed: u64) -> Measures {
        let values = self.values();
        let mut drawn: [Vec<f64>; 8] = Default::default();
        let by_group = self.by_group();
        let mut random = Random(seed);
        // One group resampled is always itself: there is nothing to learn from it.
        let rounds = if by_group.len() > 1 { rounds } else { 0 };
        for _ in 0..rounds {
            let resampled = self.resampled(&by_group, &mut random).values();
            for (drawn, value) in drawn.iter_mut().zip(resampled) {
                drawn.extend(value);
            }
        }
        let mut drawn = drawn.into_iter().map(interval);
        let estimates = values.map(|value| {
            let interval = drawn.next().flatten();
            value.map(|value| Estimate::of(value, interval))
        });
        let [spearman, kendall, mae, accuracy, false_pass_rate, auroc, kappa, false_fail_rate] = estimates;
        Measures {
            items: self.len(),
            spearman,
            kendall,
            mae,
            accuracy,
            false_pass_rate,
            false_fail_rate,
            auroc,
            kappa,
        }
    }

    fn by_group(&self) -> Vec<Vec<usize>> {
        let mut by_group: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (index, group) in self.groups.iter().enumerate() {
            by_group.entry(*group).or_default().push(index);
        }
        by_group.into_values().collect()
    }
}

type MeasureValues = [Option<f64>; 8];

/// A value, and the middle 95 % of what resamples of the rows give; four decimals, more than any is sure of.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Estimate {
    /// The value over all rows.
    pub value: f64,
    /// Lower and upper end; `null` where too few resamples have a value.
    pub interval: Option<(f64, f64)>,
}

impl Estimate {
    /// A rounded value with its interval.
    pub fn of(value: f64, interval: Option<(f64, f64)>) -> Self {
        Self { value: rounded(value), interval: interval.map(|(low, high)| (rounded(low), rounded(high))) }
    }
}

/// A share with its 95 % interval (Wilson's); `None` of nothing.
pub fn share_of(part: u64, all: u64) -> Option<Estimate> {
    const Z: f64 = 1.959_963_984_5;
    let share = part as f64 / all as f64;
    (all > 0).then(|| Estimate::of(share, Some(wilson(share, all as f64, Z))))
}

/// Rounds to four decimals.
pub fn rounded(value: f64) -> f64 {
    (value * 10_000.0).round() / 10_000.0
}

/// How one judge or panel did against people. `None` where the rows do not say.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Measures {
    /// The number of items that were compared.
    pub items: usize,
    /// Spearman's ρ of the scores.
    pub spearman: Option<Estimate>,
    /// Kendall's τ-b of the scores.
    pub kendall: Option<Estimate>,
    /// The mean distance of the scores, from 1 to 5.
    pub mae: Option<Estimate>,
    /// The share of right verdicts at the bar.
    pub accuracy: Option<Estimate>,
    /// The share of bad work that passed the bar.
    pub false_pass_rate: Option<Estimate>,
    /// The share of good work that missed the bar.
    pub false_fail_rate: Option<Estimate>,
    /// The area under the ROC curve: good work above bad.
    pub auroc: Option<Estimate>,
    /// Cohen's κ of the verdicts at the bar.
    pub kappa: Option<Estimate>,
}

/// SplitMix64: numbers that look random and are the same for the same seed, on every machine.
pub struct Random(pub u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`, which is not 0. The bias of the remainder is far below what a resample shows.
    pub fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).expect("less than a usize")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Sample {
        let mut sample = Sample::default();
        for index in 0..60u8 {
            let truth = Points::whole(20 + index);
            let said = Points::whole(if index % 7 == 0 { 90 } else { 20 + index });
            sample.push(
                usize::from(index / 3),
                said,
                said >= Points::whole(60),
                Some(truth),
                truth >= Points::whole(60),
            );
        }
        sample
    }

    #[test]
    fn a_share_of_few_is_unsure_and_of_nothing_is_none() {
        assert_eq!(share_of(0, 0), None);
        let ends = |part, all| share_of(part, all).unwrap().interval.unwrap();
        // The figures of Wilson's formula, as textbooks have them.
        assert_eq!((ends(0, 10), ends(5, 10)), ((0.0, 0.2775), (0.2366, 0.7634)));
        assert_eq!(ends(900, 1_000), (0.8798, 0.9171));
    }

    #[test]
    fn the_same_seed_gives_the_same_intervals_around_the_value() {
        let measures = sample().measures(200, 7);
        assert_eq!(measures, sample().measures(200, 7));
        let rho = measures.spearman.unwrap();
        let (low, high) = rho.interval.unwrap();
        assert!(low < rho.value && rho.value < high, "{rho:?}");
        assert!(high - low > 0.01, "the rows differ: {rho:?}");
        // A suggestion must not change with the machine, nor with a release: the very numbers.
        let ends = |estimate: Option<Estimate>| {
            let (low, high) = estimate.and_then(|estimate| estimate.interval).unwrap();
            format!("{low:.6} {high:.6}")
        };
        let all = [
            measures.spearman,
            measures.kendall,
            measures.mae,
            measures.accuracy,
            measures.false_pass_rate,
            measures.auroc,
            measures.kappa,
            measures.false_fail_rate,
        ];
        insta::assert_snapshot!(all.map(ends).join("\n"));
    }

    #[test]
    fn two_groups_are_enough_to_learn_from() {
        let mut sample = Sample::default();
        assert!(sample.is_empty());
        for (group, said, good) in [(0, 100, true), (5, 20, false), (5, 100, true), (0, 20, false)] {
            sample.push(group, Points::whole(said), said > 60, None, good);
        }
        assert!(!sample.is_empty());
        let measures = sample.measures(50, 1);
        assert!(measures.spearman.unwrap().interval.is_some());
        // A verdict without a score stands for the best or the worst one.
        assert_eq!(measures.mae.unwrap().value, 0.0);
    }

    #[test]
    fn one_group_says_nothing_about_others() {
        let mut one = Sample::default();
        for index in 0..30u8 {
            one.push(0, Points::whole(20 + index), false, None, index > 3);
        }
        let measures = one.measures(100, 1);
        assert!(measures.auroc.unwrap().interval.is_none());
        assert_eq!(measures.items, 30);
    }

    #[test]
    fn bad_work_that_passes_is_counted_among_bad_work() {
        let mut sample = Sample::default();
        for (said, good) in [(90, true), (90, false), (30, false), (30, false)] {
            sample.push(0, Points::whole(said), said >= 60, None, good);
        }
        let measures = sample.measures(0, 0);
        assert_eq!(measures.false_pass_rate.unwrap().value, 0.3333);
        assert!((measures.accuracy.unwrap().value - 0.75).abs() < 1e-9);
        assert_eq!(sample.at_bar(Points::whole(95)).bad_passed, 0);
    }
}
