//! Work that is asked for: who is asked, what is run, who is asked once more, who is not waited for any more.
//!
//! A rule that needs somebody's word asks here and goes on where the word comes back: `ask`, or `jobs`. An ask ends with the
//! task's next transition, so a rule that moves the task and asks does it in this order.

use crate::domain::{AgentId, AskId, FailureClass, Purpose, Timestamp};
use crate::engine::event::{AskEvent, Event, WorkEvent};
use crate::engine::job::Job;
use crate::engine::state::Ask;

use super::draft::Draft;

/// Asks for work of the task that is neither a turn nor a question to an agent.
pub fn run(draft: &mut Draft<'_>, job: Job) {
    draft.emit(Event::Work(draft.id, WorkEvent::Requested(job)));
}

/// Puts a call to an agent on record.
pub fn ask(draft: &mut Draft<'_>, purpose: Purpose, agent: AgentId) {
    let id = AskId { task: draft.id, number: draft.task.work.asked + 1, attempt_try: 1 };
    draft.emit(Event::Ask(id, AskEvent::Requested { purpose, agent, strict: None, not_before: None }));
}

/// Asks for the same once more: the same agent, or one that is asked instead.
pub fn ask_again(
    draft: &mut Draft<'_>,
    open: &Ask,
    agent: AgentId,
    strict: Option<String>,
    not_before: Option<Timestamp>,
) {
    let mut purpose = open.purpose;
    // A judge that is alone in its stage answers a strict question in a further round: a call of its own.
    if strict.is_some()
        && open.strict.is_none()
        && let Purpose::Grade { round } | Purpose::Decompose { round } | Purpose::Stage { round, .. } =
            &mut purpose
    {
        *round += 1;
    }
    let id = if purpose == open.purpose {
        AskId { attempt_try: open.id.attempt_try + 1, ..open.id }
    } else {
        AskId { number: draft.task.work.asked + 1, attempt_try: 1, ..open.id }
    };
    draft.emit(Event::Ask(id, AskEvent::Requested { purpose, agent, strict, not_before }));
}

/// Ends the wait for an agent that was asked.
pub fn give_up(draft: &mut Draft<'_>, open: &Ask, class: FailureClass, message: String) {
    draft.emit(Event::Ask(
        open.id,
        AskEvent::Failed {
            purpose: open.purpose,
            agent: open.agent,
            gave_up: true,
            class,
            message,
            used: None,
            until: None,
            never_began: false,
        },
    ));
}

/// The limits that agents met have reset: they are asked again.
pub fn ask_limited_again(draft: &mut Draft<'_>) {
    let limited = draft.task.work.asks.iter().filter(|open| open.window.is_some());
    for open in limited.cloned().collect::<Vec<_>>() {
        ask_again(draft, &open, open.agent, open.strict.clone(), None);
    }
}

/// Nobody waits for the judges that are out: their calls are given up.
pub fn call_off(draft: &mut Draft<'_>) {
    let judges = draft.task.work.asks.iter().filter(|open| open.purpose.is_judging());
    for open in judges.cloned().collect::<Vec<_>>() {
        let why = "cancelled: reviews are switched off".to_owned();
        give_up(draft, &open, FailureClass::Unknown, why);
    }
}
