//! What people and machines read: progress lines, the final block, the status table, JSON documents, the event stream.
//!
//! This room only reads state and events; it decides nothing. Whether a run succeeded is said by
//! [`crate::engine::outcome`] alone and merely rendered here, so that no two outputs can disagree.
//!
//! | file | what |
//! |---|---|
//! | [`view`] | the projection that all documents are made from: what state does not keep because no rule needs it |
//! | [`json`] | `quorum.run/v1`, for scripts |
//! | [`events`] | the journal with full names, for scripts and on a terminal |
//! | [`progress`] | a session while it runs |
//! | [`summary`] | the block at a session's end |
//! | [`history`], [`show`] | everything about one task |
//! | [`junit`], [`markdown`], [`annotations`] | a run for CI systems and for people who read there |
//! | [`runs`] | the runs of a folder |
//! | [`metrics`] | how tasks and agents did |
//! | [`plan`] | a mission as it would run, also as a drawing |
//! | [`status`] | the table of a run's tasks |
//! | [`style`], `text` | colours, symbols, widths; text that somebody else wrote |

pub mod annotations;
pub mod events;
pub mod history;
pub mod ids;
pub mod json;
pub mod junit;
pub mod markdown;
pub mod metrics;
pub mod plan;
pub mod progress;
mod rank;
mod reviews;
pub mod runs;
pub mod show;
pub mod status;
pub mod style;
pub mod summary;
mod text;
pub use text::sanitize;
pub mod view;

#[cfg(test)]
mod testing;
