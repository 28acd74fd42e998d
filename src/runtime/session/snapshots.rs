//! When a snapshot is written, and what a reader makes of it.
//!
//! It is written when the journal's tail has outgrown it, beside the signs of life of a long run, and at the end: whatever
//! a crash leaves behind the last one is short in bytes and in time.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use crate::store::{Front, FsLog, Journal, JournalEnd, OperatorKey, Reader, RunFolder, Snapshot};
use rules::domain::{Digest, OutcomeClass, Status, TaskId, Timestamp};
use rules::engine::{Event, FORMAT, RunEvent, State, TaskEvent};
use rules::mission::LONGEST_MISSION;
use supervisor::files::read_regular;

use crate::runtime::recovery::{
    adopt::Left,
    moved,
    origin::{CheckedOrigin, RunOrigin, operator_key},
};

/// A journal shorter than this, in bytes, is folded faster than a snapshot is worth.
const SHORTEST_TAIL: u64 = 1024 * 1024;
/// The tail may have this share of a long journal: a run then costs few snapshots, however long it is.
const TAIL_SHARE: u64 = 16;

/// Journal and mission that are shorter together are folded in a tenth of a second: rather than a page that is not up to date,
/// people then see one that is.
const FOLDED_SOON: u64 = 4 * 1024 * 1024;

/// How many bytes a journal may go on behind a snapshot that goes up to `offset`.
fn longest_tail(offset: u64) -> u64 {
    SHORTEST_TAIL.max(offset / TAIL_SHARE)
}

/// Writes the snapshots of a session.
pub struct Snapshots {
    run: RunFolder,
    /// Without a key there are none: they would not be believed.
    key: Option<OperatorKey>,
    written_at: u64,
    /// Why the last one could not be written.
    problem: Option<String>,
}

impl Snapshots {
    pub fn new(run: RunFolder, key: Option<OperatorKey>) -> Self {
        Self {
            run,
            key,
            // What the last session left says nothing of this one.
            written_at: 0,
            problem: None,
        }
    }

    /// Why the last one could not be written; readers of the run are slower without it.
    pub fn problem(&mut self) -> Option<String> {
        let (why, path) = (self.problem.take()?, self.run.snapshot());
        Some(format!("cannot write {}: {why}; commands that read the run are slower", path.display()))
    }

    /// Whether the journal's tail has outgrown the last one.
    pub fn is_due(&self, journal: &Journal<FsLog>) -> bool {
        self.key.is_some() && journal.offset() - self.written_at > longest_tail(self.written_at)
    }

    /// Whether one is worth its while, now that nothing else is to be done: some of a long journal is not in the last one.
    pub fn is_behind(&self, journal: &Journal<FsLog>) -> bool {
        self.key.is_some() && journal.offset() > self.written_at.max(SHORTEST_TAIL)
    }

    /// Writes one. `outcome` is the session's, if it is over; `page` is what readers show first.
    pub fn write(
        &mut self,
        state: &State,
        journal: &Journal<FsLog>,
        outcome: Option<OutcomeClass>,
        page: Option<Value>,
        left: Left,
    ) {
        let end = journal.end();
        let front = Front {
            at: Timestamp::now(),
            outcome,
            counts: state.sums.counts,
            page,
            supervisor: left.supervisor,
            processes: left.processes.into_iter().collect(),
        };
        if let Some(key) = &self.key {
            // The journal is the truth: without a snapshot readers fold it, and are slower.
            let written = Snapshot::of(self.run.id(), state, end, front).write(&self.run, key);
            self.problem = written.err().map(|why| why.to_string());
        }
        self.written_at = end.offset;
    }
}

/// The values of a run's snapshot that need no fold of its journal.
pub struct SnapshotSummary {
    /// The page that readers show first, as it was when the snapshot was written.
    pub page: Value,
    /// The outcome of the session that wrote the snapshot; `None` where it was at work.
    pub outcome: Option<OutcomeClass>,
    /// The processes that the last session may have left running.
    pub left: Left,
    /// The records behind the snapshot; `None` where the journal ends there.
    pub tail: Option<Tail>,
}

/// The records of a journal behind a snapshot.
#[derive(Debug, Clone, PartialEq)]
pub struct Tail {
    /// When the snapshot was written.
    pub from: Timestamp,
    /// When the last record was.
    pub until: Timestamp,
    /// How many records there are.
    pub records: usize,
    /// The tasks that moved, each with where it stands after the last of them.
    pub moved: BTreeMap<TaskId, Status>,
}

/// The snapshot of a run, if it knows the run and all that a fold would look at is as it should be. `None` for
/// everything that is not plain: whoever folds the journal then finds out what it is.
///
/// A session that a snapshot shows at work has no end in it. So what is told of one is told of a run that
/// crashed or is still worked on; where the journal has an end behind it, or says what only the fold of a
/// mission can tell, it is `None`.
pub fn summary_of_snapshot(run: &RunFolder, vouched: CheckedOrigin) -> Option<SnapshotSummary> {
    let length = fs::symlink_metadata(run.journal()).ok()?.len();
    if length < SHORTEST_TAIL || run.foreign_write().exists() {
        return None;
    }
    let mission = plain_mission(run)?;
    let key = operator_key();
    let (end, front) = Front::read(run, key.as_ref(), vouched.read)?;
    // Of a run that another process may have made every output says so.
    if vouched.origin != RunOrigin::Verified {
        return None;
    }
    let mut left = Left { supervisor: front.supervisor, processes: front.processes.into_iter().collect() };
    let behind = length.checked_sub(end.offset)?;
    // The session that wrote it would have written another one since.
    let is_old = behind > 2 * longest_tail(end.offset) || front.outcome.is_some();
    let tail = match behind {
        0 => None,
        _ if is_old || length + mission < FOLDED_SOON => return None,
        _ => read_tail(run, end, front.at, &mut left)?,
    };
    // Of a task that was not there yet, or never, the fold knows what it is.
    let tasks = front.counts.selected + front.counts.not_taken;
    let last_moved = tail.as_ref().and_then(|tail| tail.moved.last_key_value());
    if last_moved.is_some_and(|(id, _)| id.0 >= tasks) {
        return None;
    }
    let page = front.page?;
    Some(SnapshotSummary { page, outcome: front.outcome, left, tail })
}

/// The length of the mission of a run that lies where it began and goes by the mission that it began with. Of others the fold
/// knows more.
fn plain_mission(run: &RunFolder) -> Option<u64> {
    let first = Reader::open(&run.journal()).ok()?.next_record().ok()??;
    let Some(Event::Run(RunEvent::Started(started))) = first.events.first() else {
        return None;
    };
    let has_moved = moved::take_along(&mut started.options.clone(), &run.state_folder()).is_some();
    if started.format > FORMAT || has_moved || run.mission(2).exists() {
        return None;
    }
    let frozen = read_regular(&run.mission(1), LONGEST_MISSION).ok()?;
    (Digest::of(&frozen) == started.mission_digest).then_some(frozen.len() as u64)
}

/// Reads what stands behind a snapshot. `Some(None)` if no whole record does; `None` if a fold has to tell.
#[expect(clippy::option_option, reason = "nothing to tell and nothing that can be told are two things")]
fn read_tail(run: &RunFolder, end: JournalEnd, from: Timestamp, left: &mut Left) -> Option<Option<Tail>> {
    let mut reader = Reader::open_at(&run.journal(), end).ok()?;
    let mut tail = Tail { from, until: from, records: 0, moved: BTreeMap::new() };
    while let Some(record) = reader.next_record().ok()? {
        // Whether it counts only who looks at its code knows.
        if record.fact.is_a_persons_word() {
            return None;
        }
        tail.until = record.at;
        tail.records += 1;
        for event in &record.events {
            left.take(event);
            match event {
                Event::Run(RunEvent::Finished { .. }) => return None,
                Event::Task(task, TaskEvent::Transition { to, .. }) => {
                    tail.moved.insert(*task, *to);
                }
                _ => {}
            }
        }
    }
    Some((tail.records > 0).then_some(tail))
}
