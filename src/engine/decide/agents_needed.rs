//! The agents that a run would need: who works, who judges, who agrees, and who is asked instead of them.

use std::collections::BTreeSet;

use crate::domain::AgentId;
use crate::engine::stages::judges;
use crate::engine::state::State;

use super::approvals;

/// The agents that a run would need: who works, and who would be asked to judge.
#[must_use]
pub fn agents_needed(state: &State) -> BTreeSet<AgentId> {
    let mut needed = BTreeSet::from_iter(state.plan.rules.orchestrator);
    needed.extend(state.plan.selected_ids().map(|id| state.plan.task(id).agent));
    needed.extend(judging_agents(state));
    let instead: Vec<AgentId> = needed.iter().flat_map(|id| state.plan.fallbacks(*id)).collect();
    needed.extend(instead);
    needed
}

/// The agents who judge work or agree to it, without those who stand in for them.
#[must_use]
pub fn judging_agents(state: &State) -> BTreeSet<AgentId> {
    let mut needed = BTreeSet::from_iter(approvals::agents_asked(&state.plan));
    for id in state.plan.selected_ids() {
        needed.extend(judges(&state.plan, id).into_iter().map(|(_, agent)| agent));
    }
    needed
}
