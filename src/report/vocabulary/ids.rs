//! The ids that people type: of what waits for them, and of what they are told.
//!
//! Both are made of numbers that stand in the journal, so that every process of every session gives the same thing
//! the same id.

use std::fmt;

use rules::domain::{BarrierId, HoldOwner, RunId, TaskId};

/// The id of what waits for a person: `<run-id>.<task index>.<number>`, of a checkpoint `<run-id>.c<index>.<number>`.
///
/// The number counts how often a person was asked about it, so an old answer cannot meet a new question.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ApprovalId<'a> {
    pub run: &'a RunId,
    /// The owner of the hold that asks the person.
    pub of: HoldOwner,
    /// How often a person was asked about it, this time included.
    pub number: u32,
}

impl fmt::Display for ApprovalId<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.run, self.of, self.number)
    }
}

/// Reads an approval's id: run, task or checkpoint, number.
pub fn parse_approval(text: &str) -> Option<(RunId, HoldOwner, u32)> {
    let mut parts = text.rsplitn(3, '.');
    let number = parts.next()?.parse().ok()?;
    let what = parts.next()?;
    let of = match what.strip_prefix('c') {
        Some(checkpoint) => BarrierId(checkpoint.parse().ok()?).into(),
        None => TaskId(what.parse().ok()?).into(),
    };
    Some((RunId::new(parts.next()?).ok()?, of, number))
}

/// Reads the id of an operator request: run, task, attempt.
pub fn parse_request(text: &str) -> Option<(RunId, TaskId, u32)> {
    let (of, attempt) = text.rsplit_once(".r")?;
    let (run, task) = of.rsplit_once('.')?;
    Some((RunId::new(run).ok()?, TaskId(task.parse().ok()?), attempt.parse().ok()?))
}

/// The id of an operator request: `<run-id>.<task index>.r<attempt>`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RequestId<'a> {
    pub run: &'a RunId,
    /// The task that the request is about.
    pub task: TaskId,
    /// The attempt after which the request was raised; one attempt raises at most one.
    pub attempt: u32,
}

impl fmt::Display for RequestId<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.r{}", self.run, self.task.0, self.attempt)
    }
}

/// The id of a notification: `<run-id>.n<number>`. A receiver that has seen it has seen the notification.
pub fn notification_id(run: &str, number: u32) -> String {
    format!("{run}.n{number}")
}

/// The stable id of a task in events: `t<index>`. The title stands beside it.
pub fn task_key(task: TaskId) -> String {
    format!("t{}", task.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_name_run_task_and_occasion() {
        let run = RunId::new("20261121-215900-ab12").unwrap();
        let approval = ApprovalId { run: &run, of: TaskId(3).into(), number: 2 };
        let request = RequestId { run: &run, task: TaskId(3), attempt: 2 };
        assert_eq!(approval.to_string(), "20261121-215900-ab12.3.2");
        assert_eq!(parse_approval(&approval.to_string()), Some((run.clone(), TaskId(3).into(), 2)));
        let checkpoint = ApprovalId { run: &run, of: BarrierId(1).into(), number: 1 };
        assert_eq!(parse_approval(&checkpoint.to_string()), Some((run.clone(), BarrierId(1).into(), 1)));
        for wrong in ["", "run", "run.3", "run.x.1", "run.3.r2", ".3.2"] {
            assert_eq!(parse_approval(wrong), None, "{wrong}");
        }
        assert_eq!(request.to_string(), "20261121-215900-ab12.3.r2");
        assert_eq!(parse_request("20261121-215900-ab12.3.r2"), Some((run, TaskId(3), 2)));
        for wrong in ["", "run", "run.3.2", "run.r3.r2", "run.x.r1", ".3.r2", "run.3.r"] {
            assert_eq!(parse_request(wrong), None, "{wrong}");
        }
    }
}
