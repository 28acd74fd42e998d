//! The snapshot `state.json`: for readers only, never for recovery.
//!
//! It says how far it goes (`seq`, `offset`) and what it is a snapshot of (`checksum` over the journal's first
//! `offset` bytes). A reader who finds that it does not fit the journal ignores it and folds the journal.

use std::io::{self, BufReader, Read};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::domain::{OutcomeClass, Points, QualityFlag, RunId, Status};
use crate::engine::{Counts, State};

use super::file_util::{open_regular, read_regular, replace_file};
use super::layout::RunFolder;

const SCHEMA: &str = "quorum.state/v1";

/// How far a journal goes: what ties a snapshot to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalEnd {
    /// The number that the next event gets.
    pub seq: u64,
    /// Bytes.
    pub offset: u64,
    /// CRC-32 of these bytes.
    pub checksum: u32,
}

impl JournalEnd {
    /// The end of an empty journal.
    pub const START: Self = Self {
        seq: 1,
        offset: 0,
        checksum: 0,
    };
}

/// A run in short.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Snapshot {
    schema: String,
    /// The run.
    pub run_id: RunId,
    /// The mission's name.
    pub mission: String,
    /// How far it goes.
    #[serde(flatten)]
    pub end: JournalEnd,
    /// What the last session ended with; `None` while one works.
    pub outcome: Option<OutcomeClass>,
    /// Whether a task is not terminal.
    pub unfinished: bool,
    /// Sums over all tasks.
    pub counts: Counts,
    /// One for each task that the run takes.
    pub rows: Vec<Row>,
}

/// A task in short: title, status, flag, points, attempts.
pub type Row = (String, Status, Option<QualityFlag>, Option<Points>, u32);

impl Snapshot {
    /// The snapshot of a state.
    #[must_use]
    pub fn of(run: &RunId, state: &State, end: JournalEnd, outcome: Option<OutcomeClass>) -> Self {
        let selected = state.plan.selected_ids();
        let rows = selected.map(|id| (state.plan.task(id), state.task(id)));
        Self {
            schema: SCHEMA.to_owned(),
            run_id: run.clone(),
            mission: state.plan.name.clone(),
            end,
            outcome,
            unfinished: state.is_unfinished(),
            counts: state.counts,
            rows: rows
                .map(|(plan, task)| {
                    (
                        plan.title.to_string(),
                        task.status,
                        task.flag,
                        task.points,
                        task.attempt,
                    )
                })
                .collect(),
        }
    }

    /// Writes it beside the journal, in one step. Returns its size in bytes.
    ///
    /// # Errors
    /// Whatever the file system says; the old snapshot is then still there.
    pub fn write(&self, run: &RunFolder) -> io::Result<u64> {
        let bytes = serde_json::to_vec(self)?;
        replace_file(&run.snapshot(), &bytes)?;
        Ok(bytes.len() as u64)
    }

    /// The snapshot of a run, if there is one and it is of exactly the journal as it is now.
    #[must_use]
    pub fn read(run: &RunFolder) -> Option<Self> {
        let text = read_regular(&run.snapshot()).ok()?;
        let snapshot: Self = serde_json::from_slice(&text).ok()?;
        let fits = snapshot.schema == SCHEMA
            && std::fs::metadata(run.journal()).is_ok_and(|journal| journal.len() == snapshot.end.offset)
            && checksum_of(&run.journal()).is_ok_and(|found| found == snapshot.end.checksum);
        fits.then_some(snapshot)
    }
}

fn checksum_of(path: &Path) -> io::Result<u32> {
    let mut hasher = crc32fast::Hasher::new();
    let mut input = BufReader::with_capacity(256 * 1024, open_regular(path)?);
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let read = input.read(&mut buffer)?;
        if read == 0 {
            return Ok(hasher.finalize());
        }
        hasher.update(&buffer[..read]);
    }
}
