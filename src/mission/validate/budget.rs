//! A ceiling on the cost is worth what the prices are: a model without one could cost anything (section 19).

use crate::mission::codes::Code;
use crate::mission::model::{Agent, Mission};
use crate::mission::text::quoted;
use crate::mission::violation::{Path, Violations};

pub(super) fn validate(mission: &Mission, problems: &mut Violations) {
    let budget = mission.budget.or(mission.settings.budget);
    if budget.max_cost.is_none() {
        return;
    }
    // Agents of a `quorum.yaml` that the mission does not call need no price.
    for (name, agent) in &mission.agents.0[..mission.own_agents.min(mission.agents.0.len())] {
        let is_priced = |model: &str| {
            mission
                .settings
                .prices
                .0
                .iter()
                .any(|(known, _)| **known == *model)
        };
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
