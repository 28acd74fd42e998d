//! Single values as they stand in the file.
//!
//! Every single value is read from its text, never from what YAML thinks it is: a title `1.0` stays "1.0", a weight
//! `0.30` stays an exact decimal, `no` is not a country turned into `false`. The rules of a value are in its one
//! [`Scalar`] implementation, which the check of the document and the reading of the structs share.
//!
//! | file | what |
//! |---|---|
//! | `number` | values that are numbers: whole ones, decimal ones, amounts of money, shares |
//! | `text` | values that are texts: names and what refers to them, paths and globs below the workspace |

mod number;
mod text;

use std::fmt;
use std::num::{NonZeroU32, NonZeroU64};

use semver::VersionReq;

use crate::domain::{Bar, BarOrigin, Millis, Points, Timestamp};

use super::codes::Code;
use super::shown_text::quoted;
use super::suggest::suggestion;
use super::synonyms;

pub use number::{Fraction, Positive};
pub use number::{Reruns, RubricLevel, Temperature, number_in};
pub use text::{
    AgentName, ChannelName, Filled, InnerFile, InnerGlob, InnerPath, Name, QueueName, RubricName, TargetFile,
    TaskTitle, Title, VariableName,
};

/// A value that one text of the file stands for.
pub trait Scalar: Sized {
    /// The kind of value, to complete "this key takes …".
    const EXPECTS: &'static str;
    /// The form of the value in the JSON Schema. As strict as [`Scalar::parse`] where JSON Schema can say it.
    const FORM: JsonForm;
    /// The kind of thing that the value names; `None` where it refers to nothing.
    const REFERS_TO: Option<Referent> = None;

    /// Reads the value.
    ///
    /// # Errors
    /// When the text does not stand for such a value.
    fn parse(text: &str) -> Result<Self, Fault>;
}

/// Scalars: what each is called, its form, and how it is read. Of a text that is none there is no more to say than `help`.
macro_rules! scalars {
    ($($T:ty: $expects:literal, $form:expr, $read:expr $(, help $help:literal)?;)+) => {$(
        impl $crate::mission::file::scalar::Scalar for $T {
            const EXPECTS: &'static str = $expects;
            const FORM: $crate::mission::file::scalar::JsonForm = $form;

            fn parse(text: &str) -> Result<Self, $crate::mission::file::scalar::Fault> {
                let read: fn(&str) -> Option<Self> = $read;
                read(text).ok_or_else(|| $crate::mission::file::scalar::Fault::expected::<Self>(text)$(.with_help($help))?)
            }
        }
    )+};
}
pub(crate) use scalars;

/// Things of a mission that have names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Referent {
    Agent,
    Task,
    Channel,
    Rubric,
}

/// The form of a value in the terms of JSON Schema.
#[derive(Debug, Clone, Copy)]
pub enum JsonForm {
    /// A text that matches this pattern; an empty one matches everything. Numbers and truth values are texts too.
    Text(&'static str),
    /// A text that matches this pattern and is no number.
    Mixed(&'static str),
    /// One of these words.
    Words(&'static [&'static str]),
    /// The words `true` and `false`.
    Flag,
    /// A whole number from the first to the second.
    Whole(u64, u64),
    /// A number within bounds.
    Number { above: Option<i64>, least: Option<i64>, most: Option<i64> },
    /// One of several forms.
    Either(&'static [Self]),
}

impl JsonForm {
    const fn number(least: i64, most: i64) -> Self {
        Self::Number { above: None, least: Some(least), most: Some(most) }
    }
}

/// Why a text is not the value that a key takes.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    pub code: Code,
    pub message: String,
    pub help: Option<String>,
}

impl Fault {
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), help: None }
    }

    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    pub fn expected<T: Scalar>(text: &str) -> Self {
        Self::new(Code::BadValue, format!("{} is not {}", quoted(text), T::EXPECTS))
    }
}

impl Scalar for bool {
    const EXPECTS: &'static str = "true or false";
    const FORM: JsonForm = JsonForm::Flag;

    fn parse(text: &str) -> Result<Self, Fault> {
        match text {
            "true" | "True" | "TRUE" => Ok(true),
            "false" | "False" | "FALSE" => Ok(false),
            "yes" | "Yes" | "on" | "On" => Err(Fault::expected::<Self>(text).with_help("write true")),
            "no" | "No" | "off" | "Off" => Err(Fault::expected::<Self>(text).with_help("write false")),
            _ => Err(Fault::expected::<Self>(text)),
        }
    }
}

scalars! {
    Millis: "a duration",
        JsonForm::Either(&[JsonForm::Whole(1, u64::MAX), JsonForm::Mixed(r"^\s*0*[1-9][0-9]*(ms|s|m|h|d)?$")]),
        |text| Self::in_file(text).ok().filter(|span| span.0 > 0),
        help "write 90s, 30m, 2h, 1d, 250ms, or milliseconds as a bare number above 0";
    Points: "a bar",
        JsonForm::Either(&[
            JsonForm::number(1, 5),
            JsonForm::number(20, 100),
            JsonForm::Mixed(r"^\s*[0-9.]+\s*(/\s*(5|100)\s*)?$"),
        ]),
        |text| text.parse().ok(),
        help "write a score from 1 to 5 (3.5), points from 20 to 100 (70), or name the scale: \"3.5/5\", \"10/100\"";
    Deadline: "a deadline",
        JsonForm::Either(&[JsonForm::Mixed(r"^\d{4}-\d\d-\d\dT"), Millis::FORM]),
        |text| {
            // Without a zone it is UTC.
            let utc = || text.parse::<chrono::NaiveDateTime>().ok()?.and_utc().timestamp_millis().try_into().ok();
            let moment = text.parse().ok().or_else(|| utc().map(Timestamp));
            moment.map(Self::At).or_else(|| Millis::parse(text).ok().map(Self::After))
        },
        help "write 2h, or a moment such as 2030-01-31T18:00:00Z";
}

/// A size in bytes, above zero.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bytes(NonZeroU64);

impl Bytes {
    /// The number of bytes.
    pub fn get(self) -> u64 {
        self.0.get()
    }
}

impl fmt::Display for Bytes {
    /// In the largest unit that divides it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.get();
        let whole = UNITS.iter().rev().find(|(_, unit)| bytes.is_multiple_of(*unit));
        match whole {
            Some((name, unit)) => write!(f, "{} {name}", bytes / unit),
            None => write!(f, "{bytes}"),
        }
    }
}

/// Units of sizes, the smallest first.
const UNITS: [(&str, u64); 3] = [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)];

impl Scalar for Bytes {
    const EXPECTS: &'static str = "a size";
    const FORM: JsonForm = JsonForm::Either(&[
        JsonForm::Whole(1, u64::MAX),
        JsonForm::Mixed(r"^\s*0*[1-9][0-9]*\s*(KiB|MiB|GiB)\s*$"),
    ]);

    fn parse(text: &str) -> Result<Self, Fault> {
        let text = text.trim();
        let unit = UNITS.iter().find_map(|(name, unit)| Some((text.strip_suffix(name)?, *unit)));
        let (number, unit) = unit.unwrap_or((text, 1));
        let number = number.trim_end();
        let digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        let bytes = number.parse::<u64>().ok().filter(|_| digits);
        let bytes = bytes.and_then(|number| NonZeroU64::new(number.checked_mul(unit)?));
        bytes.map(Self).ok_or_else(|| {
            Fault::expected::<Self>(text)
                .with_help("write 512 KiB, 256 MiB, 1 GiB, or bytes as a bare number above 0")
        })
    }
}

/// A duration that a mission of many tasks keeps for each of them: never zero, so that none takes no room.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Span(NonZeroU64);

impl Span {
    /// The duration, which is greater than zero.
    pub fn get(self) -> Millis {
        Millis(self.0.get())
    }
}

impl Scalar for Span {
    const EXPECTS: &'static str = Millis::EXPECTS;
    const FORM: JsonForm = Millis::FORM;

    fn parse(text: &str) -> Result<Self, Fault> {
        let span = NonZeroU64::new(Millis::parse(text)?.0);
        span.map(Self).ok_or_else(|| Fault::expected::<Self>(text))
    }
}

/// A number of tries that a mission of many tasks keeps for each of them: never the largest one, so that none takes no room.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TryCount(NonZeroU32);

impl TryCount {
    pub fn get(self) -> u32 {
        self.0.get() - 1
    }
}

impl Scalar for TryCount {
    const EXPECTS: &'static str = "a whole number from 0 to 4294967294";
    const FORM: JsonForm = JsonForm::Whole(0, u32::MAX as u64 - 1);

    fn parse(text: &str) -> Result<Self, Fault> {
        let more = u32::parse(text)?.checked_add(1).and_then(NonZeroU32::new);
        more.map(Self).ok_or_else(|| Fault::expected::<Self>(text))
    }
}

/// A deadline: a moment or a duration from the start.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Deadline {
    /// A fixed moment.
    At(Timestamp),
    /// A time after the start.
    After(Millis),
}

/// A bar of the mission file itself; [`super::config`] changes the origin of those in a `quorum.yaml`.
impl Scalar for Bar {
    const EXPECTS: &'static str = Points::EXPECTS;
    const FORM: JsonForm = Points::FORM;

    fn parse(text: &str) -> Result<Self, Fault> {
        Points::parse(text).map(|points| Self { points, origin: BarOrigin::Mission })
    }
}

impl Scalar for VersionReq {
    const EXPECTS: &'static str = "a range of versions";
    const FORM: JsonForm = JsonForm::Text(r"\S");

    fn parse(text: &str) -> Result<Self, Fault> {
        // People write `quorum >=0.2` as they would say it.
        let range = text.trim().strip_prefix("quorum").unwrap_or(text).trim();
        Self::parse(range).map_err(|error| {
            Fault::new(Code::BadValue, format!("{} is not a range of versions: {error}", quoted(text)))
                .with_help("write for example \">=0.1.0\" or \"0.1\"")
        })
    }
}

/// The fault of a text that is none of `words`.
pub fn unknown_word(text: &str, expects: &str, words: &[&str]) -> Fault {
    let known = || suggestion(text, words.iter().copied(), "one of");
    let help = synonyms::word(expects, text).unwrap_or_else(known);
    Fault::new(Code::UnknownWord, format!("{} is not {expects}", quoted(text))).with_help(help)
}

#[cfg(test)]
mod tests {
    use rust_decimal::Decimal;

    use super::*;

    fn code<T: Scalar>(text: &str) -> Option<Code> {
        T::parse(text).err().map(|fault| fault.code)
    }

    #[test]
    fn numbers_are_plain_and_exact() {
        assert_eq!(u32::parse("0"), Ok(0));
        for bad in ["", "-1", "+1", "012", "1.5", "1e3", "0x10", "4294967296", "1_000", "٣"] {
            assert_eq!(code::<u32>(bad), Some(Code::BadValue), "{bad}");
        }
        assert_eq!(code::<NonZeroU32>("0"), Some(Code::BadValue));
        assert_eq!(Decimal::parse("0.30").unwrap().to_string(), "0.30");
        for bad in ["", "NaN", ".inf", "x", "0,5"] {
            assert_eq!(code::<Decimal>(bad), Some(Code::BadValue), "{bad}");
        }
        assert_eq!(code::<Positive>("0"), Some(Code::BadValue));
        assert_eq!(code::<Positive>("-0.5"), Some(Code::BadValue));
        assert_eq!(code::<Fraction>("1.1"), Some(Code::BadValue));
        assert_eq!(code::<Temperature>("2.1"), Some(Code::BadValue));
    }

    #[test]
    fn truth_is_true_or_false() {
        assert_eq!(bool::parse("true"), Ok(true));
        for text in ["yes", "no", "on", "off", "1", ""] {
            assert_eq!(code::<bool>(text), Some(Code::BadValue), "{text}");
        }
        assert_eq!(bool::parse("no").unwrap_err().help.unwrap(), "write false");
    }

    #[test]
    fn paths_stay_inside() {
        for good in ["src/core.rs", "a/../b", "./x", "**/*.rs", "a..b"] {
            assert_eq!(code::<InnerPath>(good), None, "{good}");
        }
        for bad in ["/etc/passwd", "..", "../x", "a/../../x", "~/x"] {
            assert_eq!(code::<InnerPath>(bad), Some(Code::PathEscapes), "{bad}");
        }
        assert_eq!(code::<InnerPath>(" "), Some(Code::EmptyValue));
    }

    #[test]
    fn names_are_one_short_line() {
        for good in ["yes", "1.0", "NO", "Größe", &"x".repeat(200)] {
            assert_eq!(code::<Name>(good), None, "{good}");
        }
        for bad in ["", "  ", "a\nb", "a\u{1b}b", " a", &"x".repeat(201)] {
            assert_eq!(code::<Name>(bad), Some(Code::BadTitle), "{bad}");
        }
    }

    #[test]
    fn durations_deadlines_versions() {
        assert_eq!(Millis::parse("90s"), Ok(Millis(90_000)));
        assert_eq!(code::<Millis>("0s"), Some(Code::BadValue));
        for good in ["2h", "2030-01-31T18:00:00Z", "2030-01-31T18:00:00"] {
            assert_eq!(code::<Deadline>(good), None, "{good}");
        }
        assert_eq!(code::<Deadline>("tomorrow"), Some(Code::BadValue));
        assert!(<VersionReq as Scalar>::parse("quorum >=0.1.0").is_ok());
        assert_eq!(code::<VersionReq>("newest"), Some(Code::BadValue));
    }
}
