//! What happens to a quality gate.

use serde::{Deserialize, Serialize};

use crate::engine::payload::GateResult;

/// What happens to a quality gate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum GateEvent {
    /// `quality:gate:passed`, `quality:gate:failed`
    Evaluated {
        /// What came out.
        result: GateResult,
    },
    /// `quality:gate:overridden`: a person let a failed gate pass. Audited, and not clean.
    Overridden {
        /// Why, as given.
        reason: String,
        /// By whom, as recorded.
        by: String,
    },
}
