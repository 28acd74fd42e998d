//! Budgets and prices (semantics, section 19).

use rust_decimal::Decimal;
use serde::Deserialize;

use crate::domain::{Millis, Money};
use crate::mission::read;
use crate::mission::scalar::{AtLeastOne, Positive};

/// What a run may use in all. `None` is no ceiling.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Budget {
    /// Money.
    #[serde(deserialize_with = "read::option_as::<Positive, _, _>")]
    pub max_cost: Option<Money>,
    /// Tokens, read and written.
    #[serde(deserialize_with = "read::option")]
    pub max_tokens: Option<u64>,
    /// Turns and calls.
    #[serde(deserialize_with = "read::option_as::<AtLeastOne, _, _>")]
    pub max_requests: Option<u64>,
    /// Time in which sessions worked on it.
    #[serde(deserialize_with = "read::option")]
    pub max_time: Option<Millis>,
}

impl Budget {
    /// This budget, with `below` where it says nothing.
    #[must_use]
    pub fn or(self, below: Self) -> Self {
        Self {
            max_cost: self.max_cost.or(below.max_cost),
            max_tokens: self.max_tokens.or(below.max_tokens),
            max_requests: self.max_requests.or(below.max_requests),
            max_time: self.max_time.or(below.max_time),
        }
    }

    /// Whether anything is limited.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

impl From<Positive> for Money {
    fn from(amount: Positive) -> Self {
        Self::new(amount.get()).expect("the largest such number is a small amount")
    }
}

/// What a million tokens of a model cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Price {
    /// Tokens read.
    #[serde(deserialize_with = "read::or_default")]
    pub input: Money,
    /// Tokens written.
    #[serde(deserialize_with = "read::or_default")]
    pub output: Money,
}

impl Price {
    /// What a call cost; `None` where what it used is not known to the last token.
    #[must_use]
    pub fn of(&self, input_tokens: Option<u64>, output_tokens: Option<u64>) -> Option<Money> {
        let part = |tokens: u64, price: Money| Money::of_tokens(tokens, Decimal::from(price));
        Some(part(input_tokens?, self.input)?.plus(part(output_tokens?, self.output)?))
    }
}
