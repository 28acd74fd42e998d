//! What events of the run change of its state.

use crate::domain::TaskId;
use crate::engine::derive::change_plan;
use crate::engine::event::{Concern, RunEvent, RunWork};
use crate::engine::event_payload::FileFact;
use crate::engine::growth;
use crate::engine::prerequisite::look;
use crate::engine::state::{RunPhase, SessionState, State};
use crate::engine::timers::Timer;
use crate::mission::model::Sandbox;
use crate::plan::Confinement;

pub fn change(state: &mut State, event: &RunEvent) {
    match event {
        RunEvent::Started(started) => {
            state.sessions = 1;
            state.options = started.options.clone();
            note_written_off(state);
            state.phase = RunPhase::Running;
            for id in state.plan.every_task_id() {
                look(state, id);
            }
        }
        RunEvent::SessionLimit { until, waits: false } => state.session.ends = Some(*until),
        RunEvent::Resumed(resume) => {
            state.sessions += 1;
            (state.audit.out, state.audit.of_session, state.delivering) = (false, 0, false);
            // What failed is tried again.
            state.delivery.take_if(|delivery| resume.delivers || delivery.why.is_some());
            state.options = resume.options.clone();
            note_written_off(state);
            state.phase = RunPhase::Running;
            state.session = SessionState::default();
            state.timers.cancel(Timer::WaitOver);
        }
        RunEvent::Warning(concern, message) => match concern {
            Concern::Notice => {}
            Concern::Unconfined => state.unconfined = Some(message.clone()),
            Concern::Foreign => state.session.foreign = true,
        },
        RunEvent::Moved { from, .. } => state.moved_from = Some(from.clone()),
        RunEvent::Stopping(cause) => {
            state.phase = RunPhase::Stopping;
            (state.audit.out, state.delivering) = (false, false);
            state.session.stop = Some(*cause);
            state.timers.cancel(Timer::WaitOver);
        }
        RunEvent::Finished { .. } => {
            state.phase = RunPhase::Finished;
            state.timers.cancel(Timer::WaitOver);
        }
        RunEvent::MissionChanged(change) => change_plan(state, change),
        RunEvent::TasksAdded(addition) => growth::add(state, addition),
        RunEvent::TasksWithdrawn { tasks } => growth::withdraw(state, tasks),
        RunEvent::Paused { for_good: true, .. } => state.called_off = true,
        RunEvent::Paused { .. } => {
            state.session.paused = true;
            state.timers.cancel(Timer::WaitOver);
        }
        RunEvent::SessionLimit { until, waits: true } => state.timers.set(Timer::WaitOver, *until),
        RunEvent::CommandTaken { id, result, .. } => {
            state.commands.insert(id.clone(), *result);
        }
        RunEvent::ThresholdFailed { avg_score: points, .. } => state.session.threshold_failed = Some(*points),

        // Whatever the last session ended with: the records behind the cut may have changed it. A session must say anew.
        RunEvent::Salvaged(_) => {
            state.phase = RunPhase::Running;
            (state.audit.out, state.delivering) = (false, false);
            state.timers.cancel(Timer::WaitOver);
        }
        RunEvent::WorkRequested(RunWork::Audit { number }) => audit_requested(state, *number),
        RunEvent::WorkRequested(RunWork::Delivery { merge }) => state.delivery_requested(*merge),
        RunEvent::WorkDelivered(delivery) => state.deliver(Some(delivery)),
        RunEvent::AuditFinished { checked, files, rest, .. } => audited(state, checked, files, *rest),
        RunEvent::ProtectionNoted(files) => state.protected = Some(files.clone()),
    }
}

/// Marks a run of which a session confines not all processes, because somebody wrote that. Nobody has to record it: it stands
/// in what was recorded.
fn note_written_off(state: &mut State) {
    let by_mission = || state.plan.confinements().any(Confinement::is_off);
    let is_off = match state.options.sandbox {
        Some(by_session) => by_session == Sandbox::Off,
        None => by_mission(),
    };
    if is_off && state.unconfined.is_none() {
        state.unconfined = Some("`sandbox: off` is written".to_owned());
    }
}

/// An audit is under way: it speaks of what there is now.
fn audit_requested(state: &mut State, number: u32) {
    (state.audit.number, state.audit.out) = (number, true);
    state.audit.of_session += 1;
    state.audit.covers = state.acceptances;
    (state.audit.turns, state.audit.turn_ends) = (state.turns_ended, state.turn_ends.clone());
}

/// An audit is over: what it saw is what stands.
fn audited(state: &mut State, checked: &[TaskId], files: &[(TaskId, Vec<FileFact>)], rest: Option<TaskId>) {
    state.close_audit();
    if rest.is_some() {
        // The next one goes on with it, and is none more.
        state.audit.due = true;
        state.audit.of_session = state.audit.of_session.saturating_sub(1);
    }
    let (turns, session) = (state.audit.turns, state.sessions);
    let mut order = state.acceptances;
    let covered = state.covered().map(|(id, _)| id);
    let covered: Vec<TaskId> = covered.take_while(|id| Some(*id) != rest).collect();
    for id in covered {
        if let Some(acceptance) = state.task_mut(id).acceptance_mut() {
            (acceptance.turns, acceptance.session) = (turns, session);
        }
    }
    for id in checked {
        if let Some(acceptance) = state.task_mut(*id).acceptance_mut() {
            for (_, passed) in &mut acceptance.checks {
                *passed = turns;
            }
        }
    }
    for (id, seen) in files {
        order += 1;
        if let Some(acceptance) = state.task_mut(*id).acceptance_mut() {
            acceptance.order = order;
            for file in &mut acceptance.files {
                if let Some(now) = seen.iter().find(|now| now.path == file.path) {
                    file.clone_from(now);
                }
            }
        }
    }
    state.acceptances = order;
}
