//! The agents that a run would need: who works, who judges, who agrees, and who is asked instead of them.

use std::collections::BTreeSet;

use crate::domain::{AgentId, Status, TaskId};
use crate::engine::stages::judges;
use crate::engine::state::{RunPhase, State};
use crate::plan::Extent;

/// The agents that a run would need: who works, and who would be asked to judge.
pub fn agents_needed(state: &State) -> BTreeSet<AgentId> {
    if state.plan.rules.extent == Extent::Baselines {
        return BTreeSet::new();
    }
    let mut needed = BTreeSet::from_iter(state.plan.rules.orchestrator);
    // Before a run begins only work that is judged once more has left its first status: nobody does it again.
    let is_done = |id: &TaskId| state.phase == RunPhase::New && state.task(*id).status() != Status::Pending;
    let worked_on = state.plan.selected_ids().filter(|id| !is_done(id));
    needed.extend(worked_on.map(|id| state.plan.task(id).agent));
    needed.extend(judging_agents(state));
    let instead: Vec<AgentId> = needed.iter().flat_map(|id| state.plan.fallbacks(*id)).collect();
    needed.extend(instead);
    needed
}

/// The agents who judge work or agree to it, without those who stand in for them.
pub fn judging_agents(state: &State) -> BTreeSet<AgentId> {
    let plan = &state.plan;
    let mut needed = BTreeSet::new();
    for id in plan.selected_ids() {
        needed.extend(plan.task(id).approving_agents());
        needed.extend(judges(plan, id).into_iter().map(|(_, agent)| agent));
    }
    needed
}
