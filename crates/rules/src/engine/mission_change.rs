//! `mission:changed`: what the journal says of a changed mission that a person accepted.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::domain::{Digest, GateId, TaskId};
use crate::plan::Plan;

/// A changed mission that a person accepted. Ids are those of the new plan, which keeps the old ones.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct MissionChange {
    /// The number of the frozen mission: 2 for the first that followed the one the run started with.
    #[serde(rename = "n")]
    pub number: u32,
    /// Digest of the mission that held before.
    #[serde(rename = "f")]
    pub from: Digest,
    /// Digest of the mission that holds from here on.
    #[serde(rename = "o")]
    pub to: Digest,
    /// Tasks that the run takes from here on.
    #[serde(rename = "a", default, skip_serializing_if = "Vec::is_empty")]
    pub added: Vec<TaskId>,
    /// Tasks that the run does not take any more.
    #[serde(rename = "d", default, skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<TaskId>,
    /// Tasks that are asked for, or judged, in another way than before.
    #[serde(rename = "c", default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<TaskId>,
    /// Gates whose result is withdrawn.
    #[serde(rename = "g", default, skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<GateId>,
    /// The new mission as it was compiled, under ids of its own. The journal names it by digest alone; whoever replays one
    /// puts the compiled frozen mission in before the event is applied, which makes it the successor of the plan that held.
    #[serde(skip)]
    pub mission: Option<Arc<Plan>>,
}

/// The plan is no part of what happened: the digest says which it is.
impl PartialEq for MissionChange {
    fn eq(&self, other: &Self) -> bool {
        let key = |change: &Self| (change.number, change.from, change.to);
        let lists = |change: &Self| {
            let tasks = [&change.added, &change.removed, &change.changed].map(Clone::clone);
            (tasks, change.gates.clone())
        };
        key(self) == key(other) && lists(self) == lists(other)
    }
}
