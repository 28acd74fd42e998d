//! What a run used, and what is reserved for calls that are out (semantics, section 19).
//!
//! A call is open from the event that decides it to the event that ends it. Whatever ends it otherwise (its task moved
//! on, its session died) leaves what it used unknown, which is never free: it is charged with the most that it might
//! have cost, where the mission says so. A call that was dropped may end later in the session: then it is settled, once.

use std::collections::BTreeMap;

use crate::domain::{AgentId, FailureClass, Millis, Money, TaskId, Timestamp, TurnId};
use crate::mission::model::Adapter;
use crate::plan::Plan;

use super::event::{AskEvent, BudgetEvent, Ceiling, Event, TurnEvent};
use super::event_payload::{ToolLedgerRef, Usage, add_known};
use super::fact::{TurnEnd, TurnUpdate};
use super::work::id::{TaskWork, WorkId};

/// The call that an event decides, and whom it goes to.
pub fn decided(plan: &Plan, event: &Event) -> Option<(WorkId, AgentId)> {
    Some(match event {
        Event::Turn(turn, TurnEvent::Started(_)) => (WorkId::turn(*turn), plan.task(turn.task).agent),
        Event::Ask(id, AskEvent::Requested { agent, .. }) => (WorkId::ask(*id), *agent),
        _ => return None,
    })
}

/// The usage of turns and calls. Unknown is not nothing: it is counted.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Spent {
    /// Turns and calls that reached an agent.
    pub requests: u64,
    /// The number of turns and calls of which the usage or the cost is not known to the last token.
    pub untold: u64,
    /// Tokens read, of those who told; `None` if nobody did.
    pub input_tokens: Option<u64>,
    /// The tokens that were written.
    pub output_tokens: Option<u64>,
    /// The known cost; `None` if nothing is known.
    pub cost: Option<Money>,
    /// The charge for calls of unknown cost: the most that each might have cost.
    pub charged: Money,
    /// The part of the known cost that is only an agent's word.
    pub claimed: Money,
}

impl Spent {
    pub fn add(&mut self, usage: &Usage) {
        add_known(&mut self.input_tokens, usage.input_tokens);
        add_known(&mut self.output_tokens, usage.output_tokens);
        if let Some(cost) = usage.cost {
            self.cost = Some(self.cost.unwrap_or_default().plus(cost));
        }
    }

    /// The cost that counts against `maxCost`.
    pub fn counted_cost(&self) -> Money {
        self.cost.unwrap_or_default().plus(self.charged)
    }

    /// The tokens that count against `maxTokens`.
    pub fn counted_tokens(&self) -> u64 {
        let (read, written) = (self.input_tokens, self.output_tokens);
        read.unwrap_or(0).saturating_add(written.unwrap_or(0))
    }
}

/// By how much the ceilings were overshot by calls that nobody could stop.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Overshoot {
    /// The cost beyond `maxCost`.
    pub cost: Option<Money>,
    /// The tokens beyond `maxTokens`.
    pub tokens: Option<u64>,
    /// Beyond `maxRequests`: one turn or call may make many.
    pub requests: Option<u64>,
}

impl Overshoot {
    /// Whether every ceiling held.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// A call that is out.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Open {
    agent: AgentId,
    /// Whether the call reached the agent and is counted as a request.
    counted: bool,
    reserved: Reserved,
}

/// The unknown part of a call's usage, with the charge for it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Unknown {
    /// The charge: the most that the call might have cost.
    charged: Money,
    /// Nobody knows what it cost, and nothing says how much that may be.
    cost: bool,
    tokens: bool,
    /// Whether something is not known of the call that somebody wants to know.
    untold: bool,
}

/// A call that was dropped in this session: nobody waits for it, and its end may still come.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Dropped {
    open: Open,
    /// The charge for the call until its end is known.
    unknown: Unknown,
}

/// The reserve for a call.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Reserved {
    /// The most that it may cost, where that is known.
    pub cost: Option<Money>,
    /// The most tokens of its reply, where that is known.
    pub tokens: u64,
}

impl Reserved {
    pub fn for_agent(plan: &Plan, agent: AgentId) -> Self {
        let spec = &plan.agent(agent).spec;
        let free = spec.adapter == Adapter::Echo;
        Self {
            cost: spec.max_cost_per_turn.or(free.then_some(Money::ZERO)),
            tokens: spec.max_tokens.map_or(0, u64::from),
        }
    }
}

/// Whether a call may be made now.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CallAdmission {
    /// The call may be made now.
    Admitted,
    /// Not before calls that are out have ended: they may leave enough.
    Wait,
    /// A limit of the budget is reached.
    Exhausted(Ceiling),
}

/// How a call came to its end.
enum Close<'u> {
    /// The agent told its usage, or not.
    Told(&'u Usage, bool),
    /// The call used nothing: no agent was reached, or none replied.
    Nothing,
    /// Nobody knows what the call used.
    Lost,
}

/// The ledger of a run.
#[derive(Debug, Clone, Default)]
pub struct Ledger {
    spent: Spent,
    open: BTreeMap<WorkId, Open>,
    /// Sums over the open calls.
    reserved_cost: Money,
    reserved_tokens: u64,
    uncounted: u64,
    /// Calls that wait for room, each with the agent that it is for.
    held: BTreeMap<WorkId, AgentId>,
    /// Calls whose end is settled where it comes.
    dropped: BTreeMap<WorkId, Dropped>,
    /// An agent of which somebody should know what it cost or used, and nobody does. Until the next session, whose
    /// beginning is a person's word that the run is to go on all the same.
    unknown_cost: Option<AgentId>,
    unknown_tokens: Option<AgentId>,
    /// The limit that ended the work of this session.
    limit: Option<Ceiling>,
    /// Time that earlier sessions took, as far as it is counted.
    time_used: Millis,
    /// When the counted session began.
    since: Option<Timestamp>,
}

impl Ledger {
    /// The usage so far.
    pub fn spent(&self) -> &Spent {
        &self.spent
    }

    /// The limit that ended the work of this session; `None` where none did.
    pub fn limit(&self) -> Option<Ceiling> {
        self.limit
    }

    /// Time that the sessions before this one took, where it is counted, and when this one began.
    pub fn time(&self) -> (Millis, Option<Timestamp>) {
        (self.time_used, self.since)
    }

    /// Whether a call is out.
    pub fn is_open(&self, call: WorkId) -> bool {
        self.open.contains_key(&call)
    }

    /// The agent of a call that has no end on record, and whether the call is counted as a request.
    pub fn without_end(&self, call: WorkId) -> Option<(AgentId, bool)> {
        let dropped = self.dropped.get(&call).map(|dropped| &dropped.open);
        let open = self.open.get(&call).or(dropped)?;
        Some((open.agent, open.counted))
    }

    pub fn is_held(&self, call: WorkId) -> bool {
        self.held.contains_key(&call)
    }

    /// The calls that are out or held.
    #[cfg(test)]
    pub fn known(&self) -> std::collections::BTreeSet<WorkId> {
        self.open.keys().chain(self.held.keys()).copied().collect()
    }

    pub fn nothing_open(&self) -> bool {
        self.open.is_empty()
    }

    /// The calls that wait for room, in the order in which they come.
    pub fn held(&self) -> impl Iterator<Item = (WorkId, AgentId)> {
        self.held.iter().map(|(call, agent)| (*call, *agent))
    }

    /// Whether another call of an agent has room: one that is for a verdict has all of it, others have what is not kept for that.
    pub fn room(&self, plan: &Plan, agent: AgentId, judges: bool) -> CallAdmission {
        if let Some(limit) = self.limit.filter(|limit| !(judges && limit.leaves_judging())) {
            return CallAdmission::Exhausted(limit);
        }
        let whole = &plan.rules.budget;
        let budget = if judges { *whole } else { whole.for_work() };
        if budget.is_none() {
            return CallAdmission::Admitted;
        }
        let wanted = Reserved::for_agent(plan, agent);
        let mut waits = false;
        if let Some(most) = budget.max_requests {
            if self.spent.requests >= most {
                return CallAdmission::Exhausted(Ceiling::Requests);
            }
            waits = self.spent.requests + self.uncounted >= most;
        }
        // What costs nothing is held by nothing that it could cost.
        if let Some(most) = budget.max_cost.filter(|_| wanted.cost != Some(Money::ZERO)) {
            let (spent, needed) = (self.spent.counted_cost(), wanted.cost.unwrap_or_default());
            let counted = spent.plus(self.reserved_cost);
            if let Some(agent) = self.unknown_cost.or(self.dropped_with(|unknown| unknown.cost)) {
                return CallAdmission::Exhausted(Ceiling::UnknownCost(agent));
            }
            if spent >= most || spent.plus(needed) > most {
                let is_kept = whole.max_cost.is_some_and(|all| most < all && spent < all);
                let ceiling = if is_kept { Ceiling::WorkCost } else { Ceiling::Cost };
                return CallAdmission::Exhausted(ceiling);
            }
            waits |= counted >= most || counted.plus(needed) > most;
        }
        if let Some(most) = budget.max_tokens.filter(|_| !is_echo(plan, agent)) {
            let spent = self.spent.counted_tokens();
            let with = |more: u64| spent.saturating_add(more);
            if let Some(agent) = self.unknown_tokens.or(self.dropped_with(|unknown| unknown.tokens)) {
                return CallAdmission::Exhausted(Ceiling::UnknownTokens(agent));
            }
            if spent >= most || with(wanted.tokens) > most {
                let is_kept = whole.max_tokens.is_some_and(|all| most < all && spent < all);
                let ceiling = if is_kept { Ceiling::WorkTokens } else { Ceiling::Tokens };
                return CallAdmission::Exhausted(ceiling);
            }
            waits |= with(self.reserved_tokens) >= most
                || with(self.reserved_tokens).saturating_add(wanted.tokens) > most;
        }
        if waits { CallAdmission::Wait } else { CallAdmission::Admitted }
    }

    /// Whether a request that failed may be made again as part of the same call.
    pub fn has_room_again(&self, plan: &Plan, call: WorkId) -> bool {
        let most = plan.rules.budget.max_requests;
        let counted = self.open.get(&call).is_some_and(|open| open.counted);
        self.limit.is_none()
            && most.is_none_or(|most| !counted || self.spent.requests + self.uncounted < most)
    }

    /// By how much the ceilings were overshot.
    pub fn overshoot(&self, plan: &Plan) -> Overshoot {
        let budget = &plan.rules.budget;
        let cost = self.spent.counted_cost();
        let beyond = |used: u64, most: Option<u64>| used.checked_sub(most?).filter(|over| *over > 0);
        Overshoot {
            cost: budget.max_cost.filter(|most| cost > *most).map(|most| cost.minus(most)),
            tokens: beyond(self.spent.counted_tokens(), budget.max_tokens),
            requests: beyond(self.spent.requests, budget.max_requests),
        }
    }

    /// Follows one event but the beginning of a later session, for which the tasks must be known.
    pub fn follow(&mut self, plan: &Plan, event: &Event) {
        if let Some((call, agent)) = decided(plan, event) {
            // A process may not come into being; a request is one once it is made.
            let counted = !matches!(call.work, TaskWork::Turn(..));
            self.open(plan, call, agent, counted);
            return;
        }
        match event {
            Event::Budget(BudgetEvent::Held { call, agent, released: false }) => self.hold(*call, *agent),
            Event::Budget(BudgetEvent::Held { call, .. }) => {
                if let Some(agent) = self.held.remove(call)
                    && !matches!(call.work, TaskWork::Turn(..))
                {
                    self.open(plan, *call, agent, true);
                }
            }
            Event::Turn(turn, TurnEvent::Progress(TurnUpdate::Spawned { .. })) => {
                self.count_request(WorkId::turn(*turn))
            }
            Event::Turn(turn, TurnEvent::RequestFailed { .. }) => {
                // What follows is a request of its own, for which room was found.
                if let Some(open) = self.open.get_mut(&WorkId::turn(*turn))
                    && open.counted
                {
                    open.counted = false;
                    self.uncounted += 1;
                }
            }
            Event::Turn(turn, TurnEvent::Finished(end)) => self.close_turn(plan, *turn, end),
            Event::Turn(turn, TurnEvent::Lost) => self.drop_call(plan, WorkId::turn(*turn)),
            Event::Ask(id, AskEvent::Replied(said)) => {
                let (call, reply) = (WorkId::ask(*id), &said.reply);
                self.count_more_requests(call, reply.tools.as_deref());
                self.close(plan, call, &Close::Told(&reply.usage, false));
            }
            Event::Ask(id, event @ AskEvent::Failed { .. }) => {
                self.close_failed(plan, WorkId::ask(*id), event)
            }
            Event::Budget(BudgetEvent::Settled { call, usage, requests }) => {
                self.settle(plan, *call, usage, *requests)
            }
            Event::Budget(BudgetEvent::Exhausted { ceiling }) => {
                self.limit = Some(*ceiling);
            }
            Event::Budget(BudgetEvent::Clock { since, used, .. }) => {
                (self.since, self.time_used) = (Some(*since), *used);
            }
            _ => {}
        }
    }

    fn close_turn(&mut self, plan: &Plan, turn: TurnId, end: &TurnEnd) {
        let (usage, tools) = (&end.usage, end.tools.as_deref());
        let (agent, call) = (plan.task(turn.task).agent, WorkId::turn(turn));
        self.count_more_requests(call, tools);
        // Whoever was answered in the middle of its work used something, though nobody may know how much.
        let answered = tools.is_some_and(|tools| tools.requests > 0);
        let unreached = self.open.get(&call).is_some_and(|open| !open.counted);
        let refused = end
            .exit
            .failure
            .filter(|class| usage.is_none() && !answered && (unreached || used_nothing(plan, agent, *class)));
        let how = match refused {
            Some(_) => Close::Nothing,
            None => Close::Told(usage, is_claim(plan, agent)),
        };
        // Its end may be on record though its beginning is not.
        if unreached && refused.is_none() {
            self.count_request(call);
        }
        self.close(plan, call, &how);
    }

    /// A later session. What was out and is no turn is made again; what was lost of it stays charged.
    pub fn begin_again(&mut self, plan: &Plan, again: impl Iterator<Item = (WorkId, AgentId)>) {
        let lost: Vec<WorkId> = self.open.keys().copied().collect();
        for call in lost {
            if !matches!(call.work, TaskWork::Turn(..)) {
                self.close(plan, call, &Close::Lost);
            }
        }
        self.held.clear();
        self.dropped.clear();
        (self.limit, self.unknown_cost, self.unknown_tokens) = (None, None, None);
        for (call, agent) in again {
            self.open(plan, call, agent, true);
        }
    }

    /// The calls about a task that are open or held.
    pub fn known_of(&self, task: TaskId) -> Vec<WorkId> {
        let first_of = |task| WorkId { task, work: TaskWork::Turn(0, 0) };
        let range = first_of(task)..first_of(TaskId(task.0.saturating_add(1)));
        let out = self.open.range(range.clone()).map(|(call, _)| *call);
        let held = self.held.range(range).map(|(call, _)| *call);
        out.chain(held).collect()
    }

    fn open(&mut self, plan: &Plan, call: WorkId, agent: AgentId, counted: bool) {
        self.close(plan, call, &Close::Lost);
        let reserved = Reserved::for_agent(plan, agent);
        self.reserved_cost = self.reserved_cost.plus(reserved.cost.unwrap_or_default());
        self.reserved_tokens = self.reserved_tokens.saturating_add(reserved.tokens);
        self.uncounted += u64::from(!counted);
        self.spent.requests += u64::from(counted);
        let open = Open { agent, counted, reserved };
        self.open.insert(call, open);
    }

    /// Takes back the reservation of a call.
    fn release(&mut self, call: WorkId) -> Option<Open> {
        let open = self.open.remove(&call)?;
        self.reserved_cost = self.reserved_cost.minus(open.reserved.cost.unwrap_or_default());
        self.reserved_tokens = self.reserved_tokens.saturating_sub(open.reserved.tokens);
        self.uncounted -= u64::from(!open.counted);
        Some(open)
    }

    fn hold(&mut self, call: WorkId, agent: AgentId) {
        if let Some(open) = self.release(call) {
            self.spent.requests -= u64::from(open.counted);
        }
        self.held.insert(call, agent);
    }

    /// The agent was reached: from here on it is a request.
    fn count_request(&mut self, call: WorkId) {
        if let Some(open) = self.open.get_mut(&call) {
            self.uncounted -= u64::from(!open.counted);
            open.counted = true;
            self.spent.requests += 1;
        }
    }

    fn count_more_requests(&mut self, call: WorkId, tools: Option<&ToolLedgerRef>) {
        if let Some(tools) = tools.filter(|_| self.is_open(call)) {
            self.spent.requests += u64::from(tools.more_requests());
        }
    }

    fn close_failed(&mut self, plan: &Plan, call: WorkId, event: &AskEvent) {
        let AskEvent::Failed { class, used, never_began, .. } = event else {
            return;
        };
        let Some(Open { agent, counted, .. }) = self.open.get(&call) else {
            return;
        };
        let how = match used {
            Some(used) => {
                self.spent.requests += u64::from(used.tools.more_requests());
                Close::Told(&used.usage, false)
            }
            None if *never_began => {
                self.spent.requests -= u64::from(*counted);
                Close::Nothing
            }
            None if used_nothing(plan, *agent, *class) => Close::Nothing,
            None => Close::Lost,
        };
        self.close(plan, call, &how);
    }

    fn close(&mut self, plan: &Plan, call: WorkId, how: &Close<'_>) {
        self.held.remove(&call);
        if let Some(open) = self.release(call) {
            self.book_for_good(plan, &open, how);
        }
    }

    /// Nobody waits for a call any more: it is charged as lost until its end says what it used.
    pub fn drop_call(&mut self, plan: &Plan, call: WorkId) {
        self.held.remove(&call);
        if let Some(open) = self.release(call) {
            let unknown = self.book(plan, &open, &Close::Lost);
            self.dropped.insert(call, Dropped { open, unknown });
        }
    }

    /// A call has ended for which nobody waits.
    fn settle(&mut self, plan: &Plan, call: WorkId, usage: &Usage, requests: i32) {
        self.drop_call(plan, call);
        let Some(Dropped { open, unknown }) = self.dropped.remove(&call) else {
            return;
        };
        let spent = &mut self.spent;
        spent.charged = spent.charged.minus(unknown.charged);
        spent.untold -= u64::from(unknown.untold);
        spent.requests = spent.requests.saturating_add_signed(requests.into());
        let is_claim = matches!(call.work, TaskWork::Turn(..)) && is_claim(plan, open.agent);
        let how = match i32::from(open.counted) + requests {
            ..=0 => Close::Nothing,
            _ => Close::Told(usage, is_claim),
        };
        self.book_for_good(plan, &open, &how);
    }

    /// An agent with a dropped call of which something is not known.
    fn dropped_with(&self, is_meant: impl Fn(&Unknown) -> bool) -> Option<AgentId> {
        let mut dropped = self.dropped.values();
        let found = dropped.find(|dropped| is_meant(&dropped.unknown));
        found.map(|dropped| dropped.open.agent)
    }

    fn book_for_good(&mut self, plan: &Plan, open: &Open, how: &Close<'_>) {
        let unknown = self.book(plan, open, how);
        if unknown.tokens {
            self.unknown_tokens.get_or_insert(open.agent);
        }
        if unknown.cost {
            self.unknown_cost.get_or_insert(open.agent);
        }
    }

    /// Adds what a call used to what was spent.
    fn book(&mut self, plan: &Plan, open: &Open, how: &Close<'_>) -> Unknown {
        let nothing_told = Usage::default();
        let usage = match how {
            // Whatever was not even started used nothing.
            Close::Lost if !open.counted => return Unknown::default(),
            Close::Nothing => return Unknown::default(),
            Close::Told(usage, claimed) => {
                if *claimed {
                    self.spent.claimed = self.spent.claimed.plus(usage.cost.unwrap_or_default());
                }
                *usage
            }
            Close::Lost => &nothing_told,
        };
        self.spent.add(usage);
        let tokens = usage.input_tokens.is_none() || usage.output_tokens.is_none();
        let most = open.reserved.cost.filter(|_| usage.cost.is_none());
        let charged = most.unwrap_or_default();
        let priced = !plan.rules.prices.is_empty() || plan.rules.budget.max_cost.is_some();
        let untold = tokens || (priced && usage.cost.is_none());
        self.spent.charged = self.spent.charged.plus(charged);
        self.spent.untold += u64::from(untold);
        Unknown { charged, cost: usage.cost.is_none() && most.is_none(), tokens, untold }
    }
}

fn is_echo(plan: &Plan, agent: AgentId) -> bool {
    plan.agent(agent).spec.adapter == Adapter::Echo
}

/// Whether what an agent says of itself is only its word: a plain command's result file.
fn is_claim(plan: &Plan, agent: AgentId) -> bool {
    plan.agent(agent).spec.adapter == Adapter::Command
}

/// Whether a call that failed used nothing. A provider that refused served nothing; one that went silent may have.
pub fn used_nothing(plan: &Plan, agent: AgentId, class: FailureClass) -> bool {
    let behind_http = plan.agent(agent).spec.adapter.is_http();
    (behind_http && class != FailureClass::Timeout) || is_echo(plan, agent)
}
