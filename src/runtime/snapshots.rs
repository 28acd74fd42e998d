//! When a snapshot is written: when the journal's tail has outgrown it, and at the end. Never on a timer.

use std::fs;

use serde_json::Value;

use crate::domain::{Digest, OutcomeClass};
use crate::engine::{Event, FORMAT, RunEvent, State};
use crate::mission::LONGEST_MISSION;
use crate::store::{FsLog, Journal, Reader, RunFolder, Snapshot, read_regular};

/// A journal shorter than this is folded faster than a snapshot is worth.
const SHORTEST_TAIL: u64 = 1024 * 1024;
/// The tail may be this many times as long as the snapshot: writing snapshots then costs a fraction of the journal.
const TAIL_FACTOR: u64 = 8;

/// Writes the snapshots of a session.
pub(super) struct Snapshots {
    run: RunFolder,
    written_at: u64,
    size: u64,
}

impl Snapshots {
    pub fn new(run: RunFolder, offset: u64) -> Self {
        Self {
            run,
            written_at: offset,
            size: 0,
        }
    }

    /// Whether the journal's tail has outgrown the last one.
    pub fn is_due(&self, journal: &Journal<FsLog>) -> bool {
        let tail = journal.offset() - self.written_at;
        tail > SHORTEST_TAIL.max(self.size.saturating_mul(TAIL_FACTOR))
    }

    /// Writes one. `outcome` is the session's, if it is over; `page` is what readers show first.
    pub fn write(
        &mut self,
        state: &State,
        journal: &Journal<FsLog>,
        outcome: Option<OutcomeClass>,
        page: Option<Value>,
    ) {
        let end = journal.end();
        // The journal is the truth: without a snapshot readers fold it, and are slower.
        if let Ok(size) = Snapshot::of(self.run.id(), state, end, outcome, page).write(&self.run) {
            self.size = size;
        }
        self.written_at = end.offset;
    }
}

/// What readers show first of a run, if its snapshot knows it and all that a fold would look at is as it should be.
/// `None` for everything that is not plain: whoever folds the journal then finds out what it is.
#[must_use]
pub fn stored_page(run: &RunFolder) -> Option<Value> {
    let length = fs::symlink_metadata(run.journal()).ok()?.len();
    if length < SHORTEST_TAIL || run.foreign_write().exists() {
        return None;
    }
    let first = Reader::open(&run.journal()).ok()?.next_record().ok()??;
    let Some(Event::Run(RunEvent::Started(started))) = first.events.first() else {
        return None;
    };
    let frozen = read_regular(&run.mission(1), LONGEST_MISSION).ok()?;
    // Of a mission that was changed since, the fold knows more.
    let is_plain =
        started.format <= FORMAT && Digest::of(&frozen) == started.mission_digest && !run.mission(2).exists();
    Snapshot::read_page(run).filter(|_| is_plain)
}
