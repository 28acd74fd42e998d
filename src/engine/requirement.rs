//! What a task that is to begin waits for: the one rule (semantics, sections 5, 6, 10, 11 and 14) that the ready queue,
//! `status` and every document read.
//!
//! Such a task watches the first thing that it lacks and, once that is met, looks for the next one. The search goes on
//! behind the dependencies that were met, so that a join of 100,000 tasks looks at each of them once.

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::{BarrierId, GateId, Status, TaskId};

use super::state::{BarrierStage, RunPhase, State};

/// Something that a task lacks before it may begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Requirement {
    /// A dependency is done, a clean fixup has superseded it, or the task does without it.
    Dependency(TaskId),
    /// A checkpoint or a delay is passed.
    Barrier(BarrierId),
    /// A gate is open.
    Gate(GateId),
    /// Work that is done again before this one, because it names a file of it, has ended.
    Regressed(TaskId),
    /// Somebody agrees to its start. It is asked for last.
    Agreement,
}

/// What each waiting task watches. Watching costs O(log of the tasks that wait).
#[derive(Debug, Clone, Default)]
pub struct Watchers {
    by_requirement: BTreeSet<(Requirement, TaskId)>,
    /// With it so many dependencies, from the first on, as were met when the task looked.
    by_task: BTreeMap<TaskId, (Requirement, usize)>,
}

impl Watchers {
    pub(super) fn watch(&mut self, id: TaskId, requirement: Requirement, met: usize) {
        self.by_requirement.insert((requirement, id));
        self.by_task.insert(id, (requirement, met));
    }

    fn forget(&mut self, id: TaskId) {
        if let Some((requirement, _)) = self.by_task.remove(&id) {
            self.by_requirement.remove(&(requirement, id));
        }
    }

    /// What a task watches.
    #[cfg(test)]
    pub fn watched(&self, id: TaskId) -> Option<Requirement> {
        self.by_task.get(&id).map(|(requirement, _)| *requirement)
    }

    /// The tasks that watch for this, in their order.
    pub fn of(&self, requirement: Requirement) -> impl Iterator<Item = TaskId> + '_ {
        let all = (requirement, TaskId(0))..=(requirement, TaskId(u32::MAX));
        self.by_requirement.range(all).map(|(_, id)| *id)
    }
}

impl State {
    /// All that a task lacks before it may begin, behind its first `met` dependencies; each with how many there are before it.
    pub(crate) fn unmet(&self, id: TaskId, met: usize) -> impl Iterator<Item = (usize, Requirement)> + '_ {
        let (plan, task) = (&*self.plan, self.task(id));
        let needed = plan.dependencies.of(id);
        let open = needed.iter().copied().enumerate().skip(met);
        let open = open.filter(move |(_, on)| !self.is_met(*on) && !task.does_without(*on));
        let held = plan.barriers_before.of(id).iter().copied();
        let held = held.filter(|hold| self.barrier(*hold).stage != BarrierStage::Passed);
        let shut = plan.gates_before.of(id).iter().copied();
        let shut = shut.filter(|gate| !self.gate(*gate).is_open());
        let first = task.reopened.iter().flat_map(|open| open.behind.iter().copied());
        let agreement = task
            .needs_agreement(plan.task(id))
            .then_some(Requirement::Agreement);
        let others = held.map(Requirement::Barrier).chain(shut.map(Requirement::Gate));
        let others = others.chain(first.map(Requirement::Regressed)).chain(agreement);
        open.map(|(at, on)| (at, Requirement::Dependency(on)))
            .chain(others.map(|requirement| (needed.len(), requirement)))
    }

    /// The first thing that a task lacks before it may begin.
    pub(crate) fn first_unmet(&self, id: TaskId) -> Option<Requirement> {
        self.unmet(id, 0).next().map(|(_, requirement)| requirement)
    }

    /// A task is not ready: it has no place in the queue, watches nothing, and nobody is asked to agree to it.
    pub(super) fn is_not_ready(&mut self, id: TaskId) {
        let plan = self.plan.task(id);
        self.ready.remove(id, plan.agent, plan.priority);
        self.watchers.forget(id);
    }
}

/// A task that is to begin watches the first thing that it lacks; one that lacks nothing is ready. So is one that has begun
/// and waits for nothing but a slot.
pub fn look(state: &mut State, id: TaskId) {
    look_behind(state, id, 0);
}

/// The same, where so many dependencies, from the first on, are met.
fn look_behind(state: &mut State, id: TaskId, met: usize) {
    state.is_not_ready(id);
    let task = state.task(id);
    let is_to_begin = task.status() == Status::Pending && task.deferral.is_none();
    // Before the run has started nothing is ready; its start makes it so.
    if state.phase == RunPhase::New || !state.takes(id) || !(is_to_begin || task.is_queued()) {
        return;
    }
    let lacks = state.unmet(id, met).next().filter(|_| is_to_begin);
    match lacks {
        Some((met, requirement)) => state.watchers.watch(id, requirement, met),
        None => {
            let plan = state.plan.task(id);
            state.ready.insert(id, plan.agent, plan.priority);
        }
    }
}

/// This is met: who watched for it looks for the next thing.
pub fn met(state: &mut State, requirement: Requirement) {
    for id in state.watchers.of(requirement).collect::<Vec<_>>() {
        met_for(state, id, requirement);
    }
}

/// This is met for one task.
pub fn met_for(state: &mut State, id: TaskId, requirement: Requirement) {
    match state.watchers.by_task.get(&id) {
        Some((watched, met)) if *watched == requirement => look_behind(state, id, *met),
        _ => {}
    }
}

/// Something that tasks had is not there any more: whoever waits already comes to it in time.
pub fn withdrawn(state: &mut State, ids: &[TaskId]) {
    for id in ids {
        match state.watchers.by_task.get_mut(id) {
            Some((requirement, met)) if *requirement != Requirement::Agreement => *met = 0,
            _ => look(state, *id),
        }
    }
}

/// Tasks need something more, behind all else that they depend on.
pub fn extended(state: &mut State, ids: &[TaskId]) {
    for id in ids {
        let watched = state.watchers.by_task.get(id);
        if watched.is_none_or(|(requirement, _)| *requirement == Requirement::Agreement) {
            look(state, *id);
        }
    }
}
