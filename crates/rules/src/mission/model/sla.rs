//! What is said and done about deadlines (semantics, section 14).

use crate::mission::file::{
    keys::{keys, single, words},
    levels::shown,
    scalar::{ChannelName, Fraction, JsonForm, number_in, scalars},
};

keys! {
    /// `settings.sla`. `None` leaves a value to the next level and at last to the default.
    #[derive(Default)]
    pub struct Sla: "sla settings", by level {
        /// The share of the time after which a warning is given [=].
        "warningThreshold" warning_threshold: Option<Fraction> = "0.8";
        /// How often a deadline is looked at, in milliseconds from when its time begins, where a file says it. Unsaid, it is looked at
        /// at each of its moments, which is sooner than by the default [=].
        "checkIntervalMs" check_interval_ms: Option<CheckInterval> = "30000";
        /// Channels that are told when a deadline is near.
        "warningChannels" warning_channels: Option<Box<[Box<str>]>> as ChannelName = "[]";
        /// Channels that hear of a missed deadline.
        "violationChannels" violation_channels: Option<Box<[Box<str>]>> as ChannelName = "[]";
        /// What follows when a deadline passes: somebody is told, or the work is ended too [=].
        "violationAction" violation_action: Option<ViolationAction> = "notify";
    }
}

/// Milliseconds between two looks at a deadline.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CheckInterval(pub u32);

scalars! {
    CheckInterval: "milliseconds, a whole number above 0", JsonForm::Whole(1, u32::MAX as u64),
        |text| number_in(text, 1..=u32::MAX).map(Self);
}

single!(CheckInterval);
shown!(CheckInterval: |interval| interval.0);

words! {
    /// The action when a deadline passes.
    #[derive(Default)]
    pub enum ViolationAction: "what happens when a deadline passes" {
        /// The channels are told.
        #[default]
        Notify = "notify",
        /// The work is ended, too.
        Fail = "fail",
    }
}
