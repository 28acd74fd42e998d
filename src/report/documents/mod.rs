//! The documents of a run: one struct each. JSON is its serialisation; screens, Markdown, JUnit, annotations and the HTML
//! page are drawn from it. Fields that JSON does not have are skipped: what words are made from, not words for scripts.
//!
//! | file | what |
//! |---|---|
//! | `baseline` | `quorum.baseline/v1`: what the checks of a mission say before any work on it (24) |
//! | `calibration` | `quorum.calibration/v1`: judges and panels held against people |
//! | `commands` | what single commands print: one small struct each |
//! | `compare` | `quorum.compare/v1`: one run held against another (14) |
//! | `counts` | how many tasks are what, as numbers and in words |
//! | `diff` | what a task in a folder of its own changed |
//! | `doctor` | `quorum.doctor/v1`: whether this machine can run a mission |
//! | `events` | `quorum.events/v1`: what happened in a run, under the public names |
//! | `fields` | how points, scores and moments are written |
//! | `gates` | `quorum.gate/v1`: gates from stored state |
//! | `inbox` | `quorum.inbox/v1` and its halves: what waits for a person, and what operators should know of |
//! | `judge_test` | `quorum.judge-test/v1`: whether the replies of an agent can be read where it is asked as a judge |
//! | `metrics` | `quorum.metrics/v1`: how tasks, agents and the mission did (14) |
//! | `plan` | `quorum.plan/v1`: a mission as it would run |
//! | `proof` | what the checks of a task said before its work, and what that shows (24) |
//! | `replay` | `quorum.replay/v1`: judgements derived again, held against what the journal says |
//! | `review` | `quorum.review/v1`: what a review of work came to that no run did |
//! | `reviews` | `reviews` of a task: what each reviewer said, a person and a grader among them |
//! | `run` | `quorum.run/v1`: the document of `status --json` and `run --json` |
//! | `runs` | `quorum.runs/v1`: the runs of a state folder, the newest last |
//! | `schema` | the table of documents, and the JSON Schema of each |
//! | `show` | `quorum.show/v1`: one task with all that is known about it |
//! | `stats` | `quorum.stats/v1`: how agents and judges did over all runs (14) |
//! | `task` | one task of `quorum.run/v1` |
//! | `tasks` | the tasks of a run: their rows, and which of them are asked for |
//! | `waits` | what a run waits for, and what operators should know of |

mod baseline;
pub mod calibration;
pub mod commands;
pub mod compare;
mod counts;
pub(super) mod diff;
pub mod doctor;
mod events;
pub(super) mod fields;
mod gates;
mod inbox;
mod judge_test;
pub mod metrics;
pub mod plan;
mod proof;
pub mod replay;
mod review;
pub(super) mod reviews;
mod run;
pub mod runs;
pub mod schema;
pub mod show;
pub mod stats;
mod task;
mod tasks;
mod waits;

pub use baseline::{BaselineDocument, first_looked_at};
pub use counts::Counts;
pub(super) use counts::skipped;
pub use events::{EventsDocument, PublicEvent};
pub use gates::{GateDocument, GateRow};
pub use inbox::{Halves, InboxDocument};
pub use judge_test::{JudgeTestDocument, KindRow};
pub use metrics::{MetricsDocument, MetricsRow};
pub(super) use proof::ProofRow;
pub use review::ReviewDocument;
pub use run::{RunDocument, RunState};
#[cfg(test)]
pub(super) use task::DimensionRow;
pub(super) use task::{EdgesRow, TaskRow};
pub use tasks::Tasks;
pub(super) use waits::SlotWait;
pub use waits::{Wait, asked};

/// The status of a task, and the state of a gate, that the run was told to leave out.
const NOT_TAKEN: &str = "notTaken";
