//! The one process per run that spawns, reaps and kills every child.
//!
//! The runner could spawn agents itself, but then their fate would hang on the runner's: nobody would be left to see
//! an exit, enforce a time-out or kill a process tree when the runner crashes, and a program with threads and a large
//! heap is a bad place to create processes from. So [`fork`] splits off a small process early, before any thread
//! exists and before the run's lock is taken. It
//!
//! * starts every child in a process group of its own, with its output straight in files;
//! * sees each exit first, kills what is left of the child's tree, and only then lets the process id go, so that a
//!   signal can never reach a stranger that got the same number;
//! * enforces time-outs (SIGTERM, then SIGKILL after a grace) without the runner's help;
//! * records every exit in `exits.log`, which survives the runner;
//! * kills everything when the runner asks for it, which an orderly end always does;
//! * holds what is marked [`Spawn::outlives_runner`] when the runner dies without a word, and kills the rest. It waits for
//!   the next runner at a socket in the run's folder, tells it what it holds, and then serves it like the first one. It
//!   ends with the last thing it holds.
//!
//! The map of the room: `client` is the runner's end, `protocol` what travels between the two, `event_loop` the supervisor's
//! loop, `adoption` how the next runner finds it, `child` one child's life, `outputs` the files its output goes to,
//! `orphans` the hunt for processes that left their group, `exits` the record, `identity` how a process is recognised
//! again after a crash, `belonging` what a process cannot shed, `concealment` what others see of this one, `descriptors` what the standard ones were at the start, `farewell` how
//! an orderly end is told from a murder, `asked` what a judge is asked and answers, `socket` sockets in folders of the state
//! and who may speak there, `resolve` the search for
//! programs. `posix` holds the few raw system calls; everything that only Linux has is in `linux` and `start_linux`, with a
//! plain process-group fallback in `other` and `start_other`.
//!
//! What a child costs beyond the bare spawn is measured by `cargo test --release --test supervisor -- --ignored`.

mod adoption;
mod asked;
mod belonging;
mod child;
mod client;
mod concealment;
mod descriptors;
mod event_loop;
mod exits;
mod farewell;
mod identity;
mod orphans;
mod outputs;
mod posix;
mod protocol;
mod resolve;
mod socket;

#[cfg(target_os = "linux")]
#[path = "forebears_linux.rs"]
mod forebears;
#[cfg(not(target_os = "linux"))]
#[path = "forebears_other.rs"]
mod forebears;

#[cfg(target_os = "linux")]
#[path = "linux.rs"]
mod platform;
#[cfg(not(target_os = "linux"))]
#[path = "other.rs"]
mod platform;

#[cfg(target_os = "linux")]
#[path = "start_linux.rs"]
mod starter;
#[cfg(not(target_os = "linux"))]
#[path = "start_other.rs"]
mod starter;

pub use adoption::{HeldChild, Holding, NotFound, PROTOCOL, reconnect};
pub use client::{Client, Handle, fork};
pub use descriptors::stdout_was_closed;
pub use exits::{ExitRecord, ExitsLog, is_held, read as read_exits};
pub use identity::{
    ProcessIdentity, alive, end, end_group, end_some, is_an_agents, is_of_an_agent, is_of_the_run,
    is_this_boot, open_output, something_left_of, this_boot,
};
pub use orphans::TURN_KEY_VARIABLE;
pub use posix::{exit_now, is_ignored, survive_file_size_limit};
pub use protocol::{Command, Event, Exit, Spawn, Told};
pub use resolve::resolve;
pub use socket::{Refusal, SocketAddress, is_at_terminal, may_command, may_speak};
