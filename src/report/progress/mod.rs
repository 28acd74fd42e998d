//! A session while it runs.
pub trait Observer {
    fn on_start(&mut self, state: &State);
    fn on_events(&mut self, state: &State, seq: u64, at: Timestamp, events: &[Event]);
    fn on_heartbeat(&mut self, state: &State, at: Timestamp);
    fn on_end(&mut self, state: &State);
}
use crate::{
    domain::Timestamp,
    engine::{Event, State},
};
