//! `quorum` runs missions: graphs of tasks given to AI agents, judged by independent reviewers against evidence.
//!
//! Every module has one job, and imports point only downwards in this list: `cli`, `report`, `runtime`, `executor`, `review`,
//! `agents`, `store`; below them are the packages `supervisor` and `rules`. Beside them stand `test_clock`, which whoever
//! waits may ask, and for tests only `simulation`, random histories held against a reference model, and `transcripts`, what
//! rules lead to in public events. `docs/design/architecture.md` has the job of each.
//!
//! Comments cite the rules that the code follows: "semantics, section 5", or "section 5" alone, is that section of
//! `docs/design/semantics.md`.

#![cfg_attr(not(test), forbid(unsafe_code))]

#[cfg(not(unix))]
compile_error!("quorum runs on Linux and other Unixes; on Windows use it inside WSL");

#[macro_use]
extern crate rules;

/// Locks a value, whatever became of who held the lock before.
fn locked<T>(lock: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

pub(crate) mod agents;
pub(crate) mod cli;
pub(crate) mod executor;
pub(crate) mod report;
pub(crate) mod review;
pub(crate) mod runtime;
#[cfg(test)]
mod simulation;
// What unit tests share with the tests beside them, which have a format of their own.
#[cfg(test)]
#[path = "../tests/support/sockets.rs"]
#[rustfmt::skip]
mod sockets;
#[cfg(test)]
#[path = "../tests/support/somebody_else.rs"]
#[rustfmt::skip]
mod somebody_else;
pub(crate) mod store;
pub(crate) mod test_clock;
#[cfg(test)]
mod transcripts;

// What the binary and tests from outside go by. Whatever else is `pub` below is not seen from there, so that the compiler
// finds what nobody uses.
pub use cli::main;
pub use report::documents::schema::{DocumentKind, documents};
pub use report::vocabulary::words;
pub use store::Lock;
