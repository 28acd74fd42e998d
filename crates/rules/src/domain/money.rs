//! Money in exact decimal arithmetic (semantics, section 19). Like scores, it never meets a limit as a binary float.

use std::fmt;
use std::str::FromStr;

use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use serde::{Deserialize, Serialize};

/// An amount of money, zero or more. Whose money is up to the prices; it is shown with a dollar sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Money(Decimal);

/// No amount is larger; far more than anybody pays, and far less than what overflows a sum.
const MOST: i64 = 1_000_000_000_000;

impl Money {
    /// The amount of nothing.
    pub const ZERO: Self = Self(Decimal::ZERO);

    /// An amount; `None` for a negative or an absurd one.
    pub fn new(amount: Decimal) -> Option<Self> {
        (Decimal::ZERO..=Decimal::from(MOST)).contains(&amount).then(|| Self(amount.normalize()))
    }

    /// The cost of `tokens` at a price for a million of them.
    pub fn of_tokens(tokens: u64, per_million: Decimal) -> Option<Self> {
        let million = Decimal::from(1_000_000);
        Self::new(Decimal::from(tokens).checked_mul(per_million)?.checked_div(million)?)
    }

    /// The sum. What is beyond all amounts stays at the largest.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let sum = self.0.checked_add(other.0).and_then(Self::new);
        sum.unwrap_or(Self(Decimal::from(MOST)))
    }

    /// The difference, zero where the other is more.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        self.0.checked_sub(other.0).and_then(Self::new).unwrap_or_default()
    }

    /// For JSON output, at most eight decimals.
    pub fn to_f64(self) -> f64 {
        self.0.round_dp(8).to_f64().unwrap_or_default()
    }
}

/// Text that is no amount.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{text:?} is no amount of money: write a number such as 5 or 0.25")]
pub struct ParseMoneyError {
    text: String,
}

impl From<Money> for Decimal {
    fn from(money: Money) -> Self {
        money.0
    }
}

impl FromStr for Money {
    type Err = ParseMoneyError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let trimmed = text.trim();
        let decimal = Decimal::from_str(trimmed).or_else(|_| Decimal::from_scientific(trimmed));
        let amount = decimal.ok().and_then(Self::new);
        amount.ok_or_else(|| ParseMoneyError { text: text.to_owned() })
    }
}

impl fmt::Display for Money {
    /// `$0.84`; smaller amounts with as many decimals as they need, at most six.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rounded = self.0.round_dp(6).normalize();
        let decimals = rounded.scale().max(2);
        write!(f, "${rounded:.*}", decimals as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_exact_and_stay_within_bounds() {
        let tenth: Money = "0.1".parse().unwrap();
        let sum = (0..10).fold(Money::ZERO, |sum, _| sum.plus(tenth));
        assert_eq!(sum, "1".parse().unwrap());
        assert_eq!(tenth.minus(sum), Money::ZERO);
        let most: Money = MOST.to_string().parse().unwrap();
        assert_eq!(most.plus(tenth), most);
        for wrong in ["", "-1", "five", "1e30", "NaN"] {
            assert!(wrong.parse::<Money>().is_err(), "{wrong}");
        }
        assert_eq!("2.5e-3".parse::<Money>().unwrap().to_string(), "$0.0025");
    }

    #[test]
    fn tokens_cost_by_the_million() {
        let price: Decimal = "0.15".parse().unwrap();
        assert_eq!(Money::of_tokens(2_000_000, price).unwrap().to_string(), "$0.30");
        assert_eq!(Money::of_tokens(1, price).unwrap().to_f64(), 0.000_000_15);
        assert_eq!(Money::of_tokens(u64::MAX, Decimal::from(1_000_000)), None);
    }
}
