//! A session while it runs.
//!
//! Every kind of progress shows the same lines, made in `line` from the events of one record; they differ in where
//! lines go and in what else is on the screen. No event costs work that grows with the number of tasks.
//!
//! | kind | shows |
//! |---|---|
//! | [`Plain`] | one line per change, appended; a heartbeat that names what still runs; or failures only |
//! | [`BarView`] | the same lines scrolling up, but for what its live rows say; what runs and a footer at the bottom |
//!
//! [`Details`] are what `-v` adds to either of them.
//!
//! | file | what |
//! |---|---|
//! | `bar` | on a terminal: lines scroll up, what runs and a footer stay at the bottom |
//! | `line` | the line that an event is worth, if any |
//! | `live` | what runs at the moment: a few words for each task that holds a slot |
//! | `plain` | lines appended to an output that is no terminal |
//! | `terminal` | the terminal that the live area is drawn on: one that never fails |
//! | `verb` | the first word of a line of progress |
//! | `verbose` | what `-v` adds: turns, checks, what every reviewer answered |

mod bar;
mod line;
mod live;
mod plain;
mod terminal;
mod verb;
mod verbose;

pub use crate::runtime::Observer;
pub use bar::BarView;
pub use plain::Plain;
pub(crate) use verb::Verb;
pub use verbose::Details;

#[cfg(test)]
mod tests;
