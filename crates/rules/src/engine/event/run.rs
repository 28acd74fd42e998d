//! What happens to a run as a whole.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::domain::{OutcomeClass, Points, TaskId, Timestamp};
use crate::engine::event_payload::{
    FileFact, FileRef, OriginCode, ProtectedFiles, RunStarted, Salvaged, StopCause, is_default,
};
use crate::engine::fact::LaterSession;
use crate::engine::merging::Delivery;
use crate::engine::mission_change::MissionChange;
use crate::engine::operator_command::CommandResult;
use crate::plan::Addition;

/// An event of a run as a whole: of its sessions, its mission and tasks, its audits, or its operator.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum RunEvent {
    /// The run began (`run:started`).
    Started(Box<RunStarted>),
    /// `run:resumed`: a later session of the same run began.
    Resumed(Box<LaterSession>),
    /// `run:moved`: the state was carried elsewhere, and the session that begins works where it lies now.
    Moved {
        /// The folder in which the state lay.
        from: PathBuf,
        /// The folder in which the state lies.
        to: PathBuf,
    },
    /// `run:stopping`: nothing new is started, running turns are ended.
    Stopping(StopCause),
    /// `run:finished`: the last event of each session.
    Finished {
        outcome: OutcomeClass,
        /// All conditions that hold, the one that weighs most first.
        conditions: Vec<OutcomeClass>,
        /// Conditions that hold and were allowed by `--allow`.
        #[serde(default, skip_serializing_if = "is_default")]
        allowed: Vec<OutcomeClass>,
        /// By whose key this event is vouched for, together with all that stands before it. Rules know nothing of keys:
        /// whoever writes the record adds it.
        origin: Option<Box<OriginCode>>,
    },
    /// `mission:changed`: from here on the run goes by another mission.
    MissionChanged(Box<MissionChange>),
    /// `tasks:added`: the run has more tasks from here on. They follow with their `task:created`.
    TasksAdded(Box<Addition>),
    /// `tasks:withdrawn`: added tasks that the run does not have any more, because what asked for them is done again.
    TasksWithdrawn { tasks: Vec<TaskId> },
    /// `protection:noted`: the programs and scripts that judge, as they were when the run began: they are protected as
    /// long as it lasts.
    ProtectionNoted(ProtectedFiles),
    /// `work:requested` of work that is of no task.
    WorkRequested(RunWork),
    /// `work:ended` of an audit.
    AuditFinished {
        /// The number of the audit in the run, from 1.
        number: u32,
        /// Tasks whose checks ran again and passed.
        #[serde(default, skip_serializing_if = "is_default")]
        checked: Vec<TaskId>,
        /// Files of tasks that stand though the files hold something else now.
        #[serde(default, skip_serializing_if = "is_default")]
        files: Vec<(TaskId, Vec<FileFact>)>,
        /// The sealed file that holds what was seen. `None` in older journals.
        record: Option<FileRef>,
        /// The first task of which nothing is said because there was too much to say: from this one on it is the next
        /// audit's.
        rest: Option<TaskId>,
    },
    /// `work:ended` of a delivery.
    WorkDelivered(Delivery),
    /// `run:paused`: nothing more is started in this session; `run:cancelled`: a person called the whole run off, its open
    /// tasks fail with it, in the same record.
    Paused {
        /// By whom, as recorded.
        by: String,
        /// Whether it is called off.
        #[serde(default, skip_serializing_if = "is_default")]
        for_good: bool,
    },
    /// `run:limit`: the session has a time limit; `run:waiting`: only a person can move the run on, and the session is kept
    /// alive for an answer. Whatever moves a task ends the wait.
    SessionLimit {
        /// When the session ends.
        until: Timestamp,
        /// Whether it only waits for an answer.
        #[serde(default, skip_serializing_if = "is_default")]
        waits: bool,
    },
    /// `operator:command`: a command was taken, with its result.
    CommandTaken {
        /// The id of the command.
        #[serde(rename = "commandId")]
        id: String,
        /// The result of the command.
        result: CommandResult,
        /// By whom, as recorded.
        by: String,
    },
    /// The score of the mission missed its bar (`quality:threshold:failed`).
    ThresholdFailed {
        /// The score of the mission.
        avg_score: Points,
        /// The bar of the mission.
        threshold: Points,
    },
    /// `run:salvaged`: a person kept the good beginning of a damaged journal. What was recorded behind it is unknown.
    Salvaged(Salvaged),
    /// `log`, `run:unconfined`, `state:foreign`: something a person should know.
    Warning(Concern, String),
}

/// The concern of a warning, by its effect on the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Concern {
    /// The warning changes nothing.
    #[default]
    Notice,
    /// From here on processes of the run are not kept from what judges them by the system, not all of them at least.
    Unconfined,
    /// What the session rests on was touched by somebody else. Nothing that it ends with is believed: the outcome is
    /// internal, until a later session begins.
    Foreign,
}

/// Work that is of no task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum RunWork {
    /// What was accepted is looked at again.
    Audit {
        /// The number of the audit in the run, from 1.
        number: u32,
    },
    /// The accepted work of isolated tasks is brought into the user's repository.
    Delivery {
        /// Whether the branch is to have it: the run would end well.
        merge: bool,
    },
}
