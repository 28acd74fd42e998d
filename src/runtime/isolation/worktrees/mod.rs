//! Worktrees: each isolated task has a checkout of its own, what it did there is a commit, and what was accepted is merged
//! (semantics, section 22; `isolation: worktree`). With `isolation: copy` or `temp` it has a folder that nothing is brought
//! back from.
//!
//! All of it lies in the run's folder: a bare repository that borrows the objects of the user's, and a folder a task. The
//! user's repository is read when the run begins and written to once, at its end. Commits are made from outside of the
//! checkouts, with an index and a repository that are ours: what an agent does to the `.git` in its folder counts for nothing.
//!
//! Each step may be cut off by a kill at any point and done again: what it leads to is moved by one reference at last.
//!
//! | file | what it has |
//! |---|---|
//! | `difference` | what a task did, as it differs from what it began with |
//! | `exchange` | a bare repository by which folders are handed to other machines, and brought home |
//! | `creation` | the folders that isolated tasks work in: how each is made, and what it has beside what git follows |
//! | `hidden` | what hidden checks keep out of the folders of workers, and how such a check sees it all the same |
//! | `look_folders` | trees and folders for looks at tests that the work of a task changed |
//! | `merge` | what a task did becomes a commit, and what was accepted is merged |
//! | `unmerged` | what git calls unmerged, in words; links that lead out of a repository |
//! | `user_repository` | the repository of the user: read when a run begins, and written to once, at its end |

use std::fs::{self, File};
use std::io;
use std::os::fd::IntoRawFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use crate::executor::error::WorkError;
use crate::store::RunFolder;
use rules::domain::{Status, TaskId};
use rules::engine::{self, FileFact, State};
use rules::mission::model::MergeInto;
use rules::plan::{HiddenFiles, Plan};
use supervisor::files;
use supervisor::files::if_there;

use crate::runtime::isolation::git::{self, Git, borrow, refused};
use creation::{exclude, init, is_folder, make, missing, remove, replace};
use user_repository::User;

mod creation;
mod difference;
#[cfg(any(feature = "temporal", test))]
pub mod exchange;
mod hidden;
mod look_folders;
mod merge;
#[cfg(test)]
mod random_changes_tests;
#[cfg(test)]
mod random_merges_tests;
mod unmerged;
mod user_repository;

pub use difference::NotCommitted;
pub use look_folders::Sides;

/// The reference of the commit that the run began with.
const START: &str = "refs/quorum/start";
/// The reference of the accepted work.
const MAIN: &str = "refs/quorum/main";
/// Where a repository says at which commits its history is cut.
const BOUNDS: &str = "shallow";
/// Where a repository says what it does not follow, whatever the tree says.
const EXCLUDED: &str = "info/exclude";
/// How long git of a session that was killed may still work: it is killed with that session, but ends only once the disk has taken
/// what it was writing.
const LONGEST_GIT: Duration = Duration::from_secs(2 * 60);
const PAUSE: Duration = Duration::from_millis(5);

/// Whether any task of the run works in a worktree.
fn has_worktrees(plan: &Plan) -> bool {
    plan.selected_ids().any(|id| plan.task(id).has_worktree())
}

/// Whether the workspace is a repository that isolated tasks of a new run can begin with; one that belongs to another user
/// is only where that is trusted. Blocks.
///
/// # Errors
/// What it lacks, in words.
pub fn check_repository(plan: &Plan, is_trusted: bool) -> Result<(), WorkError> {
    if !has_worktrees(plan) {
        return Ok(());
    }
    User::open(&plan.rules.workspace, is_trusted)?.clean_head()?;
    missing(plan).map_or(Ok(()), |what| Err(refused(what)))
}

/// Makes ready what isolated tasks of a run need, before a session of it begins. Blocks.
///
/// # Errors
/// What is missing, in words.
pub fn begin_worktrees(run: &RunFolder, state: &mut State) -> Result<(), WorkError> {
    Worktrees::at_rest(run).clear_looks()?;
    let plan = &state.plan;
    if !plan.selected_ids().any(|id| plan.task(id).is_isolated()) {
        return Ok(());
    }
    let has_worktrees = has_worktrees(plan);
    Arc::make_mut(&mut state.plan).rules.worktrees.root = Some(run.worktrees());
    let worktrees = Worktrees::of(run, state);
    worktrees.take()?;
    if !has_worktrees {
        return Ok(());
    }
    // A mission that was changed since the run began may be the first one with worktrees.
    let nothing_is_committed = state.plan.every_task_id().all(|id| state.committed(id).commit.is_none());
    if nothing_is_committed && worktrees.resolve(MAIN).is_err() {
        return worktrees.begin(&state.plan);
    }
    // A run that was carried to another place finds its repository there.
    if let Ok(user) = User::open(&state.plan.rules.workspace, true) {
        borrow(&worktrees.repository(), "", &user.objects()?)?;
    }
    // What a session has merged and not recorded is merged once more.
    let accepted = worktrees.recorded();
    accepted.and_then(|accepted| worktrees.set(MAIN, &accepted, None)).map_err(|why| {
        refused(format!(
            "the repository of the run's worktrees, {}, cannot be read: {why}",
            worktrees.repository().display()
        ))
    })
}

/// Has the builds of checks and the folders of tasks removed whose work is part of what was accepted, as far as that can be
/// done.
pub fn tidy_worktrees(run: &RunFolder, state: &State) {
    if state.phase == engine::RunPhase::Finished {
        // What is left of them is removed with the run.
        let _ = files::remove_all(&run.builds());
        let worktrees = Worktrees::at_rest(run);
        let _ = worktrees.end_looks();
        worktrees.tidy(state);
    }
}

/// Removes the references of a run that goes, from the user's repository and from its exchange. Gives the one that stays, because
/// no branch has what was accepted. Blocks.
///
/// # Errors
/// In the words of git.
pub fn forget_work(run: &RunFolder) -> Result<Option<String>, WorkError> {
    let worktrees = Worktrees::at_rest(run);
    let kept = if worktrees.repository().exists() { worktrees.forget()? } else { None };
    // Last: the exchange may be out of reach.
    #[cfg(any(feature = "temporal", test))]
    worktrees.forget_exchange(run.id())?;
    Ok(kept)
}

/// Makes the folder of an isolated task ready for who looks at its work once the run has ended. Blocks.
///
/// # Errors
/// In the words of git, or of the system.
pub fn restore_work(run: &RunFolder, state: &State, task: TaskId) -> Result<(), WorkError> {
    if state.plan.task(task).has_worktree() {
        Worktrees::of(run, state).restore_committed(&state.plan, task, &state.committed(task))
    } else {
        Ok(())
    }
}

/// The changes of an isolated task, as git shows them; empty where it has committed nothing. Blocks.
///
/// # Errors
///
/// In the words of git.
pub fn work_diff(run: &RunFolder, state: &State, task: TaskId) -> Result<Vec<u8>, WorkError> {
    let committed = state.task(task).course.committed.as_deref();
    let Some(commit) = committed.and_then(|committed| committed.commit.as_ref()) else {
        return Ok(Vec::new());
    };
    let git = Worktrees::at_rest(run).git();
    Ok(git.run(["diff", &commit.onto, &commit.id])?.stdout)
}

/// The changes of a whole run, as git shows them: all work in worktrees that was accepted. Blocks.
///
/// # Errors
///
/// In the words of git.
pub fn run_diff(run: &RunFolder, state: &State) -> Result<Vec<u8>, WorkError> {
    let Some(landed) = state.landed.as_deref() else {
        return Ok(Vec::new());
    };
    Ok(Worktrees::at_rest(run).git().run(["diff", START, landed])?.stdout)
}

/// Whether the user's repository has the accepted work of a run where it is wanted. Blocks.
///
/// # Errors
/// Where the reference of the run is not what its record says, or in the words of git.
pub fn has_work_of(run: &RunFolder, state: &State, into: &MergeInto) -> Result<bool, WorkError> {
    let is_any = state.landed.is_some();
    Ok(is_any && Worktrees::of(run, state).has_accepted(&state.plan.rules.workspace, into)?)
}

/// Has files in a worktree say what git stores of them, where git can tell. Blocks.
pub fn note_stored(plan: &Plan, workspace: &Path, files: &mut [FileFact]) {
    let Some(root) = &plan.rules.worktrees.root else {
        return;
    };
    let is_asked = |file: &&mut FileFact| file.digest.is_some() && file.stored.is_none();
    let mut asked: Vec<&mut FileFact> = files.iter_mut().filter(is_asked).collect();
    let inner = workspace.strip_prefix(root).ok().and_then(|inner| inner.iter().next());
    let Some(name) = inner.filter(|_| !asked.is_empty()) else {
        return;
    };
    let git = Git::new().in_repository(&root.join("repository.git"));
    let git = git.env("GIT_WORK_TREE", root.join(name)).at(workspace);
    let git = git.args(["hash-object", "--"]);
    // Where it cannot tell, looks are compared by their bytes alone, which is the stricter way.
    if let Ok(ids) = git.line(asked.iter().map(|file| &file.path)) {
        for (file, id) in asked.iter_mut().zip(ids.lines()) {
            file.stored = Some(id.into());
        }
    }
}

/// The worktrees of a run.
#[derive(Debug, Clone)]
pub struct Worktrees {
    root: PathBuf,
    /// The bare repository of the worktrees.
    bare: PathBuf,
    state: PathBuf,
    run: String,
    /// The commit of all that was accepted: what the journal says, and what this session has merged since. `None`: what the run
    /// began with. Whoever merges holds it.
    accepted: Arc<Mutex<Option<Box<str>>>>,
    /// The files that are kept out of the folders of workers.
    hidden: Option<Arc<HiddenFiles>>,
}

/// A reference of the run's repository.
fn commit_ref(task: TaskId) -> String {
    format!("refs/quorum/task/{}", task.0)
}

/// The reference that the task's work is held against: the work that was accepted when its worktree was made,
/// or merged into it since.
fn base_ref(task: TaskId) -> String {
    format!("refs/quorum/base/{}", task.0)
}

/// All that lay in the folder of a task once it was prepared, before anybody looked at anything there.
fn prepared_ref(task: TaskId) -> String {
    format!("refs/quorum/prepared/{}", task.0)
}

impl Worktrees {
    /// The worktrees of a run in this state.
    pub fn of(run: &RunFolder, state: &State) -> Self {
        Self {
            accepted: Arc::new(Mutex::new(state.landed.clone())),
            hidden: state.plan.rules.hidden.clone(),
            ..Self::at_rest(run)
        }
    }

    /// The worktrees of a run, for a caller that asks nothing of what was accepted.
    pub fn at_rest(run: &RunFolder) -> Self {
        Self {
            accepted: Arc::default(),
            hidden: None,
            root: run.worktrees(),
            bare: run.worktrees().join("repository.git"),
            state: run.state_folder().path().to_owned(),
            run: run.id().to_string(),
        }
    }

    fn repository(&self) -> PathBuf {
        self.bare.clone()
    }

    fn folder(&self, task: TaskId) -> PathBuf {
        self.root.join(task.0.to_string())
    }

    /// The file that says which branch was checked out when the run began.
    fn branch_file(&self) -> PathBuf {
        self.root.join("branch")
    }

    fn state_folder(&self) -> &Path {
        &self.state
    }

    /// Waits until nothing works on the repository that an earlier session started, and clears what that may have left locked.
    fn take(&self) -> Result<(), WorkError> {
        make(&self.root)?;
        let path = self.root.join("lock");
        let lock = File::options().append(true).create(true).open(&path);
        let lock = lock.map_err(WorkError::file("open", &path))?;
        let begin = Instant::now();
        while lock.try_lock().is_err() {
            if begin.elapsed() >= LONGEST_GIT {
                return Err(refused("git of an earlier session still works on the worktrees of the run"));
            }
            std::thread::sleep(PAUSE);
        }
        // What was locked earlier was locked by nobody who still works.
        lock.set_modified(SystemTime::now())?;
        // Each git that is started holds it too, so it is free only once the last of them has ended.
        rustix::io::fcntl_setfd(&lock, rustix::io::FdFlags::empty()).map_err(io::Error::from)?;
        let _ = lock.into_raw_fd();
        let repository = self.repository();
        let mut folders = vec![self.root.clone(), repository.clone()];
        folders.extend(
            ["start", "task", "base", "prepared"].map(|name| repository.join("refs/quorum").join(name)),
        );
        folders.push(repository.join("refs/quorum"));
        self.unlock(&folders)
    }

    /// Removes what git of earlier sessions has left locked in folders of ours. Where people's git may work too, what is locked now
    /// and vanishes meanwhile is theirs.
    fn unlock(&self, folders: &[PathBuf]) -> Result<(), WorkError> {
        let folders = folders.iter().filter_map(|folder| fs::read_dir(folder).ok());
        let paths = folders.flatten().flatten().map(|entry| entry.path());
        let locks = paths.filter(|path| path.extension().is_some_and(|end| end == "lock"));
        self.remove_locks(locks, SystemTime::UNIX_EPOCH)
    }

    /// Removes locks that were made from a moment on, and before this session began.
    fn remove_locks(
        &self,
        locks: impl IntoIterator<Item = PathBuf>,
        from: SystemTime,
    ) -> Result<(), WorkError> {
        let Some(taken) = if_there(self.root.join("lock").metadata())? else {
            return Ok(());
        };
        let earlier = from..=taken.modified()?;
        for path in locks {
            let there = if_there(path.symlink_metadata())?;
            if there.is_some_and(|there| there.modified().is_ok_and(|at| earlier.contains(&at))) {
                if_there(fs::remove_file(path))?;
            }
        }
        Ok(())
    }

    /// The commit of the accepted work by the record.
    fn recorded(&self) -> Result<String, WorkError> {
        let accepted = crate::locked(&self.accepted).clone();
        self.resolve(&format!("{}^{{commit}}", accepted.as_deref().unwrap_or(START)))
    }

    /// Makes a repository with the form, the objects and the line ends of the user's.
    fn init_like(&self, user: &User) -> Result<(), WorkError> {
        init(&self.repository(), &user.object_format()?)?;
        borrow(&self.repository(), "", &user.objects()?)?;
        let mut line_ends = user.line_ends();
        line_ends.try_for_each(|(key, value)| self.git().done(["config", key, value]))
    }

    /// Makes the run's repository. What was made of it by a session that was killed is made again: `MAIN` comes last. Blocks.
    ///
    /// # Errors
    /// What the user's repository lacks, in words.
    fn begin(&self, plan: &Plan) -> Result<(), WorkError> {
        let user = User::open(&plan.rules.workspace, true)?;
        let head = user.clean_head()?;
        make(&self.root)?;
        let repository = self.repository();
        self.init_like(&user)?;
        if let Some(bounds) = user.bounds()? {
            let path = repository.join(BOUNDS);
            fs::copy(bounds, &path).map_err(WorkError::file("copy to", &path))?;
        }
        exclude(plan, &user.excludes()?, &repository)?;
        // Whatever merges by a program of theirs is for people, or agents, to merge.
        for key in user.merge_drivers()? {
            self.git().run(["config", &key, "false"])?;
        }
        replace(&self.branch_file(), &user.branch()?)?;
        self.set(START, &head, None)?;
        self.set(MAIN, &head, None)
    }

    /// Moves the folders of tasks aside whose work is part of what was accepted, as far as that can be done, and has them removed
    /// by a process that nobody waits for.
    fn tidy(&self, state: &State) {
        let plan = &state.plan;
        let is_done = |id: &TaskId| plan.task(*id).has_worktree() && state.task(*id).status() == Status::Done;
        let done = plan.selected_ids().filter(is_done).map(|id| id.0.to_string());
        let mut gone = Vec::new();
        for name in done.chain([Plan::MERGED.to_owned()]) {
            let aside = self.root.join(format!("{name}.gone"));
            let _ = fs::rename(self.root.join(&name), &aside);
            let _ = self.remove_folder(&name);
            if is_folder(&aside) {
                gone.push(aside);
            }
        }
        if !gone.is_empty() {
            supervisor::behind(|| gone.iter().for_each(|aside| drop(remove(aside))));
        }
    }

    /// The files of a commit, and none that it has not, in a folder; files that git does not follow stay.
    fn check_out(&self, folder: &Path, tree: &str) -> Result<(), WorkError> {
        let tree = self.without_hidden(folder, tree)?;
        self.at(folder)?.done(["read-tree", "--reset", "-u", &tree])
    }

    fn tree_of(&self, commit: &str) -> Result<String, WorkError> {
        self.resolve(&format!("{commit}^{{tree}}"))
    }

    fn resolve(&self, name: &str) -> Result<String, WorkError> {
        self.git().resolve(name)?.ok_or_else(|| refused(format!("there is no {name}")))
    }

    /// Where a reference of ours stands, if it is there: what its file says, unless git keeps it elsewhere.
    fn reference(&self, name: &str) -> Result<Option<String>, WorkError> {
        let repository = self.repository();
        // An id has 64 letters at most.
        let read = files::read_regular(&repository.join(name), 128);
        match read.map(|bytes| String::from_utf8_lossy(&bytes).trim_end().to_owned()) {
            Ok(id) if id.len() >= 40 && id.bytes().all(|byte| byte.is_ascii_hexdigit()) => Ok(Some(id)),
            Err(error)
                if error.kind() == io::ErrorKind::NotFound && !repository.join("packed-refs").exists() =>
            {
                Ok(None)
            }
            _ => self.git().resolve(name),
        }
    }

    /// Moves a reference from where it is expected to be; `None`: wherever it is.
    fn set(&self, name: &str, to: &str, from: Option<&str>) -> Result<(), WorkError> {
        let git = self.git().args(["update-ref", name, to]);
        git.done(from)
    }

    fn git(&self) -> Git {
        Git::new().in_repository(&self.repository()).cut_off_with_us()
    }

    /// Git in the folder of a task.
    fn within(&self, task: TaskId) -> Result<Git, WorkError> {
        self.at(&self.folder(task))
    }

    /// Git in a folder of ours, by our repository and an index that nobody who works there sees.
    fn at(&self, folder: &Path) -> Result<Git, WorkError> {
        self.at_index(folder, "index")
    }

    /// Git in a folder of ours, by our repository and an index of this kind, which lies beside the folder.
    fn at_index(&self, folder: &Path, kind: &str) -> Result<Git, WorkError> {
        // Whoever works there may have put something else in its place.
        if !is_folder(folder) {
            return Err(refused(format!("{} is no folder any more", folder.display())));
        }
        let index = folder.with_extension(kind);
        let git = self.git().env("GIT_WORK_TREE", folder).indexed(&index);
        Ok(git.at(folder))
    }
}
