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
mod agent_backends;
mod agent_messages;
mod ask;
mod audit;
mod calibration_runner;
mod calls;
mod clock;
mod commands;
mod control;
mod dead_letters;
mod echo;
mod error;
mod foreign_runs;
mod guard;
mod inspect;
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
mod other_runs;
mod outside;
mod permission;
mod protection;
mod recover;
mod replay;
mod reply;
mod review_context;
mod reviewer_tools;
mod scan;
mod session;
mod settings_files;
mod signals;
mod snapshots;
mod stages;
mod stall_detector;
mod supervision;
mod tool_ledger;
mod tool_worker;
mod triage;
mod turn;
mod upstream;
mod wanted;
mod watch;
mod worker_prompt;
mod world;

pub use admission::{Unfinished, unfinished_runs, unfinished_with};
pub use adopt::{Adopted, Keeping, Left, adopt};
pub use agent_backends::{EnvironmentProblem, Programs, locate};
pub use audit::missing_files;
pub use calibration_runner::{AskedAs, Jury, Piece, Said};
pub use control::{Answer, Reply, ask};
pub use dead_letters::{RetryError, retry_now};
pub use error::RunError;
pub use inspect::{Inspection, SalvageError, Vouched, inspect, salvage};
pub use missions::Missions;
pub use moved::{below, state_base};
pub use observer::Observer;
pub use operator::{TellError, drain, tell};
pub use origin::{Origin, code_of_start, is_whole, newest, next_start, operator_key, origin};
pub use protection::{ReadBefore, named_scripts};
pub use recover::{RecoverError, Recovered, layers_of, recover};
pub use replay::{Decision, Reading, Replay, Standing, replay};
pub use session::{Ended, Ending, Session, SessionSetup};
pub use settings_files::{CONFIG, SettingsError, SettingsFile, settings_files, user_settings};
pub use snapshots::stored_page;
pub use supervision::supervisors;
pub use triage::ask_about_request;
