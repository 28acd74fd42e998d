//! The exchange: a bare repository by which folders are handed to other machines and brought home again, as commits.
//!
//! `refs/quorum/RUN/NAME/in` is what a command begins with, `…/out` what it has left. Both are one commit: its tree `w` is the folder, all but what git ignores, its tree `q` files that go with it. `out` lies on `in` and is pushed where nothing is; who
//! takes it goes by the commit that the accepted result names, so that what else lies there is nobody's. Files keep their bytes,
//! whatever attributes say.
//!
//! What comes from elsewhere was made by an agent. It is bounded while it is fetched, all that it names is looked at before any of
//! it is written, and it is refused in the words that the same work is refused in here.
//!
//! | file | what it has |
//! |---|---|
//! | `away` | the side of the worker: a folder is laid out, and handed back |
//! | `carried` | one commit of the exchange, read and looked at |
//! | `files` | the files that go with a folder |
//! | `home` | the side of the session: a folder is handed out, and brought home |
//! | `commit_trees` | what a tree from elsewhere has |
//! | `names` | commits and references by their names |

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::executor::error::WorkError;
use rules::domain::RunId;
use supervisor::files::no_links::scratch_folder;

use super::creation::{init, is_folder, make_parent, remove, replace};
use super::git::{Git, failed, refused};
use super::user_repository::FETCH;
use commit_trees::MOST_BYTES;

mod away;
mod carried;
mod commit_trees;
mod files;
mod home;
#[cfg(test)]
mod hostile_tests;
mod names;
#[cfg(test)]
mod tests;

pub use away::CheckedOut;
pub use files::{CarriedFile, CarriedFiles};
pub use names::{CarriedName, CommitId};

/// The most memory that git takes at once for what comes from elsewhere, in bytes; larger files it reads by parts.
const LARGEST_PIECE: &str = "1073741824";
/// Attributes that outweigh those of any tree: files keep their bytes.
const ATTRIBUTES: &str = "* -text !ident !filter !working-tree-encoding\n";
/// Where a repository has attributes that outweigh others.
const ATTRIBUTES_FILE: &str = "info/attributes";
/// What a repository of this machine is not to do because its configuration says so, when it is pushed to or fetched from.
const ALONE: &str = "git -c safe.directory=* -c core.hooksPath=/dev/null -c core.alternateRefsCommand=true -c receive.autogc=false";

/// A bare repository by which folders are handed over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum GitExchange {
    /// A folder that this machine reaches.
    Path(PathBuf),
    /// A repository of another machine.
    Url(String),
}

impl GitExchange {
    /// The exchange that a mission names: a path, relative to `folder`, or a URL (`https:`, `ssh:`, `HOST:PATH`).
    ///
    /// # Errors
    /// When it is a URL of another kind.
    pub fn of(text: &str, folder: &Path) -> Result<Self, WorkError> {
        let host = text.split_once(':').map(|(host, _)| host);
        let is_host =
            host.is_some_and(|host| !host.is_empty() && !host.contains('/') && !host.starts_with('-'));
        if ["https://", "ssh://"].iter().any(|kind| text.starts_with(kind)) {
            Ok(Self::Url(text.to_owned()))
        } else if text.is_empty() || text.contains("://") || text.contains("::") {
            Err(refused(format!(
                "the exchange is a path, or a URL that begins with https:// or ssh://, and '{text}' is neither"
            )))
        } else if is_host {
            Ok(Self::Url(text.to_owned()))
        } else {
            Ok(Self::Path(folder.join(text)))
        }
    }

    /// The exchange as git is told it.
    pub fn place(&self) -> String {
        match self {
            Self::Path(path) => path.display().to_string(),
            Self::Url(url) => url.clone(),
        }
    }

    /// Whether it can be reached and is bare, and can be written, as far as that can be told. Blocks.
    ///
    /// # Errors
    /// What it lacks, in words.
    pub fn check(&self) -> Result<(), WorkError> {
        let place = self.place();
        let lacks = |what: String| refused(format!("the exchange {place} {what}"));
        let unreachable = |why| lacks(format!("cannot be reached: {why}"));
        let path = match self {
            Self::Path(path) => path,
            Self::Url(url) => {
                let nowhere = scratch_folder()?;
                let git = Git::new().at(nowhere.path()).reaching(nowhere.path())?;
                return git.done(["ls-remote", "-q", "--", url, "refs/quorum/none"]).map_err(unreachable);
            }
        };
        let is_bare = ["rev-parse", "--is-bare-repository"];
        let is_bare = Git::new().in_repository(path).trusting().line(is_bare);
        if is_folder(&path.join(".git")) || is_bare.as_ref().is_ok_and(|is_bare| is_bare != "true") {
            return Err(lacks("is not bare: `git init --bare` makes one that is".to_owned()));
        }
        is_bare.map_err(unreachable)?;
        for part in ["objects", "refs"] {
            use rustix::fs::Access;
            rustix::fs::access(path.join(part), Access::WRITE_OK | Access::EXEC_OK)
                .map_err(|why| lacks(format!("cannot be written: {why}")))?;
        }
        Ok(())
    }

    /// Git in a repository of ours, which reaches the exchange.
    fn git(&self, repository: &Path) -> Result<Git, WorkError> {
        let git = Git::new().in_repository(repository).set("protocol.version", "2");
        match self {
            Self::Path(path) => Ok(git.pushing_to(path)),
            Self::Url(_) => git.reaching(repository),
        }
    }

    /// What a repository of this machine is reached by.
    fn by(&self, end: &str, program: &str) -> Option<String> {
        match self {
            Self::Path(_) => Some(format!("--{end}={ALONE} {end}")),
            Self::Url(_) => Some(format!("--{end}={program}")),
        }
    }

    /// Brings a commit into a repository of ours, with all that this needs. Blocks.
    ///
    /// # Errors
    /// In the words of git.
    fn fetch(&self, repository: &Path, commit: &CommitId) -> Result<(), WorkError> {
        let git = self.git(repository)?.env("GIT_ALLOC_LIMIT", LARGEST_PIECE).growing_at_most(MOST_BYTES);
        let git = git.args(FETCH).args(self.by("upload-pack", "git-upload-pack"));
        git.done([&self.place(), commit.as_str()])
    }

    /// Moves references of the exchange, by lines as `git push` reads them. `new` is one that must not be there.
    ///
    /// # Errors
    /// In the words of git, or that it is there.
    fn push(&self, repository: &Path, new: Option<&str>, lines: &[String]) -> Result<(), WorkError> {
        let git = self.git(repository)?.args(["push", "-q", "--no-verify", "--no-recurse-submodules"]);
        let git = git.args(self.by("receive-pack", "git-receive-pack"));
        let git = git.args(new.map(|new| format!("--force-with-lease={new}:")));
        let pushed = git.args([self.place()]).output(lines)?;
        if pushed.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&pushed.stderr);
        let is_there = ["(stale info)", "already exists"].iter().any(|word| said.contains(word));
        match new.filter(|_| is_there) {
            Some(new) => Err(refused(format!("the exchange has {new} already"))),
            None => Err(failed(&pushed)),
        }
    }

    /// Removes the references of a carried command, whichever of them are there. Blocks.
    ///
    /// # Errors
    /// In the words of git.
    pub fn forget(&self, repository: &Path, name: &CarriedName) -> Result<(), WorkError> {
        self.push(repository, None, &[name.given(), name.left()].map(|name| format!(":{name}")))?;
        remove(&repository.join(name.given()))
    }

    /// Removes all references of a run. Blocks.
    ///
    /// # Errors
    /// In the words of git.
    pub fn forget_run(&self, repository: &Path, run: &RunId) -> Result<(), WorkError> {
        let all = format!("refs/quorum/{run}/*");
        let git = self.git(repository)?.args(["ls-remote", "-q"]);
        let git = git.args(self.by("upload-pack", "git-upload-pack"));
        let listed = git.args(["--", &self.place()]).line([all])?;
        let names = listed.lines().filter_map(|line| line.split_once('\t'));
        let lines: Vec<String> = names.map(|(_, name)| format!(":{name}")).collect();
        if !lines.is_empty() {
            self.push(repository, None, &lines)?;
        }
        remove(&repository.join(format!("refs/quorum/{run}")))
    }
}

/// Makes a bare repository that takes files as they are, in one step.
fn init_exact(repository: &Path, format: &str, borrowed: &str) -> Result<(), WorkError> {
    if is_folder(repository) {
        return Ok(());
    }
    make_parent(repository)?;
    let above = repository.parent().unwrap_or(repository);
    let half = tempfile::tempdir_in(above).map_err(WorkError::file("make", repository))?;
    let half = half.keep();
    init(&half, format)?;
    for (name, text) in [(ATTRIBUTES_FILE, ATTRIBUTES), ("objects/info/alternates", borrowed)] {
        let path = half.join(name);
        make_parent(&path)?;
        replace(&path, text)?;
    }
    match std::fs::rename(&half, repository) {
        // Somebody else was first.
        Err(_) if is_folder(repository) => remove(&half),
        renamed => renamed.map_err(WorkError::file("make", repository)),
    }
}
