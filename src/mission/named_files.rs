//! The files that a task names: targets, and what a check wants to be there.

use super::model::Check;
use super::plan::TaskPlan;

impl TaskPlan {
    /// Whether the task names files: targets, or such as a check wants to be there.
    #[must_use]
    pub fn names_files(&self) -> bool {
        self.named_files().next().is_some()
    }

    /// The files that the task names, as they are written: targets, then what checks want to be there, which may be globs.
    pub fn named_files(&self) -> impl Iterator<Item = &str> {
        let wanted = self.wanted_files().map(String::as_str);
        self.target_files.iter().map(AsRef::as_ref).chain(wanted)
    }

    /// Whether a path, relative to its workspace, is one that the task names.
    #[must_use]
    pub fn names(&self, path: &str) -> bool {
        let is_meant = |pattern: &String| {
            pattern == path
                || pattern.contains(['*', '?', '[', '{'])
                    && globset::GlobBuilder::new(pattern)
                        .literal_separator(true)
                        .build()
                        .or_else(|_| globset::Glob::new(pattern))
                        .is_ok_and(|glob| glob.compile_matcher().is_match(path))
        };
        self.target_files.iter().any(|target| **target == *path) || self.wanted_files().any(is_meant)
    }

    fn wanted_files(&self) -> impl Iterator<Item = &String> {
        self.checks().iter().flat_map(|check| match check {
            Check::FileExists { paths, .. } => paths.as_slice(),
            _ => &[],
        })
    }
}

/// Where a file lies, seen from the mission's workspace, by the workspace of its task as it is written; empty is the
/// mission's own.
#[must_use]
pub fn place_in(workspace: &str, path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    let is_absolute = workspace.starts_with('/');
    for part in workspace.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    let joined = parts.join("/");
    if is_absolute { format!("/{joined}") } else { joined }
}
