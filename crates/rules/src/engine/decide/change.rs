//! A changed mission that a person accepted (`resume --accept-changed-mission`): what of the work done still holds.
//!
//! Tasks are matched by title, so the new plan has the ids of the old one. Work and verdicts hold as long as
//! everything that they depend on is the same; else the task is done again as by `--redo`, with what was built on it.
//! All of it is one record, so no crash finds half a change.

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::{AgentId, GateId, QualityFlag, Status, TaskId, WaitingReason};
use crate::engine::event::{Event, RunEvent};
use crate::engine::fact::Fact;
use crate::engine::mission_change::MissionChange;
use crate::engine::quality_flag::Mark;
use crate::engine::state::{State, TaskState};
use crate::mission::model::{Agent, AgentMiddleware, Permissions};
use crate::plan::{Judge, Part, Plan, Route, migrate_plan};

use super::redo::{built_on, withdraw, withdrawn};

/// First what is withdrawn, under the old plan; then the change itself.
pub fn change_mission(state: &State, input: &Fact) -> Vec<Event> {
    let Fact::ChangeMission { number, from, to, mission: Some(mission) } = input else {
        return Vec::new();
    };
    let old = &*state.plan;
    let new = &migrate_plan(old, Plan::clone(mission));
    let was_taken = |id: &TaskId| old.tasks.get(id.index()).is_some_and(|task| task.part == Part::Selected);
    let is_taken = |id: &TaskId| new.task(*id).part == Part::Selected;
    let removed: Vec<TaskId> = old.selected_ids().filter(|id| !is_taken(id)).collect();
    let added: Vec<TaskId> = new.selected_ids().filter(|id| !was_taken(id)).collect();
    let kept = || new.selected_ids().filter(was_taken);
    let changed: Vec<TaskId> = kept().filter(|id| is_changed(state, new, *id)).collect();

    let mut why: BTreeMap<TaskId, String> = BTreeMap::new();
    for id in &removed {
        why.insert(*id, "no longer in the mission".to_owned());
    }
    for id in &changed {
        why.insert(*id, "its definition in the mission was changed".to_owned());
    }
    for (id, root) in built_on(new, &changed) {
        if was_taken(&id) {
            let because = || format!("built on '{}', which was changed", new.task(root).title);
            why.entry(id).or_insert_with(because);
        }
    }
    let again: BTreeSet<TaskId> = why.keys().copied().collect();
    let mut events = Vec::new();
    for (id, why) in &why {
        events.extend(withdraw(state, *id, why));
    }
    events.extend(withdrawn(old, &again, &again));
    events.push(Event::Run(RunEvent::MissionChanged(Box::new(MissionChange {
        number: *number,
        previous_digest: *from,
        mission_digest: *to,
        added,
        removed,
        changed,
        gates: withdrawn_gates(state, new, &again),
        mission: Some(mission.clone()),
    }))));
    events
}

/// Whether what a task has reached was reached on other terms than those of the new plan.
fn is_changed(state: &State, new: &Plan, id: TaskId) -> bool {
    let old = &*state.plan;
    if work(old, id) != work(new, id) || judging(old, id) != judging(new, id) {
        return true;
    }
    // A request that waits was about the agreement that the old mission asked for.
    let waiting = state.task(id).hold();
    if waiting.is_some_and(|waiting| waiting.reason == WaitingReason::Approval)
        && old.task(id).approvals != new.task(id).approvals
    {
        return true;
    }
    // What passed only by a relief that is not there any more did not pass.
    let is_relieved =
        state.task(id).flag() == Some(QualityFlag::Relaxed) && state.task(id).attempt.has(Mark::Relaxed);
    if is_relieved && !new.task(id).foundation {
        return true;
    }
    // How often and how long it may try makes good work neither better nor worse, but may save what was not good.
    !is_good(state.task(state.effective_task(id)))
        && state.task(id).status().is_terminal()
        && allowance(old, id) != allowance(new, id)
}

fn is_good(task: &TaskState) -> bool {
    task.status() == Status::Done && !task.flag().is_some_and(QualityFlag::is_below_bar)
}

/// The parts of a task that its worker is told and given.
fn work(plan: &Plan, id: TaskId) -> impl PartialEq {
    let task = plan.task(id);
    let worktrees = &plan.rules.worktrees;
    let prepared = task.has_worktree().then_some((&worktrees.copy, &worktrees.link, &worktrees.setup));
    let needs: BTreeSet<TaskId> = plan.dependencies.of(id).iter().copied().collect();
    (
        (&task.title, &task.description, task.kind, &task.workspace),
        (&plan.rules.workspace, needs),
        // Work that lies elsewhere is not there.
        (task.isolation, prepared),
        // What was protected may have been changed as long as it was not.
        (&plan.rules.protect, &task.protect),
        (&plan.rules.settings.checks_may_write, &task.checks_may_write),
        (&plan.rules.settings.scratch, &task.scratch),
        (task.assigned, as_asked(plan, task.assigned)),
        // What it is told beside that, what it may do, and whether it is heard when it says that something does not hold.
        [
            AgentMiddleware::AuthorityDeference,
            AgentMiddleware::SanitizeMessage,
            AgentMiddleware::SecurityInterceptor,
            AgentMiddleware::PolicyGate,
            AgentMiddleware::ApprovalGate,
            AgentMiddleware::AssumptionViolation,
        ]
        .map(|entry| plan.middleware(id).has(entry)),
    )
}

/// The parts of a task that its work is held against, and its judges.
fn judging(plan: &Plan, id: TaskId) -> impl PartialEq {
    let task = plan.task(id);
    let judge = plan.judge(id);
    let evaluated = judge.is_some_and(Judge::is_evaluation).then_some((
        plan.rules.settings.fail_open_on_unparsed_eval,
        plan.rules.settings.verify_prior_feedback,
    ));
    let judges: Vec<Agent> = task.judging_agents().map(|agent| as_asked(plan, agent)).collect();
    (
        (&task.pipeline, judge, plan.full_bar(id).map(|bar| bar.points)),
        (&task.target_files, &task.acceptance, task.requires_tool_calls),
        (task.autonomy, task.stakes, evaluated, judges),
        // What a verdict leads to is what it is for.
        plan.route(id).map(Route::ends),
    )
}

/// An agent as far as what it says depends on it: not when it is asked, how long and for how much it may work, nor why it of
/// all agents.
fn as_asked(plan: &Plan, id: AgentId) -> Agent {
    Agent {
        max_concurrent: None,
        timeout: None,
        stale_threshold: None,
        max_cost_per_turn: None,
        role: None,
        fallback: Vec::new(),
        reports_to: None,
        permissions: Permissions::default(),
        ..plan.agent(id).spec.clone()
    }
}

fn allowance(plan: &Plan, id: TaskId) -> impl PartialEq + use<> {
    let task = plan.task(id);
    (
        task.limits,
        task.turn_timeout,
        task.on_exhausted.or(plan.rules.on_exhausted),
        (plan.rules.settings.max_assessment_retries, task.foundation),
        plan.route(id).map(|route| route.max_visits),
        (
            task.on_dependency_failed.unwrap_or(plan.rules.settings.on_dependency_failed),
            plan.rules.settings.max_resolution_attempts,
            plan.rules.orchestrator,
        ),
    )
}

/// Gates whose result was about something else: other tasks, another bar, or work that is done again.
fn withdrawn_gates(state: &State, new: &Plan, again: &BTreeSet<TaskId>) -> Vec<GateId> {
    let old = &*state.plan;
    let has_result = |id: &GateId| {
        let gate = state.gate(*id);
        gate.result.is_some() || gate.overridden
    };
    let is_withdrawn = |id: &GateId| {
        question(old, *id) != question(new, *id)
            || old.gate(*id).after.iter().any(|task| again.contains(task))
    };
    let gates = (0..old.gates.len()).map(GateId::from_index);
    gates.filter(|id| has_result(id) && is_withdrawn(id)).collect()
}

/// The question of a gate. The tasks that it holds change nothing about the answer.
fn question(plan: &Plan, id: GateId) -> impl PartialEq + use<> {
    let gate = plan.gate(id);
    let after: BTreeSet<TaskId> = gate.after.iter().copied().collect();
    // No score reaches anything where reviews are switched off.
    let score = gate.min_score.map(|least| (least, plan.rules.settings.evaluate));
    ((gate.part, after, score), (gate.require_all_passed, gate.accept_below_threshold))
}
