//! What a run waits for: approvals, gates, checkpoints, delays.

use std::collections::HashMap;
use std::slice::from_ref;

use super::order::between;
use super::workers::refuse_asked;
use super::{Names, named_twice, repeated};
use crate::mission::{
    condition::{Conditions, check},
    file::{
        codes::Code,
        shown_text::quoted,
        violation::{Path, Violations},
    },
    model::{ApprovalGate, Approver, Mission, Settings},
};

pub fn validate(mission: &Mission, names: &Names<'_>, problems: &mut Violations) {
    for (index, task) in mission.tasks.iter().enumerate() {
        let Some(approval) = &task.requires_approval else {
            continue;
        };
        let author = mission.assignee(task);
        for (item, approver) in approval.approvers.iter().enumerate() {
            let Approver::Named(name) = approver else {
                continue;
            };
            let path = || {
                let path = Path::of("tasks").item(index).key("requiresApproval");
                path.key("approvers").item(item)
            };
            refuse_asked(name, path, from_ref(task), names, problems);
            if author == Some(&**name) {
                problems.refuse(
                    Code::OwnReviewer,
                    path(),
                    format!("the agent {} cannot approve its own task", quoted(name)),
                    "name another agent, a person or a command",
                );
            }
        }
    }
    for (index, gate) in (0..).zip(mission.settings.approval_gates.iter().flatten()) {
        for (item, approver) in (0..).zip(&gate.approvers) {
            let at = || Path::of("settings").key("approvalGates").item(index);
            if let Approver::Named(name) = approver {
                let place = || at().key("approvers").item(item);
                refuse_asked(name, place, &mission.tasks, names, problems);
            }
        }
    }
    conditions(mission, problems);
    barriers(mission, names, problems);
}

/// Finds the problems that approval gates have whatever the mission.
pub fn settings(settings: &Settings, problems: &mut Violations) {
    let gates = settings.approval_gates.as_deref().unwrap_or_default();
    let at = |index: usize, key: &'static str| Path::of("settings").key("approvalGates").item(index).key(key);
    let mut first = HashMap::new();
    for (index, gate) in gates.iter().enumerate() {
        if let Some(wrong) = gate.when.as_deref().and_then(|when| check(when).err()) {
            problems.refuse(Code::BadCondition, at(index, "when"), wrong.message, wrong.help);
        }
        if !gate.name.is_empty()
            && let Some(earlier) = first.insert(&gate.name, index)
        {
            named_twice("approval gate", &gate.name, at(index, "name"), at(earlier, "name"), problems);
        }
    }
}

/// Conditions that can be read must be true or false for every task: told for the first task where one is neither.
fn conditions(mission: &Mission, problems: &mut Violations) {
    let gates = mission.settings.approval_gates.as_deref().unwrap_or_default();
    let readable = |gate: &ApprovalGate| gate.when.as_deref().is_some_and(|when| check(when).is_ok());
    if !gates.iter().any(readable) {
        return;
    }
    let conditions = Conditions::new(mission);
    for (index, gate) in gates.iter().enumerate().filter(|(_, gate)| readable(gate)) {
        let when = gate.when.as_deref().unwrap_or_default();
        let wrong = |task| conditions.holds(when, task).err().map(|why| (task, why));
        if let Some((task, why)) = mission.tasks.iter().find_map(wrong) {
            let path = Path::of("settings").key("approvalGates").item(index).key("when");
            problems.refuse(
                Code::BadCondition,
                path,
                format!("the condition cannot be decided for the task {}: {why}", quoted(&task.title)),
                "write something that is true or false for every task, such as `task.priority > 1`",
            );
        }
    }
}

/// Checks gates, checkpoints and delays: each waits for some tasks, blocks others, and has a name of its own
/// among those of its kind.
fn barriers(mission: &Mission, names: &Names<'_>, problems: &mut Violations) {
    let mut first = HashMap::new();
    for barrier in between(mission) {
        let at = |index, key: &'static str| Path::of(barrier.list).item(index).key(key);
        for (key, titles, does) in [
            ("afterTasks", barrier.after, "waits for nothing"),
            ("blocksTasks", barrier.blocks, "blocks nothing"),
        ] {
            let place = || at(barrier.index, key);
            if titles.is_empty() {
                problems.refuse(
                    Code::EmptyGate,
                    place(),
                    format!("the {} {} {does}", barrier.what, quoted(barrier.name)),
                    format!("name at least one task: `{key}: [title]`"),
                );
            }
            for (item, title) in titles.iter().enumerate() {
                names.check_task(title, mission, || place().item(item), problems);
            }
            repeated(titles, key, |item| place().item(item), problems);
        }
        let (what, name) = (barrier.what, barrier.name);
        if !name.is_empty()
            && let Some(earlier) = first.insert((what, name), barrier.index)
        {
            named_twice(what, name, at(barrier.index, "name"), at(earlier, "name"), problems);
        }
    }
}
