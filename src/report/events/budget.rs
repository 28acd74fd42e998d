//! Public names and payloads of the budget.

use crate::domain::Timestamp;
use crate::engine::{BudgetEvent, Ceiling, Event, RunEvent};

use super::explode::{Exploder, Named};
use super::payload::Payload;

impl Exploder {
    /// What happens to the budget.
    pub(super) fn budget_event(&self, event: &Event) -> Named {
        let agent = |id: crate::domain::AgentId| self.plan.agent(id).name.to_string();
        match event {
            Event::Budget(BudgetEvent::Exhausted { ceiling }) => {
                let unknown = match ceiling {
                    Ceiling::UnknownCost(id) | Ceiling::UnknownTokens(id) => Some(agent(*id)),
                    _ => None,
                };
                let payload = Payload::default().with("limit", ceiling.key());
                ("budget:exhausted", payload.maybe("unknownOf", unknown))
            }
            Event::Budget(BudgetEvent::Clock { since, used, until }) => (
                "budget:clock",
                Payload::default()
                    .with("since", Timestamp::to_rfc3339(*since))
                    .with("usedMs", used.0)
                    .with("until", Timestamp::to_rfc3339(*until)),
            ),
            Event::Run(RunEvent::SessionLimit { until }) => (
                "run:limit",
                Payload::default().with("until", Timestamp::to_rfc3339(*until)),
            ),
            _ => unreachable!("name() sends only the budget's events here"),
        }
    }
}
