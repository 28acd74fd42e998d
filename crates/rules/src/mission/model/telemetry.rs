//! Where the spans of a run go (semantics, section 20).

use crate::mission::file::{keys::keys, scalar::Filled};

use super::agent::Url;

keys! {
    /// `settings.telemetry`. `None` leaves a value to the next level and at last to the default.
    #[derive(Default)]
    pub struct Telemetry: "telemetry settings", by level {
        /// The address of a collector that takes OpenTelemetry's traces as JSON over HTTP; `/v1/traces` is added where it is missing.
        "otlp" otlp: Option<Box<str>> as Url;
        /// The file that a line of the same JSON is added to at the end of each session, relative to the mission.
        "file" file: Option<Box<str>> as Filled;
        /// Whether findings, reasons and outputs of checks are sent, too. Prompts and outputs of agents never are [=].
        "content" content: Option<bool> = "false";
    }
}

impl Telemetry {
    /// Whether spans go anywhere.
    pub fn is_on(&self) -> bool {
        self.otlp.is_some() || self.file.is_some()
    }
}
