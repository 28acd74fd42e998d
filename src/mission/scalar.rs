//! Single values as they stand in the file.
//!
//! Every single value is read from its text, never from what YAML thinks it is: a title `1.0` stays "1.0", a weight
//! `0.30` stays an exact decimal, `no` is not a country turned into `false`. The rules of a value are in its one
//! [`Scalar`] implementation, which the check of the document and the reading of the structs share.

use std::fmt;
use std::num::{NonZeroU32, NonZeroU64};
use std::str::FromStr;

use rust_decimal::Decimal;
use semver::VersionReq;

use crate::domain::{Bar, BarOrigin, Millis, Money, Points, Timestamp, folded, invisible_in};

use super::codes::Code;
use super::suggest::suggestion;
use super::text::quoted;

/// A value that one text of the file stands for.
pub(super) trait Scalar: Sized {
    /// What the key takes, to complete "this key takes …".
    const EXPECTS: &'static str;
    /// What it looks like to a reader of the JSON Schema. As strict as [`Scalar::parse`] where JSON Schema can say it.
    const FORM: Form;
    /// What it names, if it refers to something.
    const REFERS_TO: Option<Referent> = None;

    /// Reads the value.
    ///
    /// # Errors
    /// When the text does not stand for such a value.
    fn parse(text: &str) -> Result<Self, Fault>;
}

/// Things of a mission that have names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Referent {
    Agent,
    Task,
    Channel,
    Rubric,
}

/// What a value looks like, in the terms of JSON Schema.
#[derive(Debug, Clone, Copy)]
pub(super) enum Form {
    /// A text that matches this pattern; an empty one matches everything. Numbers and truth values are texts too.
    Text(&'static str),
    /// A text that matches this pattern and is no number.
    Mixed(&'static str),
    /// One of these words.
    Words(&'static [&'static str]),
    /// `true` or `false`.
    Flag,
    /// A whole number from the first to the second.
    Whole(u64, u64),
    /// A number within bounds.
    Number {
        above: Option<i64>,
        least: Option<i64>,
        most: Option<i64>,
    },
    /// One of several.
    Either(&'static [Self]),
}

impl Form {
    const fn number(least: i64, most: i64) -> Self {
        Self::Number {
            above: None,
            least: Some(least),
            most: Some(most),
        }
    }
}

/// Why a text is not the value that a key takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    pub code: Code,
    pub message: String,
    pub help: Option<String>,
}

impl Fault {
    pub(super) fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            help: None,
        }
    }

    pub(super) fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    fn expected<T: Scalar>(text: &str) -> Self {
        Self::new(Code::BadValue, format!("{} is not {}", quoted(text), T::EXPECTS))
    }
}

/// Any text at all.
impl Scalar for String {
    const EXPECTS: &'static str = "a text";
    const FORM: Form = Form::Text("");

    fn parse(text: &str) -> Result<Self, Fault> {
        Ok(text.to_owned())
    }
}

impl Scalar for Box<str> {
    const EXPECTS: &'static str = "a text";
    const FORM: Form = Form::Text("");

    fn parse(text: &str) -> Result<Self, Fault> {
        Ok(text.into())
    }
}

/// A text with something in it.
pub(super) struct Filled(String);

impl Scalar for Filled {
    const EXPECTS: &'static str = "a text that is not empty";
    const FORM: Form = Form::Text(r"\S");

    fn parse(text: &str) -> Result<Self, Fault> {
        if text.trim().is_empty() {
            return Err(Fault::new(Code::EmptyValue, "this text is empty")
                .with_help("say something here, or leave the key out"));
        }
        if text.contains('\0') {
            return Err(Fault::new(Code::BadValue, "this text contains a null character"));
        }
        Ok(Self(text.to_owned()))
    }
}

/// A title or name: one printable line of at most 200 characters.
pub(super) struct Name(String);

impl Name {
    const LIMIT: usize = 200;
}

impl Scalar for Name {
    const EXPECTS: &'static str = "a name";
    const FORM: Form = Form::Text(r"^\S([^\x00-\x1f\x7f]{0,198}\S)?$");

    fn parse(text: &str) -> Result<Self, Fault> {
        let length = text.chars().count();
        let problem = if text.trim().is_empty() {
            "this name is empty".to_owned()
        } else if text.trim() != text {
            format!("the name {} begins or ends with white space", quoted(text))
        } else if text.chars().any(char::is_control) {
            format!(
                "the name {} contains a line break or another control character",
                quoted(text)
            )
        } else if let Some(invisible) = invisible_in(text) {
            format!(
                "the name {} contains a character that nobody sees, {invisible}",
                quoted(text)
            )
        } else if length > Self::LIMIT {
            format!(
                "this name has {length} characters, at most {} are allowed",
                Self::LIMIT
            )
        } else {
            return Ok(Self(text.to_owned()));
        };
        Err(Fault::new(Code::BadTitle, problem)
            .with_help("write one short line; details belong in `description`"))
    }
}

/// A task's title, in the one form in which titles are compared.
pub(super) struct Title(String);

impl Scalar for Title {
    const EXPECTS: &'static str = Name::EXPECTS;
    const FORM: Form = Name::FORM;

    fn parse(text: &str) -> Result<Self, Fault> {
        Name::parse(text).map(|Name(text)| Self(one_form(text)))
    }
}

/// The title of another task, in the same form.
pub(super) struct TaskTitle(String);

impl Scalar for TaskTitle {
    const EXPECTS: &'static str = Filled::EXPECTS;
    const FORM: Form = Filled::FORM;
    const REFERS_TO: Option<Referent> = Some(Referent::Task);

    fn parse(text: &str) -> Result<Self, Fault> {
        Filled::parse(text).map(|Filled(text)| Self(one_form(text)))
    }
}

/// Names of other things of the mission.
macro_rules! references {
    ($($name:ident to $referent:ident),+) => {$(
        #[doc = concat!("The name of a referent: ", stringify!($referent), ".")]
        pub(super) struct $name(String);

        impl Scalar for $name {
            const EXPECTS: &'static str = Filled::EXPECTS;
            const FORM: Form = Filled::FORM;
            const REFERS_TO: Option<Referent> = Some(Referent::$referent);

            fn parse(text: &str) -> Result<Self, Fault> {
                Filled::parse(text).map(|Filled(text)| Self(text))
            }
        }
    )+};
}

references!(AgentName to Agent, ChannelName to Channel, RubricName to Rubric);

fn one_form(title: String) -> String {
    match title.is_ascii() {
        true => title,
        false => folded(&title),
    }
}

/// A path below the workspace, or a glob of such paths.
pub(super) struct InnerPath(String);

impl Scalar for InnerPath {
    const EXPECTS: &'static str = "a path below the workspace";
    const FORM: Form = Form::Text(r"^(?![/~]|\.\.(/|$)).*\S");

    fn parse(text: &str) -> Result<Self, Fault> {
        let Filled(path) = Filled::parse(text)?;
        let mut depth = 0i32;
        let stays_inside = !path.starts_with(['/', '~'])
            && path.split('/').all(|part| {
                depth += match part {
                    "" | "." => 0,
                    ".." => -1,
                    _ => 1,
                };
                depth >= 0
            });
        if stays_inside {
            Ok(Self(path))
        } else {
            Err(Fault::new(
                Code::PathEscapes,
                format!("the path {} leads out of the workspace", quoted(&path)),
            )
            .with_help("write a path relative to the workspace, such as src/core.rs"))
        }
    }
}

/// The path of one file below the workspace.
pub(super) struct InnerFile(String);

impl Scalar for InnerFile {
    const EXPECTS: &'static str = "the path of a file below the workspace";
    const FORM: Form = Form::Text(r"^(?![/~]|\.\.(/|$))(?!.*[*?\[{]).*\S");

    fn parse(text: &str) -> Result<Self, Fault> {
        let InnerPath(path) = InnerPath::parse(text)?;
        if path.contains(['*', '?', '[', '{']) {
            return Err(Fault::new(
                Code::BadValue,
                format!("{} is a glob, and one file is meant", quoted(&path)),
            )
            .with_help("name each file by its path"));
        }
        Ok(Self(path))
    }
}

/// A file that a task must produce. A glob would be taken for a name that nobody can make.
pub(super) struct TargetFile(String);

impl Scalar for TargetFile {
    const EXPECTS: &'static str = InnerFile::EXPECTS;
    const FORM: Form = InnerFile::FORM;

    fn parse(text: &str) -> Result<Self, Fault> {
        InnerPath::parse(text)?;
        match InnerFile::parse(text) {
            Ok(InnerFile(path)) => Ok(Self(path)),
            Err(fault) => Err(fault.with_help(
                "name each file by its path, or use file_exists: `expectations: [{type: file_exists, paths: [\"src/*.rs\"]}]`",
            )),
        }
    }
}

/// A path or glob below the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct InnerGlob(String);

impl Scalar for InnerGlob {
    const EXPECTS: &'static str = "a path or glob below the workspace";
    const FORM: Form = InnerPath::FORM;

    fn parse(text: &str) -> Result<Self, Fault> {
        let InnerPath(path) = InnerPath::parse(text)?;
        match globset::Glob::new(&path) {
            Ok(_) => Ok(Self(path)),
            Err(error) => Err(Fault::new(
                Code::BadValue,
                format!("{} is not a glob: {}", quoted(&path), error.kind()),
            )
            .with_help("globs are written like tests/** or src/*.{js,ts}")),
        }
    }
}

macro_rules! text_scalars {
    ($($name:ident),+) => {$(
        impl From<$name> for String {
            fn from(text: $name) -> Self {
                text.0
            }
        }

        impl From<$name> for Box<str> {
            fn from(text: $name) -> Self {
                text.0.into()
            }
        }
    )+};
}

text_scalars!(
    Filled,
    Name,
    Title,
    TaskTitle,
    AgentName,
    ChannelName,
    RubricName,
    InnerPath,
    InnerFile,
    TargetFile,
    InnerGlob
);

impl Scalar for bool {
    const EXPECTS: &'static str = "true or false";
    const FORM: Form = Form::Flag;

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

/// A whole number in plain digits: no sign, no leading zero (which some readers take as octal).
fn digits<N: FromStr + Scalar>(text: &str) -> Result<N, Fault> {
    let plain = text.bytes().all(|b| b.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    if plain {
        text.parse().map_err(|_| Fault::expected::<N>(text))
    } else {
        Err(Fault::expected::<N>(text))
    }
}

impl Scalar for u32 {
    const EXPECTS: &'static str = "a whole number from 0 to 4294967295";
    const FORM: Form = Form::Whole(0, u32::MAX as u64);

    fn parse(text: &str) -> Result<Self, Fault> {
        digits(text)
    }
}

impl Scalar for u64 {
    const EXPECTS: &'static str = "a whole number, 0 or more";
    const FORM: Form = Form::Whole(0, u64::MAX);

    fn parse(text: &str) -> Result<Self, Fault> {
        digits(text)
    }
}

/// A whole number from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AtLeastOne(u64);

impl From<AtLeastOne> for u64 {
    fn from(number: AtLeastOne) -> Self {
        number.0
    }
}

impl Scalar for AtLeastOne {
    const EXPECTS: &'static str = "a whole number from 1";
    const FORM: Form = Form::Whole(1, u64::MAX);

    fn parse(text: &str) -> Result<Self, Fault> {
        match u64::parse(text) {
            Ok(number) if number > 0 => Ok(Self(number)),
            _ => Err(Fault::expected::<Self>(text)),
        }
    }
}

impl Scalar for NonZeroU32 {
    const EXPECTS: &'static str = "a whole number from 1 to 4294967295";
    const FORM: Form = Form::Whole(1, u32::MAX as u64);

    fn parse(text: &str) -> Result<Self, Fault> {
        digits(text)
    }
}

/// A whole number within `range`.
pub(super) fn number_in<T: Scalar>(text: &str, range: std::ops::RangeInclusive<u32>) -> Result<u32, Fault> {
    u32::parse(text)
        .ok()
        .filter(|number| range.contains(number))
        .ok_or_else(|| Fault::expected::<T>(text))
}

/// A key of a dimension's rubric.
pub(super) struct RubricLevel(pub u8);

impl Scalar for RubricLevel {
    const EXPECTS: &'static str = "a level of the scale: 1, 2, 3, 4 or 5";
    const FORM: Form = Form::Whole(1, 5);

    fn parse(text: &str) -> Result<Self, Fault> {
        match text {
            "1" => Ok(Self(1)),
            "2" => Ok(Self(2)),
            "3" => Ok(Self(3)),
            "4" => Ok(Self(4)),
            "5" => Ok(Self(5)),
            _ => Err(Fault::expected::<Self>(text)),
        }
    }
}

impl Scalar for Decimal {
    const EXPECTS: &'static str = "a number";
    const FORM: Form = Form::Number {
        above: None,
        least: None,
        most: None,
    };

    fn parse(text: &str) -> Result<Self, Fault> {
        // from_str_exact refuses what it would have to round.
        Self::from_str_exact(text)
            .or_else(|_| Self::from_scientific(text))
            .map_err(|_| Fault::expected::<Self>(text))
    }
}

/// A decimal number above zero: a weight, a priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Positive(Decimal);

impl Positive {
    /// The number 1.
    pub const ONE: Self = Self(Decimal::ONE);

    /// So many hundredths; at least one.
    #[must_use]
    pub fn percent(percent: u8) -> Self {
        Self(Decimal::new(percent.max(1).into(), 2))
    }

    /// The number.
    #[must_use]
    pub fn get(self) -> Decimal {
        self.0
    }
}

impl Scalar for Positive {
    const EXPECTS: &'static str = "a number above 0 and at most 1000000";
    const FORM: Form = Form::Number {
        above: Some(0),
        least: None,
        most: Some(1_000_000),
    };

    fn parse(text: &str) -> Result<Self, Fault> {
        Decimal::parse(text)
            .ok()
            .filter(|number| Decimal::ZERO < *number && *number <= Decimal::from(1_000_000))
            .map(Self)
            .ok_or_else(|| Fault::expected::<Self>(text))
    }
}

impl Scalar for Money {
    const EXPECTS: &'static str = "an amount from 0 to 1000000";
    const FORM: Form = Form::number(0, 1_000_000);

    fn parse(text: &str) -> Result<Self, Fault> {
        Decimal::parse(text)
            .ok()
            .filter(|amount| *amount <= Decimal::from(1_000_000))
            .and_then(Self::new)
            .ok_or_else(|| Fault::expected::<Self>(text))
    }
}

/// A share: 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fraction(Points);

impl Fraction {
    /// The same as points: 0.7 is 70.
    #[must_use]
    pub fn points(self) -> Points {
        self.0
    }
}

impl Scalar for Fraction {
    const EXPECTS: &'static str = "a number from 0 to 1";
    const FORM: Form = Form::number(0, 1);

    fn parse(text: &str) -> Result<Self, Fault> {
        Decimal::parse(text)
            .ok()
            .filter(|number| (Decimal::ZERO..=Decimal::ONE).contains(number))
            .and_then(|number| Points::new(number * Decimal::ONE_HUNDRED))
            .map(Self)
            .ok_or_else(|| Fault::expected::<Self>(text))
    }
}

/// A sampling temperature.
pub(super) struct Temperature(Decimal);

impl From<Temperature> for Decimal {
    fn from(temperature: Temperature) -> Self {
        temperature.0
    }
}

impl Scalar for Temperature {
    const EXPECTS: &'static str = "a number from 0 to 2";
    const FORM: Form = Form::number(0, 2);

    fn parse(text: &str) -> Result<Self, Fault> {
        Decimal::parse(text)
            .ok()
            .filter(|number| (Decimal::ZERO..=Decimal::TWO).contains(number))
            .map(Self)
            .ok_or_else(|| Fault::expected::<Self>(text))
    }
}

impl Scalar for Millis {
    const EXPECTS: &'static str = "a duration";
    const FORM: Form = Form::Either(&[
        Form::Whole(1, u64::MAX),
        Form::Mixed(r"^\s*0*[1-9][0-9]*(ms|s|m|h|d)?$"),
    ]);

    fn parse(text: &str) -> Result<Self, Fault> {
        let help = "write 90s, 30m, 2h, 1d, 250ms, or milliseconds as a bare number above 0";
        match text.parse::<Self>() {
            Ok(span) if span.0 > 0 => Ok(span),
            _ => Err(Fault::expected::<Self>(text).with_help(help)),
        }
    }
}

/// A size in bytes, above zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bytes(NonZeroU64);

impl Bytes {
    /// The number of bytes.
    #[must_use]
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
    const FORM: Form = Form::Either(&[
        Form::Whole(1, u64::MAX),
        Form::Mixed(r"^\s*0*[1-9][0-9]*\s*(KiB|MiB|GiB)\s*$"),
    ]);

    fn parse(text: &str) -> Result<Self, Fault> {
        let text = text.trim();
        let unit = UNITS
            .iter()
            .find_map(|(name, unit)| Some((text.strip_suffix(name)?, *unit)));
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span(NonZeroU64);

impl Span {
    /// The duration.
    #[must_use]
    pub fn get(self) -> Millis {
        Millis(self.0.get())
    }
}

impl Scalar for Span {
    const EXPECTS: &'static str = Millis::EXPECTS;
    const FORM: Form = Millis::FORM;

    fn parse(text: &str) -> Result<Self, Fault> {
        let span = NonZeroU64::new(Millis::parse(text)?.0);
        span.map(Self).ok_or_else(|| Fault::expected::<Self>(text))
    }
}

/// A number of tries that a mission of many tasks keeps for each of them: never the largest one, so that none takes no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tries(NonZeroU32);

impl Tries {
    /// The number.
    #[must_use]
    pub fn get(self) -> u32 {
        self.0.get() - 1
    }
}

impl Scalar for Tries {
    const EXPECTS: &'static str = "a whole number from 0 to 4294967294";
    const FORM: Form = Form::Whole(0, u32::MAX as u64 - 1);

    fn parse(text: &str) -> Result<Self, Fault> {
        let more = u32::parse(text)?.checked_add(1).and_then(NonZeroU32::new);
        more.map(Self).ok_or_else(|| Fault::expected::<Self>(text))
    }
}

/// A deadline: a moment or a duration from the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deadline {
    /// This moment.
    At(Timestamp),
    /// So long after the start.
    After(Millis),
}

impl Scalar for Deadline {
    const EXPECTS: &'static str = "a deadline";
    const FORM: Form = Form::Either(&[Form::Mixed(r"^\d{4}-\d\d-\d\dT"), Millis::FORM]);

    fn parse(text: &str) -> Result<Self, Fault> {
        let zoned = chrono::DateTime::parse_from_rfc3339(text).map(|moment| moment.timestamp_millis());
        // Without a zone it is UTC.
        let moment = zoned.or_else(|_| {
            let naive = text.parse::<chrono::NaiveDateTime>();
            naive.map(|moment| moment.and_utc().timestamp_millis())
        });
        let moment = moment.ok().and_then(|millis| u64::try_from(millis).ok());
        let deadline = moment.map(|millis| Self::At(Timestamp(millis)));
        let deadline = deadline.or_else(|| Millis::parse(text).ok().map(Self::After));
        deadline.ok_or_else(|| {
            Fault::expected::<Self>(text).with_help("write 2h, or a moment such as 2030-01-31T18:00:00Z")
        })
    }
}

impl Scalar for Points {
    const EXPECTS: &'static str = "a bar";
    const FORM: Form = Form::Either(&[
        Form::number(1, 5),
        Form::number(20, 100),
        Form::Mixed(r"^\s*[0-9.]+\s*(/\s*(5|100)\s*)?$"),
    ]);

    fn parse(text: &str) -> Result<Self, Fault> {
        text.parse().map_err(|_| {
            Fault::expected::<Self>(text).with_help(
                "write a score from 1 to 5 (3.5), points from 20 to 100 (70), or name the scale: \"3.5/5\", \"10/100\"",
            )
        })
    }
}

/// A bar of the mission file itself; [`super::config`] changes the origin of those in a `quorum.yaml`.
impl Scalar for Bar {
    const EXPECTS: &'static str = Points::EXPECTS;
    const FORM: Form = Points::FORM;

    fn parse(text: &str) -> Result<Self, Fault> {
        Points::parse(text).map(|points| Self {
            points,
            origin: BarOrigin::Mission,
        })
    }
}

impl Scalar for VersionReq {
    const EXPECTS: &'static str = "a range of versions";
    const FORM: Form = Form::Text(r"\S");

    fn parse(text: &str) -> Result<Self, Fault> {
        // People write `quorum >=0.2` as they would say it.
        let range = text.trim().strip_prefix("quorum").unwrap_or(text).trim();
        Self::parse(range).map_err(|error| {
            Fault::new(
                Code::BadValue,
                format!("{} is not a range of versions: {error}", quoted(text)),
            )
            .with_help("write for example \">=0.1.0\" or \"0.1\"")
        })
    }
}

/// The fault of a text that is none of `words`.
pub(super) fn unknown_word(text: &str, expects: &str, words: &[&str]) -> Fault {
    Fault::new(Code::UnknownWord, format!("{} is not {expects}", quoted(text))).with_help(suggestion(
        text,
        words.iter().copied(),
        "one of",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code<T: Scalar>(text: &str) -> Option<Code> {
        T::parse(text).err().map(|fault| fault.code)
    }

    #[test]
    fn numbers_are_plain_and_exact() {
        assert_eq!(u32::parse("0"), Ok(0));
        for bad in [
            "",
            "-1",
            "+1",
            "012",
            "1.5",
            "1e3",
            "0x10",
            "4294967296",
            "1_000",
            "٣",
        ] {
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
