//! What the programs of judges load by themselves: instructions, settings, hooks, servers, plug-ins (semantics, section 22).
//!
//! Whoever writes these speaks to the judge as its owner. They are protected while a judge has such a program, and where one is
//! not as it was when the session began it is masked for judges.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::scratch::globs;
use super::{BY_DEFAULT, Group, Protection, canonical, differs};
use crate::domain::{AgentId, TaskId};
use crate::mission::model::Preset;
use crate::mission::presets::program_of;
use crate::mission::{AgentPlan, Plan};
use crate::review::snapshot::{FileMarks, Guarded, Mark, Scope, look};

/// Files and folders that are protected together.
pub(super) type Places = (Vec<Scope>, Vec<PathBuf>);

/// The programs of judges that load something by themselves, each with the name of a judge.
pub(super) fn programs<'p>(
    plan: &'p Plan,
    judges: impl IntoIterator<Item = &'p AgentId>,
) -> Vec<(&'p str, Arc<Preset>)> {
    let judges = judges
        .into_iter()
        .flat_map(|id| std::iter::once(*id).chain(plan.fallbacks(*id)));
    let found = judges.filter_map(|id| {
        let agent = plan.agent(id);
        Some((&*agent.name, program_of(&agent.spec)?))
    });
    let mut all: Vec<(&str, Arc<Preset>)> = Vec::new();
    for (name, preset) in found {
        if !all.iter().any(|(_, known)| known.loads == preset.loads) {
            all.push((name, preset));
        }
    }
    all
}

fn scope(root: &Path, patterns: &[Box<str>]) -> Scope {
    Scope {
        root: root.to_owned(),
        patterns: patterns.iter().map(ToString::to_string).collect(),
    }
}

/// The folder of the user, without links.
pub(super) fn home() -> Option<PathBuf> {
    std::env::home_dir().and_then(|home| fs::canonicalize(home).ok())
}

impl Protection {
    /// What the programs of judges load from the workspace and the home of the user. What cannot be looked at is warned of.
    /// Blocks.
    pub(super) fn instructions(&mut self, plan: &Plan, warnings: &mut Vec<String>) -> Places {
        let (mut scopes, mut files) = Places::default();
        for (judge, preset) in programs(plan, &self.judges) {
            let all = scope(&self.root, &preset.loads.workspace);
            let parts = match look(std::slice::from_ref(&all), &self.never, 0) {
                Ok(_) => vec![all],
                Err(_) => {
                    let single = preset.loads.workspace.chunks(1);
                    single.map(|pattern| scope(&self.root, pattern)).collect()
                }
            };
            for part in parts {
                match look(std::slice::from_ref(&part), &self.never, 0) {
                    Ok(marks) => {
                        // What a link leads to is loaded through it.
                        let links = marks.iter().filter(|(_, mark)| matches!(mark, Mark::Link(_)));
                        files.extend(links.filter_map(|(path, _)| fs::canonicalize(path).ok()));
                        scopes.push(part);
                    }
                    Err(why) => warnings.push(format!(
                        "what the program of '{judge}' loads ({}) is not protected: {}",
                        part.patterns.join(", "),
                        why.join("; ")
                    )),
                }
            }
            for path in &preset.loads.home {
                let Some(path) = home().map(|home| home.join(&**path)) else {
                    continue;
                };
                match fs::canonicalize(&path) {
                    Ok(folder) if folder.is_dir() => scopes.push(scope(&folder, &["**".into()])),
                    Ok(target) => files.extend([path, target]),
                    Err(_) => files.push(path),
                }
            }
        }
        files.retain(|path| !path.is_dir());
        self.loaded = scopes
            .iter()
            .filter(|scope| scope.root == self.root)
            .cloned()
            .collect();
        (scopes, files)
    }

    /// What may change in the folder of a task without harm: what the programs of these agents keep there by themselves, and
    /// caches that no check finds.
    pub(super) fn kept<'p>(
        &self,
        plan: &Plan,
        task: TaskId,
        agents: impl IntoIterator<Item = &'p AgentPlan>,
    ) -> Guarded {
        let presets = agents.into_iter().filter_map(|agent| program_of(&agent.spec));
        let mut free = globs(plan, Some(task)).to_vec();
        free.extend(presets.flat_map(|preset| preset.keeps.clone()));
        let roots = [&self.root, &plan.root_of(task)];
        // The loader has read them.
        Guarded::of(&roots.map(|root| scope(root, &free))).unwrap_or_default()
    }

    /// What the program of a judge would load of a task's folder and of the home, and what is not as it was when the session
    /// began.
    pub fn masked(&self, plan: &Plan, task: Option<TaskId>, judge: AgentId) -> Vec<PathBuf> {
        let Some(preset) = program_of(&plan.agent(judge).spec) else {
            return Vec::new();
        };
        let own = task.and_then(|task| self.by_folder.get(&task));
        let groups = std::iter::once(&BY_DEFAULT)
            .chain(own)
            .map(|index| &self.groups[*index]);
        groups.flat_map(|group| self.masked_in(group, &preset)).collect()
    }

    fn masked_in(&self, group: &Group, preset: &Preset) -> Vec<PathBuf> {
        let patterns = [&preset.loads.workspace[..], &preset.keeps[..]].concat();
        let guarded = Guarded::of(&[scope(&group.root, &patterns)]).unwrap_or_default();
        let of_home: Vec<PathBuf> = match home() {
            Some(home) => preset
                .loads
                .home
                .iter()
                .map(|path| canonical(&home.join(&**path)))
                .collect(),
            None => Vec::new(),
        };
        let latest = group.held().latest.clone();
        let is_loaded =
            |path: &Path| guarded.holds(path) || of_home.iter().any(|home| path.starts_with(home));
        let is_other = |(path, mark): &(&String, &Mark)| {
            let inner = Path::new(path).strip_prefix(&group.root).ok();
            let start = inner.map_or_else(|| PathBuf::from(path), |inner| self.root.join(inner));
            let start = self.start.get(&*start.to_string_lossy());
            let one = |mark: &Mark| -> FileMarks { BTreeMap::from([((*path).clone(), mark.clone())]) };
            differs(&start.map(one).unwrap_or_default(), &one(mark), path)
        };
        let marks = latest.marks.iter().filter(|(path, _)| is_loaded(Path::new(path)));
        marks
            .filter(is_other)
            .map(|(path, _)| PathBuf::from(path))
            .collect()
    }
}
