//! `quorum.doctor/v1`: whether this machine can run a mission.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

worded! {
    /// How a check ended.
    pub enum CheckOutcome {
        /// What was looked at is as it must be.
        Ok = "ok",
        /// What was looked at may cause trouble later.
        Warn = "warn",
        /// The mission cannot run on this machine.
        Fail = "fail",
        /// The check was not made.
        Skipped = "skipped",
    }
}

/// Whether this machine can run a mission: `quorum doctor`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "schema", rename = "quorum.doctor/v1")]
pub struct DoctorDocument<'a> {
    /// Whether no check failed.
    pub ok: bool,
    /// The checks that were made.
    pub checks: &'a [HealthCheck],
}

/// One thing that was looked at, with keys of its own where scripts need them.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "DoctorCheck")]
pub struct HealthCheck {
    /// The name of the check.
    pub name: String,
    /// `ok`, `warn`, `fail` or `skipped`.
    #[serde(rename = "status")]
    #[schemars(with = "&'static str")]
    pub verdict: CheckOutcome,
    /// What the check saw, in one line.
    pub message: String,
    /// Further values for scripts, by key.
    #[serde(flatten)]
    pub details: Map<String, Value>,
}

impl HealthCheck {
    /// A check that has been made.
    pub fn new(name: impl Into<String>, verdict: CheckOutcome, message: impl Into<String>) -> Self {
        Self { name: name.into(), verdict, message: message.into(), details: Map::new() }
    }

    /// Adds a value for scripts under `key`.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.details.insert(key.to_owned(), value.into());
        self
    }
}
