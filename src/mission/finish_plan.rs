//! What must hold before the work of a task is judged at all (`verify`), resolved (semantics, section 6.0).

use super::model;

/// `verify`, resolved: each command in a run of its own, in this order.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FinishGatePlan {
    /// What must exit 0.
    pub commands: Vec<FinishCommand>,
    /// Whether a file must have changed.
    pub require_file_changes: bool,
    /// How often the worker is told what is missing, in one attempt.
    pub max_nudges: u32,
    /// How often it is told that its work does not compile.
    pub max_compile_nudges: u32,
}

impl FinishGatePlan {
    /// Whether its commands show more of the work than that it compiles, as checks do.
    pub fn checks_work(&self) -> bool {
        let mut commands = self.commands.iter();
        commands.any(|command| command.shows != Requirement::Compilation)
    }
}

/// A command of a finish gate.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FinishCommand {
    /// What it shows.
    pub shows: Requirement,
    /// The command, in which `{test}` stands for the test's name.
    pub command: String,
    /// What it is to say before the work, where the file tells.
    pub before: Option<model::BeforeRule>,
    /// Of a test: which list names it, if one does.
    pub list: Option<ListOf>,
}

/// Which list of tests names one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ListOf {
    /// `failToPass`
    FailToPass,
    /// `passToPass`
    PassToPass,
}

/// What a command of a finish gate shows.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Requirement {
    /// The work compiles.
    Compilation,
    /// This test is green.
    Test(Box<str>),
    /// What the command itself is about.
    Command,
}
