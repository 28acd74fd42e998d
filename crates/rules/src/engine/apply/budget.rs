//! The budget follows what happens: which calls are still waited for (19).

use crate::domain::TaskId;
use crate::engine::event::{BudgetEvent, Event, RunEvent};
use crate::engine::state::State;
use crate::engine::timers::Timer;
use crate::engine::work::id::WorkId;

/// Follows one event, before the state changes by it.
pub fn follow(state: &mut State, event: &Event) {
    let plan = state.plan.clone();
    state.ledger.follow(&plan, event);
    match event {
        Event::Budget(BudgetEvent::Clock { until, .. }) => state.timers.set(Timer::Budget, *until),
        // What goes on behind it has no more time than before.
        Event::Budget(BudgetEvent::Exhausted { ceiling }) if ceiling.leaves_judging() => {}
        Event::Budget(BudgetEvent::Exhausted { .. })
        | Event::Run(RunEvent::Stopping(_) | RunEvent::Finished { .. }) => {
            state.timers.cancel(Timer::Budget);
        }
        Event::Run(RunEvent::Resumed(_)) => {
            let tasks = plan.every_task_id();
            let again = tasks.flat_map(|id| state.tasks[id.index()].calls_out());
            state.ledger.begin_again(&plan, again);
        }
        _ => {}
    }
}

/// Drops the calls that a task does not wait for any more: what they come to means nothing, and is paid for.
pub fn drop_what_nobody_waits_for(state: &mut State, id: TaskId) {
    let known = state.ledger.known_of(id);
    if known.is_empty() {
        return;
    }
    let coming = WorkId::turn(state.next_turn(id));
    let plan = state.plan.clone();
    for call in known {
        let is_wanted = state.is_out(call)
            || (call == coming && state.ledger.is_held(call) && state.task(id).is_between_turns());
        if !is_wanted {
            state.ledger.drop_call(&plan, call);
        }
    }
}
