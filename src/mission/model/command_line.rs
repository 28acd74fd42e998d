//! Command lines, as the file writes them.

use serde::Serialize;

use crate::mission::document::{Kind, Node};
use crate::mission::keys::Value;
use crate::mission::scalar::Filled;
use crate::mission::shape::Shape;

/// A command line: a list is executed as it is, a string by `sh -c`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum CommandLine {
    /// Executed without a shell.
    Argv(Vec<String>),
    /// Executed by `sh -c`; placeholders become positional parameters, never text.
    Shell(String),
}

impl Value for CommandLine {
    const SHAPE: Shape = Shape::Either(&[
        Shape::NonEmptyList(&Shape::one::<String>()),
        Shape::one::<Filled>(),
    ]);

    fn read(node: Node<'_, '_>) -> Option<Self> {
        Some(match node.kind() {
            Kind::List => Self::Argv(node.items().map(|item| item.text().to_owned()).collect()),
            _ => Self::Shell(node.text().to_owned()),
        })
    }
}
