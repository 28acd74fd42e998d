//! `verify`: the finish gate of a task, what must hold before its agent may call itself finished.

use serde::Serialize;

use crate::mission::file::{
    keys::{keys, list_or_one},
    scalar::Filled,
};

use super::words::BeforeRule;

keys! {
    /// The finish gate of a task (semantics, section 6.3). Off unless something is required.
    #[derive(Default, Serialize)]
    #[serde(rename_all = "camelCase")]
    pub struct FinishGate: "a finish gate" {
        /// Tests that must pass, each in a run of its own.
        "requiredTests" required_tests: Box<[Box<str>]> as Filled;
        /// The command that runs one of them; `{test}` stands for its name.
        "testCommand" test_command: Option<String> as Filled;
        /// Tests that failed before and must pass now: a list, or a file beside the mission with a JSON list or one a line.
        "failToPass" fail_to_pass: Option<TestList>;
        /// Tests that passed before and must pass now: written like failToPass. One that failed before is left out.
        "passToPass" pass_to_pass: Option<TestList>;
        /// Whether a file must have changed: one of targetFiles or file_exists, else any of the workspace.
        "requireFileChanges" require_file_changes: bool, or("false");
        /// Whether it must compile.
        "requireCompilation" require_compilation: bool, or("false");
        /// The command that compiles [=, where there is a tsconfig.json].
        "compileCommand" compile_command: Option<String> as Filled = "npx tsc --noEmit";
        /// Further commands that must exit 0; all of them run as checks do.
        "commands" commands: Box<[Box<str>]> as Filled;
        /// What the required tests and further commands are to be before the work begins, as in expectations.
        "before" before: Option<BeforeRule>;
        /// How often the agent is told what is missing [=].
        "maxAttempts" max_attempts: Option<u32> = "2";
        /// How often it is told that its work does not compile [=].
        "compilationMaxAttempts" compilation_max_attempts: Option<u32> = "8";
    }
}

/// Tests that are named one by one.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum TestList {
    /// The tests of these names.
    Tests(Vec<Box<str>>),
    /// The tests that a file beside the mission names: a JSON list, or one a line.
    File(Box<str>),
}

impl FinishGate {
    /// Whether any test is required.
    pub fn has_tests(&self) -> bool {
        let lists = [&self.fail_to_pass, &self.pass_to_pass];
        !self.required_tests.is_empty() || lists.into_iter().any(Option::is_some)
    }

    /// The files that name tests, beside the mission.
    pub fn test_files(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let lists = [("failToPass", &self.fail_to_pass), ("passToPass", &self.pass_to_pass)];
        lists.into_iter().filter_map(|(key, list)| match list {
            Some(TestList::File(file)) => Some((key, &**file)),
            _ => None,
        })
    }

    /// Whether nothing is required: then there is no gate.
    pub fn is_empty(&self) -> bool {
        !self.has_tests()
            && !self.require_file_changes
            && !self.require_compilation
            && self.commands.is_empty()
    }
}

list_or_one!(TestList: [Filled] => Self::Tests, Filled => |file| Self::File(file.into()));
