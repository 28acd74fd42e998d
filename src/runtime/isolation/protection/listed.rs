//! What is protected and why, in words, before a run begins.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::instructions::programs as loading;
use super::programs::programs;
use super::{ReadBefore, canonical, named_scripts, places, protected_scopes, shared_builds};
use crate::review::file_changes::{FileMarks, Guarded, Scope, look};
use rules::engine::{State, judging_agents};
use rules::judging::protected::{judging_commands, plain};
use rules::judging::tests_changed;
use rules::mission::check_words::judging_files;
use rules::mission::first_line;
use rules::mission::model::Settings;
use rules::plan::{Plan, RunOptions};

/// Everything that the work of a run may not change: each path or pattern, seen from the mission's folder where it lies there,
/// with the reason; and what is to be warned of. Blocks.
pub fn listed(
    state: &State,
    options: &RunOptions,
    read: &ReadBefore,
) -> (Vec<(String, String)>, Vec<String>) {
    let plan = &state.plan;
    let folder = canonical(&options.mission_folder);
    let shown = |path: &Path| path.strip_prefix(&folder).unwrap_or(path).display().to_string();
    let mut all: BTreeMap<PathBuf, String> = BTreeMap::new();
    let places = places(plan, options, read).into_iter();
    let places = places.map(|(path, why)| (path, why.to_owned()));
    let scripts = named_scripts(state, options).into_iter();
    // Of the places where nothing is there are many, and what the system keeps is none that people look for here.
    let is_listed =
        |path: &Path| path.exists() && !["/usr", "/bin", "/etc"].iter().any(|own| path.starts_with(own));
    let programs = programs(state, options).into_iter();
    let scripts = scripts.chain(programs.filter(|(path, _)| is_listed(path)));
    let scripts = scripts.map(|(path, command)| {
        let command = first_line(&command).to_owned();
        (path, format!("`{command}` names it"))
    });
    let mut loaded = Vec::new();
    for (judge, preset, outside) in loading(plan, &judging_agents(state)) {
        let why = format!("the program of '{judge}' loads it");
        let root = canonical(&plan.rules.workspace);
        let all = preset.loads.workspace.iter().map(|path| root.join(&**path));
        loaded.extend(all.chain(outside).map(|path| (path, why.clone())).collect::<Vec<_>>());
    }
    for (path, why) in places.chain(scripts).chain(loaded) {
        all.entry(path).or_insert(why);
    }
    let mut warnings: Vec<String> = Vec::new();
    let mut patterns: Vec<Scope> = Vec::new();
    for scope in plan.selected_ids().flat_map(|id| protected_scopes(plan, id)) {
        if patterns.contains(&scope) {
            continue;
        }
        for pattern in &scope.patterns {
            all.entry(canonical(&scope.root).join(pattern)).or_insert_with(|| "`protect`".to_owned());
        }
        let marks = look(std::slice::from_ref(&scope), &folder.join(".polpo"), 0);
        warnings.extend(
            marks.map_or_else(|unknown| unknown, |marks| idle_patterns(plan, "protect", &scope, &marks)),
        );
        patterns.push(scope);
    }
    warnings.extend(shared_builds(plan, false));
    warnings.extend(idle_tests(plan, &folder.join(".polpo")));
    warnings.sort();
    warnings.dedup();
    (all.into_iter().map(|(path, why)| (shown(&path), why)).collect(), warnings)
}

/// The patterns of a scope that name none of the files that were looked at, nor a folder, one sentence each. Of a folder that is
/// made later nothing can be said.
pub fn idle_patterns(plan: &Plan, key: &str, scope: &Scope, marks: &FileMarks) -> Vec<String> {
    if scope.root.starts_with(plan.rules.worktrees.root.as_deref().unwrap_or(Path::new("-"))) {
        return Vec::new();
    }
    let names_nothing = |pattern: &&String| {
        let scope = Scope { root: scope.root.clone(), patterns: vec![(*pattern).clone()] };
        let Ok(guarded) = Guarded::of(&[scope]) else {
            return false;
        };
        !marks.keys().any(|path| guarded.holds(Path::new(path)))
    };
    let idle =
        scope.patterns.iter().filter(|pattern| !scope.root.join(pattern.trim_end_matches("/**")).exists());
    let idle = idle.filter(names_nothing);
    idle.map(|pattern| format!("`{key}`: {pattern} names nothing that is there")).collect()
}

/// Files that judging commands go by, that are not there, and that the mission has nobody make, each with the number of the task.
/// Blocks.
pub fn files_nobody_makes(plan: &Plan) -> Vec<(usize, String)> {
    let is_named = |path: &Path| {
        plan.selected_ids().any(|id| {
            let inner = path.strip_prefix(plan.shared_workspace_of(id)).ok();
            inner.and_then(Path::to_str).is_some_and(|path| plan.task(id).names(path))
        })
    };
    let mut found = Vec::new();
    for id in plan.selected_ids() {
        for (cwd, command) in judging_commands(plan, id) {
            let folder = plan.shared_workspace_of(id).join(cwd.unwrap_or_default());
            for name in judging_files(&command) {
                let path = plain(&folder.join(&name));
                if path.starts_with(&plan.rules.workspace) && !path.exists() && !is_named(&path) {
                    let text = format!(
                        "the check `{command}` goes by {name}, which is not there and which nobody is to make"
                    );
                    found.push((id.index(), text));
                }
            }
        }
    }
    found
}

/// The patterns of a mission's `tests` that match nothing in the workspace, one sentence each; `never` is not
/// looked into. Blocks.
pub fn idle_tests(plan: &Plan, never: &Path) -> BTreeSet<String> {
    let usual = Settings::default().tests();
    let asked = plan.selected_ids().filter(|id| tests_changed::is_wanted(plan, *id));
    let written: BTreeSet<&[Box<str>]> = asked.map(|id| tests_changed::globs(plan, id)).collect();
    let written = written.into_iter().filter(|globs| **globs != *usual);
    let idle = written.flat_map(|globs| {
        let scope = Scope {
            root: plan.rules.workspace.clone(),
            patterns: globs.iter().map(ToString::to_string).collect(),
        };
        match look(std::slice::from_ref(&scope), never, 0) {
            Ok(marks) => idle_patterns(plan, "tests", &scope, &marks),
            // They name so much that nobody can look at it.
            Err(_) => Vec::new(),
        }
    });
    idle.collect()
}
