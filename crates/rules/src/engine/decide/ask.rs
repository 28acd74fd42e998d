//! The word of agents that were asked: reviewers and everybody else who says one thing in a fixed form (section 13).
//!
//! [`conclude`] is the one place where a purpose meets its rule. Request retries are counted here, and who is asked
//! instead. To add a purpose: a variant of [`Purpose`] with its row and of [`Answer`], both in `domain::purpose`, its
//! question and reader in `review::questions`, and the arm below.

use crate::domain::{AgentId, Answer, AskId, Purpose, Timestamp};
use crate::engine::event::{AskEvent, Event, TaskEvent};
use crate::engine::event_payload::{FileRef, ReplyRef};
use crate::engine::fact::{AskFailure, AskReply};
use crate::engine::state::{Ask, State};
use crate::engine::work::id::WorkId;
use crate::engine::work::policy::{WorkKind, policy};
use crate::engine::work::retry::{self, FailedTry, Retry};
use crate::plan::eligibility::{candidates, independence};
use crate::plan::independence::{Dependence, ModelIdentity};

use super::approvals;
use super::deferral;
use super::draft::Draft;
use super::{dependencies, outgoing, pipeline, worker_questions};

/// Decides about a reply of an agent.
pub fn replied(state: &State, said: &AskReply, now: Timestamp) -> Vec<Event> {
    let Some((mut draft, open)) = asked(state, said.id) else {
        return Vec::new();
    };
    let (purpose, agent) = (open.purpose, open.agent);
    let replied = AskReply { purpose, agent, ..said.clone() };
    draft.emit(Event::Ask(said.id, AskEvent::Replied(replied)));
    let reply = &said.reply;
    let dependence = purpose.is_judging().then(|| dependence(&draft, agent, reply.model.as_deref()));
    match dependence.flatten() {
        Some(why) => pipeline::depends(&mut draft, &open, reply, why, now),
        None => conclude(&mut draft, &open, Ok(&said.answer), Some(reply), now),
    }
    draft.into_events()
}

/// Why a reviewer's word does not count, by the models that the providers say they used (section 8); `None`
/// where it does.
fn dependence(draft: &Draft<'_>, reviewer: AgentId, returned: Option<&str>) -> Option<Dependence> {
    let plan = draft.plan();
    let rule = independence(plan, draft.id);
    let reviewer = ModelIdentity::of(plan.agent(reviewer), returned);
    let depends_on = |agent: AgentId, model: Option<&str>| {
        reviewer.depends_on(&ModelIdentity::of(plan.agent(agent), model), rule)
    };
    // A verification judges the work of others.
    let is_node = plan.route(draft.id).is_some();
    let own = (!is_node).then_some(draft.id);
    let judged = is_node.then(|| plan.judged(draft.id)).into_iter().flatten();
    let judged = judged.map(|id| draft.state.effective_task(id));
    own.into_iter().chain(judged).find_map(|id| {
        let mut authors = draft.state.authors(id);
        authors.find_map(|(agent, model)| depends_on(agent, model))
    })
}

/// Puts on record what is handed over to an agent.
pub fn handed_over(state: &State, id: AskId, file: &FileRef) -> Vec<Event> {
    let open = asked(state, id).map(|(_, open)| open);
    let recorded =
        open.map(|open| Event::Ask(id, AskEvent::HandedOver { agent: open.agent, file: file.clone() }));
    recorded.into_iter().collect()
}

/// Decides about an agent that could not be asked: it is asked again within the bounds, another one is asked,
/// or nothing can be expected of it.
pub fn failed(state: &State, failure: &AskFailure, now: Timestamp) -> Vec<Event> {
    let Some((mut draft, open)) = asked(state, failure.id) else {
        return Vec::new();
    };
    // What a judge said first counts, where it did.
    let has_said = pipeline::has_said(&draft, open.purpose);
    let fallback = fallback(&draft, &open).filter(|_| !failure.ours && !has_said);
    let failed = FailedTry::of(failure.class, failure.retry_after, failure.jitter);
    let retry = match failed.leads_to(policy(WorkKind::Ask(open.purpose)), open.tries) {
        Retry::Window if fallback.is_some() || has_said => Retry::Never,
        retry => retry,
    };
    let resets = || retry::resets(failure.retry_after, draft.task.course.streak.windows, now);
    let until = (retry == Retry::Window).then(resets);
    draft.emit(Event::Ask(
        failure.id,
        AskEvent::Failed {
            purpose: open.purpose,
            agent: open.agent,
            gave_up: retry == Retry::Never,
            class: failure.class,
            message: failure.message.clone(),
            used: failure.used.clone(),
            until,
            never_began: failure.never_began,
        },
    ));
    match (retry, fallback) {
        (Retry::Window, _) => deferral::asked_wait(&mut draft, now),
        (Retry::After { pause, .. }, _) => {
            let not_before = Some(now.plus(pause));
            outgoing::ask_again(&mut draft, &open, open.agent, open.strict.clone(), not_before);
        }
        (Retry::Never, Some(next)) => {
            draft.emit_own(TaskEvent::FellBack {
                from: open.agent,
                to: next,
                class: failure.class,
                message: failure.message.clone(),
                work: false,
            });
            outgoing::ask_again(&mut draft, &open, next, None, None);
        }
        (Retry::Never, None) => {
            conclude(&mut draft, &open, Err(&failure.message), None, now);
        }
    }
    draft.into_events()
}

/// The agent that is asked instead of one that cannot be reached; `None` where there is none.
fn fallback(draft: &Draft<'_>, open: &Ask) -> Option<AgentId> {
    if !policy(WorkKind::Ask(open.purpose)).fallback {
        return None;
    }
    let first = draft.task_plan().judge_of(open.purpose)?;
    let asked = candidates(draft.plan(), draft.id, first, open.purpose.step());
    asked.skip_while(|agent| *agent != open.agent).nth(1)
}

/// Concludes by the agent's word; `Err` says in words why there is none, and that there will be none.
fn conclude(
    draft: &mut Draft<'_>,
    open: &Ask,
    answer: Result<&Answer, &str>,
    reply: Option<&ReplyRef>,
    now: Timestamp,
) {
    match open.purpose {
        Purpose::Confirm => worker_questions::confirmed(draft, answer, now),
        Purpose::Answer => worker_questions::answered(draft, open.agent, answer, now),
        Purpose::Resolve { dependency } => dependencies::resolved(draft, dependency, answer),
        Purpose::Approve { number, approver } => approvals::answered(draft, number, approver, answer, now),
        Purpose::Score(_) | Purpose::Decompose { .. } | Purpose::Grade { .. } | Purpose::Stage { .. } => {
            pipeline::answered(draft, open, answer, reply, now)
        }
    }
}

/// The ask that a reply or failure belongs to.
fn asked(state: &State, id: AskId) -> Option<(Draft<'_>, Ask)> {
    let open = state.task(id.task).open_ask(WorkId::ask(id))?;
    Some((Draft::new(state, id.task), open.clone()))
}
