//! The folders that tasks work in, and where their files lie for whoever comes after them (semantics, section 22).

use std::path::PathBuf;

use crate::{
    domain::{AgentId, TaskId},
    mission::{model::Isolation, paths::place_in},
};

use super::model::Plan;

/// Where the files of a task lie for whoever comes after it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FilesIn {
    /// In the mission's workspace, or a folder of it.
    Workspace(Option<Box<str>>),
    /// Where everything lies together that was merged.
    Merged,
    /// In a folder that nobody else works in.
    Own(TaskId),
}

impl Plan {
    /// The name of the worktree in which all accepted work lies together, beside those of tasks.
    pub const MERGED: &str = "merged";

    /// Whether an agent may work on a task, or be asked about it: one with a `queue` where the task's folder can go to its workers, with
    /// all that is in it.
    pub fn reaches(&self, agent: AgentId, task: TaskId) -> bool {
        let folders = &self.rules.worktrees;
        let is_filled = !folders.copy.is_empty() || !folders.link.is_empty();
        let exchange = self.rules.workers.exchange.as_ref().filter(|_| !is_filled);
        let goes = || exchange.is_some() && self.task(task).isolation.is_carried();
        self.agent(agent).spec.queue.is_none() || goes()
    }

    /// The folder that a task works in, absolute: its worktree, or its part of the workspace.
    pub fn workspace_of(&self, id: TaskId) -> PathBuf {
        self.within(id, self.root_of(id))
    }

    /// The folder that stands for the workspace where a task works, absolute.
    pub fn root_of(&self, id: TaskId) -> PathBuf {
        let worktrees = self.rules.worktrees.root.as_ref();
        let worktrees = worktrees.filter(|_| self.task(id).is_isolated());
        worktrees.map_or_else(|| self.rules.workspace.clone(), |all| all.join(id.0.to_string()))
    }

    /// The folder in which accepted work of a task is looked at again: for an isolated one, where all that was accepted
    /// lies together.
    pub fn audited_workspace_of(&self, id: TaskId) -> PathBuf {
        let worktrees = self.rules.worktrees.root.as_ref();
        match worktrees.filter(|_| self.task(id).has_worktree()) {
            Some(all) => self.within(id, all.join(Self::MERGED)),
            None => self.workspace_of(id),
        }
    }

    /// The folder in which whoever judges task `by` finds the work of a task: for a verification in a worktree, in what was
    /// accepted when it began.
    pub fn workspace_seen_by(&self, by: TaskId, id: TaskId) -> PathBuf {
        if self.task(by).has_worktree() && self.task(id).has_worktree() {
            self.within(id, self.root_of(by))
        } else {
            self.workspace_of(id)
        }
    }

    /// The folder of the user that a task works in, or would work in if it were not isolated.
    pub fn shared_workspace_of(&self, id: TaskId) -> PathBuf {
        self.within(id, self.rules.workspace.clone())
    }

    fn within(&self, id: TaskId, root: PathBuf) -> PathBuf {
        match &self.task(id).workspace {
            Some(own) => root.join(own.as_ref()),
            None => root,
        }
    }

    /// Whether two tasks that work in the workspace itself work in one folder, or one of them in a folder of the other's.
    pub fn share_folder(&self, one: TaskId, other: TaskId) -> bool {
        if self.task(one).workspace == self.task(other).workspace {
            return true;
        }
        let [one, other] = [one, other].map(|id| self.shared_workspace_of(id));
        one.starts_with(&other) || other.starts_with(&one)
    }

    /// Where the files of a task lie for whoever comes after it.
    pub fn files_in(&self, id: TaskId) -> FilesIn {
        let task = self.task(id);
        match task.isolation {
            Isolation::Shared => FilesIn::Workspace(task.workspace.clone()),
            Isolation::Worktree => FilesIn::Merged,
            Isolation::Copy | Isolation::Temp => FilesIn::Own(id),
        }
    }

    /// Where a file of a task lies: equal for two tasks that name the same file.
    pub fn place(&self, id: TaskId, path: &str) -> String {
        let inner = place_in(self.task(id).workspace.as_deref().unwrap_or_default(), path);
        match self.files_in(id) {
            FilesIn::Workspace(_) => inner,
            FilesIn::Merged => format!("merged:{inner}"),
            FilesIn::Own(id) => format!("{}:{inner}", id.0),
        }
    }
}
