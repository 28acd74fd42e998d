//! `quorum` runs missions: graphs of tasks given to AI agents, judged by independent reviewers against evidence.
//!
//! Every module has one job, and imports point only downwards in this list: `cli`, `report`, `runtime`, `executor`, `review`,
//! `agents`, `supervisor`, `store`, `engine`, `judging`, `mission`, `domain`. Beside them stand `test_clock`, which whoever waits may
//! ask, and for tests only `simulation`, random histories held
//! against a reference model, and `transcripts`, what rules lead to in public events. `docs/design/architecture.md` has the job of each.
//!
//! Comments cite the rules that the code follows: "semantics, section 5", or "section 5" alone, is that section of
//! `docs/design/semantics.md`.

#[cfg(not(unix))]
compile_error!("quorum runs on Linux and other Unixes; on Windows use it inside WSL");

pub mod agents;
pub mod cli;
pub mod domain;
pub mod engine;
pub(crate) mod executor;
pub mod judging;
pub mod mission;
pub mod report;
pub mod review;
pub mod runtime;
#[cfg(test)]
mod simulation;
pub mod store;
pub mod supervisor;
pub mod test_clock;
#[cfg(test)]
mod transcripts;
