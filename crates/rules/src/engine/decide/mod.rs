//! Deciding: from a state and an input to events. Total, deterministic, and the only place where rules about
//! *when* live.
//!
//! | file | what |
//! |---|---|
//! | `admission` | who takes a slot: the one rule on every way into work (5) |
//! | `agents_needed` | whom a run would need: who works, judges, agrees, and who is asked instead |
//! | `answers` | what an answer to a hold leads to, or its absence; a person refuses work that was accepted below its bar (5, 6, 9, 14, 17) |
//! | `approvals` | somebody's agreement before a task starts (5) |
//! | `ask` | agents that are asked something: calls, request retries, who is asked instead (13) |
//! | `audit` | what was accepted must still stand (6) |
//! | `after_baseline` | what checks that were looked at before the work mean for its beginning (24) |
//! | `budget` | calls that wait for room, prices, the end of the work when nothing is left (19); what is reserved, what fits: `engine/ledger.rs` |
//! | `change` | a changed mission that a person accepted (5, 14) |
//! | `conclude` | below the bar or not: accept, fix or retry, forced acceptance, give up, ask a person; protected files (3, 4, 6, 9) |
//! | `deferral` | limits of subscriptions that reset, pauses between attempts (4, 13) |
//! | `delegation` | sub-tasks that an agent hands on to others (12) |
//! | `dependencies` | what becomes of a task whose dependency failed (11) |
//! | `draft` | events about one task, decided in several steps on a state that follows |
//! | `due` | what follows when a timer is due |
//! | `ending` | the end of a session: nothing left to do, the wait for a person, mission score and its threshold (14, 20) |
//! | `evidence` | files that are noted before a turn, and what it is seen to have done to them (1, 6) |
//! | `fixups` | a new task that makes up for a failed one; no attempt at the same task (12) |
//! | `gates` | quality gates: passed or failed (14) |
//! | `holds` | whatever waits for a person or a moment: how a person is asked, checkpoints and delays (5, 6, 14, 17) |
//! | `intake` | work that was asked for from outside (16) |
//! | `jobs` | commands and looks at files that came back, and what of it does not count (5, 6, 10, 11) |
//! | `merge` | work of an isolated task is merged before it is accepted (22) |
//! | `notify` | who is told of what, and what becomes of what failed for good (13, 18) |
//! | `operator` | commands from outside: answers, cancel, pause, gate override (5, 14, 20) |
//! | `pipeline` | the way of one attempt through its stages: the only place that acts on what a stage wants, asks a judge once more (6) |
//! | `worker_questions` | what an agent asks instead of working, what it says does not hold, and who answers (5, 17) |
//! | `redo` | `--retry-failed` and `--redo`: failed and done work tried again by a person's word (5) |
//! | `outgoing` | work that is asked for: who is asked, what is run, who is asked once more (13) |
//! | `resume` | a later session: turns that were lost or adopted, judges that are asked again (22) |
//! | `rework_order` | in which order work is done again that did not stand (6) |
//! | `schedule` | what has become due, in its order; who gets the free slots (5, 11, 14) |
//! | `side_effects` | only a person makes such an agent act again (5) |
//! | `sla` | deadlines: warnings, and what follows when they pass (14) |
//! | `test_looks` | looks at tests that the work changed, between its checks and its judges (24) |
//! | `turns` | a worker's turns: prompt, spawn, exit, loss, repeated requests (4, 5, 13) |
//! | `verification_edges` | verifications as nodes: which edge a verdict takes, what is sent back (10) |
//! | `worst_case` | the most that a task may take by these rules |

mod admission;
mod after_baseline;
mod agents_needed;
mod answers;
mod approvals;
mod ask;
mod audit;
mod budget;
mod change;
mod conclude;
mod deferral;
mod delegation;
mod dependencies;
mod draft;
mod due;
mod ending;
mod evidence;
mod fixups;
mod gates;
mod holds;
mod intake;
mod jobs;
mod merge;
mod notify;
mod operator;
mod outgoing;
mod pipeline;
mod redo;
mod resume;
mod rework_order;
mod schedule;
mod side_effects;
mod sla;
mod test_looks;
mod turns;
mod verification_edges;
mod worker_questions;
mod worst_case;

use crate::domain::Timestamp;

use super::event::{Event, RunEvent};
use super::fact::Fact;
use super::state::{RunPhase, State};

#[cfg(test)]
pub(super) use admission::{Work, admits};
pub use agents_needed::{agents_needed, judging_agents};
pub use ending::mission_score;
pub use gates::evaluate_gate;
pub(super) use intake::{scope, task_of};
pub use notify::holds_the_end;
pub use operator::evaluate_command;
pub use redo::done_again;
pub use worst_case::worst_case;

/// Decides what a fact means. An fact that comes too late or does not fit the state means nothing: no events.
pub fn decide(state: &State, fact: &Fact, now: Timestamp) -> Vec<Event> {
    let last = match fact {
        Fact::Resume(resume) => resume.last,
        _ => None,
    };
    let events = sla::follow_up(state, rules(state, fact, now), now);
    let events = budget::follow_up(state, events, last, now);
    debug_assert!(
        events.iter().filter(|event| matches!(event, Event::Run(RunEvent::TasksAdded(_)))).count() <= 1,
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
        Fact::Resume(resume) if state.phase != RunPhase::New => resume::resume(state, resume, now),
        Fact::FilesSeen { task, attempt, files } => audit::files_seen(state, *task, *attempt, files),
        Fact::Operator(said) if state.phase != RunPhase::New => operator::command(state, said, now),
        Fact::TimerDue { at, timer } => due::due(state, *timer, *at, now),
        Fact::RetryFailed => redo::retry_failed(state),
        Fact::Redo(task) => redo::redo(state, *task),
        Fact::Reopen(task) => audit::reopen(state, *task),
        Fact::ChangeMission { .. } if state.phase != RunPhase::New => change::change_mission(state, fact),
        Fact::Foreign(_) => ending::foreign(state, fact),
        Fact::Unconfined(_) if state.unconfined.is_some() => Vec::new(),
        Fact::Salvaged(_) | Fact::Unconfined(_) | Fact::Warn(_) => fact.as_event().into_iter().collect(),
        _ if !matches!(state.phase, RunPhase::Running | RunPhase::Stopping) => Vec::new(),
        Fact::Advance => schedule::advance(state, now),
        Fact::Audit => audit::at_the_start(state),
        Fact::Audited(report) => audit::audited(state, report, now),
        Fact::WorkDelivered(_) if !state.delivering => Vec::new(),
        Fact::Stop(_) if state.phase != RunPhase::Running => Vec::new(),
        // What it says is refused, what it used is paid for.
        _ if state.is_late(fact) => budget::settle(state, fact).into_iter().collect(),
        // An agent that has said nothing for too long is killed, and its turn ends with a time-out.
        Fact::Stop(_) | Fact::WorkDelivered(_) | Fact::ProtectionNoted(_) | Fact::TurnProgress(..) => {
            fact.as_event().into_iter().collect()
        }
        Fact::PromptReady(prompt) => turns::prompt_ready(state, *prompt),
        Fact::FilesNoted { .. } => evidence::noted(state, fact),
        Fact::StageVoided(voided) => jobs::voided(state, voided, now),
        Fact::TurnRequestFailed { .. } => turns::request_failed(state, fact, now),
        Fact::TurnEnded(_) => turns::ended(state, fact, now),
        Fact::JobEnded { .. } => jobs::ended(state, fact, now),
        Fact::HandedOver { id, file } => ask::handed_over(state, *id, file),
        Fact::AskReplied(reply) => ask::replied(state, reply, now),
        Fact::AskFailed(failure) => ask::failed(state, failure, now),
        Fact::Delivered { number, result, .. } => notify::delivered(state, *number, result, now),
        Fact::Filed(ids) => notify::filed(state, ids),
        Fact::NoticesOverdue => notify::overdue(state, now),
        Fact::Start(_) | Fact::Resume(_) | Fact::Operator(_) | Fact::ChangeMission { .. } => Vec::new(),
    }
}
