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
//! | `adoption` | how the next session finds a supervisor that outlived its own |
//! | `asked` | requests and replies of judges, sealed against change by others |
//! | `belonging` | to whom a process belongs, told by what it cannot shed |
//! | `bubblewrap_linux` | confining a child by bubblewrap, where only that may |
//! | `call` | short programs that a thread waits for, without the supervisor |
//! | `child` | one child's life: its start, its deadlines, SIGTERM and SIGKILL for its tree: the process group here, what left the group by `orphans` |
//! | `client` | the session's end: forking the supervisor, talking to it without waiting |
//! | `concealment` | what other processes of the same user may see of this one |
//! | `confine_linux` | how a child is started on Linux: as it is, or confined by the first way that works |
//! | `confine_other` | the same where nothing can be confined |
//! | `descriptors` | what the standard descriptors were before the program began |
//! | `event_loop` | the supervisor's loop: waits for the session, children and the next deadline |
//! | `exits` | `exits.log`: how every child ended, one JSON object a line |
//! | `farewell` | how one that ended in order is told from one that was killed |
//! | `files` | files that somebody else could exchange meanwhile: how they are opened, replaced, removed |
//! | `forebears_linux` | from whom a process descends, as `/proc` shows it |
//! | `forebears_other` | the same where nothing is known of other processes |
//! | `identity` | how a process is recognised again after a crash: number, boot, start time |
//! | `linux` | Linux only: adopting orphans, finding and killing all that descends from a child |
//! | `mount_plan` | what a confined child may see and change of the file system, as a pure list |
//! | `namespaces_linux` | confining a child by the supervisor itself: namespaces of its own, and a mount plan carried out in them |
//! | `orphans` | processes that left their turn's group (`setsid`, a double fork) are hunted down |
//! | `other` | the fallback for other Unixes: process groups alone |
//! | `outputs` | files that children's output goes to |
//! | `posix` | raw system calls that neither the standard library nor `rustix` offers |
//! | `protocol` | what the runner and the supervisor say to each other, and how it is framed |
//! | `resolve` | where a program is: the search that a shell would do, done once per agent |
//! | `socket` | Unix sockets in folders of the state: who may connect and speak |
//! | `scope_linux` | keeping a child from others' processes where no namespaces can be made, and a short program from others' files: domains of Landlock |
//! | `start_linux` | starting a program on Linux |
//! | `start_other` | starting a program where only the standard library knows how |

mod adoption;
mod asked;
mod belonging;
pub mod call;
mod child;
mod client;
mod concealment;
mod descriptors;
mod event_loop;
mod exits;
mod farewell;
pub mod files;
mod identity;
mod mount_plan;
mod orphans;
mod outputs;
mod posix;
mod protocol;
// What unit tests share with the tests beside them, which have a format of their own.
#[cfg(all(test, target_os = "linux"))]
#[path = "../../../tests/support/refused_calls.rs"]
#[rustfmt::skip]
mod refused_calls;
mod resolve;
mod socket;
#[cfg(test)]
#[path = "../../../tests/support/sockets.rs"]
#[rustfmt::skip]
mod sockets;

#[cfg(target_os = "linux")]
#[path = "bubblewrap_linux.rs"]
mod bubblewrap;
#[cfg(target_os = "linux")]
#[path = "namespaces_linux.rs"]
mod namespaces;
#[cfg(target_os = "linux")]
#[path = "scope_linux.rs"]
mod scope;

#[cfg(target_os = "linux")]
#[path = "confine_linux.rs"]
mod confine;
#[cfg(not(target_os = "linux"))]
#[path = "confine_other.rs"]
mod confine;

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
#[cfg(target_os = "linux")]
pub use bubblewrap::live_as_first_of_a_namespace;
pub use client::{Client, Handle, behind, fork};
pub use descriptors::stdout_was_closed;
pub use exits::{ExitRecord, ExitsLog, is_held, read as read_exits};
pub use identity::{ProcessIdentity, is_an_agents, is_of_an_agent, is_of_the_run, is_this_boot, this_boot};
pub use mount_plan::{Access, MountPlan};
pub use platform::{alive, end, end_group, end_some, open_output, something_left_of};
pub use posix::{exit_now, is_ignored, own_signals};
pub use protocol::{
    ChildExit, NamespaceMaker, RequestFile, Spawn, SupervisorCommand, SupervisorEvent, TURN_KEY_VARIABLE,
    Tier,
};
pub use resolve::{places, resolve, this_program};
pub use socket::{PeerRefused, SocketAddress, is_at_terminal, may_command, may_speak};
