//! A decision goes on record: the one way in which what was decided about a fact reaches the journal and the state.

use std::collections::VecDeque;

use crate::store::{FsLog, Journal, JournalDecision, JournalError, OperatorKey};
use rules::domain::{RunId, Timestamp};
use rules::engine::{self, Effect, Event, Fact, Prompt, RunEvent, State, TurnEvent, effects};

use crate::runtime::recovery::origin;

/// Where decisions of a run go.
pub struct Entry<'a> {
    pub run: &'a RunId,
    pub state: &'a mut State,
    /// The journal of the run, at its end.
    pub journal: &'a mut Journal<FsLog>,
    /// The key that vouches for the end of a session; `None` where there is none.
    pub key: Option<&'a OperatorKey>,
}

/// Writes the prompts that are due, and takes them out of what is due.
type WritePrompts<'a, E> = &'a mut dyn FnMut(&State, &mut Vec<Effect>) -> Result<Vec<Prompt>, E>;

/// Whether what has become due by a decision is decided with it.
pub enum Due<'a, E> {
    /// In the same record, with the prompts for it.
    Now(WritePrompts<'a, E>),
    /// Other facts wait, or the run has no session: it is looked at later.
    Later,
}

/// Events that went on record and are not durable yet.
pub struct Written {
    /// The number of the first event.
    pub seq: u64,
    /// The events in order.
    pub events: Vec<Event>,
    /// The effects to perform once the events are durable.
    pub due: Vec<Effect>,
    /// Prompts that were written for it, and do not start their turns with it.
    pub prompts: Vec<Prompt>,
}

impl Entry<'_> {
    /// Applies what was decided about a fact, and adds one record to the batch. Nothing is durable before the journal's commit.
    ///
    /// # Errors
    /// [`JournalError`], also where a step is none of the life cycle; the state is then ahead of the journal, and nothing may
    /// follow from it. Where prompts are written, what their writer says.
    pub fn write<E: From<JournalError>>(
        self,
        (fact, mut events): (Fact, Vec<Event>),
        now: Timestamp,
        with: Due<'_, E>,
    ) -> Result<Written, E> {
        origin::vouch(self.key, self.run, self.journal, now, &mut events)?;
        let (state, journal) = (self.state, self.journal);
        let mut due = Vec::new();
        apply(state, journal, &events, &mut due)?;
        let mut decision = JournalDecision::of(fact, events);
        let mut prompts = VecDeque::new();
        if let Due::Now(write_prompts) = with {
            while decision.events.len() < engine::MOST_AT_ONCE
                && let Some(events) = next(state, now, || write_prompts(state, &mut due), &mut prompts)?
            {
                apply(state, journal, &events, &mut due)?;
                decision.events.extend(events);
            }
        }
        let seq = journal.next_seq();
        origin::push(self.key, self.run, journal, (now, &decision))?;
        Ok(Written { seq, events: decision.events, due, prompts: prompts.into() })
    }
}

/// The next events that can stand in the same record: those that are due by the state, else those of the next
/// prompt.
fn next<E>(
    state: &State,
    now: Timestamp,
    write_prompts: impl FnOnce() -> Result<Vec<Prompt>, E>,
    prompts: &mut VecDeque<Prompt>,
) -> Result<Option<Vec<Event>>, E> {
    let events = engine::decide(state, &Fact::Advance, now);
    if !events.is_empty() {
        // The end of the session has a record of its own: what vouches for it vouches for all that stands before.
        return Ok((!ends(&events)).then_some(events));
    }
    prompts.extend(write_prompts()?);
    let Some(prompt) = prompts.front() else {
        return Ok(None);
    };
    let events = engine::decide(state, &Fact::PromptReady(*prompt), now);
    // What does not tell of its prompt by itself has a record with it as the fact.
    let is_told = matches!(&events[..], [Event::Turn(_, TurnEvent::Started(told)), ..] if told == prompt);
    Ok(is_told.then(|| {
        prompts.pop_front();
        events
    }))
}

fn apply(
    state: &mut State,
    journal: &mut Journal<FsLog>,
    events: &[Event],
    due: &mut Vec<Effect>,
) -> Result<(), JournalError> {
    engine::legal_only(state, events).map_err(|illegal| journal.refuse(illegal))?;
    for event in events {
        engine::apply(state, event);
        due.extend(effects(state, event));
    }
    Ok(())
}

/// Whether a decision is the end of a session.
pub fn ends(events: &[Event]) -> bool {
    matches!(events.last(), Some(Event::Run(RunEvent::Finished { .. })))
}
