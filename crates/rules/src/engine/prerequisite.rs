//! What a task that is to begin waits for: the one rule (semantics, sections 5, 6, 10, 11 and 14) that the ready queue,
//! `status` and every document read.
//!
//! Such a task watches the first thing that it lacks and, once that is met, looks for the next one. The search goes on
//! behind the dependencies that were met, so that a join of 100,000 tasks looks at each of them once.

use crate::domain::{Status, TaskId};

use super::state::{BarrierStage, FirstTurn, Prerequisite, RunPhase, State, TaskState};

impl State {
    /// All that a task lacks before it may begin, behind its first `met` dependencies; each with how many there are before it.
    pub fn unmet(&self, id: TaskId, met: usize) -> impl Iterator<Item = (usize, Prerequisite)> {
        let (plan, task) = (&*self.plan, self.task(id));
        let needed = plan.dependencies.of(id);
        let open = needed.iter().copied().enumerate().skip(met);
        let open = open.filter(move |(_, on)| !self.is_met(*on) && !task.does_without(*on));
        let held = plan.barriers_before.of(id).iter().copied();
        let held = held.filter(|hold| self.barrier(*hold).stage != BarrierStage::Passed);
        let shut = plan.gates_before.of(id).iter().copied();
        let shut = shut.filter(|gate| !self.gate(*gate).is_open());
        let first = task.reopened.iter().flat_map(|open| open.behind.iter().copied());
        let agreement = task.needs_agreement(plan.task(id)).then_some(Prerequisite::Agreement);
        let others = held.map(Prerequisite::Barrier).chain(shut.map(Prerequisite::Gate));
        let others = others.chain(first.map(Prerequisite::Regressed)).chain(agreement);
        open.map(|(at, on)| (at, Prerequisite::Dependency(on)))
            .chain(others.map(|prerequisite| (needed.len(), prerequisite)))
    }

    /// The first thing that a task lacks before it may begin.
    pub(crate) fn first_unmet(&self, id: TaskId) -> Option<Prerequisite> {
        self.unmet(id, 0).next().map(|(_, prerequisite)| prerequisite)
    }

    /// Whether a task lacks anything but the agreement that is asked for where it begins.
    pub fn lacks(&self, id: TaskId) -> bool {
        let lacked = self.first_unmet(id);
        lacked.is_some_and(|lacked| lacked != Prerequisite::Agreement)
    }

    /// Whether something that a task needs was withdrawn before its first turn, also where it is there again.
    pub fn must_go_back(&self, id: TaskId, task: &TaskState) -> bool {
        match task.course.first_turn {
            FirstTurn::Ahead => self.lacks(id),
            FirstTurn::Outdated => true,
            FirstTurn::Begun => false,
        }
    }

    /// A task is not ready: it has no place in the queue, watches nothing, and nobody is asked to agree to it.
    pub fn is_not_ready(&mut self, id: TaskId) {
        let plan = self.plan.task(id);
        self.queues.ready.remove(id, plan.agent, plan.priority);
        self.queues.watchers.forget(id);
    }
}

/// A task that is to begin watches the first thing that it lacks; one that lacks nothing is ready. So is one that has begun
/// and waits for nothing but a slot.
pub fn look(state: &mut State, id: TaskId) {
    look_behind(state, id, 0);
}

/// Lets a task look for the first thing that it lacks, where its first `met` dependencies are met.
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
        Some((met, prerequisite)) => state.queues.watchers.watch(id, prerequisite, met),
        None => {
            let plan = state.plan.task(id);
            state.queues.ready.insert(id, plan.agent, plan.priority);
        }
    }
}

/// Notes that a prerequisite is met: the tasks that watched it look for the next thing that they lack.
pub fn met(state: &mut State, prerequisite: Prerequisite) {
    for id in state.queues.watchers.of(prerequisite).collect::<Vec<_>>() {
        met_for(state, id, prerequisite);
    }
}

/// Notes that a prerequisite is met for one task.
pub fn met_for(state: &mut State, id: TaskId, prerequisite: Prerequisite) {
    if let Some((watched, met)) = state.queues.watchers.entry(id)
        && watched == prerequisite
    {
        look_behind(state, id, met);
    }
}

/// Something that tasks had is not there any more, or they need something more: whoever waits already comes to it in time.
pub fn withdrawn(state: &mut State, ids: &[TaskId]) {
    for id in ids {
        state.task_mut(*id).outdate();
        match state.queues.watchers.entry(*id) {
            Some((lacked, _)) if lacked != Prerequisite::Agreement => {
                state.queues.watchers.watch(*id, lacked, 0);
            }
            _ => look(state, *id),
        }
    }
}
