//! Fixups (semantics, section 12): a new task instead of another attempt, where the last one was judged and found wanting.
//!
//! A fixup has the description, the kind, the agent and the rules of the task that it mends, knows everything that was
//! found about it, and waits for what that task had waited for. It is held to the full bar, for only a clean one
//! supersedes its original. There is one at most: a fixup gets none itself.

use crate::domain::{QualityFlag, Status, TaskId};
use crate::engine::event::{Event, RunEvent, TaskEvent};
use crate::engine::state::State;
use crate::plan::{AddedTask, Origin, Part, Plan};

use super::draft::Draft;
use super::redo::from_the_start;

/// Adds the fixup of a task that is about to fail. `false`, where it could not help: what lacks a part of what it needs is
/// never clean.
pub fn create(draft: &mut Draft<'_>) -> bool {
    if draft.task.is_degraded() || draft.plan().fixup(draft.id).is_some() {
        return false;
    }
    let plan = draft.plan();
    let (id, title) = place(plan, draft.id);
    let task = draft.task_plan();
    let needs = plan.dependencies.of(draft.id).iter();
    let needs = needs.copied().filter(|on| draft.state.is_met(*on));
    let fixup = AddedTask {
        id,
        title,
        description: task.description.clone(),
        agent: task.agent,
        kind: task.kind,
        needs: needs.collect(),
        priority: None,
        target_files: Vec::new(),
        acceptance: Vec::new(),
        verify: None,
        chain: None,
        awaited_by: Vec::new(),
    };
    draft.add(Origin::Fixup, vec![fixup]);
    true
}

/// The id and title of a fixup: those of the one that the task had before it began anew, else free ones.
fn place(plan: &Plan, source: TaskId) -> (TaskId, Box<str>) {
    let of = plan.title(source);
    let mut title = format!("{of} (fixup)");
    let mut number = 1;
    while let Some(id) = plan.find(&title) {
        let known = plan.task(id);
        if known.part == Part::Removed && known.comes_from(Origin::Fixup, source) {
            return (id, title.into());
        }
        number += 1;
        title = format!("{of} (fixup {number})");
    }
    (TaskId::from_index(plan.tasks.len()), title.into())
}

/// The task is about to be done: a clean fixup supersedes what it mends.
pub fn supersede(draft: &mut Draft<'_>, flag: QualityFlag) {
    if flag != QualityFlag::Clean {
        return;
    }
    if let Some(task) = draft.state.fixup_of(draft.id) {
        draft.emit(Event::Task(task, TaskEvent::Superseded { by: draft.id }));
    }
}

/// A failed task begins anew: its fixup, which did not help, is taken back. It may get one again.
pub fn taken_back(state: &State, task: TaskId) -> Vec<Event> {
    let Some(fixup) = state.plan.fixup(task) else {
        return Vec::new();
    };
    let mut events = Vec::new();
    if state.task(fixup).status() != Status::Pending {
        let why = format!("'{}' is tried again", state.plan.title(task));
        events = from_the_start(state, fixup, &why);
    }
    events.push(Event::Run(RunEvent::TasksWithdrawn { tasks: vec![fixup] }));
    events
}
