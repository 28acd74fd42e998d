//! What comes before what: dependencies, edges of verifications, gates, holds, and the waves that follow from them.

use std::collections::{HashMap, HashSet};

use super::known;
use crate::{
    domain::{Edge, TaskId},
    mission::{
        model::{self, Autonomy, CoordinationChain, CoordinationMiddleware, GateFailure, Mission},
        validate::order::going_back,
    },
    plan::{
        model::{BarrierKind, BarrierPlan, GatePlan, Part, Plan, TaskPlan},
        route::Route,
    },
};

/// Ids of tasks by title.
pub struct TaskIds<'m>(HashMap<&'m str, TaskId>);

impl<'m> TaskIds<'m> {
    pub fn of(mission: &'m Mission) -> Self {
        let titles = mission.tasks.iter().enumerate();
        let ids = titles.map(|(index, task)| (&*task.title, TaskId::from_index(index)));
        Self(ids.collect())
    }

    fn get(&self, title: &str) -> TaskId {
        known(self.0.get(title))
    }

    fn all<C: FromIterator<TaskId>>(&self, titles: &[Box<str>]) -> C {
        titles.iter().map(|title| self.get(title)).collect()
    }
}

/// Where the edges of each verification lead, by its index.
pub fn routes(mission: &Mission, ids: &TaskIds<'_>) -> HashMap<usize, Route> {
    let back = going_back(mission);
    let is_one = |task: &model::Task| task.kind == model::TaskType::Verification;
    let target = |task: &model::Task, edge| ids.get(task.edge(edge).unwrap_or_default());
    let verifications = mission.tasks.iter().enumerate().filter(|(_, task)| is_one(task));
    verifications
        .map(|(index, task)| {
            let route = Route {
                pass: target(task, Edge::Pass),
                fail: target(task, Edge::Fail),
                refer: target(task, Edge::Refer),
                fail_goes_back: back.contains(&index),
                max_visits: task.max_visits().get().into(),
            };
            (index, route)
        })
        .collect()
}

/// `dependsOn` as pairs: a task, and one that it needs. What an edge of a verification leads on to needs it.
pub fn dependencies(
    mission: &Mission,
    ids: &TaskIds<'_>,
    routes: &HashMap<usize, Route>,
) -> Vec<(u32, TaskId)> {
    let pairs_of = |(index, task): (usize, &model::Task)| {
        let from = TaskId::from_index(index).0;
        let needed: Vec<TaskId> = ids.all(&task.depends_on);
        needed.into_iter().map(move |needed| (from, needed))
    };
    let mut pairs: Vec<_> = mission.tasks.iter().enumerate().flat_map(pairs_of).collect();
    let mut nodes: Vec<_> = routes.iter().collect();
    nodes.sort_unstable_by_key(|(index, _)| **index);
    let mut known: HashSet<(u32, TaskId)> = HashSet::new();
    if !nodes.is_empty() {
        known.extend(pairs.iter().copied());
    }
    for (index, route) in nodes {
        let verification = TaskId::from_index(*index);
        for (_, target) in route.forward() {
            if known.insert((target.0, verification)) {
                pairs.push((target.0, verification));
            }
        }
    }
    pairs
}

pub fn gates(mission: &Mission, ids: &TaskIds<'_>) -> Vec<GatePlan> {
    mission
        .gates
        .iter()
        .map(|gate| GatePlan {
            name: gate.name.clone(),
            part: Part::Selected,
            after: ids.all(&gate.after_tasks),
            blocks: ids.all(&gate.blocks_tasks),
            min_score: gate.min_score,
            require_all_passed: gate.require_all_passed(),
            accept_below_threshold: gate.accept_below_threshold,
            halt_on_fail: gate.on_fail == GateFailure::Halt,
            notify: gate.notify_channels.clone(),
        })
        .collect()
}

pub fn holds(mission: &Mission, ids: &TaskIds<'_>) -> Vec<BarrierPlan> {
    let plan = |hold: &model::Delay, kind| BarrierPlan {
        name: hold.name.clone(),
        kind,
        part: Part::Selected,
        after: ids.all(&hold.after_tasks),
        blocks: ids.all(&hold.blocks_tasks),
        message: hold.message.clone(),
        notify: hold.notify_channels.clone(),
    };
    let delay = |hold: &model::Delay| BarrierKind::Delay(hold.duration.unwrap_or_default());
    let checkpoints = mission.checkpoints.iter();
    let checkpoints = checkpoints.map(|hold| plan(hold, BarrierKind::Checkpoint));
    let delays = mission.delays.iter().map(|hold| plan(hold, delay(hold)));
    checkpoints.chain(delays).collect()
}

/// The name of the checkpoint at which a person agrees to the plan.
const PLAN_REVIEW: &str = "plan_review_gate";

/// The checkpoint that holds the tasks whose agents decide little alone until a person has agreed to the plan
/// (semantics, section 17). One task is no plan, unless the mission names the entry itself.
pub fn plan_review(
    tasks: &[TaskPlan],
    chain: &CoordinationChain,
    is_named: bool,
    others: &[BarrierPlan],
) -> Option<BarrierPlan> {
    let asks = chain.has(CoordinationMiddleware::PlanReviewGate) && (is_named || tasks.len() > 1);
    // The mission has one of its own by that name.
    let is_there =
        others.iter().any(|hold| hold.kind == BarrierKind::Checkpoint && &*hold.name == PLAN_REVIEW);
    if !asks || is_there {
        return None;
    }
    let held = (0..).map(TaskId).zip(tasks).filter(|(_, task)| task.autonomy.needs_plan_review());
    let (blocks, autonomy): (Vec<TaskId>, Vec<Autonomy>) = held.map(|(id, task)| (id, task.autonomy)).unzip();
    let strictest = *autonomy.iter().min()?;
    let message = format!(
        "the plan is to be agreed to before {} (autonomy: {}); `quorum plan` shows it, approve to start, reject to fail {}",
        match blocks.len() {
            1 => "its task starts".to_owned(),
            many => format!("its {many} tasks start"),
        },
        strictest.as_str(),
        if blocks.len() == 1 { "it" } else { "them" },
    );
    Some(BarrierPlan {
        name: PLAN_REVIEW.into(),
        kind: BarrierKind::Checkpoint,
        part: Part::Selected,
        after: Vec::new(),
        blocks,
        message: Some(message.into()),
        notify: None,
    })
}

/// The wave of each task, from 0: one more than that of the last task it waits for, by `dependsOn` or through a gate.
///
/// Linear in tasks, gates and edges. Tasks in a circle, which a loaded mission does not have, stay in wave 0.
pub fn waves(plan: &Plan) -> Vec<u32> {
    let tasks = plan.tasks.len();
    let mut wave = vec![0u32; tasks];
    // What waits for nobody's work is no edge.
    let holds = |task| {
        let holds = plan.barriers_before.of(task).iter();
        holds.filter(|hold| !plan.barrier(**hold).after.is_empty()).count()
    };
    let before = |task| plan.gates_before.of(task).len() + holds(task);
    let mut open: Vec<usize> =
        (0..tasks).map(|task| plan.dependencies.of(task).len() + before(task)).collect();
    // Gates, then holds: both stand between tasks.
    let between = |task: usize| {
        let holds = plan.barriers_after.of(task).iter();
        let holds = holds.map(|hold| plan.gates.len() + hold.index());
        plan.gates_after.of(task).iter().map(|gate| gate.index()).chain(holds)
    };
    let sides: Vec<(&[TaskId], &[TaskId])> = (plan.gates.iter().map(|gate| (&*gate.after, &*gate.blocks)))
        .chain(plan.barriers.iter().map(|hold| (&*hold.after, &*hold.blocks)))
        .collect();
    let mut gate_open: Vec<usize> = sides.iter().map(|(after, _)| after.len()).collect();
    let mut gate_wave = vec![0u32; sides.len()];
    let mut ready: Vec<usize> = (0..tasks).filter(|task| open[*task] == 0).collect();
    while let Some(task) = ready.pop() {
        let next = wave[task] + 1;
        let mut release = |dependent: TaskId, next: u32| {
            let dependent = dependent.index();
            wave[dependent] = wave[dependent].max(next);
            open[dependent] -= 1;
            if open[dependent] == 0 {
                ready.push(dependent);
            }
        };
        plan.dependents.of(task).iter().for_each(|dependent| release(*dependent, next));
        for index in between(task) {
            gate_wave[index] = gate_wave[index].max(next);
            gate_open[index] -= 1;
            if gate_open[index] == 0 {
                sides[index].1.iter().for_each(|blocked| release(*blocked, gate_wave[index]));
            }
        }
    }
    wave
}
