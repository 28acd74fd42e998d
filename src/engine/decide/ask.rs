//! Agents that are asked something: reviewers and everybody else who says one thing in a fixed form (section 13).
//!
//! A rule that needs somebody's word calls [`ask`] and goes on in [`conclude`], the one place where a purpose meets
//! its rule. Request retries are counted here, and who is asked instead. An ask ends with the task's next transition, so a rule that
//! moves the task and asks does it in this order. To add a purpose: a variant of [`Purpose`] and its answers in
//! [`Advice`], its question and reader in `review::questions`, its row in `engine::policy`, and the arm below.

use crate::domain::{Advice, AgentId, AskId, FailureClass, Purpose, SeatPlace, Timestamp};
use crate::engine::event::{AskEvent, Event, TaskEvent};
use crate::engine::fact::AskFailure;
use crate::engine::ledger::CallId;
use crate::engine::payload::{FileRef, ReplyRef};
use crate::engine::policy::{WorkKind, policy};
use crate::engine::stages::{Speaker, what_it_lacks};
use crate::engine::state::{Ask, Seat, State};
use crate::mission::eligibility::{independence, next_judge};
use crate::mission::independence::{Dependence, Mind};

use super::approvals;
use super::budget::{self, Told};
use super::deferral;
use super::draft::Draft;
use super::turns::pause_before_retry;
use super::{dependencies, pipeline, questions};

/// Asks an agent.
pub(super) fn ask(draft: &mut Draft<'_>, purpose: Purpose, agent: AgentId) {
    let id = AskId {
        task: draft.id,
        number: draft.task.work.asked + 1,
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
        let settled = budget::settle(state, CallId::ask(id), &Told::by_reply(reply));
        return settled.into_iter().collect();
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
        .then(|| dependence(&draft, open.agent, model))
        .flatten();
    let who = &state.plan.agent(open.agent).name;
    match (open.purpose, dependence) {
        (Purpose::Score(_), Some(why)) => {
            // Asked again it would be answered by the same model.
            give_up(&mut draft, &open, format!("'{who}' is not independent: {why}"));
            pipeline::seat_ended(&mut draft, now);
        }
        (purpose, Some(why)) => {
            let agent = Some(open.agent);
            pipeline::depends(
                &mut draft,
                purpose,
                (who, &why.to_string()),
                Speaker { agent, model },
            );
        }
        // One that was asked again while it still knew what it had seen has had its reprompt.
        (Purpose::Score(_), None) => {
            let was_asked_again = reply.tools.as_deref().is_some_and(|tools| tools.asked_again);
            seat_replied(&mut draft, &open, advice, was_asked_again, now);
        }
        // Of nobody else it is asked.
        (_, _) => conclude(&mut draft, &open, Ok(advice), model, now),
    }
    draft.into_events()
}

/// A reviewer replied: it is asked once more where its reply lacks something, and has not been asked again.
fn seat_replied(draft: &mut Draft<'_>, open: &Ask, advice: &Advice, was_asked_again: bool, now: Timestamp) {
    let lacking = what_it_lacks(draft.view(), advice);
    let reprompts = u32::from(open.strict.is_some() || was_asked_again);
    let is_asked_again = reprompts < policy(WorkKind::Ask(open.purpose)).reprompts;
    match lacking.filter(|_| is_asked_again) {
        Some(why) => ask_again(draft, open, open.agent, Some(why), None),
        None => pipeline::seat_ended(draft, now),
    }
}

fn seat<'d>(draft: &'d Draft<'_>, place: SeatPlace) -> Option<&'d Seat> {
    draft.task.judging()?.seats.get(place.seat as usize)
}

/// What keeps a reviewer's word from counting, by the models that the providers say they used (section 8).
fn dependence(draft: &Draft<'_>, reviewer: AgentId, returned: Option<&str>) -> Option<Dependence> {
    let plan = draft.plan();
    let rule = independence(plan, draft.id);
    let reviewer = Mind::of(plan.agent(reviewer), returned);
    let depends_on =
        |agent: AgentId, model: Option<&str>| reviewer.depends_on(&Mind::of(plan.agent(agent), model), rule);
    if plan.route(draft.id).is_none() {
        return depends_on(plan.task(draft.id).agent, draft.task.output.model.as_deref());
    }
    // A verification judges the work of others.
    let mut judged = plan.judged(draft.id).map(|id| draft.state.standing(id));
    judged.find_map(|id| {
        let model = draft.state.task(id).output.model.as_deref();
        depends_on(plan.task(id).agent, model)
    })
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
            never_began: false,
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
        let told = match failure.used.as_deref() {
            Some(used) => Told {
                requests: 1 + used.tools.more_requests(),
                usage: used.usage,
                ..Told::default()
            },
            None => Told::by_failure(failure.class, failure.never_began),
        };
        let settled = budget::settle(state, CallId::ask(failure.id), &told);
        return settled.into_iter().collect();
    };
    let pause = pause_before_retry(open.failed_requests, failure.retry_after, failure.jitter);
    let most = policy(WorkKind::Ask(open.purpose)).request_retries;
    let may_retry = failure.class.request_retried() && open.failed_requests < most;
    let pause = pause.filter(|_| may_retry);
    // What a reviewer said first counts, where it did.
    let has_said = open
        .purpose
        .seat()
        .and_then(|place| seat(&draft, place))
        .is_some_and(|seat| seat.first.is_some());
    let fallback = fallback(&draft, &open).filter(|_| !failure.ours && !has_said);
    let is_limited = failure.class == FailureClass::UsageWindow && fallback.is_none() && !has_said;
    let until =
        is_limited.then(|| deferral::resets(failure.retry_after, draft.task.course.streak.windows, now));
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
            never_began: failure.never_began,
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
            conclude(&mut draft, &open, Err(&failure.message), None, now);
        }
    }
    draft.into_events()
}

/// The limits that agents met have reset: they are asked again.
pub(super) fn ask_limited_again(draft: &mut Draft<'_>) {
    let limited = draft.task.work.asks.iter().filter(|open| open.window.is_some());
    for open in limited.cloned().collect::<Vec<_>>() {
        ask_again(draft, &open, open.agent, open.strict.clone(), None);
    }
}

/// Who is asked instead of an agent that cannot be reached.
fn fallback(draft: &Draft<'_>, open: &Ask) -> Option<AgentId> {
    if !policy(WorkKind::Ask(open.purpose)).fallback {
        return None;
    }
    let (first, step) = match open.purpose {
        Purpose::Score(place) => {
            let first = seat(draft, place).and_then(|seat| seat.instead_of);
            (first.unwrap_or(open.agent), None)
        }
        Purpose::Grade { .. } => (draft.task_plan().verification()?.grader?, None),
        Purpose::Decompose { .. } => (draft.task_plan().verification()?.decomposer?, None),
        Purpose::Scrutinise { step, .. } => (draft.task_plan().step_agent(step)?, Some(step)),
        Purpose::Confirm | Purpose::Answer | Purpose::Resolve { .. } | Purpose::Approve { .. } => {
            return None;
        }
    };
    next_judge(draft.plan(), draft.id, first, open.agent, step)
}

/// What the agent's word leads to; `Err` says in words why there is none, and that there will be none.
fn conclude(
    draft: &mut Draft<'_>,
    open: &Ask,
    advice: Result<&Advice, &str>,
    model: Option<&str>,
    now: Timestamp,
) {
    match open.purpose {
        // Its reply has been heard, or nothing is to be expected of it.
        Purpose::Score(_) => pipeline::seat_ended(draft, now),
        Purpose::Confirm => questions::confirmed(draft, advice, now),
        Purpose::Answer => questions::advised(draft, open.agent, advice, now),
        Purpose::Resolve { dependency } => dependencies::resolved(draft, dependency, advice),
        Purpose::Approve { number, approver } => approvals::advised(draft, number, approver, advice, now),
        Purpose::Decompose { .. } | Purpose::Grade { .. } | Purpose::Scrutinise { .. } => {
            let agent = Some(open.agent);
            pipeline::advised(draft, open.purpose, advice, Speaker { agent, model });
        }
    }
}

/// Nobody waits for the judges that are out: their calls are given up.
pub(super) fn call_off(draft: &mut Draft<'_>) {
    let judges = draft
        .task
        .work
        .asks
        .iter()
        .filter(|open| open.purpose.is_judging());
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
                never_began: false,
            },
        ));
    }
}

/// The ask that a reply or failure belongs to, if its call is still out.
fn asked(state: &State, id: AskId) -> Option<(Draft<'_>, Ask)> {
    let task = state.tasks.get(id.task.index())?;
    let is_out = |open: &&Ask| open.id == id && open.window.is_none();
    let open = task.work.asks.iter().find(is_out)?;
    Some((Draft::new(state, id.task), open.clone()))
}
