//! Performs what the engine asks for. What is done is handed in by value: nothing here knows the state of a run, so
//! commands of a session and those that are run outside of one (triage, calibration, letters that are tried again) are
//! started and ended in the same place.
//!
//! | file | what |
//! |---|---|
//! | `approver` | approvers that are commands (5) |
//! | `baseline_look` | what the checks of a task say before the work (24) |
//! | `check` | checks: what the end of one says (6.4) |
//! | `command` | one command: what it is started with, as values and as bytes, and what its end leaves |
//! | `error` | why work cannot be begun, or what it left cannot be used |
//! | `finish_gate` | commands of finish gates: run like checks, in the same clean environment (6.3) |
//! | `heuristic` | the heuristic grader at work: runs the commands that a task's criteria name, looks at the files, and grades |
//! | `preset_files` | the files with settings that a preset has for its program |
//! | `program` | what the end of a program means that a preset reads |
//! | `program_watch` | programs of agents at work: what they do, and what they wait for (13) |
//! | `runner` | starts commands below the supervisor and hands their ends on |
//! | `spool` | files of the spool: sealing what a record will vouch for, and reading it back in bounded pieces |
//! | `task_command` | the commands that work or judge for a task: each kind is made here, complete and by value |
//! | `with_commands` | commands that are run outside of a session |
//! | `workspace` | the folder that a task works in |

pub mod approver;
pub mod baseline_look;
pub mod check;
pub mod command;
pub mod error;
pub mod finish_gate;
pub mod heuristic;
mod preset_files;
pub mod program;
pub mod program_watch;
pub mod runner;
pub mod spool;
pub mod task_command;
pub mod with_commands;
pub mod workspace;
