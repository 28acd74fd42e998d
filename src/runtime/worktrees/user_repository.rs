//! The repository of the user: read when a run begins, and written to once, at its end.

use std::path::{Path, PathBuf};

use crate::executor::error::WorkError;
use crate::mission::model::MergeInto;

use super::git::{Git, refused, run, text};
use super::merge::leads_out;
use super::{BOUNDS, GITLINK, LINK, MAIN, START, Worktrees};

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
pub(super) struct User {
    top: PathBuf,
}

impl User {
    pub(super) fn open(workspace: &Path) -> Result<Self, WorkError> {
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
    pub(super) fn clean_head(&self) -> Result<String, WorkError> {
        let head = self.head()?;
        let files = run(self.git().args(["ls-files", "-s", "-z"]))?;
        for line in String::from_utf8_lossy(&files.stdout).split('\0') {
            self.check_file(line)?;
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

    /// Whether one that git follows can be in a worktree, by its line in the index.
    fn check_file(&self, line: &str) -> Result<(), WorkError> {
        let path = line.split('\t').nth(1).unwrap_or(line);
        if line.starts_with(GITLINK) {
            return Err(refused(format!(
                "isolation: worktree knows no submodules, and {path} is one"
            )));
        }
        if !line.starts_with(LINK) {
            return Ok(());
        }
        let place = self.top.join(path);
        let target = std::fs::read_link(&place).map_err(WorkError::file("read the link", &place))?;
        match leads_out(path, &target.to_string_lossy()) {
            true => Err(refused(format!(
                "isolation: worktree needs links that stay in the repository, and {path} is a link to {}, which lies \
                 outside of the repository",
                target.display()
            ))),
            false => Ok(()),
        }
    }

    /// Makes a branch, or moves one forward that is not checked out.
    fn move_branch(&self, branch: &str, to: &str) -> Result<(), WorkError> {
        if run(self.git().args(["branch", "-q", branch, to])).is_ok() {
            return Ok(());
        }
        let refspec = format!("{to}:refs/heads/{branch}");
        let forward = ["fetch", "-q", "--no-write-fetch-head", ".", &refspec];
        let moved = run(self.git().args(forward)).map(drop);
        moved.map_err(|why| refused(format!("branch {branch} cannot be moved: {why}")))
    }

    /// How its objects are named.
    pub(super) fn object_format(&self) -> Result<String, WorkError> {
        Ok(text(run(self.git().args(["rev-parse", "--show-object-format"]))?))
    }

    /// The file that says where its history is cut, if it is.
    pub(super) fn bounds(&self) -> Result<Option<PathBuf>, WorkError> {
        let path = text(run(self.git().args(["rev-parse", "--git-path", BOUNDS]))?);
        Ok(Some(self.top.join(path)).filter(|path| path.exists()))
    }

    pub(super) fn objects(&self) -> Result<PathBuf, WorkError> {
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

impl Worktrees {
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
            (MergeInto::Branch(branch), _) => user
                .move_branch(branch, &main)
                .map_err(|why| Some(why.to_string())),
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

    /// Removes the references of the run, but for what was accepted and is on no branch, which is named.
    pub(super) fn forget(&self) -> Result<Option<String>, WorkError> {
        let borrowed = self.repository().join("objects/info/alternates");
        let objects = std::fs::read_to_string(&borrowed).map_err(WorkError::file("read", &borrowed))?;
        let Some(repository) = Path::new(objects.lines().next().unwrap_or_default()).parent() else {
            return Ok(None);
        };
        let git = || Git::new().in_repository(repository);
        let main = format!("refs/quorum/{}/main", self.run);
        let list = ["for-each-ref", "--format=%(refname)"];
        let own = text(run(git().args(list).arg(format!("refs/quorum/{}/", self.run)))?);
        let mut kept = None;
        for name in own.lines() {
            let branches = ["for-each-ref", "--count=1", "--contains", name, "refs/heads"];
            if name == main && text(run(git().args(branches))?).is_empty() {
                kept = Some(main.clone());
                continue;
            }
            run(git().args(["update-ref", "-d", name]))?;
        }
        Ok(kept)
    }
}
