//! From bytes to a validated mission, or to everything that is wrong with it.

use std::collections::HashSet;
use std::io;
use std::path::Path as FilePath;
use std::sync::Arc;

use serde_json::{Value, json};

use super::codes::Code;
use super::config::Layers;
use super::diagnostics::{Diagnostic, DiagnosticRow, DiagnosticSeverity, DiagnosticStyle, render_all};
use super::document::{Node, NodeId, NodeKind, Tree};
use super::key_check::{self, Checked};
use super::keys::{Keys, Value as Readable};
use super::scalar::Referent;
use super::shape::Table;
use super::shown_text::quoted;
use super::strictness_source::WrittenSettings;
use super::suggest::suggestion;
use super::violation::{Path, Violation, ViolationPlace, Violations};
use crate::mission::{
    model::{BUILT_IN_RUBRICS, Mission},
    validate,
};

/// The largest file that is read, in bytes.
const MAX_BYTES: usize = 64 * 1024 * 1024;
/// The longest mission, as the length of a file in bytes.
pub const LONGEST_MISSION: u64 = MAX_BYTES as u64;

/// The bytes of a document and what to call it.
#[derive(Debug, Clone)]
pub struct Source {
    /// As the user named it, for diagnostics.
    pub name: Arc<str>,
    /// The bytes of the document.
    pub bytes: Vec<u8>,
}

impl Source {
    /// A document that is in memory already.
    pub fn new(name: impl Into<Arc<str>>, bytes: impl Into<Vec<u8>>) -> Self {
        Self { name: name.into(), bytes: bytes.into() }
    }

    pub fn text(&self) -> Result<&str, Report> {
        if self.bytes.len() > MAX_BYTES {
            let message = format!("{} is larger than 64 MiB, which is more than a mission may be", self.name);
            let help = "split the mission, or move long texts into files that the agents read";
            return Err(Diagnostic::about_file(&self.name, Code::TooLarge, message, help).into());
        }
        std::str::from_utf8(&self.bytes).map_err(|error| {
            let at = error.valid_up_to();
            let line = self.bytes[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
            let message = format!("{} is not UTF-8 text: byte {} (line {line}) is wrong", self.name, at + 1);
            Diagnostic::about_file(&self.name, Code::NotUtf8, message, "save the file as UTF-8").into()
        })
    }
}

/// A mission that is right.
#[derive(Debug)]
pub struct Loaded {
    /// The mission, with the agents and settings of the layers beneath it.
    pub mission: Mission,
    /// Warnings and notes; no errors.
    pub notes: Report,
}

/// Diagnostics of one file, in the order of the file, errors first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Report {
    /// The diagnostics with details.
    pub diagnostics: Vec<Diagnostic>,
    /// How many more there are without.
    pub more: usize,
}

impl Report {
    /// What is to be said of a file that could not be read.
    pub fn unreadable(name: &Arc<str>, path: &FilePath, error: &io::Error) -> Self {
        let diagnostic = match error.kind() {
            io::ErrorKind::NotFound => Diagnostic::about_file(
                name,
                Code::NotFound,
                format!("there is no file {name}"),
                "check the path, or write `quorum init` to make a mission",
            ),
            io::ErrorKind::IsADirectory => {
                let example = path.join("mission.yaml");
                let help = format!("name a file in it, such as {}", example.display());
                Diagnostic::about_file(name, Code::IsFolder, format!("{name} is a folder"), help)
            }
            io::ErrorKind::InvalidInput => Diagnostic::about_file(
                name,
                Code::Unreadable,
                format!("{name} cannot be read: {error}"),
                "name a regular file, or `-` for standard input",
            ),
            _ => Diagnostic::about_file(
                name,
                Code::Unreadable,
                format!("{name} cannot be read: {error}"),
                "check that the file may be read by you",
            ),
        };
        diagnostic.into()
    }

    /// Whether the file cannot be used.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|diagnostic| diagnostic.severity == DiagnosticSeverity::Error)
    }

    /// The text for people: at most twenty diagnostics, and how many more there are.
    pub fn render(&self, style: DiagnosticStyle) -> String {
        render_all(&self.diagnostics, self.more, style)
    }

    /// The diagnostics as documents have them.
    pub fn rows(&self) -> Vec<DiagnosticRow<'_>> {
        self.diagnostics.iter().map(Diagnostic::row).collect()
    }
}

impl From<Diagnostic> for Report {
    fn from(diagnostic: Diagnostic) -> Self {
        Self { diagnostics: vec![diagnostic], more: 0 }
    }
}

/// Loads and validates a mission over the configuration files beneath it.
///
/// # Errors
/// Everything that is wrong with the file.
pub fn load(source: &Source, layers: &Layers) -> Result<Loaded, Report> {
    let text = source.text()?;
    let Document { tree, mut checked, value: mut mission } =
        read_document::<Mission>(&source.name, text, None)?;
    mission.written = vec![WrittenSettings::of("", text, &tree)];
    let mission = layers.under(mission);
    let mut problems = std::mem::take(&mut checked.problems);
    problems.append(check_references(&tree, &checked, &mission, layers));
    problems.append(validate::validate(
        &mission,
        &checked.incomplete,
        (layers.has_workers, layers.filled_by),
    ));
    let failed = problems.has_errors();
    if !failed {
        problems.append(validate::advise(&mission));
    }
    let (mut diagnostics, more) = problems.locate(&source.name, text, Some(&tree));
    diagnostics.extend(layers.each().flat_map(|config| config.notes.iter().cloned()));
    let notes = Report { diagnostics, more };
    if failed {
        return Err(notes);
    }
    Ok(Loaded { mission, notes })
}

/// Warns of files that checks go by and nobody makes, each with the number of its task: whether one is there is for others to see.
pub fn warn_of_missing_files(source: &Source, found: Vec<(usize, String)>) -> Vec<Diagnostic> {
    let Ok(text) = source.text() else {
        return Vec::new();
    };
    let tree = Tree::parse(text).map(|(tree, _)| tree).ok();
    let mut problems = Violations::default();
    for (task, message) in found {
        problems.warn(
            Code::UnnamedFile,
            Path::of("tasks").item(task),
            message,
            "write it before the run, or name it in `targetFiles`",
        );
    }
    problems.locate(&source.name, text, tree.as_ref()).0
}

/// A map in YAML as plain data; `None` for what is none. What is wrong with its values is not looked for: whoever depends on
/// them loads them as a mission or as settings.
pub fn plain(text: &str) -> Option<Value> {
    let (tree, _) = Tree::parse(text).ok()?;
    (tree.kind(tree.root()) == NodeKind::Map).then(|| tree.plain(tree.root()))
}

/// The agents that a mission defines itself, as plain data. A mission may leave all its agents to `quorum.yaml`.
pub fn agents_in(text: &str) -> Value {
    let agents = plain(text).and_then(|mut mission| Some(mission.get_mut("agents")?.take()));
    agents.unwrap_or_else(|| json!({}))
}

/// A document: what is right of it, and what is wrong.
pub struct Document<'s, T> {
    pub tree: Tree<'s>,
    pub checked: Checked,
    pub value: T,
}

/// Reads a document and checks it against the table of its kind. Keys of `other` belong in another kind of file.
///
/// # Errors
/// When it is not even a map of keys, so that there is nothing to go on with.
pub fn read_document<'s, T: Readable + Keys>(
    name: &Arc<str>,
    text: &'s str,
    other: Option<&'static Table>,
) -> Result<Document<'s, T>, Report> {
    let stop = |problem: Violation, tree: Option<&Tree<'_>>| {
        let mut problems = Violations::default();
        problems.push(problem);
        let (diagnostics, more) = problems.locate(name, text, tree);
        Report { diagnostics, more }
    };
    let empty =
        || Violation::error(Code::Empty, ViolationPlace::File, "the file holds nothing").help(EMPTY_HELP);
    let (mut tree, refusals) = Tree::parse(text).map_err(|refusal| match refusal.code {
        Code::Empty => stop(empty(), None),
        _ => stop(Violation::refusal(refusal), None),
    })?;
    let root = tree.root();
    if tree.is_null(root) {
        return Err(stop(empty(), None));
    }
    if tree.kind(root) != NodeKind::Map {
        let found = if tree.kind(root) == NodeKind::List { "a list" } else { "a single value" };
        let message = format!("{} is a map of keys; this file is {found}", T::TABLE.name);
        return Err(stop(
            Violation::error(Code::NotAMap, ViolationPlace::Span(tree.span(root)), message).help(EMPTY_HELP),
            None,
        ));
    }
    let mut checked = key_check::check(&mut tree, T::TABLE, other);
    refusals.into_iter().for_each(|refusal| checked.problems.push(Violation::refusal(refusal)));
    match T::read(Node::root(&tree)) {
        Some(value) => Ok(Document { tree, checked, value }),
        // What is wrong has been said; something that is missing leaves nothing to look for more in.
        None if checked.problems.has_errors() => {
            let (diagnostics, more) = checked.problems.locate(name, text, Some(&tree));
            Err(Report { diagnostics, more })
        }
        None => {
            let message = "the file passed the check of its keys but could not be read";
            let problem = Violation::error(Code::Internal, ViolationPlace::File, message);
            Err(stop(problem.help("please report this with the file"), None))
        }
    }
}

const EMPTY_HELP: &str = "write keys such as `name: ...`, `agents: ...` and `tasks: ...`";

/// Looks for the names of channels and rubrics, and for all names used under keys that no struct has a field for.
fn check_references(tree: &Tree<'_>, checked: &Checked, mission: &Mission, layers: &Layers) -> Violations {
    let mut problems = Violations::default();
    let names = validate::Names::new(mission, &checked.incomplete);
    let defined = |key: &str, below: &HashSet<Box<str>>| -> HashSet<String> {
        let own = names_under(tree, key);
        own.into_iter()
            .map(|name| tree.text(name).to_owned())
            .chain(below.iter().map(|name| name.to_string()))
            .collect()
    };
    let channels = defined("channels", &layers.channels());
    let mut rubrics = defined("rubrics", &layers.rubrics());
    rubrics.extend(BUILT_IN_RUBRICS.map(str::to_owned));
    for (referent, node) in &checked.references {
        let name = tree.text(*node);
        let place = || ViolationPlace::Span(tree.span(*node));
        match referent {
            Referent::Agent => names.check_agent(name, place, &mut problems),
            Referent::Task => names.check_task(name, mission, place, &mut problems),
            _ if checked.incomplete.contains(referent) => {}
            Referent::Channel if !channels.contains(name) => {
                problems.push_with(|| unknown(name, &channels, Code::UnknownChannel, "channel", place()));
            }
            Referent::Rubric if !rubrics.contains(name) => {
                problems.push_with(|| unknown(name, &rubrics, Code::UnknownRubric, "rubric", place()));
            }
            Referent::Channel | Referent::Rubric => {}
        }
    }
    if checked.incomplete.contains(&Referent::Channel) {
        return problems;
    }
    let (settings, sla) = (&mission.settings, &mission.settings.sla);
    let named = [
        ("defaultChannels", settings.default_channels.clone().unwrap_or_default()),
        ("sla", sla.warning_channels()),
        ("sla", sla.violation_channels()),
    ];
    let is_own = |name: &str| checked.references.iter().any(|(_, node)| tree.text(*node) == name);
    for (key, names) in &named {
        // What the mission names has been looked for: the rest stands in files of settings.
        for name in names.iter().filter(|name| !channels.contains(&***name) && !is_own(name)) {
            let place = mission.written.iter().skip(1).find_map(|file| file.place(key)).unwrap_or_default();
            problems.refuse(
                Code::UnknownChannel,
                ViolationPlace::File,
                format!("{place} names a channel that is not there: {}", quoted(name)),
                "define it below `channels` of the mission or of a quorum.yaml",
            );
        }
    }
    problems
}

/// The names defined under a key of the document, pruned or not.
fn names_under(tree: &Tree<'_>, key: &str) -> Vec<NodeId> {
    match tree.entry(tree.root(), key) {
        Some(entry) => tree.all_entries(entry.value).map(|entry| entry.key).collect(),
        None => Vec::new(),
    }
}

fn unknown(name: &str, known: &HashSet<String>, code: Code, what: &str, place: ViolationPlace) -> Violation {
    let mut sorted: Vec<&str> = known.iter().map(String::as_str).collect();
    sorted.sort_unstable();
    let problem = Violation::error(code, place, format!("there is no {what} {}", quoted(name)));
    problem.help(suggestion(name, sorted, &format!("known {what}s")))
}
