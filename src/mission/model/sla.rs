//! What is said and done about deadlines (semantics, section 14).

use serde::Deserialize;

use crate::mission::read;
use crate::mission::scalar::{Fault, Filled, Form, Fraction, Scalar, number_in, words};

/// `settings.sla`. `None` leaves a value to the next layer and at last to the default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Sla {
    /// The share of the time after which a warning is given.
    #[serde(deserialize_with = "read::option")]
    pub warning_threshold: Option<Fraction>,
    /// The most that anything may be noticed late. Timers notice at once, so every value is kept.
    #[serde(deserialize_with = "read::option")]
    pub check_interval_ms: Option<CheckInterval>,
    /// Channels that are told when a deadline is near.
    #[serde(deserialize_with = "read::maybe_list_as::<Filled, _>")]
    pub warning_channels: Option<Box<[Box<str>]>>,
    /// Channels that hear of a missed deadline.
    #[serde(deserialize_with = "read::maybe_list_as::<Filled, _>")]
    pub violation_channels: Option<Box<[Box<str>]>>,
    /// What follows when a deadline passes.
    #[serde(deserialize_with = "read::option")]
    pub violation_action: Option<ViolationAction>,
}

impl Sla {
    /// These settings, with `below` where they say nothing.
    #[must_use]
    pub fn or(self, below: Self) -> Self {
        Self {
            warning_threshold: self.warning_threshold.or(below.warning_threshold),
            check_interval_ms: self.check_interval_ms.or(below.check_interval_ms),
            warning_channels: self.warning_channels.or(below.warning_channels),
            violation_channels: self.violation_channels.or(below.violation_channels),
            violation_action: self.violation_action.or(below.violation_action),
        }
    }
}

/// Milliseconds between two looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckInterval(pub u32);

impl Scalar for CheckInterval {
    const EXPECTS: &'static str = "milliseconds, a whole number above 0";
    const FORM: Form = Form::Whole(1, u32::MAX as u64);

    fn parse(text: &str) -> Result<Self, Fault> {
        number_in::<Self>(text, 1..=u32::MAX).map(Self)
    }
}

/// What follows when a deadline passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ViolationAction {
    /// Somebody is told.
    #[default]
    Notify,
    /// The work is ended, too.
    Fail,
}

impl ViolationAction {
    /// The word as it is written.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Notify => "notify",
            Self::Fail => "fail",
        }
    }
}

words!(ViolationAction: "what happens when a deadline passes", "notify" => Notify, "fail" => Fail);
