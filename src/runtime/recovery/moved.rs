//! State that was carried elsewhere works there: a run belongs to the folder in which its state lies (semantics, section
//! 22).
//!
//! Paths are recorded as they were, with the folder in which the state lay then. Who reads them elsewhere takes them along:
//! what lay below or beside the old folder is looked for below or beside the new one.

use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::store::{RunFolder, StateFolder};
use rules::engine::{RunStarted, State};
use rules::plan::RunOptions;

/// The folder in which a state folder lies, without links on the way.
pub fn state_base(folder: &StateFolder) -> Option<PathBuf> {
    let real = fs::canonicalize(folder.path());
    let path = real.as_deref().unwrap_or(folder.path());
    path.parent().map(Path::to_owned)
}

/// The folder that is meant, by a path that shows that it lies below `base`, where it does.
pub fn below(base: Option<&Path>, path: PathBuf) -> PathBuf {
    match (base, fs::canonicalize(&path)) {
        (Some(base), Ok(real)) if !path.starts_with(base) && real.starts_with(base) => real,
        _ => path,
    }
}

/// Where a run lay, if it lies elsewhere now.
fn left(options: &RunOptions, now: &Path) -> Option<PathBuf> {
    let then = match &options.state_base {
        Some(then) => then.clone(),
        // Older journals do not tell; but what is gone cannot be where they lie.
        None if options.mission_folder.is_absolute() && !options.mission_folder.exists() => {
            options.mission_folder.clone()
        }
        None => return None,
    };
    (then != now).then_some(then)
}

/// Takes the paths of options along to where the state lies now. Returns the folder that they were taken from, which stays
/// on record in them until a session begins here.
pub fn take_along(options: &mut RunOptions, folder: &StateFolder) -> Option<PathBuf> {
    let now = state_base(folder)?;
    let then = left(options, &now)?;
    options.mission_folder = moved(&options.mission_folder, &then, &now);
    if let Some(record) = &mut options.record {
        *record = moved(record, &then, &now);
    }
    options.state_base = Some(then.clone());
    Some(then)
}

/// Moves the paths of the run's first record to the folder's new place.
pub fn take_start_along(started: &mut RunStarted, folder: &StateFolder) {
    let before = started.options.mission_folder.clone();
    if take_along(&mut started.options, folder).is_none() {
        return;
    }
    let name = started.mission_path.as_ref().and_then(|path| {
        let inside = path.strip_prefix(&before).ok();
        inside.or_else(|| path.file_name().map(Path::new)).map(Path::to_owned)
    });
    started.mission_path = name.map(|name| started.options.mission_folder.join(name));
}

/// Whether the folder that a run was carried from still has it: then it was copied, and what works there is not ours.
pub fn is_copy(run: &RunFolder, then: &Path) -> bool {
    let folder = run.state_folder();
    let Some(name) = folder.path().file_name() else {
        return false;
    };
    let original = StateFolder::at(&then.join(name)).map(|folder| folder.run(run.id()));
    original.is_ok_and(|original| original.journal().exists())
}

/// Where a file lies that is on record by a path from the mission's folder, or by an absolute one.
pub fn recorded(path: &str, state: &State, options: &RunOptions) -> PathBuf {
    let folder = fs::canonicalize(&options.mission_folder).unwrap_or_else(|_| options.mission_folder.clone());
    match (&state.moved_from, &options.state_base) {
        (Some(then), Some(now)) if path.starts_with('/') => moved(Path::new(path), then, now),
        _ => folder.join(path),
    }
}

/// The path in the new place of a path in the old one.
fn moved(path: &Path, then: &Path, now: &Path) -> PathBuf {
    if let Ok(inside) = path.strip_prefix(then) {
        // As `join`, but without a slash at the end.
        return now.join(inside).components().collect();
    }
    let beside = beside(path, then, now).filter(|beside| beside.exists());
    beside.unwrap_or_else(|| path.to_owned())
}

/// The path that lies as far from the new folder as `path` lay from the old one; `None` where that cannot be.
fn beside(path: &Path, then: &Path, now: &Path) -> Option<PathBuf> {
    let (mut ups, mut shared) = (0, then);
    while path.strip_prefix(shared).is_err() {
        shared = shared.parent()?;
        ups += 1;
    }
    let above = now.ancestors().nth(ups)?;
    let rest = path.strip_prefix(shared).ok()?;
    let is_plain = |part| matches!(part, Component::Normal(_));
    rest.components().all(is_plain).then(|| above.join(rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lay_below_or_beside_the_old_folder_is_looked_for_there_in_the_new_one() {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        for there in ["b/state", "b/job"] {
            fs::create_dir_all(path(there)).unwrap();
        }
        let moved = |what: &str| moved(&path(what), &path("a/state"), &path("b/state"));
        assert_eq!(moved("a/state"), path("b/state"));
        assert_eq!(moved("a/state/sub/m"), path("b/state/sub/m"));
        // Both were carried, or only the state.
        assert_eq!(moved("a/job"), path("b/job"));
        assert_eq!(moved("a/other"), path("a/other"));
        assert_eq!(super::moved(Path::new("/"), &path("a"), &path("b")), Path::new("/"));
    }
}
