//! What stands between a task and its agent, before the agent acts.

use crate::domain::TaskId;
use crate::judging::evidence_rules::is_watched;
use crate::judging::tests_changed;
use crate::mission::model::Input;
use crate::plan::{ApprovalPlan, TaskPlan};

use super::State;
use super::attempt::Committed;
use super::task::TaskState;

impl TaskState {
    /// Whether a person must let the agent act again first (section 5, side effects).
    pub(crate) fn must_be_allowed(&self, plan: &TaskPlan) -> bool {
        plan.side_effects && self.consent.acted && !self.consent.allowed_again
    }

    /// The first approval of the task that was not given yet.
    pub(crate) fn next_approval<'p>(&self, plan: &'p TaskPlan) -> Option<&'p ApprovalPlan> {
        let mut open = plan.approvals.iter().map(AsRef::as_ref);
        open.find(|approval| !self.consent.agreed.contains(&approval.gate))
    }

    /// Whether somebody must agree before the task may start (again).
    pub(crate) fn needs_agreement(&self, plan: &TaskPlan) -> bool {
        self.must_be_allowed(plan) || self.next_approval(plan).is_some()
    }
}

impl State {
    /// Whether the files of a task are to be noted, and its worktree is to be made, before its next turn.
    pub fn must_note(&self, id: TaskId) -> bool {
        let is_meant = self.plan.task(id).is_isolated()
            || is_watched(&self.plan, id)
            || tests_changed::is_wanted(&self.plan, id);
        self.task(id).course.evidence.noted.is_none() && is_meant
    }

    /// The commits of a task in a worktree, as they are on record.
    pub fn committed(&self, id: TaskId) -> Committed {
        let committed = self.task(id).course.committed.as_deref();
        committed.cloned().unwrap_or_default()
    }

    /// The commits, or trees, that the work of a task began with and that it left; `None` where they are not on record.
    pub fn look_sides(&self, id: TaskId) -> Option<[Box<str>; 2]> {
        let course = &self.task(id).course;
        if !self.plan.task(id).commits() {
            return course.evidence.tests.as_deref()?.trees.clone();
        }
        let commit = course.committed.as_deref()?.commit.as_ref()?;
        Some([commit.onto.clone(), commit.id.clone()])
    }

    /// Whether the agent of a task is told anything: if not, its prompt is "ready" without a file.
    pub fn gets_prompt(&self, id: TaskId) -> bool {
        let agent = self.plan.task(id).agent;
        self.plan.agent(agent).spec.input != Input::None
    }
}
