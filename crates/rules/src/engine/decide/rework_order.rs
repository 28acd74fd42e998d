//! In which order work is done again that did not stand, where several tasks name one file (semantics, section 6).

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::{Status, TaskId};
use crate::engine::state::State;

/// Orders tasks that are done again and name a common file, so that each waits for the one before it: by waves,
/// within one in file order, what has begun before what has not, but nobody before what it is built on. By
/// task, said by the last of two to be told of: what it waits for, and what waits for it.
pub fn order(state: &State, again: &BTreeSet<TaskId>) -> BTreeMap<TaskId, (Vec<TaskId>, Vec<TaskId>)> {
    let mut order: BTreeMap<_, (Vec<TaskId>, Vec<TaskId>)> = BTreeMap::new();
    if again.is_empty() {
        return order;
    }
    // What an earlier session has reopened goes on.
    let is_done_again = |id: &TaskId| again.contains(id) || state.task(*id).reopened.is_some();
    let has_begun = |id: TaskId| !matches!(state.task(id).status(), Status::Pending | Status::Done);
    let mut roots: Vec<TaskId> = state.plan.selected_ids().filter(is_done_again).collect();
    roots.sort_by_key(|id| (!has_begun(*id), state.plan.task(*id).wave, *id));
    let mut last_of: BTreeMap<String, Vec<TaskId>> = BTreeMap::new();
    for id in after_what_they_need(state, &roots).into_iter().filter(is_done_again) {
        let mut before = BTreeSet::new();
        for place in places(state, id) {
            let last = last_of.entry(place).or_default();
            before.extend(last.iter().copied());
            // What has begun waits for nobody, so what comes next waits for whatever it would have waited for.
            if !has_begun(id) {
                last.clear();
            }
            last.push(id);
        }
        for first in before.into_iter().filter(|_| !has_begun(id)) {
            let is_told_last = again.contains(&id) && (first < id || !again.contains(&first));
            if is_told_last {
                order.entry(id).or_default().0.push(first);
            } else if again.contains(&first) {
                order.entry(first).or_default().1.push(id);
            }
        }
    }
    order
}

/// The tasks, and all that they need, each behind what it needs.
fn after_what_they_need(state: &State, roots: &[TaskId]) -> Vec<TaskId> {
    let (mut sorted, mut known) = (Vec::new(), BTreeSet::new());
    for root in roots {
        let mut open = vec![(*root, false)];
        while let Some((id, is_last)) = open.pop() {
            if is_last {
                sorted.push(id);
            } else if known.insert(id) {
                open.push((id, true));
                open.extend(needed(state, id).map(|on| (on, false)));
            }
        }
    }
    sorted
}

/// The tasks that a task waits for: those that it is built on, their fixups, and regressed ones that go first.
fn needed(state: &State, id: TaskId) -> impl Iterator<Item = TaskId> {
    let plan = &state.plan;
    let needed = plan.dependencies.of(id).iter().copied().chain(plan.held_by(id));
    // Whoever needs what failed waits as soon as its fixup is done again, also one that has not made up for it.
    let needed = needed.flat_map(|on| [Some(on), plan.fixup(on)]).flatten();
    let open = state.task(id).reopened.as_deref();
    let first = open.into_iter().flat_map(|open| &open.behind);
    needed.chain(first.copied())
}

/// Where the files lie that a task names, as far as they are known.
pub fn places(state: &State, id: TaskId) -> BTreeSet<String> {
    let (task, plan) = (state.task(id), state.plan.task(id));
    let accepted = task.acceptance().into_iter().flat_map(|acceptance| &acceptance.files);
    let lost = task.reopened.iter().flat_map(|open| &open.files);
    let seen = accepted.chain(lost).map(|file| &*file.path);
    let targets = plan.target_files.iter().map(AsRef::as_ref);
    seen.chain(targets).map(|path| state.plan.place(id, path)).collect()
}
