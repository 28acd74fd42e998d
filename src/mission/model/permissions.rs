//! `permissions` of an agent, as far as it is built: how long a person is waited for who must allow a tool call.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::domain::Millis;
use crate::mission::read;

/// What holds where an agent must ask for what it may do (semantics, section 5).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Permissions {
    /// How long a person's word about a tool call is waited for; then it is denied. `None`: without end.
    pub timeout: Option<Millis>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Rules {
    #[serde(deserialize_with = "read::option")]
    timeout: Option<Millis>,
}

impl<'de> Deserialize<'de> for Permissions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PermissionsVisitor)
    }
}

struct PermissionsVisitor;

impl<'de> Visitor<'de> for PermissionsVisitor {
    type Value = Permissions;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a set of permissions, or a map of rules")
    }

    /// A set of permissions, which nothing acts on yet: the check of keys says so.
    fn visit_str<E: Error>(self, _: &str) -> Result<Permissions, E> {
        Ok(Permissions::default())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Permissions, A::Error> {
        let rules = Rules::deserialize(MapAccessDeserializer::new(map))?;
        Ok(Permissions {
            timeout: rules.timeout,
        })
    }
}
