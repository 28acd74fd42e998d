//! Agents that are consulted: neither worker nor reviewer, they are asked one thing in a fixed form (section 13).
//!
//! A rule that needs somebody's word calls [`ask`] and goes on in [`conclude`], the one place where a purpose meets
//! its rule. The engine counts request retries here. A consult ends with the task's next transition, so a rule that
//! moves the task and asks does it in this order. To add a purpose: a variant of [`Purpose`] and its answers in
//! [`Advice`], their reading in `judging::advice`, the question in `review::consult`, and the arm below.

use crate::domain::{Advice, AgentId, ConsultId, Purpose, Timestamp};
use crate::engine::event::Event;
use crate::engine::input::ConsultFailure;
use crate::engine::payload::ReplyRef;
use crate::engine::state::{Consult, State};

use super::approvals;
use super::draft::Draft;
use super::turns::{MAX_REQUEST_RETRIES, pause_before_retry};
use super::{dependencies, questions, verification};

/// Asks an agent.
pub(super) fn ask(draft: &mut Draft<'_>, purpose: Purpose, agent: AgentId) {
    let id = ConsultId {
        task: draft.id,
        number: draft.task.consulted + 1,
        attempt_try: 1,
    };
    draft.emit(Event::ConsultRequested {
        id,
        purpose,
        agent,
        not_before: None,
    });
}

/// The agent replied.
pub(super) fn replied(
    state: &State,
    id: ConsultId,
    reply: &ReplyRef,
    advice: &Advice,
    now: Timestamp,
) -> Vec<Event> {
    let Some((mut draft, open)) = asked(state, id) else {
        return Vec::new();
    };
    draft.emit(Event::ConsultReplied {
        id,
        reply: reply.clone(),
        advice: advice.clone(),
    });
    conclude(&mut draft, &open, Ok(advice), now);
    draft.into_events()
}

/// The agent could not be asked: it is asked again within the bounds, or nothing can be expected of it.
pub(super) fn failed(state: &State, failure: &ConsultFailure, now: Timestamp) -> Vec<Event> {
    let Some((mut draft, open)) = asked(state, failure.id) else {
        return Vec::new();
    };
    let pause = pause_before_retry(open.failed_requests, failure.retry_after, failure.jitter);
    let may_retry = failure.class.request_retried() && open.failed_requests < MAX_REQUEST_RETRIES;
    let pause = pause.filter(|_| may_retry);
    draft.emit(Event::ConsultFailed {
        id: failure.id,
        gave_up: pause.is_none(),
        class: failure.class,
        message: failure.message.clone(),
        used: failure.used.clone(),
    });
    match pause {
        Some(pause) => draft.emit(Event::ConsultRequested {
            id: ConsultId {
                attempt_try: failure.id.attempt_try + 1,
                ..failure.id
            },
            purpose: open.purpose,
            agent: open.agent,
            not_before: Some(now.plus(pause)),
        }),
        None => conclude(&mut draft, &open, Err(&failure.message), now),
    }
    draft.into_events()
}

/// What the agent's word leads to; `Err` says in words why there is none.
fn conclude(draft: &mut Draft<'_>, consult: &Consult, advice: Result<&Advice, &str>, now: Timestamp) {
    match consult.purpose {
        Purpose::Confirm => questions::confirmed(draft, advice),
        Purpose::Answer => questions::advised(draft, consult.agent, advice),
        Purpose::Resolve { dependency } => dependencies::resolved(draft, dependency, advice),
        Purpose::Approve { number, approver } => approvals::advised(draft, number, approver, advice, now),
        Purpose::Grade { round } => verification::advised(draft, round, advice),
    }
}

/// The consult that a reply or failure belongs to, if its call is still out.
fn asked(state: &State, id: ConsultId) -> Option<(Draft<'_>, Consult)> {
    let task = state.tasks.get(id.task.index())?;
    let open = task.consults.iter().find(|open| open.id == id)?;
    Some((Draft::new(state, id.task), *open))
}
