//! What people and machines read: progress lines, the final block, the status table, JSON documents, the event stream.
//!
//! This room only reads state and events; it decides nothing. Whether a run succeeded is said by
//! [`rules::engine::outcome`] alone and merely rendered here, so that no two outputs can disagree.
//!
//! | file | what |
//! |---|---|
//! | `annotations` | what GitHub shows beside a job: a few annotations, the worst first |
//! | `budget` | the budget in words: what was used of it, and what ended the work |
//! | `codes` | `quorum explain` for people |
//! | `dead_letters` | the dead-letter queue for people |
//! | `difference` | how a mission was changed: its text line by line, and what that means for the run |
//! | `documents` | the documents of a run, one struct each: JSON is its serialisation, all else is drawn from it |
//! | `doctor` | `quorum.doctor/v1`: whether this machine can run a mission |
//! | `events` | `quorum events`: the journal under its public names (21) |
//! | `command_error` | why a command could not do what it was asked, for people |
//! | `findings` | what was found, for every report alike: causes of failures, what accepted work carries (20) |
//! | `forewarning` | what is known before a run starts and would else be a surprise at its end |
//! | `history` | one task, attempt by attempt: what `show`, `logs` and `metrics` are made from |
//! | `html` | a run as one page for a browser: self-contained, without a network |
//! | `ids` | the ids that people type: of what waits for them, and of what they are told |
//! | `intake` | requests for work, for people and for programs (16) |
//! | `junit` | JUnit XML |
//! | `logs` | `quorum logs`: what stands between the outputs of turns |
//! | `markdown` | a run in Markdown, the worst first, for `$GITHUB_STEP_SUMMARY`, merge requests, mails |
//! | `metrics` | how tasks, agents and the mission did, collected (14) |
//! | `page` | a page of the documentation as a terminal shows it |
//! | `progress` | a session while it runs |
//! | `rank` | what a task amounts to in a report: one ranking for JUnit, Markdown and annotations |
//! | `settings` | `quorum config show` for people |
//! | `further_stages` | the further stages for readers: who they are, what they said |
//! | `status` | `quorum status` for people: one row per task, then gates, what waits, and the outcome |
//! | `style` | colours, symbols and the screen they go to |
//! | `summary` | the final block of a session: always printed, also on failure and Ctrl-C |
//! | `templates` | screens as templates: what they may print, and the filters for it |
//! | `testing` | scenes for tests: plans made by hand, events made by the engine |
//! | `text` | text on a terminal: what others wrote made harmless, cut to a width; times for people |
//! | `view` | the projection that documents are made from: what state does not keep |
//! | `words` | every word of a screen with its meaning, for `quorum explain` |

pub mod annotations;
pub mod codes;
pub mod command_error;
pub mod dead_letters;
pub mod difference;
pub mod doctor;
pub mod documents;
pub mod events;
mod findings;
pub mod forewarning;
mod further_stages;
pub mod history;
pub mod html;
pub mod ids;
pub mod intake;
pub mod junit;
pub mod logs;
pub mod markdown;
pub mod metrics;
pub mod page;
pub mod progress;
mod rank;
pub mod settings;
pub mod status;
pub mod style;
pub mod summary;
mod templates;
mod text;
pub use text::{count, escape, escape_json, sanitize};
mod budget;
pub mod view;
pub mod words;

#[cfg(test)]
mod screens_tests;
#[cfg(test)]
mod testing;
