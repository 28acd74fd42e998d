//! What a task did becomes a commit, and what was accepted is merged.

use crate::domain::TaskId;
use crate::engine::{Commit, Merged};
use crate::executor::error::WorkError;
use crate::mission::Plan;

use super::git::{failed, output, run, text};
use super::{GITLINK, MAIN, MOST_NAMED, Worktrees, base_ref, commit_ref};

impl Worktrees {
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
