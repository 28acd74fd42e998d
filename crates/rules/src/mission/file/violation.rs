//! What is wrong, before it is known where that stands in the text.
//!
//! The check of the document knows places as byte ranges; the validation of the structs knows them as paths such as
//! `tasks[5].dependsOn[2]`. Both are resolved to lines and columns only if there is something to show.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use super::codes::Code;
use super::diagnostics::{Diagnostic, DiagnosticSeverity, LineStarts};
use super::document::{NodeId, NodeKind, Tree, YamlError};
use super::scalar::Fault;
use super::suggest::closest;

/// How many problems are kept with their details; the rest are only counted.
const KEPT: usize = 100;

/// A path to a value in the document.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Path(Vec<PathStep>);

#[derive(Debug, Clone, PartialEq)]
enum PathStep {
    Key(Cow<'static, str>),
    Item(usize),
}

impl Path {
    pub fn of(key: &'static str) -> Self {
        Self::default().key(key)
    }

    pub fn key(mut self, key: impl Into<Cow<'static, str>>) -> Self {
        self.0.push(PathStep::Key(key.into()));
        self
    }

    pub fn item(mut self, index: usize) -> Self {
        self.0.push(PathStep::Item(index));
        self
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().enumerate().try_for_each(|(at, step)| match step {
            PathStep::Key(key) if at == 0 => f.write_str(key),
            PathStep::Key(key) => write!(f, ".{key}"),
            PathStep::Item(index) => write!(f, "[{index}]"),
        })
    }
}

/// Where a problem is.
#[derive(Debug, Clone, PartialEq)]
pub enum ViolationPlace {
    /// The file as a whole.
    File,
    /// A range of the file, in bytes.
    Span(Range<usize>),
    /// The value at the end of this path, or what is left of the path if a part of it does not exist.
    Value(Path),
    /// The key at the end of this path.
    Key(Path),
}

impl From<Path> for ViolationPlace {
    fn from(path: Path) -> Self {
        Self::Value(path)
    }
}

/// A problem, not yet located.
#[derive(Debug, Clone)]
pub struct Violation {
    pub code: Code,
    pub severity: DiagnosticSeverity,
    pub place: ViolationPlace,
    pub message: String,
    pub label: Option<String>,
    pub help: Option<String>,
    pub related: Option<(ViolationPlace, String)>,
    /// The problem follows from another one if the value here was found to be wrong.
    pub unless: Option<Path>,
}

impl Violation {
    pub fn error(code: Code, place: impl Into<ViolationPlace>, message: impl Into<String>) -> Self {
        Self {
            code,
            severity: DiagnosticSeverity::Error,
            place: place.into(),
            message: message.into(),
            label: None,
            help: None,
            related: None,
            unless: None,
        }
    }

    pub fn fault(place: ViolationPlace, fault: Fault) -> Self {
        Self { help: fault.help, ..Self::error(fault.code, place, fault.message) }
    }

    pub fn refusal(refusal: YamlError) -> Self {
        Self {
            help: refusal.help.map(str::to_owned),
            related: refusal.related.map(|(span, label)| (ViolationPlace::Span(span), label.to_owned())),
            ..Self::error(refusal.code, ViolationPlace::Span(refusal.span), refusal.message)
        }
    }

    pub fn severity(mut self, severity: DiagnosticSeverity) -> Self {
        self.severity = severity;
        self
    }

    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    pub fn unless_wrong(mut self, path: Path) -> Self {
        self.unless = Some(path);
        self
    }

    pub fn related(mut self, place: impl Into<ViolationPlace>, label: impl Into<String>) -> Self {
        self.related = Some((place.into(), label.into()));
        self
    }
}

/// Violations as they are found: a bounded number with details, all of them counted.
#[derive(Debug, Default)]
pub struct Violations {
    kept: Vec<Violation>,
    dropped: usize,
    dropped_error: bool,
}

impl Violations {
    pub fn push(&mut self, problem: Violation) {
        if self.kept.len() < KEPT {
            self.kept.push(problem);
        } else {
            self.dropped += 1;
            self.dropped_error |= problem.severity == DiagnosticSeverity::Error;
        }
    }

    /// Adds an error at a place, with what mends it.
    pub fn refuse(
        &mut self,
        code: Code,
        place: impl Into<ViolationPlace>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.push(Violation::error(code, place, message).help(help));
    }

    /// Adds a warning at a place, with what mends it.
    pub fn warn(
        &mut self,
        code: Code,
        place: impl Into<ViolationPlace>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.push(Violation::error(code, place, message).help(help).severity(DiagnosticSeverity::Warning));
    }

    /// An error that takes some work to describe, which is spared if it would only be counted.
    pub fn push_with(&mut self, describe: impl FnOnce() -> Violation) {
        if self.kept.len() < KEPT {
            self.kept.push(describe());
        } else {
            self.dropped += 1;
            self.dropped_error = true;
        }
    }

    /// Whether the file cannot be used.
    pub fn has_errors(&self) -> bool {
        self.dropped_error || self.first_error().is_some()
    }

    /// The message of the first error.
    pub fn first_error(&self) -> Option<&str> {
        let mut errors = self.kept.iter();
        let error = errors.find(|problem| problem.severity == DiagnosticSeverity::Error)?;
        Some(&error.message)
    }

    pub fn append(&mut self, other: Self) {
        self.dropped += other.dropped;
        self.dropped_error |= other.dropped_error;
        other.kept.into_iter().for_each(|problem| self.push(problem));
    }

    /// The diagnostics in the order of the file, and how many more there are.
    pub fn locate(self, file: &Arc<str>, source: &str, tree: Option<&Tree<'_>>) -> (Vec<Diagnostic>, usize) {
        let mut locator = Locator { tree, lists: HashMap::new() };
        let mut located: Vec<_> = self
            .kept
            .into_iter()
            .filter_map(|problem| Some((locator.locate_problem(&problem)?, problem)))
            .collect();
        located.sort_by_key(|(range, problem)| (problem.severity, range.as_ref().map(|range| range.start)));
        let secrets = located.iter().filter(|(_, problem)| problem.code == Code::SecretInFile);
        let mut hidden: Vec<_> = secrets.filter_map(|(range, _)| range.clone()).collect();
        if tree.is_none() {
            hidden.extend(possible_secrets(source));
        }
        let lines = LineStarts::new(source, hidden);
        let diagnostics = located
            .into_iter()
            .map(|(range, problem)| Diagnostic {
                code: problem.code,
                severity: problem.severity,
                message: problem.message,
                file: Arc::clone(file),
                spot: range.map(|range| lines.spot(range)),
                label: problem.label,
                related: problem
                    .related
                    .and_then(|(place, label)| Some((lines.spot(locator.locate(&place)??), label))),
                help: problem.help,
            })
            .collect();
        (diagnostics, self.dropped)
    }
}

/// The ranges that may be secrets in a text that could not be read: whatever follows `apiKey` on its line.
fn possible_secrets(source: &str) -> impl Iterator<Item = Range<usize>> {
    const KEY: &str = "apiKey";
    source.match_indices(KEY).map(|(at, _)| {
        let from = at + KEY.len();
        from..source[from..].find('\n').map_or(source.len(), |end| from + end)
    })
}

/// Finds places in a document.
struct Locator<'t, 's> {
    tree: Option<&'t Tree<'s>>,
    /// Items of lists that were looked into: a list of tasks is long and asked for often.
    lists: HashMap<NodeId, Vec<NodeId>>,
}

impl Locator<'_, '_> {
    /// The bytes of a problem; `None` if it only follows from another one.
    fn locate_problem(&mut self, problem: &Violation) -> Option<Option<Range<usize>>> {
        if let Some(cause) = &problem.unless {
            self.follow(cause, false)?;
        }
        self.locate(&problem.place)
    }

    /// The bytes of a place; `Some(None)` is the file as a whole. `None`: the place was pruned, so what is wrong there
    /// has been said already.
    fn locate(&mut self, place: &ViolationPlace) -> Option<Option<Range<usize>>> {
        match place {
            ViolationPlace::File => Some(None),
            ViolationPlace::Span(span) => Some(Some(span.clone())),
            ViolationPlace::Value(path) => self.follow(path, false),
            ViolationPlace::Key(path) => self.follow(path, true),
        }
    }

    fn follow(&mut self, path: &Path, to_key: bool) -> Option<Option<Range<usize>>> {
        let Some(tree) = self.tree else { return Some(None) };
        let mut at = tree.root();
        let mut key = None;
        for step in &path.0 {
            let next = match step {
                PathStep::Item(index) => {
                    let items = self.lists.entry(at).or_insert_with(|| tree.items(at).collect());
                    key = None;
                    items.get(*index).copied()
                }
                PathStep::Key(name) => match tree.entry(at, name) {
                    Some(entry) if tree.is_pruned(entry.key) || tree.is_pruned(entry.value) => return None,
                    Some(entry) => {
                        key = Some(entry.key);
                        Some(entry.value)
                    }
                    None if is_misspelt(tree, at, name, |key| tree.is_pruned(key)) => return None,
                    None => None,
                },
            };
            match next {
                Some(node) => at = node,
                None => return Some(missing_in(tree, at, key)),
            }
        }
        let shown = if to_key { key.unwrap_or(at) } else { at };
        Some(Some(first_line(tree, shown)))
    }
}

/// Whether a map has a key that was probably meant to be this one: what follows from its absence has been said then.
pub fn is_misspelt(tree: &Tree<'_>, map: NodeId, name: &str, is_wrong: impl Fn(NodeId) -> bool) -> bool {
    let is_meant = |key| !tree.text(key).starts_with("x-") && closest(tree.text(key), [name]).is_some();
    tree.kind(map) == NodeKind::Map
        && tree.all_entries(map).any(|entry| is_wrong(entry.key) && is_meant(entry.key))
}

/// The range to point at when something is missing in `node`: the key it belongs to, else its beginning; for
/// the whole document nothing.
fn missing_in(tree: &Tree<'_>, node: NodeId, key: Option<NodeId>) -> Option<Range<usize>> {
    if let Some(key) = key {
        return Some(tree.span(key));
    }
    (node != tree.root()).then(|| first_line(tree, node))
}

/// The place of a value; of a map its first key, which reads better than the bracket or nothing at all.
pub fn first_line(tree: &Tree<'_>, node: NodeId) -> Range<usize> {
    if tree.kind(node) == NodeKind::Map
        && let Some(entry) = tree.all_entries(node).next()
    {
        return tree.span(entry.key);
    }
    tree.span(node)
}
