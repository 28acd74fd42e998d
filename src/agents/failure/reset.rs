//! When a provider or an agent's adapter says that it can be asked again (semantics, section 13).
//!
//! Pure functions of the text and the moment in which it was said: a duration (`try again in 3 days 4 hours`), a time of
//! day (`resets 1:57am (UTC)`), a day and a time (`try again at Nov 23rd, 2026 1:57 AM`), or seconds since 1970.

use std::sync::LazyLock;

use chrono::{DateTime, Datelike, Duration, NaiveDate, NaiveDateTime, NaiveTime};
use regex::{Captures, Regex};
use serde_json::Value;

use crate::domain::{Millis, Timestamp};

/// The moment in which something was said, and where.
#[derive(Debug, Clone, Copy, Default)]
pub struct Moment {
    /// The moment.
    pub now: Timestamp,
    /// How far the clocks of that place are ahead of UTC, in seconds: agents tell times of day without a zone.
    pub ahead: i32,
}

impl Moment {
    /// This moment at this place.
    pub fn here() -> Self {
        Self {
            now: Timestamp::now(),
            ahead: chrono::Local::now().offset().local_minus_utc(),
        }
    }
}

/// A time of day that has just passed is not meant for tomorrow: the one who said it rounds.
const JUST_PASSED: Millis = Millis::from_secs(15 * 60);
/// How long to wait then.
const SOON: Millis = Millis::from_secs(60);
/// What is farther away than this is no moment at which a limit resets.
const FARTHEST: Millis = Millis::from_secs(90 * 24 * 60 * 60);

const LEAD: &str =
    r"(?:resets?|resetting|try again|retry|retrying|regain access|available again|renews?|wait)";

static SPAN: LazyLock<Regex> = LazyLock::new(|| {
    let part =
        r"\d+(?:\.\d+)?\s*(?:milliseconds?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d)\b";
    let packed = r"(?:\d+d)?(?:\d+h)?(?:\d+m)?\d+(?:\.\d+)?s\b";
    compiled(&format!(
        r"{LEAD}(?:\s+(?:in|after|for|about|another)|:)*\s*({packed}|{part}(?:\s*(?:,|and)?\s*{part})*)"
    ))
});

static PART: LazyLock<Regex> = LazyLock::new(|| compiled(r"(\d+(?:\.\d+)?)\s*([a-z]+)"));

static TIME: LazyLock<Regex> = LazyLock::new(|| {
    compiled(&format!(
        r"{LEAD}(?:\s+(?:at|on|after|by)|:)*\s*\(?(?:(?P<y>\d{{4}})-(?P<m>\d\d)-(?P<d>\d\d)t?|(?P<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:,?\s+(?P<year>\d{{4}}))?)?[,\s]*(?:at\s+)?(?:(?P<hour>\d{{1,2}})(?::(?P<minute>\d\d)(?::(?P<second>\d\d)(?:\.\d+)?)?)?\s*(?P<half>am|pm)?\b)?\s*\(?(?P<zone>utc|gmt|z\b)?"
    ))
});

static EPOCH: LazyLock<Regex> = LazyLock::new(|| compiled(r"\b(\d{10}|\d{13})\b"));

#[expect(
    clippy::expect_used,
    reason = "the patterns are constants, and a test uses each of them"
)]
fn compiled(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is well-formed")
}

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];

/// How long it is until the moment that a text tells; `None` if it tells none.
pub fn told(text: &str, at: Moment) -> Option<Millis> {
    let text = plain(text);
    let spans = SPAN
        .captures_iter(&text)
        .filter_map(|found| span(found.get(1)?.as_str()));
    let times = || TIME.captures_iter(&text).filter_map(|found| time(&found, at));
    let epochs = || {
        let numbers = EPOCH.captures_iter(&text);
        numbers.filter_map(|found| epoch(found.get(1)?.as_str().parse().ok()?, at))
    };
    // The last word is the newest.
    spans
        .last()
        .or_else(|| times().last())
        .or_else(|| epochs().last())
        .filter(|told| *told <= FARTHEST)
}

/// The same of a structured error: its fields first, then its words.
pub fn told_by_object(error: &Value, at: Moment) -> Option<Millis> {
    field(error, at, 0)
}

/// Lower case, with plain apostrophes and spaces.
pub(super) fn plain(text: &str) -> String {
    let plain = |c: char| match c {
        '\u{2018}' | '\u{2019}' | '\u{2bc}' => '\'',
        '\u{a0}' | '\u{202f}' | '\u{2009}' => ' ',
        c => c,
    };
    text.chars().map(plain).flat_map(char::to_lowercase).collect()
}

fn field(value: &Value, at: Moment, depth: usize) -> Option<Millis> {
    if depth > 8 {
        return None;
    }
    match value {
        Value::Object(entries) => {
            let here = entries.iter().find_map(|(name, value)| match name.as_str() {
                "resets_at" | "resetsAt" | "reset_at" => epoch(value.as_u64()?, at),
                "resets_in_seconds" | "retry_after" | "retryAfter" => seconds(value),
                "retryDelay" => span(value.as_str()?),
                _ => None,
            });
            here.or_else(|| entries.values().find_map(|value| field(value, at, depth + 1)))
        }
        Value::Array(items) => items.iter().find_map(|value| field(value, at, depth + 1)),
        _ => None,
    }
}

fn seconds(value: &Value) -> Option<Millis> {
    let seconds = value.as_u64()?;
    Some(Millis(seconds.checked_mul(1000)?))
}

fn epoch(number: u64, at: Moment) -> Option<Millis> {
    let ms = if number < 100_000_000_000 {
        number.checked_mul(1000)?
    } else {
        number
    };
    // A number that lies far back is none of these.
    let day = Millis::from_secs(24 * 60 * 60);
    (ms.saturating_add(day.0) > at.now.0).then(|| Timestamp(ms).since(at.now).max(Millis(1)))
}

fn span(text: &str) -> Option<Millis> {
    let mut sum = 0_u64;
    for found in PART.captures_iter(text) {
        let number: rust_decimal::Decimal = found[1].parse().ok()?;
        let unit: u64 = match &found[2] {
            "ms" | "millisecond" | "milliseconds" => 1,
            unit if unit.starts_with('d') => 86_400_000,
            unit if unit.starts_with('h') => 3_600_000,
            unit if unit.starts_with('m') => 60_000,
            unit if unit.starts_with('s') => 1_000,
            _ => continue,
        };
        let ms = number.checked_mul(unit.into())?.ceil();
        sum = sum.checked_add(rust_decimal::prelude::ToPrimitive::to_u64(&ms)?)?;
    }
    (sum > 0).then_some(Millis(sum))
}

fn time(found: &Captures<'_>, at: Moment) -> Option<Millis> {
    let number = |name: &str| found.name(name)?.as_str().parse::<u32>().ok();
    let ahead = if found.name("zone").is_some() { 0 } else { at.ahead };
    let ahead = Duration::seconds(ahead.into());
    let now = DateTime::from_timestamp_millis(i64::try_from(at.now.0).ok()?)?.naive_utc() + ahead;
    let clock = clock(found);
    let (date, is_guess) = match (number("y"), found.name("month")) {
        (Some(year), _) => {
            let date = NaiveDate::from_ymd_opt(i32::try_from(year).ok()?, number("m")?, number("d")?)?;
            (Some(date), false)
        }
        (None, Some(month)) => {
            let month = MONTHS.iter().position(|name| *name == month.as_str())?;
            let month = u32::try_from(month).ok()? + 1;
            let year = number("year").and_then(|year| i32::try_from(year).ok());
            let date = NaiveDate::from_ymd_opt(year.unwrap_or(now.year()), month, number("day")?)?;
            (Some(date), year.is_none())
        }
        (None, None) => (None, false),
    };
    let then = match (date, clock) {
        (None, None) => return None,
        (Some(date), clock) => {
            let then = date.and_time(clock.unwrap_or_default());
            // Said at the end of a year of a day at the beginning of the next one.
            let half_a_year = Duration::days(180);
            match is_guess && now - then > half_a_year {
                true => then.with_year(then.year() + 1)?,
                false => then,
            }
        }
        (None, Some(clock)) => next(clock, now)?,
    };
    Some(u64::try_from((then - now).num_milliseconds()).map_or(SOON, |ms| Millis(ms).max(Millis(1))))
}

/// The time of day, where one is told.
fn clock(found: &Captures<'_>) -> Option<NaiveTime> {
    let number = |name: &str| found.name(name)?.as_str().parse::<u32>().ok();
    let hour = number("hour")?;
    let half = found.name("half").map(|half| half.as_str());
    let hour = match half {
        Some(_) if !(1..=12).contains(&hour) => return None,
        Some("pm") => hour % 12 + 12,
        Some(_) => hour % 12,
        // A number alone is no time.
        None if found.name("minute").is_none() => return None,
        None => hour,
    };
    NaiveTime::from_hms_opt(hour, number("minute").unwrap_or(0), number("second").unwrap_or(0))
}

/// When a time of day comes next.
fn next(clock: NaiveTime, now: NaiveDateTime) -> Option<NaiveDateTime> {
    let today = now.date().and_time(clock);
    let passed = (now - today).num_milliseconds();
    match u64::try_from(passed) {
        Ok(passed) if Millis(passed) < JUST_PASSED => Some(now + Duration::milliseconds(60_000)),
        Ok(_) => Some(now.date().succ_opt()?.and_time(clock)),
        Err(_) => Some(today),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-23T00:30:00Z
    const NOW: Timestamp = Timestamp(1_795_393_800_000);
    const MINUTE: u64 = 60_000;
    const HOUR: u64 = 60 * MINUTE;

    #[test]
    fn moments_as_providers_and_adapters_tell_them() {
        assert_eq!(NOW.to_rfc3339(), "2026-11-23T00:30:00.000Z");
        for (text, want) in [
            (
                "You've hit your session limit · resets 8pm",
                19 * HOUR + 30 * MINUTE,
            ),
            ("You've hit your limit · resets 2pm", 13 * HOUR + 30 * MINUTE),
            ("You've hit your 5-hour limit · resets 1:57am (UTC)", 87 * MINUTE),
            (
                "You\u{2019}ve hit your usage limit. Upgrade to Pro (https://x.test) or try again at Nov 23rd, 2026 1:57 AM.",
                87 * MINUTE,
            ),
            (
                "You've hit your usage limit. Try again in 3 days 4 hours.",
                76 * HOUR,
            ),
            (
                "try again in 1 hour, 2 minutes and 3 seconds",
                HOUR + 2 * MINUTE + 3_000,
            ),
            (
                "Your quota will reset after 15h57m40s.",
                15 * HOUR + 57 * MINUTE + 40_000,
            ),
            ("Your quota will reset after 2h0m0s.", 2 * HOUR),
            ("Retrying after 8086338ms...", 8_086_338),
            ("Please retry in 3.4s.", 3_400),
            ("Claude AI usage limit reached|1795401000", 2 * HOUR),
            (
                "Claude usage limit reached. Your limit will reset at 9am",
                8 * HOUR + 30 * MINUTE,
            ),
            ("resets Nov 25, 9am (UTC)", 56 * HOUR + 30 * MINUTE),
            ("resets Nov 25 at 3:30pm", 63 * HOUR),
            ("resets Jan 2 at 0:30", 40 * 24 * HOUR),
            (
                "You will regain access on 2026-12-01 at 00:00 UTC.",
                191 * HOUR + 30 * MINUTE,
            ),
            ("resets at 2026-11-23T01:57:00Z", 87 * MINUTE),
            ("resets 12am", 23 * HOUR + 30 * MINUTE),
            ("resets 12pm", 11 * HOUR + 30 * MINUTE),
            ("resets in 45 minutes", 45 * MINUTE),
            // It was said of the minute that has just ended.
            ("resets 12:29am", MINUTE),
        ] {
            let at = Moment { now: NOW, ahead: 0 };
            assert_eq!(told(text, at), Some(Millis(want)), "{text}");
        }
        for text in [
            "",
            "resets soon",
            "resets 8",
            "try again later",
            "wrote 1795401000000000 rows",
            "resets at 25:00",
            "try again in 99999999999999999999 days",
            "resets Feb 31",
            "in 3 hours",
        ] {
            let at = Moment { now: NOW, ahead: 0 };
            assert_eq!(told(text, at), None, "{text}");
        }
    }

    #[test]
    fn a_time_of_day_without_a_zone_is_one_of_the_place() {
        let at = Moment {
            now: NOW,
            ahead: 2 * 3600,
        };
        assert_eq!(told("resets 8am", at), Some(Millis(5 * HOUR + 30 * MINUTE)));
        assert_eq!(told("resets 8am (UTC)", at), Some(Millis(7 * HOUR + 30 * MINUTE)));
    }

    #[test]
    fn fields_say_it_without_words() {
        let at = Moment { now: NOW, ahead: 0 };
        for (object, want) in [
            (
                serde_json::json!({"error": {"type": "usage_limit_reached", "resets_at": 1_795_401_000}}),
                Some(2 * HOUR),
            ),
            (
                serde_json::json!({"error": {"resets_in_seconds": 7200}}),
                Some(2 * HOUR),
            ),
            (
                serde_json::json!({"error": {"details": [{"x": 1}, {"retryDelay": "7200s"}]}}),
                Some(2 * HOUR),
            ),
            (
                serde_json::json!({"resetsAt": 1_795_401_000_000_u64}),
                Some(2 * HOUR),
            ),
            (serde_json::json!({"resets_at": "soon"}), None),
            (serde_json::json!([]), None),
        ] {
            assert_eq!(told_by_object(&object, at), want.map(Millis), "{object}");
        }
    }
}
