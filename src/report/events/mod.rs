//! The event stream: the compact journal under the names of semantics section 21, for scripts and on a terminal.
//!
//! Every object has `seq`, `at` (RFC 3339), `runId` and `event`, then the payload. Task events carry `taskId`
//! (`t<index>`, stable within the run) and `title`; keys without a value are left out. One engine event may mean
//! several public ones: they share its `seq`, so `seq` never decreases and is unique per event of the engine.
//!
//! | file | what |
//! |---|---|
//! | `asks` | what is told of calls to agents that are asked |
//! | `expander` | records of the engine become public events, one by one |
//! | `holds` | holds under their public names: checkpoints, delays, what keeps a task |
//! | `judging` | what is told of judging: commands, files, verdicts |
//! | `ledgers` | the ledgers of coordination: what is planned, and what a wave brought (17) |
//! | `names` | the public events of an event of the engine: what they are called and what they say |
//! | `notices` | public names and keys of what happens to notifications and dead letters |
//! | `payload` | payloads: keys and values in a fixed order, and the pieces that several events share |
//! | `sla` | public names and payloads of deadlines |
//! | `turns` | what is told of turns |
//! | `work` | work under its public names: what is asked, run, looked at or told for a run |
//! | `worktrees` | worktrees under their public names: what is committed, what is merged |

mod asks;
mod expander;
mod holds;
mod judging;
mod ledgers;
mod names;
mod notices;
mod payload;
mod sla;
mod turns;
mod work;
mod worktrees;

pub use super::documents::PublicEvent;
pub use crate::report::screens::events::human_line;
pub use expander::EventExpander;
pub(super) use ledgers::no_progress;

#[cfg(test)]
mod tests;
