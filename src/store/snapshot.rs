//! The snapshot `state.json`: for readers only, never for recovery.
//!
//! It says how far it goes (`seq`, `offset`) and what it is a snapshot of (`checksum` over the journal's first `offset`
//! bytes), and carries a checksum of its own and the code of the operator's key. A reader who finds that it does not fit
//! the journal, or itself, or has no code of the reader's key, ignores it and folds the journal.
//!
//! What is trusted: the key, which no agent has. Whoever else can write to the state folder can remove a snapshot or put
//! back an earlier one of the same run, and can make none that is believed. An earlier one is still true of the moment that
//! it names, and the records behind it are read beside it. The checksum over the journal keeps a snapshot from standing for
//! another journal by accident; it is no seal of the journal: what is written there is for the codes in its own records to
//! prove.

use std::io::{self, BufReader, Read};
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with::skip_serializing_none;

use rules::domain::{OutcomeClass, Points, QualityFlag, RunId, Status, Timestamp, TurnId};
use rules::engine::{Counts, ProcessRef, State, SupervisorRef};

use super::layout::RunFolder;
use super::operator_key::OperatorKey;
use supervisor::files::{LONGEST_FILE, checked_line, if_there, open_regular, read_regular, replace_file};

const SCHEMA: &str = "quorum.state/v2";

/// The member that holds the code of everything behind it, and how long that is.
const CODE: (&[u8], usize, &[u8]) = (b"\"code\":\"", 64, b"\",");

/// How far a journal goes: what ties a snapshot to it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct JournalEnd {
    /// The number that the next event gets.
    pub seq: u64,
    /// The length in bytes.
    pub offset: u64,
    /// CRC-32 of these bytes.
    pub checksum: u32,
}

impl JournalEnd {
    /// The end of an empty journal.
    pub const START: Self = Self { seq: 1, offset: 0, checksum: 0 };
}

/// A run in short.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Snapshot {
    schema: String,
    /// The fingerprint of the key whose code it carries.
    key: String,
    /// The id of the run.
    pub run_id: RunId,
    /// The name of the mission.
    pub mission: String,
    /// The end of the journal that the snapshot covers.
    #[serde(flatten)]
    pub end: JournalEnd,
    /// Whether a task is not terminal.
    pub unfinished: bool,
    /// All but the rows.
    #[serde(flatten)]
    pub front: Front,
    /// One for each task that the run takes, once a session has ended that left some; `None` while one works: who needs all
    /// tasks of such a run folds its journal, which has gone on.
    pub rows: Option<Vec<TaskSummary>>,
}

/// The content of a snapshot beside its rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Front {
    /// When the snapshot was written: what it says holds of this moment.
    pub at: Timestamp,
    /// The outcome of the session; `None` while it works.
    pub outcome: Option<OutcomeClass>,
    /// Sums over all tasks.
    pub counts: Counts,
    /// The page that readers show first, in their own words: a large run need not be folded for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page: Option<Value>,
    /// The process that holds the session's children.
    pub supervisor: SupervisorRef,
    /// The processes of turns in flight.
    pub processes: Vec<(TurnId, ProcessRef)>,
}

/// A task in short: title, status, flag, points, attempts.
pub type TaskSummary = (String, Status, Option<QualityFlag>, Option<Points>, u32);

impl Snapshot {
    /// The snapshot of a state.
    pub fn of(run: &RunId, state: &State, end: JournalEnd, front: Front) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            key: String::new(),
            run_id: run.clone(),
            mission: state.plan.name.clone(),
            end,
            unfinished: state.is_unfinished(),
            rows: front.outcome.filter(|_| state.is_unfinished()).map(|_| rows(state)),
            front,
        }
    }

    /// Writes the snapshot beside the journal, in one step. Returns its size in bytes.
    ///
    /// # Errors
    ///
    /// Whatever the file system says; the old snapshot is then still there.
    pub fn write(mut self, run: &RunFolder, key: &OperatorKey) -> io::Result<u64> {
        self.key = key.fingerprint();
        let text = serde_json::to_string(&self)?;
        let members = text.trim_start_matches('{');
        let (open, _, close) = CODE;
        let [open, close] = [open, close].map(|text| std::str::from_utf8(text).expect("it is ASCII"));
        let mut bytes = Vec::with_capacity(text.len() + 128);
        checked_line::encode_members(&mut bytes, &[open, &key.code(members), close, members]);
        replace_file(&run.snapshot(), &bytes)?;
        Ok(bytes.len() as u64)
    }

    /// The snapshot of a run, if there is one that the key vouches for and it is of exactly the journal as it is now.
    pub fn read(run: &RunFolder, key: Option<&OperatorKey>) -> Option<Self> {
        Self::compare(run, key).ok().flatten()
    }

    /// Reads the snapshot of a run, with the mistake of one that cannot be used. `Ok(None)` if there is none,
    /// the journal has gone on since, or it carries the code of another key.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn compare(run: &RunFolder, key: Option<&OperatorKey>) -> io::Result<Option<Self>> {
        match Genuine::read(run, key, None)? {
            Some(genuine) if genuine.is_whole => Ok(Some(genuine.parse()?)),
            _ => Ok(None),
        }
    }
}

impl Front {
    /// The front of a run's snapshot and the end of the journal that it is of, if the key vouches for it and the journal goes
    /// on from there. The rows are passed over, and so is the journal up to where the caller has `read` it.
    pub fn read(
        run: &RunFolder,
        key: Option<&OperatorKey>,
        read: Option<JournalEnd>,
    ) -> Option<(JournalEnd, Self)> {
        let genuine = Genuine::read(run, key, read).ok()??;
        Some((genuine.end, genuine.parse().ok()?))
    }
}

fn rows(state: &State) -> Vec<TaskSummary> {
    let taken = state.plan.selected_ids().filter(|id| state.takes(*id));
    let rows = taken.map(|id| (state.plan.task(id), state.task(id)));
    rows.map(|(plan, task)| {
        (plan.title.to_string(), task.status(), task.flag(), task.attempt.points, task.attempt.number)
    })
    .collect()
}

/// A snapshot as a session of this run wrote it, and of a beginning of the journal.
struct Genuine {
    text: Vec<u8>,
    end: JournalEnd,
    /// Whether the journal has not gone on since.
    is_whole: bool,
}

impl Genuine {
    /// `Ok(None)` where there is none, or that cannot be told here.
    fn read(
        run: &RunFolder,
        key: Option<&OperatorKey>,
        read: Option<JournalEnd>,
    ) -> io::Result<Option<Self>> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Head {
            schema: String,
            key: String,
            run_id: RunId,
            #[serde(flatten)]
            end: JournalEnd,
        }
        let Some(text) = if_there(read_regular(&run.snapshot(), LONGEST_FILE))? else {
            return Ok(None);
        };
        let wrong = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
        let members = checked_line::members(&text).map_err(|why| wrong(why.to_owned()))?;
        let head: Head = serde_json::from_slice(&text)?;
        if head.schema != SCHEMA {
            return Err(wrong(format!("it is a {}", head.schema)));
        }
        let Some(key) = key.filter(|key| key.fingerprint() == head.key) else {
            return Ok(None);
        };
        if !is_vouched_for(members, key) {
            return Err(wrong("it carries a wrong code: somebody else changed it".to_owned()));
        }
        if head.run_id != *run.id() {
            return Err(wrong(format!("it is of run {}", head.run_id)));
        }
        let is_whole = ends_at(run, head.end, read)?;
        Ok(Some(Self { text, end: head.end, is_whole }))
    }

    fn parse<T: DeserializeOwned>(&self) -> serde_json::Result<T> {
        serde_json::from_slice(&self.text)
    }
}

/// Whether the first member is the key's code of all behind it.
fn is_vouched_for(members: &[u8], key: &OperatorKey) -> bool {
    let (open, length, close) = CODE;
    let code = members.strip_prefix(open).and_then(|rest| rest.split_at_checked(length));
    code.and_then(|(code, rest)| {
        let [code, rest] = [code, rest.strip_prefix(close)?].map(std::str::from_utf8);
        Some(key.verifies(rest.ok()?, code.ok()?))
    })
    .unwrap_or(false)
}

/// Whether the journal of a run ends at `end`; `false` where it has gone on from there.
fn ends_at(run: &RunFolder, end: JournalEnd, read: Option<JournalEnd>) -> io::Result<bool> {
    let length = std::fs::symlink_metadata(run.journal())?.len();
    if length < end.offset {
        return Err(io::Error::other(format!(
            "the journal has {length} bytes, and had {} when it was written: records are missing at its end",
            end.offset
        )));
    }
    let checksum = match read.filter(|read| read.offset == end.offset) {
        Some(read) => read.checksum,
        None => checksum_of(&run.journal(), end.offset)?,
    };
    if checksum != end.checksum {
        return Err(io::Error::other("it is not of this journal"));
    }
    Ok(length == end.offset)
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

#[cfg(test)]
mod tests {
    use super::super::layout::StateFolder;
    use super::*;

    fn run(folder: &Path) -> RunFolder {
        let run = StateFolder::at(&folder.join(".polpo")).unwrap();
        let run = run.run(&RunId::new("r1").unwrap());
        std::fs::create_dir_all(run.journal().parent().unwrap()).unwrap();
        run
    }

    fn snapshot(journal: &[u8]) -> Snapshot {
        Snapshot {
            schema: SCHEMA.to_owned(),
            key: String::new(),
            run_id: RunId::new("r1").unwrap(),
            mission: "m".to_owned(),
            end: JournalEnd { seq: 3, offset: journal.len() as u64, checksum: crc32fast::hash(journal) },
            unfinished: true,
            front: Front {
                at: Timestamp(7),
                outcome: None,
                counts: Counts::default(),
                page: Some(Value::from("the page")),
                supervisor: SupervisorRef::default(),
                processes: Vec::new(),
            },
            rows: None,
        }
    }

    #[test]
    fn it_is_read_by_whoever_has_the_key_as_long_as_the_journal_begins_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let (run, key) = (run(folder.path()), OperatorKey::of(b"one"));
        std::fs::write(run.journal(), "records").unwrap();
        snapshot(b"records").write(&run, &key).unwrap();
        let (key, other) = (Some(&key), OperatorKey::of(b"other"));
        assert_eq!(Snapshot::read(&run, key).unwrap().front, snapshot(b"records").front);
        // A key that is not here, or another one, says nothing about it.
        for key in [None, Some(&other)] {
            assert_eq!(Snapshot::compare(&run, key).unwrap(), None);
            assert!(Front::read(&run, key, None).is_none());
        }
        std::fs::write(run.journal(), "records and more").unwrap();
        assert_eq!(Snapshot::compare(&run, key).unwrap(), None);
        assert_eq!(Front::read(&run, key, None).unwrap().0, snapshot(b"records").end);
        for changed in ["record", "recordS and more"] {
            std::fs::write(run.journal(), changed).unwrap();
            assert!(Snapshot::compare(&run, key).is_err());
            assert!(Front::read(&run, key, None).is_none());
        }
    }

    /// Who has read the journal for another reason spares the second reading, and only of the same bytes.
    #[test]
    fn a_journal_that_was_read_is_not_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let (run, key) = (run(folder.path()), OperatorKey::of(b"one"));
        std::fs::write(run.journal(), "records").unwrap();
        let end = snapshot(b"records").end;
        snapshot(b"records").write(&run, &key).unwrap();
        let read = |read: JournalEnd| Front::read(&run, Some(&key), Some(read));
        assert_eq!(read(end).unwrap().0, end);
        let checksum = end.checksum ^ 1;
        assert!(read(JournalEnd { checksum, ..end }).is_none());
        // Of other bytes it says nothing: the journal itself is read.
        let offset = end.offset - 1;
        assert!(read(JournalEnd { checksum, offset, ..end }).is_some());
    }

    #[test]
    fn nobody_changes_it_or_carries_it_elsewhere() {
        let folder = tempfile::tempdir().unwrap();
        let (run, key) = (run(folder.path()), OperatorKey::of(b"one"));
        std::fs::write(run.journal(), "records").unwrap();
        snapshot(b"records").write(&run, &key).unwrap();
        let good = std::fs::read(run.snapshot()).unwrap();
        for byte in 0..good.len() {
            let mut bad = good.clone();
            bad[byte] ^= 1;
            std::fs::write(run.snapshot(), &bad).unwrap();
            assert!(Front::read(&run, Some(&key), None).is_none(), "byte {byte}");
            // Nor with a checksum that fits.
            let Ok(text) = std::str::from_utf8(&bad) else {
                continue;
            };
            let mut sealed = Vec::new();
            let members = text.split_once(',').map_or("", |(_, members)| members);
            checked_line::encode_members(&mut sealed, &[members]);
            std::fs::write(run.snapshot(), &sealed).unwrap();
            let is_checksum = byte < checked_line_length();
            assert_eq!(Front::read(&run, Some(&key), None).is_some(), is_checksum, "byte {byte}");
        }
        let another = StateFolder::at(&folder.path().join(".polpo")).unwrap();
        let another = another.run(&RunId::new("r2").unwrap());
        std::fs::create_dir_all(another.journal().parent().unwrap()).unwrap();
        std::fs::write(another.journal(), "records").unwrap();
        std::fs::write(another.snapshot(), &good).unwrap();
        assert!(Snapshot::compare(&another, Some(&key)).is_err());
    }

    /// Bytes of the checksum, which is made anew.
    fn checked_line_length() -> usize {
        "{\"crc\":\"00000000\"".len()
    }
}
