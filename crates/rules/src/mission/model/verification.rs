//! `verification`: how a task's `acceptance` is graded.

use crate::{
    domain::Points,
    mission::file::{
        document::{Node, NodeKind},
        keys::{Keys, Value, keys, single, words},
        scalar::{AgentName, Fraction, RubricName},
        shape::Shape,
    },
};

use super::rubric::OnRefer;
use super::words::BeforeRule;

keys! {
    /// How the criteria of a task are graded (semantics, section 10).
    #[derive(Default)]
    pub struct Verification: "a verification" {
        /// Who grades: a judge [=], or plain facts about files, commands and output (heuristic).
        "grader" grader: Grader, or("llm");
        /// The rubric that a judge grades by [=].
        "rubric" rubric: Option<Box<str>> as RubricName = "default-task";
        /// What the mean of the grades must reach [= of 100].
        "threshold" threshold: Option<Points>, or("60");
        /// How sure the judge, or which share of the criteria checked: below it the work is referred [=].
        "minConfidence" min_confidence: Option<Fraction> = "0.7";
        /// What happens to referred work: a person decides (human), it goes back (rework), or it is accepted as unverified (pass) [=].
        "onRefer" on_refer: OnRefer, or("human");
        /// For facts: what they are to be before the work begins, as in expectations.
        "before" before: Option<BeforeRule>;
    }
}

/// The way in which criteria become probes.
#[derive(Debug, Clone, PartialEq)]
pub enum Decomposer {
    /// Nobody: each criterion is a probe.
    Identity,
    Agent(Box<str>),
}

impl Decomposer {
    /// The agent that cuts the criteria; `None` where each of them is a probe.
    pub fn agent(&self) -> Option<&str> {
        match self {
            Self::Identity => None,
            Self::Agent(name) => Some(name),
        }
    }
}

/// The decomposer that is nobody: each criterion is a probe.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Identity {
    /// Each criterion is a probe.
    Identity,
}

words!(of Identity: "a decomposer", "identity" => Identity);
single!(Identity);

keys! {
    struct DecomposingAgent: "a decomposer" {
        /// The agent that does it.
        "agent" agent: Box<str> as AgentName, required;
    }
}

impl Value for Decomposer {
    const SHAPE: Shape = Shape::Either(&[Shape::Map(DecomposingAgent::TABLE), Identity::SHAPE]);

    fn read(node: Node<'_, '_>) -> Option<Self> {
        match node.kind() {
            NodeKind::Map => DecomposingAgent::read(node).map(|read| Self::Agent(read.agent)),
            _ => Identity::read(node).map(|Identity::Identity| Self::Identity),
        }
    }
}

words! {
    /// The kind of grader of the criteria.
    #[derive(Default)]
    pub enum Grader: "a kind of grader" {
        /// A judge.
        #[default]
        Llm = "llm",
        /// Plain facts about files, commands and output.
        Heuristic = "heuristic",
    }
}
