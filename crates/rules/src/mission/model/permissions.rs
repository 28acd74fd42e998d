//! `permissions` of an agent: what its program may do, and how long a person is waited for who must allow a tool call.

use crate::{
    domain::Millis,
    mission::file::{
        document::{Node, NodeKind},
        keys::{Keys, Value, keys, list_or_one, words},
        scalar::Filled,
        shape::Shape,
    },
};

use super::tools::ToolPolicy;

words! {
    /// A set of things that an agent's program may do.
    #[derive(Default)]
    pub enum PermissionSet: "a set of permissions" {
        /// Look into the workspace.
        Read = "read",
        /// Change files of the workspace too.
        #[default]
        Edit = "edit",
        /// Everything that the program can.
        Full = "full",
    }
}

keys! {
    /// The rules for an agent that must ask for what it may do (semantics, section 5).
    #[derive(Default)]
    pub struct Permissions: "permissions" {
        /// How long a person is waited for who must allow a tool call; then it is denied, and the task is cancelled [without end].
        "timeout" timeout: Option<Millis>;
        /// Over ACP: whether it may read; globs allow what they match, and nothing else [allow].
        "read" read: Option<PermissionRule>;
        /// Over ACP: whether it may change files; globs allow what they match, and nothing else [allow].
        "edit" edit: Option<PermissionRule>;
        /// Over ACP: whether it may run commands [deny].
        "run" run: Option<PermissionRule>;
    } and {
        /// The set of permissions, where a file names one.
        pub set: Option<PermissionSet>;
    }
}

impl Permissions {
    /// The set of permissions of a worker.
    pub fn set(&self) -> PermissionSet {
        self.set.unwrap_or_default()
    }

    /// Whether kinds of tools have rules of their own.
    pub fn has_rules(&self) -> bool {
        self.read.is_some() || self.edit.is_some() || self.run.is_some()
    }
}

/// The rule for one kind of tool.
#[derive(Debug, Clone, PartialEq)]
pub enum PermissionRule {
    /// One answer to every call.
    Every(ToolPolicy),
    /// Allowed where a path matches one of these globs, else denied.
    Paths(Vec<String>),
}

list_or_one!(PermissionRule: [Filled] => Self::Paths, ToolPolicy => Self::Every);

/// `permissions` as a file writes it: a word, or a map of rules.
pub struct WordOrMap;

impl Value<WordOrMap> for Permissions {
    const SHAPE: Shape = Shape::Either(&[Shape::one::<PermissionSet>(), Shape::Map(Self::TABLE)]);

    fn read(node: Node<'_, '_>) -> Option<Self> {
        match node.kind() {
            NodeKind::Map => <Self as Value>::read(node),
            _ => Some(Self { set: Some(PermissionSet::read(node)?), ..Self::default() }),
        }
    }

    fn missing(_: Option<&str>) -> Option<Self> {
        Some(Self::default())
    }
}
