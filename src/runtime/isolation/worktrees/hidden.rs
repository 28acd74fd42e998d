//! What hidden checks keep out of the folders of workers, and how such a check sees it all the same (semantics, section 24).
//!
//! No folder that anybody works or looks in has the files, and its repository has one commit without them. A hidden check runs in a
//! copy of the folder that has them, which nobody else sees and which is gone with it: what it wrote there is nobody's to read.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::executor::error::WorkError;
use crate::executor::runner::CommandRequest;
use rules::plan::HiddenFiles;
use supervisor::files;

use super::creation::{copy, is_folder, make, remove, replace};
use super::git::Git;
use super::unmerged::LINK;
use super::{START, Worktrees};

/// A folder that is gone when this is dropped.
struct Gone(PathBuf);

impl Drop for Gone {
    fn drop(&mut self) {
        // What stays is removed before the next such check, and with the run.
        let _ = remove(&self.0);
    }
}

/// Git that commits what is of no agent.
pub fn by_quorum(git: Git) -> Git {
    ["AUTHOR", "COMMITTER"].iter().fold(git, |git, who| {
        git.env(&format!("GIT_{who}_NAME"), "quorum")
            .env(&format!("GIT_{who}_EMAIL"), "quorum@quorum.invalid")
    })
}

impl Worktrees {
    /// Whether a path in the workspace is kept from workers.
    pub fn is_hidden(&self, path: &Path) -> bool {
        let hidden = self.hidden.iter();
        let mut inner = hidden.flat_map(|hidden| Some((hidden, path.strip_prefix(&hidden.workspace).ok()?)));
        inner.any(|(hidden, inner)| inner.to_str().is_some_and(|inner| hidden.inner.contains(inner)))
    }

    /// The entry of a file in the tree that the run began with, where git follows it: its mode and its name.
    fn begun_with(&self, path: &str) -> Result<Option<(String, String)>, WorkError> {
        if !is_folder(&self.repository()) {
            return Ok(None);
        }
        let listed = self.git().line(["ls-tree", "--full-tree", START, "--", path])?;
        let mut words = listed.split([' ', '\t']);
        Ok(words.next().map(str::to_owned).zip(words.nth(1).map(str::to_owned)))
    }

    /// Git with an index of its own for a folder, which has a tree but for the hidden files.
    fn aside(&self, folder: &Path, hidden: &HiddenFiles, tree: &str) -> Result<impl Fn() -> Git, WorkError> {
        let index = folder.with_extension("hidden");
        // It asks for a folder of files, and looks at none.
        let git = move || {
            let git = self.git().env("GIT_WORK_TREE", &self.root);
            git.indexed(&index).at(&self.root)
        };
        git().run(["read-tree", tree])?;
        if !hidden.inner.is_empty() {
            let remove = ["update-index", "--force-remove", "--"];
            git().args(remove).run(&hidden.inner)?;
        }
        Ok(git)
    }

    /// A tree without the hidden files, for a folder.
    pub fn without_hidden(&self, folder: &Path, tree: &str) -> Result<String, WorkError> {
        match &self.hidden {
            None => Ok(tree.to_owned()),
            Some(hidden) => self.aside(folder, hidden, tree)?().line(["write-tree"]),
        }
    }

    /// The tree of what lies in a folder with the hidden files as the run began with them, whatever lies in their places.
    pub fn with_hidden(&self, folder: &Path, tree: String) -> Result<String, WorkError> {
        let Some(hidden) = &self.hidden else {
            return Ok(tree);
        };
        let git = self.aside(folder, hidden, &tree)?;
        for path in &hidden.inner {
            if let Some((mode, id)) = self.begun_with(path)? {
                let entry = format!("{mode},{id},{path}");
                git().run(["update-index", "--add", "--replace", "--cacheinfo", &entry])?;
            }
        }
        git().line(["write-tree"])
    }

    /// Gives a repository one commit of what lies in a folder, without history, and all that this needs. `None`: nothing is hidden.
    pub fn alone(&self, folder: &Path, repository: &Path, commit: &str) -> Result<Option<String>, WorkError> {
        if self.hidden.is_none() {
            return Ok(None);
        }
        let tree = self.without_hidden(folder, commit)?;
        let id = self.commit_alone(&tree)?;
        self.pack(repository, &id)?;
        Ok(Some(id))
    }

    /// A commit of a tree that has no history.
    pub fn commit_alone(&self, tree: &str) -> Result<String, WorkError> {
        let git = by_quorum(self.git());
        git.line(["commit-tree", tree, "-m", "what the work begins with"])
    }

    /// Gives a repository a commit with its history, and all that this needs.
    pub fn pack(&self, repository: &Path, commit: &str) -> Result<(), WorkError> {
        let list = repository.join("list");
        replace(&list, &format!("{commit}\n"))?;
        let packs = repository.join("objects/pack");
        make(&packs)?;
        let git = Git::new().in_repository(repository).reads(self.repository());
        let git = git.env("GIT_ALTERNATE_OBJECT_DIRECTORIES", self.repository().join("objects"));
        let pack = git.args(["pack-objects", "-q", "--revs"]).reading(&list);
        pack.run([packs.join("pack")])?;
        remove(&list)
    }

    /// A hidden check that is to run in a folder, in a copy of it that has the hidden files. Blocks.
    ///
    /// # Errors
    /// Why there is no such copy: it belongs to the work.
    pub fn with_hidden_files(
        &self,
        root: &Path,
        request: &CommandRequest,
    ) -> Result<(PathBuf, impl Send + use<>), WorkError> {
        // Builds are kept by the path: it is the same in each attempt, and another for each check that may run beside it.
        let label = &*request.job().label;
        let ends = label.split_once('.').zip(label.rsplit_once('.'));
        let (of, check) = ends.map_or((label, ""), |((of, _), (_, check))| (of, check));
        let name = root.file_name().unwrap_or_default().to_string_lossy();
        let folder = self.root.join(format!("{name}-hidden-{of}-{check}"));
        remove(&folder)?;
        let gone = Gone(folder.clone());
        copy(root, &folder, &|_| false)?;
        if let Some(hidden) = &self.hidden {
            hidden.inner.iter().try_for_each(|path| self.place(hidden, &folder, path))?;
        }
        Ok((folder, gone))
    }

    /// Puts a hidden file where it belongs in a folder, instead of all that lies in its way.
    fn place(&self, hidden: &HiddenFiles, folder: &Path, inner: &str) -> Result<(), WorkError> {
        let path = folder.join(inner);
        let mut above: Vec<&Path> = path.ancestors().skip(1).take_while(|above| *above != folder).collect();
        above.reverse();
        for above in above {
            if !is_folder(above) {
                remove(above)?;
                fs::create_dir(above).map_err(WorkError::file("make", above))?;
            }
        }
        remove(&path)?;
        let source = hidden.workspace.join(inner);
        match self.begun_with(inner)? {
            None if source.is_file() => {
                files::copy_file(&source, &path).map_err(WorkError::file("copy to", &path))
            }
            None => Ok(()),
            Some((mode, id)) => {
                let bytes = self.git().run(["cat-file", "blob", &id])?.stdout;
                if mode == LINK {
                    let target = String::from_utf8_lossy(&bytes).into_owned();
                    return std::os::unix::fs::symlink(target, &path).map_err(WorkError::file("link", &path));
                }
                fs::write(&path, bytes).map_err(WorkError::file("write", &path))?;
                let access = if mode.ends_with("755") { 0o755 } else { 0o644 };
                let access = fs::Permissions::from_mode(access);
                fs::set_permissions(&path, access).map_err(WorkError::file("write", &path))
            }
        }
    }
}
