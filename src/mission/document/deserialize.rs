//! Serde over the tree: how the checked and pruned document becomes structs.

use serde::de::value::StrDeserializer;
use serde::de::{DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;

use super::tree::{Entry, Kind, NodeId, Tree};

/// The error of serde's traits, without a place: the check before has found everything that has one.
pub(in crate::mission) type Error = serde::de::value::Error;

impl<'s> Tree<'s> {
    /// A deserializer of the whole document without what was pruned.
    pub fn deserializer(&self) -> NodeDeserializer<'_, 's> {
        NodeDeserializer {
            tree: self,
            node: self.root(),
        }
    }
}

/// A deserializer of one value.
pub(in crate::mission) struct NodeDeserializer<'t, 's> {
    tree: &'t Tree<'s>,
    node: NodeId,
}

impl<'t, 's> NodeDeserializer<'t, 's> {
    fn at(&self, node: NodeId) -> Self {
        Self {
            tree: self.tree,
            node,
        }
    }

    fn text(&self) -> StrDeserializer<'t, Error> {
        self.tree.text(self.node).into_deserializer()
    }
}

impl<'de> Deserializer<'de> for NodeDeserializer<'_, '_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.tree.kind(self.node) {
            Kind::Map => visitor.visit_map(Entries {
                remaining: self.tree.entries(self.node),
                value: None,
                of: &self,
            }),
            Kind::List => visitor.visit_seq(Items {
                remaining: self.tree.items(self.node),
                of: &self,
            }),
            Kind::Plain | Kind::Quoted if self.tree.is_null(self.node) => visitor.visit_unit(),
            Kind::Plain | Kind::Quoted => self.text().deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.tree.is_null(self.node) {
            visitor.visit_none()
        } else {
            visitor.visit_some(self)
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct enum identifier ignored_any
    }
}

struct Items<'a, 't, 's, I> {
    remaining: I,
    of: &'a NodeDeserializer<'t, 's>,
}

impl<'de, I: Iterator<Item = NodeId>> SeqAccess<'de> for Items<'_, '_, '_, I> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        self.remaining
            .next()
            .map(|node| seed.deserialize(self.of.at(node)))
            .transpose()
    }
}

struct Entries<'a, 't, 's, I> {
    remaining: I,
    value: Option<NodeId>,
    of: &'a NodeDeserializer<'t, 's>,
}

impl<'de, I: Iterator<Item = Entry>> MapAccess<'de> for Entries<'_, '_, '_, I> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        let Some(entry) = self.remaining.next() else {
            return Ok(None);
        };
        self.value = Some(entry.value);
        seed.deserialize(self.of.at(entry.key).text()).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        let value = self
            .value
            .take()
            .ok_or_else(|| serde::de::Error::custom("a value without its key"))?;
        seed.deserialize(self.of.at(value))
    }
}
