//! What judges work behind its verification: `stages` and `redTeam` (semantics, sections 6.7 and 15).

use serde::Deserialize;

use crate::mission::read;
use crate::mission::scalar::{Filled, Name, Span, words};

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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnMissing {
    /// The work is not accepted without it.
    #[default]
    Block,
    /// It goes on.
    Skip,
}

words!(OnMissing: "what happens without a red team", "block" => Block, "skip" => Skip);
