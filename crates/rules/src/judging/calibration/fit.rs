//! What the score of judges says of the work: P(good) = σ(a + b · points), fitted to labelled cases, with what each case
//! is given by a fit that has not seen its group; the bar under which few bad ones pass, and what lies around it.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::measure::{Estimate, Random, rounded as four};
use super::statistics::{auroc, interval, wilson};
use crate::domain::{Digest, Points};

/// Fewer labels carry no fit.
pub const FEWEST: usize = 50;
/// Nor do fewer good or bad ones.
pub const FEWEST_OF_A_KIND: usize = 10;
/// More would take long, and say nothing more.
pub const MOST: usize = 5_000;
/// Fewer are worth a warning.
pub const FEW: usize = 100;

/// One labelled piece of work that every judge gave a score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LabelledWork {
    /// The row that it stands in, whoever judged it.
    pub row: Digest,
    /// The group of the case: cases of one group are not independent.
    pub group: usize,
    /// The points that the judges give together.
    pub points: Points,
    /// Whether people call the work good.
    pub good: bool,
    /// P(good), by a fit to the cases of all other groups.
    pub held_out: f64,
}

/// Why cases carry no fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// There are too few cases; the number is how many.
    #[error("{0} labels that all its judges scored: {FEWEST} are needed")]
    Few(usize),
    /// There are too many cases; the number is how many.
    #[error("{0} labels: at most {MOST} are fitted")]
    Many(usize),
    /// There are too few good cases or too few bad ones.
    #[error("{good} good and {bad} bad pieces of work: {FEWEST_OF_A_KIND} of each are needed")]
    OneKind { good: usize, bad: usize },
}

/// P(good) = σ(a + b · points).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fit {
    /// The argument of σ at 0 points.
    pub a: f64,
    /// The growth of that argument by each point.
    pub b: f64,
}

/// How good a fit is on groups that it was not fitted to. Its verdict is what is more probable.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Figures {
    /// Labels that all judges scored.
    pub labels: usize,
    /// Groups that these are of.
    pub groups: usize,
    /// The share of good work.
    pub base_rate: f64,
    /// The share of right verdicts.
    pub accuracy: f64,
    /// The share of right verdicts without the fifth of the cases that the fit is least sure of.
    pub accuracy_of_sure: f64,
    /// How well the certainty of the fit tells wrong verdicts from right ones: 0.5 is chance. `null` where all
    /// are right, or wrong.
    pub auroc_of_wrong: Option<f64>,
}

impl Fit {
    /// Fits cases, and says of each what the others say of it.
    ///
    /// # Errors
    /// Where they are too few.
    pub fn of(cases: &mut [LabelledWork]) -> Result<Self, Unfit> {
        let good = cases.iter().filter(|case| case.good).count();
        let bad = cases.len() - good;
        if cases.len() < FEWEST {
            return Err(Unfit::Few(cases.len()));
        }
        if cases.len() > MOST {
            return Err(Unfit::Many(cases.len()));
        }
        if good.min(bad) < FEWEST_OF_A_KIND {
            return Err(Unfit::OneKind { good, bad });
        }
        let whole = newton(cases.iter(), Self { a: 0.0, b: 0.0 });
        for group in groups(cases) {
            let others = newton(cases.iter().filter(|case| case.group != group), whole);
            for case in cases.iter_mut().filter(|case| case.group == group) {
                case.held_out = rounded(others.good(case.points));
            }
        }
        Ok(Self { a: rounded(whole.a), b: rounded(whole.b) })
    }

    /// The probability that work with these points is good.
    pub fn good(&self, points: Points) -> f64 {
        1.0 / (1.0 + (-(self.a + self.b * points.to_f64())).exp())
    }

    /// The lowest score at which, as at all above it, the share of bad work that passes is below the cap, at the upper end of
    /// its 80 % interval. `None` where no score is.
    pub fn bar(&self, cases: &[LabelledWork], cap: f64) -> Option<Points> {
        let bars = scores(cases).into_iter().rev();
        bars.take_while(|bar| self.most_false_passes(cases, *bar) < cap).last()
    }

    /// The upper end of the 80 % interval of the share of bad work that passes a bar: of the share that was counted, or of the
    /// one that the fit foretells, whichever is higher. Counts leap where few are bad, and a fit knows nothing of the few that
    /// fool all judges. The interval of the foretold share is as wide as the groups move that share.
    fn most_false_passes(&self, cases: &[LabelledWork], bar: Points) -> f64 {
        let passes = |case: &LabelledWork| f64::from(u8::from(case.points >= bar));
        let is_bad = |case: &LabelledWork| f64::from(u8::from(!case.good));
        let foretold = |case: &LabelledWork| 1.0 - self.good(case.points);
        let sum = |of: &dyn Fn(&LabelledWork) -> f64| cases.iter().map(of).sum::<f64>();
        // A fit foretells as many as there are.
        let bad = sum(&is_bad);
        let share = f64::min(sum(&|case| passes(case) * foretold(case)) / bad, 1.0);
        let [a, b] = self.solved(cases.iter(), [0.0; 2], |case, p| p * (1.0 - p) * (share - passes(case)));
        let mut moved: BTreeMap<usize, f64> = BTreeMap::new();
        for case in cases {
            let by_fit = (foretold(case) - is_bad(case)) * (a + b * centred(case.points));
            *moved.entry(case.group).or_default() += by_fit + foretold(case) * (passes(case) - share);
        }
        let m = moved.len() as f64;
        let spread = m * moved.values().map(|moved| moved * moved).sum::<f64>();
        let n = share * (1.0 - share) * bad * bad * (m - 1.0) / spread.max(f64::MIN_POSITIVE);
        upper_end(share, n).max(upper_end(sum(&|case| passes(case) * is_bad(case)) / bad, bad))
    }

    /// The change of a and b under a pull: the sums of a value over the cases, alone and times their points, through the
    /// inverse of the likelihood's curve at this fit. A weak prior on b keeps it finite where the points tell all good from all bad work.
    fn solved<'a>(
        &self,
        cases: impl Iterator<Item = &'a LabelledWork>,
        [mut first, mut second]: [f64; 2],
        value: impl Fn(&LabelledWork, f64) -> f64,
    ) -> [f64; 2] {
        let mut curve = [1e-9, 0.0, 1.0];
        for case in cases {
            let (x, p) = (centred(case.points), self.good(case.points));
            let (value, weight) = (value(case, p), p * (1.0 - p));
            first += value;
            second += value * x;
            curve = [curve[0] + weight, curve[1] + weight * x, curve[2] + weight * x * x];
        }
        let determinant = curve[0] * curve[2] - curve[1] * curve[1];
        [
            (curve[2] * first - curve[1] * second) / determinant,
            (curve[0] * second - curve[1] * first) / determinant,
        ]
    }

    /// The scores around a bar, the lowest and the highest, whose verdicts are referred: of all runs of neighbours that
    /// touch the bar and hold at most this share of the cases the one in which most verdicts are expected to be wrong.
    pub fn band(&self, cases: &[LabelledWork], bar: Points, share: f64) -> Option<[Points; 2]> {
        let mut counts: BTreeMap<Points, f64> = BTreeMap::new();
        for case in cases {
            *counts.entry(case.points).or_default() += 1.0;
        }
        let scores: Vec<(Points, f64)> = counts.into_iter().collect();
        let at = scores.partition_point(|(points, _)| *points < bar);
        let wrong = |points: Points| {
            let good = self.good(points);
            if points >= bar { 1.0 - good } else { good }
        };
        let room = share * cases.len() as f64 + 1e-9;
        let mut best = (0.0, None);
        for low in 0..=at.min(scores.len().saturating_sub(1)) {
            let (mut held, mut expected) = (0.0, 0.0);
            for (high, (points, count)) in scores.iter().enumerate().skip(low) {
                held += count;
                expected += count * wrong(*points);
                if held > room {
                    break;
                }
                if high + 1 >= at && expected > best.0 {
                    best = (expected, Some([scores[low].0, *points]));
                }
            }
        }
        best.1
    }

    /// The figures of the fit on groups that it was not fitted to.
    pub fn figures(&self, cases: &[LabelledWork]) -> Figures {
        let n = cases.len() as f64;
        let share = |count: usize| four(count as f64 / n.max(1.0));
        let is_wrong: Vec<bool> = cases.iter().map(|case| (case.held_out >= 0.5) != case.good).collect();
        // By the whole fit: who is left out of one leaves a trace of the truth among equal scores.
        let doubt = |case: &LabelledWork| -(self.good(case.points) - 0.5).abs();
        let doubts: Vec<f64> = cases.iter().map(doubt).collect();
        let mut sorted = doubts.clone();
        sorted.sort_by(f64::total_cmp);
        let kept = cases.len() - cases.len() / 5;
        // Of those that are as sure as the last one a part is kept, whoever stands first.
        let part = |doubt: f64| {
            let surer = sorted.partition_point(|other| *other < doubt);
            let as_sure = sorted.partition_point(|other| *other <= doubt) - surer;
            ((kept as f64 - surer as f64) / as_sure as f64).clamp(0.0, 1.0)
        };
        let right_ones = doubts.iter().zip(&is_wrong).filter(|(_, is_wrong)| !**is_wrong);
        let right: f64 = right_ones.map(|(doubt, _)| part(*doubt)).sum();
        Figures {
            labels: cases.len(),
            groups: groups(cases).len(),
            base_rate: share(cases.iter().filter(|case| case.good).count()),
            accuracy: share(is_wrong.iter().filter(|is_wrong| !**is_wrong).count()),
            accuracy_of_sure: four(right / kept.max(1) as f64),
            auroc_of_wrong: auroc(&doubts, &is_wrong).map(four),
        }
    }
}

/// The drift of judges who judged the same cases twice: how far their scores have moved, and how much worse the
/// fit foretells what people say, each with its 95 % interval over resampled groups.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Drift {
    /// Rows that were judged both times.
    pub rows: usize,
    /// Points that scores have moved by, upwards.
    pub shift: Estimate,
    /// The growth of the squared error of P(good).
    pub loss: Estimate,
    /// Whether the judges have drifted: their scores lie elsewhere, or say less.
    pub drifted: bool,
}

impl Drift {
    /// Holds judges against what they did; `None` where too few groups say anything.
    pub fn of(fit: &Fit, then: &[LabelledWork], now: &[LabelledWork], seed: u64) -> Option<Self> {
        const ROUNDS: usize = 1_000;
        let known: BTreeMap<Digest, &LabelledWork> = then.iter().map(|case| (case.row, case)).collect();
        let error =
            |case: &LabelledWork, truth: bool| (fit.good(case.points) - f64::from(u8::from(truth))).powi(2);
        let mut groups: BTreeMap<usize, [f64; 3]> = BTreeMap::new();
        for (now, then) in now.iter().filter_map(|now| Some((now, known.get(&now.row)?))) {
            let sums = groups.entry(then.group).or_default();
            sums[0] += 1.0;
            sums[1] += now.points.to_f64() - then.points.to_f64();
            sums[2] += error(now, then.good) - error(then, then.good);
        }
        let groups: Vec<[f64; 3]> = groups.into_values().collect();
        if groups.len() < 2 {
            return None;
        }
        let mut random = Random(seed);
        let drawn = (0..ROUNDS).map(|_| {
            let drawn = (0..groups.len()).map(|_| groups[random.below(groups.len())]);
            sums(drawn)
        });
        let (shifts, losses) = drawn.map(|[n, shift, loss]| (shift / n, loss / n)).unzip();
        let [rows, shift, loss] = sums(groups.iter().copied());
        let shift = Estimate::of(shift / rows, interval(shifts));
        let loss = Estimate::of(loss / rows, interval(losses));
        Some(Self {
            rows: rows as usize,
            drifted: shift.interval.is_some_and(|(low, high)| low > 0.0 || high < 0.0)
                || loss.interval.is_some_and(|(low, _)| low > 0.0),
            shift,
            loss,
        })
    }
}

fn sums(all: impl Iterator<Item = [f64; 3]>) -> [f64; 3] {
    all.fold([0.0; 3], |sum, one| [sum[0] + one[0], sum[1] + one[1], sum[2] + one[2]])
}

/// The forecast beside the truth, in ten classes of P(good): the mean of each, the share of good work, cases.
pub fn reliability(cases: &[LabelledWork]) -> Vec<(f64, f64, usize)> {
    let mut classes = [(0.0, 0.0, 0); 10];
    for case in cases {
        let class = &mut classes[((case.held_out * 10.0) as usize).min(9)];
        class.0 += case.held_out;
        class.1 += f64::from(u8::from(case.good));
        class.2 += 1;
    }
    let filled = classes.into_iter().filter(|class| class.2 > 0);
    filled.map(|(foretold, good, n)| (foretold / n as f64, good / n as f64, n)).collect()
}

/// The shares of bad and of good work that pass at each bar, from the strictest to the kindest.
pub fn roc(cases: &[LabelledWork]) -> Vec<(f64, f64)> {
    let share = |bar: Points, good: bool| {
        let of_kind = || cases.iter().filter(|case| case.good == good);
        let passed = of_kind().filter(|case| case.points >= bar).count();
        passed as f64 / of_kind().count().max(1) as f64
    };
    let bars = scores(cases);
    let bars = bars.iter().rev();
    std::iter::once((0.0, 0.0)).chain(bars.map(|bar| (share(*bar, false), share(*bar, true)))).collect()
}

fn scores(cases: &[LabelledWork]) -> BTreeSet<Points> {
    cases.iter().map(|case| case.points).collect()
}

fn groups(cases: &[LabelledWork]) -> BTreeSet<usize> {
    cases.iter().map(|case| case.group).collect()
}

const MIDDLE: f64 = 60.0;
const UNIT: f64 = 20.0;

/// The points on the scale 1 to 5, from its middle: steps are of one size, and the prior means the same for all.
fn centred(points: Points) -> f64 {
    (points.to_f64() - MIDDLE) / UNIT
}

/// Newton's steps to the most probable a and b.
fn newton<'a>(cases: impl Iterator<Item = &'a LabelledWork> + Clone, mut fit: Fit) -> Fit {
    for _ in 0..50 {
        let miss = |case: &LabelledWork, p: f64| f64::from(u8::from(case.good)) - p;
        let step = fit.solved(cases.clone(), [0.0, -fit.b * UNIT], miss);
        let [a, b] = step.map(|step| step.clamp(-2.0, 2.0));
        fit.b += b / UNIT;
        fit.a += a - b / UNIT * MIDDLE;
        if a.abs() + b.abs() < 1e-9 {
            break;
        }
    }
    fit
}

/// The upper end of the 80 % interval of a share of so many.
fn upper_end(share: f64, n: f64) -> f64 {
    const Z: f64 = 1.281_551_565_5;
    wilson(share, n, Z).1
}

/// Six decimals: what is stored is read back as it was.
fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

#[cfg(test)]
#[path = "fit_tests.rs"]
mod tests;
