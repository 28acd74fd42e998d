//! What a run waits for: approvals, checkpoints, delays.

use std::collections::HashMap;

use super::{Names, repeated};
use crate::mission::codes::Code;
use crate::mission::condition::{Conditions, check};
use crate::mission::model::{ApprovalGate, Approver, Hold, Mission, Settings};
use crate::mission::text::quoted;
use crate::mission::violation::{Path, Violation, Violations};

pub fn validate(mission: &Mission, names: &Names<'_>, problems: &mut Violations) {
    for (index, task) in mission.tasks.iter().enumerate() {
        let Some(approval) = &task.requires_approval else {
            continue;
        };
        let author = mission.assignee(task);
        for (item, approver) in approval.approvers.iter().enumerate() {
            if let Approver::Named(name) = approver
                && author == Some(&**name)
            {
                let path = Path::of("tasks").item(index).key("requiresApproval");
                problems.refuse(
                    Code::OwnReviewer,
                    path.key("approvers").item(item),
                    format!("the agent {} cannot approve its own task", quoted(name)),
                    "name another agent, a person or a command",
                );
            }
        }
    }
    conditions(mission, problems);
    holds("checkpoints", &mission.checkpoints, mission, names, problems);
    holds("delays", &mission.delays, mission, names, problems);
}

/// What is wrong with approval gates whatever the mission.
pub fn settings(settings: &Settings, problems: &mut Violations) {
    let gates = settings.approval_gates.as_deref().unwrap_or_default();
    let at = |index: usize, key: &'static str| Path::of("settings").key("approvalGates").item(index).key(key);
    let mut first = HashMap::new();
    for (index, gate) in gates.iter().enumerate() {
        if let Some(wrong) = gate.when.as_deref().and_then(|when| check(when).err()) {
            problems.refuse(Code::BadCondition, at(index, "when"), wrong.message, wrong.help);
        }
        if gate.name.is_empty() {
            continue;
        }
        if let Some(earlier) = first.insert(&gate.name, index) {
            let message = format!("two approval gates are called {}", quoted(&gate.name));
            problems.push(
                Violation::error(Code::DuplicateGate, at(index, "name"), message)
                    .label("again here")
                    .help("rename one of them")
                    .related(at(earlier, "name"), "first here"),
            );
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
                format!(
                    "the condition cannot be decided for the task {}: {why}",
                    quoted(&task.title)
                ),
                "write something that is true or false for every task, such as `task.priority > 1`",
            );
        }
    }
}

fn holds(
    list: &'static str,
    holds: &[Hold],
    mission: &Mission,
    names: &Names<'_>,
    problems: &mut Violations,
) {
    let at = |index: usize, key: &'static str| Path::of(list).item(index).key(key);
    let what = list.trim_end_matches('s');
    let mut first = HashMap::new();
    for (index, hold) in holds.iter().enumerate() {
        for (key, titles, does) in [
            ("afterTasks", &hold.after_tasks, "waits for nothing"),
            ("blocksTasks", &hold.blocks_tasks, "blocks nothing"),
        ] {
            if titles.is_empty() {
                let message = format!("the {what} {} {does}", quoted(&hold.name));
                let help = format!("name at least one task: `{key}: [title]`");
                let place = at(index, key);
                // A list that is not there was told of already.
                let problem = Violation::error(Code::EmptyGate, place, message).help(help);
                problems.push(problem.unless_wrong(at(index, key)));
            }
            for (item, title) in titles.iter().enumerate() {
                names.check_task(title, mission, || at(index, key).item(item), problems);
            }
            repeated(titles, key, |item| at(index, key).item(item), problems);
        }
        if hold.name.is_empty() {
            continue;
        }
        if let Some(earlier) = first.insert(&hold.name, index) {
            let message = format!("two {list} are called {}", quoted(&hold.name));
            problems.push(
                Violation::error(Code::DuplicateGate, at(index, "name"), message)
                    .label("again here")
                    .help("rename one of them")
                    .related(at(earlier, "name"), "first here"),
            );
        }
    }
}
