//! What names a piece of work that a task has under way: its effect, its end and what it costs alike.

use serde::{Deserialize, Serialize};

use crate::domain::{AskId, TaskId, TurnId};
use crate::engine::job::Job;

/// A piece of work for a task. Ordered by task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct WorkId {
    /// The task that it is for.
    pub task: TaskId,
    /// The piece of work among those of the task.
    pub work: TaskWork,
}

/// Work for a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TaskWork {
    /// A turn of the worker, by attempt and number.
    Turn(u32, u32),
    /// An agent is asked: the ask's number within the task, and its try.
    Ask(u32, u32),
    /// A command or a look at files, with the attempt and the turn at which the task was.
    Job(u32, u32, Job),
}

impl WorkId {
    pub fn turn(turn: TurnId) -> Self {
        Self { task: turn.task, work: TaskWork::Turn(turn.attempt, turn.turn) }
    }

    pub fn ask(id: AskId) -> Self {
        Self { task: id.task, work: TaskWork::Ask(id.number, id.attempt_try) }
    }

    pub fn job(turn: TurnId, job: Job) -> Self {
        Self { task: turn.task, work: TaskWork::Job(turn.attempt, turn.turn, job) }
    }

    /// The name of the work for people.
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self.work {
            TaskWork::Turn(..) => "a turn",
            TaskWork::Ask(..) => "a judge",
            TaskWork::Job(.., job) => job.describe(),
        }
    }
}
