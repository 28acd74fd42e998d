//! What judges work behind its verification (semantics, sections 6.7 to 6.9 and 15): the mission's own stages, the red
//! team, the vision check.

use serde::{Deserialize, Serialize};

use super::{DeclaredVerdict, Finding, PriorAnswer, Stage};

/// One of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Step {
    /// One of the task's `stages`, by position.
    #[serde(rename = "s")]
    Stage(u32),
    /// The red team.
    #[serde(rename = "r")]
    RedTeam,
    /// The vision check.
    #[serde(rename = "v")]
    Vision,
}

impl Step {
    /// The stage that its verdict is one of.
    #[must_use]
    pub fn stage(self) -> Stage {
        match self {
            Self::Stage(_) => Stage::Stages,
            Self::RedTeam => Stage::RedTeam,
            Self::Vision => Stage::Vision,
        }
    }

    /// Whether the work is kept out as long as it has no verdict. Without the report of another one the work goes on, and
    /// that is on record.
    pub fn closes(self) -> bool {
        match self {
            Self::Stage(_) => true,
            Self::RedTeam | Self::Vision => false,
        }
    }

    /// The word for it: in events, and for the agent that is asked (`QUORUM_PURPOSE`).
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Stage(_) => "stage",
            Self::RedTeam => "redTeam",
            Self::Vision => "vision",
        }
    }
}

/// What names one stage of a task's judging among all of them, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum StageKey {
    /// A stage that there is at most once.
    Of(Stage),
    /// One of those behind the verification.
    Step(Step),
}

impl StageKey {
    /// Its kind.
    #[must_use]
    pub fn stage(self) -> Stage {
        match self {
            Self::Of(stage) => stage,
            Self::Step(step) => step.stage(),
        }
    }

    /// Which of those behind the verification.
    #[must_use]
    pub fn step(self) -> Option<Step> {
        match self {
            Self::Of(_) => None,
            Self::Step(step) => Some(step),
        }
    }
}

/// What a stage says about the work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opinion {
    /// Its verdict.
    #[serde(rename = "v")]
    pub verdict: DeclaredVerdict,
    /// Why, in a sentence; empty where it needs none.
    #[serde(rename = "w", default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// What it found.
    #[serde(rename = "f", default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// What it answered for the points of the review before.
    #[serde(rename = "a", default, skip_serializing_if = "Vec::is_empty")]
    pub prior: Vec<PriorAnswer>,
}
