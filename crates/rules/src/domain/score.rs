//! Scores and bars in exact decimal arithmetic (semantics, section 2).
//!
//! Points run from 0 to 100. A 1–5 score is points/20. Binary floats never meet a bar: with them
//! (5 × 0.2 + 1 × 0.2) / 0.4 is 2.9999999999999996 and fails a bar of 3.0 that it equals.

use std::fmt;
use std::str::FromStr;

use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Decimals of a mean: far more than any bar has, and fewer than a quotient's rounded digits.
const MEAN_DECIMALS: u32 = 12;

/// A score as points from 0 to 100.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Points(Decimal);

impl Points {
    /// The lowest score, 0 points.
    pub const ZERO: Self = Self(Decimal::ZERO);

    /// The highest score, 100 points.
    pub const FULL: Self = Self(Decimal::ONE_HUNDRED);

    /// Points from 0 to 100; `None` for any other number.
    pub fn new(points: Decimal) -> Option<Self> {
        (Decimal::ZERO <= points && points <= Decimal::ONE_HUNDRED).then(|| Self(points.normalize()))
    }

    /// Whole points; more than 100 count as 100.
    pub fn whole(points: u8) -> Self {
        Self(Decimal::from(points.min(100)))
    }

    /// The points of a score on the scale 1 to 5; `None` off the scale.
    pub fn from_score(score: Decimal) -> Option<Self> {
        (Decimal::ONE <= score && score <= Decimal::from(5))
            .then(|| Self((score * Decimal::from(20)).normalize()))
    }

    /// The points as a decimal number.
    pub fn value(self) -> Decimal {
        self.0
    }

    /// The score on the scale 1 to 5 (0 to 5 for points below 20), not rounded.
    pub fn score(self) -> Decimal {
        self.0 / Decimal::from(20)
    }

    /// For JSON output: points, at most four decimals.
    pub fn to_f64(self) -> f64 {
        self.0.round_dp(4).to_f64().unwrap_or_default()
    }

    /// For JSON output: the 1–5 score with two decimals.
    pub fn score_f64(self) -> f64 {
        self.score().round_dp(2).to_f64().unwrap_or_default()
    }

    /// Σ(points × weight) / Σ(weight), to twelve decimals; `None` when the weights sum to zero or less.
    ///
    /// Points that are themselves quotients, such as a mean of three, end in rounded digits: without the rounding a
    /// mean of exactly 60 could stand at 59.99…9 and miss the bar that it equals.
    pub fn weighted_mean(parts: impl IntoIterator<Item = (Self, Decimal)>) -> Option<Self> {
        let (mut sum, mut weights) = (Decimal::ZERO, Decimal::ZERO);
        for (points, weight) in parts {
            sum = sum.checked_add(points.0.checked_mul(weight)?)?;
            weights = weights.checked_add(weight)?;
        }
        if weights <= Decimal::ZERO {
            return None;
        }
        sum.checked_div(weights).map(|mean| mean.round_dp(MEAN_DECIMALS)).and_then(Self::new)
    }
}

impl fmt::Display for Points {
    /// `72` or `72.5`: at most two decimals.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.round_dp(2).normalize())
    }
}

/// The bar for a score, and where it comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Bar {
    /// The bar in points.
    pub points: Points,
    /// The origin of the bar.
    pub origin: BarOrigin,
}

impl Bar {
    /// The bar that holds when nothing else is said: 60 points, 3.0 of 5.
    pub fn default_bar() -> Self {
        Self { points: Points::whole(60), origin: BarOrigin::Default }
    }

    /// Whether `points` reach the bar.
    pub fn is_reached_by(&self, points: Points) -> bool {
        points >= self.points
    }
}

/// The origin of a bar: `barOrigin` of the JSON output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BarOrigin {
    /// Nobody set the bar: it is 60.
    Default,
    /// The user's own configuration.
    User,
    /// The bar comes from the project's `quorum.yaml`.
    Project,
    /// The bar comes from the mission file.
    Mission,
    /// Work that people labelled, by `quorum calibrate --save`.
    Calibration,
    /// The bar comes from an environment variable.
    Environment,
    /// The relief of a foundation task, under whatever bar would hold without it.
    Foundation,
    /// The bar comes from a command-line flag.
    Flag,
}

/// A text that is not a bar.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error(
    "{text} is not a bar: write a score from 1 to 5 (3.5), points from 20 to 100 (70), or say the scale: \"3.5/5\", \"10/100\""
)]
pub struct ParseBarError {
    /// The text that is no bar.
    pub text: String,
}

impl FromStr for Points {
    type Err = ParseBarError;

    /// Reads a bar as written in a file, flag or variable: a bare number from 1 to 5 is a score, from 20 to 100 is
    /// points, anything else must name its scale.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let fail = || ParseBarError { text: format!("'{text}'") };
        let number = |part: &str| Decimal::from_str(part.trim()).map_err(|_| fail());
        let points = match text.split_once('/') {
            Some((value, scale)) => match scale.trim() {
                "5" => Self::from_score(number(value)?),
                "100" => Self::new(number(value)?),
                _ => None,
            },
            None => {
                let value = number(text)?;
                if value <= Decimal::from(5) {
                    Self::from_score(value)
                } else {
                    Self::new(value).filter(|points| points.0 >= Decimal::from(20))
                }
            }
        };
        points.ok_or_else(fail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dec(text: &str) -> Decimal {
        text.parse().unwrap()
    }

    fn mean(parts: &[(&str, &str)]) -> Points {
        Points::weighted_mean(parts.iter().map(|(s, w)| (Points::from_score(dec(s)).unwrap(), dec(w))))
            .unwrap()
    }

    #[test]
    fn a_score_that_equals_the_bar_passes_it() {
        let bar = Bar::default_bar();
        assert!(bar.is_reached_by(mean(&[("4", ".35"), ("3", ".30"), ("2", ".20"), ("2", ".15")])));
        assert!(bar.is_reached_by(mean(&[("5", "0.2"), ("1", "0.2")])));
        assert_eq!(mean(&[("4", ".35"), ("4", ".30"), ("3", ".20"), ("2", ".15")]), Points::whole(70));
        assert_eq!(mean(&[("5", ".8"), ("1", ".2")]).score_f64(), 4.2);
    }

    #[test]
    fn a_mean_of_means_reaches_the_bar_that_it_equals() {
        let third = |sum: i64| Points::new(Decimal::from(sum) / Decimal::from(3)).unwrap();
        let means = [third(190), third(190), third(160)].map(|points| (points, Decimal::ONE));
        let mean = Points::weighted_mean(means).unwrap();
        assert!(Bar::default_bar().is_reached_by(mean), "{}", mean.value());
    }

    #[test]
    fn weights_without_weight_have_no_mean() {
        assert_eq!(Points::weighted_mean([]), None);
        assert_eq!(Points::weighted_mean([(Points::whole(50), Decimal::ZERO)]), None);
    }

    #[test]
    fn bars_name_their_scale_or_are_unmistakable() {
        for (text, points) in
            [("3", "60"), ("3.5", "70"), ("1", "20"), ("5", "100"), ("20", "20"), ("72.5", "72.5")]
        {
            assert_eq!(text.parse::<Points>().unwrap().value(), dec(points), "{text}");
        }
        for (text, points) in [("3.5/5", "70"), ("10/100", "10"), ("0/100", "0"), (" 4 / 5 ", "80")] {
            assert_eq!(text.parse::<Points>().unwrap().value(), dec(points), "{text}");
        }
        for bad in ["7", "0", "0.5", "19.9", "101", "-1", "x", "", "3/10", "6/5", "NaN"] {
            assert!(bad.parse::<Points>().is_err(), "{bad}");
        }
    }
}
