//! The files that a task names: targets, and what a check wants to be there.

use super::model::TaskPlan;
use crate::mission::{model::Check, paths::is_meant};

impl TaskPlan {
    /// Whether the task names files: targets, or such as a check wants to be there.
    pub fn names_files(&self) -> bool {
        self.named_files().next().is_some()
    }

    /// The files that the task names, as they are written: targets, then what checks want to be there, which may be globs.
    pub fn named_files(&self) -> impl Iterator<Item = &str> {
        let wanted = self.wanted_files().map(String::as_str);
        self.target_files.iter().map(AsRef::as_ref).chain(wanted)
    }

    /// Whether a path, relative to its workspace, is one that the task names.
    pub fn names(&self, path: &str) -> bool {
        self.target_files.iter().any(|target| **target == *path)
            || self.wanted_files().any(|pattern| is_meant(pattern, path))
    }

    fn wanted_files(&self) -> impl Iterator<Item = &String> {
        self.checks().iter().flat_map(|check| match check {
            Check::FileExists { paths, .. } => paths.as_slice(),
            _ => &[],
        })
    }
}
