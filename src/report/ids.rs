//! The ids that people type: of what waits for them, and of what they are told.
//!
//! Both are made of numbers that stand in the journal, so that every process of every session gives the same thing
//! the same id.

use std::fmt;

use crate::domain::{HoldId, RunId, TaskId};

/// The id of an approval: `<run-id>.<task index>.<number>`.
///
/// The number counts how often a person was asked about the task, so an old answer cannot meet a new question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApprovalId<'a> {
    /// The run.
    pub run: &'a RunId,
    /// The task that waits.
    pub task: TaskId,
    /// How often a person was asked about it, this time included.
    pub number: u32,
}

impl fmt::Display for ApprovalId<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.run, self.task.0, self.number)
    }
}

/// The id of a checkpoint that waits: `<run-id>.c<index>.<number>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckpointId<'a> {
    /// The run.
    pub run: &'a RunId,
    /// The checkpoint.
    pub hold: HoldId,
    /// How often it was reached, this time included.
    pub number: u32,
}

impl fmt::Display for CheckpointId<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.c{}.{}", self.run, self.hold.0, self.number)
    }
}

/// What waits for a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waits {
    /// A task.
    Task(TaskId),
    /// A checkpoint.
    Checkpoint(HoldId),
}

/// What an approval's id names: run, task or checkpoint, number.
#[must_use]
pub fn parse_approval(text: &str) -> Option<(RunId, Waits, u32)> {
    let mut parts = text.rsplitn(3, '.');
    let number = parts.next()?.parse().ok()?;
    let what = parts.next()?;
    let waits = match what.strip_prefix('c') {
        Some(hold) => Waits::Checkpoint(HoldId(hold.parse().ok()?)),
        None => Waits::Task(TaskId(what.parse().ok()?)),
    };
    Some((RunId::new(parts.next()?).ok()?, waits, number))
}

/// The id of an operator request: `<run-id>.<task index>.r<attempt>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestId<'a> {
    /// The run.
    pub run: &'a RunId,
    /// The task it is about.
    pub task: TaskId,
    /// The attempt after which it was raised; one attempt raises at most one.
    pub attempt: u32,
}

impl fmt::Display for RequestId<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.r{}", self.run, self.task.0, self.attempt)
    }
}

/// The id of a notification: `<run-id>.n<number>`. A receiver that has seen it has seen the notification.
#[must_use]
pub fn notification_id(run: &str, number: u32) -> String {
    format!("{run}.n{number}")
}

/// The stable id of a task in events: `t<index>`. The title stands beside it.
#[must_use]
pub fn task_key(task: TaskId) -> String {
    format!("t{}", task.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_name_run_task_and_occasion() {
        let run = RunId::new("20261121-215900-ab12").unwrap();
        let approval = ApprovalId {
            run: &run,
            task: TaskId(3),
            number: 2,
        };
        let request = RequestId {
            run: &run,
            task: TaskId(3),
            attempt: 2,
        };
        assert_eq!(approval.to_string(), "20261121-215900-ab12.3.2");
        assert_eq!(
            parse_approval(&approval.to_string()),
            Some((run.clone(), Waits::Task(TaskId(3)), 2))
        );
        let checkpoint = CheckpointId {
            run: &run,
            hold: HoldId(1),
            number: 1,
        };
        assert_eq!(
            parse_approval(&checkpoint.to_string()),
            Some((run.clone(), Waits::Checkpoint(HoldId(1)), 1))
        );
        for wrong in ["", "run", "run.3", "run.x.1", "run.3.r2", ".3.2"] {
            assert_eq!(parse_approval(wrong), None, "{wrong}");
        }
        assert_eq!(request.to_string(), "20261121-215900-ab12.3.r2");
    }
}
