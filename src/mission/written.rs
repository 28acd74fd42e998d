//! Where settings and rubrics are written: in a mission, or in a file beneath it.

use super::document::Tree;

/// What one file says under `settings`, and of rubrics, and on which line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Written {
    /// What the file is called; empty for the mission itself.
    file: Box<str>,
    lines: Vec<(Box<str>, usize)>,
}

impl Written {
    /// What a document says: its settings by their keys, its rubrics as `rubrics.NAME`.
    pub fn of(file: &str, source: &str, tree: &Tree<'_>) -> Self {
        let settings = tree.get(tree.root(), "settings");
        let entries = settings.into_iter().flat_map(|settings| tree.entries(settings));
        let rubrics = tree.get(tree.root(), "rubrics").into_iter();
        let rubrics = rubrics.flat_map(|rubrics| tree.entries(rubrics));
        let said = entries.filter(|entry| !tree.is_null(entry.value));
        let line = |at: usize| {
            source.as_bytes()[..at]
                .iter()
                .filter(|byte| **byte == b'\n')
                .count()
                + 1
        };
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
