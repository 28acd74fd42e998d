//! What happens to a quality gate.

use serde::{Deserialize, Serialize};

use crate::engine::event_payload::GateResult;

/// An event of a quality gate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum GateEvent {
    /// The gate passed or failed (`quality:gate:passed`, `quality:gate:failed`).
    Evaluated {
        /// The result of the gate.
        result: GateResult,
    },
    /// `quality:gate:overridden`: a person let a failed gate pass. Audited, and not clean.
    Overridden {
        /// The reason that the person gave.
        reason: String,
        /// By whom, as recorded.
        by: String,
    },
}
