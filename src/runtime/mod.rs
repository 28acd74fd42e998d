//! The loop that joins everything: takes inputs, asks the engine, commits records, performs effects.
//!
//! ```text
//! supervisor, models, files, timers, signals, operators ──Fact──▶ Session ──decide──▶ events ──journal, one sync──▶ apply ──▶ effects
//! ```
//!
//! One thread owns the state. It blocks on the sync of its journal and on nothing else: files are hashed and read on
//! the blocking pool, processes live below the supervisor, models answer asynchronously.

mod admission;
mod adopt;
mod ask;
mod audit;
mod calls;
mod clock;
mod commands;
mod control;
mod dead_letters;
mod echo;
mod entry;
mod error;
mod foreign_runs;
mod guard;
mod inspect;
mod jury;
mod looking;
mod material;
mod message_folders;
mod middleware;
mod missions;
mod moved;
#[cfg(test)]
mod mutated_tests;
mod notices;
mod observer;
mod operator;
mod origin;
mod others;
mod outside;
mod permission;
mod protection;
mod reach;
mod recover;
mod replay;
mod reply;
mod scan;
mod scrutiny;
mod session;
mod settings_files;
mod signals;
mod silence;
mod snapshots;
mod supervision;
mod tool_ledger;
mod tool_worker;
mod triage;
mod turn;
mod upstream;
mod voice;
mod wanted;
mod watch;
mod worker_prompt;
mod world;

pub use admission::{Unfinished, unfinished_runs, unfinished_with};
pub use adopt::{Adopted, Keeping, Left, adopt};
pub use audit::missing_files;
pub use control::{Answer, Reply, ask};
pub use dead_letters::{RetryError, retry_now};
pub use error::RunError;
pub use inspect::{Inspection, SalvageError, Vouched, inspect, salvage};
pub use jury::{AskedAs, Jury, Piece, Said};
pub use missions::Missions;
pub use moved::{below, state_base};
pub use observer::Observer;
pub use operator::{TellError, drain, tell};
pub use origin::{Origin, code_of_start, is_whole, newest, next_start, operator_key, origin};
pub use protection::{ReadBefore, named_scripts};
pub use reach::{EnvironmentProblem, Programs, locate};
pub use recover::{RecoverError, Recovered, layers_of, recover};
pub use replay::{Decision, Reading, Replay, Standing, replay};
pub use session::{Ended, Ending, Session, SessionSetup};
pub use settings_files::{CONFIG, SettingsError, SettingsFile, settings_files, user_settings};
pub use snapshots::{Tail, Told, told_by_snapshot};
pub use supervision::supervisors;
pub use triage::ask_about_request;
