//! Commands on other machines: a child here stands for the command that a worker runs there.
//!
//! A session hands a turn's folder out as a commit and starts `quorum --carried FILE` below its supervisor as it would the command
//! itself. The child begins a standalone activity of Temporal and waits for it; a worker takes it, runs the command below a
//! supervisor of its own and hands the folder back as a commit. What travels through the server is small: ids and names of
//! commits, and the last of what the command has printed.
//!
//! A session that a host begins is such a command as well, of this program: its files lie where all machines reach them, and where its
//! host is gone the server hands it to the next one.
//!
//! | file | what |
//! |---|---|
//! | `client` | the child that stands for a command elsewhere |
//! | `desk` | the desk of a run: commands and questions from other machines |
//! | `desk_form` | what is said at a desk |
//! | `form` | what child, worker and session say to each other |
//! | `job_commands` | the commands of jobs, below the supervisor of a worker |
//! | `lease` | heartbeats of a job that the server answers |
//! | `server` | the server of Temporal: where it is, and whether it has what is needed |
//! | `worker` | `quorum worker`: runs commands of other machines |
//! | `worker_folder` | the folders of a worker and of its jobs |

#[cfg(feature = "temporal")]
pub mod client;
#[cfg(feature = "temporal")]
pub mod desk;
pub mod desk_form;
pub mod form;
#[cfg(feature = "temporal")]
mod job_commands;
#[cfg(feature = "temporal")]
mod lease;
#[cfg(feature = "temporal")]
pub mod server;
#[cfg(feature = "temporal")]
pub mod worker;
#[cfg(feature = "temporal")]
mod worker_folder;
