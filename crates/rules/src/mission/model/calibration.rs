//! Bars that labelled work gives to panels (semantics, section 2).

use crate::mission::file::{
    keys::keys,
    scalar::{Filled, Fraction},
};

keys! {
    /// `settings.calibration`. `None` leaves a value to the next level and at last to the default.
    #[derive(Default)]
    pub struct CalibrationSettings: "calibration", by level {
        /// What `quorum calibrate --save` wrote, beside the mission: `.quorum/calibration.json`. Panels that it holds for get their
        /// bar from it, where their task names none.
        "file" file: Option<Box<str>> as Filled;
        /// The share of bad work that may pass: the bar is the lowest score that keeps it [=].
        "maxFalsePass" max_false_pass: Option<Fraction> = "0.2";
        /// The share of work, around the bar, that a person decides [=].
        "referShare" refer_share: Option<Fraction> = "0.2";
    }
}
