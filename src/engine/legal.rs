//! Whether the transitions of a record are edges of the life cycle (section 5), each from the state in which its task is.
//! [`super::apply`] goes by them without asking: whoever puts events on record, or reads them from there, asks here first.

use std::collections::BTreeMap;

use crate::domain::{Status, TaskId};

use super::event::{Event, TaskEvent};
use super::state::State;

/// A transition that the life cycle does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the transition of task {} from {} to {} is no edge of the life cycle, or not from where it is: {}",
    task.index(), from.as_str(), to.as_str(), is.as_str()
)]
pub struct IllegalTransition {
    /// The task.
    pub task: TaskId,
    /// Where the event says that it comes from.
    pub from: Status,
    /// Where it leads.
    pub to: Status,
    /// The state in which the task is.
    pub is: Status,
}

/// Looks at the events of a record before the first of them is applied.
///
/// # Errors
/// [`IllegalTransition`]
pub fn transitions_only(state: &State, events: &[Event]) -> Result<(), IllegalTransition> {
    let mut now: BTreeMap<TaskId, Status> = BTreeMap::new();
    for event in events {
        let Event::Task(task, TaskEvent::Transition { from, to, .. }) = event else {
            continue;
        };
        // One that comes by this record has not begun.
        let before = state
            .tasks
            .get(task.index())
            .map_or(Status::Pending, |task| task.status());
        let is = now.insert(*task, *to).unwrap_or(before);
        if is != *from || !from.may_become(*to) {
            return Err(IllegalTransition {
                task: *task,
                from: *from,
                to: *to,
                is,
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::engine::simulation::{Simulation, options};

    use super::*;

    #[test]
    fn a_record_leads_tasks_along_edges_from_where_they_are() {
        use Status::{Assigned, Done, Failed, InProgress, Pending, Review};
        let yaml = "name: m\nagents: {w: {run: [/bin/true]}}\ntasks: [{title: a}, {title: b}]\n";
        let mut state = Simulation::new(yaml, options()).state;
        (state.tasks[0].state, state.tasks[1].state) = (Assigned, Done);
        let allows = |steps: &[(u32, Status, Status)]| {
            let steps = steps.iter().map(|(task, from, to)| {
                let transition = serde_json::json!({ "transition": { "from": from, "to": to } });
                serde_json::from_value(serde_json::json!({ "task": [task, transition] })).unwrap()
            });
            transitions_only(&state, &steps.collect::<Vec<Event>>()).is_ok()
        };
        assert!(allows(&[]));
        assert!(allows(&[
            (0, Assigned, InProgress),
            (1, Done, Pending),
            (0, InProgress, Review),
            (0, Review, Done)
        ]));
        assert!(allows(&[(2, Pending, Failed)]), "it comes by the same record");
        for wrong in [
            &[(0, Assigned, Done)][..],
            &[(0, Review, Done)],
            &[(1, Done, Review)],
            &[(0, Assigned, InProgress), (0, Assigned, InProgress)],
            &[(1, Done, Done)],
        ] {
            assert!(!allows(wrong), "{wrong:?}");
        }
    }
}
