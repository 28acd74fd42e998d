//! What verdicts of verifications leave out of a run (semantics, section 10), as state: kept as events come, at the cost of
//! the part of the graph that leaves or returns.
//!
//! A task that only edges not taken lead to is *not taken*. It leaves the selection: nobody waits for it, it stays pending,
//! and it returns when the verification that left it out is redone. An edge decides about its target whatever else that
//! depends on; any other task leaves once nothing that leads to it is left. The rules are in `decide::verification_edges`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::domain::{Edge, Status, TaskId};
use crate::plan::{Part, Plan};

use super::apply::{arm, became_terminal, failed_dependencies_are_due, no_longer_terminal};
use super::fixups::DependencyState;
use super::prerequisite::look;
use super::remedies::nothing_is_due;
use super::state::State;

impl State {
    /// Whether the run takes a task: it was told to, and no verdict left it out.
    pub fn takes(&self, id: TaskId) -> bool {
        self.plan.task(id).part == Part::Selected && !self.task(id).not_taken
    }

    /// The tasks whose work is judged when a task is: itself, or those that a verification depends on and that were taken.
    /// The work of a fixup stands for that of the task that it mends.
    pub fn judged(&self, id: TaskId) -> impl Iterator<Item = TaskId> {
        let is_node = self.plan.route(id).is_some();
        let own = (!is_node).then_some(id);
        let needed = is_node.then(|| self.plan.judged(id)).into_iter().flatten();
        let standing = needed.map(|id| self.effective_task(id));
        own.into_iter().chain(standing.filter(|id| !self.task(*id).not_taken))
    }

    /// The verification whose verdict left a task out, and the edge that it took instead; the first, where several did.
    pub fn left_out_by(&self, id: TaskId) -> Option<(TaskId, Edge)> {
        let mut seen = BTreeSet::new();
        let mut open = vec![id];
        while let Some(id) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            for on in self.plan.dependencies.of(id) {
                let leads_here = self.plan.route(*on).is_some_and(|route| route.leads_to(id));
                match self.task(*on).edge().filter(|_| leads_here) {
                    Some(edge) if self.plan.route(*on).is_some_and(|route| route.target(edge) != id) => {
                        return Some((*on, edge));
                    }
                    _ if self.task(*on).not_taken => open.push(*on),
                    _ => {}
                }
            }
            open.extend(self.plan.held_by(id).filter(|on| self.task(*on).not_taken));
        }
        None
    }
}

/// The state as it would be after one verdict more, or one less.
struct RouteView<'s> {
    state: &'s State,
    /// The verification whose edge is not the one in the state.
    verification: TaskId,
    edge: Option<Edge>,
    /// Tasks that leave or return, other than the state has it.
    turned: BTreeSet<TaskId>,
}

impl<'s> RouteView<'s> {
    fn of(state: &'s State, verification: TaskId, edge: Option<Edge>) -> Self {
        Self { state, verification, edge, turned: BTreeSet::new() }
    }

    fn plan(&self) -> &Plan {
        &self.state.plan
    }

    fn is_out(&self, id: TaskId) -> bool {
        self.state.task(id).not_taken != self.turned.contains(&id)
    }

    fn edge(&self, id: TaskId) -> Option<Edge> {
        if id == self.verification { self.edge } else { self.state.task(id).edge() }
    }

    /// Whether nothing leads to a task any more.
    fn is_cut_off(&self, id: TaskId) -> bool {
        let plan = self.plan();
        let needed = plan.dependencies.of(id);
        let mut routed = needed
            .iter()
            .filter_map(|on| Some((*on, plan.route(*on)?)))
            .filter(|(_, route)| route.leads_to(id))
            .peekable();
        if routed.peek().is_some() {
            return routed.all(|(on, route)| {
                let elsewhere = self.edge(on).is_some_and(|edge| route.target(edge) != id);
                self.is_out(on) || elsewhere
            });
        }
        let gates = plan.gates_before.of(id);
        // What waits for nobody's work leads to nothing.
        let holds = plan.barriers_before.of(id).iter();
        let holds: Vec<&[TaskId]> =
            holds.map(|hold| &*plan.barrier(*hold).after).filter(|after| !after.is_empty()).collect();
        let all_out = |tasks: &[TaskId]| tasks.iter().all(|on| self.is_out(*on));
        let is_root = needed.is_empty() && gates.is_empty() && holds.is_empty();
        !is_root
            && all_out(needed)
            && gates.iter().all(|gate| all_out(&plan.gate(*gate).after))
            && holds.iter().all(|after| all_out(after))
    }

    /// Turns what the verdict turns.
    fn spread_behind_verification(&mut self) {
        if let Some(route) = self.state.plan.route(self.verification) {
            self.spread(route.forward().map(|(_, target)| target));
        }
    }

    /// Turns what is not as what leads to it says, from these tasks on. In the order of waves: before a task comes all that
    /// leads to it.
    fn spread(&mut self, from: impl Iterator<Item = TaskId>) {
        let key = |plan: &Plan, id: TaskId| (plan.task(id).wave, id);
        let mut open: BTreeSet<(u32, TaskId)> = from.map(|id| key(self.plan(), id)).collect();
        while let Some((_, id)) = open.pop_first() {
            // What was accepted stays part of the run while it is done again.
            let task = self.state.task(id);
            let is_open = task.status() == Status::Pending && task.reopened.is_none();
            if !is_open
                || self.plan().task(id).part != Part::Selected
                || self.is_out(id) == self.is_cut_off(id)
            {
                continue;
            }
            if !self.turned.remove(&id) {
                self.turned.insert(id);
            }
            let plan = self.plan();
            let next: Vec<_> = plan.waiting_for(id).map(|next| key(plan, next)).collect();
            open.extend(next);
        }
    }
}

/// The tasks that leave the run if a verification takes this edge.
pub fn leaving(state: &State, verification: TaskId, edge: Edge) -> Vec<TaskId> {
    turned(state, verification, Some(edge))
}

fn turned(state: &State, verification: TaskId, edge: Option<Edge>) -> Vec<TaskId> {
    let mut view = RouteView::of(state, verification, edge);
    view.spread_behind_verification();
    view.turned.into_iter().collect()
}

/// A task leaves the run: nobody waits for it.
pub fn leave(state: &mut State, id: TaskId) {
    if state.task(id).not_taken {
        return;
    }
    state.alter(id, |task| task.not_taken = true);
    state.is_not_ready(id);
    nothing_is_due(state, id);
    arm(state, Some(id));
    became_terminal(state, id, DependencyState::Met);
}

/// A task that was not pending, and so stayed when a verdict led elsewhere, is to be begun after all: the verdict stands.
pub fn returned(state: &mut State, id: TaskId) {
    let mut view = RouteView::of(state, id, state.task(id).edge());
    view.spread([id].into_iter());
    for id in view.turned {
        leave(state, id);
    }
}

/// The verdict of a verification is withdrawn: what it left out returns. While it only judges once more, the verdict before
/// says who is part of the run.
pub fn undecided(state: &mut State, verification: TaskId) {
    if state.plan.route(verification).is_none() || state.task(verification).reopened.is_some() {
        return;
    }
    for id in turned(state, verification, None) {
        state.alter(id, |task| task.not_taken = false);
        arm(state, Some(id));
        no_longer_terminal(state, id, DependencyState::Met);
        look(state, id);
        failed_dependencies_are_due(state, id);
    }
}

/// Whether none of these tasks is left in the run: a gate or hold over them has nothing to wait for.
pub fn all_left(state: &State, tasks: &[TaskId]) -> bool {
    tasks.iter().all(|id| state.task(*id).not_taken)
}

/// Finds out anew what the verdicts leave out. Costs O(tasks and edges) where the mission has verifications.
pub fn derive(state: &mut State) {
    let plan = Arc::clone(&state.plan);
    for task in &mut state.tasks {
        task.not_taken = false;
    }
    if plan.every_task_id().all(|id| plan.route(id).is_none()) {
        return;
    }
    let mut by_wave: BTreeMap<u32, Vec<TaskId>> = BTreeMap::new();
    for id in plan.selected_ids() {
        by_wave.entry(plan.task(id).wave).or_default().push(id);
    }
    for id in by_wave.into_values().flatten() {
        let view = RouteView::of(state, id, state.task(id).edge());
        let task = state.task(id);
        let out = task.status() == Status::Pending && task.reopened.is_none() && view.is_cut_off(id);
        state.task_mut(id).not_taken = out;
    }
}
