//! Budgets and prices (semantics, section 19).

use std::num::NonZeroU64;

use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use serde_json::json;

use crate::{
    domain::{Millis, Money},
    mission::file::{
        keys::keys,
        levels::{Level, ShowValue, shown},
        scalar::{Fraction, Positive},
    },
};

keys! {
    /// The limits of a run in all. `None` is no limit.
    #[derive(Copy, Default)]
    pub struct Budget: "a budget", by level {
        /// What the run may cost; every model then needs a price in `settings.prices`.
        "maxCost" max_cost: Option<Money> as Positive;
        /// Tokens that may be read and written.
        "maxTokens" max_tokens: Option<u64>;
        /// Turns and calls of agents, at least 1.
        "maxRequests" max_requests: Option<u64> as NonZeroU64;
        /// How long it may work, all its sessions together.
        "maxTime" max_time: Option<Millis>;
        /// The share of `maxCost` and `maxTokens` that only whoever gives a verdict may use [= where a task is judged, unless a
        /// turn may use more than that leaves].
        "reserveForJudging" reserve_for_judging: Option<Fraction> = "0.15";
    }
}

impl Budget {
    /// Fills each limit that is `None` from `below`.
    #[must_use]
    pub fn or(self, below: Self) -> Self {
        self.over(below)
    }

    /// Whether anything is limited.
    pub fn is_none(&self) -> bool {
        self.max_requests.is_none() && self.max_time.is_none() && !self.has_shares()
    }

    /// Whether there is a ceiling of which a share can be kept for judging.
    pub fn has_shares(&self) -> bool {
        self.max_cost.is_some() || self.max_tokens.is_some()
    }

    /// With the default share, where nobody says another.
    #[must_use]
    pub fn with_share(self) -> Self {
        Self { reserve_for_judging: Some(self.reserve_for_judging()), ..self }
    }

    /// The limits for agents that give no verdict: less the share that is kept for judging.
    #[must_use]
    pub fn for_work(&self) -> Self {
        let kept = self.reserve_for_judging.map(|share| share.points().value());
        let part = |most: Decimal| most.checked_mul(Decimal::ONE - kept? / Decimal::ONE_HUNDRED);
        let cost = |most: Money| part(most.into()).and_then(Money::new).unwrap_or(most);
        let tokens = |most: u64| part(most.into()).and_then(|most| most.to_u64()).unwrap_or(most);
        Self { max_cost: self.max_cost.map(cost), max_tokens: self.max_tokens.map(tokens), ..*self }
    }
}

impl From<Positive> for Money {
    fn from(amount: Positive) -> Self {
        Self::new(amount.get()).expect("the largest such number is a small amount")
    }
}

keys! {
    /// The price of a million tokens of a model.
    #[derive(Copy, Default)]
    pub struct Price: "a price" {
        /// Of a million tokens that the model reads.
        "input" input: Money, required, or("0");
        /// Of a million tokens that it writes.
        "output" output: Money, required, or("0");
    }
}

shown!(Price: |price| json!({"input": ShowValue::shown(&price.input), "output": ShowValue::shown(&price.output)}));

impl Price {
    /// The cost of a call; `None` where its tokens are not known to the last one.
    pub fn of(&self, input_tokens: Option<u64>, output_tokens: Option<u64>) -> Option<Money> {
        let part = |tokens: u64, price: Money| Money::of_tokens(tokens, Decimal::from(price));
        Some(part(input_tokens?, self.input)?.plus(part(output_tokens?, self.output)?))
    }
}
