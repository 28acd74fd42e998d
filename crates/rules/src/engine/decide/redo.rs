//! Work that is done once more by a person's word: `resume --retry-failed` and `resume --redo TASK` (section 5).
//!
//! What hangs on a result that is withdrawn is withdrawn with it: the gates over it close in `apply`, and a redone
//! task takes along everything that was built on it, behind gates too, for those were opened by the old result.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use crate::domain::{AttemptKind, Status, TaskId};
use crate::engine::event::{Event, MOST_AT_ONCE, RunEvent, TaskEvent, TurnEvent};
use crate::engine::state::State;
use crate::plan::Plan;

use super::audit;
use super::delegation::handed_down;
use super::draft::Draft;
use super::fixups;

/// Failed tasks become pending, as many as one record holds: those that failed only because a dependency did, too. What a
/// fixup mends or has mended is not touched; one that failed is taken back, for the task itself is tried again.
pub fn retry_failed(state: &State) -> Vec<Event> {
    let failed: Vec<TaskId> = state
        .plan
        .task_ids()
        .filter(|id| state.has_failed_for_good(*id) && state.fixup_of(*id).is_none())
        .take(MOST_AT_ONCE)
        .collect();
    let mut events: Vec<Event> =
        failed.iter().flat_map(|id| from_the_start(state, *id, "failed work is tried again")).collect();
    events.extend(failed.iter().flat_map(|id| fixups::taken_back(state, *id)));
    events
}

/// A done task becomes pending, with everything that was built on it; one that regressed likewise. Where that is more than one
/// record holds, the task itself goes with the last of it, so that what is left is still to be redone.
pub fn redo(state: &State, root: TaskId) -> Vec<Event> {
    if state
        .known(root)
        .is_none_or(|task| task.status() != Status::Done && !audit::has_regressed(state, root))
    {
        return Vec::new();
    }
    let why = format!("built on '{}', which is redone", state.plan.title(root));
    let built: BTreeSet<TaskId> = built_on(&state.plan, &[root]).into_keys().collect();
    let mut withdrawals = built.iter().map(|id| withdraw(state, *id, &why));
    let mut events = from_the_start(state, root, "redone");
    let own = events.len();
    while events.len() < own + MOST_AT_ONCE
        && let Some(more) = withdrawals.next()
    {
        events.extend(more);
    }
    if withdrawals.any(|left| !left.is_empty()) {
        return events.split_off(own);
    }
    let again: BTreeSet<TaskId> = built.iter().copied().chain([root]).collect();
    events.extend(withdrawn(&state.plan, &again, &built));
    events
}

/// The event that withdraws the delegated tasks of tasks that are done again; `None` where there are none.
pub fn withdrawn(plan: &Plan, again: &BTreeSet<TaskId>, built: &BTreeSet<TaskId>) -> Option<Event> {
    let tasks = handed_down(plan, again, built);
    (!tasks.is_empty()).then_some(Event::Run(RunEvent::TasksWithdrawn { tasks }))
}

/// Everything that could only start once one of these tasks was done: dependents, what its gates block, and so on.
/// Each with the first of them that it was built on; one of them too, if it was built on another.
pub fn built_on(plan: &Plan, roots: &[TaskId]) -> BTreeMap<TaskId, TaskId> {
    let mut found = BTreeMap::new();
    let mut open: Vec<(TaskId, TaskId)> = roots.iter().rev().map(|root| (*root, *root)).collect();
    while let Some((id, root)) = open.pop() {
        // A fixup is built on the failure that it mends, and whatever waited for that one on the fixup.
        let mended = plan.mended_by(id).into_iter().flat_map(|source| plan.waiting_for(source));
        for next in plan.waiting_for(id).chain(plan.fixup(id)).chain(mended) {
            if let Entry::Vacant(vacant) = found.entry(next) {
                vacant.insert(root);
                open.push((next, root));
            }
        }
    }
    found
}

/// The tasks that are done again when a verification sends this one back: the task, and everything that is
/// built on it (section 5).
pub fn done_again(plan: &Plan, root: TaskId) -> Vec<TaskId> {
    built_on(plan, &[root]).into_keys().chain([root]).collect()
}

/// Withdraws the work of a task: it begins from the start, if it has begun.
pub fn withdraw(state: &State, id: TaskId, why: &str) -> Vec<Event> {
    let task = state.task(id);
    if task.status() != Status::Pending {
        return from_the_start(state, id, why);
    }
    let is_withdrawn = task.attempt.kind == AttemptKind::Execute && task.attempt.turn == 0;
    if task.attempt.number == 0 || is_withdrawn {
        return Vec::new();
    }
    // It was sent back and its next attempt has not begun: that attempt is the first of the new task. One that has begun,
    // and waits for a slot to go on after an answer, is over: no turn may ever have the name of another one.
    let attempt = task.attempt.number + u32::from(task.attempt.turn > 0);
    let mut draft = Draft::new(state, id);
    draft.emit_own(TaskEvent::AttemptPlanned { attempt, kind: AttemptKind::Execute });
    draft.into_events()
}

/// Full allowances again; attempt numbers go on.
pub fn from_the_start(state: &State, id: TaskId, reason: &str) -> Vec<Event> {
    let mut draft = Draft::new(state, id);
    if draft.task.work.turn.is_some() {
        let turn = state.current_turn(id);
        draft.emit(Event::Turn(turn, TurnEvent::Lost));
    }
    begin_again(&mut draft, AttemptKind::Execute, reason);
    draft.into_events()
}

/// Lets a task about which something has just been decided begin again: full allowances with an attempt of kind
/// execute.
pub fn begin_again(draft: &mut Draft<'_>, kind: AttemptKind, reason: &str) {
    draft.enter_because(Status::Pending, reason);
    // A task that never began has no attempt to follow.
    if draft.task.attempt.number > 0 {
        let attempt = draft.task.attempt.number + 1;
        draft.emit_own(TaskEvent::AttemptPlanned { attempt, kind });
    }
}
