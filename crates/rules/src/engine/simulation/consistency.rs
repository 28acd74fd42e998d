//! What holds of every state: that what is kept event by event follows from its plan, and that a restart forgets nothing.

use std::collections::VecDeque;

use crate::domain::{AgentId, BarrierId, GateId, Status, TaskId, Timestamp};
use crate::engine::{
    BarrierStage, Ceiling, DeferralReason, Effect, Fact, Prerequisite, Prompt, RunPhase, State, Timer,
    decide, pending_effects,
};

use super::{Response, inputs};

/// Everything in a state that follows from its plan and from where tasks and gates stand.
pub fn followed(state: &State) -> String {
    let open: Vec<_> = state.gates.iter().map(|gate| (gate.open, gate.left)).collect();
    let out: Vec<bool> = state.tasks.iter().map(|task| task.not_taken).collect();
    let due = (&state.queues.gates_due, &state.queues.cascades_due, &state.queues.halting);
    let held = (&state.barriers, &state.queues.barriers_due, &state.queues.barriers_reached);
    let ready: Vec<_> = state.queues.ready.next_up().collect();
    let agents = (0..state.plan.agents.len()).map(AgentId::from_index);
    let room: Vec<_> = agents.map(|agent| state.queues.ready.has_room_for(agent, 0)).collect();
    let watches = |id| state.queues.watchers.watched(id).is_some();
    let waiting: Vec<TaskId> = state.plan.every_task_id().filter(|id| watches(*id)).collect();
    let approvals: Vec<TaskId> = state.queues.watchers.of(Prerequisite::Agreement).collect();
    let sums = state.sums;
    let timers = &state.timers;
    format!(
        "{waiting:?} {out:?} {open:?} {due:?} {held:?} {ready:?} {room:?} {sums:?} {approvals:?} {timers:?}"
    )
}

/// Everything that is derived says something wrong.
fn soiled(state: &State) -> State {
    let mut soiled = state.clone();
    let (gates, holds) = (state.gates.len(), state.barriers.len());
    soiled.queues.gates_due = (0..gates).map(GateId::from_index).collect();
    soiled.queues.barriers_due = (0..holds).map(BarrierId::from_index).collect();
    soiled.queues.barriers_reached = soiled.queues.barriers_due.clone();
    soiled.queues.cascades_due = [(TaskId(0), TaskId(0))].into();
    for id in state.plan.every_task_id() {
        soiled.queues.watchers.watch(id, Prerequisite::Agreement, 5);
    }
    soiled.queues.halting = soiled.queues.gates_due.clone();
    soiled.sums += state.sums;
    soiled.sums.counts.selected += 7;
    soiled.sums.slots += 3;
    soiled.gates.iter_mut().for_each(|gate| {
        gate.open += 5;
        gate.left = !gate.left;
    });
    for (plan, hold) in state.plan.barriers.iter().zip(&mut soiled.barriers) {
        hold.open += 5;
        // One over nothing that is left is passed, wherever it stood.
        if !plan.after.is_empty() && plan.after.iter().all(|on| state.task(*on).not_taken) {
            hold.stage = BarrierStage::Ahead;
        }
    }
    soiled.tasks.iter_mut().for_each(|task| {
        task.not_taken = !task.not_taken;
    });
    soiled
}

/// That a task watches one of the things that it lacks as long as it waits for any; for an agreement last.
fn watches_what_it_lacks(state: &State, id: TaskId) {
    let task = state.task(id);
    let is_to_begin = task.status() == Status::Pending && task.deferral.is_none() && state.takes(id);
    let lacks: Vec<Prerequisite> = state.unmet(id, 0).map(|(_, requirement)| requirement).collect();
    let first = lacks.first().filter(|_| is_to_begin && state.phase != RunPhase::New);
    let watched = state.queues.watchers.watched(id);
    assert_eq!(watched.is_some(), first.is_some(), "{id:?} {watched:?} {lacks:?}");
    let watched = watched.is_none_or(|watched| lacks.contains(&watched));
    assert!(watched, "{id:?} {:?} {lacks:?}", state.queues.watchers.watched(id));
    let is_asked = state.queues.watchers.watched(id) == Some(Prerequisite::Agreement);
    assert!(!is_asked || lacks.len() == 1, "{id:?} {lacks:?}");
}

/// That everything which is kept up to date event by event is what follows from the plan and from where tasks stand.
pub fn is_up_to_date(state: &State) {
    let mut anew = soiled(state);
    anew.derive();
    let tasks = state.plan.every_task_id().map(Some);
    for entity in tasks.chain([None]) {
        crate::engine::apply::arm(&mut anew, entity);
    }
    assert_eq!(followed(&anew), followed(state));
    for id in state.plan.every_task_id() {
        watches_what_it_lacks(state, id);
    }
    let is_deferred = |id: &TaskId| state.task(*id).deferral.is_some() && !state.task(*id).is_queued();
    let deferred = state.plan.every_task_id().filter(is_deferred);
    assert!(state.timers.deferred().eq(deferred), "{:?}", state.timers);
    assert!(!state.session.failed_fast || state.sums.counts.failed > 0, "nothing has failed");
    for task in &state.tasks {
        let for_a_limit = task.deferral.as_deref().filter(|wait| wait.why == DeferralReason::Window);
        let is_limited = task.work.asks.iter().any(|open| open.window.is_some());
        // Its worker's limit holds too where it was begun anew meanwhile.
        let has_worked = task.attempt.turn > 0 || task.attempt.number > 1;
        let for_its_agent = task.status() == Status::Pending && has_worked;
        assert!(
            for_a_limit.is_none() || is_limited || for_its_agent,
            "it waits for a limit that nobody has met: {task:?}"
        );
    }
    for (_, timer) in state.timers.iter() {
        let is_awaited = match timer {
            Timer::WaitOver => state.phase == RunPhase::Running,
            Timer::Expiry { of, number } => state.hold(of).is_some_and(|hold| hold.number == number),
            Timer::AskAgain { task, number } => {
                state.hold(task.into()).is_some_and(|hold| hold.number == number)
            }
            Timer::Budget => {
                state.phase == RunPhase::Running && state.ledger.limit().is_none_or(Ceiling::leaves_judging)
            }
            Timer::Deferral(task) => state.task(task).deferral.is_some(),
            Timer::DeadlineNear(_) | Timer::DeadlinePassed(_) => true,
        };
        assert!(is_awaited, "{timer:?} is about nothing");
    }
}

/// Whether what comes of it would still mean something. Turns are adopted or lost, and are no part of it.
fn is_awaited(state: &State, effect: &Effect) -> bool {
    let input = match effect {
        // The next session looks first at what was accepted, whether or not this one was about to, and delivers last.
        Effect::RunTurn { .. } | Effect::Audit { .. } | Effect::DeliverWork { .. } => return false,
        Effect::PreparePrompt(turn) => vec![Fact::PromptReady(Prompt { turn: *turn, digest: None, cues: 0 })],
        other => inputs(state, other, &Response::Finished),
    };
    let now = Timestamp(9);
    input.iter().any(|input| !decide(state, input, now).is_empty())
}

/// Whether two effects are the same but for what the world looked like when they were asked for.
fn same_call(a: &Effect, b: &Effect) -> bool {
    match (a, b) {
        (Effect::NoteFiles { turn: a, .. }, Effect::NoteFiles { turn: b, .. }) => a == b,
        _ => a == b,
    }
}

/// How what a restart of a running session would ask for differs from what is out, in words.
pub fn forgotten_by_a_restart(state: &State, out: &VecDeque<Effect>) -> Option<String> {
    if state.phase != RunPhase::Running {
        return None;
    }
    let pending = pending_effects(state);
    let is_out = |effect: &Effect| out.iter().any(|out| same_call(out, effect));
    if let Some(effect) = pending.iter().find(|effect| !is_out(effect)) {
        return Some(format!("{effect:?} was never asked for"));
    }
    let is_pending = |out: &Effect| pending.iter().any(|effect| same_call(effect, out));
    let mut awaited = out.iter().filter(|out| is_awaited(state, out));
    let forgotten = awaited.find(|out| !is_pending(out))?;
    Some(format!("{forgotten:?} is forgotten"))
}
