//! What has become due: gates, failed dependencies, free slots, the end of a session.
//!
//! `apply` pushes what becomes due to queues; [`advance`] drains them. The runtime asks again until there is nothing
//! left, so each call may decide only what the state already shows.

use std::collections::BTreeSet;

use rust_decimal::Decimal;

use crate::domain::{AgentId, GateId, Points, Stage, Status, Timestamp, TurnId, WaitingReason};
use crate::engine::event::{BudgetEvent, Event, GateEvent, RunEvent, TurnEvent};
use crate::engine::fact::Fact;
use crate::engine::ledger::Room;
use crate::engine::outcome::outcome;
use crate::engine::payload::{GateResult, SupervisorRef};
use crate::engine::state::{RunPhase, State};
use crate::judging::eligibility::grader;
use crate::mission::model::Input as PromptInput;
use crate::mission::{Plan, RunOptions, TaskPlan};

use super::admission::{Admission, Work};
use super::draft::Draft;
use super::evidence::must_note;
use super::stages::{JudgedBy, Panel, judged_by};
use super::{
    admission, approvals, audit, budget, deferral, dependencies, holds, notify, routes, scrutiny,
    side_effects, stages, turns,
};

/// Decides what the state makes due.
pub(super) fn advance(state: &State, now: Timestamp) -> Vec<Event> {
    let mut events = gates(state);
    events.extend(cascades(state));
    // Nothing is started before it is known whether what was accepted still stands.
    if events.is_empty() && state.audit.out {
        return events;
    }
    if events.is_empty() && state.phase == RunPhase::Running {
        events = budget::release(state);
    }
    // Whatever has failed with them is out of the way by now.
    if events.is_empty() {
        events = holds::reached(state, now);
    }
    if events.is_empty() && state.phase == RunPhase::Running {
        if state.may_start_work() {
            events = approvals::requests(state, now);
        }
        events.extend(start_tasks(state));
    }
    if events.is_empty() && is_over(state) {
        if let Some(audit) = audit::at_the_end(state) {
            return audit;
        }
        let wait = wait(state, now).filter(|_| !state.notices.announced);
        events = wait.unwrap_or_else(|| finish(state, now));
    }
    events
}

/// Where only a person can move the run on and the session is to be kept alive for that: the wait, announced once.
fn wait(state: &State, now: Timestamp) -> Option<Vec<Event>> {
    let wait = state.options.wait_approvals?;
    if !state.only_a_person_moves_it_on() {
        return None;
    }
    Some(match state.waits_until() {
        Some(_) => Vec::new(),
        None => vec![Event::Run(RunEvent::Waiting {
            until: now.plus(wait),
        })],
    })
}

/// Nobody answered in time: the session ends. A wait that has ended otherwise is over already.
pub(super) fn wait_over(state: &State, now: Timestamp) -> Vec<Event> {
    if !state.only_a_person_moves_it_on() {
        Vec::new()
    } else if state.plan.rules.default_channels.is_empty() {
        notify::overdue(state, now)
    } else {
        finish(state, now)
    }
}

fn gates(state: &State) -> Vec<Event> {
    let due = state.gates_due.iter();
    due.map(|gate| {
        Event::Gate(
            *gate,
            GateEvent::Evaluated {
                result: evaluate_gate(state, *gate),
            },
        )
    })
    .collect()
}

/// Evaluates a gate from stored state only (section 14).
pub(in crate::engine) fn evaluate_gate(state: &State, id: GateId) -> GateResult {
    let gate = state.plan.gate(id);
    let title = |task: &crate::domain::TaskId| state.plan.task(*task).title.as_ref();
    let list = |tasks: Vec<&str>| tasks.join(", ");
    // What a verdict left out of the run says nothing.
    let after = || gate.after.iter().filter(|task| !state.task(**task).not_taken);
    let of = |wanted: &dyn Fn(&crate::engine::state::TaskState) -> bool| -> Vec<&str> {
        after()
            .filter(|task| wanted(state.task(state.standing(**task))))
            .map(title)
            .collect()
    };
    let scores: Vec<Points> = after()
        .filter_map(|task| state.task(state.standing(*task)).points)
        .collect();
    let avg = Points::weighted_mean(scores.iter().map(|points| (*points, Decimal::ONE)));
    let unscored = of(&|task| task.points.is_none());

    let mut reasons = Vec::new();
    let failed = of(&|task| task.status == Status::Failed);
    if gate.require_all_passed && !failed.is_empty() {
        reasons.push(format!("failed: {}", list(failed)));
    }
    let below = of(&|task| task.flag.is_some_and(crate::domain::QualityFlag::is_below_bar));
    if !gate.accept_below_threshold && !below.is_empty() {
        reasons.push(format!("accepted below the bar: {}", list(below)));
    }
    if let Some(min) = gate.min_score {
        match avg {
            _ if !state.plan.rules.evaluate => {
                reasons.push("minScore cannot be met: reviews are switched off".to_owned())
            }
            None => reasons.push(format!(
                "no score to hold against minScore {min}; unscored: {}",
                list(unscored.clone())
            )),
            Some(avg) if avg < min => reasons.push(format!("average score {avg} is below {min}")),
            Some(_) => {}
        }
    }
    let passed = reasons.is_empty();
    if gate.min_score.is_some() && avg.is_some() && !unscored.is_empty() {
        reasons.push(format!("unscored, not counted: {}", list(unscored)));
    }
    GateResult {
        passed,
        avg,
        reason: (!reasons.is_empty()).then(|| reasons.join("; ")),
    }
}

/// Tasks whose dependency failed for good (section 11). One at a time for each task: what is decided may settle the others.
fn cascades(state: &State) -> Vec<Event> {
    let mut seen = BTreeSet::new();
    let mut events = Vec::new();
    for (task, dependency) in &state.cascades_due {
        if !seen.insert(*task) {
            continue;
        }
        events.extend(dependencies::failed(state, *task, *dependency));
    }
    events
}

/// Fills the free slots by priority. An exclusive task waits until nothing else holds a slot, and while it waits
/// at the head nothing overtakes it: otherwise it might never start.
fn start_tasks(state: &State) -> Vec<Event> {
    let mut admission = Admission::of(state);
    if !admission.is_open() {
        return Vec::new();
    }
    let mut events = Vec::new();
    for id in state.ready.next_up() {
        let is_begun = state.task(id).is_queued();
        // A run that was halted finishes what has begun.
        if !is_begun && !state.may_start_work() {
            continue;
        }
        if !admission.admits(id, if is_begun { Work::Begun } else { Work::New }) {
            break;
        }
        let plan = state.plan.task(id);
        if is_begun {
            // Its verdict may add tasks or end it: nothing else is decided in the same record.
            if events.is_empty() {
                let mut draft = Draft::new(state, id);
                admission::release(&mut draft);
                events = draft.into_events();
            }
            break;
        }
        let is_node = plan.route.is_some();
        match budget::room(state, plan.agent) {
            Room::Fits => {}
            // It calls nobody to work; a judge that has no room is held by itself.
            Room::Wait if is_node => {}
            // With a budget one is started at a time: nothing has been before it.
            Room::Exhausted(ceiling) => return vec![Event::Budget(BudgetEvent::Exhausted { ceiling })],
            Room::Wait => break,
        }
        let mut draft = Draft::new(state, id);
        draft.enter(Status::Assigned);
        if is_node {
            routes::begin(&mut draft);
        } else if !needs_prompt(&state.plan, plan) && !must_note(state, id) {
            turns::start_turn(&mut draft, None);
        }
        events.extend(draft.into_events());
        admission.take(id);
        // The next one needs the room that this one leaves.
        if !state.plan.rules.budget.is_none() {
            break;
        }
    }
    events
}

/// Whether the task's agent is told anything at all.
pub(in crate::engine) fn needs_prompt(plan: &Plan, task: &TaskPlan) -> bool {
    plan.agent(task.agent).spec.input != PromptInput::None
}

/// Whether the session has nothing left to do.
pub(super) fn is_over(state: &State) -> bool {
    match state.phase {
        RunPhase::Running if state.audit.out => false,
        // What is free of charge is finished with what runs.
        RunPhase::Running if state.ledger.limit().is_some() => {
            state.sums.turns_running == 0 && state.ledger.nothing_open() && state.sums.looked_at == 0
        }
        RunPhase::Running => {
            state.sums.slots == 0
                && state.sums.calls_open == 0
                && state.sums.approvers_asked == 0
                && !state.a_delay_moves_it_on()
                && !state.a_moment_moves_it_on()
        }
        RunPhase::Stopping => state.sums.turns_running == 0,
        RunPhase::New | RunPhase::Finished => false,
    }
}

pub(super) fn finish(state: &State, now: Timestamp) -> Vec<Event> {
    if let (Some(threshold), None, false) = (
        state.plan.rules.quality_threshold,
        state.threshold_failed,
        !state.has_all_ended(),
    ) && let Some(points) = mission_score(state).filter(|points| *points < threshold)
    {
        return vec![Event::Run(RunEvent::ThresholdFailed { points, threshold })];
    }
    notify::before_the_end(state, now).unwrap_or_else(|| run_finished(state))
}

/// The last event of a session.
pub(super) fn run_finished(state: &State) -> Vec<Event> {
    let outcome = outcome(state);
    vec![Event::Run(RunEvent::Finished {
        outcome: outcome.class,
        conditions: outcome.conditions,
        allowed: outcome.allowed,
        origin: None,
    })]
}

/// Somebody else touched what the session rests on. One that has said what it ends with says it anew.
pub(super) fn foreign(state: &State, fact: &Fact) -> Vec<Event> {
    let mut events = Vec::from_iter(fact.as_event());
    if state.phase == RunPhase::Finished {
        let mut touched = state.clone();
        touched.foreign = true;
        events.extend(run_finished(&touched));
    }
    events
}

/// The agents that a run would need: who works, and who would be asked to judge.
#[must_use]
pub fn agents_needed(state: &State) -> BTreeSet<AgentId> {
    let mut needed = BTreeSet::from_iter(state.plan.rules.orchestrator);
    needed.extend(state.plan.selected_ids().map(|id| state.plan.task(id).agent));
    needed.extend(judging_agents(state));
    let instead: Vec<AgentId> = needed.iter().flat_map(|id| state.plan.fallbacks(*id)).collect();
    needed.extend(instead);
    needed
}

/// The agents who judge work or agree to it, without those who stand in for them.
#[must_use]
pub fn judging_agents(state: &State) -> BTreeSet<AgentId> {
    let mut needed = BTreeSet::from_iter(approvals::agents_asked(&state.plan));
    for id in state.plan.selected_ids() {
        // People are asked from outside: nothing needs to be reached for them.
        match judged_by(state, id) {
            JudgedBy::Panel(Panel { seats: agents, .. }) | JudgedBy::Evaluation(agents) => {
                needed.extend(agents);
            }
            JudgedBy::ChecksOnly | JudgedBy::Nobody => {}
        }
        let verification = state.plan.task(id).verification.as_deref();
        let decomposer = verification.and_then(|verification| verification.decomposer);
        let of_criteria = grader(&state.plan, id).into_iter().chain(decomposer);
        needed.extend(of_criteria.filter(|_| state.plan.rules.evaluate));
        needed.extend(scrutiny::agents(&state.plan, id).map(|(_, agent)| agent));
    }
    needed
}

/// Σ(score × priority) / Σ(priority) over done tasks with a score; `None` if there is none (section 14).
#[must_use]
pub fn mission_score(state: &State) -> Option<Points> {
    let scored = state
        .plan
        .tasks
        .iter()
        .zip(&state.tasks)
        .filter(|(_, task)| task.status == Status::Done);
    Points::weighted_mean(scored.filter_map(|(plan, task)| Some((task.points?, plan.priority))))
}

/// A later session: what was in flight is lost unless it was kept, and judges that were missing are asked again. A kept
/// turn goes on as if nothing had happened; nothing is spent on it.
pub(super) fn resume(
    state: &State,
    options: &RunOptions,
    supervisor: &SupervisorRef,
    kept: &[TurnId],
    now: Timestamp,
) -> Vec<Event> {
    let kept: BTreeSet<&TurnId> = kept.iter().collect();
    let is_open = |waiting: &crate::engine::state::Waiting| waiting.reason == WaitingReason::Approval;
    let mut events = vec![Event::Run(RunEvent::Resumed {
        options: Box::new(options.clone()),
        supervisor: supervisor.clone(),
    })];
    if let (Some(from), Some(to)) = (&state.options.state_base, &options.state_base)
        && from != to
    {
        events.push(Event::Run(RunEvent::Moved {
            from: from.clone(),
            to: to.clone(),
        }));
    }
    for id in state.plan.task_ids() {
        let task = state.task(id);
        if task.deferral.is_some() {
            events.extend(deferral::resume(state, id, stages::asks_in_vain(state, id), now));
        }
        if task.running.is_some() {
            let turn = state.current_turn(id);
            if kept.contains(&turn) {
                events.push(Event::Turn(turn, TurnEvent::Adopted));
            } else {
                events.extend(side_effects::turn_lost(state, turn));
            }
        } else if task.status == Status::AwaitingApproval && task.waiting.as_ref().is_some_and(is_open) {
            events.extend(approvals::ask_again(state, id));
        } else if task
            .waiting
            .as_ref()
            .is_some_and(crate::engine::state::Waiting::is_for_judges)
        {
            let mut draft = Draft::new(state, id);
            draft.enter_because(Status::Review, "the reviewers are asked again");
            admission::queue(&mut draft, Some((Stage::Outcome, None)), "", now);
            events.extend(draft.into_events());
        } else if task.deferral.is_none() {
            let mut draft = Draft::new(state, id);
            stages::call_off_in_vain(&mut draft);
            events.extend(draft.into_events());
        }
    }
    events
}
