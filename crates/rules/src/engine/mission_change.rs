//! `mission:changed`: what the journal says of a changed mission that a person accepted.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::domain::{Digest, GateId, TaskId};
use crate::plan::Plan;

/// A changed mission that a person accepted. Ids are those of the new plan, which keeps the old ones.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MissionChange {
    /// The number of the frozen mission: 2 for the first that followed the one the run started with.
    pub number: u32,
    /// Digest of the mission that holds from here on.
    pub mission_digest: Digest,
    /// Digest of the mission that held before.
    pub previous_digest: Digest,
    /// Tasks that the run takes from here on.
    pub added: Vec<TaskId>,
    /// Tasks that the run does not take any more.
    pub removed: Vec<TaskId>,
    /// Tasks that are asked for, or judged, in another way than before.
    pub changed: Vec<TaskId>,
    /// Gates whose result is withdrawn.
    pub gates: Vec<GateId>,
    /// The new mission as it was compiled, under ids of its own. The journal names it by digest alone; whoever replays one
    /// puts the compiled frozen mission in before the event is applied, which makes it the successor of the plan that held.
    #[serde(skip)]
    pub mission: Option<Arc<Plan>>,
}

/// The plan is no part of what happened: the digest says which it is.
impl PartialEq for MissionChange {
    fn eq(&self, other: &Self) -> bool {
        let key = |change: &Self| (change.number, change.mission_digest, change.previous_digest);
        let lists = |change: &Self| {
            let tasks = [&change.added, &change.removed, &change.changed].map(Clone::clone);
            (tasks, change.gates.clone())
        };
        key(self) == key(other) && lists(self) == lists(other)
    }
}
