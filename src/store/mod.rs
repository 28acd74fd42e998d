//! The state folder `.polpo/`: lock, journal, snapshot, layout.
//!
//! The journal is the truth and everything else is derived. A record is durable before anything it decided happens;
//! a failed sync is never tried again.
//!
//! | file | what |
//! |---|---|
//! | `dead_letters` | `dead-letters.jsonl`: what failed for good, of all runs (13) |
//! | `double` | a log file in memory that crashes where it is told to, for tests |
//! | `queued_commands` | `commands/`: operators' commands for a writer that could not be asked directly |
//! | `journal` | the journal: append, group commit, the torn tail that is cut, damage that is refused |
//! | `layout` | where things are below `.polpo/` |
//! | `lock` | `lock`: the one writer's advisory lock |
//! | `log_file` | the file under the journal: append and sync; a trait, so that tests can lose what was not synced |
//! | `operator_key` | the operator's key, and the code of a queued command |
//! | `record` | one record: one decision, one line of the journal |
//! | `requests` | `requests/`: what is asked for from outside before any run has it (16) |
//! | `salvage` | keeping the good beginning of a damaged journal |
//! | `snapshot` | the snapshot `state.json`: for readers only, never for recovery |
//! | `state_file` | small files of checked lines, read and replaced whole |
//! | `survey` | links, FIFOs, foreign files in the place of something of the state (22) |

mod dead_letters;
mod journal;
mod layout;
mod lock;
mod log_file;
mod operator_key;
mod queued_commands;
mod record;
mod requests;
mod salvage;
mod snapshot;
mod state_file;
mod survey;

#[cfg(test)]
mod crash_tests;
#[cfg(test)]
pub(crate) mod double;

pub use dead_letters::DeadLetters;
pub use journal::{DamagedJournal, Journal, JournalError, Reader};
pub use layout::{AskFile, FolderError, KnownRun, NOT_UTF8, RunFolder, SpoolName, StateFolder};
#[cfg(feature = "temporal")]
pub use lock::host;
pub use lock::{HOSTED, Holder, Lock, LockError};
pub use log_file::{FsLog, LogFile};
pub use operator_key::OperatorKey;
#[cfg(feature = "temporal")]
pub use operator_key::folder_of_user;
pub use queued_commands::{InboxFile, LONGEST_COMMAND, Queued, move_aside, put, taken, waiting};
pub use record::{JournalDecision, LONGEST_RECORD, Record};
pub use requests::{Requests, WorkRequest};
pub use salvage::keep_prefix;
pub use snapshot::{Front, JournalEnd, Snapshot};
pub use state_file::StateFileError;
pub use survey::Misplaced;
