//! `--only`: the part of a mission that a run takes (semantics, sections 5 and 20).

use std::collections::HashMap;
use std::sync::Arc;

use super::plan::{Part, Plan};
use super::suggest::suggestion;
use super::text::quoted;
use crate::domain::{TaskId, folded};

/// A title after `--only` that the mission does not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no task {} to be selected", quoted(title))]
pub struct UnknownTask {
    /// What was asked for.
    pub title: String,
    /// What may have been meant.
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
        let parts: Vec<&str> = if whole {
            vec![value]
        } else {
            value.split(',').map(str::trim).collect()
        };
        for title in parts {
            if !known.contains_key(title) {
                let of_plan = plan.task_ids().map(|id| &*plan.task(id).title);
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

/// Marks what a run takes: the tasks with these titles, what they need by `dependsOn`, and what the gates that hold
/// them wait for, checkpoints and delays like gates. A gate is evaluated if all that it waits for is taken; so no task is ever taken without its gates.
/// No titles take everything; titles that the mission does not have (any more) take nothing.
pub(super) fn select(plan: &mut Plan, only: &[String]) {
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
        open.extend(plan.dependencies.of(id.index()));
        for gate in plan.gates_before.of(id.index()) {
            open.extend(&plan.gate(*gate).after);
        }
        for hold in plan.barriers_before.of(id.index()) {
            open.extend(&plan.barrier(*hold).after);
        }
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
    plan.task_ids().map(|id| (&*plan.task(id).title, id))
}
