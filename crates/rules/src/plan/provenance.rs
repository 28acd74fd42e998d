//! Where a task comes from that the mission does not have, and what a plan knows of such tasks.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use rpds::RedBlackTreeMapSync;

use crate::domain::{Digest, TaskId};

worded! {
    /// Why a task is there that the mission does not have.
    pub enum Origin {
        /// An agent asked for it while it worked on another one. It is judged like every other.
        Delegated = "delegated",
        /// It is made to repair another one that failed (`onExhausted: fixup`).
        Fixup = "fixup",
        /// Somebody asked for it with `quorum request`.
        Request = "request",
    }
}

/// Where an added task comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct Provenance {
    /// Why the task is there.
    pub origin: Origin,
    /// The task that it comes from; none for a request from outside.
    pub source: Option<TaskId>,
    /// For a request from outside: its id.
    pub request: Option<Box<str>>,
    /// How often work was delegated on the way to the task.
    pub depth: u32,
    /// For delegated work: the digest of its text and of those that it was delegated by, as the record has it.
    pub chain: Option<Digest>,
}

/// Ids by title, made when somebody first asks.
#[derive(Debug, Clone)]
pub struct Titles {
    pub base: Arc<OnceLock<HashMap<Box<str>, TaskId>>>,
    pub later: RedBlackTreeMapSync<Box<str>, TaskId>,
}

impl Default for Titles {
    fn default() -> Self {
        Self { base: Arc::default(), later: RedBlackTreeMapSync::new_sync() }
    }
}

/// The fixups of tasks, by the task that each one mends.
#[derive(Debug, Clone)]
pub struct Fixups(pub RedBlackTreeMapSync<TaskId, TaskId>);

impl Default for Fixups {
    fn default() -> Self {
        Self(RedBlackTreeMapSync::new_sync())
    }
}
