//! What was seen of one protected file, and under which name it is known.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::review::file_changes::{FileMarks, PathState, Stamp, changed_paths};
use rules::domain::{Digest, TaskId};
use rules::judging::protected::own_targets;
use rules::plan::Plan;

/// Takes what is there for what must be there.
pub fn adopt(baseline: &mut FileMarks, now: &FileMarks, path: &str) {
    match now.get(path) {
        Some(mark) => drop(baseline.insert(path.to_owned(), mark.clone())),
        None => drop(baseline.remove(path)),
    }
}

pub fn differs(baseline: &FileMarks, now: &FileMarks, path: &str) -> bool {
    let one = |marks: &FileMarks| -> FileMarks {
        marks.get_key_value(path).map(|(p, m)| (p.clone(), m.clone())).into_iter().collect()
    };
    changed_paths(&one(baseline), &one(now), Path::new("")).next().is_some()
}

pub fn digest_of(mark: Option<&PathState>) -> Option<Digest> {
    match mark? {
        PathState::File { digest, .. } => *digest,
        PathState::Link(target) => Some(Digest::of(target.as_bytes())),
        PathState::Other => None,
    }
}

/// The mark of a file by its recorded digest.
pub fn of_record(digest: Option<Digest>) -> PathState {
    PathState::File { size: 0, digest, stamp: Stamp::default(), executable: None }
}

/// The name on record of what lies below the mission's folder, or elsewhere.
pub fn name_on_record(path: &Path, folder: &Path) -> String {
    let named = path.strip_prefix(folder).unwrap_or(path);
    named.to_string_lossy().into_owned()
}

/// The files that tasks are to make, by their paths in the workspace.
pub fn targets(plan: &Plan, tasks: impl IntoIterator<Item = TaskId>) -> BTreeSet<PathBuf> {
    let all = tasks.into_iter().flat_map(|task| own_targets(plan, task));
    all.map(|path| real(&path)).collect()
}

/// A path without links, or as it is where nothing is there.
pub fn canonical(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// A path whose folder is named without links.
pub fn real(path: &Path) -> PathBuf {
    match (path.parent().map(fs::canonicalize), path.file_name()) {
        (Some(Ok(folder)), Some(name)) => folder.join(name),
        _ => path.to_owned(),
    }
}
