//! What judges work behind its verification: `stages`, `redTeam` and `vision` (semantics, sections 6.7 and 15).

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::domain::Severity;
use crate::mission::codes::Code;
use crate::mission::read;
use crate::mission::scalar::{Fault, Filled, Form, Fraction, InnerFile, Name, Scalar, Span, words};

use super::words::Stakes;

/// A further stage of judging: an agent or a command, never both.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Stage {
    /// Its name, unique among the stages of a task.
    #[serde(deserialize_with = "read::text_as::<Name, _>")]
    pub name: Box<str>,
    /// The agent that judges.
    #[serde(deserialize_with = "read::option_as::<Filled, _, _>")]
    pub agent: Option<Box<str>>,
    /// What the agent is to look at.
    #[serde(deserialize_with = "read::option_as::<Filled, _, _>")]
    pub criteria: Option<Box<str>>,
    /// The command that judges: exit 0 is a pass.
    #[serde(deserialize_with = "read::option_as::<Filled, _, _>")]
    pub command: Option<Box<str>>,
    /// How long it may take.
    #[serde(deserialize_with = "read::option")]
    pub timeout: Option<Span>,
}

/// An agent that attacks work before it is accepted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RedTeam {
    /// Who attacks.
    #[serde(deserialize_with = "read::text_as::<Filled, _>")]
    pub agent: Box<str>,
    /// The least stakes of a task at which it is asked; `None`: always.
    #[serde(deserialize_with = "read::option")]
    pub min_stakes: Option<Stakes>,
    /// What happens where it has nothing to attack, or may not be asked.
    #[serde(deserialize_with = "read::or_default")]
    pub on_missing: OnMissing,
}

/// What happens where a red team has nothing to attack, or may not be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum OnMissing {
    /// The work is not accepted without it.
    #[default]
    Block,
    /// It goes on.
    Skip,
}

words!(OnMissing: "what happens without a red team", "block" => Block, "skip" => Skip);

/// A check of screenshots.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Vision {
    /// What kind of check it is.
    #[serde(deserialize_with = "read::or_default")]
    pub kind: VisionKind,
    /// Who looks.
    #[serde(deserialize_with = "read::option_as::<Filled, _, _>")]
    pub agent: Option<Box<str>>,
    /// The pictures, in the workspace.
    #[serde(deserialize_with = "read::list_as::<InnerFile, _, _>")]
    pub screenshots: Box<[Box<str>]>,
    /// What must be seen.
    #[serde(deserialize_with = "read::or_empty")]
    pub expectations: Vec<Expected>,
    /// How far a colour may be off, as a share of the greatest distance there is.
    #[serde(deserialize_with = "read::option")]
    pub tolerance: Option<Fraction>,
}

/// How screenshots are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum VisionKind {
    /// Not at all.
    #[default]
    Noop,
    /// By the mean colour of regions.
    Heuristic,
    /// By an agent that can look at pictures.
    LlmVision,
}

impl VisionKind {
    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Noop => "noop",
            Self::Heuristic => "heuristic",
            Self::LlmVision => "llm_vision",
        }
    }
}

words!(VisionKind: "a kind of vision check",
    "noop" => Noop, "heuristic" => Heuristic, "llm_vision" => LlmVision);
words!(Severity: "a severity",
    "critical" => Critical, "high" => High, "medium" => Medium, "low" => Low, "info" => Info);

/// Something that a screenshot must show: in words, or by a colour.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Expected {
    /// In words.
    pub description: Option<Box<str>>,
    /// The mean colour of the region.
    pub color: Option<Color>,
    /// Where; `None` is the whole picture.
    pub region: Option<Region>,
    /// How bad it is if it is not so.
    pub severity: Severity,
}

impl Default for Expected {
    fn default() -> Self {
        Self {
            description: None,
            color: None,
            region: None,
            severity: Severity::High,
        }
    }
}

impl Expected {
    /// What it is, for people.
    #[must_use]
    pub fn words(&self) -> String {
        match (&self.description, self.region) {
            (Some(words), _) => words.trim().to_owned(),
            (None, None) => "the whole picture".to_owned(),
            (None, Some(Region { x, y, width, height })) => {
                format!("the region of {width} by {height} pixels at {x}, {y}")
            }
        }
    }
}

/// A part of a picture, in pixels from its upper left corner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Deserialize)]
#[serde(default)]
pub struct Region {
    /// From the left.
    #[serde(deserialize_with = "read::or_default")]
    pub x: u32,
    /// From the top.
    #[serde(deserialize_with = "read::or_default")]
    pub y: u32,
    /// To the right.
    #[serde(deserialize_with = "read::or_default")]
    pub width: u32,
    /// Downwards.
    #[serde(deserialize_with = "read::or_default")]
    pub height: u32,
}

/// A colour: red, green, blue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Color(pub [u8; 3]);

impl fmt::Display for Color {
    /// `#a0b1c2`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [red, green, blue] = self.0;
        write!(f, "#{red:02x}{green:02x}{blue:02x}")
    }
}

impl Scalar for Color {
    const EXPECTS: &'static str = "a colour, such as \"#1a73e8\"";
    const FORM: Form = Form::Text("^#[0-9a-fA-F]{6}$");

    fn parse(text: &str) -> Result<Self, Fault> {
        let wrong = || {
            Fault::new(Code::BadValue, format!("'{text}' is not {}", Self::EXPECTS))
                .with_help("write # and six hexadecimal digits, in quotes: two each for red, green and blue")
        };
        let digits = text
            .strip_prefix('#')
            .filter(|digits| digits.len() == 6)
            .ok_or_else(wrong)?;
        let mut color = [0; 3];
        for (n, channel) in color.iter_mut().enumerate() {
            let pair = digits
                .get(2 * n..2 * n + 2)
                .filter(|pair| pair.bytes().all(|b| b.is_ascii_hexdigit()));
            *channel = pair
                .and_then(|pair| u8::from_str_radix(pair, 16).ok())
                .ok_or_else(wrong)?;
        }
        Ok(Self(color))
    }
}

impl<'de> Deserialize<'de> for Expected {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ExpectedVisitor)
    }
}

struct ExpectedVisitor;

impl<'de> Visitor<'de> for ExpectedVisitor {
    type Value = Expected;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, or a map")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Expected, E> {
        Ok(Expected {
            description: Some(text.into()),
            ..Expected::default()
        })
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Expected, A::Error> {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Written {
            #[serde(deserialize_with = "read::option_as::<Filled, _, _>")]
            description: Option<Box<str>>,
            #[serde(deserialize_with = "read::option")]
            color: Option<Color>,
            #[serde(deserialize_with = "read::option_of")]
            region: Option<Region>,
            #[serde(deserialize_with = "read::option")]
            severity: Option<Severity>,
        }
        let written = Written::deserialize(MapAccessDeserializer::new(map))?;
        Ok(Expected {
            description: written.description,
            color: written.color,
            region: written.region,
            severity: written.severity.unwrap_or(Severity::High),
        })
    }
}
