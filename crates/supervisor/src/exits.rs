//! `exits.log`: the supervisor's own record of how every child ended, one JSON object a line.
//!
//! It is what a resumed run believes about turns whose end the runner did not live to see. Plain writes, no sync: they
//! survive the death of both processes, and a power loss ends the children anyway. Each line carries its checksum; a
//! torn or damaged one counts as no line.

use std::fs::{File, TryLockError};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::identity::ProcessIdentity;
use super::orderly_end::{self, SupervisorSecret};
use super::protocol::ChildExit;
use crate::files::{checked_line, if_there, open_blocking, open_with};

/// One line of `exits.log`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ExitRecord {
    /// The child's [`Spawn::label`](super::Spawn::label): `task.attempt.turn`.
    pub label: String,
    /// Process id the child had.
    pub pid: u32,
    /// The start of the process, in clock ticks since boot.
    pub start_time: u64,
    /// The boot in which `pid` and `start_time` mean something.
    pub boot_id: String,
    #[serde(flatten)]
    pub exit: ChildExit,
    /// Wall clock when the record was written, milliseconds since 1970.
    pub at_ms: u64,
    /// The message of a supervisor that had no session to tell it; the record is then no exit, and its process
    /// the supervisor.
    pub note: Option<String>,
    /// With an empty note: the last word of a supervisor that ended in order.
    pub farewell: Option<String>,
}

impl ExitRecord {
    pub fn note(supervisor: &ProcessIdentity, text: String) -> Self {
        Self {
            pid: supervisor.pid,
            start_time: supervisor.start_time,
            boot_id: supervisor.boot_id.clone(),
            note: Some(text),
            ..Self::default()
        }
    }

    pub fn farewell(supervisor: &ProcessIdentity, secret: &SupervisorSecret) -> Self {
        Self {
            farewell: Some(secret.reveal().to_owned()),
            // Whatever it had no session to tell is over with it.
            ..Self::note(supervisor, String::new())
        }
    }

    fn is_of(&self, supervisor: &ProcessIdentity) -> bool {
        (self.pid, self.start_time) == (supervisor.pid, supervisor.start_time)
            && self.boot_id == supervisor.boot_id
    }
}

/// How much of the log is read: the exits of a hundred thousand children, while only those are looked for whose end the
/// last runner did not live to see.
const READ_AT_MOST: u64 = 64 << 20;
/// A longer line is none of ours.
const LONGEST_LINE: u64 = 64 << 10;

/// The result of [`read`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ExitsLog {
    /// The records in the order of the exits.
    pub records: Vec<ExitRecord>,
    /// The records with messages of supervisors that had no session to tell them.
    pub notes: Vec<ExitRecord>,
    /// How many lines were torn or damaged. An exit recorded there is unknown, never guessed.
    pub damaged: usize,
}

/// Reads the end of an `exits.log`: at most the last [`READ_AT_MOST`] bytes, for whoever can write to the file can make it
/// as long as they like. A missing file is an empty log: no child has ended yet.
///
/// # Errors
///
/// What is there is a link or no regular file, and whatever the file system says.
pub fn read(path: &Path) -> io::Result<ExitsLog> {
    read_within(path, READ_AT_MOST)
}

fn read_within(path: &Path, most: u64) -> io::Result<ExitsLog> {
    let Some(mut file) = if_there(open_blocking(path, OFlags::RDONLY))? else {
        return Ok(ExitsLog::default());
    };
    let skipped = file.metadata()?.len().saturating_sub(most);
    file.seek(SeekFrom::Start(skipped))?;
    let mut rest = BufReader::new(file.take(most));
    let mut log = ExitsLog::default();
    // The first line is a whole one only at the beginning of the file.
    let mut cut = skipped > 0;
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = rest.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(log);
        }
        let whole = line.strip_suffix(b"\n").filter(|line| checked_line::verify(line).is_ok());
        let record = whole.map(serde_json::from_slice);
        match record {
            _ if cut => {}
            Some(Ok(record @ ExitRecord { note: Some(_), .. })) => log.notes.push(record),
            Some(Ok(record)) => log.records.push(record),
            Some(Err(_)) if line == b"\n" => {}
            // What is left of a line that is too long counts as damage once more, which harms nobody.
            _ => log.damaged += 1,
        }
        cut &= !line.ends_with(b"\n");
    }
}

/// Whether a supervisor holds this record of exits open: one lives then, though it may not be seen from here, as from another
/// namespace of processes. False where there is no record, or the file system has no locks.
pub fn is_held(path: &Path) -> bool {
    let file = open_blocking(path, OFlags::RDONLY);
    file.is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
}

impl ExitsLog {
    /// The last message of one supervisor that had no session to tell it, unless it took that back.
    pub fn last_note_of(&self, supervisor: &ProcessIdentity) -> Option<&str> {
        let last = self.notes.iter().rfind(|note| note.is_of(supervisor))?;
        last.note.as_deref().filter(|note| !note.is_empty())
    }

    /// Whether a supervisor sent the farewell that it promised; `promised` is the digest of it.
    pub fn said_farewell(&self, supervisor: &ProcessIdentity, promised: &str) -> bool {
        let mut last_words = self.notes.iter().filter(|note| note.is_of(supervisor));
        last_words.any(|note| {
            let word = note.farewell.as_deref();
            word.is_some_and(|word| orderly_end::keeps(word, promised))
        })
    }
}

/// The supervisor's end of the log.
#[derive(Debug)]
pub struct Writer {
    file: File,
    /// The file ends in half a line, which must not swallow the next record.
    torn: bool,
    line: Vec<u8>,
}

impl Writer {
    pub fn open(path: &Path) -> io::Result<Writer> {
        let mut file = open_with(path, OFlags::RDWR | OFlags::APPEND | OFlags::CREATE)?;
        // Seen from everywhere as long as the supervisor lives, whoever may see its process. Where there are no locks, only that.
        let _ = file.try_lock_shared();
        let mut last = [b'\n'];
        if file.metadata()?.len() > 0 {
            file.seek(SeekFrom::End(-1))?;
            file.read_exact(&mut last)?;
        }
        Ok(Writer { file, torn: last != [b'\n'], line: Vec::new() })
    }

    pub fn append(&mut self, record: &ExitRecord) -> io::Result<()> {
        self.line.clear();
        if self.torn {
            self.line.push(b'\n');
        }
        checked_line::encode(&mut self.line, record)?;
        self.line.push(b'\n');
        let written = self.file.write_all(&self.line);
        self.torn = written.is_err();
        written
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(key: u64) -> ExitRecord {
        ExitRecord {
            label: format!("{key}.1.1"),
            pid: 42,
            boot_id: "boot".into(),
            exit: ChildExit { key, signal: Some(9), max_rss: u64::MAX, ..ChildExit::default() },
            ..ExitRecord::default()
        }
    }

    #[test]
    fn what_was_appended_is_read_back() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("exits.log");
        assert_eq!(read(&path).unwrap(), ExitsLog::default());
        for key in 1..=2 {
            Writer::open(&path).unwrap().append(&record(key)).unwrap();
        }
        let log = read(&path).unwrap();
        assert_eq!(log, ExitsLog { records: vec![record(1), record(2)], ..ExitsLog::default() });
    }

    #[test]
    fn a_note_is_no_exit_and_is_its_supervisors() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("exits.log");
        let supervisor = |pid| ProcessIdentity { pid, start_time: 5, boot_id: "boot".into() };
        for (pid, text) in [(7, "first"), (7, "second"), (8, "another's"), (9, "in vain"), (9, "")] {
            let note = ExitRecord::note(&supervisor(pid), text.to_owned());
            Writer::open(&path).unwrap().append(&note).unwrap();
        }
        let log = read(&path).unwrap();
        assert_eq!((log.records.len(), log.damaged), (0, 0));
        assert_eq!(log.last_note_of(&supervisor(7)), Some("second"));
        assert_eq!(log.last_note_of(&supervisor(9)), None);
    }

    #[test]
    fn a_torn_line_swallows_no_other() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("exits.log");
        Writer::open(&path).unwrap().append(&record(1)).unwrap();
        let whole = std::fs::read(&path).unwrap();
        for cut in 1..whole.len() {
            std::fs::write(&path, [&whole, &whole[..cut]].concat()).unwrap();
            let torn = read(&path).unwrap();
            assert_eq!((torn.records.len(), torn.damaged), (1, 1), "cut at {cut}");
            Writer::open(&path).unwrap().append(&record(2)).unwrap();
            // Only the line end may have been missing; then the record is whole again.
            let healed = usize::from(cut == whole.len() - 1);
            let log = read(&path).unwrap();
            assert_eq!((log.records.len(), log.damaged), (2 + healed, 1 - healed), "cut at {cut}");
            assert_eq!(log.records.last(), Some(&record(2)));
        }
    }

    #[test]
    fn only_the_end_of_a_long_log_is_read() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("exits.log");
        for key in 1..=9 {
            Writer::open(&path).unwrap().append(&record(key)).unwrap();
        }
        let whole = std::fs::metadata(&path).unwrap().len();
        let line = whole / 9;
        let keys = |most| -> Vec<u64> {
            let log = read_within(&path, most).unwrap();
            assert_eq!(log.damaged, 0);
            log.records.iter().map(|record| record.exit.key).collect()
        };
        assert_eq!(keys(whole), (1..=9).collect::<Vec<_>>());
        assert_eq!(keys(2 * line + line / 2), [8, 9]);
        assert_eq!(keys(line / 2), [0; 0]);
    }

    #[test]
    fn garbage_hides_no_record() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("exits.log");
        let mut bytes = vec![b'x'; 3 * usize::try_from(LONGEST_LINE).unwrap()];
        bytes.extend(b"\n\xff\0{}\n[1,2]\n{\"label\":7}\n\n");
        std::fs::write(&path, bytes).unwrap();
        Writer::open(&path).unwrap().append(&record(1)).unwrap();
        let log = read(&path).unwrap();
        assert_eq!(log.records, [record(1)]);
        assert!(log.damaged >= 4, "{}", log.damaged);
    }

    #[test]
    fn a_link_is_not_followed() {
        let place = tempfile::tempdir().unwrap();
        let (target, link) = (place.path().join("target"), place.path().join("exits.log"));
        std::os::unix::fs::symlink(&target, &link).unwrap();
        assert!(Writer::open(&link).is_err());
        assert!(read(&link).is_err());
        assert!(!target.exists());
    }
}
