//! Who watches a session.

use crate::domain::Timestamp;
use crate::engine::{Event, State};

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
