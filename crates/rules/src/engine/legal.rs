//! Whether the events of a record are legal where their tasks are: transitions are edges of the life cycle (section 5), and
//! nothing is asked for or said that a task's status has no place for. [`super::apply`] goes by them without asking: whoever
//! puts events on record, or reads them from there, asks here first.

use std::collections::BTreeMap;

use crate::domain::{HoldOwner, Status, TaskId};

use super::event::{AskEvent, Event, HoldEvent, TaskEvent, WorkEvent};
use super::job::Job;
use super::state::State;

/// An event that its task cannot have where it is.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum IllegalEvent {
    /// A transition that the life cycle does not have, or that does not say of an end how it is.
    #[error(
        "the transition of task {} from {} to {} is no edge of the life cycle, not from where it is ({}), or not whole: only and \
         always `done` has a flag, and `failed` a mode",
        task.index(), from.as_str(), to.as_str(), is.as_str()
    )]
    Transition {
        task: TaskId,
        /// Where the event says that it comes from.
        from: Status,
        /// The state that the transition leads to.
        to: Status,
        /// The status of the task.
        is: Status,
    },
    /// One that the task's status has no place for: what it says would be lost.
    #[error("task {} has {what} where no task has any ({})", task.index(), is.as_str())]
    OutOfPlace {
        task: TaskId,
        /// The thing that the event tells of.
        what: &'static str,
        /// The status of the task.
        is: Status,
    },
}

/// Looks at the events of a record before the first of them is applied.
///
/// # Errors
/// [`IllegalEvent`]
pub fn legal_only(state: &State, events: &[Event]) -> Result<(), IllegalEvent> {
    let mut now: BTreeMap<TaskId, Status> = BTreeMap::new();
    for event in events {
        let Some(task) = event.task() else {
            continue;
        };
        // One that comes by this record has not begun.
        let before = || state.known(task).map(|task| task.status());
        let is = now.get(&task).copied().or_else(before).unwrap_or(Status::Pending);
        if let Event::Task(_, TaskEvent::Transition { from, to, mode, flag, .. }) = event {
            let is_whole =
                flag.is_some() == (*to == Status::Done) && mode.is_some() == (*to == Status::Failed);
            if is != *from || !from.may_become(*to) || !is_whole {
                let (from, to) = (*from, *to);
                return Err(IllegalEvent::Transition { task, from, to, is });
            }
            now.insert(task, *to);
        } else if let Some((what, places)) = places(event)
            && !places.contains(&is)
        {
            return Err(IllegalEvent::OutOfPlace { task, what, is });
        }
    }
    Ok(())
}

/// The only statuses in which a task has this, and what it is in words; `None`: any.
fn places(event: &Event) -> Option<(&'static str, &'static [Status])> {
    use Status::{Assigned, AwaitingApproval, Review};
    Some(match event {
        Event::Work(_, WorkEvent::Requested(Job::Baseline)) => ("a baseline", &[Assigned]),
        Event::Hold(HoldOwner::Task(_), HoldEvent::Opened { .. }) => {
            ("a request for approval", &[AwaitingApproval])
        }
        Event::Task(_, TaskEvent::FilesChanged { .. }) => ("changed files", &[Review, AwaitingApproval]),
        Event::Task(_, TaskEvent::AcceptanceRecorded { .. }) => ("an acceptance", &[Review]),
        Event::Ask(_, AskEvent::Requested { purpose, .. }) if purpose.is_judging() => ("a judge", &[Review]),
        Event::Work(
            _,
            WorkEvent::Requested(
                Job::Check(_)
                | Job::Scan { .. }
                | Job::Finish(_)
                | Job::Look(_)
                | Job::Grade(_)
                | Job::Stage(..),
            ),
        ) => ("work that judges", &[Review]),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use crate::domain::{AgentId, AskId, Purpose, QualityFlag, WaitingReason};
    use crate::engine::audit::AfterScan;
    use crate::engine::simulation::{Simulation, options};

    use super::*;

    const YAML: &str =
        "name: m\nagents: {w: {run: [/bin/true]}}\ntasks: [{title: a}, {title: b}, {title: c}, {title: d}]\n";

    #[test]
    fn a_record_leads_tasks_along_edges_from_where_they_are() {
        use Status::{Assigned, Done, Failed, InProgress, Pending, Review};
        let mut state = Simulation::new(YAML, options()).state;
        (state.tasks[0].lifecycle, state.tasks[1].lifecycle) = (Assigned.into(), Done.into());
        let step = |task: u32, from, to, flag: Option<&str>, mode: Option<&str>| -> Event {
            let told = serde_json::json!({ "from": from, "to": to, "qualityFlag": flag, "mode": mode });
            serde_json::from_value(serde_json::json!({ "task": [task, { "transition": told }] })).unwrap()
        };
        let allows = |steps: &[(u32, Status, Status)]| {
            let steps = steps.iter().map(|(task, from, to)| {
                let (flag, mode) = ((*to == Done).then_some("clean"), (*to == Failed).then_some("error"));
                step(*task, *from, *to, flag, mode)
            });
            legal_only(&state, &steps.collect::<Vec<Event>>()).is_ok()
        };
        assert!(allows(&[]));
        assert!(allows(&[
            (0, Assigned, InProgress),
            (1, Done, Pending),
            (0, InProgress, Review),
            (0, Review, Done)
        ]));
        assert!(allows(&[(4, Pending, Failed)]), "it comes by the same record");
        for wrong in [
            &[(0, Assigned, Done)][..],
            &[(0, Review, Done)],
            &[(1, Done, Review)],
            &[(0, Assigned, InProgress), (0, Assigned, InProgress)],
            &[(1, Done, Done)],
        ] {
            assert!(!allows(wrong), "{wrong:?}");
        }
        for (task, from, to, flag, mode) in [
            (3, Review, Done, None, None),
            (3, Review, Done, Some("clean"), Some("error")),
            (2, Pending, Failed, None, None),
            (2, Pending, Failed, Some("clean"), Some("error")),
            (0, Assigned, InProgress, Some("clean"), None),
            (1, Done, Pending, None, Some("error")),
        ] {
            let mut state = state.clone();
            state.tasks[3].lifecycle = Review.into();
            let wrong = step(task, from, to, flag, mode);
            assert!(legal_only(&state, &[wrong]).is_err(), "{to:?} {flag:?} {mode:?}");
        }
    }

    #[test]
    fn nothing_is_said_of_a_task_where_it_would_be_lost() {
        use Status::{AwaitingApproval, Review};
        let task = TaskId(0);
        let asked = HoldEvent::Opened {
            number: 1,
            reason: WaitingReason::Approval,
            cause: None,
            stage: None,
            gate: None,
            message: "may it?".to_owned(),
            expires: None,
        };
        let (paths, files) = (vec!["f".to_owned()], Vec::new());
        let scan = Job::Scan { number: 1, then: AfterScan::Judges };
        for (event, places) in [
            (Event::Hold(task.into(), asked), &[AwaitingApproval][..]),
            (Event::Task(task, TaskEvent::FilesChanged { paths, files }), &[Review, AwaitingApproval]),
            (
                Event::Task(task, TaskEvent::AcceptanceRecorded { files: Vec::new(), checks: Vec::new() }),
                &[Review],
            ),
            (
                Event::Ask(
                    AskId { task, ..AskId::default() },
                    AskEvent::Requested {
                        purpose: Purpose::Grade { round: 1 },
                        agent: AgentId(0),
                        strict: None,
                        not_before: None,
                    },
                ),
                &[Review],
            ),
            (Event::Work(task, WorkEvent::Requested(Job::Grade(1))), &[Review]),
            (Event::Work(task, WorkEvent::Requested(scan)), &[Review]),
            (Event::Work(task, WorkEvent::Requested(Job::Check(0))), &[Review]),
            (Event::Work(task, WorkEvent::Requested(Job::Finish(0))), &[Review]),
        ] {
            for is in Status::ALL {
                let mut state = Simulation::new(YAML, options()).state;
                state.tasks[0].lifecycle = is.into();
                let looked = legal_only(&state, std::slice::from_ref(&event));
                assert_eq!(looked.is_ok(), places.contains(&is), "{event:?} {is:?}");
            }
        }
    }

    #[test]
    fn a_record_is_looked_at_event_by_event() {
        let mut state = Simulation::new(YAML, options()).state;
        state.tasks[0].lifecycle = Status::Review.into();
        let task = TaskId(0);
        let accepted =
            Event::Task(task, TaskEvent::AcceptanceRecorded { files: Vec::new(), checks: Vec::new() });
        let done = Event::Task(
            task,
            TaskEvent::Transition {
                from: Status::Review,
                to: Status::Done,
                phase: None,
                mode: None,
                flag: Some(QualityFlag::Clean),
                reason: None,
            },
        );
        assert!(legal_only(&state, &[accepted.clone(), done.clone()]).is_ok());
        assert_eq!(
            legal_only(&state, &[done, accepted]),
            Err(IllegalEvent::OutOfPlace { task, what: "an acceptance", is: Status::Done })
        );
    }
}
