//! What is out for a task: for whoever makes it again after a crash, asks whether it is still wanted, or takes its end.

use crate::domain::{AgentId, Status, TaskId, TurnId};
use crate::engine::fact::Fact;
use crate::engine::state::{Ask, State, TaskState};

use super::id::{TaskWork, WorkId};

impl TaskState {
    /// Whether the worker of the task is to act and does not.
    pub fn is_between_turns(&self) -> bool {
        self.work.turn.is_none() && matches!(self.status(), Status::Assigned | Status::InProgress)
    }

    /// Agents that are asked; not those that met a limit and are asked again when it has reset.
    pub(crate) fn asks_out(&self) -> impl Iterator<Item = &Ask> {
        self.work.asks.iter().filter(|open| open.window.is_none())
    }

    /// The calls to others than its worker that it waits for.
    pub(crate) fn calls_out(&self) -> impl Iterator<Item = (WorkId, AgentId)> {
        self.asks_out().map(|open| (WorkId::ask(open.id), open.agent))
    }

    /// The agent that is asked by this call.
    pub fn open_ask(&self, call: WorkId) -> Option<&Ask> {
        self.asks_out().find(|open| WorkId::ask(open.id) == call)
    }
}

impl State {
    /// Whether this is the next turn of a task that is to work and does not yet.
    pub fn waits_for_turn(&self, turn: TurnId) -> bool {
        let Some(task) = self.known(turn.task) else {
            return false;
        };
        task.is_between_turns() && turn == self.next_turn(turn.task) && !task.is_clarified()
    }

    /// The work that is out for a task and is made again by whoever finds it in a journal: commands, looks at
    /// files and questions. A turn is not: it is taken over, or it is lost.
    pub(crate) fn made_again(&self, task: TaskId) -> impl Iterator<Item = WorkId> {
        let (turn, of) = (self.current_turn(task), self.task(task));
        let jobs = of.jobs().map(move |job| WorkId::job(turn, job));
        jobs.chain(of.asks_out().map(|open| WorkId::ask(open.id)))
    }

    /// Whether the work is still waited for.
    pub fn is_out(&self, work: WorkId) -> bool {
        let Some(task) = self.known(work.task) else {
            return false;
        };
        let turn = self.current_turn(work.task);
        match work.work {
            TaskWork::Turn(..) => task.work.turn.is_some() && WorkId::turn(turn) == work,
            TaskWork::Job(.., job) => WorkId::job(turn, job) == work && task.jobs().any(|open| open == job),
            TaskWork::Ask(..) => task.open_ask(work).is_some(),
        }
    }

    /// Whether nobody waits any more for what a fact tells of: it comes too late, or belongs to nothing that was asked for.
    pub(crate) fn is_late(&self, fact: &Fact) -> bool {
        match fact {
            Fact::Delivered { number, tried, .. } => {
                let open = self.notices.open(*number);
                open.is_none_or(|open| open.tries.requests + 1 != *tried)
            }
            fact => fact.work().is_some_and(|work| !self.is_out(work)),
        }
    }
}
