//! `tools` of an agent: what a model behind HTTP may do itself (semantics, section 7).

use std::fmt;

use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::mission::read::Single;
use crate::mission::scalar::words;

/// A kind of tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolKind {
    /// Look into the workspace: list, read and search.
    Read,
    /// Write files of the workspace.
    Write,
    /// Run commands in the workspace.
    Run,
}

words!(ToolKind: "a kind of tool", "read" => Read, "write" => Write, "run" => Run);

/// Whether a tool may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolPolicy {
    /// It may not.
    #[default]
    Deny,
    /// It may.
    Allow,
    /// A person is asked about each call.
    Ask,
}

impl ToolPolicy {
    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Allow => "allow",
            Self::Ask => "ask",
        }
    }
}

words!(ToolPolicy: "a policy for a tool", "allow" => Allow, "deny" => Deny, "ask" => Ask);

/// The policy for each kind of tool. A list allows what it names; what is not named is denied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Tools {
    /// Looking.
    pub read: ToolPolicy,
    /// Writing.
    pub write: ToolPolicy,
    /// Running.
    pub run: ToolPolicy,
}

impl Tools {
    /// Whether whoever judges may look into the workspace. Nobody is asked for a judge.
    #[must_use]
    pub fn may_read(self) -> bool {
        self.read == ToolPolicy::Allow
    }

    /// Whether a worker is offered this kind of tool: it may use it, or a person may let it.
    #[must_use]
    pub fn offers(self, kind: ToolKind) -> bool {
        self.policy(kind) != ToolPolicy::Deny
    }

    /// Whether a worker is offered anything at all.
    #[must_use]
    pub fn any(self) -> bool {
        [ToolKind::Read, ToolKind::Write, ToolKind::Run]
            .into_iter()
            .any(|kind| self.offers(kind))
    }

    /// What holds for this kind of tool.
    #[must_use]
    pub fn policy(self, kind: ToolKind) -> ToolPolicy {
        match kind {
            ToolKind::Read => self.read,
            ToolKind::Write => self.write,
            ToolKind::Run => self.run,
        }
    }

    fn set(&mut self, kind: ToolKind, policy: ToolPolicy) {
        *match kind {
            ToolKind::Read => &mut self.read,
            ToolKind::Write => &mut self.write,
            ToolKind::Run => &mut self.run,
        } = policy;
    }
}

impl<'de> Deserialize<'de> for Tools {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ToolsVisitor)
    }
}

struct ToolsVisitor;

impl<'de> Visitor<'de> for ToolsVisitor {
    type Value = Tools;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of tools, or a map with a policy for each")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Tools, A::Error> {
        let mut tools = Tools::default();
        while let Some(Single(kind)) = items.next_element()? {
            tools.set(kind, ToolPolicy::Allow);
        }
        Ok(tools)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Tools, A::Error> {
        let mut tools = Tools::default();
        while let Some(Single(kind)) = map.next_key::<Single<ToolKind>>()? {
            let Single(policy) = map.next_value()?;
            tools.set(kind, policy);
        }
        Ok(tools)
    }
}
