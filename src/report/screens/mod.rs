//! What people read in a terminal, one file a command, by its name: a template `NAME.txt`, or code where a template does not
//! do; and what screens share.
//!
//! | file | what |
//! |---|---|
//! | `changed_mission` | how a mission was changed: its text line by line, and what that means for the run |
//! | `command_error` | why a command could not do what it was asked, for people |
//! | `events` | one line per event for people: `quorum events` on a terminal |
//! | `forewarning` | what is known before a run starts and would else be a surprise at its end |
//! | `help` | a page of the documentation as a terminal shows it |
//! | `logs` | `quorum logs`: what stands between the outputs of turns |
//! | `pages` | the pages of documents for people: which template draws which |
//! | `status` | `quorum status` for people: one row per task, then gates, what waits, and the outcome |
//! | `style` | colours, symbols and the screen they go to |
//! | `summary` | the final block of a session: always printed, also on failure and Ctrl-C |
//! | `templates` | screens as templates: what they may print, and the filters for it |
//! | `text` | text on a terminal: what others wrote made harmless, cut to a width; times for people |

pub mod changed_mission;
pub mod command_error;
pub mod events;
pub mod forewarning;
pub mod help;
pub mod logs;
pub mod pages;
pub mod status;
pub mod style;
pub mod summary;
pub mod templates;
#[cfg(test)]
mod tests;
pub mod text;
