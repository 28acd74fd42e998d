//! Performs what the engine asks for. What is done is handed in by value: nothing here knows the state of a run, so
//! commands of a session and those that are run outside of one (triage, calibration, letters that are tried again) are
//! started and ended in the same place.
//!
//! | file | what |
//! |---|---|
//! | `command` | one command: what it is started with, what its end leaves |
//! | `runner` | starts commands below the supervisor and hands their ends on |
//! | `task_command` | what commands that work or judge for a task have in common |
//! | `check`, `finish_gate`, `probes`, `approver` | commands of the mission: how they are started, what their end says |
//! | `spool` | files of outputs: redacted, sealed, read back in bounded pieces |
//! | `workspace` | the folder that a task works in |

pub mod approver;
pub mod check;
pub mod command;
pub mod finish_gate;
pub mod probes;
pub mod runner;
pub mod spool;
pub mod task_command;
pub mod workspace;
