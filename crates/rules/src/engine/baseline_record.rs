//! What checks said before the work of their task began, as it is on record (semantics, section 24).

use serde::{Deserialize, Serialize};

use crate::domain::{BeforeWork, Digest, Millis};

/// The result of a task's check before the work on it began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BaselineResult {
    /// The digest of what the check does.
    pub key: Digest,
    pub before: BeforeWork,
    /// Why the check was red or is unknown, in words.
    pub reason: String,
    /// Whether the check failed only because its program or its folder was not there.
    pub never_ran: bool,
    /// The time that the check took.
    pub duration: Millis,
    /// The first files that it goes by and that were not there, seen from the folder of the task.
    pub lacks: Vec<Box<str>>,
}

/// The longest reason that is kept, in characters.
const LONGEST_REASON: usize = 500;

impl BaselineResult {
    /// Why nobody looks where others work.
    pub const TURN_NEAR: &str = "another turn was at work in its folder";

    /// A result and its reason; of a long reason only the beginning.
    pub fn new(key: Digest, before: BeforeWork, reason: &str) -> Self {
        Self {
            key,
            before,
            reason: reason.chars().take(LONGEST_REASON).collect(),
            never_ran: false,
            duration: Millis::default(),
            lacks: Vec::new(),
        }
    }

    /// Whether the check passed, where that could be told.
    pub fn passed(&self) -> Option<bool> {
        match self.before {
            BeforeWork::Green => Some(true),
            BeforeWork::Red => Some(false),
            BeforeWork::Unknown => None,
        }
    }

    /// A result that could not be told, for this reason.
    pub fn unknown(key: Digest, why: &str) -> Self {
        Self::new(key, BeforeWork::Unknown, why)
    }
}

/// The results of a task's checks before the work on it began. They are looked at once a run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Baseline {
    /// Whether somebody looks now.
    pub open: bool,
    /// The commit that a task in a worktree began with; `None` elsewhere.
    pub on: Option<Box<str>>,
    /// The results of the checks.
    pub checks: Box<[BaselineResult]>,
}
