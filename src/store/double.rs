//! A log file in memory that crashes where it is told to, and then loses or tears what was not synced.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;

use super::log_file::LogFile;

/// A log file whose disk can be looked at.
#[derive(Debug, Default, Clone)]
pub struct MemoryLog {
    /// Everything that was written.
    pub bytes: Vec<u8>,
    /// The number of bytes that are synced.
    pub synced: usize,
    /// How much was synced before the last sync.
    pub synced_before_last: usize,
    /// The number of writes so far.
    pub appends: usize,
    /// Syncs so far, failed ones included.
    pub syncs: usize,
    /// The operation (write or sync, from 0) at which the machine stops.
    pub crash_at: Option<usize>,
    /// Syncs that succeed before one fails.
    pub fail_sync_after: Option<usize>,
}

/// The fate of the bytes that were not synced.
#[derive(Debug, Clone, Copy)]
pub enum Fate {
    /// All unsynced bytes are gone.
    Lost,
    /// The first so many arrived.
    Cut(usize),
    /// All arrived but a range, which reads as zeros.
    Zeroed(usize, usize),
}

impl MemoryLog {
    fn step(&self) -> io::Result<()> {
        match self.crash_at {
            Some(at) if self.appends + self.syncs >= at => Err(io::Error::other("the machine stopped")),
            _ => Ok(()),
        }
    }

    /// Records that were synced.
    pub fn synced_records(&self) -> usize {
        self.bytes[..self.synced].iter().filter(|byte| **byte == b'\n').count()
    }

    /// The disk after a crash.
    pub fn after_crash(&self, fate: Fate) -> Vec<u8> {
        let (synced, rest) = self.bytes.split_at(self.synced);
        let mut disk = synced.to_vec();
        match fate {
            Fate::Lost => {}
            Fate::Cut(at) => disk.extend_from_slice(&rest[..at.min(rest.len())]),
            Fate::Zeroed(from, len) => {
                let mut rest = rest.to_vec();
                let from = from.min(rest.len());
                let to = (from + len).min(rest.len());
                rest[from..to].fill(0);
                disk.extend_from_slice(&rest);
            }
        }
        disk
    }
}

impl LogFile for &mut MemoryLog {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.step()?;
        self.appends += 1;
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.step()?;
        self.syncs += 1;
        if self.fail_sync_after.is_some_and(|good| self.syncs > good) {
            return Err(io::Error::other("sync failed"));
        }
        self.synced_before_last = self.synced;
        self.synced = self.bytes.len();
        Ok(())
    }
}

/// A disk that outlives whoever writes to it.
impl LogFile for Rc<RefCell<MemoryLog>> {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        (&mut *self.borrow_mut()).append(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        (&mut *self.borrow_mut()).sync()
    }
}
