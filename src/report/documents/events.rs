//! `quorum.events/v1`: what happened in a run, under the public names.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::fields;
use rules::domain::{RunId, Timestamp};

/// Everything that happened in a run: `quorum events --json`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "schema", rename = "quorum.events/v1")]
pub struct EventsDocument<'a> {
    /// The id of the run.
    pub run_id: &'a RunId,
    /// The events, the oldest first.
    pub events: &'a [PublicEvent],
}

/// An event under its public name, with the keys that events of this name have.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "event")]
pub struct PublicEvent {
    /// Number of the engine's event.
    pub seq: u64,
    /// The moment of the decision.
    #[serde(serialize_with = "fields::this_moment")]
    #[schemars(with = "fields::MomentShape")]
    pub at: Timestamp,
    /// The id of the run.
    pub run_id: Arc<str>,
    /// The name of the event, such as `task:transition`.
    #[serde(rename = "event")]
    pub name: &'static str,
    /// The values of the event, in a fixed order.
    #[serde(flatten)]
    pub payload: Map<String, Value>,
}
