//! One record: one decision, one line of the journal.
//!
//! `{"crc":"9a0b1c2d","b":1,"seq":7,"at":1795298340123,"fact":{…},"events":[…],"due":1,"told":1}` — `crc` is the CRC-32 of
//! everything behind it on the line; `b` marks the first record after a sync; `seq` is the number of the record's
//! first event. The fact is what came from outside, whole; the events are what was decided about it, and from number
//! `due` on what became due by that. An event that says nothing but the fact is not written (`told`), nor are events of which none is left. What a person said carries
//! the code of the operator's key as its last member (`origin`): over the place of the line and all that stands before the code.

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use rules::domain::Timestamp;
use rules::engine::{Event, Fact, OriginCode};

use supervisor::files::checked_line;

/// No record is longer, in bytes: so a reader needs no more memory than this, whatever is in the place of a journal.
pub const LONGEST_RECORD: u64 = 16 << 20;
/// The text between a record and its code.
const ORIGIN: &str = ",\"origin\":";

/// A decision as it stands in the journal.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "RecordLine")]
pub struct Record {
    /// Number of the first event; the next record starts at `seq + events.len()`.
    pub seq: u64,
    /// The moment of the decision.
    pub at: Timestamp,
    /// The fact that the decision is about.
    pub fact: Fact,
    /// The events that were decided.
    pub events: Vec<Event>,
    /// How many of the events were decided about the fact itself; the others became due by it.
    direct: usize,
    /// Whether all records before this one were synced when it was written.
    pub starts_batch: bool,
    /// The code of the key that vouches for the record; `None` where none does.
    pub origin: Option<OriginCode>,
}

/// A line as it is read. What no version writes is refused, so that nothing in a journal goes unread.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordLine {
    #[serde(rename = "crc")]
    _checksum: IgnoredAny,
    #[serde(rename = "b")]
    batch: Option<u8>,
    seq: u64,
    at: Timestamp,
    fact: Fact,
    #[serde(default)]
    events: Vec<Event>,
    due: Option<u32>,
    /// Whether the first event is the fact itself, and so is not written once more.
    told: Option<u8>,
    origin: Option<OriginCode>,
}

#[skip_serializing_none]
#[derive(Serialize)]
struct Body<'a> {
    #[serde(rename = "b")]
    batch: Option<u8>,
    seq: u64,
    at: Timestamp,
    fact: &'a Fact,
    #[serde(skip_serializing_if = "<[Event]>::is_empty")]
    events: &'a [Event],
    due: Option<u32>,
    told: Option<u8>,
}

/// The decision about a fact.
#[derive(Debug, Clone)]
pub struct JournalDecision {
    pub fact: Fact,
    /// The events that were decided about the fact, and those that became due by that.
    pub events: Vec<Event>,
    /// How many of the events were decided about the fact itself.
    pub direct: usize,
}

impl JournalDecision {
    /// A decision by which nothing became due.
    pub fn of(fact: Fact, events: Vec<Event>) -> Self {
        let direct = events.len();
        Self { fact, events, direct }
    }

    fn due(&self) -> Option<u32> {
        let is_all = self.direct == self.events.len();
        (!is_all).then(|| u32::try_from(self.direct).unwrap_or(u32::MAX))
    }
}

impl Record {
    /// The events that were decided about the fact itself, and those that became due by that.
    pub fn parts(&self) -> (&[Event], &[Event]) {
        self.events.split_at(self.direct.min(self.events.len()))
    }

    /// Appends the line of a record to `out`.
    ///
    /// # Errors
    /// When an event cannot be written as JSON, which would be a bug.
    pub fn encode(
        out: &mut Vec<u8>,
        starts_batch: bool,
        seq: u64,
        at: Timestamp,
        decision: &JournalDecision,
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

    /// Puts the code that `vouch` makes of what a line holds behind it.
    ///
    /// # Errors
    /// When `line` is no whole line, or the code cannot be written as JSON, which would be a bug.
    pub fn vouched(
        line: &[u8],
        vouch: impl FnOnce(&str) -> OriginCode,
    ) -> Result<Vec<u8>, Box<dyn std::error::Error + Send + Sync>> {
        let members = std::str::from_utf8(checked_line::members(line.trim_ascii_end())?)?;
        let members = members.strip_suffix('}').ok_or("it is no object")?;
        let origin = serde_json::to_string(&vouch(members))?;
        let mut out = Vec::new();
        checked_line::encode_members(&mut out, &[members, ORIGIN, &origin, "}"]);
        out.push(b'\n');
        Ok(out)
    }

    /// The text that the code of a line covers; `None` for a line without a code.
    pub fn covered(line: &[u8]) -> Option<&str> {
        let members = std::str::from_utf8(checked_line::members(line.trim_ascii_end()).ok()?).ok()?;
        Some(members.rsplit_once(ORIGIN)?.0)
    }

    /// Reads a line without its line feed.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn of_line(line: &[u8]) -> Result<Self, BadRecord> {
        checked_line::verify(line).map_err(BadRecord::Line)?;
        Ok(serde_json::from_slice(line)?)
    }
}

/// The mistake in a line of a journal.
#[derive(Debug, thiserror::Error)]
pub enum BadRecord {
    /// The line is cut short, or its checksum is not that of its content.
    #[error("{0}")]
    Line(&'static str),
    /// The line holds no record.
    #[error("its checksum matches, but {0}")]
    Json(#[from] serde_json::Error),
    /// Another record belongs there: the number that the record has, and that it should have.
    #[error("it holds event {0} where {1} should follow")]
    Order(u64, u64),
}

impl TryFrom<RecordLine> for Record {
    type Error = &'static str;

    fn try_from(line: RecordLine) -> Result<Self, Self::Error> {
        let mut events = line.events;
        if is_marked(line.told)? {
            let told = line.fact.as_event();
            events.insert(0, told.ok_or("its fact is no event, though it says so")?);
        }
        let direct = line.due.map_or(events.len(), |due| due as usize);
        let is_first_due = (1..events.len()).contains(&direct);
        if events.is_empty() || (line.due.is_some() && !is_first_due) {
            return Err("it has too few events");
        }
        Ok(Self {
            seq: line.seq,
            at: line.at,
            fact: line.fact,
            events,
            direct,
            starts_batch: is_marked(line.batch)?,
            origin: line.origin,
        })
    }
}

fn is_marked(mark: Option<u8>) -> Result<bool, &'static str> {
    match mark {
        None => Ok(false),
        Some(1) => Ok(true),
        Some(_) => Err("a mark of it is not 1"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rules::engine::{Concern, RunEvent};
    use supervisor::files::checked_line;

    fn of(body: &str) -> Result<Record, BadRecord> {
        let value: serde_json::Value = serde_json::from_str(body).unwrap();
        let mut line = Vec::new();
        checked_line::encode(&mut line, &value).unwrap();
        Record::of_line(&line)
    }

    const EVENT: &str = r#"{"run":{"warning":["notice","x"]}}"#;

    #[test]
    fn what_is_written_is_read() {
        let decision = JournalDecision {
            fact: Fact::Warn("x".to_owned()),
            events: vec![
                Event::Run(RunEvent::Warning(Concern::Notice, "x".to_owned())),
                Event::Run(RunEvent::Paused { by: "me".to_owned(), for_good: false }),
            ],
            direct: 1,
        };
        let mut line = Vec::new();
        Record::encode(&mut line, true, 7, Timestamp(5), &decision).unwrap();
        let read = Record::of_line(line.strip_suffix(b"\n").unwrap()).unwrap();
        assert_eq!((read.seq, read.at, read.starts_batch), (7, Timestamp(5), true));
        assert_eq!(read.parts(), decision.events.split_at(1));
    }

    #[test]
    fn what_no_version_writes_is_refused() {
        for (rest, why) in [
            (format!(r#""events":[{EVENT}],"due":0"#), "too few events"),
            (format!(r#""events":[{EVENT}],"due":1"#), "too few events"),
            (format!(r#""events":[{EVENT},{EVENT}],"due":3"#), "too few events"),
            (r#""events":[],"due":1,"told":1"#.to_owned(), "too few events"),
            (format!(r#""events":[{EVENT}],"told":0"#), "a mark of it"),
            (format!(r#""events":[{EVENT}],"told":2"#), "a mark of it"),
            (format!(r#""events":[{EVENT}],"b":0"#), "a mark of it"),
            (format!(r#""events":[{EVENT}],"more":1"#), "unknown field `more`"),
            (r#""events":[]"#.to_owned(), "too few events"),
        ] {
            let error =
                of(&format!(r#"{{"seq":1,"at":1,"fact":{{"warn":"x"}},{rest}}}"#)).unwrap_err().to_string();
            assert!(error.contains(why), "{rest}: {error}");
        }
        let error = of(&format!(r#"{{"seq":1,"at":1,"fact":"advance","events":[{EVENT}],"told":1}}"#));
        assert!(error.unwrap_err().to_string().contains("its fact is no event"));
        let whole =
            format!(r#"{{"seq":1,"at":1,"fact":"advance","events":[{EVENT},{EVENT}],"due":1,"b":1}}"#);
        assert_eq!(of(&whole).unwrap().parts().1.len(), 1);
    }
}
