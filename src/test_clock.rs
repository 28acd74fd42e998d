//! Time in tests: how much faster than told a debug build waits.
//!
//! `QUORUM_TEST_CLOCK_SCALE` is a factor above 0, up to 1 (`0.01`: a hundredth of each pause). It is read once, only where debug
//! assertions are on, and scales how long the program *waits*: back-offs, signs of life, windows, heartbeats. What is
//! decided and written (moments, durations, limits) stays as it is. Time-outs, deadlines and delays that a mission tells are
//! never scaled; a built-in time-out that no mission can shorten is.

use std::time::Duration;

/// The variable that holds the factor.
#[cfg(debug_assertions)]
const VARIABLE: &str = "QUORUM_TEST_CLOCK_SCALE";

/// How long to wait where the rules say so long.
pub fn scaled(pause: Duration) -> Duration {
    #[cfg(debug_assertions)]
    {
        // Never nothing at all: an interval must have a length.
        pause.mul_f64(factor()).max(pause.min(Duration::from_millis(1)))
    }
    #[cfg(not(debug_assertions))]
    {
        pause
    }
}

/// How many milliseconds a built-in time-out comes to.
pub fn scaled_ms(limit_ms: u64) -> u64 {
    let limit = scaled(Duration::from_millis(limit_ms)).as_millis();
    u64::try_from(limit).unwrap_or(u64::MAX)
}

/// Whether anything is waited for less long than the rules say.
pub fn is_scaled() -> bool {
    #[cfg(debug_assertions)]
    {
        factor() < 1.0
    }
    #[cfg(not(debug_assertions))]
    {
        false
    }
}

/// The factor; 1 where none is told, or none that makes sense.
#[cfg(debug_assertions)]
fn factor() -> f64 {
    static FACTOR: std::sync::OnceLock<f64> = std::sync::OnceLock::new();
    *FACTOR.get_or_init(|| {
        let told = std::env::var(VARIABLE).ok();
        let told = told.and_then(|told| told.parse::<f64>().ok());
        told.filter(|factor| *factor > 0.0 && *factor <= 1.0).unwrap_or(1.0)
    })
}
