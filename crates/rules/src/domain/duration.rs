//! Times: integer milliseconds everywhere, text only at the edges.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use chrono::{DateTime, SecondsFormat, Utc};
use serde::{Deserialize, Serialize};

/// A span of time in milliseconds: `90s`, `30m`, `2h`, `250ms`, `1d`. In files also a bare integer (milliseconds).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Millis(pub u64);

impl Millis {
    /// A duration of `secs` seconds.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(1000))
    }

    /// Reads a duration of a file, where a number without a unit is milliseconds.
    ///
    /// # Errors
    ///
    /// When the text is no duration.
    pub fn in_file(text: &str) -> Result<Self, ParseDurationError> {
        if is_bare(text) { format!("{}ms", text.trim()).parse() } else { text.parse() }
    }

    /// As the standard library's type.
    pub const fn as_duration(self) -> Duration {
        Duration::from_millis(self.0)
    }
}

impl From<Duration> for Millis {
    /// Saturates at `u64::MAX` milliseconds.
    fn from(duration: Duration) -> Self {
        Self(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
    }
}

/// Whether a text is a number without a unit.
fn is_bare(text: &str) -> bool {
    let text = text.trim();
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A text that is not a duration.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ParseDurationError {
    /// A number without a unit.
    #[error("{0} what? {0}s, {0}m or {0}ms")]
    NoUnit(String),
    /// The text is no duration at all.
    #[error("'{0}' is not a duration: write 90s, 30m, 2h, 1d or 250ms")]
    Other(String),
}

impl FromStr for Millis {
    type Err = ParseDurationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let trimmed = text.trim();
        if is_bare(text) {
            return Err(ParseDurationError::NoUnit(trimmed.to_owned()));
        }
        let fail = || ParseDurationError::Other(text.to_owned());
        let split = trimmed.find(|c: char| !c.is_ascii_digit()).unwrap_or(trimmed.len());
        let (number, unit) = trimmed.split_at(split);
        let number: u64 = number.parse().map_err(|_| fail())?;
        let factor = match unit {
            "ms" => 1,
            "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => return Err(fail()),
        };
        number.checked_mul(factor).map(Self).ok_or_else(fail)
    }
}

impl fmt::Display for Millis {
    /// The largest unit that divides it: `30m`, `90s`, `250ms`; from a minute on in whole seconds.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = match self.0 {
            long @ 60_000.. => long.saturating_add(500) / 1000 * 1000,
            short => short,
        };
        match ms {
            0 => write!(f, "0s"),
            _ if ms.is_multiple_of(3_600_000) => write!(f, "{}h", ms / 3_600_000),
            _ if ms.is_multiple_of(60_000) => write!(f, "{}m", ms / 60_000),
            _ if ms.is_multiple_of(1_000) => write!(f, "{}s", ms / 1_000),
            _ => write!(f, "{ms}ms"),
        }
    }
}

/// A text that is no moment.
#[derive(Debug, thiserror::Error)]
#[error("this is no moment as in RFC 3339")]
pub struct ParseMomentError;

/// A moment: milliseconds since the Unix epoch, UTC. RFC 3339 in JSON output, an integer in the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// The present moment by the system clock. Only the edges of the program may ask.
    pub fn now() -> Self {
        Self(u64::try_from(Utc::now().timestamp_millis()).unwrap_or(0))
    }

    /// The moment by RFC 3339: `2026-11-21T21:59:00.123Z`.
    pub fn to_rfc3339(self) -> String {
        i64::try_from(self.0)
            .ok()
            .and_then(DateTime::<Utc>::from_timestamp_millis)
            .map_or_else(|| self.0.to_string(), |at| at.to_rfc3339_opts(SecondsFormat::Millis, true))
    }

    /// Time from `earlier` until this moment; zero if the clock went back.
    pub fn since(self, earlier: Self) -> Millis {
        Millis(self.0.saturating_sub(earlier.0))
    }

    /// The moment that is `span` later.
    #[must_use]
    pub fn plus(self, span: Millis) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_rfc3339())
    }
}

impl FromStr for Timestamp {
    type Err = ParseMomentError;

    fn from_str(text: &str) -> Result<Self, ParseMomentError> {
        let at = DateTime::parse_from_rfc3339(text).map_err(|_| ParseMomentError)?;
        let millis = at.timestamp_millis().try_into();
        millis.map(Self).map_err(|_| ParseMomentError)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_parse_and_print() {
        for (text, ms, printed) in [
            ("90s", 90_000, "90s"),
            ("30m", 1_800_000, "30m"),
            ("2h", 7_200_000, "2h"),
            ("1500ms", 1_500, "1500ms"),
            ("120s", 120_000, "2m"),
            ("1d", 86_400_000, "24h"),
            ("3600997ms", 3_600_997, "3601s"),
            ("60499ms", 60_499, "1m"),
        ] {
            let parsed: Millis = text.parse().unwrap();
            assert_eq!((parsed.0, parsed.to_string()), (ms, printed.to_owned()), "{text}");
        }
        for bad in ["", "s", "-1", "1.5h", "10 parsecs", "99999999999999999999", "18446744073709551615h"] {
            assert!(bad.parse::<Millis>().is_err(), "{bad}");
            assert!(Millis::in_file(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_number_without_a_unit_is_milliseconds_in_files_and_a_question_elsewhere() {
        for text in ["10", " 1500 ", "0"] {
            let number = text.trim();
            let refused = text.parse::<Millis>().unwrap_err().to_string();
            assert_eq!(refused, format!("{number} what? {number}s, {number}m or {number}ms"));
            assert_eq!(Millis::in_file(text).unwrap().0.to_string(), number);
        }
        assert_eq!(Millis::in_file("90s"), "90s".parse());
    }

    #[test]
    fn timestamps_print_as_utc() {
        assert_eq!(Timestamp(0).to_rfc3339(), "1970-01-01T00:00:00.000Z");
    }
}
