//! The state folder `.polpo/`: lock, journal, snapshot, layout.
//!
//! The journal is the truth and everything else is derived. A record is durable before anything it decided happens;
//! a failed sync is never tried again.

pub mod checked_line;
mod dead_letters;
mod file_util;
mod inbox;
mod journal;
mod layout;
mod lock;
mod log_file;
pub mod no_links;
mod operator_key;
mod record;
mod requests;
mod salvage;
mod snapshot;
mod survey;

#[cfg(test)]
mod crash_tests;
#[cfg(test)]
pub(crate) mod double;

pub use dead_letters::{DeadLetters, MOST_LETTERS, QueueError};
pub use file_util::{
    LONGEST_FILE, create_dir_durable, create_new, is_unfit, open_of_any_length, open_regular, open_with,
    read_regular, remove_all, remove_file, replace_file, sync_parent, write_new,
};
pub use inbox::{Found, LONGEST_COMMAND, Queued, move_aside, put, taken, waiting};
pub use journal::{DamagedJournal, Journal, JournalError, LONGEST_RECORD, Reader, first_record};
pub use layout::{AskFile, FolderError, KnownRun, RunFolder, SpoolName, StateFolder};
pub use lock::{Holder, Lock, LockError};
pub use log_file::{FsLog, LogFile};
pub use operator_key::OperatorKey;
pub use record::{Decision, Record};
pub use requests::{MOST_REQUESTS, Request, RequestStep, Requests, RequestsError};
pub use salvage::{Salvaged, keep_prefix};
pub use snapshot::{Front, JournalEnd, Row, Snapshot};
pub use survey::Misplaced;
