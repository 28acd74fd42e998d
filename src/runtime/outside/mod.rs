//! What runs without a session: reviewers and agents asked once, replays, and commands for a run that nobody works on.
//!
//! | file | what |
//! |---|---|
//! | `calibration_runner` | reviewers that are asked outside of any run, to be held against people (`quorum calibrate`) |
//! | `operator` | commands of people to a run without a session, journaled for the next session |
//! | `ask` | agents that are asked outside of any session: triage, calibration |
//! | `replay` | `review --replay`: judgements derived again from what is stored |
//! | `settings_files` | which `quorum.yaml` files settings are read from |
//! | `intake` | an agent is asked about a request for work, outside of any session (16) |
//! | `working_diff` | what differs between a revision and a working folder, for `review --diff` |

pub mod ask;
pub mod calibration_runner;
pub mod intake;
pub mod operator;
pub mod replay;
pub mod settings_files;
pub mod working_diff;
