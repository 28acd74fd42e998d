//! One record: one decision, one line of the journal.
//!
//! `{"crc":"9a0b1c2d","b":1,"seq":7,"at":1795298340123,"fact":{…},"events":[…],"due":1}` — `crc` is the CRC-32 of
//! everything behind it on the line; `b` marks the first record after a sync; `seq` is the number of the record's
//! first event. The fact is what came from outside, whole; the events are what was decided about it, and from number
//! `due` on what became due by that. An event that says nothing but the fact is not written (`told`).

use serde::{Deserialize, Serialize};

use crate::domain::Timestamp;
use crate::engine::{Event, Fact};

use super::checked_line;

/// A decision as it stands in the journal.
#[derive(Debug, Clone, Deserialize)]
pub struct Record {
    /// Number of the first event; the next record starts at `seq + events.len()`.
    pub seq: u64,
    /// When it was decided.
    pub at: Timestamp,
    /// What it was decided about.
    pub fact: Fact,
    /// What was decided.
    pub events: Vec<Event>,
    /// The first of the events that were not decided about the fact itself, but became due by it.
    #[serde(default)]
    due: Option<u32>,
    /// Whether the first event is the fact itself, and so is not written once more.
    #[serde(default)]
    told: u8,
    /// Whether everything before it was synced when it was written.
    #[serde(rename = "b", default)]
    batch: u8,
}

#[derive(Serialize)]
struct Body<'a> {
    #[serde(rename = "b", skip_serializing_if = "Option::is_none")]
    batch: Option<u8>,
    seq: u64,
    at: Timestamp,
    fact: &'a Fact,
    events: &'a [Event],
    #[serde(skip_serializing_if = "Option::is_none")]
    due: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    told: Option<u8>,
}

/// What was decided about a fact.
#[derive(Debug, Clone)]
pub struct Decision {
    /// The fact.
    pub fact: Fact,
    /// What was decided about it, and what became due by that.
    pub events: Vec<Event>,
    /// How many of the events were decided about the fact itself.
    pub direct: usize,
}

impl Decision {
    /// A decision by which nothing became due.
    #[must_use]
    pub fn of(fact: Fact, events: Vec<Event>) -> Self {
        let direct = events.len();
        Self { fact, events, direct }
    }

    /// Adds what became due by it.
    pub fn and_due(&mut self, events: Vec<Event>) {
        self.events.extend(events);
    }

    fn due(&self) -> Option<u32> {
        let is_all = self.direct == self.events.len();
        (!is_all).then(|| u32::try_from(self.direct).unwrap_or(u32::MAX))
    }
}

impl Record {
    /// Whether everything before it was synced when it was written.
    #[must_use]
    pub fn starts_batch(&self) -> bool {
        self.batch == 1
    }

    /// What was decided about the fact itself, and what became due by that.
    #[must_use]
    pub fn parts(&self) -> (&[Event], &[Event]) {
        let direct = self.due.map_or(self.events.len(), |due| due as usize);
        self.events.split_at(direct.min(self.events.len()))
    }

    /// Appends the line of a record to `out`.
    ///
    /// # Errors
    /// When an event cannot be written as JSON, which would be a bug.
    pub(super) fn encode(
        out: &mut Vec<u8>,
        starts_batch: bool,
        seq: u64,
        at: Timestamp,
        decision: &Decision,
    ) -> serde_json::Result<()> {
        let told = decision.fact.as_event();
        let is_told = told.is_some() && decision.events.first() == told.as_ref();
        let body = Body {
            batch: starts_batch.then_some(1),
            seq,
            at,
            fact: &decision.fact,
            events: &decision.events[usize::from(is_told)..],
            due: decision.due(),
            told: is_told.then_some(1),
        };
        checked_line::encode(out, &body)?;
        out.push(b'\n');
        Ok(())
    }

    /// Reads a line without its line feed.
    ///
    /// # Errors
    /// In words, what is wrong with it.
    pub fn of_line(line: &[u8]) -> Result<Self, String> {
        Self::decode(line)
    }

    /// Reads a line without its line feed; the error says what is wrong with it.
    pub(super) fn decode(line: &[u8]) -> Result<Self, String> {
        checked_line::verify(line)?;
        let record: Self =
            serde_json::from_slice(line).map_err(|error| format!("its checksum matches, but {error}"))?;
        let told = record.fact.as_event().filter(|_| record.told == 1);
        let events = told.into_iter().chain(record.events).collect();
        Ok(Self { events, ..record })
    }
}
