//! What became of the work of isolated tasks: at its merge, and at its delivery (semantics, section 22).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::event_payload::Commit;

/// The result of a try to merge the work of an isolated task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Merged {
    /// The work is part of what was accepted.
    Landed(Commit),
    /// Other work was accepted meanwhile: the task's folder has that too, and what must hold there is to be
    /// shown anew.
    Candidate(Commit),
    /// Others changed the same: its folder has both, with marks.
    Conflict {
        /// The commit of both together, marks of conflicts included: the work goes on from there.
        commit: Commit,
        /// The files with conflicts.
        files: Vec<String>,
        /// Titles of the tasks that changed them.
        with: Vec<String>,
        /// How both sides differ in those of them that no marks stand in.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        unmarked: BTreeMap<String, String>,
    },
    /// The work cannot be committed; the text says why, for whoever did it.
    Refused(String),
}

/// The delivery of the accepted work of isolated tasks when a session had nothing left to do.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Delivery {
    /// Commits that the run has added to what it began with.
    pub commits: u32,
    /// The reference to be merged; `None` where the branch has what it names.
    pub waits: Option<String>,
    /// Why the work is not where it was wanted.
    pub why: Option<String>,
}
