//! `quorum.gate/v1`: gates from stored state.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;

use super::fields;
use rules::{
    domain::{GateId, Points, RunId},
    engine::{GateStanding, State, gate_view},
};

/// The gates of a run, from what is stored: `quorum gate`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "schema", rename = "quorum.gate/v1")]
pub struct GateDocument<'a> {
    /// The id of the run.
    pub(crate) run_id: &'a RunId,
    /// The gates that are asked for.
    pub gates: Vec<GateRow<'a>>,
    /// Sentences about the run that a person should know.
    pub(crate) warnings: &'a [String],
}

impl<'a> GateDocument<'a> {
    /// Where these gates of a run stand.
    pub fn of(run: &'a RunId, state: &'a State, gates: &[GateId]) -> Self {
        Self {
            run_id: run,
            gates: gates.iter().map(|id| GateRow::of(state, *id)).collect(),
            warnings: &state.notes,
        }
    }
}

/// The state of one gate.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GateRow<'a> {
    #[serde(skip)]
    pub id: GateId,
    /// The name of the gate.
    pub name: &'a str,
    /// The state of the gate.
    pub state: GateStanding,
    /// The mean score of the gate's tasks, from 1 to 5 in JSON.
    #[serde(rename = "avgScore", serialize_with = "fields::score")]
    #[schemars(with = "Option<fields::ScoreShape>")]
    pub average: Option<Points>,
    /// The mean score in points.
    #[serde(skip_serializing_if = "fields::in_json", serialize_with = "fields::points")]
    #[schemars(skip)]
    pub points: Option<Points>,
    /// Why the gate failed, what should be known about its pass, or which tasks it waits for.
    pub reason: Option<Cow<'a, str>>,
}

impl<'a> GateRow<'a> {
    /// The row of a gate.
    pub fn of(state: &'a State, id: GateId) -> Self {
        let gate = gate_view(state, id);
        Self {
            id,
            name: &state.plan.gate(id).name,
            state: gate.standing,
            average: gate.avg,
            points: gate.avg,
            reason: gate.reason,
        }
    }
}
