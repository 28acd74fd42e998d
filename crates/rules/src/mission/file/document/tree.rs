//! The YAML document as a flat tree whose every value knows its place in the text.
//!
//! Nodes lie in one vector in the order of the file; a node knows where its subtree ends, so children are found by
//! jumping and nothing points at anything. Aliases and merge keys are replaced by copies while the tree is built (with
//! a limit on how much they may add), so nobody else needs to know that YAML has them.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, ScanError, Span};
use serde_json::Value;

use super::tab::indenting_tab;
use crate::mission::file::{
    codes::Code,
    shown_text::{char_start, first_line, quoted},
};

/// Values one file may hold. A task has about ten, so this is far beyond 100,000 tasks.
const MAX_NODES: usize = 6_000_000;
/// Values that aliases and merge keys may add.
const MAX_COPIED: usize = 1_000_000;
/// Maps and lists within each other.
const MAX_DEPTH: usize = 64;

/// A position in the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(u32);

/// The kind of a node.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum NodeKind {
    Map,
    List,
    /// A text without quotes, which may mean null.
    Plain,
    /// A text in quotes or in a block.
    Quoted,
}

#[derive(Debug, Clone, Copy)]
struct TreeNode {
    kind: NodeKind,
    /// Whether the node is overlooked: it was found to be wrong, or its key is ignored.
    pruned: bool,
    /// Whether the text of the node is in the tree's own buffer instead of the source.
    owned: bool,
    /// The first byte in the source, and how many.
    at: u32,
    len: u32,
    /// The text of a single value.
    text_at: u32,
    text_len: u32,
    /// The first node after the subtree.
    end: u32,
}

/// One key of a map with its value.
#[derive(Debug, Clone, Copy)]
pub struct MapEntry {
    pub key: NodeId,
    pub value: NodeId,
}

/// Why there is no tree, or what was left out of it.
#[derive(Debug)]
pub struct YamlError {
    pub code: Code,
    pub message: String,
    pub span: Range<usize>,
    pub help: Option<&'static str>,
    /// Another place that matters, and the words under it.
    pub related: Option<(Range<usize>, &'static str)>,
}

/// The nodes of a document.
#[derive(Debug)]
pub struct Tree<'s> {
    source: &'s str,
    nodes: Vec<TreeNode>,
    /// Texts that differ from the source: escapes, folded lines.
    buffer: String,
}

impl<'s> Tree<'s> {
    /// Reads a document. What YAML allows but a mission does not (duplicate keys, tags) is pruned and reported in the
    /// list.
    ///
    /// # Errors
    /// When the text is no YAML, holds no or several documents, or is beyond a limit.
    pub fn parse(source: &'s str) -> Result<(Self, Vec<YamlError>), YamlError> {
        let mut options = granit_parser::Options::default();
        options.flow_nesting_limit = MAX_DEPTH;
        options.block_nesting_limit = MAX_DEPTH;
        options.set_emit_comments(false);
        let mut builder = Builder::new(source);
        for event in Parser::new_from_str_with_options(source, options) {
            let (event, span) = event.map_err(|error| syntax_error(source, &error))?;
            builder.event(&event, bytes(&span))?;
        }
        if builder.tree.nodes.is_empty() {
            return Err(refuse(Code::Empty, "the file holds no document", 0..0));
        }
        Ok((builder.tree, builder.refusals))
    }

    /// A document of plain data. What is no text is the text that JSON writes for it, as it is in a file.
    pub fn of_plain(value: &Value) -> Tree<'static> {
        let mut tree = Tree { source: "", nodes: Vec::new(), buffer: String::new() };
        tree.push_plain(value);
        tree
    }

    fn push_plain(&mut self, value: &Value) {
        let (kind, text) = match value {
            Value::Object(_) => (NodeKind::Map, Cow::Borrowed("")),
            Value::Array(_) => (NodeKind::List, Cow::Borrowed("")),
            Value::String(text) => (NodeKind::Quoted, Cow::Borrowed(text.as_str())),
            other => (NodeKind::Plain, Cow::Owned(other.to_string())),
        };
        self.push_text(kind, &text);
        let at = self.nodes.len() - 1;
        match value {
            Value::Object(entries) => {
                for (key, value) in entries {
                    self.push_text(NodeKind::Quoted, key);
                    self.push_plain(value);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.push_plain(item)),
            _ => {}
        }
        self.nodes[at].end = offset(self.nodes.len());
    }

    fn push_text(&mut self, kind: NodeKind, text: &str) {
        self.nodes.push(TreeNode {
            kind,
            pruned: false,
            owned: true,
            at: 0,
            len: 0,
            text_at: offset(self.buffer.len()),
            text_len: offset(text.len()),
            end: offset(self.nodes.len() + 1),
        });
        self.buffer.push_str(text);
    }

    /// The root of the document.
    pub fn root(&self) -> NodeId {
        NodeId(0)
    }

    fn node(&self, id: NodeId) -> &TreeNode {
        &self.nodes[id.0 as usize]
    }

    /// The kind of a node.
    pub fn kind(&self, id: NodeId) -> NodeKind {
        self.node(id).kind
    }

    /// The text of a single value; empty for maps and lists.
    pub fn text(&self, id: NodeId) -> &str {
        let node = self.node(id);
        let range = node.text_at as usize..(node.text_at + node.text_len) as usize;
        if node.owned { &self.buffer[range] } else { &self.source[range] }
    }

    /// Whether a value says nothing: `key:`, `key: ~`, `key: null`.
    pub fn is_null(&self, id: NodeId) -> bool {
        self.kind(id) == NodeKind::Plain && matches!(self.text(id), "" | "~" | "null" | "Null" | "NULL")
    }

    /// Where a value stands in the source. A map or list is pointed at by its first line.
    pub fn span(&self, id: NodeId) -> Range<usize> {
        let node = self.node(id);
        node.at as usize..(node.at + node.len) as usize
    }

    /// Overlooks a value from now on. Pruning a key prunes its entry.
    pub fn prune(&mut self, id: NodeId) {
        self.nodes[id.0 as usize].pruned = true;
    }

    /// Whether a value was found to be wrong.
    pub fn is_pruned(&self, id: NodeId) -> bool {
        self.node(id).pruned
    }

    /// The item or entry after the one that begins at `id`, within the parent's end.
    fn after(&self, id: NodeId) -> NodeId {
        NodeId(self.node(id).end)
    }

    /// The items of a list that are not pruned.
    pub fn items(&self, list: NodeId) -> impl Iterator<Item = NodeId> {
        self.children(list).filter(|item| !self.is_pruned(*item))
    }

    /// The entries of a map that are not pruned.
    pub fn entries(&self, map: NodeId) -> impl Iterator<Item = MapEntry> {
        self.all_entries(map).filter(|entry| !self.is_pruned(entry.key) && !self.is_pruned(entry.value))
    }

    /// The entries of a map, with pruned ones.
    pub fn all_entries(&self, map: NodeId) -> impl Iterator<Item = MapEntry> {
        let mut children = self.children(map);
        std::iter::from_fn(move || Some(MapEntry { key: children.next()?, value: children.next()? }))
    }

    /// The entry with this key, even if it is pruned.
    pub fn entry(&self, map: NodeId, key: &str) -> Option<MapEntry> {
        self.all_entries(map).find(|entry| self.text(entry.key) == key)
    }

    /// The value of a key that says something and is not pruned.
    pub fn get(&self, map: NodeId, key: &str) -> Option<NodeId> {
        self.entries(map)
            .find(|entry| self.text(entry.key) == key)
            .map(|entry| entry.value)
            .filter(|value| !self.is_null(*value))
    }

    fn children(&self, parent: NodeId) -> impl Iterator<Item = NodeId> {
        let node = self.node(parent);
        let is_container = matches!(node.kind, NodeKind::Map | NodeKind::List);
        let (mut next, end) = (NodeId(parent.0 + 1), NodeId(if is_container { node.end } else { 0 }));
        std::iter::from_fn(move || {
            let child = (next < end).then_some(next)?;
            next = self.after(child);
            Some(child)
        })
    }
}

/// Builds the tree from the parser's events.
struct Builder<'s> {
    tree: Tree<'s>,
    /// The maps and lists that are still open, with their anchors.
    open: Vec<(NodeId, usize)>,
    anchors: HashMap<usize, NodeId>,
    copied: usize,
    documents: usize,
    refusals: Vec<YamlError>,
}

impl<'s> Builder<'s> {
    fn new(source: &'s str) -> Self {
        Self {
            tree: Tree { source, nodes: Vec::new(), buffer: String::new() },
            open: Vec::new(),
            anchors: HashMap::new(),
            copied: 0,
            documents: 0,
            refusals: Vec::new(),
        }
    }

    fn event(&mut self, event: &Event<'_>, span: Range<usize>) -> Result<(), YamlError> {
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    return Err(refuse(Code::SeveralDocuments, "a second document begins here", span));
                }
            }
            Event::Scalar(text, style, anchor, tag) => {
                let kind = if *style == ScalarStyle::Plain { NodeKind::Plain } else { NodeKind::Quoted };
                let id = self.push(kind, span, tag.is_some())?;
                self.set_text(id, text);
                self.anchor(*anchor, id);
            }
            Event::MappingStart(_, anchor, tag) => self.begin(NodeKind::Map, span, *anchor, tag.is_some())?,
            Event::SequenceStart(_, anchor, tag) => {
                self.begin(NodeKind::List, span, *anchor, tag.is_some())?
            }
            Event::MappingEnd | Event::SequenceEnd => self.finish()?,
            Event::Alias(anchor) => self.alias(*anchor, span)?,
            _ => {}
        }
        Ok(())
    }

    fn push(&mut self, kind: NodeKind, span: Range<usize>, tagged: bool) -> Result<NodeId, YamlError> {
        let index = self.tree.nodes.len();
        if index >= MAX_NODES {
            let message = format!("the file holds more than {MAX_NODES} values");
            return Err(refuse(Code::TooLarge, message, span));
        }
        if tagged {
            let refusal = refuse(Code::UnsupportedYaml, "a mission has no use for YAML tags", span.clone());
            self.refusals.push(YamlError { help: Some("remove the word that begins with `!`"), ..refusal });
        }
        let index = offset(index);
        self.tree.nodes.push(TreeNode {
            kind,
            pruned: tagged,
            owned: false,
            at: offset(span.start),
            len: offset(span.end.saturating_sub(span.start)),
            text_at: 0,
            text_len: 0,
            end: index + 1,
        });
        Ok(NodeId(index))
    }

    /// Stores a text: as a part of the source where it stands there as it is, else in the buffer.
    fn set_text(&mut self, id: NodeId, text: &str) {
        let span = self.tree.span(id);
        let written = self.tree.source.get(span.clone()).unwrap_or_default();
        let inside = written.len().checked_sub(1).and_then(|end| written.get(1..end)).unwrap_or_default();
        let (owned, at) = if written == text {
            (false, span.start)
        } else if inside == text {
            (false, span.start + 1)
        } else {
            self.tree.buffer.push_str(text);
            (true, self.tree.buffer.len() - text.len())
        };
        let node = &mut self.tree.nodes[id.0 as usize];
        (node.owned, node.text_at, node.text_len) = (owned, offset(at), offset(text.len()));
    }

    fn anchor(&mut self, anchor: usize, id: NodeId) {
        if anchor > 0 {
            self.anchors.insert(anchor, id);
        }
    }

    fn begin(
        &mut self,
        kind: NodeKind,
        span: Range<usize>,
        anchor: usize,
        tagged: bool,
    ) -> Result<(), YamlError> {
        let id = self.push(kind, span, tagged)?;
        self.open.push((id, anchor));
        Ok(())
    }

    fn finish(&mut self) -> Result<(), YamlError> {
        let Some((id, anchor)) = self.open.pop() else {
            return Ok(());
        };
        self.close(id);
        if self.tree.kind(id) == NodeKind::Map {
            self.check_keys(id);
            self.merge(id)?;
            self.close(id);
        }
        self.anchor(anchor, id);
        Ok(())
    }

    fn close(&mut self, id: NodeId) {
        self.tree.nodes[id.0 as usize].end = offset(self.tree.nodes.len());
    }

    /// Replaces an alias by a copy of what it names.
    fn alias(&mut self, anchor: usize, span: Range<usize>) -> Result<(), YamlError> {
        // Anchors are known once their node is complete, so an alias inside its own anchor finds nothing.
        let Some(target) = self.anchors.get(&anchor).copied() else {
            return Err(refuse(Code::AliasBomb, "this alias lies inside the value it stands for", span));
        };
        self.copy(target, span)
    }

    /// Appends a copy of a subtree, pointed at by `span`.
    fn copy(&mut self, target: NodeId, span: Range<usize>) -> Result<(), YamlError> {
        let (from, to) = (target.0 as usize, self.tree.node(target).end as usize);
        self.copied += to - from;
        if self.copied > MAX_COPIED || self.tree.nodes.len() + (to - from) > MAX_NODES {
            let message = format!("aliases expand to more than {MAX_COPIED} values here");
            return Err(refuse(Code::AliasBomb, message, span));
        }
        let shift = self.tree.nodes.len() - from;
        for index in from..to {
            let mut node = self.tree.nodes[index];
            node.end += offset(shift);
            self.tree.nodes.push(node);
        }
        Ok(())
    }

    /// Prunes keys that are no texts, and the second of two equal ones.
    fn check_keys(&mut self, map: NodeId) {
        let mut seen = HashMap::new();
        let mut wrong = Vec::new();
        for MapEntry { key, .. } in self.tree.all_entries(map) {
            let span = self.tree.span(key);
            if matches!(self.tree.kind(key), NodeKind::Map | NodeKind::List) {
                wrong.push((key, refuse(Code::UnsupportedYaml, "a key must be a text", span)));
            } else if let Some(first) = seen.insert(self.tree.text(key), key) {
                let name = quoted(self.tree.text(key));
                let mut refusal =
                    refuse(Code::DuplicateKey, format!("the key {name} stands here twice"), span);
                refusal.related = Some((self.tree.span(first), "first here"));
                refusal.help = Some("remove or rename one of them");
                wrong.push((key, refusal));
            }
        }
        for (key, refusal) in wrong {
            self.tree.prune(key);
            self.refusals.push(refusal);
        }
    }

    /// Puts the entries of `<<: *base` behind the map's own, which win.
    fn merge(&mut self, map: NodeId) -> Result<(), YamlError> {
        let is_merge = |entry: &MapEntry| {
            self.tree.kind(entry.key) == NodeKind::Plain && self.tree.text(entry.key) == "<<"
        };
        let Some(merge) = self.tree.entries(map).find(is_merge) else {
            return Ok(());
        };
        let bases: Vec<NodeId> = match self.tree.kind(merge.value) {
            NodeKind::List => self.tree.items(merge.value).collect(),
            _ => vec![merge.value],
        };
        self.tree.prune(merge.key);
        if let Some(wrong) = bases.iter().find(|base| self.tree.kind(**base) != NodeKind::Map) {
            let span = self.tree.span(*wrong);
            self.refusals.push(refuse(Code::UnsupportedYaml, "only a map can be merged with `<<`", span));
            return Ok(());
        }
        let mut taken: HashSet<String> =
            self.tree.all_entries(map).map(|entry| self.tree.text(entry.key).to_owned()).collect();
        for base in bases {
            let entries: Vec<MapEntry> = self.tree.entries(base).collect();
            for entry in entries {
                if taken.insert(self.tree.text(entry.key).to_owned()) {
                    let span = self.tree.span(entry.key);
                    self.copy(entry.key, span.clone())?;
                    self.copy(entry.value, span)?;
                }
            }
        }
        Ok(())
    }
}

/// A byte offset. Files are at most 64 MiB and nodes at most a few million, so `u32` holds all of them.
fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

fn bytes(span: &Span) -> Range<usize> {
    let start = span.start.byte_offset().unwrap_or_default();
    start..span.end.byte_offset().unwrap_or(start).max(start)
}

fn refuse(code: Code, message: impl Into<String>, span: Range<usize>) -> YamlError {
    YamlError { code, message: message.into(), span, help: None, related: None }
}

fn syntax_error(source: &str, error: &ScanError) -> YamlError {
    let at = error.marker().byte_offset().unwrap_or_default().min(source.len());
    let (code, message) = match error.kind() {
        ErrorKind::RecursionLimitExceeded => {
            (Code::TooDeep, format!("maps and lists are nested more than {MAX_DEPTH} deep here"))
        }
        ErrorKind::UnknownAnchor => (Code::Syntax, "this alias names no anchor".to_owned()),
        _ => (Code::Syntax, format!("this is neither YAML nor JSON: {}", error.info())),
    };
    if code == Code::Syntax
        && error.info().contains("quoted scalar")
        && let Some(quote) = open_quote(source, at)
    {
        let help = "close it with the same quote on its line; within double quotes write \\\" for a quote";
        return YamlError { help: Some(help), ..refuse(code, "this quote is not closed", quote..quote + 1) };
    }
    if code == Code::Syntax
        && let Some(tab) = indenting_tab(source, at, error.info().contains("tab"))
    {
        let help = "indent with spaces: YAML does not allow tabs there";
        return YamlError { help: Some(help), ..refuse(code, message, tab..tab + 1) };
    }
    let help = if code == Code::Syntax { syntax_help(source, at) } else { "is this file really a mission?" };
    YamlError { help: Some(help), ..refuse(code, message, at..at + 1) }
}

/// Lines that are looked at for the quote that a text begins with.
const QUOTE_LINES: usize = 100;

/// The quote that is still open at a place: the last one of the nearest line above that has an odd number of its kind.
fn open_quote(source: &str, at: usize) -> Option<usize> {
    let above = &source[..char_start(source, at)];
    let mut end = above.len();
    for line in above.rsplit('\n').take(QUOTE_LINES) {
        let start = end - line.len();
        let unclosed = ['"', '\''].into_iter().filter_map(|quote| {
            let escaped = |at: usize| quote == '"' && line[..at].ends_with('\\');
            let places = line.match_indices(quote).map(|(at, _)| at);
            let places: Vec<usize> = places.filter(|at| !escaped(*at)).collect();
            places.last().copied().filter(|_| places.len() % 2 == 1)
        });
        if let Some(place) = unclosed.max() {
            return Some(start + place);
        }
        end = start.saturating_sub(1);
    }
    None
}

/// The usual mistake at such a place.
fn syntax_help(source: &str, at: usize) -> &'static str {
    let at = char_start(source, at);
    let line_start = source[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let line = first_line(&source[line_start..]);
    if line.matches(": ").count() > 1 && !line.trim_start().starts_with(['{', '[', '"']) {
        "put a text that contains `: ` into quotes"
    } else {
        "look for a missing quote, bracket or colon, or a wrong indentation, here or on the line above"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(source: &str) -> Vec<Code> {
        match Tree::parse(source) {
            Ok((_, refusals)) => refusals.into_iter().map(|refusal| refusal.code).collect(),
            Err(refusal) => vec![refusal.code],
        }
    }

    /// The tree in a compact notation.
    fn show(tree: &Tree<'_>, id: NodeId) -> String {
        match tree.kind(id) {
            NodeKind::Map => {
                let entry = |e: MapEntry| format!("{}:{}", tree.text(e.key), show(tree, e.value));
                format!("{{{}}}", tree.entries(id).map(entry).collect::<Vec<_>>().join(","))
            }
            NodeKind::List => {
                let items: Vec<_> = tree.items(id).map(|item| show(tree, item)).collect();
                format!("[{}]", items.join(","))
            }
            _ if tree.is_null(id) => "~".to_owned(),
            _ => tree.text(id).to_owned(),
        }
    }

    fn shown(source: &str) -> String {
        let (tree, _) = Tree::parse(source).unwrap();
        show(&tree, tree.root())
    }

    #[test]
    fn yaml_and_json_give_the_same_tree() {
        assert_eq!(shown("a: [1, 'x', \"y\\n\"]\nb: {c: }\n"), "{a:[1,x,y\n],b:{c:~}}");
        assert_eq!(shown(r#"{"a": [1, "\u00e9\/\ud83d\ude00"], "b": null}"#), "{a:[1,é/😀],b:~}");
        assert_eq!(shown("a: |\n  x\n  y\nb: >-\n  x\n  y\n"), "{a:x\ny\n,b:x y}");
        assert_eq!(shown("a: 'it''s'\nb: ''\nc: \"\""), "{a:it's,b:,c:}");
    }

    #[test]
    fn aliases_and_merges_are_copied() {
        assert_eq!(shown("a: &x {k: 1}\nb: *x\nc: [*x, *x]\n"), "{a:{k:1},b:{k:1},c:[{k:1},{k:1}]}");
        assert_eq!(shown("a: &x {k: 1, l: 2}\nb: {<<: *x, k: 3}\n"), "{a:{k:1,l:2},b:{k:3,l:2}}");
        assert_eq!(
            shown("a: &x {k: 1}\nb: &y {l: 2}\nc:\n  <<: [*x, *y]\n  m: 3\n"),
            "{a:{k:1},b:{l:2},c:{m:3,k:1,l:2}}"
        );
    }

    #[test]
    fn what_a_mission_has_no_use_for_is_refused() {
        for (source, code) in [
            ("", Code::Empty),
            ("# only a comment\n", Code::Empty),
            ("a: 1\n---\nb: 2\n", Code::SeveralDocuments),
            ("a: 1\nb: [\n", Code::Syntax),
            ("a: 1\n\tb: 2\n", Code::Syntax),
            ("a: *nope\n", Code::Syntax),
            ("a: &x [*x]\n", Code::AliasBomb),
            ("a: 1\na: 2\n", Code::DuplicateKey),
            ("{\"a\": 1, \"a\": 2}", Code::DuplicateKey),
            ("a: !secret x\n", Code::UnsupportedYaml),
            ("[a]: 1\n", Code::UnsupportedYaml),
            ("<<: 7\n", Code::UnsupportedYaml),
            (&"[".repeat(1_000), Code::TooDeep),
            (&"- ".repeat(1_000), Code::TooDeep),
        ] {
            assert_eq!(codes(source), [code], "{}", &source[..source.len().min(40)]);
        }
    }

    #[test]
    fn a_tab_that_indents_is_where_the_error_is() {
        for (source, line) in [
            ("a:\n\tb: 1\n", 2),
            ("a:\n  - b: c\n\td: e\n", 3),
            ("k:\n  a: some\n\ttext\n", 3),
            ("a: |\n\ttext\n", 2),
            ("k:\n  a: {b: c,\n\td: e}\n", 3),
        ] {
            let refusal = Tree::parse(source).map(drop).unwrap_err();
            let at = refusal.span.start;
            assert_eq!(&source[at..=at], "\t", "{source}");
            assert_eq!(source[..at].matches('\n').count() + 1, line, "{source}");
            assert!(refusal.help.unwrap_or_default().contains("spaces"), "{source}");
        }
    }

    #[test]
    fn an_alias_bomb_is_refused_quickly() {
        let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
        for i in 1..12 {
            let aliases = vec![format!("*a{}", i - 1); 9].join(", ");
            bomb.push_str(&format!("a{i}: &a{i} [{aliases}]\n"));
        }
        assert_eq!(codes(&bomb), [Code::AliasBomb]);
    }
}
