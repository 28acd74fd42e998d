//! A decision goes on record: the one way in which what was decided about a fact reaches the journal and the state.

use crate::domain::{RunId, Timestamp};
use crate::engine::{self, Event, Fact, RunEvent, State};
use crate::store::{Decision, FsLog, Journal, JournalError, OperatorKey};

use super::origin;

/// Where decisions of a run go.
pub(super) struct Entry<'a> {
    /// The run.
    pub run: &'a RunId,
    /// Its state.
    pub state: &'a mut State,
    /// Its journal, at its end.
    pub journal: &'a mut Journal<FsLog>,
    /// What vouches for the end of a session.
    pub key: Option<&'a OperatorKey>,
}

/// Whether what has become due by a decision is decided with it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    /// In the same record.
    Now,
    /// Other facts wait, or nobody works on the run: it is looked at later.
    Later,
}

impl Entry<'_> {
    /// Applies what was decided about a fact, shows each event with the state that it leads to, and adds one record to the
    /// batch. Nothing is durable before the journal's commit. Returns the number of the first event, and all events.
    ///
    /// # Errors
    /// [`JournalError`]; the state is then ahead of the journal, and nothing may follow from it.
    pub fn write(
        self,
        (fact, mut events): (Fact, Vec<Event>),
        now: Timestamp,
        due: Due,
        mut see: impl FnMut(&State, &Event),
    ) -> Result<(u64, Vec<Event>), JournalError> {
        origin::vouch(self.key, self.run, self.journal, now, &mut events)?;
        let mut apply = |state: &mut State, events: &[Event]| {
            for event in events {
                engine::apply(state, event);
                see(state, event);
            }
        };
        apply(self.state, &events);
        let mut decision = Decision::of(fact, events);
        loop {
            let events = match due {
                Due::Now => engine::decide(self.state, &Fact::Advance, now),
                Due::Later => Vec::new(),
            };
            // The end of the session has a record of its own: what vouches for it vouches for all that stands before.
            if events.is_empty() || ends(&events) {
                break;
            }
            apply(self.state, &events);
            decision.and_due(events);
        }
        let seq = self.journal.next_seq();
        self.journal.push(now, &decision)?;
        Ok((seq, decision.events))
    }
}

/// Whether a decision is the end of a session.
pub(super) fn ends(events: &[Event]) -> bool {
    matches!(events.last(), Some(Event::Run(RunEvent::Finished { .. })))
}
