//! What plain facts say about an attempt before any judge is asked (semantics, section 6, preflight).

use crate::domain::{Finding, Points, Severity};

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
    fn one_filled_file_or_none_declared_is_left_to_the_judges() {
        assert_eq!(artifacts(&[]), None);
        assert_eq!(
            artifacts(&[file("a", FileState::Missing), file("b", FileState::Filled)]),
            None
        );
    }
}
