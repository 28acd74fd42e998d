//! A worker's turns. A turn runs real tools, so it is never repeated blindly: only a failure *before* a process or
//! session existed is, once, and a provider's refusal of a request by its class (semantics, sections 4 and 13).

use crate::domain::{Cause, FailureClass, Severity, StageKey, Status, Timestamp, TurnId, Verdict};
use crate::engine::event::{Event, TurnEvent};
use crate::engine::event_payload::Usage;
use crate::engine::fact::{Fact, Prompt, TurnEnd};
use crate::engine::state::{RunPhase, State};
use crate::engine::work::id::WorkId;
use crate::engine::work::policy::{WorkKind, policy};
use crate::engine::work::retry::{Again, FailedTry, Retry};
use crate::mission::model::AgentMiddleware;

use super::conclude;
use super::draft::Draft;
use super::{admission, budget, deferral, evidence, notify, side_effects, worker_questions};

/// The prompt of the next turn is written: the turn may start.
pub fn prompt_ready(state: &State, prompt: Prompt) -> Vec<Event> {
    let turn = prompt.turn;
    let is_looked_at = state.task(turn.task).is_looked_at_before();
    if !state.waits_for_turn(turn) || is_looked_at || !admission::may_start(state, turn.task) {
        return Vec::new();
    }
    if let Some(events) = budget::holds_back(state, turn) {
        return events;
    }
    let mut draft = Draft::new(state, turn.task);
    if !admission::goes_back(&mut draft) {
        start_turn(&mut draft, prompt);
    }
    draft.into_events()
}

/// Starts the next turn of the current attempt, unless a person must allow it first.
pub fn start_turn(draft: &mut Draft<'_>, prompt: Prompt) {
    if draft.task.status() == Status::InProgress && side_effects::is_held(draft) {
        return side_effects::hold_back(draft, "its agent would be spoken to once more");
    }
    let current = draft.task.turn(draft.id);
    let turn = TurnId { turn: current.turn + 1, ..current };
    draft.emit(Event::Turn(turn, TurnEvent::Started(Prompt { turn, ..prompt })));
    if draft.task.status() == Status::Assigned {
        draft.enter(Status::InProgress);
    }
}

/// Decides about a spawn or request that failed: it is repeated within its bounds, or the turn ends.
pub fn request_failed(state: &State, input: &Fact, now: Timestamp) -> Vec<Event> {
    let Fact::TurnRequestFailed { turn, class, before_effect, message, retry_after, jitter } = input else {
        return Vec::new();
    };
    let is_classified = state.plan.middleware(turn.task).has(AgentMiddleware::Classification);
    let class = if is_classified { class } else { &FailureClass::Unknown };
    let mut failure = FailedTry::of(*class, *retry_after, *jitter);
    if *before_effect {
        failure.again = Again::Start;
    } else if state.plan.task(turn.task).side_effects {
        failure.again = Again::Nothing;
    }
    let before = state.task(turn.task).work.turn.unwrap_or_default();
    let retry = failure.leads_to(policy(WorkKind::Turn), before);
    if let (Retry::After { pause, of }, RunPhase::Running) = (retry, state.phase) {
        let mut events = vec![Event::Turn(
            *turn,
            TurnEvent::RequestFailed {
                class: *class,
                message: message.clone(),
                not_before: now.plus(pause),
                of,
                never_began: *before_effect,
            },
        )];
        // Nothing was done in it: another session, or more room, may begin it anew.
        if !state.ledger.has_room_again(&state.plan, WorkId::turn(*turn)) {
            events.push(Event::Turn(*turn, TurnEvent::Lost));
        }
        return events;
    }
    let mut end = TurnEnd { jitter: *jitter, ..TurnEnd::failed(*turn, *class, message) };
    end.exit.retry_after = *retry_after;
    finish_turn(state, end, now)
}

/// A turn ended. One that the runner itself interrupted is lost; anything else is judged by its exit.
pub fn ended(state: &State, fact: &Fact, now: Timestamp) -> Vec<Event> {
    let Fact::TurnEnded(end) = fact else {
        return Vec::new();
    };
    let is_innocent = end.files.as_ref().is_none_or(|files| files.protected.is_empty());
    if end.interrupted && is_innocent {
        let mut events = side_effects::turn_lost(state, end.turn);
        if !end.usage.is_none() {
            events.extend(budget::settle(state, fact));
        }
        return events;
    }
    let files = end.files.clone();
    let files = files.map(|files| evidence::with_company(state, end.turn, files));
    let usage = state.own_usage(end);
    let end = TurnEnd::clone(end);
    finish_turn(state, TurnEnd { files, usage, ..end }, now)
}

/// A turn that a session left behind when it died, of a task whose chain leaves out `checkpoint_resume`: its attempt has failed.
pub fn left_behind(state: &State, turn: TurnId, now: Timestamp) -> Vec<Event> {
    let why = "its session died, and without `checkpoint_resume` no turn is taken over";
    finish_turn(state, TurnEnd::failed(turn, FailureClass::Unknown, why), now)
}

/// The `outcome` stage: while still in progress, by exit status and the agent's own error.
fn finish_turn(state: &State, mut end: TurnEnd, now: Timestamp) -> Vec<Event> {
    let chain = state.plan.middleware(end.turn.task);
    if !chain.has(AgentMiddleware::Classification) {
        end.exit.failure = end.exit.failure.map(|_| FailureClass::Unknown);
    }
    if !chain.has(AgentMiddleware::CostRecording) {
        end.usage = Usage::default();
    }
    let mut draft = Draft::new(state, end.turn.task);
    let is_good =
        end.exit.failure.is_none() && end.files.as_ref().is_none_or(|files| files.protected.is_empty());
    if !is_good {
        (end.delegate, end.cues) = (Vec::new(), 0);
    }
    if !is_good || worker_questions::asks(&draft, end.asked.as_ref()).is_some() {
        end.broken = None;
    }
    draft.emit(Event::Turn(end.turn, TurnEvent::Finished(Box::new(end.clone()))));
    for letter in notify::letters_of_tools(end.turn, &end.failed_tools) {
        draft.emit(letter);
    }
    judge_outcome(&mut draft, &end, now);
    draft.into_events()
}

fn judge_outcome(draft: &mut Draft<'_>, end: &TurnEnd, now: Timestamp) {
    let protected = end.files.as_ref().map_or(&[][..], |files| &files.protected);
    if !protected.is_empty() {
        return conclude::protected(draft, protected, conclude::BY_TASK);
    }
    match end.exit.failure {
        None => worker_questions::or_go_on(draft, end.asked.as_ref(), end.broken.as_ref(), now),
        Some(class) if conclude::another_goes_on(draft, class, end) => {}
        Some(FailureClass::UsageWindow) => {
            deferral::turn_waits(draft, &end.exit, now);
        }
        Some(class) => {
            let (key, cause) = (StageKey::OUTCOME, Some(Cause::Outcome));
            let mut report = draft.view().report(key, Verdict::Fail, cause);
            report.failure = Some(class);
            let message = end.exit.message.clone().unwrap_or_default();
            report.add(Severity::High, message);
            conclude::record(draft, *report);
            conclude::agent_failed(draft, class, end, now);
        }
    }
}
