//! The documents of a run: one struct each. JSON is its serialisation; screens, Markdown, JUnit, annotations and the HTML
//! page are drawn from it. Fields that JSON does not have are skipped: what words are made from, not words for scripts.
//!
//! | file | what |
//! |---|---|
//! | `counts` | how many tasks are what, as numbers and in words |
//! | `fields` | how points, scores and moments are written |
//! | `gates` | `quorum.gate/v1`: gates from stored state |
//! | `inbox` | `quorum.inbox/v1` and its halves: what waits for a person, and what operators should know of |
//! | `review` | `quorum.review/v1`: what a review of work came to that no run did |
//! | `reviews` | `reviews` of a task: what each reviewer said, a person and a grader among them |
//! | `run` | `quorum.run/v1`: the document of `status --json` and `run --json` |
//! | `task` | one task of `quorum.run/v1` |
//! | `waits` | what a run waits for, and what operators should know of |

mod counts;
mod fields;
mod gates;
mod inbox;
mod review;
pub(super) mod reviews;
mod run;
mod task;
mod waits;

pub(super) use counts::skipped;
pub use counts::{Counts, is_cancelled};
pub use gates::{GateDocument, GateRow};
pub use inbox::{Halves, InboxDocument};
pub use review::ReviewDocument;
pub(super) use run::Tasks;
pub use run::{RunDocument, Standing};
#[cfg(test)]
pub(super) use task::DimensionRow;
pub(super) use task::{AttemptRow, EdgesRow, FailureRow, TaskRow, weight};
pub use waits::{Wait, asked};

/// The status of a task, and the state of a gate, that the run was told to leave out.
const NOT_TAKEN: &str = "notTaken";
