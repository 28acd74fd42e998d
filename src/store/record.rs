//! One record: one decision, one line of the journal.
//!
//! `{"crc":"9a0b1c2d","b":1,"seq":7,"at":1795298340123,"input":"ended","events":[…]}` — `crc` is the CRC-32 of
//! everything behind it on the line; `b` marks the first record after a sync; `seq` is the number of the record's
//! first event.

use serde::{Deserialize, Serialize};

use crate::domain::Timestamp;
use crate::engine::Event;

use super::checked_line;

/// A decision as it stands in the journal.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Record {
    /// Number of the first event; the next record starts at `seq + events.len()`.
    pub seq: u64,
    /// When it was decided.
    pub at: Timestamp,
    /// What it was an answer to.
    pub input: String,
    /// What was decided.
    pub events: Vec<Event>,
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
    input: &'a str,
    events: &'a [Event],
}

impl Record {
    /// Whether everything before it was synced when it was written.
    #[must_use]
    pub fn starts_batch(&self) -> bool {
        self.batch == 1
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
        input: &str,
        events: &[Event],
    ) -> serde_json::Result<()> {
        let body = Body {
            batch: starts_batch.then_some(1),
            seq,
            at,
            input,
            events,
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
        serde_json::from_slice(line).map_err(|error| format!("its checksum matches, but {error}"))
    }
}
