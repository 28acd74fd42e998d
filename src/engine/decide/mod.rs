//! Deciding: from a state and an input to events. Total, deterministic, and the only place where rules about
//! *when* live.
//!
//! | file | rules |
//! |---|---|
//! | `schedule` | what has become due: gates, failed dependencies, slots, the end of the run (5, 11, 14) |
//! | `admission` | who takes a slot: the one rule on every way into work (5) |
//! | `evidence` | what a turn may not change, and what it is seen to have done (1, 6) |
//! | `due` | what follows when a timer is due |
//! | `turns` | a worker's turns: prompt, spawn, exit, loss (4, 5) |
//! | `stages` | the order of judging one attempt (6) |
//! | `preflight` | what plain evidence rejects before anybody is asked (6) |
//! | `finish` | what must hold before a worker may call itself finished (6) |
//! | `breaker` | too many rejections in a row (7) |
//! | `prior` | why a judge is asked once more, points of an earlier review (4) |
//! | `seats` | panel and evaluation: seats, rounds, reprompts (7, 9) |
//! | `verification` | the task's criteria: rounds of the grader, what its grades lead to (10) |
//! | `routes` | verifications as nodes: which edge a verdict takes, what is sent back (10) |
//! | `scrutiny` | the stages behind it: the mission's own, the red team, the vision check (6, 15) |
//! | `ask` | agents that are asked something: calls, request retries, who is asked instead (13) |
//! | `approvals` | somebody's agreement before a task starts (5) |
//! | `side_effects` | only a person makes such an agent act again (5) |
//! | `holds` | checkpoints and delays (14) |
//! | `deferral` | limits of subscriptions that reset, pauses between attempts (4, 13) |
//! | `questions` | what an agent asks instead of working, and who answers (5) |
//! | `dependencies` | what becomes of a task whose dependency failed (11) |
//! | `again` | failed and done work tried again by a person's word (5) |
//! | `change` | a changed mission that a person accepted (5, 14) |
//! | `delegation` | sub-tasks that an agent hands down (12) |
//! | `sla` | deadlines: warnings, and what follows when they pass (14) |
//! | `budget` | room before a call, prices, the end of the work when nothing is left (19) |
//! | `intake` | work that was asked for from outside (16) |
//! | `fixups` | a new task that mends a failed one (12) |
//! | `operator` | commands from outside: answers, cancel, pause, gate override (5, 14, 20) |
//! | `worst_case` | the most that a task may take by these rules |
//! | `notify` | who is told of what, and what becomes of what failed for good (13, 18) |
//! | `audit` | what was accepted must still stand (6) |
//! | `conclude` | what a verdict means for the task: accept, rework, give up, ask a person (3, 4, 9) |

mod admission;
mod again;
mod approvals;
mod ask;
mod audit;
mod breaker;
mod budget;
mod change;
mod conclude;
mod deferral;
mod delegation;
mod dependencies;
mod draft;
mod due;
mod escalation;
mod evidence;
mod finish;
mod fixups;
mod holds;
mod intake;
mod notify;
mod operator;
mod preflight;
mod prior;
mod questions;
mod routes;
mod schedule;
mod scrutiny;
mod seats;
mod side_effects;
mod sla;
mod stages;
mod turns;
mod verification;
mod worst_case;

use crate::domain::Timestamp;

use super::event::{Event, RunEvent};
use super::fact::Fact;
use super::state::{RunPhase, State};

#[cfg(test)]
pub(super) use admission::{Work, admits};
pub(super) use again::done_again;
pub(super) use approvals::needs_agreement;
pub(super) use conclude::signature;
pub(super) use deferral::may_wait;
pub(super) use evidence::must_note;
pub(super) use holds::waits_for;
pub(super) use intake::{scope, task_of};
pub(super) use notify::holds_the_end;
pub use prior::{prior_points, reprompt};
pub(super) use schedule::{agents_needed, evaluate_gate, judging_agents, mission_score, needs_prompt};
pub(super) use scrutiny::not_asked;
pub(super) use side_effects::must_be_allowed;
pub use stages::{JudgedBy, Panel};
pub(super) use stages::{bar, judged_by};
pub use turns::pause_before_retry;
pub(super) use verification::grades_by_facts;
pub use worst_case::WorstCase;
pub(super) use worst_case::worst_case;

/// Decides what a fact means. An fact that comes too late or does not fit the state means nothing: no events.
#[must_use]
pub fn decide(state: &State, fact: &Fact, now: Timestamp) -> Vec<Event> {
    let last = match fact {
        Fact::Resume { last, .. } => *last,
        _ => None,
    };
    let events = sla::follow_up(state, rules(state, fact, now), now);
    let events = budget::follow_up(state, events, last, now);
    debug_assert!(
        events
            .iter()
            .filter(|event| matches!(event, Event::Run(RunEvent::TasksAdded(_))))
            .count()
            <= 1,
        "ids of tasks that come are taken from the plan before the record, so one record adds once"
    );
    let events = deferral::follow_up(events, now);
    notify::follow_up(state, events, now)
}

fn rules(state: &State, fact: &Fact, now: Timestamp) -> Vec<Event> {
    match fact {
        Fact::Start(started) if state.phase == RunPhase::New => {
            vec![Event::Run(RunEvent::Started(started.clone()))]
        }
        Fact::Resume {
            options,
            supervisor,
            kept,
            ..
        } if state.phase != RunPhase::New => schedule::resume(state, options, supervisor, kept, now),
        Fact::FilesSeen { task, attempt, files } => audit::files_seen(state, *task, *attempt, files),
        Fact::Operator(said) if state.phase != RunPhase::New => operator::command(state, said, now),
        Fact::TimerDue { at, timer } => due::due(state, *timer, *at, now),
        Fact::RetryFailed => again::retry_failed(state),
        Fact::Redo(task) => again::redo(state, *task),
        Fact::Reopen(task) => audit::reopen(state, *task),
        Fact::ChangeMission { .. } if state.phase != RunPhase::New => change::change_mission(state, fact),
        Fact::Foreign(what) => schedule::foreign(state, what),
        Fact::Salvaged { .. } => fact.salvaged().into_iter().collect(),
        Fact::Warn(message) => vec![Event::Run(RunEvent::Warning {
            message: message.clone(),
        })],
        _ if !matches!(state.phase, RunPhase::Running | RunPhase::Stopping) => Vec::new(),
        Fact::Advance => schedule::advance(state, now),
        Fact::Audit => audit::at_the_start(state),
        Fact::Audited(report) => audit::audited(state, report, now),
        Fact::Stop(cause) => match state.phase {
            RunPhase::Running => vec![Event::Run(RunEvent::Stopping { cause: *cause })],
            _ => Vec::new(),
        },
        Fact::PromptReady { turn, digest, cues } => turns::prompt_ready(state, *turn, *digest, *cues),
        Fact::FilesNoted { .. } => evidence::noted(state, fact),
        Fact::ProtectionNoted(files) => vec![Event::Run(RunEvent::ProtectionNoted { files: files.clone() })],
        Fact::StageVoided(voided) => evidence::voided(state, voided, now),
        Fact::TurnSpawned { turn, process } => turns::spawned(state, *turn, process.as_ref()),
        Fact::Activity { turn, text } => turns::activity(state, *turn, text),
        Fact::Silent { turn, idle, too_long } => turns::silent(state, *turn, *idle, *too_long),
        Fact::TurnRequestFailed { .. } => turns::request_failed(state, fact, now),
        Fact::TurnEnded(end) => turns::ended(state, end, now),
        Fact::FilesScanned { .. } => stages::scanned(state, fact),
        Fact::CheckFinished {
            task,
            attempt,
            check,
            result,
        } => stages::check_finished(state, *task, *attempt, *check, result),
        Fact::FinishChecked { .. } => finish::checked(state, fact),
        Fact::Graded {
            task,
            attempt,
            round,
            result,
        } => verification::graded(state, *task, *attempt, *round, result),
        Fact::ScreenshotsSeen { task, attempt, files } => scrutiny::looked(state, *task, *attempt, files),
        Fact::StepJudged {
            task,
            attempt,
            step,
            round,
            result,
        } => scrutiny::judged(state, *task, *attempt, (*step, *round), result),
        Fact::ApproverSaid { .. } => approvals::said(state, fact, now),
        Fact::ArtifactsScanned {
            task,
            dependency,
            files,
        } => dependencies::scanned(state, *task, *dependency, files),
        Fact::HandedOver { id, file } => ask::handed_over(state, *id, file),
        Fact::AskReplied { id, reply, advice } => ask::replied(state, *id, reply, advice, now),
        Fact::AskFailed(failure) => ask::failed(state, failure, now),
        Fact::Delivered {
            number,
            tried,
            result,
        } => notify::delivered(state, *number, *tried, result, now),
        Fact::Filed { ids } => notify::filed(state, ids),
        Fact::NoticesOverdue => notify::overdue(state, now),
        Fact::Start(_) | Fact::Resume { .. } | Fact::Operator(_) | Fact::ChangeMission { .. } => Vec::new(),
    }
}
