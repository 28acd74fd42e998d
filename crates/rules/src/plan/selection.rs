//! `--only`: the part of a mission that a run takes (semantics, sections 5 and 20).

use std::collections::HashMap;
use std::sync::Arc;

use super::model::{Extent, Part, Plan};
use crate::{
    domain::{TaskId, folded},
    mission::{
        adjacency::Edges,
        file::{shown_text::quoted, suggest::suggestion},
        model::{FinalChecks, Isolation, OnExhausted},
    },
};

/// A title after `--only` that the mission does not have.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("there is no task {} to be selected", quoted(title))]
pub struct UnknownTask {
    /// The title that was asked for.
    pub title: String,
    /// The titles that may have been meant.
    pub help: String,
}

/// The titles that values of `--only` name. A value is a title, or several with commas between them; a title may hold
/// a comma itself, so the whole value is looked for first.
///
/// # Errors
/// The first one that no task has.
pub fn named_tasks(plan: &Plan, values: &[String]) -> Result<Vec<String>, UnknownTask> {
    let known: HashMap<&str, TaskId> = ids(plan).collect();
    let mut titles: Vec<String> = Vec::new();
    for value in values {
        let value = &folded(value);
        let whole = known.contains_key(value.as_str());
        let parts: Vec<&str> = if whole { vec![value] } else { value.split(',').map(str::trim).collect() };
        for title in parts {
            if !known.contains_key(title) {
                let of_plan = plan.task_ids().map(|id| plan.title(id));
                return Err(UnknownTask {
                    title: title.to_owned(),
                    help: suggestion(title, of_plan, "the tasks of the mission are"),
                });
            }
            if !titles.iter().any(|known| known == title) {
                titles.push(title.to_owned());
            }
        }
    }
    Ok(titles)
}

impl Plan {
    /// The tasks that wait for a task: its dependents, and those that gates, checkpoints and delays behind it
    /// block.
    pub fn waiting_for(&self, id: TaskId) -> impl Iterator<Item = TaskId> {
        let gates = self.gates_after.of(id).iter();
        let blocked = gates.flat_map(|gate| &self.gate(*gate).blocks);
        let holds = self.barriers_after.of(id).iter();
        let held = holds.flat_map(|hold| &self.barrier(*hold).blocks);
        let dependents = self.dependents.of(id).iter();
        dependents.chain(blocked).chain(held).copied()
    }

    /// The tasks that gates, checkpoints and delays before a task wait for.
    pub fn held_by(&self, id: TaskId) -> impl Iterator<Item = TaskId> {
        let gates = self.gates_before.of(id).iter();
        let gates = gates.flat_map(|gate| &self.gate(*gate).after);
        let holds = self.barriers_before.of(id).iter();
        let holds = holds.flat_map(|hold| &self.barrier(*hold).after);
        gates.chain(holds).copied()
    }

    /// Leaves nothing of a mission but the judging of one task, by the stages, agents and settings that it has: no other task,
    /// gate, checkpoint, delay, deadline, ceiling or channel. Its files are judged where they lie, and merged with nothing;
    /// what is not good enough is no more than that.
    pub fn leave_one_to_judge(&mut self, id: TaskId) {
        self.rules.workspace = self.root_of(id);
        self.leave(&[id]);
        self.tasks[id.index()].on_exhausted = Some(OnExhausted::Accept);
    }

    /// Leaves nothing of a mission but what the checks of these tasks say before their work, in the workspace as it is.
    pub fn leave_baselines(&mut self, tasks: &[TaskId]) {
        self.leave(tasks);
        self.rules.extent = Extent::Baselines;
    }

    /// Leaves these tasks of a mission, each by itself and in the workspace, and nothing around them.
    fn leave(&mut self, left: &[TaskId]) {
        let tasks = self.tasks.len();
        for id in self.every_task_id() {
            let task = &mut self.tasks[id.index()];
            task.part = Part::Removed;
            task.isolation = Isolation::Shared;
            (task.approvals, task.deadline) = (Vec::new(), None);
        }
        for id in left {
            self.tasks[id.index()].part = Part::Selected;
        }
        (self.gates, self.barriers) = Default::default();
        (self.gates_after, self.gates_before) = (Edges::new(tasks, &[]), Edges::new(tasks, &[]));
        (self.barriers_after, self.barriers_before) = (Edges::new(tasks, &[]), Edges::new(tasks, &[]));
        let rules = &mut self.rules;
        (rules.orchestrator, rules.quality_threshold, rules.deadline) = (None, None, None);
        (rules.sla, rules.default_channels, rules.budget) = Default::default();
        rules.worktrees.root = None;
        rules.settings.final_checks = FinalChecks::Never;
    }
}

/// Marks what a run takes: the tasks with these titles, what they need by `dependsOn`, and what the gates that hold
/// them wait for, checkpoints and delays like gates. A gate is evaluated if all that it waits for is taken; so no task is ever taken without its gates.
/// No titles take everything; titles that the mission does not have (any more) take nothing.
pub fn select(plan: &mut Plan, only: &[String]) {
    if only.is_empty() {
        return;
    }
    let known: HashMap<&str, TaskId> = ids(plan).collect();
    let named = only.iter().filter_map(|title| known.get(title.as_str()).copied());
    let mut open: Vec<TaskId> = named.collect();
    let mut taken = vec![false; plan.tasks.len()];
    while let Some(id) = open.pop() {
        if std::mem::replace(&mut taken[id.index()], true) {
            continue;
        }
        open.extend(plan.dependencies.of(id));
        open.extend(plan.held_by(id));
    }
    for (index, taken) in taken.iter().enumerate() {
        if !taken {
            plan.tasks[index].part = Part::NotSelected;
        }
    }
    for gate in Arc::make_mut(&mut plan.gates) {
        if gate.after.iter().any(|id| !taken[id.index()]) {
            gate.part = Part::NotSelected;
        }
    }
    for hold in Arc::make_mut(&mut plan.barriers) {
        if hold.after.iter().any(|id| !taken[id.index()]) {
            hold.part = Part::NotSelected;
        }
    }
}

fn ids(plan: &Plan) -> impl Iterator<Item = (&str, TaskId)> {
    plan.task_ids().map(|id| (plan.title(id), id))
}
