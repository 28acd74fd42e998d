//! `requiresApproval` and `approvalGates`: who must agree before a task starts (semantics, section 5).

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::domain::Millis;
use crate::mission::read;
use crate::mission::scalar::{Filled, Name, Scalar};

/// What must be agreed to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Approval {
    /// Who may agree; empty: any person.
    #[serde(deserialize_with = "read::or_empty")]
    pub approvers: Vec<Approver>,
    /// How long it waits.
    #[serde(deserialize_with = "read::option")]
    pub timeout: Option<Millis>,
    /// What they are asked.
    #[serde(deserialize_with = "read::option")]
    pub message: Option<Box<str>>,
}

/// A rule that makes tasks wait for somebody's agreement.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ApprovalGate {
    /// Its unique name.
    #[serde(deserialize_with = "read::text_as::<Name, _>")]
    pub name: Box<str>,
    /// Which tasks it holds: an expression; all of them without one.
    #[serde(deserialize_with = "read::option_as::<Filled, _, _>")]
    pub when: Option<Box<str>>,
    /// Who may agree; empty: any person.
    #[serde(deserialize_with = "read::or_empty")]
    pub approvers: Vec<Approver>,
    /// How long it waits.
    #[serde(deserialize_with = "read::option")]
    pub timeout: Option<Millis>,
    /// What they are asked.
    #[serde(deserialize_with = "read::option")]
    pub message: Option<Box<str>>,
}

/// One who may agree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Approver {
    /// An agent of this name; where there is none, a person.
    Named(Box<str>),
    /// A command: exit 0 agrees, 1 refuses, anything else leaves it open.
    Command(Box<str>),
}

impl<'de> Deserialize<'de> for Approver {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ApproverVisitor)
    }
}

struct ApproverVisitor;

impl<'de> Visitor<'de> for ApproverVisitor {
    type Value = Approver;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name, or a map with a command")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Approver, E> {
        Ok(Approver::Named(text.into()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Approver, A::Error> {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Written {
            #[serde(deserialize_with = "read::text_as::<Filled, _>")]
            command: Box<str>,
        }
        let written = Written::deserialize(MapAccessDeserializer::new(map))?;
        Ok(Approver::Command(written.command))
    }
}

/// `requiresApproval`: yes, no, or how.
pub(super) fn approval<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Box<Approval>>, D::Error> {
    deserializer.deserialize_any(ApprovalVisitor)
}

struct ApprovalVisitor;

impl<'de> Visitor<'de> for ApprovalVisitor {
    type Value = Option<Box<Approval>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("true, false, or a map")
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_none<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        let asked = bool::parse(text).map_err(|fault| E::custom(fault.message))?;
        Ok(asked.then(Box::default))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        Approval::deserialize(MapAccessDeserializer::new(map)).map(|approval| Some(Box::new(approval)))
    }
}
