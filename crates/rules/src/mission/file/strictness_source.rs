//! Where it is said how strictly work is judged: in a mission, in a file beneath it, by a flag or a variable.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::document::Tree;

/// The settings and rubrics of one file, each with its line.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct WrittenSettings {
    /// The name of the file; empty for the mission itself.
    file: Box<str>,
    lines: Vec<(Box<str>, usize)>,
}

impl WrittenSettings {
    /// Reads the settings of a document by their keys, and its rubrics as `rubrics.NAME`.
    pub fn of(file: &str, source: &str, tree: &Tree<'_>) -> Self {
        let settings = tree.get(tree.root(), "settings");
        let entries = settings.into_iter().flat_map(|settings| tree.entries(settings));
        let rubrics = tree.get(tree.root(), "rubrics").into_iter();
        let rubrics = rubrics.flat_map(|rubrics| tree.entries(rubrics));
        let said = entries.filter(|entry| !tree.is_null(entry.value));
        let line = |at: usize| source.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
        Self {
            file: file.into(),
            lines: said
                .map(|entry| (tree.text(entry.key).into(), line(tree.span(entry.key).start)))
                .chain(rubrics.map(|entry| {
                    let name = tree.text(entry.key);
                    (format!("rubrics.{name}").into(), line(tree.span(entry.key).start))
                }))
                .collect(),
        }
    }

    /// Where a setting stands: `` `evaluate` in quorum.yaml:2 ``.
    pub fn place(&self, key: &str) -> Option<String> {
        let (_, line) = self.lines.iter().find(|(known, _)| **known == *key)?;
        Some(match &*self.file {
            "" => format!("`{key}` in the mission, line {line}"),
            file => format!("`{key}` in {file}:{line}"),
        })
    }
}

/// The flags and variables that options for reviews come from, as they are typed. `None` where nobody gave any,
/// or in journals that do not tell.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SaidBy {
    /// The flag or variable that switched reviews off.
    pub no_eval: Option<String>,
    /// The flag or variable that set the bar.
    pub eval_threshold: Option<String>,
    /// The variable that lets conditions not count.
    pub allow: Option<String>,
}

impl SaidBy {
    /// Whether there is nothing to tell.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Something that makes judging less strict.
#[derive(Debug, Clone, PartialEq)]
pub struct Loosening {
    /// The effect, in words: `reviews are switched off`.
    pub what: String,
    /// The place of the setting: a file with its line, a variable, a flag.
    pub place: String,
    /// Whether neither the mission nor a flag says it: then people are warned.
    pub is_beneath: bool,
    /// Whether no judge is called at all.
    pub is_off: bool,
}

impl Loosening {
    /// The effect and its place in one sentence: ``reviews are switched off (`evaluate` in quorum.yaml:2)``.
    pub fn words(&self) -> String {
        format!("{} ({})", self.what, self.place)
    }
}
