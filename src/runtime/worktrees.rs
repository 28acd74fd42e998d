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
    plan.selected_ids().any(|id| plan.task(id).is_isolated())
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

    /// Commits what lies in the folder of a task. Blocks.
    ///
    /// # Errors
    /// In the words of git.
    pub fn commit(&self, plan: &Plan, task: TaskId) -> Result<Commit, WorkError> {
        let base = self.resolve(&base_ref(task))?;
        let before = self.resolve(&commit_ref(task)).ok();
        run(self.within(task).args(["add", "-A", "."]))?;
        let tree = text(run(self.within(task).arg("write-tree"))?);
        let files = self.files_between(&base, &tree)?;
        let last = before.as_deref().unwrap_or(&base);
        if self.tree_of(last)? == tree {
            return Ok(Commit {
                id: last.into(),
                files,
                onto: base.clone().into(),
            });
        }
        // Behind a conflict its folder has what others did as well: that is where the work comes from, too.
        let knows_base = self.comes_before(&base, last);
        let parents = [last, base.as_str()];
        let parents = if knows_base { &parents[..1] } else { &parents[..] };
        let id = self.commit_tree(plan, task, &tree, parents)?;
        self.set(&commit_ref(task), &id, before.as_deref())?;
        Ok(Commit {
            id: id.into(),
            files,
            onto: base.into(),
        })
    }

    /// How many files differ, none of which is another repository.
    fn files_between(&self, base: &str, tree: &str) -> Result<u32, WorkError> {
        let raw = run(self
            .git()
            .args(["diff-tree", "-r", "--raw", "--no-renames", "-z", base, tree]))?;
        let text = String::from_utf8_lossy(&raw.stdout);
        let mut files = 0;
        let mut parts = text.split('\0');
        while let (Some(modes), Some(path)) = (parts.next(), parts.next()) {
            if modes.split(' ').nth(1) == Some(GITLINK) {
                return Err(refused(format!(
                    "{path} is a repository of its own: it cannot be committed"
                )));
            }
            files += 1;
        }
        Ok(files)
    }

    /// Merges the work of a task into what was accepted so far, or its base into its folder. Blocks.
    ///
    /// # Errors
    /// In the words of git.
    pub fn merge(&self, plan: &Plan, task: TaskId, checked: Option<&str>) -> Result<Merged, WorkError> {
        let base = self.resolve(&base_ref(task))?;
        let Ok(mine) = self.resolve(&commit_ref(task)) else {
            // It has done nothing that git follows.
            return Ok(Merged::Landed(Commit {
                id: base.clone().into(),
                files: 0,
                onto: base.into(),
            }));
        };
        let tree = self.tree_of(&mine)?;
        let files = self.files_between(&base, &tree)?;
        let landed = |id: &str| {
            let (id, onto) = (id.into(), base.clone().into());
            Merged::Landed(Commit { id, files, onto })
        };
        loop {
            let tip = self.resolve(MAIN)?;
            // It has landed before the session that did it was killed.
            if self.comes_before(&mine, &tip) {
                return Ok(landed(&tip));
            }
            // Only what comes from all that was accepted, and was checked with it, may take its place.
            if checked != Some(&*tip) || !self.comes_before(&tip, &mine) {
                return self.rebase(plan, task, (&base, &mine), &tip);
            }
            if tree == self.tree_of(&tip)? {
                return Ok(landed(&tip));
            }
            let id = self.commit_tree(plan, task, &tree, &[&tip])?;
            self.set(&commit_ref(task), &id, None)?;
            // Another merge of this run may have moved it meanwhile: then it is merged anew.
            if self.set(MAIN, &id, Some(&tip)).is_ok() {
                // Should the task be done again, that begins with this.
                self.set(&base_ref(task), &id, None)?;
                return Ok(landed(&id));
            }
            self.set(&commit_ref(task), &mine, None)?;
        }
    }

    /// Whether a commit is another one or comes before it.
    fn comes_before(&self, commit: &str, other: &str) -> bool {
        run(self.git().args(["merge-base", "--is-ancestor", commit, other])).is_ok()
    }

    /// Others were accepted meanwhile: the work on top of theirs, in the task's folder, with marks where both changed the
    /// same.
    fn rebase(
        &self,
        plan: &Plan,
        task: TaskId,
        (base, mine): (&str, &str),
        tip: &str,
    ) -> Result<Merged, WorkError> {
        let merge = [
            "merge-tree",
            "--write-tree",
            "--name-only",
            "--no-messages",
            "-z",
            tip,
            mine,
        ];
        let output = output(self.git().args(merge))?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut parts = said
            .split('\0')
            .filter(|part| !part.is_empty())
            .map(str::to_owned);
        let tree = parts.next().unwrap_or_default();
        match output.status.code() {
            Some(0) => {
                let id = self.commit_tree(plan, task, &tree, &[tip])?;
                self.check_out(task, &tree)?;
                self.set(&commit_ref(task), &id, Some(mine))?;
                self.set(&base_ref(task), tip, Some(base))?;
                Ok(Merged::Candidate {
                    commit: id.into(),
                    onto: tip.into(),
                })
            }
            Some(1) => {
                let mut files: Vec<String> = parts.collect();
                files.truncate(MOST_NAMED);
                let log = ["log", "--format=%s", &format!("{base}..{tip}"), "--"];
                let with = text(run(self.git().args(log).args(&files))?);
                self.check_out(task, &tree)?;
                self.set(&base_ref(task), tip, Some(base))?;
                Ok(Merged::Conflict {
                    files,
                    with: with.lines().take(MOST_NAMED).map(str::to_owned).collect(),
                })
            }
            _ => Err(failed(&output)),
        }
    }

    /// Brings what was accepted into the user's repository, as a reference of its own, and moves the branch where that is
    /// wanted and can be done without touching anything of theirs. Blocks.
    ///
    /// # Errors
    /// In the words of git.
    pub fn deliver(&self, workspace: &Path, merge: &MergeInto) -> Result<Delivered, WorkError> {
        let user = User::open(workspace)?;
        let (start, main) = (self.resolve(START)?, self.resolve(MAIN)?);
        if start == main {
            return Ok(Delivered::Nothing);
        }
        let name = format!("refs/quorum/{}/main", self.run);
        let fetch = ["fetch", "-q", "--no-tags", "--no-write-fetch-head"];
        let all = format!("+{MAIN}:{name}");
        let of_tasks = format!("+refs/quorum/task/*:refs/quorum/{}/task/*", self.run);
        run(user
            .git()
            .args(fetch)
            .arg(self.repository())
            .args([all, of_tasks]))?;
        let commits = text(run(user.git().args([
            "rev-list",
            "--count",
            &format!("{start}..{main}"),
        ]))?);
        let commits = commits.parse().unwrap_or(0);
        let head = user.head()?;
        if head == main {
            return Ok(Delivered::Moved { commits });
        }
        let moved = match (merge, user.clean_head()) {
            (MergeInto::Never, _) => Err(None),
            (MergeInto::Branch(branch), _) => user.move_branch(branch, &main).map_err(Some),
            (MergeInto::FastForward, Ok(_)) if head != start => {
                Err(Some("your branch has moved since the run began".to_owned()))
            }
            (MergeInto::FastForward, Ok(_)) => {
                let merged = run(user.git().args(["merge", "-q", "--ff-only", &name]));
                merged.map(drop).map_err(|why| Some(why.to_string()))
            }
            (MergeInto::FastForward, Err(why)) => Err(Some(why.to_string())),
        };
        let why = match moved {
            Ok(()) => return Ok(Delivered::Moved { commits }),
            Err(why) => why,
        };
        Ok(Delivered::Waits { commits, name, why })
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

    fn commit_tree(
        &self,
        plan: &Plan,
        task: TaskId,
        tree: &str,
        parents: &[&str],
    ) -> Result<String, WorkError> {
        let work = plan.task(task);
        let agent = &plan.agent(work.agent).name;
        let message = format!("{}\n\nquorum-run: {}", work.title, self.run);
        let git = self.git().args(["commit-tree", tree, "-m", &message]);
        let git = parents.iter().fold(git, |git, parent| git.args(["-p", parent]));
        let git = git
            .env("GIT_AUTHOR_NAME", agent.as_ref())
            .env("GIT_AUTHOR_EMAIL", "agent@quorum.invalid");
        let git = git
            .env("GIT_COMMITTER_NAME", "quorum")
            .env("GIT_COMMITTER_EMAIL", "quorum@quorum.invalid");
        Ok(text(run(git)?))
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

/// What became of what was accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delivered {
    /// Nothing was changed.
    Nothing,
    /// The branch has it.
    Moved {
        /// How many commits.
        commits: u32,
    },
    /// It waits to be merged.
    Waits {
        /// How many commits.
        commits: u32,
        /// The reference to merge.
        name: String,
        /// Why the branch was not moved, where that was wanted.
        why: Option<String>,
    },
}

/// The repository that agents work on.
struct User {
    top: PathBuf,
}

impl User {
    fn open(workspace: &Path) -> Result<Self, WorkError> {
        let version = text(run(Git::new().arg("--version")).map_err(|why| {
            refused(format!(
                "isolation: worktree needs git, which cannot be run: {why}"
            ))
        })?);
        if !is_new_enough(&version) {
            return Err(refused(format!(
                "isolation: worktree needs git 2.38 or newer, this is {version}"
            )));
        }
        let top = run(Git::new().at(workspace).args(["rev-parse", "--show-toplevel"]));
        let top = top.map(text).ok().and_then(|top| std::fs::canonicalize(top).ok());
        let here = std::fs::canonicalize(workspace)?;
        if top.as_deref() != Some(here.as_path()) {
            let place = workspace.display();
            return Err(refused(match top {
                None => format!(
                    "isolation: worktree needs a git repository, and {place} is none: `git init` makes one"
                ),
                Some(top) => format!(
                    "isolation: worktree needs the top of a repository as its workspace, and {place} lies within {}",
                    top.display()
                ),
            }));
        }
        Ok(Self { top: here })
    }

    fn git(&self) -> Git {
        Git::new().at(&self.top)
    }

    fn head(&self) -> Result<String, WorkError> {
        let head = run(self.git().args(["rev-parse", "--verify", "-q", "HEAD"]));
        let none =
            |_| refused("isolation: worktree needs a commit to begin with, and the repository has none");
        Ok(text(head.map_err(none)?))
    }

    /// The commit that is checked out, where no file that git follows differs from it.
    fn clean_head(&self) -> Result<String, WorkError> {
        let head = self.head()?;
        let modules = run(self.git().args(["ls-files", "-s", "--", "*"]))?;
        let is_module = |line: &&str| line.starts_with(GITLINK);
        if let Some(module) = String::from_utf8_lossy(&modules.stdout).lines().find(is_module) {
            let path = module.split('\t').nth(1).unwrap_or(module);
            return Err(refused(format!(
                "isolation: worktree knows no submodules, and {path} is one"
            )));
        }
        let status = [
            "status",
            "--porcelain",
            "--untracked-files=no",
            "--ignore-submodules=none",
        ];
        let changed = text(run(self.git().args(status))?);
        if let Some(first) = changed.lines().next() {
            let more = match changed.lines().count() {
                1 => String::new(),
                all => format!(" and {} more", all - 1),
            };
            return Err(refused(format!(
                "the repository has changes that are not committed: {}{more}; commit or stash them",
                first.get(3..).unwrap_or(first)
            )));
        }
        Ok(head)
    }

    /// Makes a branch, or moves one forward that is not checked out.
    fn move_branch(&self, branch: &str, to: &str) -> Result<(), String> {
        let forward = run(self.git().args(["branch", "-q", branch, to]));
        let Err(_) = forward else {
            return Ok(());
        };
        let refspec = format!("{to}:refs/heads/{branch}");
        let moved = run(self
            .git()
            .args(["fetch", "-q", "--no-write-fetch-head", ".", &refspec]));
        moved
            .map(drop)
            .map_err(|why| format!("branch {branch} cannot be moved: {why}"))
    }

    fn objects(&self) -> Result<PathBuf, WorkError> {
        let path = text(run(self.git().args(["rev-parse", "--git-path", "objects"]))?);
        Ok(std::fs::canonicalize(self.top.join(path))?)
    }
}

/// `git version 2.47.1` and the like.
fn is_new_enough(version: &str) -> bool {
    let number = version
        .rsplit(' ')
        .find(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    let mut parts = number
        .unwrap_or_default()
        .split('.')
        .map(|part| part.parse().unwrap_or(0u32));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0)) >= (2, 38)
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

/// A call of the git program, by nobody's settings but those of the repository.
struct Git(Command);

impl Git {
    fn new() -> Self {
        let mut command = Command::new("git");
        command.env_clear();
        let kept = ["PATH", "HOME", "TMPDIR"];
        command.envs(
            kept.iter()
                .filter_map(|name| Some((name, std::env::var_os(name)?))),
        );
        command.envs([
            ("LC_ALL", "C"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ]);
        command.envs([("GIT_TERMINAL_PROMPT", "0"), ("GIT_OPTIONAL_LOCKS", "0")]);
        command.args([
            "-c",
            "core.hooksPath=/dev/null",
            "-c",
            "core.fsmonitor=false",
            "-c",
            "gc.auto=0",
        ]);
        command.args(["-c", "safe.directory=*", "-c", "advice.detachedHead=false"]);
        Self(command)
    }

    fn at(mut self, folder: &Path) -> Self {
        self.0.current_dir(folder);
        self
    }

    fn in_repository(self, repository: &Path) -> Self {
        self.env("GIT_DIR", repository)
    }

    fn env(mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) -> Self {
        self.0.env(name, value);
        self
    }

    fn arg(mut self, argument: impl AsRef<std::ffi::OsStr>) -> Self {
        self.0.arg(argument);
        self
    }

    fn args<A: AsRef<std::ffi::OsStr>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.0.args(arguments);
        self
    }
}

fn output(mut git: Git) -> Result<Output, WorkError> {
    git.0
        .stdin(std::process::Stdio::null())
        .output()
        .map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => refused("there is no program `git`"),
            _ => refused(format!("git cannot be run: {error}")),
        })
}

fn run(git: Git) -> Result<Output, WorkError> {
    let output = output(git)?;
    match output.status.success() {
        true => Ok(output),
        false => Err(failed(&output)),
    }
}

fn failed(output: &Output) -> WorkError {
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.trim().lines().last().unwrap_or("it says nothing").to_owned();
    refused(format!("git ended with {}: {said}", output.status))
}

fn text(output: Output) -> String {
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

fn refused(why: impl Into<std::borrow::Cow<'static, str>>) -> WorkError {
    WorkError::Refused(why.into())
}
