//! `verification`: how a task's `acceptance` is graded.

use serde::Deserialize;

use crate::domain::Points;
use crate::mission::read;
use crate::mission::scalar::{Fraction, words};

/// How the criteria of a task are graded (semantics, section 10).
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Verification {
    /// Who grades.
    #[serde(deserialize_with = "read::option")]
    pub grader: Option<Grader>,
    /// What the mean of the grades must reach.
    #[serde(deserialize_with = "read::option")]
    pub threshold: Option<Points>,
    /// The share of criteria that must have been checked.
    #[serde(deserialize_with = "read::option")]
    pub min_confidence: Option<Fraction>,
}

/// Who grades criteria.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Grader {
    /// A judge.
    Llm,
    /// Plain facts about files, commands and output.
    Heuristic,
}

words!(Grader: "a kind of grader", "llm" => Llm, "heuristic" => Heuristic);
