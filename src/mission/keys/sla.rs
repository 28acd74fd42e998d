//! What is said and done about deadlines.

use super::tables::CHANNEL_NAMES;
use super::{Table, key, one};
use crate::mission::model::{CheckInterval, ViolationAction};
use crate::mission::scalar::Fraction;

pub(super) static SLA: Table = Table {
    name: "sla settings",
    keys: &[
        key(
            "warningThreshold",
            one::<Fraction>(),
            "The share of the time after which a warning is given [0.8].",
        ),
        key(
            "checkIntervalMs",
            one::<CheckInterval>(),
            "The most that a warning or a violation may be noticed late, in milliseconds [30000]; they are noticed at \
             once.",
        ),
        key(
            "warningChannels",
            CHANNEL_NAMES,
            "Channels that are told when a deadline is near.",
        ),
        key(
            "violationChannels",
            CHANNEL_NAMES,
            "Channels that hear of a missed deadline.",
        ),
        key(
            "violationAction",
            one::<ViolationAction>(),
            "What follows when a deadline passes: somebody is told, or the work is ended too [notify].",
        ),
    ],
};
