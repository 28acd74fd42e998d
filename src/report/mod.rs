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
//! | [`history`], [`show`], [`logs`] | everything about one task |
//! | [`junit`], [`markdown`], [`annotations`] | a run for CI systems and for people who read there |
//! | [`html`] | a run as one page for a browser, without a network |
//! | [`runs`] | the runs of a folder |
//! | [`metrics`] | how tasks and agents did |
//! | [`plan`] | a mission as it would run, also as a drawing |
//! | [`status`] | the table of a run's tasks |
//! | [`gate`], [`waiting`] | gates from stored state; what waits for a person |
//! | [`review`], [`replay`] | what a review came to; judgements derived again |
//! | [`doctor`], [`settings`], [`codes`] | the machine, its settings, the meaning of diagnostics |
//! | [`difference`], `edits` | how a mission was changed; which lines two texts have in common |
//! | `findings` | what was found, for every report alike |
//! | [`failure`] | why a command could not do what it was asked |
//! | [`style`], `text` | colours, symbols, widths; text that somebody else wrote |

pub mod annotations;
pub mod calibration;
pub mod codes;
pub mod dead_letters;
pub mod difference;
pub mod doctor;
mod edits;
pub mod events;
pub mod failure;
mod findings;
pub mod forewarning;
pub mod gate;
mod happenings;
pub mod history;
pub mod html;
pub mod ids;
pub mod intake;
pub mod json;
pub mod junit;
pub mod logs;
pub mod markdown;
pub mod metrics;
pub mod plan;
pub mod progress;
mod rank;
pub mod replay;
pub mod review;
mod reviews;
pub mod runs;
pub mod settings;
pub mod show;
mod stages;
pub mod status;
pub mod style;
pub mod summary;
mod text;
pub use text::{count, escape, escape_json, sanitize};
pub mod asked;
mod budget;
pub mod view;
pub mod waiting;
pub mod words;

#[cfg(test)]
mod screens_tests;
#[cfg(test)]
mod testing;
