//! The record of what a model did with its tools: one line a call in a file of the spool, written as it happens.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

use serde::Serialize;
use serde_json::json;

use crate::agents::secrets::Secrets;
use crate::agents::tool_loop::{ConversationUsage, ToolRecord};
use crate::executor::error::WorkError;
use crate::executor::spool::seal;
use rules::domain::Timestamp;
use rules::engine::ToolLedgerRef;
use supervisor::files;

use super::context::blocking;

/// A record that is being written. Its file is made with the first call.
#[derive(Debug)]
pub struct ToolLedger {
    path: PathBuf,
    /// The secrets that it must not show.
    secrets: Arc<Secrets>,
    kept: Mutex<OpenLedger>,
}

#[derive(Debug, Default)]
struct OpenLedger {
    file: Option<File>,
    calls: u32,
    failed: u32,
    /// Whether a reply was set aside.
    asked_again: bool,
    /// Why a call is not on record.
    lost: Option<String>,
}

/// The counts of a conversation whose record is lost.
pub fn unkept(spent: &ConversationUsage) -> ToolLedgerRef {
    ToolLedgerRef {
        calls: u32::try_from(spent.calls).unwrap_or(u32::MAX),
        requests: spent.requests,
        unanswered: spent.unanswered,
        ..ToolLedgerRef::default()
    }
}

impl ToolLedger {
    pub fn new(path: PathBuf, secrets: Arc<Secrets>) -> Arc<Self> {
        Arc::new(Self { path, secrets, kept: Mutex::default() })
    }

    /// Takes a call on record, on a thread that may wait for the disk.
    pub async fn note(self: &Arc<Self>, record: ToolRecord) {
        self.blocking(move |ledger, kept| {
            kept.calls += 1;
            kept.failed += u32::from(record.failed);
            ledger.append(kept, &record)
        })
        .await;
    }

    /// Takes a reply on record that lacked its form and does not count: what a reviewer said is kept, whatever becomes of
    /// it.
    pub async fn set_aside(self: &Arc<Self>, reply: &str) {
        let record = json!({"at": Timestamp::now().to_rfc3339(), "setAside": reply});
        self.blocking(move |ledger, kept| {
            kept.asked_again = true;
            ledger.append(kept, &record)
        })
        .await;
    }

    async fn blocking(
        self: &Arc<Self>,
        write: impl FnOnce(&Self, &mut OpenLedger) -> io::Result<()> + Send + 'static,
    ) {
        let ledger = Arc::clone(self);
        let written = blocking(move || write(&ledger, &mut ledger.kept()));
        let written = written.await.unwrap_or_else(|_| Err(io::Error::other("the writing broke off")));
        if let Err(error) = written {
            self.kept().lost.get_or_insert(error.to_string());
        }
    }

    fn kept(&self) -> MutexGuard<'_, OpenLedger> {
        crate::locked(&self.kept)
    }

    fn append(&self, kept: &mut OpenLedger, record: &impl Serialize) -> io::Result<()> {
        let file = match &mut kept.file {
            Some(file) => file,
            none => {
                // An earlier try under the same name was lost with its session.
                none.insert(files::create_new(&self.path)?)
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
    pub async fn seal(self: Arc<Self>, spent: &ConversationUsage) -> Result<ToolLedgerRef, WorkError> {
        let spent = *spent;
        blocking(move || self.seal_blocking(&spent)).await?
    }

    fn seal_blocking(&self, spent: &ConversationUsage) -> Result<ToolLedgerRef, WorkError> {
        let kept = self.kept();
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
            ledger: file,
            calls: kept.calls,
            failed: kept.failed,
            asked_again: kept.asked_again,
            requests: spent.requests,
            unanswered: spent.unanswered,
        })
    }
}
