//! Budgets and prices.

use super::{Shape, Table, key, one};
use crate::domain::{Millis, Money};
use crate::mission::scalar::{AtLeastOne, Positive};

pub(super) static BUDGET: Table = Table {
    name: "a budget",
    keys: &[
        key(
            "maxCost",
            one::<Positive>(),
            "What the run may cost; every model then needs a price in `settings.prices`.",
        ),
        key("maxTokens", one::<u64>(), "Tokens that may be read and written."),
        key(
            "maxRequests",
            one::<AtLeastOne>(),
            "Turns and calls of agents, at least 1.",
        ),
        key(
            "maxTime",
            one::<Millis>(),
            "How long it may work, all its sessions together.",
        ),
    ],
};

const AMOUNT: Shape = one::<Money>();

pub(super) static PRICE: Table = Table {
    name: "a price",
    keys: &[
        key("input", AMOUNT, "Of a million tokens that the model reads.").required(),
        key("output", AMOUNT, "Of a million tokens that it writes.").required(),
    ],
};
