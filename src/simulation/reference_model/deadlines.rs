//! What the reference model says of deadlines.

use rules::domain::{FailureMode, OutcomeClass, Status, TaskId};
use rules::engine::{DeadlineEvent, DeadlineStep, Event, RunEvent, State, TaskEvent, TurnEvent};
use rules::mission::Deadline;
use rules::plan::Part;

use super::ReferenceModel;

impl ReferenceModel {
    /// Each thing is said once, and nothing behind the end of it.
    pub(super) fn deadline(&mut self, said: &DeadlineEvent) {
        assert!(self.deadlines.insert((said.task, said.step as u8)), "{said:?}");
        let ended = [DeadlineStep::Violated, DeadlineStep::Met];
        let before = ended
            .iter()
            .filter(|step| **step != said.step && self.deadlines.contains(&(said.task, **step as u8)));
        assert_eq!(before.count(), 0, "{said:?}");
        match said.step {
            DeadlineStep::Met => assert!(said.at <= said.due, "{said:?}"),
            DeadlineStep::Violated => assert!(said.at > said.due, "{said:?}"),
            DeadlineStep::Set | DeadlineStep::Warned => {}
        }
    }

    /// Checks what a record leaves open of the deadlines that it is about (section 14).
    pub(super) fn deadlines_hold(&self, state: &State, record: &[Event]) {
        let passes = |task: Option<TaskId>| {
            let passed = |event: &Event| matches!(event, Event::Deadline(said) if said.task == task && said.step == DeadlineStep::Violated);
            record.iter().any(passed)
        };
        let is_set = |task| self.deadlines.contains(&(task, DeadlineStep::Set as u8));
        let ended = [DeadlineStep::Violated, DeadlineStep::Met];
        let is_settled = |task| ended.iter().any(|step| self.deadlines.contains(&(task, *step as u8)));
        for event in record {
            match event {
                Event::Deadline(said) => {
                    let planned = match said.task {
                        Some(task) => state.plan.task(task).deadline,
                        None => state.plan.rules.deadline,
                    };
                    let due = match (planned, said.since) {
                        (Some(Deadline::At(at)), _) => Some(at),
                        (Some(Deadline::After(span)), since) => since.map(|since| since.plus(span)),
                        (None, _) => None,
                    };
                    assert_eq!(due, Some(said.due), "{said:?}");
                    let part = said.task.map_or(Part::Selected, |task| state.plan.task(task).part);
                    assert_eq!(part, Part::Selected, "{said:?}");
                }
                Event::Turn(turn, TurnEvent::Started(_)) => {
                    let is_planned = state.plan.task(turn.task).deadline.is_some();
                    let of = Some(turn.task);
                    assert!(!is_planned || is_set(of) || is_settled(of), "{event:?}");
                }
                Event::Task(task, TaskEvent::Transition { to: Status::Done, .. }) => {
                    let of = Some(*task);
                    assert!(
                        !is_set(of) || state.plan.task(*task).deadline.is_none() || is_settled(of),
                        "{event:?}"
                    );
                }
                Event::Task(
                    task,
                    TaskEvent::Transition { to: Status::Failed, mode: Some(FailureMode::Deadline), .. },
                ) => {
                    assert!(state.plan.rules.sla.fails && (passes(Some(*task)) || passes(None)), "{event:?}");
                }
                Event::Run(RunEvent::Finished { outcome: OutcomeClass::Ok, .. }) => {
                    assert!(
                        state.plan.rules.deadline.is_none() || !is_set(None) || is_settled(None),
                        "{event:?}"
                    );
                }
                _ => {}
            }
        }
        // Done too late is done all the same; whatever else passed its moment does not go on.
        let open = |id: TaskId| !matches!(self.tasks[id.index()].status, Status::Done | Status::Failed);
        let over = state.plan.selected_ids().filter(|id| passes(Some(*id)) || passes(None));
        for id in over.filter(|_| state.plan.rules.sla.fails) {
            assert!(!open(id), "{id:?} goes on: {record:?}");
        }
    }
}
