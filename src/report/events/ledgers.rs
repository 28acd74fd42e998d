//! The ledgers of coordination (semantics, section 17): what is planned, before each wave, and what a wave brought, once it has
//! ended. Both follow from the journal, so it holds no word of them: they are made where somebody reads it.

use rules::{
    domain::{Status, TaskId},
    engine::{ESCALATE_AFTER, Event, REPLAN_AFTER, Round, RunEvent, TaskEvent, stall},
    mission::model::CoordinationMiddleware,
    plan::{Part, Plan},
};

use super::expander::NamedPayload;
use super::payload::{Payload, payload};

/// Tasks of a wave that are shown with what is to be done.
const MOST_SHOWN: usize = 100;

/// Waves in a row that brought nothing, in words.
pub(crate) fn no_progress(waves: u32) -> String {
    format!("{waves} waves in a row brought nothing, so no agent is asked for another way")
}

/// The waves of a run: which have begun, and what they used.
#[derive(Debug, Default)]
pub struct Ledgers {
    tasks: Vec<TaskProgress>,
    waves: Vec<Wave>,
    /// Plans that were written down.
    version: u32,
    done: usize,
}

#[derive(Debug, Clone, Copy)]
struct TaskProgress {
    status: Status,
    began: bool,
    /// Whether the run has it no more, or not now.
    left: bool,
}

#[derive(Debug, Clone, Default)]
struct Wave {
    tasks: Vec<TaskId>,
    /// Whether work goes on in it.
    is_open: bool,
    /// The least number of the wave's tasks that may still be open.
    open: usize,
}

impl Ledgers {
    /// The event that a wave is planned, where `event` begins one. Comes before `event`.
    pub fn before(&mut self, plan: &Plan, event: &Event) -> Option<NamedPayload> {
        let Event::Task(task, TaskEvent::Transition { to: Status::Assigned, .. }) = event else {
            return None;
        };
        let number = plan.task(*task).wave as usize;
        let wave = self.waves.get_mut(number)?;
        if std::mem::replace(&mut wave.is_open, true) {
            return None;
        }
        wave.open = wave.tasks.len();
        if !plan.rules.coordination.has(CoordinationMiddleware::TaskLedger) {
            return None;
        }
        self.version += 1;
        Some(("ledger:plan", self.planned(plan, number)))
    }

    /// The event of what a wave brought, where `event` ends one. Comes behind `event`.
    pub fn after(&mut self, plan: &Plan, event: &Event) -> Option<NamedPayload> {
        match event {
            Event::Run(RunEvent::Started(_) | RunEvent::MissionChanged(_)) => self.lay_out(plan),
            Event::Run(RunEvent::TasksAdded(addition)) => {
                for added in &addition.tasks {
                    self.add(plan, added.id);
                }
            }
            Event::Run(RunEvent::TasksWithdrawn { tasks })
            | Event::Task(_, TaskEvent::EdgeTaken { not_taken: tasks, .. }) => {
                for id in tasks {
                    self.progress_of(*id).left = true;
                }
            }
            Event::Task(task, TaskEvent::Transition { from, to, .. }) => {
                return self.moved(plan, *task, (*from, *to));
            }
            _ => {}
        }
        None
    }

    fn moved(&mut self, plan: &Plan, id: TaskId, (from, to): (Status, Status)) -> Option<NamedPayload> {
        let standing = self.progress_of(id);
        standing.status = to;
        standing.began |= to == Status::Assigned;
        // What a verdict had left out comes back with its first step.
        standing.left = false;
        self.done += usize::from(to == Status::Done);
        self.done -= usize::from(from == Status::Done).min(self.done);
        if !to.is_terminal() {
            return None;
        }
        let number = plan.task(id).wave as usize;
        let wave = self.waves.get_mut(number).filter(|wave| wave.is_open)?;
        wave.open = wave.open.saturating_sub(1);
        if wave.open > 0 {
            return None;
        }
        // Tasks that were done before, left, or came back are not counted one by one: the wave is looked at as a whole.
        let is_open = |id: &&TaskId| {
            let standing = self.tasks.get(id.index());
            standing.is_some_and(|standing| !standing.left && !standing.status.is_terminal())
        };
        let open = self.waves[number].tasks.iter().filter(is_open).count();
        let wave = &mut self.waves[number];
        wave.open = open;
        if open > 0 {
            return None;
        }
        wave.is_open = false;
        let is_told = plan.rules.coordination.has(CoordinationMiddleware::ProgressLedger);
        is_told.then(|| ("ledger:progress", self.brought(number)))
    }

    fn planned(&self, plan: &Plan, number: usize) -> Payload {
        let tasks = &self.waves[number].tasks;
        let open = tasks.iter().filter(|id| !self.tasks[id.index()].left);
        let row = |id: &TaskId| {
            let task = plan.task(*id);
            payload!(
                "title": task.title,
                "agent": plan.agent_name(task.agent),
                "description": task.description,
                "acceptance": (!task.acceptance.is_empty()).then_some(&task.acceptance),
            )
        };
        let rows: Vec<Payload> = open.clone().take(MOST_SHOWN).map(row).collect();
        payload!(
            "version": self.version,
            "wave": number + 1,
            "waves": self.waves.len(),
            "tasks": open.count(),
            "facts": rows,
        )
    }

    fn brought(&self, number: usize) -> Payload {
        let tasks = &self.waves[number].tasks;
        let of = |status| {
            let standings = tasks.iter().map(|id| &self.tasks[id.index()]);
            standings.filter(|task| !task.left && task.status == status).count()
        };
        let stall = stall(self.waves[..=number].iter().map(|wave| self.round(wave)));
        let action = match stall {
            ESCALATE_AFTER.. => "escalate",
            REPLAN_AFTER.. => "replan",
            _ => "continue",
        };
        payload!(
            "wave": number + 1,
            "done": of(Status::Done),
            "failed": of(Status::Failed),
            "completed": self.done,
            stall,
            action,
        )
    }

    fn round(&self, wave: &Wave) -> Round {
        let mut round = Round::EMPTY;
        for standing in wave.tasks.iter().map(|id| self.tasks[id.index()]) {
            if !standing.left {
                round.take(standing.status, standing.began);
            }
        }
        round
    }

    /// The waves of a plan, with what is known of its tasks.
    fn lay_out(&mut self, plan: &Plan) {
        for wave in &mut self.waves {
            wave.tasks.clear();
        }
        for id in plan.every_task_id() {
            if plan.task(id).part == Part::Selected {
                self.add(plan, id);
            }
        }
    }

    fn add(&mut self, plan: &Plan, id: TaskId) {
        let number = plan.task(id).wave as usize;
        if self.waves.len() <= number {
            self.waves.resize_with(number + 1, Wave::default);
        }
        self.waves[number].tasks.push(id);
        self.waves[number].open += 1;
        self.progress_of(id).left = false;
    }

    fn progress_of(&mut self, id: TaskId) -> &mut TaskProgress {
        if self.tasks.len() <= id.index() {
            let unknown = TaskProgress { status: Status::Pending, began: false, left: false };
            self.tasks.resize(id.index() + 1, unknown);
        }
        &mut self.tasks[id.index()]
    }
}
