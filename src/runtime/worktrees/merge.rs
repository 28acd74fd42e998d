//! What a task did becomes a commit, and what was accepted is merged.

use std::collections::BTreeSet;
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::domain::TaskId;
use crate::engine::{Commit, Merged};
use crate::executor::error::WorkError;
use crate::mission::Plan;

use super::git::{failed, output, run, text};
use super::{GITLINK, LINK, MAIN, MOST_NAMED, Worktrees, base_ref, commit_ref};

/// Why there is no commit of what a task did.
#[derive(Debug, thiserror::Error)]
pub enum NotCommitted {
    /// What it did cannot be one, in words for its agent.
    #[error("{0}")]
    Work(String),
    /// Git or the disk does not do what it must: nothing that the agent could mend.
    #[error(transparent)]
    Git(#[from] WorkError),
}

/// What a task did, as it was committed.
#[derive(Debug)]
pub struct Work {
    /// The commit, and how much of it there is.
    pub commit: Commit,
    /// Every path that differs from what the task began with.
    pub changed: Vec<Changed>,
}

/// A path that differs between two trees.
#[derive(Debug)]
pub struct Changed {
    /// Seen from the top of the repository.
    pub path: String,
    /// What became of it, as a verb with a subject before it.
    pub what: &'static str,
}

/// What differs between two trees.
#[derive(Debug, Default)]
struct Difference {
    changed: Vec<Changed>,
    insertions: u32,
    deletions: u32,
}

impl Difference {
    fn commit(&self, id: &str, onto: &str) -> Commit {
        let paths = self.changed.iter().map(|changed| changed.path.as_str().into());
        Commit {
            id: id.into(),
            files: self.changed.len().try_into().unwrap_or(u32::MAX),
            insertions: self.insertions,
            deletions: self.deletions,
            paths: paths.take(MOST_NAMED).collect(),
            onto: onto.into(),
        }
    }
}

impl Worktrees {
    /// Commits what lies in the folder of a task. Blocks.
    ///
    /// # Errors
    /// Why there is no commit.
    pub fn commit(&self, plan: &Plan, task: TaskId) -> Result<Work, NotCommitted> {
        let base = self.resolve(&base_ref(task))?;
        let before = self.resolve(&commit_ref(task)).ok();
        let last = before.as_deref().unwrap_or(&base);
        self.restore(plan, task, last)?;
        self.add_all(task)?;
        let tree = text(run(self.within(task)?.arg("write-tree"))?);
        let difference = self.difference(&base, &tree)?;
        let work = |id: &str| Work {
            commit: difference.commit(id, &base),
            changed: Vec::new(),
        };
        let work = match self.tree_of(last)? == tree {
            true => work(last),
            false => {
                // Behind a conflict its folder has what others did as well: that is where the work comes from, too.
                let knows_base = self.comes_before(&base, last);
                let parents = [last, base.as_str()];
                let parents = if knows_base { &parents[..1] } else { &parents[..] };
                let id = self.commit_tree(plan, task, &tree, parents)?;
                self.set(&commit_ref(task), &id, before.as_deref())?;
                work(&id)
            }
        };
        Ok(Work {
            changed: difference.changed,
            ..work
        })
    }

    /// Has git follow all that lies in the folder of a task, but for what it ignores.
    fn add_all(&self, task: TaskId) -> Result<(), NotCommitted> {
        let added = output(self.within(task)?.args(["add", "-A", "."]))?;
        if added.status.success() {
            return Ok(());
        }
        // `git init` in a subfolder, without a commit.
        let said = String::from_utf8_lossy(&added.stderr).into_owned();
        let nested = said.lines().find_map(|line| {
            let path = line.strip_prefix("error: '")?;
            path.strip_suffix("/' does not have a commit checked out")
        });
        Err(nested.map_or_else(
            || NotCommitted::Git(failed(&added)),
            |path| NotCommitted::Work(own_repository(path)),
        ))
    }

    /// What differs between two trees, none of which is another repository or leads out of this one.
    fn difference(&self, base: &str, tree: &str) -> Result<Difference, NotCommitted> {
        let arguments = [
            "diff-tree",
            "-r",
            "--raw",
            "--numstat",
            "--no-renames",
            "--no-abbrev",
            "-z",
        ];
        let said = run(self.git().args(arguments).args([base, tree]))?;
        let said = String::from_utf8_lossy(&said.stdout);
        let mut found = Difference::default();
        let mut parts = said.split('\0');
        while let Some(part) = parts.next().filter(|part| !part.is_empty()) {
            let Some(raw) = part.strip_prefix(':') else {
                // Lines of what is no text are not counted.
                let mut numbers = part.splitn(3, '\t').map(|number| number.parse().unwrap_or(0));
                found.insertions += numbers.next().unwrap_or(0);
                found.deletions += numbers.next().unwrap_or(0);
                continue;
            };
            let path = parts.next().unwrap_or_default();
            let mut words = raw.split(' ').skip(1);
            let (mode, blob) = (words.next(), words.nth(1));
            match (mode, blob) {
                (Some(GITLINK), _) => return Err(NotCommitted::Work(own_repository(path))),
                (Some(LINK), Some(blob)) => self.stays_within(path, blob)?,
                _ => {}
            }
            let what = match raw.chars().next_back() {
                Some('A') => "appeared",
                Some('D') => "is gone",
                _ => "was changed",
            };
            found.changed.push(Changed {
                path: path.to_owned(),
                what,
            });
        }
        Ok(found)
    }

    /// Whoever follows a link must not be led out of the repository.
    fn stays_within(&self, path: &str, blob: &str) -> Result<(), NotCommitted> {
        let target = run(self.git().args(["cat-file", "blob", blob]))?.stdout;
        let target = String::from_utf8_lossy(&target);
        match leads_out(path, &target) {
            true => Err(NotCommitted::Work(format!(
                "{path} is a link to {target}, which lies outside of the repository"
            ))),
            false => Ok(()),
        }
    }

    /// Merges the work of a task into what was accepted so far, or what was accepted into its folder; `checked`: on what its
    /// checks have passed. What they have left there is part of the work. Blocks.
    ///
    /// # Errors
    /// In the words of git.
    pub fn merge(&self, plan: &Plan, task: TaskId, checked: Option<&str>) -> Result<Merged, WorkError> {
        self.undo_broken_off(task)?;
        let work = match self.commit(plan, task) {
            Ok(work) => work.commit,
            Err(NotCommitted::Work(why)) => return Ok(Merged::Refused(why)),
            Err(NotCommitted::Git(why)) => return Err(why),
        };
        let (base, mine) = (&*work.onto, &*work.id);
        let landed = |id: &str| {
            Merged::Landed(Commit {
                id: id.into(),
                ..work.clone()
            })
        };
        let tree = self.tree_of(mine)?;
        if let Some(path) = self.ignored_target(plan, task, &tree)? {
            return Ok(Merged::Refused(format!(
                "{path} is ignored by git, so that it would be no part of what is merged"
            )));
        }
        // It has done nothing that git follows.
        if mine == base {
            return Ok(landed(mine));
        }
        loop {
            let tip = self.resolve(MAIN)?;
            // It has landed before the session that did it was killed.
            if self.comes_before(mine, &tip) {
                return Ok(landed(mine));
            }
            // Only what comes from all that was accepted, and was checked with it, may take its place.
            if checked != Some(&*tip) || !self.comes_before(&tip, mine) {
                return self.rebase(plan, task, (base, mine), &tip);
            }
            if tree == self.tree_of(&tip)? {
                return Ok(landed(&tip));
            }
            let id = self.commit_tree(plan, task, &tree, &[&tip])?;
            self.set(&commit_ref(task), &id, None)?;
            // Another merge of this run may have moved it meanwhile: then it is merged anew.
            if self.set(MAIN, &id, Some(&tip)).is_ok() {
                return Ok(landed(&id));
            }
            self.set(&commit_ref(task), mine, None)?;
        }
    }

    /// A file that the task was to make, that is there, and that git does not follow.
    fn ignored_target(&self, plan: &Plan, task: TaskId, tree: &str) -> Result<Option<String>, WorkError> {
        let (root, workspace) = (self.folder(task), plan.workspace_of(task));
        let inner = workspace.strip_prefix(&root).unwrap_or(Path::new(""));
        let targets = plan.task(task).target_files.iter();
        let targets = targets.map(|target| inner.join(target.as_ref()));
        let there: Vec<PathBuf> = targets.filter(|path| root.join(path).is_file()).collect();
        if there.is_empty() {
            return Ok(None);
        }
        let list = ["ls-tree", "-r", "-z", "--name-only", "--full-tree", tree, "--"];
        let followed = run(self.git().args(list).args(&there))?;
        let followed = String::from_utf8_lossy(&followed.stdout);
        let followed: BTreeSet<&Path> = followed.split('\0').map(Path::new).collect();
        let lost = there
            .iter()
            .find(|path| !followed.contains(plain(path).as_path()));
        Ok(lost.map(|path| path.display().to_string()))
    }

    /// Whether a commit is another one or comes before it.
    pub(super) fn comes_before(&self, commit: &str, other: &str) -> bool {
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
        let merge = ["merge-tree", "--write-tree", "--name-only", "--no-messages", "-z"];
        let output = output(self.git().args(merge).args([tip, mine]))?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut parts = said
            .split('\0')
            .filter(|part| !part.is_empty())
            .map(str::to_owned);
        let tree = parts.next().unwrap_or_default();
        match output.status.code() {
            Some(0) => {
                let id = self.commit_tree(plan, task, &tree, &[tip])?;
                self.begin_merge(task)?;
                self.set(&base_ref(task), tip, Some(base))?;
                self.check_out(&self.folder(task), &tree)?;
                self.set(&commit_ref(task), &id, Some(mine))?;
                self.end_merge(task)?;
                match self.difference(tip, &tree) {
                    Ok(difference) => Ok(Merged::Candidate(difference.commit(&id, tip))),
                    Err(NotCommitted::Work(why)) => Ok(Merged::Refused(why)),
                    Err(NotCommitted::Git(why)) => Err(why),
                }
            }
            Some(1) => {
                let mut files: Vec<String> = parts.collect();
                files.truncate(MOST_NAMED);
                let log = ["log", "--format=%s", &format!("{base}..{tip}"), "--"];
                let with = text(run(self.git().args(log).args(&files))?);
                // Until its agent has worked on it again, what lies there is not its work.
                self.begin_merge(task)?;
                self.set(&base_ref(task), tip, Some(base))?;
                self.check_out(&self.folder(task), &tree)?;
                Ok(Merged::Conflict {
                    files,
                    with: with.lines().take(MOST_NAMED).map(str::to_owned).collect(),
                })
            }
            _ => Err(failed(&output)),
        }
    }

    /// A merge changes the folder of a task.
    fn begin_merge(&self, task: TaskId) -> Result<(), WorkError> {
        let mark = self.merge_mark(task);
        std::fs::write(&mark, "").map_err(WorkError::file("write", &mark))
    }

    /// What lies in the folder of a task is its work.
    pub(super) fn end_merge(&self, task: TaskId) -> Result<(), WorkError> {
        let mark = self.merge_mark(task);
        match std::fs::remove_file(&mark) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(WorkError::file("remove", &mark)(error))
            }
            _ => Ok(()),
        }
    }

    /// A merge that was killed, or whose conflict nobody has recorded, is begun anew, with what the task had committed.
    fn undo_broken_off(&self, task: TaskId) -> Result<(), WorkError> {
        if self.merge_mark(task).exists() {
            let mine = self.resolve(&commit_ref(task))?;
            self.check_out(&self.folder(task), &mine)?;
        }
        self.end_merge(task)
    }

    fn merge_mark(&self, task: TaskId) -> PathBuf {
        self.beside(task, "merging")
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
}

fn own_repository(path: &str) -> String {
    format!("{path} is a repository of its own: remove its `.git`")
}

/// A path without `.`, as git names it.
fn plain(path: &Path) -> PathBuf {
    path.components()
        .filter(|part| *part != Component::CurDir)
        .collect()
}

/// Whether a link at a path of the repository leads out of it, by its words.
pub(super) fn leads_out(path: &str, target: &str) -> bool {
    let folder = Path::new(path).parent().unwrap_or(Path::new(""));
    let mut depth = 0u32;
    for part in folder.join(target).components() {
        match part {
            Component::CurDir => {}
            Component::Normal(_) => depth += 1,
            Component::ParentDir if depth > 0 => depth -= 1,
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return true,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::leads_out;

    #[test]
    fn a_link_leads_out_by_its_words() {
        for (path, target) in [
            ("a", "/etc/passwd"),
            ("a", ".."),
            ("a/b", "../../x"),
            ("a", "b/../../x"),
        ] {
            assert!(leads_out(path, target), "{path} -> {target}");
        }
        for (path, target) in [
            ("a", "b"),
            ("a/b", "../x"),
            ("a/b/c", "../../x/y"),
            ("a", "./b/../c"),
        ] {
            assert!(!leads_out(path, target), "{path} -> {target}");
        }
    }
}
