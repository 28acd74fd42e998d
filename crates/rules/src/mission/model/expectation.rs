//! Expectations: what "done" means for a task.

use rust_decimal::Decimal;
use thin_vec::ThinVec;

use crate::{
    domain::{Dimension, Millis, Points},
    mission::file::{
        document::Node,
        keys::{Keys, Value, keys, list_or_one, words},
        scalar::{
            AgentName, Filled, InnerPath, JsonForm, Name, Positive, Reruns, RubricLevel, number_in, scalars,
        },
        shape::{Shape, Table},
    },
};

use super::words::{BeforeRule, Consensus, Independence, PanelMode};

/// A deterministic expectation.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Check {
    /// A command that must exit 0 (`type: test` and `type: script`).
    Command {
        /// `test` or `script`, as the file says.
        kind: CommandCheck,
        /// The command line for the shell.
        command: String,
        /// The most time for one run.
        timeout: Millis,
        /// Where, relative to the workspace.
        cwd: Option<String>,
        /// The result before the work that the file declares; `None` where it declares none.
        before: Option<BeforeRule>,
        /// How often the command runs again where it fails.
        reruns: u32,
        /// Whether workers are told nothing of it.
        hidden: bool,
    },
    /// Files that must exist.
    FileExists {
        /// Paths or globs, relative to the workspace.
        paths: Vec<String>,
        /// The least size of each.
        min_bytes: Option<u64>,
        /// A text that each must contain.
        contains: Option<String>,
        /// The result before the work that the file declares; `None` where it declares none.
        before: Option<BeforeRule>,
    },
    /// A number that a command prints.
    Metric {
        name: String,
        command: String,
        /// The number must not be below this.
        min: Option<Decimal>,
        /// The number must not be above this.
        max: Option<Decimal>,
        /// The most time for one run.
        timeout: Millis,
        /// The result before the work that the file declares; `None` where it declares none.
        before: Option<BeforeRule>,
        /// How often the command runs again where it fails.
        reruns: u32,
        /// Whether workers are told nothing of it.
        hidden: bool,
    },
}

impl Check {
    /// The name of the check for people.
    pub fn label(&self) -> String {
        match self {
            Self::Command { kind, command, .. } => {
                let kind = match kind {
                    CommandCheck::Test => "test",
                    CommandCheck::Script => "script",
                };
                format!("{kind}: {command}")
            }
            Self::FileExists { paths, .. } => format!("file_exists: {}", paths.join(", ")),
            Self::Metric { name, command, .. } => format!("metric {name}: {command}"),
        }
    }

    /// The name of the check in places that workers may read.
    pub fn label_for_worker(&self) -> String {
        if self.is_hidden() { "a hidden check".to_owned() } else { self.label() }
    }

    /// Whether workers are told nothing of it but that it failed.
    pub fn is_hidden(&self) -> bool {
        matches!(self, Self::Command { hidden: true, .. } | Self::Metric { hidden: true, .. })
    }

    /// The command, and its folder relative to the workspace; `None` where the check looks at files.
    pub fn command(&self) -> Option<(&str, Option<&str>)> {
        match self {
            Self::Command { command, cwd, .. } => Some((command, cwd.as_deref())),
            Self::Metric { command, .. } => Some((command, None)),
            Self::FileExists { .. } => None,
        }
    }

    /// The result before the work that the file declares; `None` where it declares none.
    pub fn before(&self) -> Option<BeforeRule> {
        match self {
            Self::Command { before, .. } | Self::FileExists { before, .. } | Self::Metric { before, .. } => {
                *before
            }
        }
    }

    /// How often the check runs again where it fails (semantics, section 24).
    pub fn reruns(&self) -> u32 {
        match self {
            Self::Command { reruns, .. } | Self::Metric { reruns, .. } => *reruns,
            Self::FileExists { .. } => 0,
        }
    }
}

/// The word that a command check was declared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CommandCheck {
    /// The word `type: test`.
    Test,
    /// The word `type: script`.
    Script,
}

/// One entry of `expectations`.
#[derive(Debug, Clone, PartialEq)]
pub enum Expectation {
    /// A deterministic check.
    Check(Check),
    /// A panel of reviewers.
    Review(Box<LlmReview>),
}

keys! {
    /// An `llm_review` (semantics, section 7).
    pub struct LlmReview: "an llm_review expectation" {
        #[doc = says!(expectation_type)]
        "type" kind: ExpectationType, required;
        /// What good work is, in words.
        "criteria" criteria: Option<Box<str>> as Filled;
        /// What is scored from 1 to 5, with weights [correctness, completeness, code_quality, edge_cases].
        "dimensions" dimensions: Vec<Dimension> as WrittenDimension;
        /// What the weighted mean must reach [= of 100].
        "threshold" threshold: Option<Points>, or("60");
        /// How many reviewers, or which agents [=].
        "reviewers" reviewers: Option<Reviewers> = "3";
        #[doc = says!(consensus)]
        "consensus" consensus: Option<Consensus>, or("median");
        #[doc = says!(verify_prior_feedback)]
        "verifyPriorFeedback" verify_prior_feedback: Option<bool>, or("true");
        #[doc = says!(independence)]
        "independence" independence: Option<Independence>, or("identity");
        #[doc = says!(panel)]
        "panel" panel: Option<PanelMode>, or("parallel");
        #[doc = says!(refer_below)]
        "referBelow" refer_below: Option<Positive>;
        #[doc = says!(judge_breaker)]
        "judgeBreaker" judge_breaker: Option<u32>, or("5");
    }
}

/// `reviewers`: a number of seats, or names of agents.
#[derive(Debug, Clone, PartialEq)]
pub enum Reviewers {
    /// A number of seats, at least one.
    Seats(u32),
    /// The agents of these names, one a seat.
    Named(Vec<Box<str>>),
}

/// More seats than this are a mistake, and an expensive one.
const MAX_SEATS: u32 = 99;

/// The number in `reviewers: 3`.
pub struct Seats(u32);

scalars! {
    Seats: "a number of reviewers from 1 to 99", JsonForm::Whole(1, MAX_SEATS as u64),
        |text| number_in(text, 1..=MAX_SEATS).map(Self);
}

list_or_one!(Reviewers: [AgentName] => Self::Named, Seats => |Seats(number)| Self::Seats(number));

words! {
    /// The kind of an expectation.
    pub enum ExpectationType: "a type of expectation" {
        /// A command that must exit 0.
        Test = "test",
        /// A command, as `test`.
        Script = "script",
        /// Files that must exist.
        FileExists = "file_exists",
        /// A number that a command prints.
        Metric = "metric",
        /// A panel of reviewers.
        LlmReview = "llm_review",
    }
}

keys! {
    struct CommandExpectation: "a test or script expectation" {
        #[doc = says!(expectation_type)]
        "type" kind: ExpectationType, required;
        #[doc = says!(check_command)]
        "command" command: String as Filled, required;
        #[doc = says!(check_timeout)]
        "timeout" timeout: Millis, or("10m");
        /// Where the command runs, relative to the workspace.
        "cwd" cwd: Option<String> as InnerPath;
        #[doc = says!(before)]
        "before" before: Option<BeforeRule>;
        #[doc = says!(reruns)]
        "reruns" reruns: u32 as Reruns, or("0");
        #[doc = says!(hidden)]
        "hidden" hidden: bool, or("false");
    }
}

keys! {
    #[allow(dead_code, reason = "`type` has chosen the table")]
    struct FileExpectation: "a file_exists expectation" {
        #[doc = says!(expectation_type)]
        "type" kind: ExpectationType, required;
        /// Paths or globs, relative to the workspace; each must match a file.
        "paths" paths: Vec<String> as InnerPath, filled, required;
        /// The least size of each file.
        "minBytes" min_bytes: Option<u64>;
        /// A text that each file must contain.
        "contains" contains: Option<String> as Filled;
        #[doc = says!(before)]
        "before" before: Option<BeforeRule>;
    }
}

keys! {
    #[allow(dead_code, reason = "`type` has chosen the table")]
    struct MetricExpectation: "a metric expectation" {
        #[doc = says!(expectation_type)]
        "type" kind: ExpectationType, required;
        /// The name of the metric.
        "name" name: String as Name, required;
        #[doc = says!(check_command)]
        "command" command: String as Filled, required;
        #[doc = says!(check_timeout)]
        "timeout" timeout: Millis, or("10m");
        /// The number that the command prints must not be below this.
        "min" min: Option<Decimal>;
        /// The number that the command prints must not be above this.
        "max" max: Option<Decimal>;
        #[doc = says!(before)]
        "before" before: Option<BeforeRule>;
        #[doc = says!(reruns)]
        "reruns" reruns: u32 as Reruns, or("0");
        #[doc = says!(hidden)]
        "hidden" hidden: bool, or("false");
    }
}

keys! {
    struct WrittenDimension: "a dimension" {
        /// The name of the dimension.
        "name" name: String as Name, required;
        /// The weight of the dimension in the mean.
        "weight" weight: Decimal as Positive, required;
        /// What is to be looked at.
        "description" description: Option<String> as Filled;
        /// What each score from 1 to 5 means.
        "rubric" rubric: Vec<(u8, String)> as RubricLevel;
    }
}

impl Value<WrittenDimension> for Dimension {
    const SHAPE: Shape = WrittenDimension::SHAPE;

    fn read(node: Node<'_, '_>) -> Option<Self> {
        let WrittenDimension { name, weight, description, rubric } = WrittenDimension::read(node)?;
        Some(Self { name, weight, description, rubric })
    }
}

/// The keys of an expectation, by its `type`.
static TYPES: [(&str, &Table); 5] = [
    ("test", CommandExpectation::TABLE),
    ("script", CommandExpectation::TABLE),
    ("file_exists", FileExpectation::TABLE),
    ("metric", MetricExpectation::TABLE),
    ("llm_review", LlmReview::TABLE),
];

impl Value for ThinVec<Expectation> {
    const SHAPE: Shape = Shape::Expectations(&TYPES);

    fn read(node: Node<'_, '_>) -> Option<Self> {
        let items: Option<Vec<Expectation>> = node.items().map(Expectation::read).collect();
        Some(items?.into_iter().collect())
    }

    fn missing(_: Option<&str>) -> Option<Self> {
        Some(Self::new())
    }
}

impl Expectation {
    fn read(node: Node<'_, '_>) -> Option<Self> {
        let (_, kind) = node.entries().find(|(key, _)| *key == "type")?;
        let check = match ExpectationType::read(kind)? {
            ExpectationType::LlmReview => return LlmReview::read(node).map(Box::new).map(Self::Review),
            ExpectationType::Test | ExpectationType::Script => CommandExpectation::read(node)?.check(),
            ExpectationType::FileExists => FileExpectation::read(node)?.check(),
            ExpectationType::Metric => MetricExpectation::read(node)?.check(),
        };
        Some(Self::Check(check))
    }
}

impl CommandExpectation {
    fn check(self) -> Check {
        Check::Command {
            kind: match self.kind {
                ExpectationType::Script => CommandCheck::Script,
                _ => CommandCheck::Test,
            },
            command: self.command,
            timeout: self.timeout,
            cwd: self.cwd,
            before: self.before,
            reruns: self.reruns,
            hidden: self.hidden,
        }
    }
}

impl FileExpectation {
    fn check(self) -> Check {
        Check::FileExists {
            paths: self.paths,
            min_bytes: self.min_bytes,
            contains: self.contains,
            before: self.before,
        }
    }
}

impl MetricExpectation {
    fn check(self) -> Check {
        Check::Metric {
            name: self.name,
            command: self.command,
            min: self.min,
            max: self.max,
            timeout: self.timeout,
            before: self.before,
            reruns: self.reruns,
            hidden: self.hidden,
        }
    }
}
