//! Work for a task that is neither a turn nor a question to an agent: commands that are run, files that are looked at
//! (semantics, section 21). What is out follows from the state: [`TaskState::jobs`] says it for whoever starts it after a crash,
//! asks whether it is still wanted, or takes its end.

use serde::{Deserialize, Serialize};

use crate::domain::{Advice, CriterionGrade, Purpose, Status, Step, TaskId, TurnId};

use super::audit::AfterScan;
use super::payload::{CheckResult, FileFact};
use super::state::{Judging, State, TaskState};

/// One piece of such work, by what tells it apart within its task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Job {
    /// The files that the task's rules name are looked at.
    Scan {
        /// Which look it is, from 1.
        number: u32,
        /// What follows.
        then: AfterScan,
    },
    /// The files of a failed dependency are looked at.
    Artifacts(TaskId),
    /// A command of the finish gate, by its position.
    Finish(u32),
    /// A check, by its position.
    Check(u32),
    /// The criteria are graded by plain facts, in this round.
    Grade(u32),
    /// A stage behind the verification that needs no agent, in this round; in round 0 a vision check looks which of its
    /// screenshots are there.
    Stage(Step, u32),
    /// A command is asked whether the task may start.
    Approver {
        /// Which approval, by its number within the task.
        number: u32,
        /// Which of its approvers, by position.
        approver: u32,
    },
}

/// How such work ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum JobEnd {
    /// Files were looked at.
    Seen {
        /// What was seen.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<FileFact>,
        /// Why the task's answer stands for no work, where that was asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hollow: Option<String>,
    },
    /// A check or a command of the finish gate ended.
    Checked(CheckResult),
    /// One grade for each criterion, in their order, or why there are none.
    Graded(Result<Vec<CriterionGrade>, String>),
    /// What a stage says, or why it says nothing.
    Judged(Result<Advice, String>),
    /// An approver came back.
    Said(ApproverSaid),
}

impl JobEnd {
    /// Whether the work brought what it was for. What it brought may be bad news.
    #[must_use]
    pub fn is_answer(&self) -> bool {
        match self {
            Self::Seen { .. } | Self::Checked(_) | Self::Said(_) => true,
            Self::Graded(result) => result.is_ok(),
            Self::Judged(result) => result.is_ok(),
        }
    }
}

/// What an approver that is no person said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApproverSaid {
    /// It agrees.
    Yes,
    /// It refuses, for this reason.
    No(String),
    /// It leaves it open, for this reason.
    Open(String),
}

impl Judging {
    /// Work for the judging of an attempt that has not come back.
    pub(in crate::engine) fn jobs(&self, scans: u32) -> impl Iterator<Item = Job> {
        let scan = self.scanning.then_some(Job::Scan {
            number: scans,
            then: self.then,
        });
        let others = (!self.scanning).then(|| {
            let checks = (0..).zip(&self.checks).filter(|(_, result)| result.is_none());
            let stage = self.stage.filter(|stage| stage.open && stage.plain);
            checks
                .map(|(check, _)| Job::Check(check))
                .chain(stage.map(|stage| {
                    let step = stage.key.step();
                    step.map_or(Job::Grade(stage.round), |step| Job::Stage(step, stage.round))
                }))
        });
        let finish = self.finish_open().map(Job::Finish);
        scan.into_iter().chain(finish).chain(others.into_iter().flatten())
    }
}

impl TaskState {
    /// Work that was asked for and has not come back.
    pub fn jobs(&self) -> impl Iterator<Item = Job> {
        let judging = self.judging().filter(|_| self.status() == Status::Review);
        let judging = judging
            .into_iter()
            .flat_map(|judging| judging.jobs(self.work.scans));
        let waiting = self.hold().filter(|_| self.status() == Status::AwaitingApproval);
        let by_agent = self
            .work
            .asks
            .iter()
            .any(|open| matches!(open.purpose, Purpose::Approve { .. }));
        let approver = waiting.filter(|_| !by_agent).and_then(|waiting| {
            Some(Job::Approver {
                number: waiting.number,
                approver: waiting.asking?,
            })
        });
        let dependencies = self.remedies.iter().flat_map(|remedies| &remedies.scanning);
        let artifacts = dependencies.map(|dependency| Job::Artifacts(*dependency));
        judging.chain(approver).chain(artifacts)
    }
}

impl State {
    /// Whether the work is still waited for, with the turn at which the task was when it was asked for.
    #[must_use]
    pub fn is_out(&self, turn: TurnId, job: Job) -> bool {
        let task = self.tasks.get(turn.task.index());
        task.is_some_and(|task| self.current_turn(turn.task) == turn && task.jobs().any(|open| open == job))
    }
}
