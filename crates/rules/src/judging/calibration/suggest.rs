//! Which seats and which bar the recorded rows speak for.

use crate::domain::Points;

use super::{Estimate, Measures, Sample};

/// The most bad work that may pass at a suggested bar.
pub const MAX_FALSE_PASS: f64 = 0.10;

/// The entry and the bar that the rows speak for.
#[derive(Debug, Clone, PartialEq)]
pub struct Suggestion {
    /// The seats: the position of the candidate.
    pub candidate: usize,
    /// The bar for the entry's score.
    pub bar: Points,
    /// The share of bad work that passes there. `None` where no work is bad.
    pub false_pass_rate: Option<f64>,
    /// The share of right verdicts there.
    pub accuracy: Option<f64>,
}

/// The fewest seats that are not clearly worse than the best ones, and the lowest bar at which few bad ones pass.
///
/// `candidates` are panels with their sizes, measures and samples. Better is a higher rank correlation where people gave
/// scores, and a higher AUROC where they only gave verdicts.
pub fn suggest(candidates: &[(usize, Measures, Sample)], has_scores: bool) -> Option<Suggestion> {
    let merit = |measures: &Measures| -> Option<Estimate> {
        if has_scores { measures.spearman } else { measures.auroc }
    };
    let best = candidates
        .iter()
        .filter_map(|(_, measures, _)| merit(measures))
        .max_by(|a, b| a.value.total_cmp(&b.value))?;
    // Where nothing says how sure the best is, only the best itself is as good.
    let good_enough = best.interval.map_or(best.value, |(low, _)| low);
    let (candidate, (_, _, sample)) = candidates
        .iter()
        .enumerate()
        .filter(|(_, (_, measures, _))| merit(measures).is_some_and(|merit| merit.value >= good_enough))
        .min_by(|(_, a), (_, b)| {
            let value = |measures: &Measures| merit(measures).map_or(f64::MIN, |merit| merit.value);
            a.0.cmp(&b.0).then(value(&b.1).total_cmp(&value(&a.1)))
        })?;
    let bar = bar(sample);
    let verdicts = sample.at_bar(bar);
    Some(Suggestion {
        candidate,
        bar,
        false_pass_rate: verdicts.false_pass_rate(),
        accuracy: verdicts.accuracy(),
    })
}

/// The lowest bar, in steps of a quarter of a score, at which at most one bad piece of work in ten passes; if there is
/// none, the one at which both kinds are told apart best.
fn bar(sample: &Sample) -> Points {
    let steps = || (4u8..=20).map(|step| Points::whole(step * 5));
    let few_bad = |bar: &Points| {
        let verdicts = sample.at_bar(*bar);
        verdicts.false_pass_rate().is_none_or(|rate| rate <= MAX_FALSE_PASS) && verdicts.good_passed > 0
    };
    steps().find(few_bad).unwrap_or_else(|| {
        let told_apart = |bar: &Points| sample.at_bar(*bar).balanced_accuracy().unwrap_or(0.0);
        steps().max_by(|a, b| told_apart(a).total_cmp(&told_apart(b))).unwrap_or_else(|| Points::whole(60))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(pairs: &[(u8, bool)]) -> Sample {
        let mut sample = Sample::default();
        for (index, (said, good)) in pairs.iter().enumerate() {
            sample.push(index, Points::whole(*said), *said >= 60, None, *good);
        }
        sample
    }

    #[test]
    fn the_bar_is_the_lowest_at_which_few_bad_ones_pass() {
        let generous = sample(&[(90, true), (85, true), (80, false), (70, false), (95, true)]);
        assert_eq!(bar(&generous), Points::whole(85));
        let blind = sample(&[(100, false), (100, true), (30, true), (90, false), (100, true)]);
        // No bar keeps the bad one out; the best of them is at the top.
        assert_eq!(bar(&blind), Points::whole(100));
        // Nothing to keep out: the lowest there is.
        assert_eq!(bar(&sample(&[(20, true), (100, true)])), Points::whole(20));
        // One in ten is few; and where no good work would pass it is no bar.
        let mut ten = vec![(30, false); 9];
        ten.extend([(90, false), (60, true), (55, true)]);
        assert_eq!(bar(&sample(&ten)), Points::whole(35));
        assert_eq!(bar(&sample(&[(90, true), (50, false)])), Points::whole(55));
        assert_eq!(bar(&sample(&[(30, true), (90, false), (25, false)])), Points::whole(30));
    }

    #[test]
    fn better_is_the_order_of_scores_where_people_gave_any_else_good_above_bad() {
        let entry = |said: [u8; 4]| {
            let mut sample = Sample::default();
            for (index, (said, truth)) in said.into_iter().zip([100, 60, 40, 20]).enumerate() {
                let (said, truth) = (Points::whole(said), Points::whole(truth));
                sample.push(index, said, false, Some(truth), truth >= Points::whole(60));
            }
            (1, sample.measures(0, 0), sample)
        };
        let candidates = [entry([90, 40, 60, 20]), entry([80, 90, 20, 30])];
        let suggested = |has_scores| suggest(&candidates, has_scores).unwrap().candidate;
        assert_eq!((suggested(true), suggested(false)), (0, 1));
    }

    #[test]
    fn fewer_seats_win_where_they_are_not_clearly_worse() {
        let good = sample(&[(90, true), (80, true), (30, false), (20, false), (85, true)]);
        let bad = sample(&[(20, true), (30, true), (90, false), (80, false), (85, true)]);
        let entry = |size, sample: &Sample| (size, sample.measures(0, 0), sample.clone());
        let suggestion = suggest(&[entry(1, &bad), entry(3, &good), entry(2, &good)], false).unwrap();
        assert_eq!(suggestion.candidate, 2);
        assert_eq!(suggestion.false_pass_rate, Some(0.0));
        assert!(suggest(&[], true).is_none());
    }
}
