//! What holds where nobody says otherwise, as far as no declaration of a key says it.

use std::num::NonZeroU32;

use rust_decimal::Decimal;

use super::Settings;
use crate::{
    domain::{Bar, Dimension},
    mission::file::levels::Level,
};

/// The settings that hold where no file, variable or flag says anything.
pub fn default_settings() -> Settings {
    Settings {
        concurrency: NonZeroU32::new(processors()),
        // It is nobody's, which a text cannot say.
        eval_threshold: Some(Bar::default_bar()),
        ..Settings::standard(None)
    }
}

/// As many tasks at once as the machine has processors.
pub fn processors() -> u32 {
    std::thread::available_parallelism().map_or(1, |count| u32::try_from(count.get()).unwrap_or(u32::MAX))
}

/// The dimensions of a panel where a mission names none (section 2).
pub fn default_dimensions() -> Vec<Dimension> {
    [
        ("correctness", 35, "The task does what it set out to do, correctly"),
        ("completeness", 30, "Every requirement of the description is addressed"),
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

/// The meaning of each score from 1 to 5.
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
