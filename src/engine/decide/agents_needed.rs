//! The agents that a run would need: who works, who judges, who agrees, and who is asked instead of them.

use std::collections::BTreeSet;

use crate::domain::AgentId;
use crate::engine::state::State;
use crate::mission::Judge;

use super::approvals;
use crate::engine::stages;

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
        // People are asked from outside: nothing needs to be reached for them.
        needed.extend(state.plan.judge(id).into_iter().flat_map(Judge::seats));
        let verification = state.plan.task(id).verification();
        let of_criteria = verification
            .into_iter()
            .flat_map(|by| by.grader.into_iter().chain(by.decomposer));
        needed.extend(of_criteria.filter(|_| state.plan.rules.evaluate));
        needed.extend(stages::agents(&state.plan, id).map(|(_, agent)| agent));
    }
    needed
}
