//! What work is judged by, as it was when the session began: the mission, the settings, recordings, the programs and files
//! that judging commands name, and what the mission protects (semantics, section 22, protected by default).
//!
//! Each group of files is looked at before and after whatever could change them. Only what shows a change is read again.
//!
//! | file | what |
//! |---|---|
//! | `file_marks` | what was seen of one protected file, and under which name it is known |
//! | `instructions` | what the programs of judges load by themselves |
//! | `listed` | what is protected and why, in words, before a run begins |
//! | `programs` | what decides which programs judge and serve |
//! | `read_only` | what of it mounts can hold, and what only the comparison does |
//! | `scratch` | what commands that judge find empty |
//! | `scripts` | the files that are protected because they judge |

mod file_marks;
mod instructions;
mod listed;
mod programs;
mod read_only;
mod scratch;
mod scripts;

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::review::file_changes::{
    FileMarks, Guarded, KnownFiles, Scope, changed_paths, look_again, restored_paths,
};
use rules::domain::{AgentId, Digest, TaskId};
use rules::engine::{ProtectedFiles, State, judging_agents};
use rules::judging::protected::plain;
use rules::plan::{Plan, RunOptions, SubTask};

use crate::runtime::{outside::settings_files::NAME as SETTINGS, recovery::moved::recorded};

use file_marks::{adopt, differs, digest_of, name_on_record, of_record, targets};
pub use file_marks::{canonical, real};
use listed::idle_tests;
pub use listed::{files_nobody_makes, idle_patterns, listed};
use programs::{is_mountable, programs};
pub use read_only::ReadOnly;
pub use scratch::{Scratch, shared_builds};
pub use scripts::named_scripts;
use scripts::scripts;

/// The group of what is protected by default.
const BY_DEFAULT: usize = 0;
/// The group of programs that judge or serve.
pub const PROGRAMS: usize = 1;
/// The groups that every task has.
const EVERYWHERE: [usize; 2] = [BY_DEFAULT, PROGRAMS];
/// The number of files that the loop looks at itself, where none of them has changed.
const FEW: usize = 64;
/// The file of the workspace that says which files that git ignores are copied into worktrees.
pub const INCLUDED: &str = ".worktreeinclude";

/// The files that a session read before it began.
#[derive(Debug, Clone, Default)]
pub struct ReadBefore {
    /// The path of the mission's file.
    pub mission: Option<PathBuf>,
    /// Where settings were read from, or would have been.
    pub settings: Vec<PathBuf>,
}

/// The files that the mission and a task protect.
pub fn protected_scopes(plan: &Plan, task: TaskId) -> Vec<Scope> {
    let scope = |root: PathBuf, patterns: &[Box<str>]| Scope {
        root,
        patterns: patterns.iter().map(|pattern| pattern.to_string()).collect(),
    };
    let all = [
        scope(plan.root_of(task), &plan.rules.protect),
        scope(plan.workspace_of(task), &plan.task(task).protect),
    ];
    all.into_iter().filter(|scope| !scope.patterns.is_empty()).collect()
}

/// The protected files of a run, with their state.
#[derive(Debug, Default)]
pub struct Protection {
    never: PathBuf,
    root: PathBuf,
    /// The mission's folder: what is on record below it is named from there.
    folder: PathBuf,
    groups: Vec<Group>,
    by_scope: HashMap<Scope, usize>,
    /// The group of the protected files in the folder of an isolated task.
    by_folder: HashMap<TaskId, usize>,
    /// The files that the programs of judges load from the workspace.
    loaded: Vec<Scope>,
    /// The state of the files that programs of judges load by themselves, when the run began.
    start: FileMarks,
    /// The held programs that no confined process can change.
    out_of_reach: BTreeSet<PathBuf>,
    /// The files that tasks are to make, that judge, and that are ours: none of them is scratch.
    never_scratch: Arc<BTreeSet<PathBuf>>,
    /// The agents who may judge.
    pub judges: BTreeSet<AgentId>,
}

/// Files that are looked at together.
#[derive(Debug)]
struct Group {
    /// The folder that stands for the workspace: paths below it are shown without it.
    root: PathBuf,
    scopes: Vec<Scope>,
    files: Vec<PathBuf>,
    held: Mutex<GroupState>,
}

/// The state of a group's files.
#[derive(Debug)]
struct GroupState {
    /// The state that the files must have; or why it cannot be told.
    baseline: Result<FileMarks, Vec<String>>,
    /// The state in which the files were last seen.
    latest: Arc<KnownFiles>,
    /// The paths that work is known to have changed: each is taken for right only when it is back.
    blamed: BTreeSet<String>,
}

impl From<Result<KnownFiles, Vec<String>>> for GroupState {
    fn from(looked: Result<KnownFiles, Vec<String>>) -> Self {
        Self {
            baseline: looked.as_ref().map(|known| known.marks.clone()).map_err(Vec::clone),
            // Why it cannot be told stands above.
            latest: Arc::new(looked.unwrap_or_default()),
            blamed: BTreeSet::new(),
        }
    }
}

/// The state of the files of several groups, as it was seen.
#[derive(Debug, Clone)]
pub struct SeenFiles {
    /// The state of each group, by its index.
    known: Vec<(usize, Arc<KnownFiles>)>,
    /// Whether mounts hold files for who begins with that.
    pub is_confined: bool,
}

impl From<Vec<(usize, Arc<KnownFiles>)>> for SeenFiles {
    fn from(known: Vec<(usize, Arc<KnownFiles>)>) -> Self {
        let is_confined = false;
        Self { known, is_confined }
    }
}

impl SeenFiles {
    /// The groups that were looked at.
    pub fn groups(&self) -> Vec<usize> {
        self.known.iter().map(|(index, _)| *index).collect()
    }
}

/// The files that are not as they were, one sentence each.
#[derive(Debug, Default, PartialEq)]
pub struct Compared {
    /// The files that are not as they must be, one sentence each.
    pub changed: Vec<String>,
    /// The files that are as they were before, and were changed and put back since.
    pub restored: Vec<String>,
}

/// The protection of a session, with what the run and people must know of it.
pub struct Protected {
    pub protection: Protection,
    /// The files that judge, where they are not on record yet.
    pub to_note: Option<ProtectedFiles>,
    pub warnings: Vec<String>,
}

impl Protection {
    /// Looks at everything that is to be protected in a session of this state. Blocks.
    pub fn take((state, options): (&State, &RunOptions), read: &ReadBefore, never: &Path) -> Protected {
        let plan = &state.plan;
        let root = canonical(&plan.rules.workspace);
        let folder = canonical(&options.mission_folder);
        let mut warnings = Vec::new();
        let scripts = scripts(state, options, &mut warnings);
        let mut files: BTreeSet<PathBuf> = scripts.iter().cloned().collect();
        files.extend(places(plan, options, read).into_iter().map(|(path, _)| path));
        let recordings = options.record.as_ref().filter(|_| options.offline);
        let recordings =
            recordings.map(|folder| Scope { root: folder.clone(), patterns: vec!["**".to_owned()] });
        let mut protection = Self {
            never: never.to_owned(),
            root,
            folder: folder.clone(),
            judges: judging_agents(state),
            ..Self::default()
        };
        let files: Vec<PathBuf> = files.into_iter().collect();
        let loads = protection.instructions(plan, &mut warnings);
        let scopes = loads.0.iter().cloned().chain(recordings).collect();
        protection.add(scopes, loads.1.iter().chain(&files).cloned().collect());
        let loaded = protection.begin((state, options), &loads, &mut warnings);
        let mut kept = targets(plan, plan.selected_ids());
        let programs = programs(state, options).into_keys();
        protection.hold(programs.filter(|path| !files.contains(path)).collect(), &kept);
        kept.extend(files.iter().cloned());
        kept.extend([canonical(never), protection.root.join(".git")]);
        protection.never_scratch = Arc::new(kept);
        for id in plan.selected_ids() {
            if plan.task(id).is_isolated() {
                protection.add_folder(plan, id, &files);
                continue;
            }
            for scope in protected_scopes(plan, id) {
                if !protection.by_scope.contains_key(&scope) {
                    protection.by_scope.insert(scope.clone(), protection.groups.len());
                    protection.add(vec![scope], Vec::new());
                }
            }
        }
        let marks = protection.baseline_marks();
        let digest = |path: &Path| digest_of(marks.get(&*path.to_string_lossy()));
        let files = scripts.iter().map(|path| (name_on_record(path, &folder), digest(path)));
        let files = files.collect();
        let known = state.protected.clone().unwrap_or_default();
        for (path, was) in &known.files {
            let path = recorded(path, state, options);
            if digest(&path) != *was {
                let name = path.strip_prefix(&protection.root).unwrap_or(&path);
                warnings.push(format!(
                    "{} is not what it was when the run began; from now on it is protected as it is",
                    name.display()
                ));
            }
        }
        warnings.extend(protection.idle(plan));
        warnings.extend(idle_tests(plan, never));
        let now = ProtectedFiles { files, loaded };
        Protected { to_note: (now != known).then_some(now), protection, warnings }
    }

    /// Takes the files that decide which programs are started.
    fn hold(&mut self, programs: Vec<PathBuf>, of_work: &BTreeSet<PathBuf>) {
        let mut mountable = programs.clone();
        mountable.retain(|path| !of_work.contains(path) && is_mountable(path));
        self.out_of_reach = mountable.into_iter().collect();
        self.add(Vec::new(), programs);
    }

    /// The protection of nothing.
    pub fn none() -> Self {
        let mut none = Self::default();
        for _ in EVERYWHERE {
            none.add(Vec::new(), Vec::new());
        }
        none
    }

    /// The recorded state of the scripts, which a turn that was taken over is held against.
    pub fn on_record(&self, state: &State) -> Option<SeenFiles> {
        let files = &state.protected.as_ref()?.files;
        let mark = |(path, digest): &(String, Option<Digest>)| {
            (self.folder.join(path).to_string_lossy().into_owned(), of_record(*digest))
        };
        let there = files.iter().filter(|(_, digest)| digest.is_some());
        let known = KnownFiles::recorded(there.map(mark).collect());
        Some(vec![(BY_DEFAULT, Arc::new(known))].into())
    }

    fn add(&mut self, scopes: Vec<Scope>, files: Vec<PathBuf>) {
        let looked = look_again(&scopes, &files, &self.never, &KnownFiles::default());
        self.groups.push(Group { root: self.root.clone(), scopes, files, held: Mutex::new(looked.into()) });
    }

    /// Patterns of `protect` that name nothing, one sentence each.
    fn idle(&self, plan: &Plan) -> Vec<String> {
        let groups = self.by_scope.iter().map(|(scope, index)| (scope, &self.groups[*index]));
        let idle = groups.flat_map(|(scope, group)| match &group.held().baseline {
            Ok(marks) => idle_patterns(plan, "protect", scope, marks),
            // That fails every comparison.
            Err(_) => Vec::new(),
        });
        idle.collect::<BTreeSet<String>>().into_iter().collect()
    }

    /// Protects files in the folder of an isolated task: those of the mission, and the folder's own copies of
    /// what is protected by default, also where no file is yet.
    fn add_folder(&mut self, plan: &Plan, task: TaskId, files: &[PathBuf]) {
        let root = canonical(&plan.root_of(task));
        let is_hidden = |path: &Path| {
            let mut hidden = plan.rules.hidden.iter();
            hidden.any(|hidden| hidden.files.contains(path))
        };
        // What lies there in the place of a hidden file is no part of what is committed.
        let shown = files.iter().filter(|path| !is_hidden(path));
        let own = shown.filter_map(|path| path.strip_prefix(&self.root).ok());
        let own = own.map(|path| root.join(path)).collect();
        self.by_folder.insert(task, self.groups.len());
        let loaded = self.loaded.iter().map(|scope| Scope { root: root.clone(), ..scope.clone() });
        self.add(protected_scopes(plan, task).into_iter().chain(loaded).collect(), own);
        if let Some(group) = self.groups.last_mut() {
            group.root = root;
        }
    }

    /// Files were put into the folder of an isolated task: as they are now they must be. Blocks.
    pub fn take_folder(&self, task: TaskId) {
        let Some(index) = self.by_folder.get(&task) else {
            return;
        };
        let group = &self.groups[*index];
        let looked = look_again(&group.scopes, &group.files, &self.never, &KnownFiles::default());
        *group.held() = looked.into();
    }

    fn baseline_marks(&self) -> FileMarks {
        let held = self.groups[BY_DEFAULT].held();
        // What could not be looked at fails every comparison; nothing of it is known to be right.
        held.baseline.as_ref().cloned().unwrap_or_default()
    }

    /// The groups that the judging of a task rests on.
    pub fn groups_of(&self, plan: &Plan, task: TaskId) -> Vec<usize> {
        if let Some(own) = self.by_folder.get(&task) {
            return EVERYWHERE.into_iter().chain([*own]).collect();
        }
        let scopes = protected_scopes(plan, task);
        let declared = scopes.iter().filter_map(|scope| self.by_scope.get(scope).copied());
        EVERYWHERE.into_iter().chain(declared).collect()
    }

    /// The last seen state of groups that are as they must be, if nothing has touched them since. Reads no file.
    pub fn untouched(&self, groups: &[usize]) -> Option<SeenFiles> {
        let seen = groups.iter().map(|&index| {
            let group = &self.groups[index];
            let held = group.held();
            let is_right = held.baseline.as_ref() == Ok(&held.latest.marks);
            (is_right && group.shows(&held.latest)).then(|| (index, held.latest.clone()))
        });
        seen.collect::<Option<Vec<_>>>().map(SeenFiles::from)
    }

    /// Whether nothing has touched the files since they were seen. Reads no file.
    pub fn is_as_seen(&self, seen: &SeenFiles) -> bool {
        let mut seen = seen.known.iter();
        seen.all(|(index, known)| self.groups[*index].shows(known))
    }

    /// The last seen state of what is protected by default, and of the folder of an isolated task.
    pub fn by_default(&self, task: TaskId) -> SeenFiles {
        let groups = EVERYWHERE.iter().chain(self.by_folder.get(&task));
        let seen = groups.map(|&index| (index, self.groups[index].held().latest.clone()));
        seen.collect::<Vec<_>>().into()
    }

    /// Looks at groups. Blocks.
    ///
    /// # Errors
    /// What cannot be told, one sentence a thing.
    pub fn look(&self, groups: impl IntoIterator<Item = usize>) -> Result<SeenFiles, Vec<String>> {
        let mut seen = Vec::new();
        for index in groups {
            let group = &self.groups[index];
            let latest = group.held().latest.clone();
            let known = look_again(&group.scopes, &group.files, &self.never, &latest)?;
            let known = Arc::new(known);
            group.held().latest = known.clone();
            seen.push((index, known));
        }
        Ok(seen.into())
    }

    /// The changes of a turn to what is protected by default. A file that the task is to make is its own, and
    /// so is, while others are at work, one that these are to make. Blocks.
    pub fn after_turn(
        &self,
        plan: &Plan,
        task: TaskId,
        before: &SeenFiles,
        of_others: &[PathBuf],
        checked: bool,
    ) -> Vec<String> {
        let now = match self.look(before.groups()) {
            Ok(now) => now,
            Err(unknown) => return unknown,
        };
        let is_own = self.own(plan, task);
        let others: BTreeSet<PathBuf> = of_others.iter().map(|path| real(path)).collect();
        let may_be_written = self.may_be_written(plan, task);
        let mut changed = Vec::new();
        for ((index, known), (_, now)) in before.known.iter().zip(&now.known) {
            let group = &self.groups[*index];
            let mut held = group.held();
            let GroupState { baseline, blamed, .. } = &mut *held;
            let baseline = match baseline {
                Ok(baseline) => baseline,
                Err(unknown) => {
                    changed.extend(unknown.iter().cloned());
                    continue;
                }
            };
            for (path, said) in changed_paths(&known.marks, &now.marks, &group.root) {
                if is_own(Path::new(path)) {
                    adopt(baseline, &now.marks, path);
                } else if (known.is_record_of(path) || differs(baseline, &now.marks, path))
                    && self.is_in_reach(before.is_confined, path)
                    && !others.contains(Path::new(path))
                    && !(checked && may_be_written.holds(Path::new(path)))
                {
                    blamed.insert(path.to_owned());
                    changed.push(said);
                }
            }
        }
        changed
    }

    /// The files that are not as they must be for judging a task, and those touched since they were seen `before`.
    /// Files that checks may write are taken as they are now; those that others at work are to make are theirs.
    pub fn compare(
        &self,
        plan: &Plan,
        task: TaskId,
        (before, now): (Option<&SeenFiles>, &SeenFiles),
        of_others: &[PathBuf],
    ) -> Compared {
        let is_own = self.own(plan, task);
        let others: BTreeSet<PathBuf> = of_others.iter().map(|path| real(path)).collect();
        // Without mounts the programs of judges keep there what they keep. No turn may.
        let of_judges = self.kept(plan, task, &*plan.agents);
        let is_of_others = |path: &str| others.contains(Path::new(path)) || of_judges.holds(Path::new(path));
        let may_be_written = self.may_be_written(plan, task);
        let is_free = |path: &str| is_own(Path::new(path)) || may_be_written.holds(Path::new(path));
        let mut compared = Compared::default();
        for (position, (index, now)) in now.known.iter().enumerate() {
            let group = &self.groups[*index];
            let mut held = group.held();
            let GroupState { baseline, blamed, .. } = &mut *held;
            let baseline = match baseline {
                Ok(baseline) => baseline,
                Err(unknown) => {
                    compared.changed.extend(unknown.iter().cloned());
                    continue;
                }
            };
            let before_it = before.and_then(|before| before.known.get(position));
            let mut free = Vec::new();
            for (path, said) in changed_paths(baseline, &now.marks, &group.root) {
                if is_free(path) {
                    free.push(path.to_owned());
                } else if is_of_others(path) {
                } else if before.is_some_and(|before| !self.is_in_reach(before.is_confined, path)) {
                    compared.restored.push(said);
                } else {
                    before.is_some().then(|| blamed.insert(path.to_owned()));
                    compared.changed.push(said);
                }
            }
            if let Some((_, before)) = before_it {
                let put_back = restored_paths(&before.marks, &now.marks, &group.root);
                let put_back = put_back.filter(|(path, _)| !is_free(path) && !is_of_others(path));
                compared.restored.extend(put_back.map(|(_, said)| said));
                let other = changed_paths(&before.marks, &now.marks, &group.root);
                let other = other.filter(|(path, _)| !is_free(path) && !differs(baseline, &now.marks, path));
                compared.restored.extend(other.map(|(_, said)| said));
            }
            for path in free {
                adopt(baseline, &now.marks, &path);
            }
        }
        compared
    }

    /// Tells whether a path may neither be written with our own tools nor committed.
    pub fn guards(&self, plan: &Plan, task: TaskId) -> impl Fn(&Path) -> bool + use<> {
        let is_own = self.own(plan, task);
        let groups = EVERYWHERE.iter().chain(self.by_folder.get(&task));
        let groups: Vec<&Group> = groups.map(|&index| &self.groups[index]).collect();
        let files: BTreeSet<PathBuf> = groups.iter().flat_map(|group| group.files.clone()).collect();
        let scopes: Vec<Scope> = groups.iter().flat_map(|group| group.scopes.clone()).collect();
        // The loader has read them. Where they could not be read everything would be protected.
        let folders = Guarded::of(&scopes).ok();
        let is_held = move |path: &Path| folders.as_ref().is_none_or(|folders| folders.holds(path));
        move |path| !is_own(path) && (files.contains(path) || is_held(path))
    }

    /// Tells whether a path is a task's to change: one that it is to make, or that its worker's program keeps for itself.
    fn own(&self, plan: &Plan, task: TaskId) -> impl Fn(&Path) -> bool + use<> {
        let targets = targets(plan, [task]);
        let kept = self.kept(plan, task, [plan.worker_of(task)]);
        move |path| targets.contains(path) || kept.holds(path)
    }

    /// Notes which files of the sub-tasks that a task's agent delegates are protected. Blocks.
    pub fn mark(&self, plan: &Plan, task: TaskId, sub_tasks: &mut [SubTask]) {
        if sub_tasks.iter().all(|sub_task| sub_task.target_files.is_empty()) {
            return;
        }
        let groups = self.groups_of(plan, task).into_iter();
        let groups: Vec<&Group> = groups.map(|index| &self.groups[index]).collect();
        let scopes = groups.iter().flat_map(|group| group.scopes.clone());
        // The loader has read them. Where they could not be read everything would be protected.
        let guarded = Guarded::of(&scopes.chain(protected_scopes(plan, task)).collect::<Vec<_>>()).ok();
        let folders = [plan.workspace_of(task), plan.root_of(task), plan.rules.workspace.clone()];
        let is_protected = |name: &&String| {
            let mut paths = folders.iter().map(|folder| plain(&folder.join(name)));
            paths.any(|path| {
                let known = [canonical(&path), real(&path)];
                let has = |group: &&Group| known.iter().any(|path| group.files.contains(path));
                groups.iter().any(has)
                    || guarded.as_ref().is_none_or(|guarded| known.iter().any(|path| guarded.holds(path)))
            })
        };
        for sub_task in sub_tasks {
            sub_task.protected = sub_task.target_files.iter().find(is_protected).cloned();
        }
    }

    /// Folders below protected ones in which checks may leave something. Blocks.
    pub fn left_by_checks(&self, plan: &Plan, task: TaskId) -> BTreeSet<PathBuf> {
        let may_be_written = self.may_be_written(plan, task);
        let mut found = BTreeSet::new();
        for group in &self.groups {
            let held = group.held();
            let files = held.baseline.iter().flat_map(|marks| marks.keys());
            let files = files.map(Path::new).filter(|path| may_be_written.holds(path));
            found.extend(files.filter_map(|path| fs::canonicalize(path.parent()?).ok()));
        }
        found
    }
}

impl Group {
    /// Whether the files of the group, which are few, are as they are known to be. Reads none.
    fn shows(&self, known: &KnownFiles) -> bool {
        self.scopes.is_empty() && self.files.len() <= FEW && known.is_untouched(&self.files)
    }

    fn held(&self) -> MutexGuard<'_, GroupState> {
        crate::locked(&self.held)
    }
}

/// Places that are protected whether or not a file is there, each with the reason: the mission, its settings, and what says how
/// worktrees are filled. The next run may begin in the workspace or beside the mission.
fn places(plan: &Plan, options: &RunOptions, read: &ReadBefore) -> Vec<(PathBuf, &'static str)> {
    let mission = read.mission.iter().map(|path| (path.clone(), "the mission"));
    let own = [&plan.rules.workspace, &options.mission_folder].map(|folder| folder.join(SETTINGS));
    let settings = read.settings.iter().cloned().chain(own).chain(options.fits());
    let settings = settings.map(|path| (path, "settings are read from there"));
    let included = plan.selected_ids().any(|id| plan.task(id).is_isolated());
    let included = included.then(|| (plan.rules.workspace.join(INCLUDED), "worktrees are filled by it"));
    let all = mission.chain(settings).chain(included);
    all.map(|(path, why)| (real(&path), why)).collect()
}
