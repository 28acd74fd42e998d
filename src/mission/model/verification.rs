//! `verification`: how a task's `acceptance` is graded.

use serde::Deserialize;

use crate::domain::Points;
use crate::mission::read;
use crate::mission::scalar::{Filled, Fraction, words};

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
