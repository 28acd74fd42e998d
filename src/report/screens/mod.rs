//! What people read in a terminal, one file a command, by its name, and what screens share.
//!
//! | file | what |
//! |---|---|
//! | `changed_mission` | how a mission was changed: its text line by line, and what that means for the run |
//! | `command_error` | why a command could not do what it was asked, for people |
//! | `config` | `quorum config show` for people |
//! | `dlq` | the dead-letter queue for people |
//! | `doctor` | `quorum.doctor/v1`: whether this machine can run a mission |
//! | `events` | one line per event for people: `quorum events` on a terminal |
//! | `explain` | `quorum explain` for people |
//! | `forewarning` | what is known before a run starts and would else be a surprise at its end |
//! | `help` | a page of the documentation as a terminal shows it |
//! | `logs` | `quorum logs`: what stands between the outputs of turns |
//! | `plan` | the plan for people: waves, gates, and how much it can come to |
//! | `request` | requests for work, for people and for programs (16) |
//! | `show` | one task for people, attempt by attempt |
//! | `status` | `quorum status` for people: one row per task, then gates, what waits, and the outcome |
//! | `style` | colours, symbols and the screen they go to |
//! | `summary` | the final block of a session: always printed, also on failure and Ctrl-C |
//! | `templates` | screens as templates: what they may print, and the filters for it |
//! | `text` | text on a terminal: what others wrote made harmless, cut to a width; times for people |

pub mod changed_mission;
pub mod command_error;
pub mod config;
pub mod dlq;
pub mod doctor;
pub mod events;
pub mod explain;
pub mod forewarning;
pub mod help;
pub mod logs;
pub mod plan;
pub mod request;
pub mod show;
pub mod status;
pub mod style;
pub mod summary;
pub mod templates;
#[cfg(test)]
mod tests;
pub mod text;
