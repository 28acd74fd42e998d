//! `permissions` of an agent, as far as it is built: how long a person is waited for who must allow a tool call.

use crate::domain::Millis;
use crate::mission::document::{Kind, Node};
use crate::mission::keys::{Keys, Later, Value, keys};
use crate::mission::scalar::Filled;
use crate::mission::shape::Shape;

use super::later::PermissionSet;

keys! {
    /// What holds where an agent must ask for what it may do (semantics, section 5).
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub struct Permissions: "permissions" {
        /// How long a person is waited for who must allow a tool call; then it is denied, and the task is cancelled [without end].
        "timeout" timeout: Option<Millis>;
        /// A rule for reading.
        "read" read: Later as Filled, later("presets");
        /// A rule for editing.
        "edit" edit: Later as Filled, later("presets");
        /// A rule for running commands.
        "run" run: Later as Filled, later("presets");
    }
}

/// `permissions` as a file writes it: a word, which nothing acts on yet, or a map of rules.
pub(super) struct WordOrMap;

impl Value<WordOrMap> for Permissions {
    const SHAPE: Shape = Shape::Either(&[Shape::one::<PermissionSet>(), Shape::Map(Self::TABLE)]);

    fn read(node: Node<'_, '_>) -> Option<Self> {
        match node.kind() {
            Kind::Map => <Self as Value>::read(node),
            _ => Some(Self::default()),
        }
    }

    fn missing(_: Option<&str>) -> Option<Self> {
        Some(Self::default())
    }
}
