//! A run that goes on with a changed mission: the new plan under the ids that the journal already uses.
//!
//! Records and files of a run name tasks, gates and agents by id. So whatever keeps its title or name keeps its id,
//! what is new gets the next free one, and what the new mission does not have stays behind as [`Part::Removed`].

use std::collections::HashMap;

use super::compile::{gate_edges, turned};
use super::plan::{AgentPlan, Edges, GatePlan, Part, Plan, Reviewers, Rules, TaskPlan};
use crate::domain::{AgentId, GateId, TaskId};

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
    let agent = |id: AgentId| AgentId::from_index(agents.of(id.index()));
    let task = |id: TaskId| TaskId::from_index(tasks.of(id.index()));
    let mut pairs = Vec::new();
    for id in new.every_task_id() {
        let needed = new.dependencies.of(id.index()).iter();
        pairs.extend(needed.map(|needed| (task(id).0, task(*needed))));
    }
    let new_agents = new.agents.into_iter().map(|plan| AgentPlan {
        reports_to: plan.reports_to.map(agent),
        ..plan
    });
    let new_tasks = new.tasks.into_iter().map(|mut plan| {
        plan.agent = agent(plan.agent);
        plan.delegated_by = plan.delegated_by.map(agent);
        let panel = plan.expectations.as_deref_mut().and_then(|e| e.panel.as_mut());
        if let Some(Reviewers::Named(named)) = panel.map(|panel| &mut panel.reviewers) {
            named.iter_mut().for_each(|id| *id = agent(*id));
        }
        plan
    });
    let new_gates = new.gates.into_iter().map(|plan| GatePlan {
        after: plan.after.into_iter().map(task).collect(),
        blocks: plan.blocks.into_iter().map(task).collect(),
        ..plan
    });
    let all_agents = agents.fill(new_agents, |index| AgentPlan {
        removed: true,
        ..old.agents[index].clone()
    });
    let all_tasks = tasks.fill(new_tasks, |index| TaskPlan {
        part: Part::Removed,
        ..old.tasks[index].clone()
    });
    let all_gates = gates.fill(new_gates, |index| GatePlan {
        part: Part::Removed,
        after: Vec::new(),
        blocks: Vec::new(),
        ..old.gate(GateId::from_index(index)).clone()
    });
    let count = all_tasks.len();
    Plan {
        name: new.name,
        agents: all_agents,
        dependents: Edges::new(count, &turned(&pairs)),
        dependencies: Edges::new(count, &pairs),
        gates_after: gate_edges(count, &all_gates, |gate| &gate.after),
        gates_before: gate_edges(count, &all_gates, |gate| &gate.blocks),
        tasks: all_tasks,
        gates: all_gates,
        rules: Rules {
            orchestrator: new.rules.orchestrator.map(agent),
            ..new.rules
        },
    }
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
