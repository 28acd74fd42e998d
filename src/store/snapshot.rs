//! The snapshot `state.json`: for readers only, never for recovery.
//!
//! It carries a checksum of its own, says how far it goes (`seq`, `offset`) and what it is a snapshot of (`checksum`
//! over the journal's first `offset` bytes). A reader who finds that it does not fit the journal, or itself, ignores it
//! and folds the journal.

use std::io::{self, BufReader, Read};
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::domain::{OutcomeClass, Points, QualityFlag, RunId, Status};
use crate::engine::{Counts, State};

use super::checked_line;
use super::file_util::{LONGEST_FILE, open_regular, read_regular, replace_file};
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
    /// What readers show first, in their own words: a large run need not be folded for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page: Option<Value>,
    /// One for each task that the run takes.
    pub rows: Vec<Row>,
}

/// A task in short: title, status, flag, points, attempts.
pub type Row = (String, Status, Option<QualityFlag>, Option<Points>, u32);

impl Snapshot {
    /// The snapshot of a state.
    #[must_use]
    pub fn of(
        run: &RunId,
        state: &State,
        end: JournalEnd,
        outcome: Option<OutcomeClass>,
        page: Option<Value>,
    ) -> Self {
        let taken = state.plan.selected_ids().filter(|id| state.takes(*id));
        let rows = taken.map(|id| (state.plan.task(id), state.task(id)));
        Self {
            schema: SCHEMA.to_owned(),
            run_id: run.clone(),
            mission: state.plan.name.clone(),
            end,
            outcome,
            unfinished: state.is_unfinished(),
            counts: state.counts,
            page,
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
        let mut bytes = Vec::new();
        checked_line::encode(&mut bytes, self)?;
        replace_file(&run.snapshot(), &bytes)?;
        Ok(bytes.len() as u64)
    }

    /// The snapshot of a run, if there is one and it is of exactly the journal as it is now.
    #[must_use]
    pub fn read(run: &RunFolder) -> Option<Self> {
        Self::compare(run).ok().flatten()
    }

    /// The same, with what is wrong with a snapshot that cannot be used. `Ok(None)` if there is none, or the journal has
    /// gone on since.
    ///
    /// # Errors
    /// In words, what is wrong with it.
    pub fn compare(run: &RunFolder) -> Result<Option<Self>, String> {
        let text = whole(run)?;
        text.map(|text| serde_json::from_slice(&text).map_err(|error| error.to_string()))
            .transpose()
    }

    /// The page of such a snapshot. The rows are passed over.
    #[must_use]
    pub fn read_page(run: &RunFolder) -> Option<Value> {
        #[derive(Deserialize)]
        struct Front {
            page: Option<Value>,
        }
        let text = whole(run).ok()??;
        serde_json::from_slice::<Front>(&text).ok()?.page
    }
}

/// The bytes of a snapshot that is as it was written, and of exactly the journal as it is now.
fn whole(run: &RunFolder) -> Result<Option<Vec<u8>>, String> {
    #[derive(Deserialize)]
    struct Head {
        schema: String,
        offset: u64,
        checksum: u32,
    }
    let text = match read_regular(&run.snapshot(), LONGEST_FILE) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    checked_line::verify(&text)?;
    let head: Head = serde_json::from_slice(&text).map_err(|error| error.to_string())?;
    if head.schema != SCHEMA {
        return Err(format!("it is a {}", head.schema));
    }
    let journal = std::fs::symlink_metadata(run.journal()).map_err(|error| error.to_string())?;
    if journal.len() < head.offset {
        return Err(format!(
            "the journal has {} bytes, and had {} when it was written: records are missing at its end",
            journal.len(),
            head.offset
        ));
    }
    let found = checksum_of(&run.journal(), head.offset).map_err(|error| error.to_string())?;
    if found != head.checksum {
        return Err("it is not of this journal".to_owned());
    }
    Ok((journal.len() == head.offset).then_some(text))
}

/// The checksum of the first `len` bytes.
fn checksum_of(path: &Path, len: u64) -> io::Result<u32> {
    let mut hasher = crc32fast::Hasher::new();
    let mut input = BufReader::with_capacity(256 * 1024, open_regular(path)?).take(len);
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let read = input.read(&mut buffer)?;
        if read == 0 {
            return Ok(hasher.finalize());
        }
        hasher.update(&buffer[..read]);
    }
}
