//! What calls cost: each is counted once, whatever became of it.

use std::collections::BTreeSet;

use rules::domain::Money;
use rules::engine::{AskEvent, AskReply, BudgetEvent, Event, State, TaskWork, TurnEvent, Usage, WorkId};

/// Calls of which no end is on record, and what the others are known to have cost.
#[derive(Debug, Clone, Default)]
pub struct Calls {
    out: BTreeSet<WorkId>,
    cost: Option<Money>,
}

impl Calls {
    /// Takes one event, before whose record the engine's state was `state`.
    pub fn take(&mut self, state: &State, event: &Event) {
        match event {
            Event::Turn(turn, TurnEvent::Started(_)) => {
                self.out.insert(WorkId::turn(*turn));
            }
            Event::Ask(id, AskEvent::Requested { .. }) => {
                self.out.insert(WorkId::ask(*id));
            }
            Event::Turn(turn, TurnEvent::Finished(end)) => self.end(WorkId::turn(*turn), &end.usage),
            Event::Ask(id, AskEvent::Replied(AskReply { reply, .. })) => {
                self.end(WorkId::ask(*id), &reply.usage)
            }
            Event::Ask(id, AskEvent::Failed { used, .. }) => {
                // One that has met a limit, and is given up while it waits, has ended before.
                let call = WorkId::ask(*id);
                if used.is_some() || self.out.contains(&call) {
                    let usage = used.as_deref().map(|used| used.usage).unwrap_or_default();
                    self.end(call, &usage);
                }
            }
            Event::Budget(BudgetEvent::Settled { call, usage, .. }) => {
                let task = state.task(call.task);
                let is_awaited = matches!(call.work, TaskWork::Ask(..))
                    && task.work.asks.iter().any(|open| WorkId::ask(open.id) == *call);
                assert!(!is_awaited, "somebody waits for it: {event:?}");
                self.end(*call, usage);
            }
            _ => {}
        }
    }

    fn end(&mut self, call: WorkId, usage: &Usage) {
        assert!(self.out.remove(&call), "paid for twice: {call:?}");
        if let Some(cost) = usage.cost {
            self.cost = Some(self.cost.unwrap_or_default().plus(cost));
        }
    }

    /// Whether the engine's ledger knows of the same cost.
    pub fn agree_with(&self, state: &State) {
        assert_eq!(self.cost, state.ledger.spent().cost);
    }
}
