//! A ceiling on the cost is worth what the prices are: a model without one could cost anything; and what is kept for judging must leave room for work (section 19).

use std::collections::HashSet;

use crate::mission::{
    file::{
        codes::Code,
        shown_text::quoted,
        violation::{Path, Violations},
    },
    model::{Agent, Budget, Mission, TaskType},
};

pub(super) fn validate(mission: &Mission, problems: &mut Violations) {
    let budget = mission.budget.or(mission.settings.budget);
    if let Some((name, key)) = budget.reserve_for_judging.and(too_dear(mission, &budget)) {
        problems.refuse(
            Code::NothingLeftForWork,
            Path::of("agents").key(name.to_owned()).key(key),
            format!(
                "one turn of the agent {} may use more than `reserveForJudging` leaves of the budget",
                quoted(name)
            ),
            format!("lower `{key}` or the share, or raise the ceiling"),
        );
    }
    if budget.max_cost.is_none() {
        return;
    }
    // Agents of a `quorum.yaml` that the mission does not call need no price.
    for (name, agent) in &mission.agents.0[..mission.own_agents.min(mission.agents.0.len())] {
        let is_priced = |model: &str| mission.settings.prices.get(model).is_some();
        let Some(model) = model_of(agent).filter(|model| !is_priced(model)) else {
            continue;
        };
        problems.refuse(
            Code::UnpricedModel,
            Path::of("agents").key(name.to_string()).key("model"),
            format!(
                "`maxCost` is set, and the model {} of the agent {} has no price",
                quoted(model),
                quoted(name)
            ),
            example(model),
        );
    }
}

/// An agent with work of which one turn may use more than the budget leaves for work, and the key that says so.
pub(crate) fn too_dear<'m>(mission: &'m Mission, budget: &Budget) -> Option<(&'m str, &'static str)> {
    let left = budget.for_work();
    // Whoever has no room in all of it is another matter.
    if left == *budget {
        return None;
    }
    let work = mission.tasks.iter().filter(|task| task.kind != TaskType::Verification);
    let workers: HashSet<&str> = work.filter_map(|task| mission.assignee(task)).collect();
    let mut agents = mission.agents.0.iter();
    agents.find_map(|(name, agent)| {
        let cost = agent.max_cost_per_turn.zip(left.max_cost);
        let tokens = agent.max_tokens.map(u64::from).zip(left.max_tokens);
        let key = match (cost, tokens) {
            (Some((may, most)), _) if may > most => "maxCostPerTurn",
            (_, Some((may, most))) if may > most => "maxTokens",
            _ => return None,
        };
        workers.contains(&**name).then_some((&**name, key))
    })
}

/// The model of an agent whose calls are priced by their tokens.
pub(crate) fn model_of(agent: &Agent) -> Option<&str> {
    agent.model.as_deref().filter(|_| agent.adapter.is_http())
}

pub(crate) fn example(model: &str) -> String {
    format!(
        "add to `settings.prices` what a million of its tokens cost: `{}: {{input: 1.25, output: 10}}`; zeros for a model that is free",
        model
    )
}
