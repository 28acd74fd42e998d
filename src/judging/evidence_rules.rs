//! What plain facts say about an attempt before any judge is asked (semantics, section 6, preflight).

use crate::domain::{Finding, Points, Severity, TaskId};
use crate::mission::model::Adapter;
use crate::mission::{Plan, TaskPlan};

/// Which files are looked at before and after a turn, beside the protected ones, to see what it did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Watched<'p> {
    /// None: no rule asks.
    Nothing,
    /// These.
    Files(&'p [Box<str>]),
}

/// Which files a task's rules ask about.
#[must_use]
pub fn watched(task: &TaskPlan) -> Watched<'_> {
    let asked = task.description.as_deref().is_some_and(asks_for_file);
    if !task.target_files.is_empty() && asked {
        Watched::Files(&task.target_files)
    } else {
        Watched::Nothing
    }
}

/// Whether the files of a task are looked at before and after each of its turns. A model behind HTTP has no hands: what
/// happens to files meanwhile was not done by it.
#[must_use]
pub fn is_watched(plan: &Plan, id: TaskId) -> bool {
    let task = plan.task(id);
    let has_rules =
        !plan.rules.protect.is_empty() || !task.protect.is_empty() || watched(task) != Watched::Nothing;
    has_rules && has_hands(plan.agent(task.agent).spec.adapter)
}

/// Whether an agent could change a file.
fn has_hands(adapter: Adapter) -> bool {
    !matches!(
        adapter,
        Adapter::Openai
            | Adapter::Anthropic
            | Adapter::GeminiApi
            | Adapter::Ollama
            | Adapter::Echo
            | Adapter::Human
    )
}

/// Verbs that make something.
const MAKES: [&str; 5] = ["write", "create", "generate", "produce", "save"];
/// What is made of it is a file.
const FILES: [&str; 4] = ["file", "report", "document", "output"];
/// Words that say it by themselves.
const SAYS_SO: [&str; 4] = ["write_file", "write to", "save to", "output to"];

/// Whether a description asks for a file to be written: a verb that makes something and, later, something that is a
/// file, both as whole words in any case; or words that say it by themselves.
#[must_use]
pub fn asks_for_file(description: &str) -> bool {
    let text = description.to_lowercase();
    let mut words = text.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '-');
    let made = words.any(|word| MAKES.contains(&word)) && words.any(|word| FILES.contains(&word));
    // One space between words, so that a line break makes no difference.
    let joined = || text.split_whitespace().collect::<Vec<_>>().join(" ");
    made || {
        let joined = joined();
        SAYS_SO.iter().any(|phrase| joined.contains(phrase))
    }
}

/// What the runtime saw of one declared target file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetFile {
    /// The path as declared, relative to the workspace.
    pub path: String,
    /// What is there.
    pub state: FileState,
}

/// What is at a declared path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileState {
    /// Nothing, or nothing that is a regular file.
    Missing,
    /// A file without content.
    Empty,
    /// A file with content.
    Filled,
}

/// Work turned down before a judge saw it. Never counts for the judge breaker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreflightReject {
    /// The points that the attempt gets.
    pub points: Points,
    /// What the worker is told.
    pub findings: Vec<Finding>,
}

/// The artifacts check: of the files that the task must produce, not one has any content.
///
/// One filled file is enough to let the judges decide; a task that declares no files has nothing to check.
#[must_use]
pub fn artifacts(files: &[TargetFile]) -> Option<PreflightReject> {
    if files.is_empty() || files.iter().any(|file| file.state == FileState::Filled) {
        return None;
    }
    let findings = files
        .iter()
        .map(|file| {
            let what = match file.state {
                FileState::Empty => "is empty",
                FileState::Missing | FileState::Filled => "does not exist",
            };
            Finding::new(Severity::High, format!("target file {} {what}", file.path))
        })
        .collect();
    Some(PreflightReject {
        points: Points::whole(20),
        findings,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, state: FileState) -> TargetFile {
        TargetFile {
            path: path.to_owned(),
            state,
        }
    }

    #[test]
    fn nothing_produced_is_rejected_with_every_file_named() {
        let reject = artifacts(&[file("a.md", FileState::Missing), file("b.md", FileState::Empty)]).unwrap();
        assert_eq!(reject.points, Points::whole(20));
        let texts: Vec<_> = reject.findings.iter().map(|f| f.description.as_str()).collect();
        assert_eq!(
            texts,
            ["target file a.md does not exist", "target file b.md is empty"]
        );
    }

    #[test]
    fn a_description_asks_for_a_file_or_does_not() {
        for text in [
            "Write findings to a report",
            "Save to notes.md",
            "CREATE the\nnext\nDocument.",
            "call write_file",
            "output\n  to x",
            "generate an output",
        ] {
            assert!(asks_for_file(text), "{text}");
        }
        for text in [
            "",
            "create the reporting",
            "report that we generate",
            "rewrite nothing, the file is good",
            "look at the file",
        ] {
            assert!(!asks_for_file(text), "{text}");
        }
    }

    #[test]
    fn one_filled_file_or_none_declared_is_left_to_the_judges() {
        assert_eq!(artifacts(&[]), None);
        assert_eq!(
            artifacts(&[file("a", FileState::Missing), file("b", FileState::Filled)]),
            None
        );
    }
}
