//! Dead letters: operations that failed for good, and what may still become of them (semantics, section 13).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with::{As, DisplayFromStr};

use super::{FailureClass, Millis, RunId, Timestamp};

/// Tries after which a dead letter is abandoned.
pub const MAX_RETRIES: u32 = 3;
/// The time after its failure at which an operation may be tried again: the first time, the second, the third.
const BACK_OFF: [Millis; MAX_RETRIES as usize] =
    [Millis::from_secs(60), Millis::from_secs(300), Millis::from_secs(900)];

/// An operation that failed for good. No secret is ever part of one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeadLetter {
    /// The id: that of the run, and the name of the operation within it.
    pub id: String,
    /// The run that failed to do it.
    pub run: RunId,
    /// `notify:CHANNEL`, `judge:AGENT`, `tool:NAME`, `mcp:SERVER:TOOL`.
    pub operation: String,
    /// The arguments of the operation.
    pub args: Value,
    /// The failure in words.
    pub error: String,
    /// The class of the failure.
    pub category: FailureClass,
    /// The status of the letter.
    pub status: LetterStatus,
    /// How often the operation was tried again.
    pub retry_count: u32,
    /// The moment of the failure.
    #[serde(with = "As::<DisplayFromStr>")]
    #[schemars(with = "String")]
    pub created_at: Timestamp,
    /// The moment of the last change.
    #[serde(with = "As::<DisplayFromStr>")]
    #[schemars(with = "String")]
    pub updated_at: Timestamp,
    /// The moment from which the operation may be tried again by itself; left out for never.
    #[serde(with = "As::<Option<DisplayFromStr>>", default)]
    #[schemars(with = "Option<String>")]
    pub next_retry: Option<Timestamp>,
    /// The words of the person who closed the letter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

worded! {
    /// Where a dead letter stands.
    pub enum LetterStatus {
        /// Nobody has looked at the operation.
        Pending = "pending",
        /// The operation is tried again (`quorum dlq`).
        Retrying = "retrying",
        /// The operation was done after all, or a person closed the letter.
        Resolved = "resolved",
        /// The operation was given up after its last retry.
        Abandoned = "abandoned",
    }
}

impl LetterStatus {
    /// Whether the letter is final: resolved or abandoned.
    pub fn is_closed(self) -> bool {
        matches!(self, Self::Resolved | Self::Abandoned)
    }
}

impl DeadLetter {
    /// A letter that was just written.
    pub fn new(
        id: String,
        run: RunId,
        operation: String,
        category: FailureClass,
        error: String,
        now: Timestamp,
    ) -> Self {
        let mut letter = Self {
            id,
            run,
            operation,
            args: Value::Null,
            error,
            category,
            status: LetterStatus::Pending,
            retry_count: 0,
            created_at: now,
            updated_at: now,
            next_retry: None,
            note: None,
        };
        letter.next_retry = letter.next_by_itself(now);
        letter
    }

    /// The channel that was to be told something, if it was that.
    pub fn channel(&self) -> Option<&str> {
        self.operation.strip_prefix("notify:")
    }

    /// Whether the operation is due to be tried again by itself: notifications of a class that may pass, in
    /// their time.
    pub fn is_due(&self, now: Timestamp) -> bool {
        self.status == LetterStatus::Pending && self.next_retry.is_some_and(|due| due <= now)
    }

    fn next_by_itself(&self, now: Timestamp) -> Option<Timestamp> {
        let back_off = BACK_OFF.get(self.retry_count as usize)?;
        let by_itself = self.channel().is_some() && self.category.request_retried();
        by_itself.then(|| now.plus(*back_off))
    }

    /// Begins to try the operation again.
    pub fn begin_retry(&mut self, now: Timestamp) {
        (self.status, self.updated_at) = (LetterStatus::Retrying, now);
    }

    /// Lets the letter wait again because whoever tried the operation died over it, which says nothing about
    /// it.
    pub fn return_to_pending(&mut self) {
        if self.status == LetterStatus::Retrying {
            self.status = LetterStatus::Pending;
        }
    }

    /// Notes that the operation was tried again and failed again.
    pub fn retry_failed(&mut self, category: FailureClass, error: String, now: Timestamp) {
        self.retry_count += 1;
        (self.category, self.error, self.updated_at) = (category, error, now);
        let is_over = self.retry_count >= MAX_RETRIES;
        self.status = if is_over { LetterStatus::Abandoned } else { LetterStatus::Pending };
        self.next_retry = self.next_by_itself(now).filter(|_| !is_over);
    }

    /// Closes the letter: the operation was done after all, or a person says what becomes of it.
    pub fn close(&mut self, status: LetterStatus, note: Option<String>, now: Timestamp) {
        (self.status, self.updated_at, self.next_retry) = (status, now, None);
        self.note = note.or(self.note.take());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Timestamp = Timestamp(1_800_000_000_000);

    fn letter(operation: &str, category: FailureClass) -> DeadLetter {
        let run = RunId::new("r1").unwrap();
        DeadLetter::new("r1.n1".to_owned(), run, operation.to_owned(), category, "down".to_owned(), START)
    }

    fn after(seconds: u64) -> Timestamp {
        START.plus(Millis::from_secs(seconds))
    }

    #[test]
    fn a_notification_is_tried_again_after_60_300_and_900_seconds_and_then_abandoned() {
        let mut letter = letter("notify:ops", FailureClass::ProviderTransient);
        assert_eq!((letter.status, letter.retry_count), (LetterStatus::Pending, 0));
        let mut failed_at = START;
        for (count, back_off) in [(1, 60), (2, 300), (3, 900)] {
            let due = failed_at.plus(Millis::from_secs(back_off));
            assert!(!letter.is_due(Timestamp(due.0 - 1)) && letter.is_due(due));
            letter.begin_retry(due);
            assert!(!letter.is_due(due), "it is being tried already");
            letter.retry_failed(FailureClass::Timeout, "still down".to_owned(), due);
            assert_eq!(letter.retry_count, count);
            failed_at = due;
        }
        assert_eq!((letter.status, letter.next_retry), (LetterStatus::Abandoned, None));
        assert_eq!((letter.category, &*letter.error), (FailureClass::Timeout, "still down"));
    }

    #[test]
    fn what_cannot_pass_by_itself_is_never_due() {
        for (operation, category) in [
            ("notify:ops", FailureClass::ProviderAuth),
            ("notify:ops", FailureClass::Unknown),
            ("judge:critic", FailureClass::ProviderTransient),
            ("tool:search", FailureClass::Timeout),
            ("mcp:files:read", FailureClass::RateLimited),
        ] {
            let letter = letter(operation, category);
            assert!(!letter.is_due(after(1_000_000)), "{operation} {category:?}");
        }
        let mut turned = letter("notify:ops", FailureClass::Timeout);
        turned.retry_failed(FailureClass::ProviderAuth, "401".to_owned(), START);
        assert!(!turned.is_due(after(1_000_000)), "what it failed of last decides");
    }

    #[test]
    fn a_retry_that_nobody_finished_is_pending_again_with_its_count() {
        let mut letter = letter("notify:ops", FailureClass::Timeout);
        letter.begin_retry(after(60));
        letter.return_to_pending();
        assert_eq!((letter.status, letter.retry_count), (LetterStatus::Pending, 0));
        letter.close(LetterStatus::Resolved, None, after(61));
        letter.return_to_pending();
        assert_eq!(letter.status, LetterStatus::Resolved);
    }

    #[test]
    fn it_is_written_as_people_read_it() {
        let mut letter = letter("notify:ops", FailureClass::RateLimited);
        letter.args = serde_json::json!({"channel": "ops"});
        let text = serde_json::to_string(&letter).unwrap();
        assert!(
            text.contains("\"category\":\"rate_limited\",\"status\":\"pending\",\"retryCount\":0"),
            "{text}"
        );
        assert!(text.contains("\"createdAt\":\"2027-01-15T08:00:00"), "{text}");
        assert_eq!(serde_json::from_str::<DeadLetter>(&text).unwrap(), letter);
    }
}
