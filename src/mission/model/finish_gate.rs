//! `verify`: the finish gate of a task, what must hold before its agent may call itself finished.

use serde::Serialize;

use crate::mission::document::{Kind, Node};
use crate::mission::keys::{Value, keys};
use crate::mission::scalar::Filled;
use crate::mission::shape::Shape;

keys! {
    /// The finish gate of a task (semantics, section 6.3). Off unless something is required.
    #[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "camelCase")]
    pub struct FinishGate: "a finish gate" {
        /// Tests that must pass, each in a run of its own.
        "requiredTests" required_tests: Box<[Box<str>]> as Filled;
        /// The command that runs one of them; `{test}` stands for its name.
        "testCommand" test_command: Option<String> as Filled;
        /// Tests that failed before and must pass now: a list, or a file beside the mission with a JSON list or one a line.
        "failToPass" fail_to_pass: Option<FailToPass>;
        /// Whether a file must have changed: one of targetFiles or file_exists, else any of the workspace.
        "requireFileChanges" require_file_changes: bool, or("false");
        /// Whether it must compile.
        "requireCompilation" require_compilation: bool, or("false");
        /// The command that compiles [=, where there is a tsconfig.json].
        "compileCommand" compile_command: Option<String> as Filled = "npx tsc --noEmit";
        /// Further commands that must exit 0; all of them run as checks do.
        "commands" commands: Box<[Box<str>]> as Filled;
        /// How often the agent is told what is missing [=].
        "maxAttempts" max_attempts: Option<u32> = "2";
        /// How often it is told that its work does not compile [=].
        "compilationMaxAttempts" compilation_max_attempts: Option<u32> = "8";
    }
}

/// Tests that failed before the work and must pass after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum FailToPass {
    /// These.
    Tests(Vec<Box<str>>),
    /// Those that a file names, beside the mission: a JSON list, or one a line.
    File(Box<str>),
}

impl FinishGate {
    /// Whether nothing is required: then there is no gate.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let no_tests = self.required_tests.is_empty() && self.fail_to_pass.is_none();
        no_tests && !self.require_file_changes && !self.require_compilation && self.commands.is_empty()
    }
}

impl Value for FailToPass {
    const SHAPE: Shape = Shape::Either(&[
        Shape::NonEmptyList(&Shape::one::<Filled>()),
        Shape::one::<Filled>(),
    ]);

    fn read(node: Node<'_, '_>) -> Option<Self> {
        Some(match node.kind() {
            Kind::List => Self::Tests(node.items().map(|test| test.text().into()).collect()),
            _ => Self::File(node.text().into()),
        })
    }
}
