//! Verifications as nodes of the graph (semantics, section 10): where each of their edges leads.
//!
//! An edge that leads forward is an order like `dependsOn`: its target waits for the verification, so it stands among the
//! plan's dependencies. An `onFail` that points back orders nothing; it has work done again.

use crate::{
    domain::{Edge, TaskId},
    mission::adjacency::Edges,
};

use super::model::{Part, Plan};

/// Where the edges of a verification lead.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Route {
    /// The task behind `onPass`.
    pub pass: TaskId,
    /// The task behind `onFail`.
    pub fail: TaskId,
    /// The task behind `onRefer`.
    pub refer: TaskId,
    /// Whether `onFail` points back: the verification waits for its target, which is done again.
    pub fail_goes_back: bool,
    /// How often the verification may be entered, where `onFail` points back.
    pub max_visits: u32,
}

impl Route {
    /// Where an edge leads.
    pub fn target(&self, edge: Edge) -> TaskId {
        match edge {
            Edge::Pass => self.pass,
            Edge::Fail => self.fail,
            Edge::Refer => self.refer,
        }
    }

    /// Whether an edge has work done again instead of leading on.
    pub fn goes_back(&self, edge: Edge) -> bool {
        edge == Edge::Fail && self.fail_goes_back
    }

    /// Where its edges lead, whatever it takes to come there.
    pub fn ends(&self) -> (TaskId, TaskId, TaskId, bool) {
        (self.pass, self.fail, self.refer, self.fail_goes_back)
    }

    /// Whether an edge of it leads on to a task.
    pub fn leads_to(&self, task: TaskId) -> bool {
        self.forward().any(|(_, target)| target == task)
    }

    /// The edges that lead on.
    pub fn forward(&self) -> impl Iterator<Item = (Edge, TaskId)> {
        let onward = Edge::ALL.into_iter().filter(|edge| !self.goes_back(*edge));
        onward.map(|edge| (edge, self.target(edge)))
    }

    /// Replaces the ids of tasks in the route.
    #[must_use]
    pub fn map(self, id: impl Fn(TaskId) -> TaskId) -> Self {
        Self { pass: id(self.pass), fail: id(self.fail), refer: id(self.refer), ..self }
    }
}

impl Plan {
    /// Where a verification leads; `None` for every other task.
    pub fn route(&self, id: TaskId) -> Option<&Route> {
        self.task(id).route.as_deref()
    }

    /// The tasks whose work a verification judges.
    pub fn judged(&self, id: TaskId) -> impl Iterator<Item = TaskId> {
        let needed = self.dependencies.of(id).iter().copied();
        needed.filter(|on| self.route(*on).is_none())
    }

    /// Lets the plan know, from each task, the verifications that may have it done again and know why.
    #[must_use]
    pub fn with_returns(self) -> Self {
        let mut pairs = Vec::new();
        for id in self.every_task_id() {
            let route = self.route(id).filter(|route| route.fail_goes_back);
            if let Some(route) = route.filter(|_| self.task(id).part != Part::Removed) {
                let judged = self.judged(id).filter(|task| *task != route.fail);
                pairs.extend(judged.chain([route.fail]).map(|task| (task.0, id)));
            }
        }
        Self { returns: Edges::new(self.tasks.len(), &pairs), ..self }
    }
}
