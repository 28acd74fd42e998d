//! One record: one decision, one line of the journal.
//!
//! `{"crc":"9a0b1c2d","b":1,"seq":7,"at":1795298340123,"input":"ended","events":[…]}` — `crc` is the CRC-32 of
//! everything behind it on the line; `b` marks the first record after a sync; `seq` is the number of the record's
//! first event.

use serde::{Deserialize, Serialize};

use crate::domain::Timestamp;
use crate::engine::Event;

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

const PREFIX: &[u8] = b"{\"crc\":\"";
/// `{"crc":"` + 8 digits + `",`
const BODY_AT: usize = PREFIX.len() + 10;

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
        write_checked(out, &body)?;
        out.push(b'\n');
        Ok(())
    }

    /// Reads a line without its line feed; the error says what is wrong with it.
    pub(super) fn decode(line: &[u8]) -> Result<Self, String> {
        match is_intact(line) {
            None => return Err("not a record".to_owned()),
            Some(false) => return Err("its checksum does not match".to_owned()),
            Some(true) => {}
        }
        serde_json::from_slice(line).map_err(|error| format!("its checksum matches, but {error}"))
    }
}
/// Appends an object whose first member is the checksum of all the others.
pub(super) fn write_checked(out: &mut Vec<u8>, object: &impl Serialize) -> serde_json::Result<()> {
    let start = out.len();
    out.extend_from_slice(PREFIX);
    out.extend_from_slice(b"00000000\",");
    let body_at = out.len();
    serde_json::to_writer(&mut *out, object)?;
    // The object's own opening brace goes: its first member is the checksum.
    out.remove(body_at);
    let crc = crc32fast::hash(&out[body_at..]);
    out[start + PREFIX.len()..start + PREFIX.len() + 8].copy_from_slice(format!("{crc:08x}").as_bytes());
    Ok(())
}

/// Whether an object has the checksum that it begins with; `None` if it begins with none.
pub(super) fn is_intact(object: &[u8]) -> Option<bool> {
    if object.len() < BODY_AT || !object.starts_with(PREFIX) || &object[BODY_AT - 2..BODY_AT] != b"\"," {
        return None;
    }
    let stated = std::str::from_utf8(&object[PREFIX.len()..PREFIX.len() + 8])
        .ok()
        .and_then(|digits| u32::from_str_radix(digits, 16).ok());
    Some(stated == Some(crc32fast::hash(&object[BODY_AT..])))
}
