//! The files that are protected because commands name them that judge or serve the run.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::file_marks::real;
use crate::review::file_changes::{Scope, look};
use crate::runtime::recovery::moved::recorded;
use rules::engine::{RunPhase, State, judging_agents};
use rules::judging::protected::{NamedPaths, named_by_judging, named_by_serving};
use rules::plan::RunOptions;

/// How many scripts a run protects; what else its commands name is left to `protect`.
const MOST_SCRIPTS: usize = 4_000;

/// The regular files below the workspace, or beside the mission, that such commands name. A later session, and a review of
/// recorded work, protect those that were there when the run began: what came since is work.
pub fn scripts(state: &State, options: &RunOptions, warnings: &mut Vec<String>) -> Vec<PathBuf> {
    if let Some(known) = &state.protected {
        let known = known.files.iter().map(|(path, _)| recorded(path, state, options));
        return known.collect();
    }
    if state.phase != RunPhase::New {
        return Vec::new();
    }
    let mut found = named_scripts(state, options);
    if found.len() > MOST_SCRIPTS {
        warnings.push(format!(
            "the commands of the mission name more than {MOST_SCRIPTS} files: the others are protected only as `protect` says"
        ));
        found = found.into_iter().take(MOST_SCRIPTS).collect();
    }
    found.into_keys().collect()
}

/// The files that are protected because commands name them, each with the command, as they are now. Blocks.
pub fn named_scripts(state: &State, options: &RunOptions) -> BTreeMap<PathBuf, String> {
    let plan = &state.plan;
    let folders: Vec<PathBuf> = [&plan.rules.workspace, &options.mission_folder]
        .into_iter()
        .filter_map(|folder| fs::canonicalize(folder).ok())
        .filter(|folder| folder.parent().is_some())
        .collect();
    let is_below = |path: &Path| folders.iter().any(|folder| path.starts_with(folder));
    let mut found = BTreeMap::new();
    let all = named(state, options).into_iter().flat_map(|named| named.paths);
    for (path, command) in all {
        for path in meant(&folders, path) {
            // What a link leads to is protected with the link.
            let Ok(target) = fs::canonicalize(&path) else {
                continue;
            };
            if !target.is_file() {
                continue;
            }
            let link = real(&path);
            for path in [target, link].into_iter().filter(|path| is_below(path)) {
                found.entry(path).or_insert_with(|| command.clone());
            }
        }
    }
    found
}

/// The files that all commands that judge or serve may mean.
pub fn named(state: &State, options: &RunOptions) -> [NamedPaths; 2] {
    let plan = &state.plan;
    [
        named_by_judging(plan, plan.selected_ids(), &judging_agents(state)),
        named_by_serving(plan, &options.mission_folder),
    ]
}

/// The files that a word of a command means: the path itself, where anything is there, else what it matches as
/// a pattern. Blocks.
fn meant(folders: &[PathBuf], path: PathBuf) -> Vec<PathBuf> {
    let inner = |root: &PathBuf| Some((root.clone(), path.strip_prefix(root).ok()?.to_str()?.to_owned()));
    let is_pattern = path.to_string_lossy().contains(['*', '?']) && fs::symlink_metadata(&path).is_err();
    let Some((root, pattern)) = folders.iter().filter(|_| is_pattern).find_map(inner) else {
        return vec![path];
    };
    let state = root.join(".polpo");
    let scope = Scope { root, patterns: vec![pattern] };
    let found = look(&[scope], &state, 0).unwrap_or_default();
    found.into_keys().map(PathBuf::from).collect()
}
