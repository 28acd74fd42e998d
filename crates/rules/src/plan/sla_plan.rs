//! What is said and done about deadlines, resolved.

use rust_decimal::Decimal;

use crate::{
    domain::{Millis, Points, Timestamp},
    mission::model,
};

/// The rules for deadlines, resolved.
#[derive(Debug, Clone, PartialEq)]
pub struct SlaPlan {
    /// The share of the time after which a warning is given, as points.
    pub warning: Points,
    /// Channels that are told when a deadline is near.
    pub warning_channels: Box<[Box<str>]>,
    /// Channels that hear of a missed deadline.
    pub violation_channels: Box<[Box<str>]>,
    /// Whether a missed deadline ends the work.
    pub fails: bool,
    /// The time between two looks at a deadline; `None`: it is looked at at its moments.
    pub check_interval: Option<Millis>,
}

impl Default for SlaPlan {
    fn default() -> Self {
        Self {
            warning: model::Sla::default().warning_threshold().points(),
            warning_channels: Box::default(),
            violation_channels: Box::default(),
            fails: false,
            check_interval: None,
        }
    }
}

impl SlaPlan {
    /// The first look at a deadline whose time began at `since` that comes at a moment or behind it.
    pub fn look_at(&self, since: Timestamp, moment: Timestamp) -> Timestamp {
        let Some(Millis(interval)) = self.check_interval else {
            return moment;
        };
        let looks = moment.since(since).0.div_ceil(interval.max(1));
        since.plus(Millis(looks.saturating_mul(interval)))
    }

    /// When a warning is given about a time from one moment to another.
    pub fn warning_at(&self, since: Timestamp, due: Timestamp) -> Timestamp {
        let all = Decimal::from(due.since(since).0);
        let share = all * self.warning.value() / Decimal::ONE_HUNDRED;
        let millis = share.ceil().try_into().unwrap_or(u64::MAX);
        since.plus(Millis(millis))
    }
}
