//! A run that goes on with a changed mission: the new plan under the ids that the journal already uses.
//!
//! Records and files of a run name tasks, gates and agents by id. So whatever keeps its title or name keeps its id,
//! what is new gets the next free one, and what the new mission does not have stays behind as [`Part::Removed`].

use std::collections::HashMap;
use std::sync::Arc;

use super::plan::{
    AgentPlan, ApproverPlan, GatePlan, HoldKind, HoldPlan, Part, Plan, Recipe, Rules, TaskPlan,
};
use crate::domain::{AgentId, GateId, HoldId, TaskId};

/// `new` as the successor of `old`: the mission of `new` with the ids of `old`.
#[must_use]
pub fn succeed(old: &Plan, new: Plan) -> Plan {
    let agents = Places::new(
        old.agents.iter().map(|a| &*a.name),
        new.agents.iter().map(|a| &*a.name),
    );
    let tasks = Places::new(
        old.tasks.iter().map(|t| &*t.title),
        new.tasks.iter().map(|t| &*t.title),
    );
    let gates = Places::new(
        old.gates.iter().map(|g| &*g.name),
        new.gates.iter().map(|g| &*g.name),
    );
    let kind = |hold: &HoldPlan| match hold.kind {
        HoldKind::Checkpoint => "checkpoint",
        HoldKind::Delay(_) => "delay",
    };
    let names = |plan: &Plan| -> Vec<String> {
        let names = plan
            .holds
            .iter()
            .map(|hold| format!("{} {}", kind(hold), hold.name));
        names.collect()
    };
    let (old_holds, new_holds) = (names(old), names(&new));
    let holds = Places::new(
        old_holds.iter().map(String::as_str),
        new_holds.iter().map(String::as_str),
    );
    let agent = |id: AgentId| AgentId::from_index(agents.of(id.index()));
    let task = |id: TaskId| TaskId::from_index(tasks.of(id.index()));
    let mut pairs = Vec::new();
    for id in new.every_task_id() {
        let needed = new.dependencies.of(id.index()).iter();
        pairs.extend(needed.map(|needed| (task(id).0, task(*needed))));
    }
    let alive = alive(old, &new, &agents, &tasks);
    let added: Vec<TaskId> = old.every_task_id().filter(|id| alive.added(*id)).collect();
    for id in &added {
        let needed = old.dependencies.of(id.index()).iter();
        let needed = needed.filter(|on| alive.any(**on));
        pairs.extend(needed.map(|on| (id.0, *on)));
        // Added tasks say themselves what they wait for.
        let waiting = old.dependents.of(id.index()).iter();
        let waiting = waiting.filter(|task| alive.any(**task) && !alive.added(**task));
        pairs.extend(waiting.map(|task| (task.0, *id)));
    }
    let new_agents = new.agents.iter().cloned().map(|plan| AgentPlan {
        reports_to: plan.reports_to.map(agent),
        ..plan
    });
    let new_tasks = new.tasks.iter().cloned().map(|mut plan| {
        plan.agent = agent(plan.agent);
        plan.delegated_by = plan.delegated_by.map(agent);
        let stages = plan.pipeline.iter().cloned();
        plan.pipeline = stages.map(|stage| stage.with_agents(&agent)).collect();
        plan.route = plan.route.map(|route| Box::new(route.map(task)));
        for approval in &mut plan.approvals {
            let mut moved = (**approval).clone();
            for approver in &mut moved.approvers {
                if let ApproverPlan::Agent(id) = approver {
                    *id = agent(*id);
                }
            }
            *approval = Arc::new(moved);
        }
        plan
    });
    let new_gates = new.gates.iter().cloned().map(|plan| GatePlan {
        after: plan.after.into_iter().map(task).collect(),
        blocks: plan.blocks.into_iter().map(task).collect(),
        ..plan
    });
    let new_holds = new.holds.iter().map(|plan| HoldPlan {
        after: plan.after.iter().copied().map(task).collect(),
        blocks: plan.blocks.iter().copied().map(task).collect(),
        ..plan.clone()
    });
    let all_holds = holds.fill(new_holds, |index| HoldPlan {
        part: Part::Removed,
        after: Vec::new(),
        blocks: Vec::new(),
        ..old.hold(HoldId::from_index(index)).clone()
    });
    let all_agents = agents.fill(new_agents, |index| AgentPlan {
        removed: true,
        ..old.agents[index].clone()
    });
    let all_tasks = tasks.fill(new_tasks, |index| TaskPlan {
        part: if alive.added(TaskId::from_index(index)) {
            Part::Selected
        } else {
            Part::Removed
        },
        ..old.tasks[index].clone()
    });
    let all_gates = gates.fill(new_gates, |index| GatePlan {
        part: Part::Removed,
        after: Vec::new(),
        blocks: Vec::new(),
        ..old.gate(GateId::from_index(index)).clone()
    });
    let rules = Rules {
        orchestrator: new.rules.orchestrator.map(agent),
        ..new.rules.clone()
    };
    let plan = Plan::new(new.name, all_agents, all_tasks, all_gates, &pairs, rules);
    let mut plan = plan.with_holds(all_holds).with_returns();
    plan.recipe = Arc::new(Recipe {
        scrutiny: new.recipe.scrutiny.with_agents(&agent),
        ..(*new.recipe).clone()
    });
    plan.channels = new.channels;
    for id in added {
        plan.refresh(id);
        plan.note_fixup(id);
    }
    plan
}

/// What of an old plan a new one still has.
struct Alive {
    /// One for each task of the old plan: whether the run takes it still.
    tasks: Vec<bool>,
    /// Whether it is one that was added and that the new mission does not have itself.
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
fn alive(old: &Plan, new: &Plan, agents: &Places, tasks: &Places) -> Alive {
    let mut alive = Alive {
        tasks: vec![false; old.tasks.len()],
        added: vec![false; old.tasks.len()],
    };
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
    fn new<'p>(old: impl Iterator<Item = &'p str>, new: impl Iterator<Item = &'p str>) -> Self {
        let known: HashMap<&str, usize> = old.enumerate().map(|(index, name)| (name, index)).collect();
        let mut all = known.len();
        let place = |name| {
            known.get(name).copied().unwrap_or_else(|| {
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
        slots
            .map(|(index, slot)| slot.unwrap_or_else(|| left(index)))
            .collect()
    }
}
