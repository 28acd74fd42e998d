//! What happens to the standing of a task.

use serde::{Deserialize, Serialize};
use serde_with::{apply, skip_serializing_none};

use crate::domain::{
    AgentId, AttemptKind, Digest, Edge, FailureClass, FailureMode, Finding, Phase, Points, Probe,
    QualityFlag, StageKey, Status, TaskId,
};
use crate::engine::event_payload::{Deferral, FileFact, StageReport, Way, is_default};
use crate::engine::quality_flag::Mark;
use crate::engine::voided::VoidedStage;

/// An event of the state of a task: its attempts, verdicts about it, its waits.
#[skip_serializing_none]
#[apply(Vec => #[serde(default, skip_serializing_if = "is_default")], bool => #[serde(default, skip_serializing_if = "is_default")])]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum TaskEvent {
    /// The status of the task changed (`task:transition`).
    Transition {
        /// The state that the task leaves.
        from: Status,
        /// The state that the task enters.
        to: Status,
        /// The phase that the task is in then.
        phase: Option<Phase>,
        /// The way in which a task failed; `None` for other states.
        mode: Option<FailureMode>,
        /// For `done`: how good.
        #[serde(rename = "qualityFlag")]
        flag: Option<QualityFlag>,
        /// Why, where the states do not say it.
        reason: Option<String>,
    },
    /// A new attempt begins (`task:fix`, `task:retry` for the later ones).
    AttemptPlanned {
        /// The attempt's number, counted from 1 over the whole run.
        attempt: u32,
        /// The kind of the attempt.
        kind: AttemptKind,
    },
    /// A stage gave its verdict (`stage:verdict`).
    StageVerdict(Box<StageReport>),
    /// `stage:voided`: while a part of judging was at work, protected files were not what they were: it is done again,
    /// or the task has failed.
    StageVoided(Box<VoidedStage>),
    /// `files:changed`: files that the task names are not what was shown to its judges, or to the person who is asked.
    FilesChanged {
        /// The paths of these files.
        #[serde_with(skip_apply)]
        paths: Vec<String>,
        /// While a person is asked: the files that there are now.
        files: Vec<FileFact>,
    },
    /// `acceptance:recorded`: what the task is accepted for. Before its transition.
    AcceptanceRecorded {
        /// The files that the task names and that are there.
        #[serde_with(skip_apply)]
        files: Vec<FileFact>,
        /// The checks that passed, by position.
        #[serde_with(skip_apply)]
        checks: Vec<u32>,
    },
    /// The open stage failed in this round: whoever was asked said nothing that counts. That one's end is told.
    StageFailed {
        stage: StageKey,
        /// The failure in words.
        message: String,
    },
    /// The work is good enough: it is to be merged before it is accepted.
    MergeBegun {
        /// The mark that the acceptance leaves on the work.
        mark: Option<Mark>,
    },
    /// `task:regressed`: what the task was accepted for does not stand any more. The transition beside it says whether it is
    /// done again.
    Regressed {
        /// Why the accepted work does not stand.
        reason: String,
        /// The files of its record that are gone or empty.
        files: Vec<FileFact>,
        /// Regressed tasks that name a common file and are done again before it.
        behind: Vec<TaskId>,
        /// Regressed tasks that name a common file, have not begun, and are done again after it, because they come later in
        /// the mission's order.
        ahead_of: Vec<TaskId>,
        /// Verifications that judge it once more when it is done again.
        judged_again: Vec<TaskId>,
    },
    /// `task:superseded`: a clean fixup made up for the failure of the task.
    Superseded {
        /// The fixup that made up for the task.
        by: TaskId,
    },
    /// `task:nudge`: the worker is told what its finish gate misses, in another turn of the same attempt.
    Nudged {
        /// Whether the nudge counts as being told that the work does not compile.
        compilation: bool,
        /// Whether the nudge counts as being told of the rest.
        others: bool,
        /// The unmet requirements of the finish gate.
        #[serde_with(skip_apply)]
        missing: Vec<Finding>,
    },
    /// `probes:made`: the criteria of the task were cut into probes. They hold until the task begins anew.
    Probed { probes: Vec<Probe> },
    /// A reply of a judge could not be read (`task.eval.unparsed`).
    EvalUnparsed,
    /// `task.forceAccept`: accepted below the bar, after all attempts.
    ForceAccepted {
        /// The last score; `None` if it could not be read.
        points: Option<Points>,
        /// The message for operators.
        message: String,
    },
    /// `acceptance:answered`: a person was told that the work was accepted below its bar, and knows of it or refuses it.
    AcceptanceAnswered {
        /// By whom, as recorded.
        by: String,
        /// Why the work is refused; `None` where it stays accepted.
        reason: Option<String>,
    },
    /// `agent:fallback`: an agent cannot be reached, and another one is asked instead or goes on with the work.
    FellBack {
        /// The agent that cannot be reached.
        from: AgentId,
        /// The agent that is asked instead, or goes on.
        to: AgentId,
        /// Why the first cannot be reached, by class.
        class: FailureClass,
        message: String,
        /// Whether the agent goes on with the work, from here on.
        work: bool,
    },
    /// `task:question`: the agent of the task waits for an answer; `tool:asked`: for a person's word about a tool call.
    Question {
        /// The question of the agent.
        question: String,
        /// Whether the output only looked like a question and the orchestrator confirmed it.
        #[serde_with(skip_apply)]
        detected: bool,
        /// For a tool call: its digest.
        call: Option<Digest>,
    },
    /// A question was answered (`task:answered`).
    Answered {
        /// The answer for the agent.
        answer: String,
        /// By whom: the orchestrator, or a person as recorded.
        by: String,
        /// Where a person answered: the approval's number within the task.
        number: Option<u32>,
    },
    /// A dependency of the task failed for good: `deadlock:detected`, `deadlock:resolved`, `deadlock:unresolvable`.
    DependencyFailed {
        /// The dependency that failed.
        dependency: TaskId,
        /// What is done about it.
        step: DependencyStep,
        /// What the task is told, the files that are there, why the dependency is tried again, or why the orchestrator knew
        /// no way.
        #[serde(default, skip_serializing_if = "is_default")]
        note: String,
    },
    /// `verification:routed`: the verdict of this verification took one of its edges. It stands before the verification
    /// is done, or behind what is done again.
    EdgeTaken {
        edge: Edge,
        /// Where the edge leads.
        to: TaskId,
        /// How often the verification has judged, since it last began by a person's word.
        visit: u32,
        /// Tasks that leave the run: nothing leads to them any more.
        #[serde_with(skip_apply)]
        not_taken: Vec<TaskId>,
        /// Tasks that were at work on what is done again.
        #[serde_with(skip_apply)]
        stopped: Vec<TaskId>,
        /// Other verifications that are redone, with the visits that they had: those count on.
        kept: Vec<(TaskId, u32)>,
    },
    /// `task:window`, the pause between two attempts, or `task:queued`: the task waits for a moment or for a slot, and
    /// holds none. `task:released`: the moment has come, or a slot is free.
    Deferred {
        /// What it waits for; `None`: it has come.
        until: Option<Box<Deferral>>,
    },
    /// `delegation:refused`: a sub-task that the agent asked for is not made.
    DelegationRefused {
        /// The title of the sub-task.
        refused: String,
        /// Why the sub-task is not made.
        reason: String,
    },
    /// `delegation:drift`: the task is about to be worked on, and its text, or that of those who delegated it, is not what
    /// it was when it was delegated.
    DelegationDrift {
        /// The digest on record.
        stored_hash: Digest,
        /// The digest of the file now.
        chain_hash: Digest,
    },
}

/// What is done about a dependency that failed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DependencyStep {
    /// Nothing yet: the task cannot start.
    Detected,
    /// The task can do without it, or it is tried again.
    Resolved(Way),
    /// Nothing can stand in for it; `task:escalated` where so many waves in a row brought nothing that no agent is asked for
    /// another way.
    Unresolvable(Option<u32>),
}
