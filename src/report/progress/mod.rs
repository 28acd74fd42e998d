//! A session while it runs.
//!
//! Every kind of progress shows the same lines, made in `line` from the events of one record; they differ in where
//! lines go and in what else is on the screen. No event costs work that grows with the number of tasks.
//!
//! | kind | shows |
//! |---|---|
//! | [`Plain`] | one line per change, appended; a heartbeat that names what still runs |
//! | [`Bar`] | the same lines scrolling up, what runs and a footer at the bottom |
//! | [`Quiet`] | failures only |
//! | [`Silent`] | nothing |

mod bar;
mod line;
mod live;
mod plain;

use crate::domain::Timestamp;
use crate::engine::{Event, State};

pub use bar::Bar;
pub use plain::{Plain, Quiet};

/// Watches a session: progress bars, plain lines, views. It sees state and events and changes nothing.
pub trait Observer {
    /// The session begins with this state.
    fn on_start(&mut self, state: &State);
    /// These events were decided, in one record; `state` is the state after them.
    fn on_events(&mut self, state: &State, seq: u64, at: Timestamp, events: &[Event]);
    /// A minute has passed.
    fn on_heartbeat(&mut self, state: &State, at: Timestamp);
    /// The session is over.
    fn on_end(&mut self, state: &State);
}

/// `--progress none`: shows nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Observer for Silent {
    fn on_start(&mut self, _: &State) {}
    fn on_events(&mut self, _: &State, _: u64, _: Timestamp, _: &[Event]) {}
    fn on_heartbeat(&mut self, _: &State, _: Timestamp) {}
    fn on_end(&mut self, _: &State) {}
}

#[cfg(test)]
mod tests;
