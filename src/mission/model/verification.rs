//! `verification`: how a task's `acceptance` is graded.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::domain::Points;
use crate::mission::read;
use crate::mission::scalar::{Filled, Fraction, Scalar, words};

use super::OnRefer;

/// How the criteria of a task are graded (semantics, section 10).
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Verification {
    /// Who grades.
    #[serde(deserialize_with = "read::or_default")]
    pub grader: Grader,
    /// What a judge grades by; `None`: the built-in `default-task`.
    #[serde(deserialize_with = "read::option_as::<Filled, _, _>")]
    pub rubric: Option<Box<str>>,
    /// What the mean of the grades must reach.
    #[serde(deserialize_with = "read::option")]
    pub threshold: Option<Points>,
    /// The share of criteria that must have been checked.
    #[serde(deserialize_with = "read::option")]
    pub min_confidence: Option<Fraction>,
    /// What happens to work of which the grader is not sure.
    #[serde(deserialize_with = "read::or_default")]
    pub on_refer: OnRefer,
}

/// Who cuts criteria into probes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decomposer {
    /// Nobody: each criterion is a probe.
    Identity,
    /// This agent.
    Agent(Box<str>),
}

impl Decomposer {
    /// The agent, where it is one.
    #[must_use]
    pub fn agent(&self) -> Option<&str> {
        match self {
            Self::Identity => None,
            Self::Agent(name) => Some(name),
        }
    }
}

/// `decomposer`: an agent, or `identity`, which is nobody.
pub(super) fn decomposer<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Box<Decomposer>>, D::Error> {
    deserializer.deserialize_any(DecomposerVisitor)
}

/// The decomposer that is nobody: each criterion is a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Identity {
    /// The only one.
    Identity,
}

words!(Identity: "a decomposer", "identity" => Identity);

struct DecomposerVisitor;

impl<'de> Visitor<'de> for DecomposerVisitor {
    type Value = Option<Box<Decomposer>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("identity, or a map with an agent")
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_none<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        match Identity::parse(text) {
            Ok(Identity::Identity) => Ok(Some(Box::new(Decomposer::Identity))),
            Err(fault) => Err(E::custom(fault.message)),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Written {
            #[serde(deserialize_with = "read::rare_as::<Filled, _>")]
            agent: Option<Box<Box<str>>>,
        }
        let written = Written::deserialize(MapAccessDeserializer::new(map))?;
        Ok(written.agent.map(|name| Box::new(Decomposer::Agent(*name))))
    }
}

/// Who grades criteria.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Grader {
    /// A judge.
    #[default]
    Llm,
    /// Plain facts about files, commands and output.
    Heuristic,
}

words!(Grader: "a kind of grader", "llm" => Llm, "heuristic" => Heuristic);
