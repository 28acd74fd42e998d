//! The stages of judging an attempt (semantics, sections 6 to 10 and 15): a row for each kind, and what names one of those
//! of a task.

use std::cmp::Ordering;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{DeclaredVerdict, Finding, PriorAnswer};

/// A kind of stage (section 6). The order of the variants is the order of judging: comparisons and pipelines go by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Stage {
    /// Exit status and the agent's own error.
    Outcome,
    /// Cheap checks that need no judge.
    Preflight,
    /// The agent's own obligations before it may call itself finished.
    Finish,
    /// Declared, deterministic checks.
    Checks,
    /// Panel or evaluation.
    Judge,
    /// Rubric, probes, confidence.
    Verification,
    /// One of the mission's own further stages.
    Stages,
    /// An agent that attacks the work.
    RedTeam,
    /// A check of screenshots.
    Vision,
    /// The proof of work that passed: checks that failed before it, somebody's judgement, or neither.
    Proof,
    /// The work is merged with what was accepted meanwhile (`isolation: worktree`).
    Merge,
    /// The last look at what was accepted.
    Audit,
}

/// The kind of reply that a stage behind the verification gives, and with that what follows where it gives
/// none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum StageReply {
    /// An opinion with a verdict. Without one the work is kept out.
    Opinion,
    /// Findings, from which the verdict follows. Without them the work goes on, and that is on record.
    Findings,
}

impl Stage {
    /// The row of the kind: its name as written in JSON and in spool files, and what it brings if it is a further stage, one
    /// that asks an agent or a command of its own in the way that all of them have in common.
    const fn row(self) -> (&'static str, Option<StageReply>) {
        match self {
            Self::Outcome => ("outcome", None),
            Self::Preflight => ("preflight", None),
            Self::Finish => ("finish", None),
            Self::Checks => ("checks", None),
            Self::Judge => ("judge", None),
            Self::Verification => ("verification", None),
            Self::Stages => ("stages", Some(StageReply::Opinion)),
            Self::RedTeam => ("redTeam", Some(StageReply::Findings)),
            Self::Vision => ("vision", Some(StageReply::Findings)),
            Self::Proof => ("proof", None),
            Self::Merge => ("merge", None),
            Self::Audit => ("audit", None),
        }
    }

    /// The name as written in JSON and in spool files.
    pub const fn as_str(self) -> &'static str {
        self.row().0
    }

    /// The kind of reply of a stage behind the verification; `None` for any other one.
    pub const fn reply(self) -> Option<StageReply> {
        self.row().1
    }

    /// Whether the stage is one behind the verification.
    pub const fn is_further(self) -> bool {
        self.reply().is_some()
    }
}

/// The key of one stage of a task's judging among all of them, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum StageKey {
    /// The stage of a kind that there is at most once.
    Of(Stage),
    /// One of the task's `stages`, by position.
    Own(u32),
}

impl StageKey {
    pub const OUTCOME: Self = Self::Of(Stage::Outcome);
    pub const PREFLIGHT: Self = Self::Of(Stage::Preflight);
    pub const FINISH: Self = Self::Of(Stage::Finish);
    /// The last stage that asks nobody.
    pub const CHECKS: Self = Self::Of(Stage::Checks);
    pub const JUDGE: Self = Self::Of(Stage::Judge);
    pub const VERIFICATION: Self = Self::Of(Stage::Verification);
    pub const RED_TEAM: Self = Self::Of(Stage::RedTeam);
    pub const VISION: Self = Self::Of(Stage::Vision);
    pub const MERGE: Self = Self::Of(Stage::Merge);

    /// The kind of the stage.
    pub const fn stage(self) -> Stage {
        self.place().0
    }

    /// The key itself, if it is of a stage behind the verification; else `None`.
    #[must_use]
    pub fn step(self) -> Option<Self> {
        self.stage().is_further().then_some(self)
    }

    /// The word for the stage: in events, and for the agent that is asked (`QUORUM_PURPOSE`).
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Of(stage) => stage.as_str(),
            Self::Own(_) => "stage",
        }
    }

    const fn place(self) -> (Stage, Option<u32>) {
        match self {
            Self::Of(stage) => (stage, None),
            Self::Own(n) => (Stage::Stages, Some(n)),
        }
    }
}

impl Ord for StageKey {
    fn cmp(&self, other: &Self) -> Ordering {
        self.place().cmp(&other.place())
    }
}

impl PartialOrd for StageKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for StageKey {
    /// Writes the stage as it stands in the names of its files, unlike any other of its task: `stages.0`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.stage().as_str())?;
        match self {
            Self::Of(_) => Ok(()),
            Self::Own(n) => write!(f, ".{n}"),
        }
    }
}

/// The opinion of a stage about the work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Opinion {
    pub verdict: DeclaredVerdict,
    /// Why, in a sentence; empty where it needs none.
    pub reason: String,
    /// The findings of the stage.
    pub findings: Vec<Finding>,
    /// The judge's answers to the points of the review before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prior: Vec<PriorAnswer>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_stand_in_the_order_of_their_kinds_and_then_of_the_file() {
        let mut keys = [
            StageKey::Of(Stage::Vision),
            StageKey::Own(1),
            StageKey::Of(Stage::Judge),
            StageKey::Own(0),
            StageKey::Of(Stage::Verification),
        ];
        keys.sort();
        assert_eq!(
            keys.map(|key| key.to_string()),
            ["judge", "verification", "stages.0", "stages.1", "vision"]
        );
    }

    #[test]
    fn schemas_of_documents_have_the_words_that_documents_write() {
        let schema = schemars::schema_for!(Stage).to_value().to_string();
        for stage in [Stage::RedTeam, Stage::Vision, Stage::Judge, Stage::Audit] {
            assert!(schema.contains(&format!("\"{}\"", stage.as_str())), "{schema}");
        }
        assert!(!schema.contains("red_team"), "{schema}");
    }

    #[test]
    fn a_journal_has_the_words_of_documents_for_stages_and_the_positions_of_those_of_a_task() {
        for (key, text) in [
            (StageKey::Own(2), "2"),
            (StageKey::Of(Stage::RedTeam), r#""redTeam""#),
            (StageKey::Of(Stage::Judge), r#""judge""#),
        ] {
            assert_eq!(serde_json::to_string(&key).unwrap(), text);
            assert_eq!(serde_json::from_str::<StageKey>(text).unwrap(), key);
        }
    }
}
