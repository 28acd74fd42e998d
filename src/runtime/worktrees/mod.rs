//! Worktrees: each isolated task has a checkout of its own, what it did there is a commit, and what was accepted is merged
//! (semantics, section 22; `isolation: worktree`).
//!
//! All of it lies in the run's folder: a bare repository that borrows the objects of the user's, and a folder a task. The
//! user's repository is read when the run begins and written to once, at its end. Commits are made from outside of the
//! checkouts, with an index and a repository that are ours: what an agent does to the `.git` in its folder counts for nothing.
//!
//! Each step may be cut off by a kill at any point and done again: what it leads to is moved by one reference at last.

use std::fs::File;
use std::io;
use std::os::fd::IntoRawFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use crate::domain::{OutcomeClass, TaskId};
use crate::engine::{self, Commit, Merged, State};
use crate::executor::error::WorkError;
use crate::mission::Plan;
use crate::mission::model::MergeInto;
use crate::store::RunFolder;

/// What the run began with.
const START: &str = "refs/quorum/start";
/// What was accepted so far.
const MAIN: &str = "refs/quorum/main";
/// The mode of another repository within one.
const GITLINK: &str = "160000";
/// How long git of a session that was killed may still work.
const LONGEST_GIT: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(5);
/// How many files a message names.
const MOST_NAMED: usize = 20;

/// Whether any task of the run works in a worktree.
fn is_needed(plan: &Plan) -> bool {
    plan.selected_ids().any(|id| plan.task(id).has_worktree())
}

/// Whether the workspace is a repository that isolated tasks of a new run can begin with. Blocks.
///
/// # Errors
/// What it lacks, in words.
pub fn check_repository(plan: &Plan) -> Result<(), WorkError> {
    match is_needed(plan) {
        true => User::open(&plan.rules.workspace)?.clean_head().map(drop),
        false => Ok(()),
    }
}

/// Makes ready what isolated tasks of a run need, before a session of it begins. Blocks.
///
/// # Errors
/// What is missing, in words.
pub fn begin_worktrees(run: &RunFolder, state: &mut State) -> Result<(), WorkError> {
    if !is_needed(&state.plan) {
        return Ok(());
    }
    std::sync::Arc::make_mut(&mut state.plan).rules.worktrees = Some(run.worktrees());
    let worktrees = Worktrees::of(run);
    worktrees.take()?;
    match (worktrees.resolve(MAIN), state.sessions) {
        (Ok(_), _) => Ok(()),
        (Err(_), 0) => worktrees.begin(&state.plan.rules.workspace),
        (Err(why), _) => Err(refused(format!(
            "the repository of the run's worktrees, {}, cannot be read: {why}",
            worktrees.repository().display()
        ))),
    }
}

/// What becomes of the work of isolated tasks at the end of a session; `None` where there are none. Blocks.
pub fn deliver_work(run: &RunFolder, state: &State) -> Option<Result<Delivered, WorkError>> {
    let plan = &state.plan;
    let is_good = engine::outcome(state).class == OutcomeClass::Ok;
    let merge = if is_good {
        &plan.rules.merge
    } else {
        &MergeInto::Never
    };
    is_needed(plan).then(|| Worktrees::of(run).deliver(&plan.rules.workspace, merge))
}

/// What an isolated task changed, as git shows it. Blocks.
///
/// # Errors
/// In the words of git.
pub fn work_diff(run: &RunFolder, task: TaskId) -> Result<Vec<u8>, WorkError> {
    Worktrees::of(run).diff(task)
}

/// The worktrees of a run.
#[derive(Debug, Clone)]
pub(super) struct Worktrees {
    root: PathBuf,
    run: String,
}

/// A reference of the run's repository.
fn commit_ref(task: TaskId) -> String {
    format!("refs/quorum/task/{}", task.0)
}

/// What the task's work is held against: what was accepted when its worktree was made, or merged into it since.
fn base_ref(task: TaskId) -> String {
    format!("refs/quorum/base/{}", task.0)
}

impl Worktrees {
    /// Those of a run.
    pub fn of(run: &RunFolder) -> Self {
        Self {
            root: run.worktrees(),
            run: run.id().to_string(),
        }
    }

    fn repository(&self) -> PathBuf {
        self.root.join("repository.git")
    }

    fn folder(&self, task: TaskId) -> PathBuf {
        self.root.join(task.0.to_string())
    }

    /// Waits until nothing works on the repository that an earlier session started, and clears what that may have left locked.
    fn take(&self) -> Result<(), WorkError> {
        std::fs::create_dir_all(&self.root).map_err(WorkError::file("make", &self.root))?;
        let path = self.root.join("lock");
        let lock = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path);
        let lock = lock.map_err(WorkError::file("open", &path))?;
        let end = Instant::now() + LONGEST_GIT;
        while lock.try_lock().is_err() {
            if Instant::now() >= end {
                return Err(refused(
                    "git of an earlier session still works on the worktrees of the run",
                ));
            }
            std::thread::sleep(PAUSE);
        }
        // Each git that is started holds it too, so it is free only once the last of them has ended.
        rustix::io::fcntl_setfd(&lock, rustix::io::FdFlags::empty()).map_err(io::Error::from)?;
        let _ = lock.into_raw_fd();
        let repository = self.repository();
        let mut folders = vec![self.root.clone(), repository.clone()];
        folders.extend(["start", "task", "base"].map(|name| repository.join("refs/quorum").join(name)));
        folders.push(repository.join("refs/quorum"));
        for entry in folders
            .iter()
            .filter_map(|folder| std::fs::read_dir(folder).ok())
            .flatten()
            .flatten()
        {
            if entry.path().extension().is_some_and(|end| end == "lock") {
                std::fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }

    /// Makes the run's repository, if it is not there yet. Blocks.
    ///
    /// # Errors
    /// What the user's repository lacks, in words.
    pub fn begin(&self, workspace: &Path) -> Result<(), WorkError> {
        let user = User::open(workspace)?;
        let head = user.clean_head()?;
        std::fs::create_dir_all(&self.root).map_err(WorkError::file("make", &self.root))?;
        let repository = self.repository();
        run(Git::new().args(["init", "-q", "--bare"]).arg(&repository))?;
        borrow(&repository, &[user.objects()?])?;
        self.set(START, &head, None)?;
        self.set(MAIN, &head, None)
    }

    /// Makes the checkout of a task, if it is not there: on what was accepted so far, or with what the task did already. Blocks.
    ///
    /// # Errors
    /// In the words of git.
    pub fn create(&self, plan: &Plan, task: TaskId) -> Result<(), WorkError> {
        let (base, folder) = (self.resolve(&base_ref(task)).ok(), self.folder(task));
        if base.is_some() && folder.join(".git").is_dir() {
            return Ok(());
        }
        std::fs::create_dir_all(&folder).map_err(WorkError::file("make", &folder))?;
        let half = folder.join(".git");
        if half.is_dir() {
            std::fs::remove_dir_all(&half).map_err(WorkError::file("remove", &half))?;
        }
        let start = match &base {
            Some(base) => self.resolve(&commit_ref(task)).unwrap_or_else(|_| base.clone()),
            None => self.resolve(MAIN)?,
        };
        self.check_out(task, &start)?;
        let agent = &plan.agent(plan.task(task).agent).name;
        self.own_repository(&folder, &start, agent)?;
        if let Some(own) = &plan.task(task).workspace {
            let own = folder.join(own.as_ref());
            std::fs::create_dir_all(&own).map_err(WorkError::file("make", &own))?;
        }
        match base {
            Some(_) => Ok(()),
            None => self.set(&base_ref(task), &start, None),
        }
    }

    /// A repository for the agent: it may look at what was, and commit as it likes. Nothing of it is read again.
    fn own_repository(&self, folder: &Path, tip: &str, agent: &str) -> Result<(), WorkError> {
        run(Git::new().args(["init", "-q"]).arg(folder))?;
        let git = folder.join(".git");
        let borrowed = std::fs::read_to_string(self.repository().join("objects/info/alternates"))?;
        let ours = self.repository().join("objects");
        let objects: Vec<PathBuf> = borrowed.lines().map(PathBuf::from).chain([ours]).collect();
        borrow(&git, &objects)?;
        let own = || Git::new().in_repository(&git).env("GIT_WORK_TREE", folder);
        run(own().args(["update-ref", "HEAD", tip]))?;
        run(own().args(["read-tree", tip]))?;
        run(own().args(["config", "user.name", agent]))?;
        run(own().args(["config", "user.email", "agent@quorum.invalid"])).map(drop)
    }

    /// The files of a commit, and none that it has not, in the folder of a task; files that git does not follow stay.
    fn check_out(&self, task: TaskId, tree: &str) -> Result<(), WorkError> {
        run(self.within(task).args(["read-tree", "--reset", "-u", tree])).map(drop)
    }

    /// What a task changed, as git shows it. Blocks.
    ///
    /// # Errors
    /// In the words of git.
    pub fn diff(&self, task: TaskId) -> Result<Vec<u8>, WorkError> {
        let base = self.resolve(&base_ref(task))?;
        let mine = self.resolve(&commit_ref(task)).unwrap_or_else(|_| base.clone());
        // What has landed is what its task begins with, should it be done again.
        let before = if base == mine { format!("{mine}^") } else { base };
        Ok(run(self.git().args(["diff", &before, &mine]))?.stdout)
    }

    fn tree_of(&self, commit: &str) -> Result<String, WorkError> {
        self.resolve(&format!("{commit}^{{tree}}"))
    }

    fn resolve(&self, name: &str) -> Result<String, WorkError> {
        Ok(text(run(self.git().args(["rev-parse", "--verify", "-q", name]))?))
    }

    /// Moves a reference from where it is expected to be; `None`: wherever it is.
    fn set(&self, name: &str, to: &str, from: Option<&str>) -> Result<(), WorkError> {
        let git = self.git().args(["update-ref", name, to]);
        run(git.args(from)).map(drop)
    }

    fn git(&self) -> Git {
        Git::new().in_repository(&self.repository())
    }

    /// Git in the folder of a task, by our repository and an index that the task never sees.
    fn within(&self, task: TaskId) -> Git {
        let folder = self.folder(task);
        let index = self.root.join(format!("{}.index", task.0));
        let mut git = self
            .git()
            .env("GIT_WORK_TREE", &folder)
            .env("GIT_INDEX_FILE", index);
        git.0.current_dir(folder);
        git
    }
}

/// Has a repository find objects in those of others as well.
fn borrow(repository: &Path, objects: &[PathBuf]) -> Result<(), WorkError> {
    let path = repository.join("objects/info/alternates");
    let lines: String = objects
        .iter()
        .map(|path| format!("{}\n", path.display()))
        .collect();
    std::fs::write(&path, lines).map_err(WorkError::file("write", &path))
}

