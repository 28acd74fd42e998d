//! Work for a task that is neither a turn nor a question to an agent: commands that are run, files that are looked at
//! (semantics, section 21). What is out follows from the state: `state/jobs.rs` says it.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::domain::{Answer, CriterionGrade, StageKey, TaskId};

use super::audit::AfterScan;
use super::baseline_record::BaselineResult;
use super::event_payload::{CheckResult, FileFact};
use super::merging::Merged;
use super::test_looks::{Look, Looked};

/// One piece of such work, by what tells it apart within its task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Job {
    /// The files that the task's rules name are looked at.
    Scan {
        /// The number of the look, from 1.
        number: u32,
        /// The step behind the look.
        then: AfterScan,
    },
    /// The files of a failed dependency are looked at.
    Artifacts(TaskId),
    /// The checks of the task run before its work.
    Baseline,
    /// Tests that the work changed are run elsewhere.
    Look(Look),
    /// A command of the finish gate, by its position.
    Finish(u32),
    /// The check of the task at this position runs.
    Check(u32),
    /// The criteria are graded by plain facts, in this round.
    Grade(u32),
    /// A further stage that needs no agent, in this round; in round 0 a vision check looks which of its
    /// screenshots are there.
    Stage(StageKey, u32),
    /// The work is merged with what was accepted meanwhile: which try of this judging it is, from 1.
    Merge(u32),
    /// A check of another task, by position, on merged work: both have changed the same file.
    PeerCheck(TaskId, u32),
    /// A command is asked whether the task may start.
    Approver {
        /// The number of the approval within the task.
        number: u32,
        /// The position of the approver.
        approver: u32,
    },
}

impl Job {
    /// The name of the job for people.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Baseline => "its baseline",
            Self::Look(Look::Old) => "a look at its old tests",
            Self::Look(Look::New) => "a look at its new tests",
            Self::Finish(_) => "a command of its finish gate",
            Self::Check(_) => "a check",
            Self::Grade(_) => "its verification",
            Self::Stage(..) => "a stage",
            Self::Merge(_) => "its merge",
            Self::PeerCheck(..) => "a check of another task",
            Self::Approver { .. } => "an approver",
            Self::Scan { .. } | Self::Artifacts(_) => "a look at its files",
        }
    }

    /// Whether somebody judges by it; a look at files serves whoever does.
    pub fn judges(self) -> bool {
        !matches!(self, Self::Scan { .. } | Self::Artifacts(_) | Self::Merge(_))
    }
}

/// How such work ended.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum JobEnd {
    /// Files were looked at.
    Seen {
        /// The files as they were seen.
        files: Vec<FileFact>,
        /// Why the task's answer stands for no work, where that was asked.
        hollow: Option<String>,
    },
    /// The result of each check before the work.
    Baseline {
        /// The commit that a task in a worktree began with; `None` elsewhere.
        on: Option<Box<str>>,
        checks: Vec<BaselineResult>,
    },
    /// The results of tests that the work changed, on other files.
    Looked(Box<Looked>),
    /// A check or a command of the finish gate ended.
    Checked(CheckResult),
    /// One grade for each criterion, in their order, or why there are none.
    Graded(Result<Vec<CriterionGrade>, String>),
    /// The answer of a stage, or why it says nothing.
    Judged(Result<Answer, String>),
    /// A try to merge came to an end.
    Merged(Merged),
    /// An approver came back.
    Approver(ApproverSaid),
}

impl JobEnd {
    /// Whether the work brought what it was for. What it brought may be bad news.
    pub fn is_answer(&self) -> bool {
        match self {
            Self::Seen { .. }
            | Self::Baseline { .. }
            | Self::Looked(_)
            | Self::Checked(_)
            | Self::Approver(_) => true,
            Self::Graded(result) => result.is_ok(),
            Self::Judged(result) => result.is_ok(),
            Self::Merged(merged) => !matches!(merged, Merged::Refused(_)),
        }
    }
}

/// The answer of an approver that is no person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApproverSaid {
    /// The approver agrees.
    Yes,
    /// The approver refuses, for this reason.
    No(String),
    /// The approver leaves the question open, for this reason.
    Open(String),
}
