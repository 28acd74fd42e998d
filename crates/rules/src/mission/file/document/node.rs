//! A value of a document together with its tree: what a type is read from.

use serde_json::Value;

use super::tree::{MapEntry, NodeId, NodeKind, Tree};

/// A value of a checked document. What was pruned is not seen.
#[derive(Debug, Clone, Copy)]
pub struct Node<'t, 's> {
    tree: &'t Tree<'s>,
    id: NodeId,
}

impl<'t, 's> Node<'t, 's> {
    /// The root of a document.
    pub fn root(tree: &'t Tree<'s>) -> Self {
        let id = tree.root();
        Self { tree, id }
    }

    fn at(self, id: NodeId) -> Self {
        Self { id, ..self }
    }

    /// The kind of the node.
    pub fn kind(self) -> NodeKind {
        self.tree.kind(self.id)
    }

    /// The text of a single value; empty for maps and lists.
    pub fn text(self) -> &'t str {
        self.tree.text(self.id)
    }

    /// The items of a list.
    pub fn items(self) -> impl Iterator<Item = Self> {
        self.tree.items(self.id).map(move |item| self.at(item))
    }

    /// The entries of a map that say something: a key without a value is as good as none.
    pub fn entries(self) -> impl Iterator<Item = (&'t str, Self)> {
        let entries = self.tree.entries(self.id);
        entries
            .filter(move |entry| !self.tree.is_null(entry.value))
            .map(move |entry| (self.tree.text(entry.key), self.at(entry.value)))
    }
}

impl Tree<'_> {
    /// A value as plain data. A text without quotes is a number, true or false where JSON writes it just so; any other,
    /// such as a version `1.10`, keeps its letters. A mission that holds the data reads the same from it.
    pub fn plain(&self, node: NodeId) -> Value {
        let named = |entry: MapEntry| (self.text(entry.key).to_owned(), self.plain(entry.value));
        match self.kind(node) {
            NodeKind::Map => self.entries(node).map(named).collect(),
            NodeKind::List => self.items(node).map(|item| self.plain(item)).collect(),
            NodeKind::Plain | NodeKind::Quoted if self.is_null(node) => Value::Null,
            NodeKind::Quoted => self.text(node).into(),
            NodeKind::Plain => {
                let text = self.text(node);
                let read = serde_json::from_str::<Value>(text).map(|value| (value.to_string(), value));
                read.ok()
                    .filter(|(written, _)| written == text)
                    .map_or_else(|| text.into(), |(_, value)| value)
            }
        }
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
