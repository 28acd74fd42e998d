//! Work that was asked for from outside and approved (semantics, section 16): it becomes a task of the run, by the same
//! rules as one of the mission.

use crate::domain::{AgentId, TaskId, folded, invisible_in};
use crate::engine::event::{Event, RunEvent};
use crate::engine::state::State;
use crate::plan::{AddedTask, Addition, Origin, Part, Plan, SubTask};

/// The task that the run has for a request.
pub fn task_of(plan: &Plan, request: &str) -> Option<TaskId> {
    let mut tasks = plan.selected_ids();
    tasks.find(|id| {
        let from = plan.task(*id).provenance.as_deref();
        from.is_some_and(|from| from.request.as_deref() == Some(request))
    })
}

/// The task that a request would become; else why it cannot, in words.
pub fn scope(plan: &Plan, task: &SubTask) -> Result<AddedTask, String> {
    if plan.find(&task.title).is_some() {
        return Err(format!("the run has a task '{}' already", task.title));
    }
    if let Some(invisible) = invisible_in(&task.title) {
        return Err(format!("the title '{}' contains a character that nobody sees, {invisible}", task.title));
    }
    if let Some(other) = plan.find_alike(&task.title) {
        return Err(format!(
            "the title '{}' looks like that of the task '{}' and is another one",
            task.title,
            plan.title(other)
        ));
    }
    let mut needs = Vec::new();
    for title in &task.depends_on {
        let found =
            plan.find(title).filter(|id| plan.task(*id).part == Part::Selected && plan.route(*id).is_none());
        needs.push(found.ok_or_else(|| format!("the run has no task '{title}' that it could depend on"))?);
    }
    needs.sort_unstable();
    needs.dedup();
    let agent = assignee(plan, task.assign_to.as_deref())?;
    let id = TaskId::from_index(plan.tasks.len());
    Ok(AddedTask { title: folded(&task.title).into(), ..AddedTask::of(task, id, agent, needs) })
}

/// The agent for requested work: the one that is named, else the only one who can do it.
fn assignee(plan: &Plan, name: Option<&str>) -> Result<AgentId, String> {
    let workers: Vec<AgentId> = plan.workers().collect();
    let names: Vec<&str> = workers.iter().take(8).map(|id| plan.agent_name(*id)).collect();
    let names = names.join(", ");
    match (name, workers.as_slice()) {
        (None, [only]) => Ok(*only),
        (None, _) => Err(format!("it names no agent; the run has {names}")),
        (Some(name), _) => match plan.find_agent(name) {
            Some(id) if workers.contains(&id) => Ok(id),
            Some(_) => Err(format!("'{name}' is a person and is given no tasks; the run has {names}")),
            None => Err(format!("the run has no agent {name:.100?}; it has {names}")),
        },
    }
}

/// The run has the task from here on.
pub fn add(state: &State, request: &str, task: &SubTask) -> Vec<Event> {
    let Ok(added) = scope(&state.plan, task) else {
        return Vec::new();
    };
    vec![Event::Run(RunEvent::TasksAdded(Box::new(Addition {
        origin: Origin::Request,
        source: None,
        request: Some(request.into()),
        tasks: vec![added],
    })))]
}
