//! The budget: room before a call, the price of what it used, and the end of the work when nothing is left (section 19).
//!
//! Other rules decide calls; what follows from the budget is decided here, in the same record. A call without room is
//! held: until calls that are out have left some, or until the next session.

use crate::domain::{AgentId, Millis, Money, TaskId, Timestamp, TurnId};
use crate::engine::apply;
use crate::engine::event::Ceiling;
use crate::engine::event::{AskEvent, BudgetEvent, Event, RunEvent, TurnEvent};
use crate::engine::event_payload::{ToolLedgerRef, Usage};
use crate::engine::fact::Fact;
use crate::engine::ledger::{CallAdmission, Ledger, decided, used_nothing};
use crate::engine::state::State;
use crate::engine::work::id::{TaskWork, WorkId};
use crate::mission::model::Adapter;
use crate::plan::Plan;

/// Fills in what calls cost, holds those without room, and starts the clock of a session.
pub fn follow_up(
    state: &State,
    mut events: Vec<Event>,
    last: Option<Timestamp>,
    now: Timestamp,
) -> Vec<Event> {
    for event in &mut events {
        price(state, event);
    }
    let resumes = matches!(events.first(), Some(Event::Run(RunEvent::Resumed(_))));
    if state.plan.rules.budget.is_none() {
        return events;
    }
    if resumes || matches!(events.first(), Some(Event::Run(RunEvent::Started(_)))) {
        return begin(state, events, last, now);
    }
    // What a decision closes leaves room for what it opens.
    let plan = &*state.plan;
    let mut ledger = state.ledger.clone();
    let mut admitted = Vec::with_capacity(events.len());
    for event in events {
        // Whether a turn has room was asked before it was decided.
        let call = decided(plan, &event).filter(|(call, _)| !matches!(call.work, TaskWork::Turn(..)));
        let judges =
            matches!(&event, Event::Ask(_, AskEvent::Requested { purpose, .. }) if purpose.is_judging());
        let room = call.map(|(_, agent)| ledger.room(plan, agent, judges));
        admitted.push(event);
        let mut more = Vec::new();
        if let Some((call, agent)) = call {
            match room {
                Some(CallAdmission::Exhausted(ceiling)) => {
                    more.extend(reached(&ledger, ceiling));
                    more.push(held(call, agent, false));
                }
                Some(CallAdmission::Wait) => more.push(held(call, agent, false)),
                Some(CallAdmission::Admitted) | None => {}
            }
        }
        for event in admitted.last().into_iter().chain(&more) {
            ledger.follow(plan, event);
        }
        admitted.extend(more);
    }
    admitted
}

/// Begins a session: its clock starts, and calls that are made again need room in the budget again.
fn begin(state: &State, mut events: Vec<Event>, last: Option<Timestamp>, now: Timestamp) -> Vec<Event> {
    if let Some(most) = state.plan.rules.budget.max_time {
        let (used, since) = state.ledger.time();
        let took = since.zip(last).map_or(Millis(0), |(since, last)| last.since(since));
        let used = Millis(used.0.saturating_add(took.0));
        events.push(Event::Budget(BudgetEvent::Clock {
            since: now,
            used,
            until: now.plus(Millis(most.0.saturating_sub(used.0))),
        }));
        if used >= most {
            events.push(Event::Budget(BudgetEvent::Exhausted { ceiling: Ceiling::Time }));
        }
    }
    let mut after = state.clone();
    events.iter().for_each(|event| apply(&mut after, event));
    let ids = after.plan.every_task_id();
    let waiting: Vec<(WorkId, AgentId)> = ids.flat_map(|id| after.task(id).calls_out()).collect();
    for (call, agent) in &waiting {
        apply(&mut after, &held(*call, *agent, false));
    }
    for (call, agent) in waiting {
        match after.ledger.room(&after.plan, agent, judges(&after, call)) {
            CallAdmission::Admitted => apply(&mut after, &held(call, agent, true)),
            CallAdmission::Wait => events.push(held(call, agent, false)),
            CallAdmission::Exhausted(ceiling) => {
                if let Some(reached) = reached(&after.ledger, ceiling) {
                    apply(&mut after, &reached);
                    events.push(reached);
                }
                events.push(held(call, agent, false));
            }
        }
    }
    events
}

fn held(call: WorkId, agent: AgentId, released: bool) -> Event {
    Event::Budget(BudgetEvent::Held { call, agent, released })
}

/// Whether what a task begins with has room now: a turn, or the verdict of a verification.
pub fn room(state: &State, id: TaskId) -> CallAdmission {
    let task = state.plan.task(id);
    state.ledger.room(&state.plan, task.agent, task.route.is_some())
}

/// Whether a call is for a verdict.
fn judges(state: &State, call: WorkId) -> bool {
    let ask = state.task(call.task).open_ask(call);
    ask.is_some_and(|ask| ask.purpose.is_judging())
}

/// The event that a limit is reached, unless that is on record.
fn reached(ledger: &Ledger, ceiling: Ceiling) -> Option<Event> {
    (ledger.limit() != Some(ceiling)).then_some(Event::Budget(BudgetEvent::Exhausted { ceiling }))
}

/// The events for a turn that is ready to start and has no room in the budget; `None` where it has.
pub fn holds_back(state: &State, turn: TurnId) -> Option<Vec<Event>> {
    let agent = state.plan.task(turn.task).agent;
    let held = held(WorkId::turn(turn), agent, false);
    match room(state, turn.task) {
        CallAdmission::Admitted => None,
        CallAdmission::Wait => Some(vec![held]),
        // The next session writes its prompt anew.
        CallAdmission::Exhausted(ceiling) => Some(reached(&state.ledger, ceiling).into_iter().collect()),
    }
}

/// The first call that has waited for room: it is made, or nothing is left. What waits for the next session holds up no verdict.
pub fn release(state: &State) -> Vec<Event> {
    let mut waiting = state.ledger.held();
    let first =
        waiting.find_map(|(call, agent)| match state.ledger.room(&state.plan, agent, judges(state, call)) {
            CallAdmission::Admitted => Some(vec![held(call, agent, true)]),
            CallAdmission::Wait => Some(Vec::new()),
            CallAdmission::Exhausted(ceiling) => reached(&state.ledger, ceiling).map(|event| vec![event]),
        });
    first.unwrap_or_default()
}

/// The run has worked as long as it may. The timer runs only while nothing else has ended the work.
pub fn time_is_up() -> Vec<Event> {
    vec![Event::Budget(BudgetEvent::Exhausted { ceiling: Ceiling::Time })]
}

/// A call has ended, and nobody waits for it: what it says is refused, and what it used is settled, once.
pub fn settle(state: &State, fact: &Fact) -> Option<Event> {
    let plan = &*state.plan;
    let with = |tools: Option<&ToolLedgerRef>| 1 + tools.map_or(0, ToolLedgerRef::more_requests);
    let refused = |class, never_began: bool| (u32::from(!never_began), Usage::default(), Some(class));
    let mut model = None;
    let (requests, mut usage, failed) = match fact {
        Fact::TurnRequestFailed { class, before_effect, .. } => refused(*class, *before_effect),
        Fact::TurnEnded(end) => {
            let tools = end.tools.as_deref();
            model = end.model.as_deref();
            // Whoever was answered in the middle of its work used something, though nobody may know how much.
            let is_silent = tools.is_none_or(|tools| tools.requests == 0);
            (with(tools), state.own_usage(end), end.exit.failure.filter(|_| is_silent))
        }
        Fact::AskReplied(said) => {
            let reply = &said.reply;
            model = reply.model.as_deref();
            (with(reply.tools.as_deref()), reply.usage, None)
        }
        Fact::AskFailed(failure) => match failure.used.as_deref() {
            Some(used) => (with(Some(&used.tools)), used.usage, None),
            None => refused(failure.class, failure.never_began),
        },
        _ => return None,
    };
    let call = fact.work()?;
    let (agent, counted) = state.ledger.without_end(call)?;
    if usage.is_none() && failed.is_some_and(|class| used_nothing(plan, agent, class)) {
        usage = Usage::ZERO;
    }
    fill(plan, agent, model, &mut usage);
    let requests = i32::try_from(requests).unwrap_or(i32::MAX) - i32::from(counted);
    let settled = BudgetEvent::Settled { call, usage, requests };
    (requests != 0 || !usage.is_none()).then_some(Event::Budget(settled))
}

/// Puts a price on what a call used, if its agent did not say what it cost.
fn price(state: &State, event: &mut Event) {
    let plan = &*state.plan;
    match event {
        Event::Turn(turn, TurnEvent::Finished(end)) => {
            fill(plan, plan.task(turn.task).agent, end.model.as_deref(), &mut end.usage);
        }
        Event::Ask(_, AskEvent::Replied(said)) => {
            let reply = &mut said.reply;
            fill(plan, said.agent, reply.model.as_deref(), &mut reply.usage);
        }
        Event::Ask(_, AskEvent::Failed { agent, used: Some(used), .. }) => {
            fill(plan, *agent, None, &mut used.usage)
        }
        _ => {}
    }
}

/// The model as the provider returned it has the first word, then the one that was asked for: a provider names
/// versions that no price table has.
fn fill(plan: &Plan, agent: AgentId, returned: Option<&str>, usage: &mut Usage) {
    if usage.cost.is_some() {
        return;
    }
    let spec = &plan.agent(agent).spec;
    if spec.adapter == Adapter::Echo {
        usage.cost = Some(Money::ZERO);
        return;
    }
    let models = returned.into_iter().chain(spec.model.as_deref());
    let price = models.into_iter().find_map(|model| plan.price(model));
    usage.cost = price.and_then(|price| price.of(usage.input_tokens, usage.output_tokens));
}
