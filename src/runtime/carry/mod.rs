//! Commands on other machines: a child here stands for the command that a worker runs there.
//!
//! A session hands a turn's folder out as a commit and starts `quorum --carried FILE` below its supervisor as it would the command
//! itself. The child begins a standalone activity of Temporal and waits for it; a worker takes it, runs the command below a
//! supervisor of its own and hands the folder back as a commit. What travels through the server is small: ids and names of
//! commits, and the last of what the command has printed.
//!
//! | file | what |
//! |---|---|
//! | `form` | what child, worker and session say to each other |

pub mod form;
