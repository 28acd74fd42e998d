//! The events of the journal, grouped by the entity that they are about.
//!
//! An event is written as `{"task":[3,{"transition":{"from":"pending","to":"assigned"}}]}`: the entity, its id, the name
//! of what happened, and its fields, under the keys that `quorum events` prints and in their order. The public names are
//! those of semantics, section 21 (see `report::events`). Fields are only ever added, with a default.
//!
//! | file | what |
//! |---|---|
//! | `budget` | what happens to the budget of a run, and to the calls that it holds |
//! | `gate` | what happens to a quality gate |
//! | `hold` | what happens to what a task, or what stands behind a checkpoint or a delay, waits with |
//! | `run` | what happens to a run as a whole |
//! | `task` | what happens to the standing of a task |
//! | `work` | what happens to things that are under way: turns of workers, questions to agents, and all other work |

mod budget;
mod gate;
mod hold;
mod run;
mod task;
mod work;

use serde::{Deserialize, Serialize};

use crate::domain::{AskId, AttemptKind, GateId, HoldOwner, TaskId, TurnId};
use crate::plan::PlanStep;

use super::deadline::DeadlineEvent;
use super::event_payload::StageReport;
use super::notice::NoticeEvent;
use super::voided::VoidedStage;

pub use budget::{BudgetEvent, Ceiling};
pub use gate::GateEvent;
pub use hold::{HoldEvent, Resolution};
pub use run::{Concern, RunEvent, RunWork};
pub use task::{DependencyStep, TaskEvent};
pub use work::{AskEvent, TurnEvent, WorkEvent};

/// The most events that are decided at once, where many tasks are concerned: a record that is too long could
/// not be written, and would be made again by each session.
pub const MOST_AT_ONCE: usize = 10_000;

/// One thing that happened. State changes only by [`super::apply`]ing these.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Event {
    /// To the run as a whole.
    Run(RunEvent),
    /// To the standing of a task.
    Task(TaskId, TaskEvent),
    /// To something that is under way for a task, and is neither a turn nor a question to an agent.
    Work(TaskId, WorkEvent),
    /// To a turn of a task's worker.
    Turn(TurnId, TurnEvent),
    /// To an agent that is asked.
    Ask(AskId, AskEvent),
    /// To a quality gate.
    Gate(GateId, GateEvent),
    /// To what a task, or what stands behind a checkpoint or a delay, waits with.
    Hold(HoldOwner, HoldEvent),
    /// To the budget of the run, and the calls that it holds.
    Budget(BudgetEvent),
    /// To the deadline of a task or of the mission.
    Deadline(Box<DeadlineEvent>),
    /// To a notification or a dead letter.
    Notice(Box<NoticeEvent>),
}

impl Event {
    /// The verdict of a stage.
    pub fn verdict(report: StageReport) -> Self {
        Self::Task(report.task, TaskEvent::StageVerdict(Box::new(report)))
    }

    /// A part of judging that does not count.
    pub fn voided(voided: VoidedStage) -> Self {
        Self::Task(voided.work.task, TaskEvent::StageVoided(Box::new(voided)))
    }

    /// The change of the plan that the event makes; `None` for no change, and for another mission.
    pub fn plan_step(&self) -> Option<PlanStep> {
        match self {
            Self::Run(RunEvent::TasksAdded(addition)) => Some(PlanStep::Added(addition.clone())),
            Self::Run(RunEvent::TasksWithdrawn { tasks }) => Some(PlanStep::Withdrawn(tasks.clone())),
            Self::Task(task, TaskEvent::FellBack { to, work: true, .. }) => {
                Some(PlanStep::HandedOver { task: *task, to: *to })
            }
            Self::Task(task, TaskEvent::AttemptPlanned { kind: AttemptKind::Execute, .. }) => {
                Some(PlanStep::Anew(*task))
            }
            _ => None,
        }
    }

    /// The task that it is about; `None` where it is about the run, or about several tasks.
    pub fn task(&self) -> Option<TaskId> {
        match self {
            Self::Task(task, _) | Self::Work(task, _) => Some(*task),
            Self::Turn(turn, _) => Some(turn.task),
            Self::Ask(ask, _) => Some(ask.task),
            Self::Budget(event) => event.call().map(|call| call.task),
            Self::Deadline(event) => event.task,
            Self::Hold(of, _) => of.task(),
            _ => None,
        }
    }
}
