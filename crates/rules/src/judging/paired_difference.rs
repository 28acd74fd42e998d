//! The difference between two runs over the tasks that both have (semantics, section 14, run against run).

use super::calibration::{Estimate, Random, statistics::interval};
use crate::domain::Points;
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;

/// How often tasks are drawn anew for an interval.
const ROUNDS: u32 = 2_000;
/// Where the draws begin: the same two runs have the same interval on every machine.
const SEED: u64 = 14;

/// How far the scores of a run lie above those of another, over the tasks that are scored in both.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairedDifference {
    /// How many tasks are scored in both runs.
    pub pairs: usize,
    /// The mean difference in points, exact to twelve decimals: above 0 where the later run is better.
    pub mean: Decimal,
    /// The mean for people, with the middle 95 % of what the tasks give when they are drawn anew. Without an interval for one task.
    pub estimate: Estimate,
}

impl PairedDifference {
    /// The difference of the points before and now of each task; `None` without a task.
    pub fn of(pairs: &[(Points, Points)]) -> Option<Self> {
        let differences: Vec<Decimal> =
            pairs.iter().map(|(before, now)| now.value() - before.value()).collect();
        let sum: Decimal = differences.iter().sum();
        let mean = sum.checked_div(Decimal::from(pairs.len()))?.round_dp(12);
        let floats: Vec<f64> = differences.iter().filter_map(ToPrimitive::to_f64).collect();
        let estimate = Estimate::of(mean.to_f64()?, resampled(&floats));
        Some(Self { pairs: pairs.len(), mean, estimate })
    }
}

/// The interval of the mean. One task that is drawn anew is always itself: there is nothing to learn from it.
fn resampled(differences: &[f64]) -> Option<(f64, f64)> {
    let count = differences.len();
    if count < 2 {
        return None;
    }
    let mut random = Random(SEED);
    let mean = |random: &mut Random| {
        let sum: f64 = (0..count).map(|_| differences[random.below(count)]).sum();
        sum / count as f64
    };
    interval((0..ROUNDS).map(|_| mean(&mut random)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(value: f64) -> Points {
        Points::new(Decimal::try_from(value.clamp(0.0, 100.0)).unwrap().round_dp(2)).unwrap()
    }

    #[test]
    fn the_mean_is_exact_and_one_task_has_no_interval() {
        let pairs =
            [(points(80.0), points(70.1)), (points(60.0), points(60.0)), (points(50.0), points(50.0))];
        let found = PairedDifference::of(&pairs).unwrap();
        assert_eq!((found.pairs, found.mean), (3, Decimal::new(-33, 1)));
        assert_eq!(PairedDifference::of(&pairs[..1]).unwrap().estimate.interval, None);
        assert_eq!(PairedDifference::of(&[]), None);
        assert_eq!(found, PairedDifference::of(&pairs).unwrap(), "the same runs have the same interval");
    }

    /// Simulated judges: a task is worth something, each look at it is off by some points, and the later run is better by three.
    #[test]
    fn the_interval_holds_the_true_difference_in_95_of_100_pairs_of_runs() {
        const TRUE: f64 = 3.0;
        let mut random = Random(7);
        // Nearly normal around 0, and never further away than `reach`.
        let mut noise = |reach: f64| {
            let draws: f64 = (0..4).map(|_| random.below(2_001) as f64 / 1_000.0 - 1.0).sum();
            draws / 4.0 * reach
        };
        let mut held = 0;
        for _ in 0..1_000 {
            let pairs: Vec<(Points, Points)> = (0..50)
                .map(|_| {
                    let worth = 60.0 + noise(40.0);
                    (points(worth + noise(24.0)), points(worth + TRUE + noise(24.0)))
                })
                .collect();
            let (low, high) = PairedDifference::of(&pairs).unwrap().estimate.interval.unwrap();
            held += u32::from(low <= TRUE && TRUE <= high);
        }
        assert!((930..=970).contains(&held), "{held} of 1000");
    }
}
