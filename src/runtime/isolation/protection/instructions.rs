//! What the programs of judges load by themselves: instructions, settings, hooks, servers, plug-ins (semantics, section 22).
//!
//! Whoever writes these speaks to the judge as its owner. They are protected while a judge has such a program, and where one is
//! not as it was when the run began it is masked for judges.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::scratch::globs;
use super::{
    BY_DEFAULT, Group, Protection, canonical, differs, digest_of, name_on_record, of_record, real, recorded,
};
use crate::review::file_changes::{FileMarks, Guarded, PathState, Scope, changes, look};
use rules::domain::{AgentId, Digest, TaskId};
use rules::engine::{RunPhase, State};
use rules::mission::expand;
use rules::mission::model::{Agent, Preset};
use rules::mission::presets::program_of;
use rules::plan::{AgentPlan, Plan, RunOptions};

/// How many files a warning names.
const MOST_NAMED: usize = 3;

/// Files and folders that are protected together.
pub type ProtectedPlaces = (Vec<Scope>, Vec<PathBuf>);

/// The programs of judges that load something by themselves, each with the name of a judge and the places outside of the
/// workspace.
pub fn programs<'p>(
    plan: &'p Plan,
    judges: impl IntoIterator<Item = &'p AgentId>,
) -> Vec<(&'p str, Arc<Preset>, Vec<PathBuf>)> {
    let judges = judges.into_iter().flat_map(|id| std::iter::once(*id).chain(plan.fallbacks(*id)));
    let found = judges.filter_map(|id| {
        let agent = plan.agent(id);
        let preset = program_of(&agent.spec)?;
        let outside = outside(&agent.spec, &preset);
        Some((&*agent.name, preset, outside))
    });
    let mut all: Vec<(&str, Arc<Preset>, Vec<PathBuf>)> = Vec::new();
    for (name, preset, outside) in found {
        let mut known = all.iter();
        if !known.any(|(_, known, places)| known.loads == preset.loads && *places == outside) {
            all.push((name, preset, outside));
        }
    }
    all
}

/// Where the program of an agent loads something outside of the workspace: in the home folder, and where variables of the
/// session or the agent have it look instead. What a variable of this name does not reach is protected for nothing.
fn outside(agent: &Agent, preset: &Preset) -> Vec<PathBuf> {
    let loads = &preset.loads;
    let moved = loads.moved.iter().flat_map(|(variable, instead_of)| {
        let value = agent.env.get(variable);
        // Where a variable of it is not set the agent cannot be started.
        let of_agent = value.and_then(|value| expand(value, |name| std::env::var(name).ok()).ok());
        let places = [of_agent.map(PathBuf::from), std::env::var_os(variable).map(PathBuf::from)];
        places.into_iter().flatten().map(|place| (place, &**instead_of))
    });
    let mut found = Vec::new();
    for (place, instead_of) in home().map(|home| (home, ".")).into_iter().chain(moved) {
        let instead_of = if instead_of == "." { "" } else { instead_of };
        let inner = loads.home.iter().filter_map(|path| Path::new(&**path).strip_prefix(instead_of).ok());
        // `join` of nothing would end with a slash.
        let new = inner.map(|inner| place.join(inner).components().collect());
        let new: Vec<PathBuf> =
            new.filter(|path: &PathBuf| path.is_absolute() && !found.contains(path)).collect();
        found.extend(new);
    }
    found
}

fn scope(root: &Path, patterns: &[Box<str>]) -> Scope {
    Scope { root: root.to_owned(), patterns: patterns.iter().map(ToString::to_string).collect() }
}

/// The target of a link, also where nothing is there yet.
fn end_of(link: &Path) -> PathBuf {
    // The look says that it is a link.
    let target = fs::read_link(link).unwrap_or_default();
    fs::canonicalize(link).unwrap_or_else(|_| real(&link.with_file_name(target)))
}

/// The folder of the user, without links; `None` where nothing is loaded from one.
fn home() -> Option<PathBuf> {
    std::env::home_dir().and_then(|home| fs::canonicalize(home).ok())
}

impl Protection {
    /// The files that the programs of judges load from the workspace and the home of the user. A file that
    /// cannot be looked at gives a warning. Blocks.
    pub fn instructions(&mut self, plan: &Plan, warnings: &mut Vec<String>) -> ProtectedPlaces {
        let (mut scopes, mut files) = ProtectedPlaces::default();
        for (judge, preset, outside) in programs(plan, &self.judges) {
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
                        let links = marks.iter().filter(|(_, mark)| matches!(mark, PathState::Link(_)));
                        files.extend(links.map(|(path, _)| end_of(Path::new(path))));
                        scopes.push(part);
                    }
                    Err(why) => warnings.push(format!(
                        "what the program of '{judge}' loads ({}) is not protected: {}",
                        part.patterns.join(", "),
                        why.join("; ")
                    )),
                }
            }
            for path in outside {
                match fs::canonicalize(&path) {
                    Ok(folder) if folder.is_dir() => scopes.push(scope(&folder, &["**".into()])),
                    Ok(target) => files.extend([path, target]),
                    Err(_) => files.push(path),
                }
            }
        }
        files.retain(|path| !path.is_dir());
        self.loaded = scopes.iter().filter(|scope| scope.root == self.root).cloned().collect();
        (scopes, files)
    }

    /// Takes what is on record of the run's start for what programs of judges may read, and warns of what differs. In its first
    /// session that is what is there, which is returned for the record.
    pub fn begin(
        &mut self,
        (state, options): (&State, &RunOptions),
        (scopes, files): &ProtectedPlaces,
        warnings: &mut Vec<String>,
    ) -> Vec<(String, Option<Digest>)> {
        let mut now = self.baseline_marks();
        // The look has read them.
        let guarded = Guarded::of(scopes).ok();
        now.retain(|path, _| {
            let path = Path::new(path);
            guarded.as_ref().is_some_and(|guarded| guarded.holds(path))
                || files.iter().any(|file| file == path)
        });
        let known = state.protected.as_ref().map(|known| &known.loaded);
        if state.phase == RunPhase::New && known.is_none() {
            self.start = now;
            let loaded = self.start.iter().map(|(path, mark)| {
                let name = name_on_record(Path::new(path), &self.folder);
                (name, digest_of(Some(mark)))
            });
            return loaded.collect();
        }
        let known = known.cloned().unwrap_or_default();
        let was = known.iter().filter(|(_, digest)| digest.is_some());
        self.start = was
            .map(|(path, digest)| {
                let path = recorded(path, state, options).to_string_lossy().into_owned();
                let same = now.get(&path).filter(|mark| digest_of(Some(mark)) == *digest);
                let mark = same.cloned().unwrap_or_else(|| of_record(*digest));
                (path, mark)
            })
            .collect();
        let mut said = changes(&self.start, &now, &self.root);
        if !said.is_empty() {
            let more = said.len().saturating_sub(MOST_NAMED);
            said.truncate(MOST_NAMED);
            said.extend((more > 0).then(|| format!("{more} more")));
            warnings.push(format!(
                "what programs of judges load is not what it was when the run began, and is masked for judges: {}",
                said.join("; ")
            ));
        }
        known
    }

    /// The files in the folder of a task that may change without harm: those that the programs of these agents
    /// keep there by themselves, and caches that no check finds.
    pub fn kept<'p>(
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

    /// The files of a task's folder and of the home that the program of a judge would load and that are not as
    /// they were when the run began.
    pub fn masked(&self, plan: &Plan, task: Option<TaskId>, judge: AgentId) -> Vec<PathBuf> {
        let Some(preset) = program_of(&plan.agent(judge).spec) else {
            return Vec::new();
        };
        let own = task.and_then(|task| self.by_folder.get(&task));
        let groups = std::iter::once(&BY_DEFAULT).chain(own).map(|index| &self.groups[*index]);
        let outside = outside(&plan.agent(judge).spec, &preset).into_iter();
        let outside: Vec<PathBuf> = outside.map(|path| canonical(&path)).collect();
        let masked = groups.flat_map(|group| self.masked_in(group, &preset, &outside));
        masked.collect()
    }

    fn masked_in(&self, group: &Group, preset: &Preset, outside: &[PathBuf]) -> Vec<PathBuf> {
        let patterns = [&preset.loads.workspace[..], &preset.keeps[..]].concat();
        // The loader has read them.
        let guarded = Guarded::of(&[scope(&group.root, &patterns)]).unwrap_or_default();
        let latest = group.held().latest.clone();
        let is_loaded =
            |path: &Path| guarded.holds(path) || outside.iter().any(|place| path.starts_with(place));
        let is_other = |(path, mark): &(&String, &PathState)| {
            let inner = Path::new(path).strip_prefix(&group.root).ok();
            let start = inner.map_or_else(|| PathBuf::from(path), |inner| self.root.join(inner));
            let start = self.start.get(&*start.to_string_lossy());
            let one = |mark: &PathState| -> FileMarks { BTreeMap::from([((*path).clone(), mark.clone())]) };
            differs(&start.map(one).unwrap_or_default(), &one(mark), path)
        };
        let marks = latest.marks.iter().filter(|(path, _)| is_loaded(Path::new(path)));
        marks.filter(is_other).map(|(path, _)| PathBuf::from(path)).collect()
    }
}
