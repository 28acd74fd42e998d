//! What people and machines read: progress lines, the final block, the status table, JSON documents, the event stream.
//!
//! This room only reads state and events; it decides nothing. Whether a run succeeded is said by
//! [`rules::engine::outcome`] alone and merely rendered here, so that no two outputs can disagree.
//!
//! | file | what |
//! |---|---|
//! | `documents` | the documents of a run, one struct each: JSON is its serialisation, all else is drawn from it |
//! | `events` | `quorum events`: the journal under its public names (21) |
//! | `folds` | what the journal tells and state does not keep, folded for readers: documents are made from it |
//! | `formats` | reports for other programs and browsers |
//! | `progress` | a session while it runs |
//! | `screens` | what people read in a terminal, one file a command, by its name, and what screens share |
//! | `testing` | scenes for tests: plans made by hand, events made by the engine |
//! | `vocabulary` | the words of screens: what each means, ids that people type, and amounts in words |

pub mod documents;
pub mod events;
pub mod folds;
pub mod formats;
pub mod progress;
pub mod screens;
pub mod vocabulary;
pub use screens::text::{count, escape, escape_json, sanitize};

#[cfg(test)]
mod testing;
