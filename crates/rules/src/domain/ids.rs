//! Identifiers: dense `u32` indices inside a run, a sortable text for the run itself.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! index_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
        // Written as its number; whoever walks an event knows it by its name.
        pub struct $name(pub u32);

        impl $name {
            /// The position in the plan's vector.
            pub fn index(self) -> usize {
                self.0 as usize
            }

            /// The id of the element at `index`.
            ///
            /// # Panics
            /// Never for a loaded mission: the loader refuses more than `u32::MAX` elements.
            pub fn from_index(index: usize) -> Self {
                Self(u32::try_from(index).expect("the loader limits a mission to u32::MAX elements"))
            }
        }

        impl From<$name> for usize {
            fn from(id: $name) -> Self {
                id.index()
            }
        }
    };
}

index_id! {
    /// A task, by its position in the mission file.
    TaskId
}
index_id! {
    /// An agent, by its position in the mission file.
    AgentId
}
index_id! {
    /// A gate, by its position in the mission file.
    GateId
}

index_id! {
    /// A barrier, which is a checkpoint or a delay, by its position: the mission's checkpoints first, then its delays.
    BarrierId
}

/// The owner of a hold: a task, a checkpoint or a delay that does not move until a person or a moment says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum HoldOwner {
    Task(TaskId),
    /// A checkpoint or a delay: what stands behind it does not start.
    Barrier(BarrierId),
}

impl HoldOwner {
    /// The task, where the owner is one.
    pub fn task(self) -> Option<TaskId> {
        match self {
            Self::Task(task) => Some(task),
            Self::Barrier(_) => None,
        }
    }

    /// The checkpoint or delay, where the owner is one.
    pub fn barrier(self) -> Option<BarrierId> {
        match self {
            Self::Task(_) => None,
            Self::Barrier(barrier) => Some(barrier),
        }
    }
}

impl fmt::Display for HoldOwner {
    /// `3`, or `c1`: as ids of what waits for a person name it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Task(task) => write!(f, "{}", task.0),
            Self::Barrier(barrier) => write!(f, "c{}", barrier.0),
        }
    }
}

impl From<TaskId> for HoldOwner {
    fn from(task: TaskId) -> Self {
        Self::Task(task)
    }
}

impl From<BarrierId> for HoldOwner {
    fn from(barrier: BarrierId) -> Self {
        Self::Barrier(barrier)
    }
}

/// The identity of an effect: one turn of one attempt at one task (semantics, section 1). Written as `[task,
/// attempt, turn]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(from = "(TaskId, u32, u32)", into = "(TaskId, u32, u32)")]
pub struct TurnId {
    pub task: TaskId,
    /// The attempt, counted from 1 over the whole run.
    pub attempt: u32,
    /// The turn within the attempt, counted from 1.
    pub turn: u32,
}

impl From<(TaskId, u32, u32)> for TurnId {
    fn from((task, attempt, turn): (TaskId, u32, u32)) -> Self {
        Self { task, attempt, turn }
    }
}

impl From<TurnId> for (TaskId, u32, u32) {
    fn from(id: TurnId) -> Self {
        (id.task, id.attempt, id.turn)
    }
}

impl fmt::Display for TurnId {
    /// `12.1.1`: how the turn's spool files are named.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.task.0, self.attempt, self.turn)
    }
}

/// The name of a run: a folder name below `.polpo/runs/`, ordered by start time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct RunId(String);

/// A run id that cannot be a folder name.
#[derive(Debug, thiserror::Error)]
#[error(
    "'{0}' is not a run id: use 1 to 64 letters, digits, '-', '_' or '.', starting with a letter or digit"
)]
pub struct InvalidRunId(String);

impl RunId {
    /// Checks and takes a run id.
    ///
    /// # Errors
    /// When the text could not be one plain folder name.
    pub fn new(text: impl Into<String>) -> Result<Self, InvalidRunId> {
        let text = text.into();
        let first_ok = text.starts_with(|c: char| c.is_ascii_alphanumeric());
        let rest_ok = text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
        if first_ok && rest_ok && text.len() <= 64 { Ok(Self(text)) } else { Err(InvalidRunId(text)) }
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for RunId {
    type Error = InvalidRunId;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::new(text)
    }
}

impl std::str::FromStr for RunId {
    type Err = InvalidRunId;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::new(text)
    }
}

impl From<RunId> for String {
    fn from(id: RunId) -> Self {
        id.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_id_is_one_plain_folder_name() {
        for good in ["20261121-215900-ab12", "r1", "a.b_c-d"] {
            assert!(RunId::new(good).is_ok(), "{good}");
        }
        for bad in ["", ".", "..", "../x", "a/b", "-x", "a b", "é"] {
            assert!(RunId::new(bad).is_err(), "{bad}");
        }
    }
}
