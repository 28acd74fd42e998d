//! When a snapshot is written: when the journal's tail has outgrown it, and at the end. Never on a timer.

use crate::domain::OutcomeClass;
use crate::engine::State;
use crate::store::{FsLog, Journal, RunFolder, Snapshot};

/// A journal shorter than this is folded faster than a snapshot is worth.
const SHORTEST_TAIL: u64 = 4 * 1024 * 1024;
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

    /// Writes one if the journal's tail has outgrown the last.
    pub fn after_commit(&mut self, state: &State, journal: &Journal<FsLog>) {
        let tail = journal.offset() - self.written_at;
        if tail > SHORTEST_TAIL.max(self.size.saturating_mul(TAIL_FACTOR)) {
            self.write(state, journal, None);
        }
    }

    /// Writes the last one.
    pub fn at_end(&mut self, state: &State, journal: &Journal<FsLog>, outcome: OutcomeClass) {
        self.write(state, journal, Some(outcome));
    }

    fn write(&mut self, state: &State, journal: &Journal<FsLog>, outcome: Option<OutcomeClass>) {
        let end = journal.end();
        // The journal is the truth: without a snapshot readers fold it, and are slower.
        if let Ok(size) = Snapshot::of(self.run.id(), state, end, outcome).write(&self.run) {
            self.size = size;
        }
        self.written_at = end.offset;
    }
}
