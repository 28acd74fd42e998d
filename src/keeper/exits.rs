//! `exits.log`: the keeper's own record of how every child ended, one JSON object a line.
//!
//! It is what a resumed run believes about turns whose end the runner did not live to see. Plain writes, no sync: they
//! survive the death of both processes, and a power loss ends the children anyway. Each line carries its checksum; a
//! torn or damaged one counts as no line.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use super::protocol::Exit;
use crate::store::{self, checked_line};

/// One line of `exits.log`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExitRecord {
    /// The child's [`Spawn::label`](super::Spawn::label): `task.attempt.turn`.
    pub label: String,
    /// Process id the child had.
    pub pid: u32,
    /// When it started, in clock ticks since boot.
    pub start_time: u64,
    /// The boot in which `pid` and `start_time` mean something.
    pub boot_id: String,
    /// How it ended.
    #[serde(flatten)]
    pub exit: Exit,
    /// Wall clock when the record was written, milliseconds since 1970.
    pub at_ms: u64,
}

/// What [`read`] found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExitsLog {
    /// The records in the order of the exits.
    pub records: Vec<ExitRecord>,
    /// How many lines were torn or damaged. An exit recorded there is unknown, never guessed.
    pub damaged: usize,
}

/// Reads an `exits.log`. A missing file is an empty log: no child has ended yet.
pub fn read(path: &Path) -> io::Result<ExitsLog> {
    let bytes = match store::read_regular(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error),
    };
    let mut log = ExitsLog::default();
    for line in bytes
        .split_inclusive(|&byte| byte == b'\n')
        .filter(|line| *line != b"\n")
    {
        let whole = line
            .strip_suffix(b"\n")
            .filter(|line| checked_line::verify(line).is_ok());
        match whole.map(serde_json::from_slice) {
            Some(Ok(record)) => log.records.push(record),
            _ => log.damaged += 1,
        }
    }
    Ok(log)
}

/// The keeper's end of the log.
#[derive(Debug)]
pub(super) struct Writer {
    file: File,
    /// The file ends in half a line, which must not swallow the next record.
    torn: bool,
    line: Vec<u8>,
}

impl Writer {
    pub(super) fn open(path: &Path) -> io::Result<Writer> {
        // Not blocking: a FIFO that somebody left there refuses records when it is full, and holds nothing up.
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let mut file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .custom_flags(flags.bits().cast_signed())
            .open(path)?;
        let mut last = [b'\n'];
        if file.metadata()?.len() > 0 {
            file.seek(SeekFrom::End(-1))?;
            file.read_exact(&mut last)?;
        }
        Ok(Writer {
            file,
            torn: last != [b'\n'],
            line: Vec::new(),
        })
    }

    pub(super) fn append(&mut self, record: &ExitRecord) -> io::Result<()> {
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
            exit: Exit {
                key,
                signal: Some(9),
                max_rss: u64::MAX,
                ..Exit::default()
            },
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
        assert_eq!(
            log,
            ExitsLog {
                records: vec![record(1), record(2)],
                damaged: 0
            }
        );
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
            assert_eq!(
                (log.records.len(), log.damaged),
                (2 + healed, 1 - healed),
                "cut at {cut}"
            );
            assert_eq!(log.records.last(), Some(&record(2)));
        }
    }

    #[test]
    fn a_link_is_not_followed() {
        let place = tempfile::tempdir().unwrap();
        let (target, link) = (place.path().join("target"), place.path().join("exits.log"));
        std::os::unix::fs::symlink(&target, &link).unwrap();
        assert!(Writer::open(&link).is_err());
        assert!(!target.exists());
    }
}
