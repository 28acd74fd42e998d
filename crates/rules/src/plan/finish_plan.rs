//! What must hold before the work of a task is judged at all (`verify`), resolved (semantics, section 6.0).

use crate::mission::model;

/// `verify`, resolved: each command in a run of its own, in this order.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FinishGatePlan {
    /// The commands, each of which must exit 0.
    pub commands: Vec<FinishCommand>,
    /// Whether a file must have changed.
    pub require_file_changes: bool,
    /// How often the worker is told what is missing, in one attempt.
    pub max_nudges: u32,
    /// How often the worker is told that its work does not compile, in one attempt.
    pub max_compile_nudges: u32,
}

/// A command of a finish gate.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FinishCommand {
    /// The requirement that the command shows as met.
    pub shows: Requirement,
    /// The command, in which `{test}` stands for the test's name.
    pub command: String,
    /// The result before the work that the file declares; `None` where it declares none.
    pub before: Option<model::BeforeRule>,
    /// The list that names the test; `None` where no list does.
    pub list: Option<ListOf>,
}

/// A list of tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ListOf {
    /// The list `failToPass`.
    FailToPass,
    /// The list `passToPass`.
    PassToPass,
}

/// A requirement that a command of a finish gate shows as met.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Requirement {
    /// The work compiles.
    Compilation,
    /// The test of this name is green.
    Test(Box<str>),
    /// A requirement that only the command itself knows.
    Command,
}
