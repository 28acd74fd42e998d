//! The journal: append-only, one line a record, group commit.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek};
use std::path::{Path, PathBuf};

use crc32fast::Hasher;

use rules::domain::Timestamp;
use rules::engine::OriginCode;

use super::log_file::LogFile;
use super::record::{BadRecord, JournalDecision, LONGEST_RECORD, Record};
use super::snapshot::JournalEnd;
use supervisor::files::open_regular;

/// Writes the journal of a run. After the first error it is poisoned: what failed is never tried again, since after a
/// failed sync it is not known what is on the disk.
#[derive(Debug)]
pub struct Journal<F> {
    file: F,
    path: PathBuf,
    buffer: Vec<u8>,
    next_seq: u64,
    offset: u64,
    checksum: Hasher,
    starts_batch: bool,
    unsynced: bool,
    /// Whether the records in the file may never have been synced: their writer may have been killed before
    /// that.
    inherited: bool,
    poisoned: bool,
}

/// The journal could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {path}: {source}; the run stops with the state that was durable")]
pub struct JournalError {
    /// The path of the journal.
    pub path: PathBuf,
    /// The error of the file system.
    pub source: io::Error,
}

impl<F: LogFile> Journal<F> {
    /// Goes on with a journal that ends like this.
    pub fn new(file: F, path: &Path, end: JournalEnd) -> Self {
        Self {
            file,
            path: path.to_owned(),
            buffer: Vec::with_capacity(16 * 1024),
            next_seq: end.seq,
            offset: end.offset,
            checksum: Hasher::new_with_initial_len(end.checksum, end.offset),
            starts_batch: true,
            unsynced: false,
            inherited: end.offset > 0,
            poisoned: false,
        }
    }

    /// Adds a record to the batch. Nothing is written yet.
    ///
    /// # Errors
    /// [`JournalError`] if an event cannot be encoded, or the journal is poisoned.
    pub fn push(&mut self, at: Timestamp, decision: &JournalDecision) -> Result<(), JournalError> {
        self.check()?;
        let before = self.buffer.len();
        let encoded = Record::encode(&mut self.buffer, self.starts_batch, self.next_seq, at, decision);
        encoded.map_err(|error| self.poison(error.into()))?;
        let length = self.buffer.len() - before;
        if length as u64 > LONGEST_RECORD {
            let message = format!("a record of {length} bytes is longer than {LONGEST_RECORD}");
            return Err(self.poison(io::Error::other(message)));
        }
        self.starts_batch = false;
        self.next_seq += decision.events.len() as u64;
        Ok(())
    }

    /// Adds a record that the code of a key vouches for: over the journal before it, and over the record.
    ///
    /// # Errors
    ///
    /// As [`Self::push`] and [`Self::write`].
    pub fn push_vouched(
        &mut self,
        at: Timestamp,
        decision: &JournalDecision,
        vouch: impl FnOnce(JournalEnd, &str) -> OriginCode,
    ) -> Result<(), JournalError> {
        self.write()?;
        let before = self.end();
        self.push(at, decision)?;
        let vouched = Record::vouched(&self.buffer, |text| vouch(before, text));
        self.buffer = vouched.map_err(|error| self.poison(io::Error::other(error)))?;
        Ok(())
    }

    /// Writes the batch without a sync: it survives the death of this process, not of the machine.
    ///
    /// # Errors
    /// [`JournalError`]; the journal is poisoned then.
    pub fn write(&mut self) -> Result<(), JournalError> {
        self.check()?;
        if self.buffer.is_empty() {
            return Ok(());
        }
        if self.inherited {
            // The batch says that everything before it is synced, and a reader after a power loss goes by that.
            self.file.sync().map_err(|error| self.poison(error))?;
            self.inherited = false;
        }
        self.file.append(&self.buffer).map_err(|error| self.poison(error))?;
        self.offset += self.buffer.len() as u64;
        self.checksum.update(&self.buffer);
        self.buffer.clear();
        self.unsynced = true;
        Ok(())
    }

    /// Writes the batch and makes it survive a power loss: one write and one sync, or none if there is nothing new.
    ///
    /// # Errors
    /// [`JournalError`]; the journal is poisoned then.
    pub fn commit(&mut self) -> Result<(), JournalError> {
        self.write()?;
        if self.unsynced {
            self.file.sync().map_err(|error| self.poison(error))?;
            self.unsynced = false;
            self.starts_batch = true;
        }
        Ok(())
    }

    /// The end of the journal: what was written, and the number that the next event gets.
    pub fn end(&self) -> JournalEnd {
        JournalEnd { seq: self.next_seq, offset: self.offset, checksum: self.checksum.clone().finalize() }
    }

    /// The number that the next event gets.
    pub fn next_seq(&self) -> u64 {
        self.next_seq
    }

    /// Bytes written so far.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    fn check(&mut self) -> Result<(), JournalError> {
        if self.poisoned {
            return Err(self.poison(io::Error::other("an earlier write or sync failed")));
        }
        Ok(())
    }

    /// Stops writing for good, because a decision cannot be put on record.
    pub fn refuse(&mut self, why: impl std::error::Error + Send + Sync + 'static) -> JournalError {
        self.poison(io::Error::other(why))
    }

    fn poison(&mut self, source: io::Error) -> JournalError {
        self.poisoned = true;
        JournalError { path: self.path.clone(), source }
    }
}

/// A journal whose middle cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum DamagedJournal {
    /// Bytes were changed or are gone.
    #[error(
        "{path} is damaged at line {line}, byte {byte}: {what}. Nothing was changed. Restore the file from a backup, or start \
         a new run"
    )]
    Damaged {
        /// The path of the journal.
        path: PathBuf,
        /// The number of the line, from 1.
        line: u64,
        /// Offset of the line's first byte.
        byte: u64,
        what: String,
    },
    /// A whole record that cannot be one of this run.
    #[error(
        "{path} is damaged at line {line}, byte {byte}: it is not a record of this mission: {what}. Nothing was changed. \
         Restore the file from a backup, or start a new run"
    )]
    NotOfMission {
        /// The path of the journal.
        path: PathBuf,
        /// The number of the line, from 1.
        line: u64,
        /// Offset of the line's first byte.
        byte: u64,
        what: String,
    },
    /// The file system said no.
    #[error("cannot read {path}: {source}")]
    Io {
        /// The path of the journal.
        path: PathBuf,
        source: io::Error,
    },
}

impl DamagedJournal {
    /// The path of the journal.
    pub fn path(&self) -> &Path {
        match self {
            Self::Damaged { path, .. } | Self::NotOfMission { path, .. } | Self::Io { path, .. } => path,
        }
    }

    /// Line and byte of the damage; `None` where the file system is to blame.
    pub fn place(&self) -> Option<(u64, u64)> {
        match self {
            Self::Damaged { line, byte, .. } | Self::NotOfMission { line, byte, .. } => Some((*line, *byte)),
            Self::Io { .. } => None,
        }
    }
}

/// The first record of a journal, without a look at what follows; `None` if there is none that can be read.
///
/// # Errors
/// Whatever the file system says.
pub fn first_record(path: &Path) -> io::Result<Option<Record>> {
    let mut line = Vec::new();
    let file = open_regular(path)?.take(LONGEST_RECORD);
    BufReader::with_capacity(16 * 1024, file).read_until(b'\n', &mut line)?;
    let record = line.strip_suffix(b"\n").map(Record::of_line);
    Ok(record.and_then(Result::ok).filter(|record| record.seq == 1))
}

/// Reads a journal record by record, up to the last complete one.
pub struct Reader<R = BufReader<File>> {
    input: R,
    path: PathBuf,
    line: Vec<u8>,
    line_number: u64,
    offset: u64,
    next_seq: u64,
    checksum: Hasher,
    before: JournalEnd,
    torn: Option<u64>,
    done: bool,
}

impl Reader {
    /// Opens a journal.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn open(path: &Path) -> Result<Self, DamagedJournal> {
        let file =
            open_regular(path).map_err(|source| DamagedJournal::Io { path: path.to_owned(), source })?;
        Ok(Self::new(BufReader::with_capacity(256 * 1024, file), path))
    }

    /// Goes on behind what another reader has read.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn open_at(path: &Path, end: JournalEnd) -> Result<Self, DamagedJournal> {
        let mut reader = Self::open(path)?;
        let sought = reader.input.seek(io::SeekFrom::Start(end.offset));
        sought.map_err(|source| DamagedJournal::Io { path: path.to_owned(), source })?;
        reader.offset = end.offset;
        reader.next_seq = end.seq;
        reader.checksum = Hasher::new_with_initial_len(end.checksum, end.offset);
        Ok(reader)
    }

    /// The end of a journal, all of which is read.
    ///
    /// # Errors
    /// The damage, or when the file cannot be opened.
    pub fn end_of(path: &Path) -> Result<JournalEnd, DamagedJournal> {
        let mut reader = Self::open(path)?;
        while reader.next_record()?.is_some() {}
        Ok(reader.end())
    }
}

impl<R: BufRead> Reader<R> {
    /// Makes a reader of a journal's bytes; `path` names it in errors.
    pub fn new(input: R, path: &Path) -> Self {
        Self {
            input,
            path: path.to_owned(),
            line: Vec::new(),
            line_number: 0,
            offset: 0,
            next_seq: 1,
            checksum: Hasher::new(),
            before: JournalEnd::START,
            torn: None,
            done: false,
        }
    }

    /// The next record; `None` at the end, a torn tail included.
    ///
    /// # Errors
    /// [`DamagedJournal`] when what cannot be read is not the tail of an interrupted write.
    pub fn next_record(&mut self) -> Result<Option<Record>, DamagedJournal> {
        if self.done || !self.read_line()? {
            return Ok(None);
        }
        match self.decode_line() {
            Ok(record) => {
                self.before = self.end();
                self.offset += self.line.len() as u64;
                self.checksum.update(&self.line);
                self.next_seq = record.seq + record.events.len() as u64;
                Ok(Some(record))
            }
            Err(what) => self.tail_or_damage(&what).map(|()| None),
        }
    }

    /// The end of the last good record, and the number that the next event gets.
    pub fn end(&self) -> JournalEnd {
        JournalEnd { seq: self.next_seq, offset: self.offset, checksum: self.checksum.clone().finalize() }
    }

    /// Where the last good record begins.
    pub fn before(&self) -> JournalEnd {
        self.before
    }

    /// The text that the code of the last good record covers, where it carries one.
    pub fn covered(&self) -> Option<&str> {
        Record::covered(&self.line)
    }

    /// The damage that the last good record is, where its reader knows that it is none of this run's.
    pub fn not_of_mission(&self, what: String) -> DamagedJournal {
        DamagedJournal::NotOfMission {
            path: self.path.clone(),
            line: self.line_number,
            byte: self.offset - self.line.len() as u64,
            what,
        }
    }

    /// Length of the torn tail that was found, if any.
    pub fn torn(&self) -> Option<u64> {
        self.torn
    }

    fn damaged(&self, line: u64, byte: u64, what: String) -> DamagedJournal {
        DamagedJournal::Damaged { path: self.path.clone(), line, byte, what }
    }

    fn read_line(&mut self) -> Result<bool, DamagedJournal> {
        self.line.clear();
        self.line_number += 1;
        let mut input = self.input.by_ref().take(LONGEST_RECORD + 1);
        let read = input.read_until(b'\n', &mut self.line);
        let read = read.map_err(|source| DamagedJournal::Io { path: self.path.clone(), source })?;
        if read as u64 > LONGEST_RECORD {
            let what = format!("no record is longer than {LONGEST_RECORD} bytes");
            return Err(self.damaged(self.line_number, self.offset, what));
        }
        Ok(read > 0)
    }

    fn decode_line(&self) -> Result<Record, BadRecord> {
        let line =
            self.line.strip_suffix(b"\n").ok_or(BadRecord::Line("it ends in the middle of a record"))?;
        let record = Record::of_line(line)?;
        if record.seq != self.next_seq {
            return Err(BadRecord::Order(record.seq, self.next_seq));
        }
        Ok(record)
    }

    /// A line cannot be read. It is the tail of an interrupted write if no later batch was written: a batch is only
    /// begun once everything before it is synced. Even then the line must look torn, that is cut short or with blocks
    /// that never reached the disk; a complete line with changed bytes is damage.
    fn tail_or_damage(&mut self, what: &BadRecord) -> Result<(), DamagedJournal> {
        let (line, byte) = (self.line_number, self.offset);
        let mut tail = self.line.len() as u64;
        let mut looks_torn = looks_torn(&self.line, byte);
        let (mut after, mut later_batch) = (0, false);
        while self.read_line()? {
            looks_torn |= self::looks_torn(&self.line, byte + tail);
            tail += self.line.len() as u64;
            if let Some(Ok(record)) = self.line.strip_suffix(b"\n").map(Record::of_line) {
                after += 1;
                later_batch |= record.starts_batch;
            }
        }
        self.done = true;
        if later_batch || !looks_torn {
            let what = format!(
                "{what}; {after} readable record(s) follow, so this is not the torn end of an interrupted write"
            );
            return Err(self.damaged(line, byte, what));
        }
        self.torn = Some(tail);
        Ok(())
    }
}

/// The smallest piece that a disk writes or loses.
const SECTOR: u64 = 512;

/// Whether a line that begins at `offset` was cut short, or lost blocks that read as zeros.
fn looks_torn(line: &[u8], offset: u64) -> bool {
    if has_lost_blocks(line, offset) {
        return true;
    }
    match line {
        [.., b'\n'] => false,
        // A whole record with something else in the place of its line feed was not cut, it was changed.
        [record @ .., _] => Record::of_line(record).is_err(),
        [] => true,
    }
}

/// Zeros as lost blocks leave them. A single one in the middle of a sector is a changed byte.
fn has_lost_blocks(line: &[u8], offset: u64) -> bool {
    (offset..).zip(line).enumerate().any(|(index, (place, byte))| {
        let at_an_edge = place % SECTOR == 0 || place % SECTOR == SECTOR - 1;
        *byte == 0 && (at_an_edge || line.get(index + 1) == Some(&0) || index + 1 == line.len())
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::store::double::{Fate, MemoryLog};
    use rules::engine::{Concern, Event, Fact, RunEvent};

    /// A decision that says as many warnings.
    fn warnings(events: Vec<Event>) -> JournalDecision {
        JournalDecision::of(Fact::Warn("x".to_owned()), events)
    }

    fn warning(text: &str) -> Event {
        Event::Run(RunEvent::Warning(Concern::Notice, text.to_owned()))
    }

    fn read_all(bytes: &[u8]) -> Result<(Vec<Record>, u64, Option<u64>), DamagedJournal> {
        let mut reader = Reader::new(bytes, Path::new("journal.jsonl"));
        let mut records = Vec::new();
        while let Some(record) = reader.next_record()? {
            records.push(record);
        }
        Ok((records, reader.end().offset, reader.torn()))
    }

    /// Batches of 1 to 3 records each.
    fn journal(log: &mut MemoryLog, batches: &[usize]) -> Result<(), JournalError> {
        let mut journal = Journal::new(log, Path::new("journal.jsonl"), JournalEnd::START);
        for (batch, records) in batches.iter().enumerate() {
            for record in 0..*records {
                let events = vec![warning(&format!("{batch}.{record}")), warning("beside it")];
                journal.push(Timestamp(batch as u64), &warnings(events))?;
            }
            journal.commit()?;
        }
        Ok(())
    }

    #[test]
    fn a_batch_costs_one_write_and_one_sync() {
        let mut log = MemoryLog::default();
        journal(&mut log, &[3, 1, 2]).unwrap();
        assert_eq!((log.appends, log.syncs), (3, 3));
        let (records, _, torn) = read_all(&log.bytes).unwrap();
        assert_eq!((records.len(), torn), (6, None));
        assert_eq!(records.iter().map(|record| record.seq).collect::<Vec<_>>(), [1, 3, 5, 7, 9, 11]);
        let batches: Vec<_> = records.iter().map(|record| record.starts_batch).collect();
        assert_eq!(batches, [true, false, false, true, true, false]);
    }

    #[test]
    fn nothing_new_costs_nothing() {
        let mut log = MemoryLog::default();
        let mut journal = Journal::new(&mut log, Path::new("j"), JournalEnd::START);
        journal.commit().unwrap();
        journal.push(Timestamp(0), &warnings(vec![warning("x")])).unwrap();
        journal.commit().unwrap();
        journal.commit().unwrap();
        assert_eq!((log.appends, log.syncs), (1, 1));
    }

    #[test]
    fn what_a_killed_process_wrote_is_synced_before_anything_is_written_behind_it() {
        // Found by `simulation`, seed 269: killed before its sync, resumed, and then the power failed in the
        // middle of the first batch of the new session. The hole in the old batch looked like damage.
        let mut log = MemoryLog::default();
        journal(&mut log, &[1]).unwrap();
        let first = end_of(&log.bytes);
        let end = {
            let mut journal = Journal::new(&mut log, Path::new("j"), first);
            journal.push(Timestamp(0), &warnings(vec![warning("killed")])).unwrap();
            journal.write().unwrap();
            journal.end()
        };
        let mut next = Journal::new(&mut log, Path::new("j"), end);
        next.push(Timestamp(0), &warnings(vec![warning("resumed")])).unwrap();
        next.write().unwrap();
        assert_eq!(log.synced as u64, end.offset, "the old batch is on the disk");
        let disk = log.after_crash(Fate::Zeroed(0, 10));
        let (records, offset, torn) = read_all(&disk).unwrap();
        assert_eq!((records.len(), offset), (2, end.offset));
        assert!(torn.is_some());
    }

    fn end_of(bytes: &[u8]) -> JournalEnd {
        let mut reader = Reader::new(bytes, Path::new("j"));
        while reader.next_record().unwrap().is_some() {}
        reader.end()
    }

    #[test]
    fn a_failed_sync_is_never_tried_again() {
        let mut log = MemoryLog { fail_sync_after: Some(1), ..MemoryLog::default() };
        let mut journal = Journal::new(&mut log, Path::new("j"), JournalEnd::START);
        journal.push(Timestamp(0), &warnings(vec![warning("x")])).unwrap();
        journal.commit().unwrap();
        journal.push(Timestamp(0), &warnings(vec![warning("y")])).unwrap();
        assert!(journal.commit().is_err());
        assert!(journal.push(Timestamp(0), &warnings(vec![warning("z")])).is_err());
        assert!(journal.commit().is_err());
        assert_eq!(log.syncs, 2);
    }

    #[test]
    fn a_journal_cut_at_any_byte_of_its_last_batch_loses_only_that() {
        let mut log = MemoryLog::default();
        journal(&mut log, &[2, 2]).unwrap();
        let last_batch = log.synced_before_last;
        for cut in last_batch..log.bytes.len() {
            let (records, offset, torn) = read_all(&log.bytes[..cut]).unwrap();
            assert!(records.len() >= 2 && records.len() < 4, "cut at {cut}");
            assert_eq!(torn.unwrap_or(0) + offset, cut as u64);
        }
    }

    #[test]
    fn a_hole_before_a_later_batch_is_damage_and_no_torn_end() {
        let mut log = MemoryLog::default();
        journal(&mut log, &[1, 2, 1, 1]).unwrap();
        let whole = log.bytes.clone();
        let ends: Vec<usize> =
            (1..).zip(&whole).filter(|(_, byte)| **byte == b'\n').map(|(end, _)| end).collect();
        assert_eq!(ends.len(), 5);
        let last = log.synced_before_last;
        // Whole sectors, some bytes of one record, or the border of two: as a power loss leaves what was never written.
        let holes = (0..last).step_by(7).flat_map(|from| [2, 60, 512].map(|length| (from, length)));
        for (from, length) in holes {
            // The line of the last batch begins where the one before it ends.
            let to = (from + length).min(last - 1);
            if to < from + 2 {
                continue;
            }
            let mut bytes = whole.clone();
            bytes[from..to].fill(0);
            let first = ends.iter().filter(|end| **end <= from).count() as u64;
            match read_all(&bytes) {
                Err(DamagedJournal::Damaged { line, what, .. }) => {
                    assert_eq!(line, first + 1, "{from}..{to}");
                    assert!(what.contains("readable record(s) follow"), "{from}..{to}: {what}");
                }
                other => panic!("a hole at {from}..{to} went for a torn end: {other:?}"),
            }
        }
        // The same behind which no batch was begun is what an interrupted write leaves.
        let mut bytes = whole;
        bytes[last..last + 60].fill(0);
        let (records, offset, torn) = read_all(&bytes).unwrap();
        assert_eq!((records.len(), offset), (4, last as u64));
        assert!(torn.is_some());
    }

    #[test]
    fn no_line_is_held_that_is_longer_than_any_record() {
        let mut log = MemoryLog::default();
        journal(&mut log, &[2]).unwrap();
        let good = log.bytes.len() as u64;
        let line = |length: u64, end: &'static [u8]| io::repeat(b'x').take(length).chain(end);
        for (behind, is_too_long) in [
            (line(LONGEST_RECORD, b""), false),
            (line(LONGEST_RECORD + 1, b""), true),
            (line(LONGEST_RECORD, b"\n"), true),
            (line(3 * LONGEST_RECORD, b"\n"), true),
        ] {
            let input = BufReader::new(log.bytes.as_slice().chain(behind));
            let mut reader = Reader::new(input, Path::new("journal.jsonl"));
            while reader.offset < good {
                assert!(reader.next_record().unwrap().is_some());
            }
            let read = reader.next_record();
            assert!(reader.line.len() as u64 <= LONGEST_RECORD + 1, "{}", reader.line.len());
            match (read, is_too_long) {
                (Ok(None), false) => assert_eq!(reader.torn(), Some(LONGEST_RECORD)),
                (Err(DamagedJournal::Damaged { line, byte, what, .. }), true) => {
                    assert_eq!((line, byte), (3, good));
                    assert!(what.contains("no record is longer"), "{what}");
                }
                (read, _) => panic!("{read:?}"),
            }
        }
    }

    #[test]
    fn a_flipped_bit_anywhere_is_damage_and_is_named() {
        let mut log = MemoryLog::default();
        journal(&mut log, &[2, 1]).unwrap();
        for (byte, bit) in (0..log.bytes.len()).flat_map(|byte| (0..8).map(move |bit| (byte, bit))) {
            let mut bytes = log.bytes.clone();
            bytes[byte] ^= 1 << bit;
            match read_all(&bytes) {
                Err(DamagedJournal::Damaged { line, byte: start, .. }) => {
                    assert!(
                        start <= byte as u64 && line <= 3,
                        "flip at {byte} named line {line}, byte {start}"
                    );
                }
                other => panic!("flip at {byte} went unnoticed: {other:?}"),
            }
        }
    }

    proptest! {
        /// Whatever was not synced may be lost, cut or zeroed: every synced record is there, and what is read is a
        /// prefix of what was written.
        #[test]
        fn synced_records_survive_every_crash(
            batches in prop::collection::vec(1usize..4, 1..6),
            crash_at in 0usize..12,
            fate in prop_oneof![
                Just(Fate::Lost),
                (0usize..2000).prop_map(Fate::Cut),
                // A lost block is never a single byte.
                (0usize..2000, 2usize..600).prop_map(|(from, len)| Fate::Zeroed(from, len)),
            ],
        ) {
            let mut log = MemoryLog { crash_at: Some(crash_at), ..MemoryLog::default() };
            let _ = journal(&mut log, &batches);
            let synced_records = log.synced_records();
            let written = log.bytes.clone();
            let disk = log.after_crash(fate);
            let (records, offset, _) = read_all(&disk).expect("a crash must not look like damage");
            prop_assert!(records.len() >= synced_records, "{} of {} synced records", records.len(), synced_records);
            prop_assert!(written.starts_with(&disk[..usize::try_from(offset).unwrap()]));
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let _ = read_all(&bytes);
        }
    }
}
