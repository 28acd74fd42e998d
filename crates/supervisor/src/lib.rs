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
//! What a child costs beyond the bare spawn is measured by `cargo test --release --test supervisor -- --ignored`.
//!
//! | file | what |
//! |---|---|
//! | `adoption` | the socket at which the next session finds a supervisor that outlived its own |
//! | `belonging` | to whom a process belongs: by its mark, by whom it descends from, by its session, by where it lives |
//! | `call` | short programs that a thread waits for, without the supervisor |
//! | `child` | one child's life: its start, its deadlines, SIGTERM and SIGKILL for its tree: the process group here, what left the group by `orphans` |
//! | `client` | the session's end: forking the supervisor or finding one, talking to it without waiting |
//! | `concealment` | what other processes of the same user may see of this one |
//! | `descriptors` | what the standard descriptors were before the program began |
//! | `event_loop` | the supervisor's loop: waits for the session, children and the next deadline |
//! | `exits` | `exits.log`: how every child ended, one JSON object a line |
//! | `orderly_end` | how one that ended in order is told from one that was killed |
//! | `files` | files that somebody else could exchange meanwhile: how they are opened, replaced, removed |
//! | `identity` | how a process is recognised again after a crash: number, boot, start time |
//! | `linux` | Linux only: finding and killing all that descends from a child, confinement, starting a program |
//! | `mark` | what everything that a supervisor starts carries and cannot shed |
//! | `mount_plan` | what a confined child may see and change of the file system, as a pure list |
//! | `orphans` | processes that left their turn's group (`setsid`, a double fork) are hunted down |
//! | `other` | the fallback for other Unixes: process groups alone |
//! | `outputs` | files that children's output goes to |
//! | `platform` | `linux` or `other`, by the same names |
//! | `posix` | raw system calls that neither the standard library nor `rustix` offers |
//! | `protocol` | what the runner and the supervisor say to each other, and how it is framed |
//! | `resolve` | where a program is: the search that a shell would do, done once per agent |
//! | `sealed` | requests and replies of judges, sealed against change by others |
//! | `socket` | Unix sockets in folders of the state: who may connect and speak |
//! | `start` | what a program is started with, and why it was not started |
//! | `turn_marker` | the mark of a turn in the environment of all that it starts |

mod adoption;
mod belonging;
pub mod call;
mod child;
mod client;
mod concealment;
mod descriptors;
mod event_loop;
mod exits;
pub mod files;
mod identity;
#[cfg(target_os = "linux")]
mod linux;
mod mark;
mod mount_plan;
mod orderly_end;
mod orphans;
#[cfg(not(target_os = "linux"))]
mod other;
mod outputs;
mod platform;
mod posix;
mod protocol;
// What unit tests share with the tests beside them, which have a format of their own.
#[cfg(all(test, target_os = "linux"))]
#[path = "../../../tests/support/refused_calls.rs"]
#[rustfmt::skip]
mod refused_calls;
mod resolve;
mod sealed;
mod socket;
#[cfg(test)]
#[path = "../../../tests/support/sockets.rs"]
#[rustfmt::skip]
mod sockets;
mod start;
mod turn_marker;

pub use belonging::{is_of_an_agent, is_of_the_run};
pub use client::{Client, Handle, NotFound, behind, fork, reconnect};
pub use descriptors::stdout_was_closed;
pub use exits::{ExitRecord, ExitsLog, is_held, read as read_exits};
pub use identity::ProcessIdentity;
pub use mount_plan::{Access, MountPlan};
#[cfg(target_os = "linux")]
pub use platform::bubblewrap::live_as_first_of_a_namespace;
pub use platform::{
    alive, end, end_group, end_some, is_this_boot, open_output, something_left_of, this_boot,
};
pub use posix::{exit_now, is_ignored, own_signals};
pub use protocol::{
    ChildExit, HeldChild, Holding, NamespaceMaker, PROTOCOL, RequestFile, Spawn, SupervisorCommand,
    SupervisorEvent, Tier,
};
pub use resolve::{places, resolve, this_program};
pub use socket::{PeerRefused, SocketAddress, is_at_terminal, may_command, may_command_by_tcp, may_speak};
pub use start::Bounds;
pub use turn_marker::TURN_KEY_VARIABLE;
