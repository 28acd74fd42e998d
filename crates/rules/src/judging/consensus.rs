//! What the seats of a panel say together (semantics, section 7).
//!
//! The median is the default because it is monotone and because no single seat can drag it below or above all others.
//! Dropping outliers before taking it is neither: (1, 2, 2) would give 2.0 and (1, 4, 2) only 1.5.

use rust_decimal::Decimal;

use crate::domain::{Dimension, DimensionScore, Points};
use crate::mission::model::Consensus;

/// How far from the median a score may lie before it is an outlier: 1.5 on the scale 1 to 5.
const TOLERANCE: u8 = 30;

/// The scores of one seat.
#[derive(Debug, Clone, PartialEq)]
pub struct SeatScores {
    /// The scores, with dimensions spelled as the task spells them.
    pub scores: Vec<DimensionScore>,
}

/// The scores of the panel together.
#[derive(Debug, Clone, PartialEq)]
pub struct PanelResult {
    /// The consensus of each dimension that anybody scored, in the task's order.
    pub dimensions: Vec<DimensionScore>,
    /// The weighted mean over *all* the task's dimensions; `None` when one of them has no score or no positive weight.
    pub points: Option<Points>,
    /// Scores that were not counted for reasoning, feedback and confidence.
    pub outliers: Vec<Outlier>,
}

/// One seat's score that lies too far from the median.
#[derive(Debug, Clone, PartialEq)]
pub struct Outlier {
    /// The seat's position in the panel, from 0.
    pub seat: usize,
    pub dimension: String,
    /// The points that the seat gave.
    pub points: Points,
    /// The median that the points were measured against.
    pub median: Points,
}

/// One seat's say on one dimension.
struct Vote<'a> {
    seat: usize,
    value: Decimal,
    score: &'a DimensionScore,
}

/// Joins the seats' scores, dimension by dimension, and weighs the dimensions.
pub fn merge(seats: &[SeatScores], dimensions: &[Dimension], consensus: Consensus) -> PanelResult {
    let mut merged =
        PanelResult { dimensions: Vec::with_capacity(dimensions.len()), points: None, outliers: Vec::new() };
    for dimension in dimensions {
        let votes = votes_on(seats, &dimension.name);
        if let Some(joined) = join(&votes, consensus, &mut merged.outliers) {
            merged.dimensions.push(joined);
        }
    }
    merged.points = weigh(&merged.dimensions, dimensions);
    merged
}

/// Whether the verdict at `bar` stands whatever `more` further seats say, and which it is (`panel: adaptive`). `None`
/// where they could change it, or where the rule does not promise that a higher score never lowers the result.
pub fn is_decided(
    seats: &[SeatScores],
    more: usize,
    dimensions: &[Dimension],
    consensus: Consensus,
    bar: Points,
) -> Option<bool> {
    if consensus == Consensus::ExcludeOutliers {
        return None;
    }
    let passes_with = |points: Points| {
        let scores = dimensions.iter().map(|dimension| DimensionScore {
            dimension: dimension.name.clone(),
            points,
            reasoning: String::new(),
        });
        let seat = SeatScores { scores: scores.collect() };
        let mut all = seats.to_vec();
        all.extend(std::iter::repeat_n(seat, more));
        Some(merge(&all, dimensions, consensus).points? >= bar)
    };
    // All in between lies in between: the rules left are monotone in every seat's score of every dimension.
    let (worst, best) = (passes_with(Points::whole(20))?, passes_with(Points::FULL)?);
    (worst == best).then_some(best)
}

/// Whether the panel is less sure of its verdict than `least`: |score − bar| / (spread + 0.25) on the scale from 1 to 5,
/// the spread being the standard deviation of the seats' weighted scores (`referBelow`).
///
/// A seat's outlier counts as the consensus: it is excluded from confidence. Compared in squares, so that it is exact.
pub fn is_unsure(
    seats: &[SeatScores],
    merged: &PanelResult,
    dimensions: &[Dimension],
    bar: Points,
    least: Decimal,
) -> bool {
    let Some(points) = merged.points else {
        return true;
    };
    let counted = |(seat, scores): (usize, &SeatScores)| -> Option<Decimal> {
        let parts: Option<Vec<_>> = dimensions
            .iter()
            .map(|dimension| {
                let is_out = |outlier: &Outlier| outlier.seat == seat && outlier.dimension == dimension.name;
                let source =
                    if merged.outliers.iter().any(is_out) { &merged.dimensions } else { &scores.scores };
                let score = source.iter().find(|score| score.dimension == dimension.name)?;
                Some((score.points, dimension.weight))
            })
            .collect();
        Some(Points::weighted_mean(parts?)?.score())
    };
    let scores: Vec<Decimal> = seats.iter().enumerate().filter_map(counted).collect();
    let Some(middle) = mean(scores.iter().copied()) else {
        return true;
    };
    let variance = mean(scores.iter().map(|score| (score - middle) * (score - middle)));
    let distance = (points.score() - bar.score()).abs();
    // distance < least × (spread + ¼)
    let beyond = distance - least * Decimal::new(25, 2);
    let spread = least * least * variance.unwrap_or_default();
    beyond < Decimal::ZERO || beyond * beyond < spread
}

fn votes_on<'a>(seats: &'a [SeatScores], dimension: &str) -> Vec<Vote<'a>> {
    let vote = |(seat, scores): (usize, &'a SeatScores)| {
        let score = scores.scores.iter().find(|score| score.dimension == dimension)?;
        Some(Vote { seat, value: score.points.value(), score })
    };
    seats.iter().enumerate().filter_map(vote).collect()
}

/// The consensus on one dimension; `None` when nobody scored it.
fn join(votes: &[Vote], consensus: Consensus, outliers: &mut Vec<Outlier>) -> Option<DimensionScore> {
    let middle = median(votes.iter().map(|vote| vote.value))?;
    let tolerance = Decimal::from(TOLERANCE);
    let (mut counted, mut out): (Vec<&Vote>, Vec<&Vote>) =
        votes.iter().partition(|vote| (vote.value - middle).abs() <= tolerance);
    if counted.is_empty() {
        // Two seats at 1 and 5: each is far from the middle, and neither is more wrong than the other.
        counted = std::mem::take(&mut out);
    }
    let value = match consensus {
        Consensus::Median => middle,
        Consensus::ExcludeOutliers => median(counted.iter().map(|vote| vote.value))?,
        Consensus::Mean => mean(votes.iter().map(|vote| vote.value))?,
        Consensus::ClippedMean => {
            let clip = |vote: &Vote| vote.value.clamp(middle - tolerance, middle + tolerance);
            mean(votes.iter().map(clip))?
        }
    };
    let median = Points::new(middle)?;
    outliers.extend(out.iter().map(|vote| Outlier {
        seat: vote.seat,
        dimension: vote.score.dimension.clone(),
        points: vote.score.points,
        median,
    }));
    // `min_by_key` keeps the first of equals: the earlier seat.
    let nearest = counted.iter().min_by_key(|vote| (vote.value - value).abs())?;
    Some(DimensionScore {
        dimension: nearest.score.dimension.clone(),
        points: Points::new(value)?,
        reasoning: nearest.score.reasoning.clone(),
    })
}

/// The mean of the middle two, or the middle one.
fn median(values: impl Iterator<Item = Decimal>) -> Option<Decimal> {
    let mut sorted: Vec<_> = values.collect();
    sorted.sort_unstable();
    let upper = *sorted.get(sorted.len() / 2)?;
    if sorted.len() % 2 == 1 {
        return Some(upper);
    }
    let lower = *sorted.get(sorted.len() / 2 - 1)?;
    Some((lower + upper) / Decimal::TWO)
}

fn mean(values: impl Iterator<Item = Decimal>) -> Option<Decimal> {
    let (sum, count) = values.fold((Decimal::ZERO, 0u32), |(sum, count), value| (sum + value, count + 1));
    sum.checked_div(Decimal::from(count))
}

/// The weighted mean, if every dimension of the task has a score and a positive weight.
fn weigh(scores: &[DimensionScore], dimensions: &[Dimension]) -> Option<Points> {
    if scores.len() != dimensions.len() || dimensions.iter().any(|d| d.weight <= Decimal::ZERO) {
        return None;
    }
    let parts = scores.iter().zip(dimensions).map(|(score, dimension)| (score.points, dimension.weight));
    Points::weighted_mean(parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ALL: [Consensus; 4] =
        [Consensus::Median, Consensus::ExcludeOutliers, Consensus::Mean, Consensus::ClippedMean];

    fn dec(text: &str) -> Decimal {
        text.parse().unwrap()
    }

    fn score_of(text: &str) -> Points {
        Points::from_score(dec(text)).unwrap()
    }

    fn dimension(name: &str, weight: &str) -> Dimension {
        Dimension { name: name.to_owned(), weight: dec(weight), description: None, rubric: Vec::new() }
    }

    fn score(dimension: &str, points: Points, reasoning: &str) -> DimensionScore {
        DimensionScore { dimension: dimension.to_owned(), points, reasoning: reasoning.to_owned() }
    }

    /// A panel on the one dimension `d`; `-` is a seat that left it out.
    fn panel(scores: &[&str]) -> Vec<SeatScores> {
        scores
            .iter()
            .enumerate()
            .map(|(seat, text)| SeatScores {
                scores: match *text {
                    "-" => Vec::new(),
                    text => vec![score("d", score_of(text), &format!("seat {seat}"))],
                },
            })
            .collect()
    }

    fn single(scores: &[&str], consensus: Consensus) -> PanelResult {
        merge(&panel(scores), &[dimension("d", "1")], consensus)
    }

    #[test]
    fn the_seats_scores_become_one() {
        // (seats, median, exclude-outliers, mean, clipped mean, seats that are outliers)
        type Row = (
            &'static [&'static str],
            &'static str,
            &'static str,
            &'static str,
            &'static str,
            &'static [usize],
        );
        let rows: &[Row] = &[
            (&["4", "4", "1"], "4", "4", "3", "3.5", &[2]),
            (&["1", "3", "5"], "3", "3", "3", "3", &[0, 2]),
            (&["1", "4", "5"], "4", "4.5", "3.3333", "3.8333", &[0]),
            (&["2", "2", "4"], "2", "2", "2.6667", "2.5", &[2]),
            (&["1", "5"], "3", "3", "3", "3", &[]),
            (&["3", "4"], "3.5", "3.5", "3.5", "3.5", &[]),
            (&["1", "4"], "2.5", "2.5", "2.5", "2.5", &[]),
            (&["1", "2.6", "4"], "2.6", "3.3", "2.5333", "2.5667", &[0]),
            (&["4"], "4", "4", "4", "4", &[]),
            (&["2", "-", "4"], "3", "3", "3", "3", &[]),
            (&["2", "4", "5"], "4", "4.5", "3.6667", "3.8333", &[0]),
            (&["1", "2", "2"], "2", "2", "1.6667", "1.6667", &[]),
            (&["1", "4", "2"], "2", "1.5", "2.3333", "2.1667", &[1]),
            // Exactly 1.5 from the median is still within the tolerance.
            (&["1", "2.5", "4"], "2.5", "2.5", "2.5", "2.5", &[]),
        ];
        for (seats, median, exclude, mean, clipped, outliers) in rows {
            for (consensus, want) in ALL.into_iter().zip([median, exclude, mean, clipped]) {
                let merged = single(seats, consensus);
                let got = merged.points.unwrap().score().round_dp(4);
                assert_eq!(got, dec(want), "{seats:?} {consensus:?}");
                let seats_out: Vec<_> = merged.outliers.iter().map(|o| o.seat).collect();
                assert_eq!(seats_out, *outliers, "{seats:?} {consensus:?}");
            }
        }
    }

    #[test]
    fn what_nobody_scored_has_no_result() {
        for seats in [&["-", "-"][..], &[]] {
            let merged = single(seats, Consensus::Median);
            assert_eq!((merged.dimensions.len(), merged.points), (0, None), "{seats:?}");
        }
        let dimensions = [dimension("d", "1"), dimension("e", "1")];
        let merged = merge(&panel(&["4"]), &dimensions, Consensus::Median);
        assert_eq!(merged.dimensions.len(), 1);
        assert_eq!(merged.points, None, "a missing dimension never drops out of the divisor");
    }

    #[test]
    fn what_the_task_does_not_ask_for_is_ignored() {
        let seat =
            SeatScores { scores: vec![score("d", Points::whole(80), ""), score("charm", Points::ZERO, "")] };
        let merged = merge(&[seat], &[dimension("d", "1")], Consensus::Median);
        assert_eq!(merged.points, Some(Points::whole(80)));
        assert_eq!(merged.dimensions.len(), 1);
    }

    #[test]
    fn dimensions_are_weighed() {
        // (weights, scores, the global score)
        type Row = (&'static [&'static str], &'static [&'static str], Option<&'static str>);
        let rows: &[Row] = &[
            (&[".35", ".30", ".20", ".15"], &["4", "4", "3", "2"], Some("3.5")),
            (&[".35", ".30", ".20", ".15"], &["3", "3", "3", "3"], Some("3")),
            (&["2", "2"], &["4", "2"], Some("3")),
            (&[".8", ".2"], &["5", "1"], Some("4.2")),
            (&[".2", ".2"], &["5", "1"], Some("3")),
            (&["1", "0"], &["4", "4"], None),
            (&["1", "-.5"], &["4", "2"], None),
            (&[], &[], None),
        ];
        for (weights, scores, want) in rows {
            let names: Vec<_> = (0..weights.len()).map(|i| format!("d{i}")).collect();
            let dimensions: Vec<_> = names.iter().zip(*weights).map(|(n, w)| dimension(n, w)).collect();
            let scores = names.iter().zip(*scores).map(|(n, s)| score(n, score_of(s), "")).collect();
            let merged = merge(&[SeatScores { scores }], &dimensions, Consensus::Median);
            assert_eq!(
                merged.points.map(Points::score),
                want.map(dec),
                "{weights:?} {scores:?}",
                scores = merged.dimensions
            );
        }
    }

    #[test]
    fn means_that_do_not_come_out_even_still_meet_a_bar_they_equal() {
        // Seven seats whose points add up to these sums: no dimension's mean is a finite decimal, but
        // (408 × .35 + 424 × .30 + 429 × .20 + 428 × .15) / 7 is exactly 60.
        let sums = [("a", "0.35", 408), ("b", "0.30", 424), ("c", "0.20", 429), ("d", "0.15", 428)];
        let seats: Vec<_> = (0..7)
            .map(|seat| SeatScores {
                scores: sums.iter().map(|(name, _, sum)| score(name, share_of(*sum, seat), "")).collect(),
            })
            .collect();
        let dimensions: Vec<_> = sums.iter().map(|(name, weight, _)| dimension(name, weight)).collect();
        let merged = merge(&seats, &dimensions, Consensus::Mean);
        assert_eq!(merged.points, Some(Points::whole(60)));
    }

    /// What `seat` of seven gives so that together they give `sum` points.
    fn share_of(sum: u16, seat: u16) -> Points {
        let points = sum / 7 + u16::from(sum % 7 > seat);
        Points::new(points.into()).unwrap()
    }

    #[test]
    fn the_reasoning_is_of_the_counted_seat_nearest_to_the_consensus() {
        assert_eq!(single(&["1", "4", "4"], Consensus::Median).dimensions[0].reasoning, "seat 1");
        // On a tie the first seat speaks.
        assert_eq!(single(&["3", "4"], Consensus::Median).dimensions[0].reasoning, "seat 0");
        // The nearest is not the lowest.
        assert_eq!(single(&["3", "4", "4"], Consensus::Median).dimensions[0].reasoning, "seat 1");
        // An outlier never speaks, though the mean (2.33) lies nearer to it.
        assert_eq!(single(&["5", "1", "1"], Consensus::Mean).dimensions[0].reasoning, "seat 1");
    }

    #[test]
    fn a_panel_is_unsure_near_the_bar_or_far_apart() {
        let dimensions = [dimension("d", "1")];
        // (seats, bar 3: the least confidence that it does not reach)
        for (seats, sure_of) in [
            // |4 − 3| / (0 + ¼) = 4
            (&["4", "4", "4"][..], "4"),
            // |3 − 3| = 0
            (&["3", "3", "3"], "0"),
            // median 4, spread √(2/3)·… of 3, 4, 5: 1 / (0.8165 + 0.25) = 0.9376
            (&["3", "4", "5"], "0.93"),
            // The 1 is an outlier and counts as the consensus: 1 / 0.25 = 4
            (&["4", "4", "1"], "4"),
            (&["5"], "8"),
        ] {
            let seats = panel(seats);
            let merged = merge(&seats, &dimensions, Consensus::Median);
            let unsure = |least: Decimal| is_unsure(&seats, &merged, &dimensions, Points::whole(60), least);
            assert!(!unsure(dec(sure_of)), "{seats:?}");
            assert!(unsure(dec(sure_of) + dec("0.01")), "{seats:?}");
        }
        // An outlier counts as the consensus on its dimension and as itself on the others: 1 / (√(.5/3) + ¼) = 1.519
        let dimensions = [dimension("x", "1"), dimension("y", "1")];
        let seat = |(x, y): (&str, &str)| SeatScores {
            scores: vec![score("x", score_of(x), ""), score("y", score_of(y), "")],
        };
        let seats = [("4", "5"), ("4", "4"), ("1", "3")].map(seat);
        let merged = merge(&seats, &dimensions, Consensus::Median);
        let unsure = |least: &str| is_unsure(&seats, &merged, &dimensions, Points::whole(60), dec(least));
        assert_eq!((unsure("1.51"), unsure("1.52")), (false, true));
    }

    #[test]
    fn the_worst_that_a_seat_can_say_is_one_of_five() {
        let seats = seats_of(&[(100, 100), (59, 59)]);
        let dimensions = [dimension("d", "1"), dimension("e", "1")];
        // (100 + 59 + 20) / 3 is below 60.
        let decided = is_decided(&seats, 1, &dimensions, Consensus::Mean, Points::whole(60));
        assert_eq!(decided, None);
    }

    fn points() -> impl Strategy<Value = u8> {
        20u8..=100
    }

    fn seats_of(table: &[(u8, u8)]) -> Vec<SeatScores> {
        table
            .iter()
            .map(|(d, e)| SeatScores {
                scores: vec![score("d", Points::whole(*d), ""), score("e", Points::whole(*e), "")],
            })
            .collect()
    }

    fn global(table: &[(u8, u8)], consensus: Consensus) -> Points {
        let dimensions = [dimension("d", "0.3"), dimension("e", "0.45")];
        merge(&seats_of(table), &dimensions, consensus).points.unwrap()
    }

    proptest! {
        #[test]
        fn raising_a_score_never_lowers_the_result(
            table in prop::collection::vec((points(), points()), 1..6), seat in any::<prop::sample::Index>(), to in points(),
        ) {
            let mut raised = table.clone();
            let slot = seat.index(raised.len());
            raised[slot].0 = raised[slot].0.max(to);
            for consensus in [Consensus::Median, Consensus::Mean, Consensus::ClippedMean] {
                prop_assert!(global(&raised, consensus) >= global(&table, consensus), "{consensus:?}");
            }
        }

        #[test]
        fn a_decided_verdict_is_that_of_the_full_panel(
            first in prop::collection::vec((points(), points()), 2), bar in 20u8..=100,
        ) {
            let dimensions = [dimension("d", "0.3"), dimension("e", "0.45")];
            let bar = Points::whole(bar);
            for consensus in [Consensus::Median, Consensus::Mean, Consensus::ClippedMean] {
                let decided = is_decided(&seats_of(&first), 1, &dimensions, consensus, bar);
                // Every vector of the third seat, in half scores.
                let steps = || (2u8..=10).map(|step| step * 10);
                let verdicts = steps().flat_map(|d| steps().map(move |e| (d, e))).map(|third| {
                    let mut all = first.clone();
                    all.push(third);
                    global(&all, consensus) >= bar
                });
                let verdicts: Vec<bool> = verdicts.collect();
                match decided {
                    Some(verdict) => prop_assert!(verdicts.iter().all(|v| *v == verdict), "{consensus:?}"),
                    None => prop_assert!(verdicts.contains(&true) && verdicts.contains(&false), "{consensus:?}"),
                }
            }
        }

        #[test]
        fn the_order_of_seats_does_not_matter(
            table in prop::collection::vec((points(), points()), 1..6), turn in 0usize..6,
        ) {
            let mut turned = table.clone();
            let by = turn % table.len();
            turned.rotate_left(by);
            let mut reversed = table.clone();
            reversed.reverse();
            for consensus in ALL {
                prop_assert_eq!(global(&turned, consensus), global(&table, consensus));
                prop_assert_eq!(global(&reversed, consensus), global(&table, consensus));
            }
        }
    }
}
