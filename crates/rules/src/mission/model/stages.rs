//! What judges work behind its verification: `stages`, `redTeam` and `vision` (semantics, sections 6.7 and 15).

use std::fmt;
use std::num::NonZeroU32;

use crate::{
    domain::Severity,
    mission::file::{
        codes::Code,
        document::{Node, NodeKind},
        keys::{Keys, Value, keys, single, words},
        scalar::{AgentName, Fault, Filled, Fraction, InnerFile, JsonForm, Name, Scalar, Span},
        shape::Shape,
    },
};

use super::mission::Mission;
use super::words::{BeforeRule, Stakes};

keys! {
    /// A further stage of judging: an agent or a command, never both.
    #[derive(Default)]
    pub struct ExtraStage: "a stage" {
        /// The name of the stage, unique among those of a task.
        "name" name: Box<str> as Name, required;
        /// The agent that judges; never its own work.
        "agent" agent: Option<Box<str>> as AgentName;
        /// What the agent is to look at.
        "criteria" criteria: Option<Box<str>> as Filled;
        /// The command that judges, run as checks are: exit 0 passes, any other exit sends the work back with its output. What
        /// a shell ends with where a command cannot run (126, 127, 128 and a signal) is no verdict.
        "command" command: Option<Box<str>> as Filled;
        /// How long it may take [=].
        "timeout" timeout: Option<Span> = "10m";
        /// For a command: what it is to be before the work begins, as in expectations.
        "before" before: Option<BeforeRule>;
    }
}

keys! {
    /// An agent that attacks work before it is accepted.
    #[derive(Default)]
    pub struct RedTeam: "a red team" {
        /// The agent that attacks; never the work of its own.
        "agent" agent: Box<str> as AgentName, required;
        /// The least stakes of a task at which it is asked [=].
        "minStakes" min_stakes: Option<Stakes> = "low";
        /// What happens where it has nothing to attack, or may not be asked [=].
        "onMissing" on_missing: OnMissing, or("block");
    }
}

words! {
    /// The action where a red team has nothing to attack, or may not be asked.
    #[derive(Default)]
    pub enum OnMissing: "what happens without a red team" {
        /// The work is not accepted without it.
        #[default]
        Block = "block",
        /// Judging goes on without the red team.
        Skip = "skip",
    }
}

keys! {
    /// A check of screenshots.
    #[derive(Default)]
    pub struct Vision: "a vision check" {
        /// How it looks: not at all (noop), by mean colours (heuristic), or by an agent (llm_vision) [=].
        "kind" kind: VisionKind, or("noop");
        /// Who looks, for llm_vision: an agent with `vision: true`; never at its own work.
        "agent" agent: Option<Box<str>> as AgentName;
        /// The pictures, PNG or JPEG, relative to the workspace; without any the check is skipped.
        "screenshots" screenshots: Box<[Box<str>]> as InnerFile;
        /// What must be seen: texts for an agent, colours of regions for the heuristic check.
        "expectations" expectations: Vec<Expected> as TextOrMap;
        /// How far a colour may be off, as a share of the distance from black to white [=].
        "tolerance" tolerance: Option<Fraction> = "0.15";
    }
}

words! {
    /// How screenshots are checked.
    #[derive(Default)]
    pub enum VisionKind: "a kind of vision check" {
        /// The screenshots are not looked at.
        #[default]
        Noop = "noop",
        /// By the mean colour of regions.
        Heuristic = "heuristic",
        /// By an agent that can look at pictures.
        LlmVision = "llm_vision",
    }
}

words!(of Severity: "a severity",
    "critical" => Critical, "high" => High, "medium" => Medium, "low" => Low, "info" => Info);

keys! {
    /// Something that a screenshot must show: in words, or by a colour.
    #[derive(Eq, Hash)]
    pub struct Expected: "something that a screenshot must show" {
        /// What it is, in words.
        "description" description: Option<Box<str>> as Filled;
        /// The mean colour of the region in the last screenshot, for example "#1a73e8".
        "color" color: Option<Color>;
        /// Where [the whole picture].
        "region" region: Option<Region>;
        /// How bad it is if it is not so [=].
        "severity" severity: Severity, or("high");
    }
}

impl Default for Expected {
    fn default() -> Self {
        <Self as Value>::missing(None).expect("every key may be missing")
    }
}

impl Expected {
    /// The name of the expectation for people.
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

keys! {
    /// A part of a picture, in pixels from its upper left corner.
    #[derive(Copy, Eq, Hash, Default)]
    pub struct Region: "a region of a picture" {
        /// Pixels from the left [=].
        "x" x: u32, or("0");
        /// Pixels from the top [=].
        "y" y: u32, or("0");
        /// Pixels to the right.
        "width" width: u32 as NonZeroU32, required;
        /// Pixels downwards.
        "height" height: u32 as NonZeroU32, required;
    }
}

/// A colour: red, green, blue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Color(pub [u8; 3]);

impl fmt::Display for Color {
    /// Writes the colour as `#a0b1c2`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [red, green, blue] = self.0;
        write!(f, "#{red:02x}{green:02x}{blue:02x}")
    }
}

impl Scalar for Color {
    const EXPECTS: &'static str = "a colour, such as \"#1a73e8\"";
    const FORM: JsonForm = JsonForm::Text("^#[0-9a-fA-F]{6}$");

    fn parse(text: &str) -> Result<Self, Fault> {
        let wrong = || {
            Fault::new(Code::BadValue, format!("'{text}' is not {}", Self::EXPECTS))
                .with_help("write # and six hexadecimal digits, in quotes: two each for red, green and blue")
        };
        let digits = text.strip_prefix('#').filter(|digits| digits.len() == 6).ok_or_else(wrong)?;
        let mut color = [0; 3];
        for (n, channel) in color.iter_mut().enumerate() {
            let pair =
                digits.get(2 * n..2 * n + 2).filter(|pair| pair.bytes().all(|b| b.is_ascii_hexdigit()));
            *channel = pair.and_then(|pair| u8::from_str_radix(pair, 16).ok()).ok_or_else(wrong)?;
        }
        Ok(Self(color))
    }
}

single!(Color);

/// One of `expectations` as a file writes it: a text, or a map.
pub struct TextOrMap;

impl Value<TextOrMap> for Expected {
    const SHAPE: Shape = Shape::Either(&[Shape::Map(Self::TABLE), Shape::one::<Filled>()]);

    fn read(node: Node<'_, '_>) -> Option<Self> {
        if node.kind() == NodeKind::Map {
            return <Self as Value>::read(node);
        }
        Some(Self { description: Some(node.text().into()), ..Self::default() })
    }
}

impl Mission {
    /// The agents that judge in further stages, by name.
    pub fn stage_agents(&self) -> impl Iterator<Item = &str> {
        let of_tasks = self.tasks.iter().flat_map(|task| &task.stages);
        let own = self.stages.iter().chain(of_tasks).map(|stage| &stage.agent);
        let vision = self.vision.iter().map(|vision| &vision.agent);
        let red_team = self.red_team.iter().map(|red_team| &*red_team.agent);
        own.chain(vision).filter_map(|agent| agent.as_deref()).chain(red_team)
    }
}
