//! `tools` of an agent: what a model behind HTTP may do itself (semantics, section 7).

use schemars::JsonSchema;
use serde::Serialize;

use crate::mission::file::{
    document::{Node, NodeKind},
    keys::{Keys, Value, keys, words},
    shape::Shape,
};

words! {
    pub enum ToolKind: "a kind of tool" {
        /// Look into the workspace: list, read and search.
        Read = "read",
        /// Write files of the workspace.
        Write = "write",
        /// Run commands in the workspace.
        Run = "run",
    }
}

worded! {
    /// Whether a tool may be used.
    #[derive(Default)]
    pub enum ToolPolicy {
        /// The call is refused.
        #[default]
        Deny = "deny",
        /// The call is allowed.
        Allow = "allow",
        /// A person is asked about each call.
        Ask = "ask",
    }
}

words!(ToolPolicy: "a policy for a tool", "allow" => Allow, "deny" => Deny, "ask" => Ask);

keys! {
    /// The policy for each kind of tool. A list allows what it names; what is not named is denied.
    #[derive(Copy, Default, Serialize, JsonSchema)]
    pub struct Tools: "the tools of an agent" {
        /// Whether it may look into the workspace, or a person is asked each time [=].
        "read" read: ToolPolicy, or("deny");
        /// Whether it may write files of the workspace, or a person is asked each time [=].
        "write" write: ToolPolicy, or("deny");
        /// Whether it may run commands in the workspace, or a person is asked each time [=].
        "run" run: ToolPolicy, or("deny");
    }
}

impl Tools {
    /// Whether whoever judges may look into the workspace. Nobody is asked for a judge.
    pub fn may_read(self) -> bool {
        self.read == ToolPolicy::Allow
    }

    /// Whether a worker is offered this kind of tool: it may use it, or a person may let it.
    pub fn offers(self, kind: ToolKind) -> bool {
        self.policy(kind) != ToolPolicy::Deny
    }

    /// Whether a worker is offered anything at all.
    pub fn any(self) -> bool {
        [ToolKind::Read, ToolKind::Write, ToolKind::Run].into_iter().any(|kind| self.offers(kind))
    }

    /// The policy for one kind of tool.
    pub fn policy(self, kind: ToolKind) -> ToolPolicy {
        match kind {
            ToolKind::Read => self.read,
            ToolKind::Write => self.write,
            ToolKind::Run => self.run,
        }
    }

    /// Replaces each policy by the result of `policy` for it.
    #[must_use]
    pub fn map(self, policy: impl Fn(ToolPolicy) -> ToolPolicy) -> Self {
        Self { read: policy(self.read), write: policy(self.write), run: policy(self.run) }
    }

    fn set(&mut self, kind: ToolKind, policy: ToolPolicy) {
        *match kind {
            ToolKind::Read => &mut self.read,
            ToolKind::Write => &mut self.write,
            ToolKind::Run => &mut self.run,
        } = policy;
    }
}

/// `tools` as a file writes it: a list of what is allowed, or a map with a policy for each.
pub struct ListOrMap;

impl Value<ListOrMap> for Tools {
    const SHAPE: Shape = Shape::Either(&[<Vec<ToolKind>>::SHAPE, Shape::Map(Self::TABLE)]);

    fn read(node: Node<'_, '_>) -> Option<Self> {
        if node.kind() == NodeKind::Map {
            return <Self as Value>::read(node);
        }
        let mut tools = Self::default();
        for kind in node.items() {
            tools.set(ToolKind::read(kind)?, ToolPolicy::Allow);
        }
        Some(tools)
    }
}
