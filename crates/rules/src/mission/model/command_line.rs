//! Command lines, as the file writes them.

use serde::Serialize;

use crate::mission::file::{keys::list_or_one, scalar::Filled};

/// A command line: a list is executed as it is, a string by `sh -c`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum CommandLine {
    /// Executed without a shell.
    Argv(Vec<String>),
    /// Executed by `sh -c`; placeholders become positional parameters, never text.
    Shell(String),
}

list_or_one!(CommandLine: [String] => Self::Argv, Filled => |script| Self::Shell(script.into()));
