//! `quorum.doctor/v1`: whether this machine can run a mission.

use minijinja::Error;
use minijinja::value::Serde;
use serde_json::{Map, Value};

use super::style::TextLayout;
use super::templates::render;
use crate::report::documents::commands::{DoctorCheck, DoctorDocument};

worded! {
    /// How a check ended.
    pub enum CheckOutcome {
        /// The thing is as it should be.
        Ok = "ok",
        /// A run may go wrong.
        Warn = "warn",
        /// A run would go wrong.
        Fail = "fail",
        /// The thing could not be looked at.
        Skipped = "skipped",
    }
}

/// One thing that was looked at.
#[derive(Debug, Clone)]
pub struct HealthCheck {
    pub name: String,
    /// How the check ended.
    pub verdict: CheckOutcome,
    /// What the check saw, in one line.
    pub message: String,
    /// Further values for scripts, by key; printed in JSON only.
    pub details: Map<String, Value>,
}

impl HealthCheck {
    /// A check that has been made.
    pub fn new(name: impl Into<String>, verdict: CheckOutcome, message: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            verdict,
            message: message.into(),
            details: Map::new(),
        }
    }

    /// Adds a value for scripts under `key`.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.details.insert(key.to_owned(), value.into());
        self
    }
}

pub fn document(checks: &[HealthCheck], is_fit: bool) -> DoctorDocument<'_> {
    let rows = checks.iter().map(|check| DoctorCheck {
        name: &check.name,
        status: check.verdict.as_str(),
        message: &check.message,
        details: &check.details,
    });
    DoctorDocument {
        ok: is_fit,
        checks: rows.collect(),
    }
}

/// The list for people, with a line feed at its end.
///
/// # Errors
/// When the template does not fit its values: our bug.
pub fn human(document: DoctorDocument<'_>, screen: &TextLayout) -> Result<String, Error> {
    let text = render(screen, include_str!("doctor.txt"), Serde(document).into())?;
    Ok(screen.wrap(&text))
}
