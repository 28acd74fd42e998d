//! Who watches a session.

use serde_json::Value;

use rules::domain::Timestamp;
use rules::engine::{Event, State};

/// Watches a session: progress bars, plain lines, views. It sees state and events and changes nothing.
pub trait Observer {
    /// The session begins with this state.
    fn on_start(&mut self, state: &State);
    /// Takes in the events of one record; `state` is the state after them.
    fn on_events(&mut self, state: &State, seq: u64, at: Timestamp, events: &[Event]);
    /// A minute has passed.
    fn on_heartbeat(&mut self, state: &State, at: Timestamp);
    /// The session is over.
    fn on_end(&mut self, state: &State);
    /// The page that readers show first of the run as it is now, for the snapshot. `None` for most observers.
    fn page(&self, _state: &State) -> Option<Value> {
        None
    }
}
