//! A worker's turns. A turn runs real tools, so it is never repeated blindly: only a failure *before* a process or
//! session existed is, once, and a provider's refusal of a request by its class (semantics, sections 4 and 13).

use crate::domain::{
    Cause, Digest, FailureClass, Finding, Millis, Severity, Stage, StageKey, Status, Timestamp, TurnId,
    Verdict,
};
use crate::engine::event::{Event, TaskEvent, TurnEvent};
use crate::engine::fact::{Fact, Prompt, TurnEnd};
use crate::engine::ledger::CallId;
use crate::engine::payload::Exit;
use crate::engine::policy::{WorkKind, policy};
use crate::engine::state::{RunPhase, State};

use super::budget::Told;
use super::conclude;
use super::draft::Draft;
use super::{budget, deferral, evidence, notify, questions, side_effects};

/// A provider that asks for a longer pause than this is down as far as a run is concerned.
const LONGEST_PAUSE: Millis = Millis::from_secs(600);

/// The prompt of the next turn is written: the turn may start.
pub(super) fn prompt_ready(state: &State, prompt: Prompt) -> Vec<Event> {
    let Prompt { turn, digest, cues } = prompt;
    // A halted run starts no task, but what has started may finish its attempts.
    // And none begins while it is not known whether what was accepted stands.
    let is_held =
        evidence::must_note(state, turn.task) || state.phase != RunPhase::Running || state.audit.out;
    if !waits_for_turn(state, turn) || is_held {
        return Vec::new();
    }
    if let Some(events) = budget::holds_back(state, turn) {
        return events;
    }
    let mut draft = Draft::new(state, turn.task);
    start_turn(&mut draft, digest);
    if cues > 0 && draft.task.work.turn.is_some() {
        draft.emit(Event::Turn(
            turn,
            TurnEvent::AuthorityCues { cues, result: false },
        ));
    }
    draft.into_events()
}

/// Whether this is the next turn of a task that is to work and does not yet.
pub(super) fn waits_for_turn(state: &State, turn: TurnId) -> bool {
    let Some(task) = state.tasks.get(turn.task.index()) else {
        return false;
    };
    let next = TurnId {
        turn: task.attempt.turn + 1,
        ..state.current_turn(turn.task)
    };
    let waits = task.work.turn.is_none() && matches!(task.status(), Status::Assigned | Status::InProgress);
    waits && turn == next && !task.is_clarified()
}

/// Starts the next turn of the current attempt, unless a person must allow it first.
pub(super) fn start_turn(draft: &mut Draft<'_>, prompt: Option<Digest>) {
    if draft.task.status() == Status::InProgress && side_effects::is_held(draft) {
        return side_effects::hold_back(draft, "its agent would be spoken to once more");
    }
    let turn = TurnId {
        task: draft.id,
        attempt: draft.task.attempt.number,
        turn: draft.task.attempt.turn + 1,
    };
    draft.emit(Event::Turn(turn, TurnEvent::Started { prompt }));
    if draft.task.status() == Status::Assigned {
        draft.enter(Status::InProgress);
    }
}

/// Something was seen of the agent of a turn: that its process exists, what it says of its progress, that it has said
/// nothing for some time. If that is too long it is killed, and the turn ends with a time-out.
pub(super) fn told(state: &State, turn: TurnId, fact: &Fact) -> Vec<Event> {
    let told = fact.as_event().filter(|_| is_current(state, turn));
    told.into_iter().collect()
}

/// A spawn or request failed: repeated within its bounds, or the end of the turn.
pub(super) fn request_failed(state: &State, input: &Fact, now: Timestamp) -> Vec<Event> {
    let Fact::TurnRequestFailed {
        turn,
        class,
        before_effect,
        message,
        retry_after,
        jitter,
    } = input
    else {
        return Vec::new();
    };
    let Some(running) = state
        .task(turn.task)
        .work
        .turn
        .as_ref()
        .filter(|_| is_current(state, *turn))
    else {
        let told = Told::by_failure(*class, *before_effect);
        let settled = budget::settle(state, CallId::turn(*turn), &told);
        return settled.into_iter().collect();
    };
    let may_act_twice = !state.plan.task(turn.task).side_effects;
    let policy = policy(WorkKind::Turn);
    let allowed = match (class.request_retried() && may_act_twice, before_effect) {
        (_, true) => policy.start_retries,
        (true, false) => policy.request_retries,
        (false, false) => 0,
    };
    let pause = pause_before_retry(running.failed_requests, *retry_after, *jitter);
    if let Some(pause) =
        pause.filter(|_| running.failed_requests < allowed && state.phase == RunPhase::Running)
    {
        let mut events = vec![Event::Turn(
            *turn,
            TurnEvent::RequestFailed {
                class: *class,
                message: message.clone(),
                not_before: now.plus(pause),
                of: allowed + 1,
            },
        )];
        // Nothing was done in it: another session, or more room, may begin it anew.
        if !state.ledger.has_room_again(&state.plan, CallId::turn(*turn)) {
            events.push(Event::Turn(*turn, TurnEvent::Lost));
        }
        return events;
    }
    let exit = Exit {
        failure: Some(*class),
        message: Some(message.clone()),
        retry_after: *retry_after,
        ..Exit::default()
    };
    let end = TurnEnd {
        exit,
        jitter: *jitter,
        ..TurnEnd::clean(*turn)
    };
    finish_turn(state, end, now)
}

/// How long to wait before a request is made again (section 13): what the provider asks for, else 1, 2, 4 seconds and
/// up to half as much again by `jitter` (0 to 1000). `None`: longer than a run should wait.
#[must_use]
pub fn pause_before_retry(failed_before: u32, retry_after: Option<Millis>, jitter: u16) -> Option<Millis> {
    let pause = retry_after.unwrap_or_else(|| {
        let base = 1000_u64 << failed_before.min(6);
        Millis(base + base * u64::from(jitter.min(1000)) / 2000)
    });
    (pause <= LONGEST_PAUSE).then_some(pause)
}

/// A turn ended. One that the runner itself interrupted is lost; anything else is judged by its exit.
pub(super) fn ended(state: &State, end: &TurnEnd, now: Timestamp) -> Vec<Event> {
    let settled = || budget::settle(state, CallId::turn(end.turn), &Told::by_turn(end));
    if !is_current(state, end.turn) {
        return settled().into_iter().collect();
    }
    let is_innocent = end.files.as_ref().is_none_or(|files| files.protected.is_empty());
    if end.interrupted && is_innocent {
        let mut events = side_effects::turn_lost(state, end.turn);
        events.extend(settled().filter(|_| !end.usage.is_none()));
        return events;
    }
    let files = end.files.clone();
    let files = files.map(|files| evidence::with_company(state, end.turn, files));
    finish_turn(state, TurnEnd { files, ..end.clone() }, now)
}

/// The `outcome` stage: while still in progress, by exit status and the agent's own error.
fn finish_turn(state: &State, end: TurnEnd, now: Timestamp) -> Vec<Event> {
    let mut draft = Draft::new(state, end.turn.task);
    draft.emit(end.as_event());
    for letter in notify::letters_of_tools(end.turn, &end.failed_tools) {
        draft.emit(letter);
    }
    judge_outcome(&mut draft, &end, now);
    draft.into_events()
}

fn judge_outcome(draft: &mut Draft<'_>, end: &TurnEnd, now: Timestamp) {
    let protected = end.files.as_ref().map_or(&[][..], |files| &files.protected);
    if !protected.is_empty() {
        return evidence::protected(draft, protected, evidence::BY_TASK);
    }
    let message = end.exit.message.clone().unwrap_or_default();
    match end.exit.failure {
        None => {
            if !end.delegate.is_empty() {
                draft.emit(Event::Task(
                    draft.id,
                    TaskEvent::DelegationRequested {
                        sub_tasks: end.delegate.clone(),
                    },
                ));
            }
            if end.cues > 0 {
                draft.emit(Event::Turn(
                    end.turn,
                    TurnEvent::AuthorityCues {
                        cues: end.cues,
                        result: true,
                    },
                ));
            }
            questions::or_go_on(draft, end.asked.as_ref(), end.broken.as_ref(), now);
        }
        Some(FailureClass::UsageWindow) => {
            deferral::turn_waits(draft, end.exit.retry_after, &message, now);
        }
        Some(class) => {
            let (key, cause) = (StageKey::Of(Stage::Outcome), Some(Cause::Outcome));
            let mut report = draft.view().report(key, Verdict::Fail, cause);
            report.failure = Some(class);
            report.findings = vec![Finding::new(Severity::High, message.clone())];
            conclude::record(draft, *report);
            let failed = conclude::FailedAgent {
                class,
                message: &message,
                code: end.exit.code,
                retry_after: end.exit.retry_after,
                killed: end.killed,
                jitter: end.jitter,
                now,
            };
            conclude::agent_failed(draft, &failed);
        }
    }
}

fn is_current(state: &State, turn: TurnId) -> bool {
    state
        .tasks
        .get(turn.task.index())
        .is_some_and(|task| task.work.turn.is_some())
        && state.current_turn(turn.task) == turn
}
