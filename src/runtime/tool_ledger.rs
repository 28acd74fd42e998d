//! The record of what a model did with its tools: one line a call in a file of the spool, written as it happens.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;

use crate::agents::secrets::Secrets;
use crate::agents::tool_loop::{Spent, ToolRecord};
use crate::domain::Timestamp;
use crate::engine::ToolLedgerRef;
use crate::executor::error::WorkError;
use crate::executor::spool::seal;
use crate::store;

/// A record that is being written. Its file is made with the first call.
#[derive(Debug)]
pub(super) struct ToolLedger {
    path: PathBuf,
    /// What nobody may read in it.
    secrets: Arc<Secrets>,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    file: Option<File>,
    calls: u32,
    failed: u32,
    /// Whether a reply was set aside.
    asked_again: bool,
    /// Why a call is not on record.
    lost: Option<String>,
}

/// A reply that lacked its form and does not count.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SetAside<'a> {
    at: String,
    set_aside: &'a str,
}

/// What is known of a conversation whose record is lost.
pub(super) fn unkept(spent: &Spent) -> ToolLedgerRef {
    ToolLedgerRef {
        calls: u32::try_from(spent.calls).unwrap_or(u32::MAX),
        requests: spent.requests,
        unanswered: spent.unanswered,
        ..ToolLedgerRef::default()
    }
}

impl ToolLedger {
    pub fn new(path: PathBuf, secrets: Arc<Secrets>) -> Arc<Self> {
        Arc::new(Self {
            path,
            secrets,
            kept: Mutex::default(),
        })
    }

    /// Takes a call on record, on a thread that may wait for the disk.
    pub async fn note(self: &Arc<Self>, record: ToolRecord) {
        let ledger = Arc::clone(self);
        Self::blocking(self, move || ledger.write(&record)).await;
    }

    /// Takes a reply on record that lacked its form: what a reviewer said is kept, whatever becomes of it.
    pub async fn set_aside(self: &Arc<Self>, reply: &str) {
        let (ledger, reply) = (Arc::clone(self), reply.to_owned());
        Self::blocking(self, move || ledger.write_aside(&reply)).await;
    }

    async fn blocking(self: &Arc<Self>, write: impl FnOnce() + Send + 'static) {
        if tokio::task::spawn_blocking(write).await.is_err() {
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.lost.get_or_insert("the writing broke off".to_owned());
        }
    }

    fn write(&self, record: &ToolRecord) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.calls += 1;
        kept.failed += u32::from(record.failed);
        self.append_or_lose(&mut kept, record);
    }

    fn write_aside(&self, reply: &str) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.asked_again = true;
        let record = SetAside {
            at: Timestamp::now().to_rfc3339(),
            set_aside: reply,
        };
        self.append_or_lose(&mut kept, &record);
    }

    fn append_or_lose(&self, kept: &mut Kept, record: &impl Serialize) {
        if let Err(error) = self.append(kept, record) {
            kept.lost.get_or_insert(error.to_string());
        }
    }

    fn append(&self, kept: &mut Kept, record: &impl Serialize) -> io::Result<()> {
        let file = match &mut kept.file {
            Some(file) => file,
            none => {
                // An earlier try under the same name was lost with its session.
                none.insert(store::create_new(&self.path)?)
            }
        };
        let mut line = self.secrets.redact(&serde_json::to_string(record)?);
        line.push('\n');
        file.write_all(line.as_bytes())
    }

    /// Makes the record durable, so that the journal can name it.
    ///
    /// # Errors
    /// When a call is not on it.
    pub async fn seal(self: Arc<Self>, spent: &Spent) -> Result<ToolLedgerRef, WorkError> {
        let spent = *spent;
        tokio::task::spawn_blocking(move || self.seal_blocking(&spent)).await?
    }

    fn seal_blocking(&self, spent: &Spent) -> Result<ToolLedgerRef, WorkError> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let lost = |why: &str| {
            let path = self.path.display();
            Err(format!("the record of its tool calls, {path}, is not whole: {why}").into())
        };
        if let Some(why) = &kept.lost {
            return lost(why);
        }
        let file = match (&kept.file, seal(&self.path)) {
            (None, _) => None,
            (Some(_), Ok(None)) => return lost("it is gone"),
            (Some(_), Ok(file)) => file,
            (Some(_), Err(error)) => return lost(&error.to_string()),
        };
        Ok(ToolLedgerRef {
            file,
            calls: kept.calls,
            failed: kept.failed,
            asked_again: kept.asked_again,
            requests: spent.requests,
            unanswered: spent.unanswered,
        })
    }
}
