//! Who watches a session.

use serde_json::Value;

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
    /// What readers show first of the run as it is now, for the snapshot. Most who watch have nothing to say.
    fn page(&self, _state: &State) -> Option<Value> {
        None
    }
}
