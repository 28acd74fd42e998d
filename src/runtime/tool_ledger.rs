//! The record of what a model did with its tools: one line a call in a file of the spool, written as it happens.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use crate::agents::tool_loop::{Spent, ToolRecord};
use crate::engine::ToolLedgerRef;

use super::spool::{Sealed, seal};

/// A record that is being written. Its file is made with the first call.
#[derive(Debug)]
pub(super) struct ToolLedger {
    path: PathBuf,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    file: Option<File>,
    calls: u32,
    failed: u32,
    /// Why a call is not on record.
    lost: Option<String>,
}

impl ToolLedger {
    pub fn new(path: PathBuf) -> Arc<Self> {
        Arc::new(Self {
            path,
            kept: Mutex::default(),
        })
    }

    /// Takes a call on record, on a thread that may wait for the disk.
    pub async fn note(self: &Arc<Self>, record: ToolRecord) {
        let ledger = Arc::clone(self);
        let written = tokio::task::spawn_blocking(move || ledger.write(&record)).await;
        if written.is_err() {
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.lost.get_or_insert("the writing broke off".to_owned());
        }
    }

    fn write(&self, record: &ToolRecord) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.calls += 1;
        kept.failed += u32::from(record.failed);
        if let Err(error) = self.append(&mut kept, record) {
            kept.lost.get_or_insert(error.to_string());
        }
    }

    fn append(&self, kept: &mut Kept, record: &ToolRecord) -> io::Result<()> {
        let file = match &mut kept.file {
            Some(file) => file,
            none => {
                // An earlier try under the same name was lost with its session.
                match std::fs::remove_file(&self.path) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                    _ => {}
                }
                let new = OpenOptions::new()
                    .create_new(true)
                    .append(true)
                    .open(&self.path)?;
                none.insert(new)
            }
        };
        let mut line = serde_json::to_vec(record)?;
        line.push(b'\n');
        file.write_all(&line)
    }

    /// Makes the record durable, so that the journal can name it.
    ///
    /// # Errors
    /// When a call is not on it.
    pub async fn seal(self: Arc<Self>, spent: &Spent) -> Result<ToolLedgerRef, String> {
        let requests = spent.requests;
        let sealed = tokio::task::spawn_blocking(move || self.seal_blocking(requests)).await;
        sealed.unwrap_or_else(|error| Err(error.to_string()))
    }

    fn seal_blocking(&self, requests: u32) -> Result<ToolLedgerRef, String> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let lost = |why: &str| {
            let path = self.path.display();
            Err(format!(
                "the record of its tool calls, {path}, is not whole: {why}"
            ))
        };
        if let Some(why) = &kept.lost {
            return lost(why);
        }
        let file = match (&kept.file, seal(&self.path)) {
            (None, _) => None,
            (Some(_), Sealed::File(file)) => Some(file),
            (Some(_), Sealed::Nothing) => return lost("it is gone"),
            (Some(_), Sealed::Refused(why)) => return lost(&why),
        };
        Ok(ToolLedgerRef {
            file,
            calls: kept.calls,
            failed: kept.failed,
            requests,
        })
    }
}
