//! Work that an agent hands down (semantics, section 12).
//!
//! What it asks for in its turns is noted with the attempt, and made into tasks when the task ends clean: nothing fans
//! out from work that was not judged good. Whatever waits for the task, by `dependsOn` or behind a gate over it, then
//! waits for what it handed down too: that is part of the work. Everything that is refused is said with its reason.

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::{AgentId, QualityFlag, Status, TaskId, look_alike};
use crate::engine::event::TaskEvent;
use crate::engine::state::State;
use crate::plan::{AddedTask, Origin, Part, Plan, SubTask};

use super::draft::Draft;

/// Makes tasks of the sub-tasks that an agent delegated, or refuses them, when its own task is about to be done.
pub fn create(draft: &mut Draft<'_>, flag: QualityFlag) {
    let asked = std::mem::take(&mut draft.task.delegations);
    if asked.is_empty() {
        return;
    }
    let plan = draft.plan();
    let depth = plan.depth(draft.id) + 1;
    let for_all = if flag != QualityFlag::Clean {
        Some(format!("the task ended {}, and only clean work may delegate more", flag.as_str()))
    } else if depth > plan.rules.settings.max_delegation_depth {
        Some(format!(
            "work may be delegated {} levels deep (maxDelegationDepth); this would be level {depth}",
            plan.rules.settings.max_delegation_depth
        ))
    } else {
        None
    };
    let (mut accepted, mut refused) = (Vec::new(), Vec::new());
    let mut ids = Ids { next: plan.tasks.len(), by_title: BTreeMap::new() };
    for sub_task in &asked {
        let found = match &for_all {
            Some(why) => Err(why.clone()),
            None => take(draft, sub_task, accepted.len(), &mut ids),
        };
        match found {
            Ok(pair) => accepted.push(pair),
            Err(why) => refused.push((sub_task.title.as_str(), why)),
        }
    }
    let tasks = connect(draft, accepted, &ids.by_title, &mut refused);
    for (title, reason) in refused {
        draft.emit_own(TaskEvent::DelegationRefused { refused: title.to_owned(), reason });
    }
    if !tasks.is_empty() {
        draft.add(Origin::Delegated, tasks);
    }
}

struct Ids<'a> {
    next: usize,
    by_title: BTreeMap<&'a str, TaskId>,
}

/// A sub-task's agent and title, if both may be.
fn take<'a>(
    draft: &Draft<'_>,
    sub_task: &'a SubTask,
    before: usize,
    ids: &mut Ids<'a>,
) -> Result<(&'a SubTask, AgentId), String> {
    let plan = draft.plan();
    let most = plan.rules.settings.max_delegations as usize;
    if before >= most {
        return Err(format!("a task may delegate {most} tasks (maxDelegations)"));
    }
    if let Some(file) = &sub_task.protected {
        return Err(format!(
            "its `targetFiles` name {file}, which is protected; only the mission can have it changed"
        ));
    }
    if let Some(why) = plan.refused_criterion(&sub_task.acceptance) {
        return Err(why);
    }
    let agent = assignee(plan, draft.task_plan().agent, sub_task)?;
    if ids.by_title.contains_key(sub_task.title.as_str()) {
        return Err("the same title was delegated twice".to_owned());
    }
    let id = match plan.find(&sub_task.title) {
        None => {
            ids.next += 1;
            TaskId::from_index(ids.next - 1)
        }
        // It asked for the same before it was done again.
        Some(id) if was_withdrawn(plan, id, draft.id) => id,
        Some(_) => return Err("a task of this title is there already".to_owned()),
    };
    refuse_alike(plan, ids, &sub_task.title)?;
    ids.by_title.insert(&sub_task.title, id);
    Ok((sub_task, agent))
}

/// Two titles that nobody can tell apart are not two names.
fn refuse_alike(plan: &Plan, ids: &Ids<'_>, title: &str) -> Result<(), String> {
    let among = ids.by_title.keys().find(|other| look_alike(other, title));
    let known = || plan.find_alike(title).map(|id| plan.title(id));
    match among.copied().or_else(known) {
        Some(other) => Err(format!("its title looks like '{other}' and is another one")),
        None => Ok(()),
    }
}

fn was_withdrawn(plan: &Plan, id: TaskId, source: TaskId) -> bool {
    let task = plan.task(id);
    task.part == Part::Removed && task.comes_from(Origin::Delegated, source)
}

/// The agent for a sub-task. Not the one who delegates it: it would be delegated to nobody, and reviewed by its
/// author.
fn assignee(plan: &Plan, by: AgentId, sub_task: &SubTask) -> Result<AgentId, String> {
    let others = || plan.workers().filter(|id| *id != by);
    let known = || {
        let names: Vec<&str> = others().take(8).map(|id| plan.agent_name(id)).collect();
        match names.as_slice() {
            [] => "there is no other agent".to_owned(),
            names => format!("others are {}", names.join(", ")),
        }
    };
    let Some(name) = &sub_task.assign_to else {
        let mut candidates = others();
        return match (candidates.next(), candidates.next()) {
            (Some(only), None) => Ok(only),
            _ => Err(format!("it names no agent (assignTo); {}", known())),
        };
    };
    match plan.find_agent(name) {
        None => Err(format!("there is no agent {name:.100?}; {}", known())),
        Some(id) if id == by => Err(format!("an agent hands nothing down to itself; {}", known())),
        Some(id) if !plan.may_work(id) => {
            Err(format!("'{name}' is a person and is given no tasks; {}", known()))
        }
        Some(id) => Ok(id),
    }
}

/// The tasks with what they wait for. One that waits for what is refused or unknown, or in a circle, is refused too.
fn connect<'a>(
    draft: &Draft<'_>,
    accepted: Vec<(&'a SubTask, AgentId)>,
    ids: &BTreeMap<&str, TaskId>,
    refused: &mut Vec<(&'a str, String)>,
) -> Vec<AddedTask> {
    let state = draft.state;
    let awaited_by = waiting_for(state, draft.id);
    let has_digest = draft.plan().records_digest(draft.id);
    let mut open = accepted;
    let mut tasks: Vec<AddedTask> = Vec::new();
    let mut taken = BTreeSet::new();
    loop {
        let before = open.len();
        let mut rest = Vec::new();
        for (sub_task, agent) in open {
            let needs = sub_task.depends_on.iter().map(|title| match ids.get(title.as_str()) {
                Some(id) if taken.contains(id) => Some(*id),
                Some(_) => None,
                None => done_task(state, title),
            });
            let Some(needs) = needs.collect::<Option<BTreeSet<TaskId>>>() else {
                rest.push((sub_task, agent));
                continue;
            };
            let id = ids[sub_task.title.as_str()];
            taken.insert(id);
            let needs = std::iter::once(draft.id).chain(needs).collect();
            tasks.push(AddedTask {
                chain: has_digest.then(|| draft.plan().chain_hash_of(draft.id, sub_task)),
                awaited_by: awaited_by.clone(),
                ..AddedTask::of(sub_task, id, agent, needs)
            });
        }
        if rest.len() == before || rest.is_empty() {
            let why =
                "what it depends on is neither delegated with it nor done, or the dependencies form a cycle";
            refused.extend(rest.iter().map(|(sub_task, _)| (sub_task.title.as_str(), why.to_owned())));
            break;
        }
        open = rest;
    }
    renumber(&mut tasks, state.plan.tasks.len());
    tasks
}

/// New tasks are appended in the order of their ids, without holes for what was refused.
fn renumber(tasks: &mut [AddedTask], first: usize) {
    let mut renamed = BTreeMap::new();
    let new = tasks.iter_mut().filter(|task| task.id.index() >= first);
    for (index, task) in (first..).zip(new) {
        let id = TaskId::from_index(index);
        renamed.insert(task.id, id);
        task.id = id;
    }
    for task in tasks {
        for needed in &mut task.needs {
            *needed = renamed.get(needed).copied().unwrap_or(*needed);
        }
    }
}

/// Work of this run that is done. Anything else might itself wait for what is being delegated.
fn done_task(state: &State, title: &str) -> Option<TaskId> {
    let id = state.plan.find(title)?;
    let is_done = state.is_met(id) && state.takes(id);
    is_done.then_some(id)
}

/// The tasks that could only start once the task is done.
fn waiting_for(state: &State, id: TaskId) -> Vec<TaskId> {
    let plan = &state.plan;
    let gates = plan.gates_after.of(id).iter();
    let behind_gates = gates.flat_map(|gate| &plan.gate(*gate).blocks);
    let all: BTreeSet<TaskId> = plan
        .dependents
        .of(id)
        .iter()
        .chain(behind_gates)
        .copied()
        .filter(|task| state.task(*task).status() == Status::Pending && state.takes(*task))
        .collect();
    all.into_iter().collect()
}

/// The delegated tasks and fixups of tasks that are done again: both come anew, if at all.
pub fn handed_down(plan: &Plan, again: &BTreeSet<TaskId>, built_on: &BTreeSet<TaskId>) -> Vec<TaskId> {
    let is_from_them = |id: &&TaskId| {
        let from = plan.task(**id).provenance.as_deref();
        from.is_some_and(|from| {
            from.origin != Origin::Request && from.source.is_some_and(|source| again.contains(&source))
        })
    };
    built_on.iter().filter(is_from_them).copied().collect()
}
