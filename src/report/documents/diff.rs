//! What a task in a folder of its own changed: `diff` and `folder` of a task in `quorum.run/v1`.

use schemars::JsonSchema;
use serde::Serialize;

use rules::{
    domain::{RunId, Status, TaskId},
    engine::State,
};

/// What the commit of a task in a worktree changed, held against what it lies on.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DiffRow<'a> {
    /// The name of the commit in git.
    commit: &'a str,
    /// The commit that it lies on.
    base: &'a str,
    /// The reference in your repository that has it once the session has ended.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    reference: Option<String>,
    /// The number of files that differ.
    files: u32,
    /// Lines that were added to them.
    insertions: u32,
    /// Lines that were taken from them.
    deletions: u32,
    /// The first of the files.
    paths: Vec<&'a str>,
    /// Whether the commit is part of what was accepted.
    merged: bool,
    /// Whether the task has ended without that.
    #[serde(skip)]
    is_left: bool,
}

impl<'a> DiffRow<'a> {
    pub fn of(state: &'a State, run: Option<&RunId>, id: TaskId) -> Option<Self> {
        let task = state.task(id);
        let committed = task.course.committed.as_deref()?;
        let commit = committed.commit.as_ref()?;
        Some(Self {
            commit: &commit.id,
            base: &commit.onto,
            reference: run.map(|run| format!("refs/quorum/{run}/task/{}", id.0)),
            files: commit.files,
            insertions: commit.insertions,
            deletions: commit.deletions,
            paths: commit.paths.iter().map(AsRef::as_ref).collect(),
            merged: committed.merged,
            is_left: task.status() == Status::Failed && !committed.merged,
        })
    }

    /// The size of the difference in words, and where the commit lies if it was not merged.
    pub fn words(&self) -> String {
        let Self { files, insertions, deletions, .. } = self;
        let size = match files {
            0 => return "changed nothing".to_owned(),
            1 => format!("changed 1 file, +{insertions} -{deletions}"),
            _ => format!("changed {files} files, +{insertions} -{deletions}"),
        };
        match &self.reference {
            _ if self.merged => format!("{size}, merged"),
            Some(name) if self.is_left => format!("{size}, not merged: {name}"),
            _ => size,
        }
    }

    /// The first of the files, and how many more there are.
    pub fn named(&self) -> Vec<String> {
        let more = (self.files as usize).saturating_sub(self.paths.len());
        let more = (more > 0).then(|| format!("and {more} more"));
        self.paths.iter().map(|path| (*path).to_owned()).chain(more).collect()
    }
}

/// The folder of a task that shares none with others, once the run has one for it.
pub fn folder(state: &State, id: TaskId) -> Option<String> {
    let is_own = state.plan.task(id).is_isolated() && state.plan.rules.worktrees.root.is_some();
    is_own.then(|| state.plan.root_of(id).to_string_lossy().into_owned())
}
