//! What tests that the work of a task changed are looked at by: trees of what it began with and of what it left, and folders in
//! which tests of one lie over the other (semantics, section 24).
//!
//! The folders lie in one of their own and are removed behind each look. Trees of the workspace itself are taken into a repository
//! of ours that borrows the objects of the user's, by an index of ours: what the user has is only read.

use std::fs;
use std::path::{Path, PathBuf};

use crate::executor::error::WorkError;
use rules::domain::TaskId;
use rules::engine::Look;
use rules::judging::tests_changed::{TestPatterns, TouchedTests};
use rules::plan::Plan;

use super::Worktrees;
use super::creation::{copy, exclude, make, remove};
use super::difference::MOST_NAMED;
use super::git::{self, Git, entries, refused};
use super::user_repository::User;
use crate::runtime::isolation::unfit_for_git::odd_file;

/// The folder of the folders of looks.
const LOOKS: &str = "looks";
/// The repository of trees of the workspace.
const WORKSPACE: &str = "workspace.git";
/// Paths of the workspace that are no work: the state folder.
const NO_WORK: &str = ":(exclude,top,glob)**/.polpo/**";
/// The cache in which runners keep tests by time and size, which may be those of another one.
const CACHE: &str = "__pycache__";

/// The trees before and after the work, of which a look puts the tests of one over the other.
#[derive(Debug, Clone)]
pub struct Sides {
    /// The tree, or commit, of what the task began with.
    pub base: String,
    /// The tree that the work left.
    pub work: String,
    /// The folder whose files that git ignores a look is made with.
    pub folder: PathBuf,
    /// Whether that is the workspace itself.
    pub is_shared: bool,
}

/// A path that differs between two trees.
struct Between {
    /// The mode and the object of the path in the first tree.
    old: String,
    /// The mode and the object of the path in the second tree.
    new: String,
    was_there: bool,
    path: String,
}

impl Worktrees {
    /// The worktrees of looks at tests: in the workspace itself, or in worktrees.
    pub fn of_looks(&self, is_shared: bool) -> Self {
        let bare = if is_shared { self.root.join(WORKSPACE) } else { self.repository() };
        Self { root: self.root.join(LOOKS), bare, ..self.clone() }
    }

    /// Where the folder of a look lies.
    pub fn place_of(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// The folder of the repository's objects.
    pub fn objects(&self) -> PathBuf {
        self.repository().join("objects")
    }

    /// Removes what a session that was killed left of its looks. Blocks.
    pub fn clear_looks(&self) -> Result<(), WorkError> {
        remove(&self.root.join(LOOKS))?;
        remove(&self.root.join(WORKSPACE).with_extension("index.lock"))
    }

    /// Removes the folders of looks, once there is nothing more to look at.
    pub fn end_looks(&self) -> Result<(), WorkError> {
        self.clear_looks()?;
        let trees = self.root.join(WORKSPACE);
        remove(&trees.with_extension("index"))?;
        remove(&trees)
    }

    /// Git in the workspace itself, by our own repository and index.
    fn in_workspace(&self, workspace: &Path) -> Git {
        let index = self.repository().with_extension("index");
        let git = self.git().env("GIT_WORK_TREE", workspace).indexed(&index);
        git.at(workspace)
    }

    /// The tree of all that lies in the workspace, but for what git ignores; `None` where it is no part of a repository. Blocks.
    ///
    /// # Errors
    /// Why git cannot take it.
    pub fn tree_of_workspace(&self, plan: &Plan) -> Result<Option<String>, WorkError> {
        let workspace = fs::canonicalize(&plan.rules.workspace)?;
        if git::folders_of(&workspace).is_empty() {
            return Ok(None);
        }
        // Nobody else writes to the index meanwhile.
        let _held = crate::locked(&self.accepted);
        let trees = self.of_looks(true);
        trees.begin_trees(plan, &workspace)?;
        let git = || trees.in_workspace(&workspace);
        if let Some(odd) = odd_file(|| Ok(git()), &workspace, plan.rules.worktrees.max_file)? {
            return Err(refused(odd));
        }
        git().run(["add", "-A", "--", ".", NO_WORK])?;
        Ok(Some(git().line(["write-tree"])?))
    }

    /// Makes the repository of such trees, if it is not there.
    fn begin_trees(&self, plan: &Plan, workspace: &Path) -> Result<(), WorkError> {
        let repository = self.repository();
        if repository.join(super::EXCLUDED).exists() {
            return Ok(());
        }
        let user = User::at(workspace, true)?;
        self.init_like(&user)?;
        // It comes last: with it there is all of it.
        exclude(plan, &user.excludes()?, &repository)
    }

    fn between(&self, from: &str, to: &str) -> Result<Vec<Between>, WorkError> {
        let differ = ["diff-tree", "-r", "--raw", "--no-renames", "--no-abbrev", "-z"];
        let said = self.git().args(differ).run([from, to])?;
        let parts: Vec<String> = entries(&said).collect();
        let pairs = parts.chunks_exact(2).filter_map(|pair| {
            let mut words = pair[0].strip_prefix(':')?.split(' ');
            let [old_mode, new_mode, old, new, how] =
                std::array::from_fn(|_| words.next().unwrap_or_default());
            Some(Between {
                old: format!("{old_mode} {old}"),
                new: format!("{new_mode} {new}"),
                was_there: how != "A",
                path: pair[1].clone(),
            })
        });
        Ok(pairs.collect())
    }

    /// The part of the difference between two trees that is about tests; `None` where there is none. Blocks.
    ///
    /// # Errors
    ///
    /// In the words of git.
    pub fn touched(
        &self,
        [from, to]: [&str; 2],
        patterns: &TestPatterns,
    ) -> Result<Option<TouchedTests>, WorkError> {
        let all = self.between(from, to)?;
        Ok(patterns.touched(all.iter().map(|found| (&*found.path, found.was_there))))
    }

    /// Makes the folder of a look: the work as it is, or with the tests of one side over the other. The tests that were put in the
    /// place of others. Blocks.
    ///
    /// # Errors
    /// In the words of git, or of the system.
    pub fn lay_out(
        &self,
        (plan, task): (&Plan, TaskId),
        name: &str,
        sides: &Sides,
        look: Option<Look>,
    ) -> Result<Vec<Box<str>>, WorkError> {
        self.remove_folder(name)?;
        let folder = self.root.join(name);
        make(&folder)?;
        let patterns = TestPatterns::of(plan, task);
        let (mut lines, mut files) = (String::new(), Vec::new());
        for found in self.between(&sides.base, &sides.work)? {
            let over = match look {
                Some(Look::Old) if found.was_there => &found.old,
                Some(Look::New) => &found.new,
                Some(Look::Old) | None => continue,
            };
            if patterns.is_test(&found.path) {
                lines += &format!("{over}\t{}\0", found.path);
                files.push(found.path.into());
            }
        }
        let under = match look {
            Some(Look::New) => &sides.base,
            Some(Look::Old) | None => &sides.work,
        };
        let list = folder.with_extension("list");
        fs::write(&list, lines).map_err(WorkError::file("write", &list))?;
        let git = || self.git().indexed(&folder.with_extension("index"));
        git().run(["read-tree", under])?;
        let put = ["update-index", "--replace", "-z", "--index-info"];
        git().reading(&list).run(put)?;
        let tree = git().line(["write-tree"])?;
        remove(&list)?;
        self.bring_ignored(sides, &folder)?;
        let commit = self.commit_tree(plan, task, &tree, &[])?;
        self.check_out_anew(plan, name, &commit, "quorum")?;
        files.truncate(MOST_NAMED);
        Ok(files)
    }

    /// Copies what git ignores where the work lies.
    fn bring_ignored(&self, sides: &Sides, folder: &Path) -> Result<(), WorkError> {
        let git = if sides.is_shared { self.in_workspace(&sides.folder) } else { self.at(&sides.folder)? };
        let list = ["ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"];
        let state = fs::canonicalize(self.state_folder())?;
        let is_left_out = |path: &Path| {
            path.ends_with(CACHE) || path.is_dir() && fs::canonicalize(path).is_ok_and(|path| path == state)
        };
        for path in entries(&git.run(list)?) {
            let path = path.trim_end_matches('/');
            copy(&sides.folder.join(path), &folder.join(path), &is_left_out)?;
        }
        Ok(())
    }
}
