//! A run that goes on with a changed mission: the new plan under the ids that the journal already uses.
//!
//! Records and files of a run name tasks, gates and agents by id. So whatever keeps its title or name keeps its id,
//! what is new gets the next free one, and what the new mission does not have stays behind as [`Part::Removed`].

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use super::model::{
    AgentPlan, ApproverPlan, BarrierKind, BarrierPlan, CompileContext, GatePlan, Part, Plan, Rules, TaskPlan,
};
use super::worktree_plan::WorktreePlan;
use crate::domain::{AgentId, BarrierId, GateId, TaskId};

/// `new` as the successor of `old`: the mission of `new` with the ids of `old`.
pub fn migrate_plan(old: &Plan, new: Plan) -> Plan {
    let ids = MigratedIds {
        agents: Places::new(old.agents.iter().map(|a| &*a.name), new.agents.iter().map(|a| &*a.name)),
        tasks: Places::new(old.tasks.iter().map(|t| &*t.title), new.tasks.iter().map(|t| &*t.title)),
    };
    let alive = alive(old, &new, &ids);
    let added: Vec<TaskId> = old.every_task_id().filter(|id| alive.added(*id)).collect();
    let pairs = pairs(old, &new, &ids, (&alive, &added));
    let new_agents = new
        .agents
        .iter()
        .cloned()
        .map(|plan| AgentPlan { reports_to: plan.reports_to.map(|id| ids.agent(id)), ..plan });
    let agents =
        ids.agents.fill(new_agents, |index| AgentPlan { removed: true, ..old.agents[index].clone() });
    let new_tasks = new.tasks.iter().zip(&ids.tasks.places).map(|(plan, place)| {
        let mut plan = ids.task_plan(plan.clone());
        if let Some(before) = old.tasks.get(*place) {
            goes_on_with(&mut plan, before, &agents);
        }
        plan
    });
    let tasks = ids.tasks.fill(new_tasks, |index| TaskPlan {
        part: if alive.added(TaskId::from_index(index)) { Part::Selected } else { Part::Removed },
        ..old.tasks[index].clone()
    });
    let rules = Rules {
        orchestrator: new.rules.orchestrator.map(|id| ids.agent(id)),
        worktrees: WorktreePlan { root: old.rules.worktrees.root.clone(), ..new.rules.worktrees.clone() },
        ..new.rules.clone()
    };
    let (gates, holds) = (gates(old, &new, &ids), holds(old, &new, &ids));
    let plan = Plan::new(new.name, agents, tasks, gates, &pairs, rules);
    let mut plan = plan.with_barriers(holds).with_returns();
    plan.recipe = Arc::new(CompileContext {
        scrutiny: new.recipe.scrutiny.with_agents(&|id| ids.agent(id)),
        ..(*new.recipe).clone()
    });
    plan.channels = new.channels;
    for id in added {
        plan.refresh(id);
        plan.note_fixup(id);
    }
    plan
}

/// Keeps the agents that worked on a task, and the one that went on with it if the mission still names the same
/// agent.
pub(crate) fn goes_on_with(task: &mut TaskPlan, before: &TaskPlan, agents: &[AgentPlan]) {
    if before.agents_before.is_empty() {
        return;
    }
    task.agents_before = before.agents_before.clone();
    if task.agent == before.assigned && !agents[before.agent.index()].removed {
        task.agent = before.agent;
    } else if task.agent != before.agent && !task.agents_before.contains(&before.agent) {
        task.agents_before.push(before.agent);
    }
}

/// The ids of the old plan, for those of the new one.
struct MigratedIds {
    agents: Places,
    tasks: Places,
}

impl MigratedIds {
    fn agent(&self, id: AgentId) -> AgentId {
        AgentId::from_index(self.agents.of(id.index()))
    }

    fn task(&self, id: TaskId) -> TaskId {
        TaskId::from_index(self.tasks.of(id.index()))
    }

    fn tasks(&self, ids: &[TaskId]) -> Vec<TaskId> {
        ids.iter().map(|id| self.task(*id)).collect()
    }

    /// A task of the new plan.
    fn task_plan(&self, mut plan: TaskPlan) -> TaskPlan {
        plan.assigned = self.agent(plan.assigned);
        plan.agent = self.agent(plan.agent);
        plan.delegated_by = plan.delegated_by.map(|id| self.agent(id));
        let stages = plan.pipeline.iter().cloned();
        plan.pipeline = stages.map(|stage| stage.with_agents(&|id| self.agent(id))).collect();
        plan.route = plan.route.map(|route| Box::new(route.map(|id| self.task(id))));
        for approval in &mut plan.approvals {
            let mut moved = (**approval).clone();
            for approver in &mut moved.approvers {
                if let ApproverPlan::Agent(id) = approver {
                    *id = self.agent(*id);
                }
            }
            *approval = Arc::new(moved);
        }
        plan
    }
}

/// The dependencies: those of the new mission, and those of tasks that were added to the run.
fn pairs(
    old: &Plan,
    new: &Plan,
    ids: &MigratedIds,
    (alive, added): (&Alive, &[TaskId]),
) -> Vec<(u32, TaskId)> {
    let mut pairs = Vec::new();
    for id in new.every_task_id() {
        let needed = new.dependencies.of(id).iter();
        pairs.extend(needed.map(|needed| (ids.task(id).0, ids.task(*needed))));
    }
    for id in added {
        let needed = old.dependencies.of(*id).iter();
        let needed = needed.filter(|on| alive.any(**on));
        pairs.extend(needed.map(|on| (id.0, *on)));
        // Added tasks say themselves what they wait for.
        let waiting = old.dependents.of(*id).iter();
        let waiting = waiting.filter(|task| alive.any(**task) && !alive.added(**task));
        pairs.extend(waiting.map(|task| (task.0, *id)));
    }
    pairs
}

fn gates(old: &Plan, new: &Plan, ids: &MigratedIds) -> Vec<GatePlan> {
    let moved = new.gates.iter().map(|plan| GatePlan {
        after: ids.tasks(&plan.after),
        blocks: ids.tasks(&plan.blocks),
        ..plan.clone()
    });
    let places = Places::new(old.gates.iter().map(|g| &*g.name), new.gates.iter().map(|g| &*g.name));
    places.fill(moved, |index| GatePlan {
        part: Part::Removed,
        after: Vec::new(),
        blocks: Vec::new(),
        ..old.gate(GateId::from_index(index)).clone()
    })
}

fn holds(old: &Plan, new: &Plan, ids: &MigratedIds) -> Vec<BarrierPlan> {
    // A checkpoint and a delay may have one name.
    fn name(hold: &BarrierPlan) -> (bool, &str) {
        (matches!(hold.kind, BarrierKind::Checkpoint), &hold.name)
    }
    let moved = new.barriers.iter().map(|plan| BarrierPlan {
        after: ids.tasks(&plan.after),
        blocks: ids.tasks(&plan.blocks),
        ..plan.clone()
    });
    let places = Places::new(old.barriers.iter().map(name), new.barriers.iter().map(name));
    places.fill(moved, |index| BarrierPlan {
        part: Part::Removed,
        after: Vec::new(),
        blocks: Vec::new(),
        ..old.barrier(BarrierId::from_index(index)).clone()
    })
}

/// The tasks of an old plan that a new one still has.
struct Alive {
    /// One for each task of the old plan: whether the run takes it still.
    tasks: Vec<bool>,
    /// One for each task of the old plan: whether it was added to the run and the new mission does not have it
    /// itself.
    added: Vec<bool>,
}

impl Alive {
    fn any(&self, id: TaskId) -> bool {
        self.tasks[id.index()]
    }

    fn added(&self, id: TaskId) -> bool {
        self.added.get(id.index()).is_some_and(|added| *added)
    }
}

/// Added tasks stay as long as their agent and what they come from do.
fn alive(old: &Plan, new: &Plan, MigratedIds { agents, tasks }: &MigratedIds) -> Alive {
    let mut alive = Alive { tasks: vec![false; old.tasks.len()], added: vec![false; old.tasks.len()] };
    let mut known = vec![false; old.tasks.len()];
    for (place, task) in tasks.places.iter().zip(new.tasks.iter()) {
        if let Some(known) = known.get_mut(*place) {
            *known = true;
            alive.tasks[*place] = task.part == Part::Selected;
        }
    }
    let mut agent_known = vec![false; agents.all];
    for place in &agents.places {
        agent_known[*place] = true;
    }
    for (id, task) in old.every_task_id().zip(old.tasks.iter()) {
        let Some(from) = task.provenance.as_deref() else {
            continue;
        };
        // What asked for a task is older than the task.
        let stays = !known[id.index()]
            && task.part == Part::Selected
            && agent_known[task.agent.index()]
            && from.source.is_none_or(|source| alive.any(source));
        if stays {
            alive.tasks[id.index()] = true;
            alive.added[id.index()] = true;
        }
    }
    alive
}

/// Where the items of a new list stand among those of an old one: by name, else behind them.
struct Places {
    /// One for each new item.
    places: Vec<usize>,
    /// Old and new together.
    all: usize,
}

impl Places {
    fn new<N: Eq + Hash>(old: impl Iterator<Item = N>, new: impl Iterator<Item = N>) -> Self {
        let known: HashMap<N, usize> = old.enumerate().map(|(index, name)| (name, index)).collect();
        let mut all = known.len();
        let place = |name| {
            known.get(&name).copied().unwrap_or_else(|| {
                all += 1;
                all - 1
            })
        };
        let places = new.map(place).collect();
        Self { places, all }
    }

    fn of(&self, new: usize) -> usize {
        self.places[new]
    }

    /// The new items at their places, and what `left` makes of an old one that has no successor.
    fn fill<T>(&self, new: impl Iterator<Item = T>, left: impl Fn(usize) -> T) -> Vec<T> {
        let mut slots: Vec<Option<T>> = std::iter::repeat_with(|| None).take(self.all).collect();
        for (place, item) in self.places.iter().zip(new) {
            slots[*place] = Some(item);
        }
        let slots = slots.into_iter().enumerate();
        slots.map(|(index, slot)| slot.unwrap_or_else(|| left(index))).collect()
    }
}
