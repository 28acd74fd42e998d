//! Expectations: what "done" means for a task.

use std::fmt;

use rust_decimal::Decimal;
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::domain::{Dimension, Millis, Points};
use crate::mission::read::{self, Single};
use crate::mission::scalar::{Fault, Filled, Form, InnerPath, Name, Positive, Scalar, number_in, words};

use super::{Consensus, Independence, PanelMode};

/// A deterministic expectation.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Check {
    /// A command that must exit 0 (`type: test` and `type: script`).
    Command {
        /// `test` or `script`, as the file says.
        kind: CommandCheck,
        /// The command; several lines run under `bash -euo pipefail`.
        command: String,
        /// How long it may take.
        timeout: Millis,
        /// Where, relative to the workspace.
        cwd: Option<String>,
    },
    /// Files that must exist.
    FileExists {
        /// Paths or globs, relative to the workspace.
        paths: Vec<String>,
        /// The least size of each.
        min_bytes: Option<u64>,
        /// A text that each must contain.
        contains: Option<String>,
    },
    /// A number that a command prints.
    Metric {
        /// Its name.
        name: String,
        /// The command.
        command: String,
        /// The number must not be below this.
        min: Option<Decimal>,
        /// The number must not be above this.
        max: Option<Decimal>,
        /// How long it may take.
        timeout: Millis,
    },
}

/// Which of the two words a command check was declared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CommandCheck {
    /// `type: test`
    Test,
    /// `type: script`
    Script,
}

/// One entry of `expectations`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Written")]
pub enum Expectation {
    /// A deterministic check.
    Check(Check),
    /// A panel of reviewers.
    Review(Box<LlmReview>),
}

/// An `llm_review` (semantics, section 7).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LlmReview {
    /// What good work is, in words.
    pub criteria: Option<Box<str>>,
    /// What is scored; empty means the default dimensions.
    pub dimensions: Vec<Dimension>,
    /// What the weighted mean must reach.
    pub threshold: Option<Points>,
    /// Who sits on it.
    pub reviewers: Option<Reviewers>,
    /// How the seats' scores become one.
    pub consensus: Option<Consensus>,
    /// What a reviewer must not share with the author.
    pub independence: Option<Independence>,
    /// Whether a reviewer must answer for every earlier finding.
    pub verify_prior_feedback: Option<bool>,
    /// So many judged rejections in a row stop the judging of a model's work for its wave.
    pub judge_breaker: Option<u32>,
    /// Whether all seats are asked at once.
    pub panel: Option<PanelMode>,
    /// How sure the panel must be of its verdict.
    pub refer_below: Option<Positive>,
}

/// `reviewers`: a number of seats, or names of agents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reviewers {
    /// So many seats; at least one.
    Seats(u32),
    /// These agents.
    Named(Vec<Box<str>>),
}

/// More seats than this are a mistake, and an expensive one.
const MAX_SEATS: u32 = 99;

/// The number in `reviewers: 3`.
pub(in crate::mission) struct Seats(u32);

impl Scalar for Seats {
    const EXPECTS: &'static str = "a number of reviewers from 1 to 99";
    const FORM: Form = Form::Whole(1, MAX_SEATS as u64);

    fn parse(text: &str) -> Result<Self, Fault> {
        number_in::<Self>(text, 1..=MAX_SEATS).map(Self)
    }
}

impl<'de> Deserialize<'de> for Reviewers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ReviewersVisitor)
    }
}

struct ReviewersVisitor;

impl<'de> Visitor<'de> for ReviewersVisitor {
    type Value = Reviewers;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number of reviewers, or a list of agents")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Reviewers, E> {
        let Seats(seats) = Seats::parse(text).map_err(|fault| E::custom(fault.message))?;
        Ok(Reviewers::Seats(seats))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Reviewers, A::Error> {
        let mut names = Vec::new();
        while let Some(Single(name)) = items.next_element()? {
            names.push(name);
        }
        Ok(Reviewers::Named(names))
    }
}

/// Which kind of expectation an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::mission) enum ExpectationType {
    Test,
    Script,
    FileExists,
    Metric,
    LlmReview,
}

words!(ExpectationType: "a type of expectation",
    "test" => Test, "script" => Script, "file_exists" => FileExists, "metric" => Metric, "llm_review" => LlmReview);

/// An entry of `expectations` as it stands in the file: the keys of all types together.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Written {
    #[serde(rename = "type", deserialize_with = "read::option")]
    kind: Option<ExpectationType>,
    #[serde(deserialize_with = "read::option_as::<Filled, _, _>")]
    command: Option<String>,
    #[serde(deserialize_with = "read::option")]
    timeout: Option<Millis>,
    #[serde(deserialize_with = "read::option_as::<InnerPath, _, _>")]
    cwd: Option<String>,
    #[serde(deserialize_with = "read::list_as::<InnerPath, _, _>")]
    paths: Box<[Box<str>]>,
    #[serde(deserialize_with = "read::option")]
    min_bytes: Option<u64>,
    #[serde(deserialize_with = "read::option_as::<Filled, _, _>")]
    contains: Option<String>,
    #[serde(deserialize_with = "read::option_as::<Name, _, _>")]
    name: Option<String>,
    #[serde(deserialize_with = "read::option")]
    min: Option<Decimal>,
    #[serde(deserialize_with = "read::option")]
    max: Option<Decimal>,
    #[serde(deserialize_with = "read::option_as::<Filled, _, _>")]
    criteria: Option<Box<str>>,
    #[serde(deserialize_with = "read::or_empty")]
    dimensions: Vec<WrittenDimension>,
    #[serde(deserialize_with = "read::option")]
    threshold: Option<Points>,
    #[serde(deserialize_with = "read::or_empty")]
    reviewers: Option<Reviewers>,
    #[serde(deserialize_with = "read::option")]
    consensus: Option<Consensus>,
    #[serde(deserialize_with = "read::option")]
    independence: Option<Independence>,
    #[serde(deserialize_with = "read::option")]
    verify_prior_feedback: Option<bool>,
    #[serde(deserialize_with = "read::option")]
    judge_breaker: Option<u32>,
    #[serde(deserialize_with = "read::option")]
    panel: Option<PanelMode>,
    #[serde(deserialize_with = "read::option")]
    refer_below: Option<Positive>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WrittenDimension {
    #[serde(deserialize_with = "read::text_as::<Name, _>")]
    name: Box<str>,
    #[serde(deserialize_with = "read::option")]
    weight: Option<Positive>,
    #[serde(default, deserialize_with = "read::option_as::<Filled, _, _>")]
    description: Option<String>,
    #[serde(default, deserialize_with = "read::levels")]
    rubric: Vec<(u8, String)>,
}

/// The default time a check's command may take (section 6).
const CHECK_TIMEOUT: Millis = Millis::from_secs(600);

/// An entry that is not what its type needs. The check with places has said so before, in better words, and has pruned it.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Incomplete(&'static str);

impl TryFrom<Written> for Expectation {
    type Error = Incomplete;

    fn try_from(written: Written) -> Result<Self, Incomplete> {
        let kind = written.kind.ok_or(Incomplete("an expectation needs a type"))?;
        let check = match kind {
            ExpectationType::LlmReview => return written.review(),
            ExpectationType::Test => written.command(CommandCheck::Test),
            ExpectationType::Script => written.command(CommandCheck::Script),
            ExpectationType::FileExists => written.file_exists(),
            ExpectationType::Metric => written.metric(),
        };
        check
            .map(Self::Check)
            .ok_or(Incomplete("an expectation lacks what its type needs"))
    }
}

impl Written {
    fn command(self, kind: CommandCheck) -> Option<Check> {
        let timeout = self.timeout.unwrap_or(CHECK_TIMEOUT);
        Some(Check::Command {
            kind,
            command: self.command?,
            timeout,
            cwd: self.cwd,
        })
    }

    fn file_exists(self) -> Option<Check> {
        let paths: Vec<String> = self.paths.into_iter().map(String::from).collect();
        let declared = !paths.is_empty();
        declared.then_some(Check::FileExists {
            min_bytes: self.min_bytes,
            contains: self.contains,
            paths,
        })
    }

    fn metric(self) -> Option<Check> {
        let is_bounded = self.min.is_some() || self.max.is_some();
        let timeout = self.timeout.unwrap_or(CHECK_TIMEOUT);
        let (name, command) = (self.name?, self.command?);
        is_bounded.then_some(Check::Metric {
            name,
            command,
            min: self.min,
            max: self.max,
            timeout,
        })
    }

    fn review(self) -> Result<Expectation, Incomplete> {
        if self.criteria.is_none() && self.dimensions.is_empty() {
            return Err(Incomplete("an llm_review needs criteria or dimensions"));
        }
        let dimensions = self.dimensions.into_iter().map(Dimension::try_from);
        Ok(Expectation::Review(Box::new(LlmReview {
            criteria: self.criteria,
            dimensions: dimensions.collect::<Result<_, _>>()?,
            threshold: self.threshold,
            reviewers: self.reviewers,
            consensus: self.consensus,
            independence: self.independence,
            verify_prior_feedback: self.verify_prior_feedback,
            judge_breaker: self.judge_breaker,
            panel: self.panel,
            refer_below: self.refer_below,
        })))
    }
}

impl TryFrom<WrittenDimension> for Dimension {
    type Error = Incomplete;

    fn try_from(written: WrittenDimension) -> Result<Self, Incomplete> {
        let weight = written.weight.ok_or(Incomplete("a dimension needs a weight"))?;
        if written.name.is_empty() {
            return Err(Incomplete("a dimension needs a name"));
        }
        Ok(Self {
            name: written.name.into(),
            weight: weight.get(),
            description: written.description,
            rubric: written.rubric,
        })
    }
}
