//! Checks a document against tables of keys, collecting everything that is wrong with it.
//!
//! What is wrong is pruned from the tree, so that the rest can still be read and validated. What is right but not
//! built yet is noted and pruned too: no struct has a field for it.

use std::collections::HashSet;

use crate::domain::Millis;

use super::codes::Code;
use super::criteria_and_weights;
use super::diagnostics::DiagnosticSeverity;
use super::document::{MapEntry, NodeId, NodeKind, Tree};
use super::scalar::{Deadline, Referent, Scalar as _, unknown_word};
use super::shape::{OneShape, Shape, Table, TableKey};
use super::shown_text::quoted;
use super::suggest::suggestion;
use super::synonyms;
use super::violation::{Violation, ViolationPlace, Violations, first_line, is_misspelt};

/// The result of the check.
#[derive(Debug, Default)]
pub struct Checked {
    /// Errors, and notes about keys that are not built.
    pub problems: Violations,
    /// Names of channels and rubrics, and all names used under keys that no struct has a field for; the others are validated on the
    /// structs.
    pub references: Vec<(Referent, NodeId)>,
    /// Kinds of names of which some were pruned, so that a reference to an unknown one may be no mistake.
    pub incomplete: HashSet<Referent>,
}

/// Tables of keys by a word.
type Types = [(&'static str, &'static Table)];

/// Checks the document against `table` and prunes it. Keys of `other` belong in another kind of file.
pub fn check(tree: &mut Tree<'_>, table: &'static Table, other: Option<&'static Table>) -> Checked {
    let mut checker = Checker { tree, other, found: Checked::default(), pruned: Vec::new(), later: false };
    let root = checker.tree.root();
    checker.map(root, table, &[]);
    let Checker { mut found, pruned, .. } = checker;
    found.problems.append(criteria_and_weights::check(tree));
    pruned.into_iter().for_each(|node| tree.prune(node));
    found
}

struct Checker<'t, 's> {
    tree: &'t Tree<'s>,
    /// The keys of the other kind of file, for a hint; `None` where there is no other kind.
    other: Option<&'static Table>,
    found: Checked,
    /// Pruned when the check is over: the tree is only read while it is walked.
    pruned: Vec<NodeId>,
    /// Whether this is below a key that is not built.
    later: bool,
}

impl Checker<'_, '_> {
    fn error(&mut self, node: NodeId, code: Code, message: impl Into<String>, help: impl Into<String>) {
        let place = ViolationPlace::Span(first_line(self.tree, node));
        self.found.problems.refuse(code, place, message, help);
    }

    fn place(&self, node: NodeId) -> ViolationPlace {
        ViolationPlace::Span(first_line(self.tree, node))
    }

    /// Checks a map; `true` if it and everything in it is right. `types`: what else it could have been.
    fn map(&mut self, map: NodeId, table: &'static Table, types: &Types) -> bool {
        let mut is_right = true;
        let tree = self.tree;
        for entry in tree.entries(map) {
            let name = tree.text(entry.key);
            if let Some(key) = table.key(name) {
                is_right &= self.tree.is_null(entry.value) || self.entry(entry, key);
            } else {
                self.pruned.push(entry.key);
                if !name.starts_with("x-") {
                    is_right = false;
                    let other = self.other.filter(|_| map == tree.root());
                    self.found.problems.push_with(|| unknown_key(tree, entry.key, table, (types, other)));
                }
            }
        }
        for key in table.keys.iter().filter(|key| key.required) {
            is_right &= self.is_present(map, key, table);
        }
        is_right
    }

    fn is_present(&mut self, map: NodeId, key: &TableKey, table: &Table) -> bool {
        // A pruned value was there: what is wrong with it has been said.
        let is_there = self.tree.entry(map, key.name).is_some_and(|entry| !self.tree.is_null(entry.value));
        let is_unknown = |other| table.key(self.tree.text(other)).is_none();
        if !is_there && !is_misspelt(self.tree, map, key.name, is_unknown) {
            let subject = table.name;
            let mut message = format!("{subject} needs `{}`, which is missing", key.name);
            if self.tree.entry(map, key.name).is_some() {
                message = format!("{subject} needs `{}`, which is empty", key.name);
            }
            let place = if map == self.tree.root() { ViolationPlace::File } else { self.place(map) };
            let help = format!("add `{}: ...`", key.name);
            self.found.problems.refuse(Code::MissingKey, place, message, help);
        }
        is_there
    }

    fn entry(&mut self, entry: MapEntry, key: &'static TableKey) -> bool {
        let was_later = self.later;
        self.later |= !key.is_built();
        let is_right = self.value(entry.value, key.name, &key.shape);
        self.later = was_later;
        if let Some(area) = key.later {
            self.pruned.push(entry.key);
            if is_right && !self.later {
                self.note(entry.key, key.name, area);
            }
        }
        let is_one = matches!(key.shape, Shape::One(_) | Shape::Either(_));
        if !is_right && (is_one || !takes(&key.shape, self.tree.kind(entry.value))) {
            self.pruned.push(entry.value);
            self.forget_name(key.name);
        }
        is_right
    }

    /// Remembers that names are missing: a pruned value below this key may be one that others refer to.
    fn forget_name(&mut self, key: &str) {
        let referent = match key {
            "title" | "tasks" => Referent::Task,
            "agents" => Referent::Agent,
            "channels" => Referent::Channel,
            "rubrics" => Referent::Rubric,
            _ => return,
        };
        self.found.incomplete.insert(referent);
    }

    fn note(&mut self, node: NodeId, what: &str, area: &str) {
        let problem = not_built(self.place(node), what, area);
        self.found.problems.push(problem);
    }

    /// Checks a value that is not null.
    fn value(&mut self, node: NodeId, key: &'static str, shape: &'static Shape) -> bool {
        match (shape, self.tree.kind(node)) {
            (Shape::One(one), NodeKind::Plain | NodeKind::Quoted) => self.one(node, one),
            (Shape::Map(table), NodeKind::Map) => self.map(node, table, &[]),
            (Shape::Named(name, of), NodeKind::Map) => self.named(node, key, name, of),
            (Shape::List(of), NodeKind::List) => self.list(node, key, of),
            (Shape::NonEmptyList(of), NodeKind::List) => {
                if self.tree.items(node).next().is_none() {
                    self.error(
                        node,
                        Code::EmptyValue,
                        format!("`{key}` is an empty list"),
                        "name at least one",
                    );
                    return false;
                }
                self.list(node, key, of)
            }
            (Shape::Expectations(types), NodeKind::List) => self.expectations(node, types),
            (Shape::Either(shapes), kind) => match shapes.iter().find(|shape| takes(shape, kind)) {
                Some(shape) => self.value(node, key, shape),
                None => self.wrong_kind(node, key, shape),
            },
            _ => self.wrong_kind(node, key, shape),
        }
    }

    fn one(&mut self, node: NodeId, shape: &'static OneShape) -> bool {
        if let Err(fault) = (shape.check)(self.tree.text(node)) {
            self.found.problems.push(Violation::fault(self.place(node), fault));
            return false;
        }
        let is_duration = [Millis::EXPECTS, Deadline::EXPECTS].contains(&shape.expects);
        if let (true, Ok(number @ ..1000)) = (is_duration, self.tree.text(node).trim().parse::<u64>()) {
            let message = format!("{number} is {number} milliseconds");
            let warning = Violation::error(Code::NoUnit, self.place(node), message)
                .severity(DiagnosticSeverity::Warning);
            let help = format!("write {number}ms if that is meant, or {number}s, {number}m");
            self.found.problems.push(warning.help(help));
        }
        let is_kept =
            |referent: &Referent| self.later || matches!(referent, Referent::Channel | Referent::Rubric);
        if let Some(referent) = shape.refers_to.filter(is_kept) {
            self.found.references.push((referent, node));
        }
        true
    }

    /// Checks a value within the list or map that `key` holds.
    fn entry_value(&mut self, node: NodeId, key: &'static str, shape: &'static Shape) -> bool {
        if takes(shape, self.tree.kind(node)) {
            return self.value(node, key, shape);
        }
        let help = match shape {
            Shape::Map(_) => "write its keys below each other, each as `key: value`",
            _ => "write one plain value",
        };
        self.wrong_type(node, &format!("an entry of `{key}`"), shape, help)
    }

    fn wrong_kind(&mut self, node: NodeId, key: &str, shape: &Shape) -> bool {
        self.wrong_type(node, &format!("`{key}`"), shape, example(key, shape))
    }

    fn wrong_type(&mut self, node: NodeId, what: &str, shape: &Shape, help: impl Into<String>) -> bool {
        let found = match self.tree.kind(node) {
            NodeKind::Map => "a map".to_owned(),
            NodeKind::List => "a list".to_owned(),
            NodeKind::Plain | NodeKind::Quoted => quoted(self.tree.text(node)),
        };
        let message = format!("{what} takes {}, not {found}", expects(shape));
        self.error(node, Code::WrongType, message, help);
        false
    }

    fn list(&mut self, list: NodeId, key: &'static str, shape: &'static Shape) -> bool {
        let mut is_right = true;
        let tree = self.tree;
        for item in tree.items(list) {
            let fits = if self.tree.is_null(item) {
                self.error(
                    item,
                    Code::EmptyValue,
                    format!("this entry of `{key}` is empty"),
                    "write something or remove it",
                );
                false
            } else {
                self.entry_value(item, key, shape)
            };
            // A map with something wrong in it is still a task, a gate, an agent; a single value is nothing.
            if !fits && (!matches!(shape, Shape::Map(_)) || self.tree.kind(item) != NodeKind::Map) {
                self.pruned.push(item);
                self.forget_name(key);
            }
            is_right &= fits;
        }
        is_right
    }

    fn named(
        &mut self,
        map: NodeId,
        key: &'static str,
        name: &'static OneShape,
        shape: &'static Shape,
    ) -> bool {
        let mut is_right = true;
        let tree = self.tree;
        for entry in tree.entries(map) {
            let fits_name = self.one(entry.key, name);
            let fits = if self.tree.is_null(entry.value) {
                let what = quoted(self.tree.text(entry.key));
                self.error(
                    entry.key,
                    Code::EmptyValue,
                    format!("{what} in `{key}` has no value"),
                    "give it a value or remove it",
                );
                false
            } else {
                self.entry_value(entry.value, key, shape)
            };
            if !fits_name
                || (!fits
                    && (!matches!(shape, Shape::Map(_)) || self.tree.kind(entry.value) != NodeKind::Map))
            {
                self.pruned.push(entry.key);
                self.forget_name(key);
            }
            is_right &= fits_name && fits;
        }
        is_right
    }

    /// Checks the entries of `expectations`, each by its type. One with anything wrong in it is pruned as a whole.
    fn expectations(&mut self, list: NodeId, types: &'static Types) -> bool {
        let mut is_right = true;
        let tree = self.tree;
        for item in tree.items(list) {
            if !self.expectation(item, types) {
                self.pruned.push(item);
                is_right = false;
            }
        }
        is_right
    }

    fn expectation(&mut self, item: NodeId, types: &'static Types) -> bool {
        if self.tree.kind(item) != NodeKind::Map {
            return self.wrong_kind(item, "expectations", &Shape::Expectations(types));
        }
        let words: Vec<&str> = types.iter().map(|(word, _)| *word).collect();
        let Some(kind) = self.tree.get(item, "type") else {
            let help = format!("add `type: ...`, one of: {}", words.join(", "));
            self.error(item, Code::MissingKey, "an expectation needs `type`, which is missing", help);
            return false;
        };
        let tree = self.tree;
        let text = tree.text(kind);
        let Some((_, table)) = types.iter().find(|(word, _)| *word == text) else {
            let fault = unknown_word(text, "a type of expectation", &words);
            self.found.problems.push(Violation::fault(self.place(kind), fault));
            return false;
        };
        let is_right = self.map(item, table, types);
        is_right && self.is_complete(item, text)
    }

    /// Checks the keys that a metric needs besides its required ones.
    fn is_complete(&mut self, item: NodeId, kind: &str) -> bool {
        let has = |key| self.tree.get(item, key).is_some();
        if kind != "metric" || has("min") || has("max") {
            return true;
        }
        let message = "a metric needs `min` or `max`";
        let help = "add the number it must not be below or above";
        self.error(item, Code::IncompleteExpectation, message, help);
        false
    }
}

/// The error for a key that is right and that nothing acts on yet: refused rather than ignored, by `validate`
/// and `run` alike.
pub fn not_built(place: ViolationPlace, what: &str, area: &str) -> Violation {
    let message = format!("`{what}` is known but not built yet ({area})");
    Violation::error(Code::NotBuiltYet, place, message).help("remove it: nothing acts on it yet")
}

/// A key that does not exist at its place: it may belong elsewhere, or be misspelt.
fn unknown_key(
    tree: &Tree<'_>,
    key: NodeId,
    table: &'static Table,
    (types, other): (&Types, Option<&'static Table>),
) -> Violation {
    let name = tree.text(key);
    let error =
        |code, message: String| Violation::error(code, ViolationPlace::Span(first_line(tree, key)), message);
    if other.is_some_and(|other| other.key(name).is_some()) {
        return error(Code::NotInConfig, format!("`{name}` belongs in a mission file"))
            .help("a quorum.yaml holds agents, channels, rubrics and settings");
    }
    let owners = types.iter().filter(|(_, other)| other.key(name).is_some());
    let mut owners: Vec<&str> = owners.map(|(_, owner)| owner.name).collect();
    owners.dedup();
    if !owners.is_empty() {
        let message = format!("`{name}` does not apply to {}", table.name);
        return error(Code::KeyDoesNotApply, message).help(format!("it belongs to {}", owners.join(" or ")));
    }
    let known = || suggestion(name, table.keys.iter().map(|key| key.name), "known keys");
    let help = synonyms::key(table, name).unwrap_or_else(known);
    error(Code::UnknownKey, format!("{} has no key {}", table.name, quoted(name))).help(help)
}

/// Whether a shape takes values of this kind.
fn takes(shape: &Shape, kind: NodeKind) -> bool {
    match shape {
        Shape::One(_) => matches!(kind, NodeKind::Plain | NodeKind::Quoted),
        Shape::List(_) | Shape::NonEmptyList(_) | Shape::Expectations(_) => kind == NodeKind::List,
        Shape::Map(_) | Shape::Named(..) => kind == NodeKind::Map,
        Shape::Either(shapes) => shapes.iter().any(|shape| takes(shape, kind)),
    }
}

/// The values that a shape takes, in words.
pub fn expects(shape: &Shape) -> String {
    match shape {
        Shape::One(one) => match one.refers_to {
            None => one.expects.to_owned(),
            Some(Referent::Agent) => "the name of an agent".to_owned(),
            Some(Referent::Task) => "the title of a task".to_owned(),
            Some(Referent::Channel) => "the name of a channel".to_owned(),
            Some(Referent::Rubric) => "the name of a rubric".to_owned(),
        },
        Shape::List(of) | Shape::NonEmptyList(of) => match of {
            Shape::Map(_) | Shape::Either(_) => "a list".to_owned(),
            _ => format!("a list, each entry {}", expects(of)),
        },
        Shape::Map(table) => format!("a map with the keys of {}", table.name),
        Shape::Named(..) => "a map from names to values".to_owned(),
        Shape::Either(shapes) => shapes.iter().map(expects).collect::<Vec<_>>().join(", or "),
        Shape::Expectations(_) => "a list of maps, each with a `type`".to_owned(),
    }
}

/// How a value of this shape is written.
fn example(key: &str, shape: &Shape) -> String {
    match shape {
        Shape::List(of) | Shape::NonEmptyList(of) if matches!(of, Shape::One(_)) => {
            format!("write `{key}: [one, another]`")
        }
        Shape::List(_) | Shape::NonEmptyList(_) | Shape::Expectations(_) => {
            format!("write one entry per line below `{key}:`, each beginning with `- `")
        }
        Shape::Map(_) | Shape::Named(..) => format!("write `{key}:` and below it, indented, `name: value`"),
        Shape::Either([first, ..]) => example(key, first),
        Shape::One(_) | Shape::Either([]) => format!("write `{key}: value`"),
    }
}
