//! Serde over the tree: how the checked and pruned document becomes structs.

use serde::de::value::StrDeserializer;
use serde::de::{DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::Value;

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

    /// A value as plain data. A text without quotes is a number, true or false where JSON writes it just so; any other,
    /// such as a version `1.10`, keeps its letters. A mission that holds the data reads the same from it.
    pub fn plain(&self, node: NodeId) -> Value {
        let named = |entry: Entry| (self.text(entry.key).to_owned(), self.plain(entry.value));
        match self.kind(node) {
            Kind::Map => self.entries(node).map(named).collect(),
            Kind::List => self.items(node).map(|item| self.plain(item)).collect(),
            Kind::Plain | Kind::Quoted if self.is_null(node) => Value::Null,
            Kind::Quoted => self.text(node).into(),
            Kind::Plain => {
                let text = self.text(node);
                let read = serde_json::from_str::<Value>(text).map(|value| (value.to_string(), value));
                read.ok()
                    .filter(|(written, _)| written == text)
                    .map_or_else(|| text.into(), |(_, value)| value)
            }
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn plain_data_keeps_what_was_written() {
        let text = "a: {n: 3, f: 0.5, yes: true, none: ~, quoted: '3', version: 1.10, octal: 007, word: True, big: 1e3}\n\
                    b: &b [x, \"null\", 18446744073709551616]\nc: {<<: {k: *b}, l: {}, m: []}\n";
        let (tree, _) = Tree::parse(text).expect("it is YAML");
        let expected = json!({
            "a": {"n": 3, "f": 0.5, "yes": true, "none": null, "quoted": "3", "version": "1.10", "octal": "007",
                "word": "True", "big": "1e3"},
            "b": ["x", "null", "18446744073709551616"],
            "c": {"l": {}, "m": [], "k": ["x", "null", "18446744073709551616"]},
        });
        assert_eq!(tree.plain(tree.root()), expected);
    }
}
