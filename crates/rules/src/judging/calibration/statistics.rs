//! How well numbers agree: rank correlation, error, agreement beyond chance, and how sure all that is.
//!
//! Binary floats are fine here: nothing in this file meets a bar.

/// Spearman's ρ: Pearson's correlation of the ranks, ties sharing their mean rank. `None` where one side is constant.
pub fn spearman(x: &[f64], y: &[f64]) -> Option<f64> {
    pearson(&ranks(x), &ranks(y))
}

fn pearson(x: &[f64], y: &[f64]) -> Option<f64> {
    let n = x.len() as f64;
    let (mean_x, mean_y) = (x.iter().sum::<f64>() / n, y.iter().sum::<f64>() / n);
    let (mut xy, mut xx, mut yy) = (0.0, 0.0, 0.0);
    for (a, b) in x.iter().zip(y) {
        let (a, b) = (a - mean_x, b - mean_y);
        xy += a * b;
        xx += a * a;
        yy += b * b;
    }
    (xx > 0.0 && yy > 0.0).then(|| xy / (xx * yy).sqrt())
}

fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut before = 0;
    for tied in order.chunk_by(|a, b| values[*a] == values[*b]) {
        let mean = before as f64 + (tied.len() as f64 + 1.0) / 2.0;
        for index in tied {
            ranks[*index] = mean;
        }
        before += tied.len();
    }
    ranks
}

/// Kendall's τ-b, ties counted on both sides. `None` where one side is constant. Costs O(n log n).
pub fn kendall(x: &[f64], y: &[f64]) -> Option<f64> {
    let mut pairs: Vec<(f64, f64)> = x.iter().copied().zip(y.iter().copied()).collect();
    pairs.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let tied_x = tied(&pairs, |a, b| a.0 == b.0);
    let tied_both = tied(&pairs, |a, b| a == b);
    let mut by_y: Vec<f64> = pairs.iter().map(|pair| pair.1).collect();
    let swaps = sort_counting_swaps(&mut by_y);
    let tied_y = tied(&by_y, |a, b| a == b);
    let n = pairs.len() as f64;
    let all = n * (n - 1.0) / 2.0;
    let (free_x, free_y) = (all - tied_x, all - tied_y);
    let concordant_less_discordant = all - tied_x - tied_y + tied_both - 2.0 * swaps;
    (free_x > 0.0 && free_y > 0.0).then(|| concordant_less_discordant / (free_x * free_y).sqrt())
}

/// Pairs among neighbours that are the same.
fn tied<T>(sorted: &[T], same: impl Fn(&T, &T) -> bool) -> f64 {
    let groups = sorted.chunk_by(same);
    groups
        .map(|group| {
            let n = group.len() as f64;
            n * (n - 1.0) / 2.0
        })
        .sum()
}

/// Sorts, and says how many pairs stood the wrong way round.
fn sort_counting_swaps(values: &mut [f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let mut merged = Vec::with_capacity(values.len());
    let (left, right) = values.split_at_mut(values.len() / 2);
    let mut swaps = sort_counting_swaps(left) + sort_counting_swaps(right);
    let (mut i, mut j) = (0, 0);
    while i < left.len() && j < right.len() {
        if right[j] < left[i] {
            swaps += (left.len() - i) as f64;
            merged.push(right[j]);
            j += 1;
        } else {
            merged.push(left[i]);
            i += 1;
        }
    }
    merged.extend_from_slice(&left[i..]);
    merged.extend_from_slice(&right[j..]);
    values.copy_from_slice(&merged);
    swaps
}

/// The mean distance. `None` without any pair.
pub fn mean_error(x: &[f64], y: &[f64]) -> Option<f64> {
    let sum: f64 = x.iter().zip(y).map(|(a, b)| (a - b).abs()).sum();
    (!x.is_empty()).then(|| sum / x.len() as f64)
}

/// The share of pairs of one good and one bad piece of work in which the good one has the higher score; equal scores
/// count half. `None` where all are good or all are bad.
pub fn auroc(scores: &[f64], good: &[bool]) -> Option<f64> {
    let ranks = ranks(scores);
    let positives = good.iter().filter(|good| **good).count() as f64;
    let negatives = good.len() as f64 - positives;
    let sum: f64 = ranks.iter().zip(good).filter(|(_, good)| **good).map(|(rank, _)| rank).sum();
    (positives > 0.0 && negatives > 0.0)
        .then(|| (sum - positives * (positives + 1.0) / 2.0) / (positives * negatives))
}

/// Pass and fail counted against the truth.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Confusion {
    /// Good work that passed.
    pub good_passed: u32,
    /// Good work that failed.
    pub good_failed: u32,
    /// Bad work that passed: what must not happen.
    pub bad_passed: u32,
    /// Bad work that failed.
    pub bad_failed: u32,
}

impl Confusion {
    /// Counts verdicts against the truth.
    pub fn of(passed: impl IntoIterator<Item = bool>, good: &[bool]) -> Self {
        let mut counts = Self::default();
        for (passed, good) in passed.into_iter().zip(good) {
            *match (good, passed) {
                (true, true) => &mut counts.good_passed,
                (true, false) => &mut counts.good_failed,
                (false, true) => &mut counts.bad_passed,
                (false, false) => &mut counts.bad_failed,
            } += 1;
        }
        counts
    }

    fn shares(self) -> Option<[f64; 4]> {
        let cells = [self.good_passed, self.good_failed, self.bad_passed, self.bad_failed].map(f64::from);
        let all: f64 = cells.iter().sum();
        (all > 0.0).then(|| cells.map(|cell| cell / all))
    }

    /// The share of right verdicts.
    pub fn accuracy(self) -> Option<f64> {
        let [good_passed, _, _, bad_failed] = self.shares()?;
        Some(good_passed + bad_failed)
    }

    /// The share of bad work that passed. `None` where no work was bad.
    pub fn false_pass_rate(self) -> Option<f64> {
        let bad = self.bad_passed + self.bad_failed;
        (bad > 0).then(|| f64::from(self.bad_passed) / f64::from(bad))
    }

    /// The share of good work that failed. `None` where no work was good.
    #[must_use]
    pub fn false_fail_rate(self) -> Option<f64> {
        let good = self.good_passed + self.good_failed;
        (good > 0).then(|| f64::from(self.good_failed) / f64::from(good))
    }

    /// The mean of the share of good work that passed and of bad work that failed. `None` where one kind is missing.
    pub fn balanced_accuracy(self) -> Option<f64> {
        let good = self.good_passed + self.good_failed;
        let bad = self.bad_passed + self.bad_failed;
        (good > 0 && bad > 0).then(|| {
            (f64::from(self.good_passed) / f64::from(good) + f64::from(self.bad_failed) / f64::from(bad))
                / 2.0
        })
    }

    /// Cohen's κ: agreement beyond what the two shares of passes would give by chance. `None` where both sides always say
    /// the same.
    pub fn kappa(self) -> Option<f64> {
        let [good_passed, good_failed, bad_passed, bad_failed] = self.shares()?;
        let (good, passed) = (good_passed + good_failed, good_passed + bad_passed);
        let chance = good * passed + (1.0 - good) * (1.0 - passed);
        (chance < 1.0 - 1e-12).then(|| (good_passed + bad_failed - chance) / (1.0 - chance))
    }
}

/// Wilson's interval of a share of `n`, so many standard deviations to either side.
pub fn wilson(share: f64, n: f64, deviations: f64) -> (f64, f64) {
    let z = deviations;
    let reach = z * (z * z + 4.0 * n * share * (1.0 - share)).sqrt();
    let end = |reach: f64| (2.0 * n * share + z * z + reach) / (2.0 * (n + z * z));
    (end(-reach), end(reach))
}

/// The interval of the middle 95 of 100 values, if there are enough of them to say.
pub fn interval(mut values: Vec<f64>) -> Option<(f64, f64)> {
    const ENOUGH: usize = 20;
    if values.len() < ENOUGH {
        return None;
    }
    values.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| values[((values.len() - 1) as f64 * share).round() as usize];
    Some((at(0.025), at(0.975)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(a: Option<f64>, b: f64) -> bool {
        a.is_some_and(|a| (a - b).abs() < 1e-9)
    }

    #[test]
    fn known_values() {
        // By hand: one swap in four, no ties: τ = (5 − 1) / 6, ρ = 1 − 6·2 / (4·15).
        let (x, y) = ([1.0, 2.0, 3.0, 4.0], [1.0, 3.0, 2.0, 4.0]);
        assert!(close(kendall(&x, &y), 4.0 / 6.0));
        assert!(close(spearman(&x, &y), 0.8));
        // Ties: ranks 1.5, 1.5, 3 against 1, 2, 3.
        assert!(close(spearman(&[1.0, 1.0, 2.0], &[1.0, 2.0, 3.0]), 0.75f64.sqrt()));
        assert!(close(kendall(&[1.0, 1.0, 2.0], &[1.0, 2.0, 3.0]), 2.0 / 6f64.sqrt()));
        assert_eq!(spearman(&[1.0, 1.0], &[1.0, 2.0]), None);
        assert_eq!(spearman(&[1.0, 2.0], &[1.0, 1.0]), None);
        assert_eq!(kendall(&[1.0, 1.0], &[1.0, 2.0]), None);
        assert!(close(mean_error(&[1.0, 5.0], &[2.0, 3.0]), 1.5));
        assert!(close(auroc(&[1.0, 2.0, 2.0, 3.0], &[false, false, true, true]), 0.875));
        assert_eq!(auroc(&[1.0, 2.0], &[true, true]), None);
    }

    #[test]
    fn verdicts_against_the_truth() {
        let good = [true, true, true, false, false];
        let counts = Confusion::of([true, true, false, true, false], &good);
        let cells = [counts.good_passed, counts.good_failed, counts.bad_passed, counts.bad_failed];
        assert_eq!(cells, [2, 1, 1, 1]);
        assert!(close(counts.accuracy(), 0.6));
        assert!(close(counts.false_pass_rate(), 0.5));
        assert!(close(counts.balanced_accuracy(), (2.0 / 3.0 + 0.5) / 2.0));
        // Chance: .6·.6 + .4·.4 = .52.
        assert!(close(counts.kappa(), (0.6 - 0.52) / 0.48));
        let always = Confusion::of([true, true], &[true, true]);
        assert_eq!((always.kappa(), always.false_pass_rate()), (None, None));
        assert_eq!(Confusion::default().accuracy(), None);
        let one_of_each = Confusion::of([true, true], &[true, false]);
        assert_eq!(one_of_each.false_pass_rate(), Some(1.0));
        assert_eq!(one_of_each.balanced_accuracy(), Some(0.5));
        let never = Confusion::of([false, false], &[false, false]);
        assert_eq!((always.balanced_accuracy(), never.balanced_accuracy()), (None, None));
    }

    #[test]
    fn an_interval_is_the_middle_of_enough_values() {
        assert_eq!(interval(vec![1.0; 19]), None);
        assert_eq!(interval(vec![1.0; 20]), Some((1.0, 1.0)));
        let values = (0..=1000).map(f64::from).collect();
        assert_eq!(interval(values), Some((25.0, 975.0)));
    }

    /// τ-b by its definition, pair by pair.
    fn kendall_slow(x: &[f64], y: &[f64]) -> Option<f64> {
        let (mut sum, mut free_x, mut free_y) = (0.0, 0.0, 0.0);
        for i in 0..x.len() {
            for j in 0..i {
                let sign = |a: f64| if a == 0.0 { 0.0 } else { a.signum() };
                let (a, b) = (sign(x[i] - x[j]), sign(y[i] - y[j]));
                sum += a * b;
                free_x += a.abs();
                free_y += b.abs();
            }
        }
        (free_x > 0.0 && free_y > 0.0).then(|| sum / (free_x * free_y).sqrt())
    }

    /// The share of pairs, pair by pair.
    fn auroc_slow(scores: &[f64], good: &[bool]) -> Option<f64> {
        let (mut sum, mut pairs) = (0.0, 0.0);
        for (a, _) in scores.iter().zip(good).filter(|(_, good)| **good) {
            for (b, _) in scores.iter().zip(good).filter(|(_, good)| !**good) {
                sum += if a > b {
                    1.0
                } else if a == b {
                    0.5
                } else {
                    0.0
                };
                pairs += 1.0;
            }
        }
        (pairs > 0.0).then(|| sum / pairs)
    }

    proptest! {
        #[test]
        fn the_fast_ways_agree_with_the_definitions(
            rows in prop::collection::vec((0u8..6, 0u8..6, any::<bool>()), 2..40),
        ) {
            let x: Vec<f64> = rows.iter().map(|row| row.0.into()).collect();
            let y: Vec<f64> = rows.iter().map(|row| row.1.into()).collect();
            let good: Vec<bool> = rows.iter().map(|row| row.2).collect();
            let same = |a: Option<f64>, b: Option<f64>| match (a, b) {
                (Some(a), Some(b)) => (a - b).abs() < 1e-9,
                (a, b) => a.is_none() && b.is_none(),
            };
            prop_assert!(same(kendall(&x, &y), kendall_slow(&x, &y)));
            prop_assert!(same(auroc(&x, &good), auroc_slow(&x, &good)));
        }
    }
}
