//! `verify`: the finish gate of a task, what must hold before its agent may call itself finished.

use std::fmt;

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::mission::read::{self, Single};
use crate::mission::scalar::Filled;

/// The finish gate of a task (semantics, section 6.3). Off unless something is required.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FinishGate {
    /// Tests that must pass.
    #[serde(deserialize_with = "read::list_as::<Filled, _, _>")]
    pub required_tests: Box<[Box<str>]>,
    /// The command that runs one of them; `{test}` is its name.
    #[serde(deserialize_with = "read::option_as::<Filled, _, _>")]
    pub test_command: Option<String>,
    /// More tests that must pass: a list, or a file that holds one.
    #[serde(deserialize_with = "read::or_empty")]
    pub fail_to_pass: Option<FailToPass>,
    /// Whether a file must have changed.
    #[serde(deserialize_with = "read::or_default")]
    pub require_file_changes: bool,
    /// Whether it must compile.
    #[serde(deserialize_with = "read::or_default")]
    pub require_compilation: bool,
    /// The command that compiles.
    #[serde(deserialize_with = "read::option_as::<Filled, _, _>")]
    pub compile_command: Option<String>,
    /// Further commands that must exit 0.
    #[serde(deserialize_with = "read::list_as::<Filled, _, _>")]
    pub commands: Box<[Box<str>]>,
    /// How often the worker is told what is missing.
    #[serde(deserialize_with = "read::option")]
    pub max_attempts: Option<u32>,
    /// How often it is told that its work does not compile.
    #[serde(deserialize_with = "read::option")]
    pub compilation_max_attempts: Option<u32>,
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

impl<'de> Deserialize<'de> for FailToPass {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FailToPassVisitor)
    }
}

struct FailToPassVisitor;

impl<'de> Visitor<'de> for FailToPassVisitor {
    type Value = FailToPass;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of tests, or the file that holds one")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<FailToPass, E> {
        Ok(FailToPass::File(text.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<FailToPass, A::Error> {
        let mut tests = Vec::new();
        while let Some(Single(test)) = items.next_element()? {
            tests.push(test);
        }
        Ok(FailToPass::Tests(tests))
    }
}
