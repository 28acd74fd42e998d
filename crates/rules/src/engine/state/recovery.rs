//! What was tried about the dependencies of a task that failed (semantics, section 11).

use crate::domain::TaskId;
use crate::engine::event_payload::Way;

/// The recovery of a task from dependencies that failed.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DependencyRecovery {
    /// Dependencies that nothing stands in for yet.
    pub failed: Vec<FailedDependency>,
    /// The failed dependencies whose files are being looked at.
    pub scanning: Vec<TaskId>,
    /// Dependencies that the task does without.
    pub without: Vec<WaivedDependency>,
    /// How often the orchestrator was asked.
    pub resolutions: u32,
}

/// A dependency that failed, and what was tried about it.
#[derive(Debug, Clone, PartialEq)]
pub struct FailedDependency {
    pub dependency: TaskId,
    /// Whether the dependency's files were looked at.
    pub looked: bool,
    /// Why the orchestrator knew no way, in its words; `None` before it was asked.
    pub no_way: Option<Box<str>>,
}

/// A dependency that a task does without.
#[derive(Debug, Clone, PartialEq)]
pub struct WaivedDependency {
    pub dependency: TaskId,
    /// The way by which the task may go on without the dependency.
    pub way: Way,
    /// The words for the task's agent.
    pub note: String,
}

impl DependencyRecovery {
    /// The entry about a dependency; `None` where nothing was tried.
    pub fn entry(&self, dependency: TaskId) -> Option<&FailedDependency> {
        self.failed.iter().find(|entry| entry.dependency == dependency)
    }

    pub fn entry_mut(&mut self, dependency: TaskId) -> Option<&mut FailedDependency> {
        self.failed.iter_mut().find(|entry| entry.dependency == dependency)
    }

    /// A dependency failed for good.
    pub fn detected(&mut self, dependency: TaskId) {
        self.failed.push(FailedDependency { dependency, looked: false, no_way: None });
    }

    /// The files of a dependency were looked at.
    pub fn scanned(&mut self, dependency: TaskId) {
        self.scanning.retain(|id| *id != dependency);
        if let Some(entry) = self.entry_mut(dependency) {
            entry.looked = true;
        }
    }

    /// The task does without a dependency, or that is tried again.
    pub fn resolved(&mut self, dependency: TaskId, way: Way, note: &str) {
        self.forget(dependency);
        if way != Way::Retry {
            self.without.push(WaivedDependency { dependency, way, note: note.to_owned() });
        }
    }

    /// The dependency is tried again: nothing of what was tried about its failure holds.
    pub fn forget(&mut self, dependency: TaskId) {
        self.failed.retain(|entry| entry.dependency != dependency);
        self.scanning.retain(|id| *id != dependency);
    }
}
