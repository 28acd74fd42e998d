//! Agents that are consulted: neither worker nor reviewer, they are asked one thing in a fixed form (section 13).
//!
//! A rule that needs somebody's word calls [`ask`] and goes on in [`conclude`], the one place where a purpose meets
//! its rule. The engine counts request retries here. A consult ends with the task's next transition, so a rule that
//! moves the task and asks does it in this order. To add a purpose: a variant of [`Purpose`] and its answers in
//! [`Advice`], their reading in `judging::advice`, the question in `review::consult`, and the arm below.

use crate::domain::{Advice, AgentId, ConsultId, FailureClass, Purpose, Timestamp};
use crate::engine::event::Event;
use crate::engine::fact::ConsultFailure;
use crate::engine::payload::{FileRef, ReplyRef};
use crate::engine::state::{Consult, State};
use crate::judging::eligibility::{grader, next_judge};

use super::approvals;
use super::deferral;
use super::draft::Draft;
use super::scrutiny::Speaker;
use super::turns::{MAX_REQUEST_RETRIES, pause_before_retry};
use super::{dependencies, questions, scrutiny, seats, verification};

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
    let model = reply.model.as_deref();
    // What one says that is not independent after all does not count.
    let dependence = open
        .purpose
        .is_judging()
        .then(|| seats::dependence(&draft, open.agent, model))
        .flatten();
    match (open.purpose, dependence) {
        (Purpose::Scrutinise { step, round }, Some(why)) => {
            let speaker = Speaker::of(open.agent, model);
            scrutiny::depends(&mut draft, step, round, &why.to_string(), speaker);
        }
        (Purpose::Grade { round } | Purpose::Decompose { round }, Some(why)) => {
            let who = &state.plan.agent(open.agent).name;
            let why = format!("'{who}' is not independent: {why}");
            verification::depends(&mut draft, round, &why);
        }
        // Of nobody else it is asked.
        (_, _) => conclude(&mut draft, &open, Ok(advice), model, now),
    }
    draft.into_events()
}

/// What is handed over to an agent is on record.
pub(super) fn handed_over(state: &State, id: ConsultId, file: &FileRef) -> Vec<Event> {
    let open = asked(state, id).map(|(_, open)| open);
    let recorded = open.map(|open| Event::HandedOver {
        id,
        agent: open.agent,
        file: file.clone(),
    });
    recorded.into_iter().collect()
}

/// The agent could not be asked: it is asked again within the bounds, or nothing can be expected of it.
pub(super) fn failed(state: &State, failure: &ConsultFailure, now: Timestamp) -> Vec<Event> {
    let Some((mut draft, open)) = asked(state, failure.id) else {
        return Vec::new();
    };
    let pause = pause_before_retry(open.failed_requests, failure.retry_after, failure.jitter);
    let may_retry = failure.class.request_retried() && open.failed_requests < MAX_REQUEST_RETRIES;
    let pause = pause.filter(|_| may_retry);
    let fallback = stand_in(&draft, &open).filter(|_| !failure.ours);
    let is_limited = failure.class == FailureClass::UsageWindow && fallback.is_none();
    let until = is_limited.then(|| deferral::resets(failure.retry_after, draft.task.streak.windows, now));
    draft.emit(Event::ConsultFailed {
        id: failure.id,
        gave_up: pause.is_none() && until.is_none(),
        class: failure.class,
        message: failure.message.clone(),
        used: failure.used.clone(),
        until,
    });
    if until.is_some() {
        deferral::judges_wait(&mut draft, now);
        return draft.into_events();
    }
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
        None => match fallback {
            Some(next) => {
                draft.emit(Event::FellBack {
                    task: draft.id,
                    from: open.agent,
                    to: next,
                    class: failure.class,
                    message: failure.message.clone(),
                });
                ask(&mut draft, open.purpose, next);
            }
            None => {
                let again = failure.class.request_retried();
                conclude(&mut draft, &open, Err((&failure.message, again)), None, now);
            }
        },
    }
    draft.into_events()
}

/// The limits that consulted agents met have reset: they are asked again.
pub(super) fn ask_limited_again(draft: &mut Draft<'_>) {
    let limited = draft.task.consults.iter().filter(|open| open.window.is_some());
    for open in limited.copied().collect::<Vec<_>>() {
        draft.emit(Event::ConsultRequested {
            id: ConsultId {
                attempt_try: open.id.attempt_try + 1,
                ..open.id
            },
            purpose: open.purpose,
            agent: open.agent,
            not_before: None,
        });
    }
}

/// Who is asked instead of a judge that cannot be reached. Whoever answers for the mission, or agrees to something, is asked
/// by name: nobody stands in for them.
fn stand_in(draft: &Draft<'_>, open: &Consult) -> Option<AgentId> {
    let (first, step) = match open.purpose {
        Purpose::Grade { .. } => (grader(draft.plan(), draft.id)?, None),
        Purpose::Decompose { .. } => (draft.task_plan().verification.as_deref()?.decomposer?, None),
        Purpose::Scrutinise { step, .. } => (draft.task_plan().scrutiny.agent(step)?, Some(step)),
        Purpose::Confirm | Purpose::Answer | Purpose::Resolve { .. } | Purpose::Approve { .. } => {
            return None;
        }
    };
    next_judge(draft.plan(), draft.id, first, open.agent, step)
}

/// What the agent's word leads to; `Err` says in words why there is none, and whether the failure is of a kind that may pass:
/// only then is a judge asked in another round (section 13).
fn conclude(
    draft: &mut Draft<'_>,
    consult: &Consult,
    advice: Result<&Advice, (&str, bool)>,
    model: Option<&str>,
    now: Timestamp,
) {
    let may_pass = advice.err().is_none_or(|(_, may_pass)| may_pass);
    let advice = advice.map_err(|(why, _)| why);
    match consult.purpose {
        Purpose::Confirm => questions::confirmed(draft, advice, now),
        Purpose::Answer => questions::advised(draft, consult.agent, advice, now),
        Purpose::Resolve { dependency } => dependencies::resolved(draft, dependency, advice),
        Purpose::Approve { number, approver } => approvals::advised(draft, number, approver, advice, now),
        Purpose::Decompose { round } => verification::decomposed(draft, round, advice, may_pass),
        Purpose::Grade { round } => verification::advised(draft, round, consult.agent, advice, may_pass),
        Purpose::Scrutinise { step, round } => {
            let speaker = Speaker::of(consult.agent, model);
            scrutiny::advised(draft, step, round, advice, speaker, may_pass);
        }
    }
}

/// Nobody waits for the judges that are out: their calls are given up.
pub(super) fn call_off(draft: &mut Draft<'_>) {
    let judges = draft.task.consults.iter();
    let judges: Vec<ConsultId> = judges
        .filter(|open| open.purpose.is_judging())
        .map(|open| open.id)
        .collect();
    for id in judges {
        draft.emit(Event::ConsultFailed {
            id,
            gave_up: true,
            class: FailureClass::Unknown,
            message: "cancelled: reviews are switched off".to_owned(),
            used: None,
            until: None,
        });
    }
}

/// The consult that a reply or failure belongs to, if its call is still out.
fn asked(state: &State, id: ConsultId) -> Option<(Draft<'_>, Consult)> {
    let task = state.tasks.get(id.task.index())?;
    let is_out = |open: &&Consult| open.id == id && open.window.is_none();
    let open = task.consults.iter().find(is_out)?;
    Some((Draft::new(state, id.task), *open))
}
