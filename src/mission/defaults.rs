//! What holds where nobody says otherwise.

use rust_decimal::Decimal;

use crate::domain::{Dimension, Millis};

/// Time of one turn (semantics, section 5).
pub(super) const TASK_TIMEOUT: Millis = Millis::from_secs(30 * 60);
/// Fixes after one execute or retry (section 4).
pub(super) const MAX_FIX_ATTEMPTS: u32 = 2;
/// Retries in all (section 4).
pub(super) const MAX_RETRIES: u32 = 3;
/// Attempts of a task judged by evaluation: one run and one rework (section 4).
pub(super) const MAX_EVALUATED_ATTEMPTS: u32 = 2;
/// Runs of a panel that came to no verdict, after the first (section 7).
pub(super) const MAX_ASSESSMENT_RETRIES: u32 = 1;
/// Seats of a panel (section 7).
pub(super) const SEATS: u32 = 3;

/// What a panel scores where a mission names no dimensions (section 2).
#[must_use]
pub fn default_dimensions() -> Vec<Dimension> {
    [
        (
            "correctness",
            35,
            "The task does what it set out to do, correctly",
        ),
        (
            "completeness",
            30,
            "Every requirement of the description is addressed",
        ),
        ("code_quality", 20, "The code is clean, readable and maintainable"),
        ("edge_cases", 15, "Edge cases and error conditions are handled"),
    ]
    .into_iter()
    .map(|(name, percent, description)| Dimension {
        name: name.to_owned(),
        weight: Decimal::new(percent, 2),
        description: Some(description.to_owned()),
        rubric: default_scale(),
    })
    .collect()
}

/// What each score from 1 to 5 means.
fn default_scale() -> Vec<(u8, String)> {
    [
        (1, "Completely wrong, or missing"),
        (2, "Major issues, barely works"),
        (3, "Acceptable, with notable gaps"),
        (4, "Good, with minor issues"),
        (5, "Excellent, beyond what was asked"),
    ]
    .into_iter()
    .map(|(level, meaning)| (level, meaning.to_owned()))
    .collect()
}
