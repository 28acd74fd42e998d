//! What commands that judge find empty: caches beside what judges, and the build folders of turns, in place of which they
//! have their own (semantics, section 22, scratch).

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::read_only::GLOB;
use super::{Protection, canonical, real};
use crate::executor::command::CommandJob;
use crate::executor::error::WorkError;
use crate::executor::runner::CommandOwner;
use crate::review::file_changes::{Guarded, Scope};
use crate::store::RunFolder;
use rules::domain::{Digest, TaskId};
use rules::plan::{Confinement, Plan};
use supervisor::files::remove_all;

/// The folder that builds leave for the next one.
const TARGET: &str = "target";
/// The files beside it in a folder that is built.
const BUILT: [&str; 2] = ["Cargo.toml", "pom.xml"];

/// Where one command may find what work has left. What it leaves there itself is taken away when this is dropped, unless
/// another command that judges is at work in the same folder.
#[derive(Debug)]
pub struct Scratch {
    /// The folder that stands for the workspace.
    root: PathBuf,
    /// The folders on the way to something protected, and those that it lies in.
    folders: BTreeSet<PathBuf>,
    /// The ends of names of caches, seen from any of these; `None`: any name.
    names: Vec<Option<String>>,
    named: Guarded,
    /// The files that are no scratch, whatever their names.
    never: Arc<BTreeSet<PathBuf>>,
    /// Where builds may be, each with where its own is kept.
    builds: BTreeMap<PathBuf, PathBuf>,
    /// The folders that are mounted in place of what work has left, by where.
    pub mounts: BTreeMap<PathBuf, PathBuf>,
    /// The folder of empty folders to mount.
    empty: tempfile::TempDir,
    /// Held by every such command at work in the folder.
    lock: File,
}

impl Scratch {
    /// The caches that are there. Blocks.
    fn caches(&self) -> BTreeSet<PathBuf> {
        let named = |folder: &PathBuf, name: &Option<String>| match name {
            Some(name) => vec![folder.join(name)],
            // What cannot be listed here is listed by no command.
            None => fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect(),
        };
        let folders = self.folders.iter();
        let all = folders.flat_map(|folder| self.names.iter().flat_map(move |name| named(folder, name)));
        let all = all.filter(|path| self.named.holds(path) && !self.is_kept(path));
        let all = all.filter(|path| fs::symlink_metadata(path).is_ok());
        all.map(|path| real(&path)).collect()
    }

    fn is_kept(&self, path: &Path) -> bool {
        let mut behind = self.never.range(path.to_owned()..);
        behind.next().is_some_and(|never| never.starts_with(path))
    }

    /// Makes the places empty; `by_mounts` says whether mounts can. Nothing is removed to which a link has led out of the
    /// workspace. Blocks.
    fn clear(mut self, by_mounts: bool) -> Result<Self, WorkError> {
        for (path, own) in &self.builds {
            let leads_to = canonical(path);
            // Through a link checks would find by another name what lies beside something protected.
            if self.folders.iter().any(|folder| folder.starts_with(&leads_to)) {
                remove_all(path).map_err(WorkError::file("remove", path))?;
            }
            if own.exists() {
                // Who builds there says why it cannot be made.
                let _ = fs::create_dir(path);
            }
            let place = canonical(path);
            if place.is_dir() {
                self.mounts.insert(place, own.clone());
            }
        }
        for path in self.caches() {
            if by_mounts && is_folder(&path) {
                let own = self.empty.path().join(self.mounts.len().to_string());
                self.mounts.insert(path, own);
            } else if path.starts_with(&self.root) {
                remove_all(&path).map_err(WorkError::file("remove", &path))?;
            }
        }
        self.mounts.values().try_for_each(fs::create_dir_all)?;
        Ok(self)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if self.lock.try_lock().is_err() {
            return;
        }
        let is_new = |path: &PathBuf| path.starts_with(&self.root) && !self.mounts.contains_key(path);
        // What stays all the same is not there for the next command either.
        for path in self.caches().into_iter().filter(is_new) {
            let _ = remove_all(&path);
        }
        for (path, own) in &self.builds {
            if fs::remove_dir(path).is_err() && is_new(path) && is_folder(path) {
                let _ = fs::rename(path, own).or_else(|_| remove_all(path));
            }
        }
    }
}

fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}

fn name_of(path: &Path) -> String {
    Digest::of(path.as_os_str().as_encoded_bytes()).to_string()
}

/// Whether a folder has sources of a build.
fn is_built(folder: &Path) -> bool {
    BUILT.iter().any(|name| folder.join(name).exists())
}

/// The globs of caches that hold for a task, or for none.
pub fn globs(plan: &Plan, task: Option<TaskId>) -> &[Box<str>] {
    let own = task.and_then(|task| plan.task(task).scratch.as_deref());
    own.unwrap_or(&plan.rules.settings.scratch)
}

/// The warning that a build of a turn may decide a check that is not confined; `refused` says whether this
/// machine confines nothing. `None` where no check may be.
pub fn shared_builds(plan: &Plan, refused: bool) -> Option<String> {
    let workspace = &plan.rules.workspace;
    let is_built = is_built(workspace) || workspace.join(TARGET).exists();
    let is_shared = is_built && (refused || plan.confinements().any(Confinement::is_off));
    is_shared.then(|| {
        format!("without confinement checks use the `{TARGET}` that turns leave: what was planted there may decide them")
    })
}

impl Protection {
    /// Empties the caches for a command that judges, in the folder that stands for the workspace where it works: `mounts` says
    /// whether mounts hold there, `run` is where builds of such commands are kept. Blocks.
    ///
    /// # Errors
    /// Why something that work has left cannot be kept from it.
    pub fn scratch(
        &self,
        (plan, owner, job): (&Plan, CommandOwner, &CommandJob),
        root: &Path,
        mounts: bool,
        run: &RunFolder,
    ) -> Result<Scratch, WorkError> {
        let (root, task) = (canonical(root), owner.task());
        let groups = task.map_or_else(|| (0..self.groups.len()).collect(), |task| self.groups_of(plan, task));
        let mut folders = BTreeSet::from([root.clone()]);
        for group in groups.into_iter().map(|index| &self.groups[index]) {
            let latest = group.held().latest.clone();
            let inner = latest.marks.keys().filter_map(|path| Path::new(path).strip_prefix(&group.root).ok());
            folders.extend(inner.flat_map(|inner| inner.ancestors().skip(1)).map(|inner| root.join(inner)));
        }
        let globs = globs(plan, task).iter();
        let patterns: Vec<String> = globs.map(|glob| glob.trim_end_matches("/**").to_owned()).collect();
        let name = |glob: &String| match glob.rsplit_once(GLOB) {
            Some((_, end)) => end.split_once('/').map(|(_, name)| name.to_owned()),
            None => Some(glob.clone()),
        };
        let all = run.builds();
        let folder = all.join(name_of(&root));
        fs::create_dir_all(&folder)?;
        let mut scratch = Scratch {
            names: patterns.iter().map(name).collect(),
            never: self.never_scratch.clone(),
            named: Guarded::of(&[Scope { root: root.clone(), patterns }])?,
            root,
            folders,
            builds: BTreeMap::new(),
            mounts: BTreeMap::new(),
            empty: tempfile::tempdir_in(all)?,
            lock: File::open(&folder)?,
        };
        // Where there are no locks nothing is taken away.
        let _ = scratch.lock.lock_shared();
        if mounts && !matches!(owner, CommandOwner::Ask(..)) {
            let built = scratch.folders.iter().filter(|folder| is_built(folder));
            let built = built.cloned().chain([scratch.root.clone(), canonical(&job.cwd)]);
            let builds = built.map(|folder| folder.join(TARGET));
            // What has something protected in it is no build.
            let builds = builds.filter(|path| !scratch.is_kept(path) && !scratch.folders.contains(path));
            let own = |path: &Path| folder.join(name_of(&path.join(format!("{task:?}"))));
            scratch.builds = builds.map(|path| (path.clone(), own(&path))).collect();
        }
        scratch.clear(mounts)
    }

    /// The files that may appear or change below protected folders while a check of a task runs.
    pub fn may_be_written(&self, plan: &Plan, task: TaskId) -> Guarded {
        let own = plan.task(task).checks_may_write.as_deref();
        let globs: &[Box<str>] = own.map_or(&plan.rules.settings.checks_may_write, |own| own);
        let scope = |root: PathBuf| Scope { root, patterns: globs.iter().map(ToString::to_string).collect() };
        let roots = [self.root.clone(), plan.root_of(task), plan.workspace_of(task)];
        // The loader has read them.
        Guarded::of(&roots.map(scope)).unwrap_or_default()
    }
}
