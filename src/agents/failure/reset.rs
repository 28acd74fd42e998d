//! When a provider or an agent's adapter says that it can be asked again (semantics, section 13).
//!
//! Pure functions of the text and the moment in which it was said: a duration (`try again in 3 days 4 hours`), a time of
//! day (`resets 1:57am (Asia/Tokyo)`), a day and a time (`try again at Nov 23rd, 2026 1:57 AM`), a moment in ISO 8601, or
//! seconds since 1970. A zone that is told holds: a name of the zone database, which is part of this program, `UTC+2`,
//! `+02:00`, or an abbreviation. A time without one is one of this place.

use std::sync::LazyLock;

use chrono::{DateTime, Datelike, Duration, NaiveDate, NaiveDateTime, NaiveTime, Offset, TimeZone};
use chrono_tz::{TZ_VARIANTS, Tz};
use regex::{Captures, Regex};
use serde_json::Value;

use rules::domain::{Millis, Timestamp};
use supervisor::ChildExit;

/// The moment in which something was said, and where.
#[derive(Debug, Clone, Copy, Default)]
pub struct Moment {
    /// The moment by the clock.
    pub now: Timestamp,
    /// How far the clocks of that place are ahead of UTC, in seconds: agents tell times of day without a zone.
    pub ahead: i32,
    /// The time that has passed since, in whole seconds: a later session may be the one that reads it.
    pub passed: Millis,
}

impl Moment {
    /// The present moment, in the zone of this machine.
    pub fn here() -> Self {
        Self {
            now: Timestamp::now(),
            ahead: chrono::Local::now().offset().local_minus_utc(),
            passed: Millis(0),
        }
    }

    /// A moment by the clock, at a place whose clocks go by UTC.
    pub fn utc(now: Timestamp) -> Self {
        Self { now, ..Self::default() }
    }

    /// The moment at which a program of this machine ended.
    pub fn of_end(exit: &ChildExit) -> Self {
        let here = Self::here();
        let ended = Timestamp(exit.started_ms.saturating_add(exit.duration_ms));
        // One that never ran has no times.
        if exit.started_ms == 0 || ended > here.now {
            return here;
        }
        let passed = Millis(here.now.since(ended).0 / 1000 * 1000);
        Self { now: ended, passed, ..here }
    }
}

/// A time of day that has just passed is not meant for tomorrow: the one who said it rounds.
const JUST_PASSED: Millis = Millis::from_secs(15 * 60);
/// How long to wait then.
const SOON: Millis = Millis::from_secs(60);
/// The longest wait until a limit resets; a moment farther away is none of a reset.
const FARTHEST: Millis = Millis::from_secs(90 * 24 * 60 * 60);

const LEAD: &str = r"(?:resets?|resetting|try again|retry|retrying|regain access|available again|renews?|refresh(?:es)?|resumes?|back|until|wait)";

static SPAN: LazyLock<Regex> = LazyLock::new(|| {
    let part =
        r"\d+(?:\.\d+)?\s*(?:milliseconds?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d)\b";
    let packed = r"(?:\d+d)?(?:\d+h)?(?:\d+m)?\d+(?:\.\d+)?s\b|(?:\d+d)?\d+h\d+m\b|\d+d\d+h\b";
    compiled(&format!(
        r"{LEAD}(?:\s+(?:in|after|for|about|another)|:)*\s*({packed}|{part}(?:\s*(?:,|and)?\s*{part})*)"
    ))
});

static PART: LazyLock<Regex> = LazyLock::new(|| compiled(r"(\d+(?:\.\d+)?)\s*([a-z]+)"));

static TIME: LazyLock<Regex> = LazyLock::new(|| {
    let iso = r"(?P<y>\d{4})-(?P<m>\d\d)-(?P<d>\d\d)t?";
    let day = r"(?P<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?\s+(?P<day>\d{1,2})(?:st|nd|rd|th)?(?:,?\s+(?P<year>\d{4}))?";
    let clock = r"(?P<hour>\d{1,2})(?::(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,]\d+)?)?)?\s*(?P<half>[ap]\.?m\b\.?)?";
    let zone = r"(?P<zone>(?:utc|gmt)\s*[+−-]\s*\d{1,2}(?::?\d\d)?|[+−-]\d\d:?\d\d|[a-z_]+(?:/[a-z0-9_+-]+)+|[a-z]+)";
    compiled(&format!(
        r"{LEAD}(?:[\s_]+(?:at|on|after|by|time)\b|[:=])*\s*\(?(?:{iso}|{day})?[,\s]*(?:at\s+)?(?:{clock}[\s,]*[(\[]?\s*{zone}?)?"
    ))
});

/// Matches a moment in ISO 8601, wherever it stands.
static ISO: LazyLock<Regex> = LazyLock::new(|| {
    compiled(
        r"\b(?P<y>\d{4})-(?P<m>\d\d)-(?P<d>\d\d)(?:t|\s)(?P<hour>\d\d):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,]\d+)?)?\s*(?P<zone>z\b|utc\b|gmt\b|[+−-]\d\d:?\d\d)?",
    )
});

static EPOCH: LazyLock<Regex> = LazyLock::new(|| compiled(r"\b(\d{10}|\d{13})\b"));

#[expect(clippy::expect_used, reason = "the patterns are constants, and a test uses each of them")]
fn compiled(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is well-formed")
}

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// The time from now until the moment that a text tells; `None` if it tells none.
pub fn wait_in_text(text: &str, at: Moment) -> Option<Millis> {
    Some(Millis(pause(text, at)?.0.saturating_sub(at.passed.0)))
}

/// The time from the moment at which it was said until the moment that a text tells.
fn pause(text: &str, at: Moment) -> Option<Millis> {
    let text = plain(text);
    let spans = SPAN.captures_iter(&text).filter_map(|found| span(found.get(1)?.as_str()));
    let times = || {
        let times = TIME.captures_iter(&text);
        times.filter_map(|found| time(&found, at)).map(|ahead| ahead.unwrap_or(SOON))
    };
    // Programs write the moment at which they say something beside it, too: that lies not ahead.
    let moments = || ISO.captures_iter(&text).filter_map(|found| time(&found, at)?);
    let epochs = || {
        let numbers = EPOCH.captures_iter(&text);
        numbers.filter_map(|found| epoch(found.get(1)?.as_str().parse().ok()?, at))
    };
    // The last word is the newest.
    spans
        .last()
        .or_else(|| times().last())
        .or_else(|| moments().last())
        .or_else(|| epochs().last())
        .filter(|told| *told <= FARTHEST)
}

/// The wait that a structured error tells: from its fields first, then from its words.
pub fn wait_in_error(error: &Value, at: Moment) -> Option<Millis> {
    Some(Millis(field(error, at, 0)?.0.saturating_sub(at.passed.0)))
}

/// Lower case, with plain apostrophes and spaces.
pub fn plain(text: &str) -> String {
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
                "resets_at" | "resetsAt" | "reset_at" | "resetAt" | "reset_time" | "resetTime" => match value
                {
                    Value::String(text) => pause(text, at),
                    value => epoch(value.as_u64()?, at),
                },
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
    let ms = if number < 100_000_000_000 { number.checked_mul(1000)? } else { number };
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

/// The zones that words stand for.
const ZONES: [&str; 5] = [
    "z=+00 utc=+00 gmt=+00 wet=+00 hst=-10 akst=-09 akdt=-08 pst=-08 pdt=-07 mst=-07 mdt=-06 cst=-06",
    "cdt=-05 est=-05 edt=-04 brt=-03 bst=+01 west=+01 cet=+01 cest=+02 eet=+02 sast=+02 eest=+03 msk=+03",
    "pkt=+05 ist=+0530 sgt=+08 hkt=+08 awst=+08 jst=+09 kst=+09 acst=+0930 aest=+10 aedt=+11 nzst=+12",
    "nzdt=+13 pt=america/los_angeles pacific=america/los_angeles mt=america/denver mountain=america/denver",
    "ct=america/chicago central=america/chicago et=america/new_york eastern=america/new_york",
];

/// A zone of clocks.
enum Zone {
    /// A zone that is always so far ahead of UTC.
    Ahead(Duration),
    Named(Tz),
}

impl Zone {
    /// The zone that a text names, else that of this place; `None` where it names one that nobody knows.
    fn of(text: &str, at: Moment) -> Option<Self> {
        let mut zones = ZONES.iter().flat_map(|zones| zones.split(' '));
        let named = zones.find_map(|zone| zone.strip_prefix(text)?.strip_prefix('='));
        let text = named.unwrap_or(text);
        if text.contains('/') {
            let mut known = TZ_VARIANTS.into_iter();
            return known.find(|zone| zone.name().eq_ignore_ascii_case(text)).map(Self::Named);
        }
        let Some(sign) = text.find(['+', '-', '\u{2212}']) else {
            // A word that goes on with the sentence.
            return Some(Self::Ahead(Duration::seconds(at.ahead.into())));
        };
        let digits: String = text[sign..].chars().filter(char::is_ascii_digit).collect();
        let number: i64 = digits.parse().ok()?;
        let minutes = match digits.len() {
            ..=2 => number * 60,
            _ => number / 100 * 60 + number % 100,
        };
        let minutes = if text[sign..].starts_with('+') { minutes } else { -minutes };
        (minutes.abs() <= 14 * 60).then(|| Self::Ahead(Duration::minutes(minutes)))
    }

    /// The time by which the zone's clocks are ahead of UTC at a moment in UTC.
    fn ahead(&self, utc: NaiveDateTime) -> Duration {
        match self {
            Self::Ahead(ahead) => *ahead,
            Self::Named(zone) => {
                Duration::seconds(zone.offset_from_utc_datetime(&utc).fix().local_minus_utc().into())
            }
        }
    }
}

/// How far a moment lies ahead that a text tells: `Some(None)` where it has passed.
fn time(found: &Captures<'_>, at: Moment) -> Option<Option<Millis>> {
    let number = |name: &str| found.name(name)?.as_str().parse::<u32>().ok();
    let zone = Zone::of(found.name("zone").map_or("", |zone| zone.as_str()), at)?;
    let now_utc = DateTime::from_timestamp_millis(i64::try_from(at.now.0).ok()?)?.naive_utc();
    let now = now_utc + zone.ahead(now_utc);
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
            if is_guess && now - then > half_a_year { then.with_year(then.year() + 1)? } else { then }
        }
        (None, Some(clock)) => next(clock, now)?,
    };
    // Its clocks may be put forward or back until then.
    let about = then - zone.ahead(now_utc);
    let ahead = (then - zone.ahead(about) - now_utc).num_milliseconds();
    Some(u64::try_from(ahead).ok().map(|ms| Millis(ms).max(Millis(1))))
}

/// The time of day, where one is told.
fn clock(found: &Captures<'_>) -> Option<NaiveTime> {
    let number = |name: &str| found.name(name)?.as_str().parse::<u32>().ok();
    let hour = number("hour")?;
    let half = found.name("half").map(|half| half.as_str());
    let hour = match half {
        Some(_) if !(1..=12).contains(&hour) => return None,
        Some(half) if half.starts_with('p') => hour % 12 + 12,
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
            ("You've hit your session limit · resets 8pm", 19 * HOUR + 30 * MINUTE),
            ("You've hit your limit · resets 2pm", 13 * HOUR + 30 * MINUTE),
            ("You've hit your 5-hour limit · resets 1:57am (UTC)", 87 * MINUTE),
            (
                "You\u{2019}ve hit your usage limit. Upgrade to Pro (https://x.test) or try again at Nov 23rd, 2026 1:57 AM.",
                87 * MINUTE,
            ),
            ("You've hit your usage limit. Try again in 3 days 4 hours.", 76 * HOUR),
            ("try again in 1 hour, 2 minutes and 3 seconds", HOUR + 2 * MINUTE + 3_000),
            ("Your quota will reset after 15h57m40s.", 15 * HOUR + 57 * MINUTE + 40_000),
            ("Your quota will reset after 2h0m0s.", 2 * HOUR),
            ("Retrying after 8086338ms...", 8_086_338),
            ("Please retry in 3.4s.", 3_400),
            ("Claude AI usage limit reached|1795401000", 2 * HOUR),
            ("Claude usage limit reached. Your limit will reset at 9am", 8 * HOUR + 30 * MINUTE),
            ("resets Nov 25, 9am (UTC)", 56 * HOUR + 30 * MINUTE),
            ("resets Nov 25 at 3:30pm", 63 * HOUR),
            ("resets Jan 2 at 0:30", 40 * 24 * HOUR),
            ("You will regain access on 2026-12-01 at 00:00 UTC.", 191 * HOUR + 30 * MINUTE),
            ("resets at 2026-11-23T01:57:00Z", 87 * MINUTE),
            ("resets 12am", 23 * HOUR + 30 * MINUTE),
            ("resets 12pm", 11 * HOUR + 30 * MINUTE),
            ("resets in 45 minutes", 45 * MINUTE),
            // It was said of the minute that has just ended.
            ("resets 12:29am", MINUTE),
            // 06:00 in Kolkata, 09:30 in Tokyo, 19:30 in New York on the day before, 01:30 in Berlin.
            ("You have hit your limit · resets 9:30am (Asia/Calcutta)", 3 * HOUR + 30 * MINUTE),
            ("Limit reached · resets 11:30am (Asia/Tokyo)", 2 * HOUR),
            ("resets 8pm (America/New_York)", 30 * MINUTE),
            ("resets 8pm America/New_York time", 30 * MINUTE),
            ("resets 8pm ET", 30 * MINUTE),
            ("resets at 5 p.m. Pacific time", 30 * MINUTE),
            ("resets 5pm PST", 30 * MINUTE),
            ("resets 3am (Europe/Berlin)", 90 * MINUTE),
            ("resets 3am CET", 90 * MINUTE),
            ("resets 4:30am (UTC+2)", 2 * HOUR),
            ("resets 04:30 (GMT+02:00)", 2 * HOUR),
            ("resets at 8:30am UTC+5:30", 2 * HOUR + 30 * MINUTE),
            ("resets 20:30 UTC\u{2212}5", HOUR),
            ("resets at 2026-11-23 04:30:00 +0200", 2 * HOUR),
            ("resets at 2026-11-23T04:30:00+02:00", 2 * HOUR),
            ("resets at 2026-11-23T02:30:00.123Z", 2 * HOUR),
            ("resets_at=2026-11-23T02:30:00Z", 2 * HOUR),
            ("Limit reached. Come again: 2026-11-23T02:30:00Z.", 2 * HOUR),
            ("2026-11-23T00:29:59Z ERROR limit reached, resets 2:30am", 2 * HOUR),
            ("usage limit reached until 2:30am", 2 * HOUR),
            ("resets in 4h30m", 4 * HOUR + 30 * MINUTE),
            ("resets in 2d4h", 52 * HOUR),
        ] {
            let at = Moment::utc(NOW);
            assert_eq!(wait_in_text(text, at), Some(Millis(want)), "{text}");
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
            "resets tomorrow at 2:30am",
            "resets Thursday at 2:30am (UTC)",
            "resets 3am (Mars/Olympus)",
            "resets 3am (UTC+99)",
            "2026-11-23T00:29:59Z ERROR limit reached",
        ] {
            let at = Moment::utc(NOW);
            assert_eq!(wait_in_text(text, at), None, "{text}");
        }
    }

    #[test]
    fn a_time_of_day_without_a_zone_is_one_of_the_place() {
        let at = Moment { now: NOW, ahead: 2 * 3600, ..Moment::default() };
        assert_eq!(wait_in_text("resets 8am", at), Some(Millis(5 * HOUR + 30 * MINUTE)));
        assert_eq!(wait_in_text("resets 8am (UTC)", at), Some(Millis(7 * HOUR + 30 * MINUTE)));
        assert_eq!(wait_in_text("resets 8am if you wait", at), wait_in_text("resets 8am", at));
        let iso = "resets at 2026-11-23T01:57:00Z";
        assert_eq!(wait_in_text(iso, at), Some(Millis(87 * MINUTE)), "a zone that is told holds");
    }

    #[test]
    fn clocks_that_are_put_back_or_forward_until_then_are_counted() {
        // 2026-10-31T20:30:00-04:00; at 2:00 on the next day New York puts its clocks back.
        let late = Moment { now: NOW, passed: Millis(HOUR), ..Moment::default() };
        assert_eq!(wait_in_text("try again in 3 hours", late), Some(Millis(2 * HOUR)));
        assert_eq!(wait_in_text("try again in 30 minutes", late), Some(Millis(0)));
        let object = serde_json::json!({"error": {"message": "x", "reset_at": "try again in 3 hours"}});
        assert_eq!(wait_in_error(&object, late), Some(Millis(2 * HOUR)));
        let at = |ms| Moment::utc(Timestamp(ms));
        let told_then = wait_in_text("resets 9:30am (America/New_York)", at(1_793_493_000_000));
        assert_eq!(told_then, Some(Millis(14 * HOUR)));
        // 2027-03-13T20:30:00-05:00; 2:30 does not come on the next day.
        let told_then = wait_in_text("resets 2:30am (America/New_York)", at(1_804_987_800_000));
        assert_eq!(told_then, Some(Millis(5 * HOUR)));
    }

    #[test]
    fn fields_say_it_without_words() {
        let at = Moment::utc(NOW);
        for (object, want) in [
            (
                serde_json::json!({"error": {"type": "usage_limit_reached", "resets_at": 1_795_401_000}}),
                Some(2 * HOUR),
            ),
            (serde_json::json!({"error": {"resets_in_seconds": 7200}}), Some(2 * HOUR)),
            (serde_json::json!({"error": {"details": [{"x": 1}, {"retryDelay": "7200s"}]}}), Some(2 * HOUR)),
            (serde_json::json!({"resetsAt": 1_795_401_000_000_u64}), Some(2 * HOUR)),
            (serde_json::json!({"resets_at": "soon"}), None),
            (serde_json::json!({"resets_at": "2026-11-23T04:30:00+02:00"}), Some(2 * HOUR)),
            (serde_json::json!([]), None),
        ] {
            assert_eq!(wait_in_error(&object, at), want.map(Millis), "{object}");
        }
    }
}
