//! Agents that are asked something: reviewers and everybody else who says one thing in a fixed form (section 13).
//!
//! A rule that needs somebody's word calls [`ask`] and goes on in [`conclude`], the one place where a purpose meets
//! its rule. Request retries are counted here, and who is asked instead. An ask ends with the task's next transition, so a rule that
//! moves the task and asks does it in this order. To add a purpose: a variant of [`Purpose`] and its answers in
//! [`Advice`], their reading in `judging::advice`, the question in `review::consult`, and the arm below.

use crate::domain::{Advice, AgentId, AskId, FailureClass, Purpose, Timestamp};
use crate::engine::event::{AskEvent, Event, TaskEvent};
use crate::engine::fact::AskFailure;
use crate::engine::payload::{FileRef, ReplyRef};
use crate::engine::state::{Ask, State};
use crate::judging::eligibility::{grader, next_judge};

use super::approvals;
use super::deferral;
use super::draft::Draft;
use super::later_stages::Speaker;
use super::turns::{MAX_REQUEST_RETRIES, pause_before_retry};
use super::{dependencies, later_stages, questions, seats, verification};

/// Asks an agent.
pub(super) fn ask(draft: &mut Draft<'_>, purpose: Purpose, agent: AgentId) {
    let id = AskId {
        task: draft.id,
        number: draft.task.asked_agents + 1,
        attempt_try: 1,
    };
    draft.emit(Event::Ask(
        id,
        AskEvent::Requested {
            purpose,
            agent,
            strict: None,
            not_before: None,
        },
    ));
}

/// Asks for the same once more: the same agent, or one that is asked instead.
pub(super) fn ask_again(
    draft: &mut Draft<'_>,
    open: &Ask,
    agent: AgentId,
    strict: Option<String>,
    not_before: Option<Timestamp>,
) {
    draft.emit(Event::Ask(
        AskId {
            attempt_try: open.id.attempt_try + 1,
            ..open.id
        },
        AskEvent::Requested {
            purpose: open.purpose,
            agent,
            strict,
            not_before,
        },
    ));
}

/// The agent replied.
pub(super) fn replied(
    state: &State,
    id: AskId,
    reply: &ReplyRef,
    advice: &Advice,
    now: Timestamp,
) -> Vec<Event> {
    let Some((mut draft, open)) = asked(state, id) else {
        return Vec::new();
    };
    draft.emit(Event::Ask(
        id,
        AskEvent::Replied {
            purpose: open.purpose,
            agent: open.agent,
            reply: reply.clone(),
            advice: advice.clone(),
        },
    ));
    let model = reply.model.as_deref();
    // What one says that is not independent after all does not count.
    let dependence = open
        .purpose
        .is_judging()
        .then(|| seats::dependence(&draft, open.agent, model))
        .flatten();
    let who = &state.plan.agent(open.agent).name;
    match (open.purpose, dependence) {
        (Purpose::Score(_), Some(why)) => {
            // Asked again it would be answered by the same model.
            give_up(&mut draft, &open, format!("'{who}' is not independent: {why}"));
            seats::settle(&mut draft, now);
        }
        (Purpose::Scrutinise { step, round }, Some(why)) => {
            let speaker = Speaker::of(open.agent, model);
            later_stages::depends(&mut draft, step, round, &why.to_string(), speaker);
        }
        (Purpose::Grade { round } | Purpose::Decompose { round }, Some(why)) => {
            let why = format!("'{who}' is not independent: {why}");
            verification::depends(&mut draft, round, &why);
        }
        // One that was asked again while it still knew what it had seen has had its reprompt.
        (Purpose::Score(_), None) => {
            let was_asked_again = reply.tools.as_deref().is_some_and(|tools| tools.asked_again);
            seats::replied(&mut draft, &open, advice, was_asked_again, now);
        }
        // Of nobody else it is asked.
        (_, _) => conclude(&mut draft, &open, Ok(advice), model, now),
    }
    draft.into_events()
}

fn give_up(draft: &mut Draft<'_>, open: &Ask, message: String) {
    draft.emit(Event::Ask(
        open.id,
        AskEvent::Failed {
            purpose: open.purpose,
            agent: open.agent,
            gave_up: true,
            class: FailureClass::PolicyBlocked,
            message,
            used: None,
            until: None,
        },
    ));
}

/// What is handed over to an agent is on record.
pub(super) fn handed_over(state: &State, id: AskId, file: &FileRef) -> Vec<Event> {
    let open = asked(state, id).map(|(_, open)| open);
    let recorded = open.map(|open| {
        Event::Ask(
            id,
            AskEvent::HandedOver {
                agent: open.agent,
                file: file.clone(),
            },
        )
    });
    recorded.into_iter().collect()
}

/// The agent could not be asked: it is asked again within the bounds, another one is asked, or nothing can be expected of it.
pub(super) fn failed(state: &State, failure: &AskFailure, now: Timestamp) -> Vec<Event> {
    let Some((mut draft, open)) = asked(state, failure.id) else {
        return Vec::new();
    };
    let pause = pause_before_retry(open.failed_requests, failure.retry_after, failure.jitter);
    let may_retry = failure.class.request_retried() && open.failed_requests < MAX_REQUEST_RETRIES;
    let pause = pause.filter(|_| may_retry);
    // What a reviewer said first counts, where it did.
    let has_said = open
        .purpose
        .seat()
        .is_some_and(|place| seats::has_said(&draft, place));
    let fallback = fallback(&draft, &open).filter(|_| !failure.ours && !has_said);
    let is_limited = failure.class == FailureClass::UsageWindow && fallback.is_none() && !has_said;
    let until = is_limited.then(|| deferral::resets(failure.retry_after, draft.task.streak.windows, now));
    draft.emit(Event::Ask(
        failure.id,
        AskEvent::Failed {
            purpose: open.purpose,
            agent: open.agent,
            gave_up: pause.is_none() && until.is_none(),
            class: failure.class,
            message: failure.message.clone(),
            used: failure.used.clone(),
            until,
        },
    ));
    match (until, pause, fallback) {
        (Some(_), ..) => deferral::judges_wait(&mut draft, now),
        (None, Some(pause), _) => {
            let not_before = Some(now.plus(pause));
            ask_again(&mut draft, &open, open.agent, open.strict.clone(), not_before);
        }
        (None, None, Some(next)) => {
            draft.emit(Event::Task(
                draft.id,
                TaskEvent::FellBack {
                    from: open.agent,
                    to: next,
                    class: failure.class,
                    message: failure.message.clone(),
                },
            ));
            ask_again(&mut draft, &open, next, None, None);
        }
        (None, None, None) => {
            let again = failure.class.request_retried();
            conclude(&mut draft, &open, Err((&failure.message, again)), None, now);
        }
    }
    draft.into_events()
}

/// The limits that agents met have reset: they are asked again.
pub(super) fn ask_limited_again(draft: &mut Draft<'_>) {
    let limited = draft.task.asks.iter().filter(|open| open.window.is_some());
    for open in limited.cloned().collect::<Vec<_>>() {
        ask_again(draft, &open, open.agent, open.strict.clone(), None);
    }
}

/// Who is asked instead of a judge that cannot be reached. Whoever answers for the mission, or agrees to something, is asked
/// by name: nobody else can.
fn fallback(draft: &Draft<'_>, open: &Ask) -> Option<AgentId> {
    let (first, step) = match open.purpose {
        Purpose::Score(place) => (seats::first_asked(draft, place).unwrap_or(open.agent), None),
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
    open: &Ask,
    advice: Result<&Advice, (&str, bool)>,
    model: Option<&str>,
    now: Timestamp,
) {
    let may_pass = advice.err().is_none_or(|(_, may_pass)| may_pass);
    let advice = advice.map_err(|(why, _)| why);
    match open.purpose {
        // Its reply has been heard, or nothing is to be expected of it.
        Purpose::Score(_) => seats::settle(draft, now),
        Purpose::Confirm => questions::confirmed(draft, advice, now),
        Purpose::Answer => questions::advised(draft, open.agent, advice, now),
        Purpose::Resolve { dependency } => dependencies::resolved(draft, dependency, advice),
        Purpose::Approve { number, approver } => approvals::advised(draft, number, approver, advice, now),
        Purpose::Decompose { round } => verification::decomposed(draft, round, advice, may_pass),
        Purpose::Grade { round } => verification::advised(draft, round, open.agent, advice, may_pass),
        Purpose::Scrutinise { step, round } => {
            let speaker = Speaker::of(open.agent, model);
            later_stages::advised(draft, step, round, advice, speaker, may_pass);
        }
    }
}

/// Nobody waits for the judges that are out: their calls are given up.
pub(super) fn call_off(draft: &mut Draft<'_>) {
    let judges = draft.task.asks.iter().filter(|open| open.purpose.is_judging());
    for open in judges.cloned().collect::<Vec<_>>() {
        draft.emit(Event::Ask(
            open.id,
            AskEvent::Failed {
                purpose: open.purpose,
                agent: open.agent,
                gave_up: true,
                class: FailureClass::Unknown,
                message: "cancelled: reviews are switched off".to_owned(),
                used: None,
                until: None,
            },
        ));
    }
}

/// The ask that a reply or failure belongs to, if its call is still out.
fn asked(state: &State, id: AskId) -> Option<(Draft<'_>, Ask)> {
    let task = state.tasks.get(id.task.index())?;
    let is_out = |open: &&Ask| open.id == id && open.window.is_none();
    let open = task.asks.iter().find(is_out)?;
    Some((Draft::new(state, id.task), open.clone()))
}
