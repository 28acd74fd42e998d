//! What runs at the moment, as far as progress must remember it: a few words for each task that holds a slot.

use std::collections::BTreeMap;

use super::line::passed_words;
use rules::{
    domain::{Answer, Millis, Purpose, Status, TaskId, Timestamp},
    engine::{
        AskEvent, AskReply, Event, Job, JobEnd, ProcessRef, RunEvent, Seat, SeatState, State, TaskEvent,
        TurnEvent, TurnUpdate, WorkEvent,
    },
};

/// The running tasks, and when the session began. Holds at most one row per slot.
#[derive(Debug, Default)]
pub struct Live {
    started: Option<Timestamp>,
    now: Timestamp,
    running: BTreeMap<TaskId, RunningTask>,
    /// Tasks that ended in this session.
    ended: u32,
}

/// A task that holds a slot.
#[derive(Debug, Clone)]
pub struct RunningTask {
    /// The moment when the task took its slot.
    pub since: Timestamp,
    /// The moment when the current attempt began.
    pub attempt: Timestamp,
    /// The last progress message of the agent.
    pub said: Option<String>,
    /// The process of its turn, where that is one.
    pub process: Option<ProcessRef>,
    /// The words about each stage that passed in the current attempt.
    pub passed: Vec<String>,
    /// Seats that were asked in the current round, and those that gave scores.
    pub seats: u32,
    pub scored: u32,
    /// Checks that have come back.
    pub checks: u32,
}

impl Live {
    /// Takes in one event before its line is made. `state` is the state after the whole record.
    pub fn observe(&mut self, state: &State, at: Timestamp, event: &Event) {
        self.now = at;
        match event {
            // A run that judges recorded work again begins with a task that is under way, too.
            Event::Run(RunEvent::Started(_) | RunEvent::Resumed(_)) => {
                self.started = Some(at);
                self.adopt(state, at);
            }
            Event::Task(
                task,
                TaskEvent::Transition {
                    to: to @ (Status::Assigned | Status::InProgress | Status::Review),
                    ..
                },
            ) => self.enter(*task, *to, at),
            Event::Task(_, TaskEvent::Transition { to: Status::Done | Status::Failed, .. }) => {
                self.ended += 1
            }
            Event::Turn(turn, TurnEvent::Progress(TurnUpdate::Spawned { process })) => {
                self.update(turn.task, |running| running.process.clone_from(process));
            }
            Event::Turn(turn, TurnEvent::Progress(TurnUpdate::Activity { summary })) => {
                self.update(turn.task, |running| running.said = Some(summary.clone()));
            }
            Event::Task(_, TaskEvent::StageVerdict(report)) => {
                if let Some(words) = passed_words(state, report, self.get(report.task)) {
                    self.update(report.task, |running| running.passed.push(words));
                }
            }
            Event::Ask(id, AskEvent::Requested { purpose: Purpose::Score(place), .. })
                if id.attempt_try == 1 =>
            {
                self.update(id.task, |running| {
                    if place.seat == 0 {
                        running.scored = 0;
                    }
                    running.seats = place.seat + 1;
                })
            }
            Event::Work(task, WorkEvent::Ended { job: Job::Check(_), end: JobEnd::Checked(result) }) => {
                self.update(*task, |running| running.checks += u32::from(result.reruns == 0))
            }
            Event::Ask(
                id,
                AskEvent::Replied(AskReply {
                    answer: Answer::Scores { .. } | Answer::Evaluation { .. }, ..
                }),
            ) => {
                // Who is asked once more replies once more: that is one seat all the same.
                self.update(id.task, |running| running.scored = (running.scored + 1).min(running.seats));
            }
            _ => {}
        }
    }

    /// A task has come to a state in which it holds a slot. A review belongs to the attempt that it is about.
    fn enter(&mut self, task: TaskId, to: Status, at: Timestamp) {
        let running = self.running.entry(task).or_insert_with(|| RunningTask::at(at));
        let attempt = match to {
            Status::Review => running.attempt,
            _ => at,
        };
        *running = RunningTask { attempt, ..RunningTask::at(running.since) };
    }

    /// Takes over the tasks that are under way as the session begins, which go on without a transition. Looks at all tasks,
    /// once a session.
    fn adopt(&mut self, state: &State, at: Timestamp) {
        let is_begun =
            |id: &TaskId| state.task(*id).holds_slot() || state.task(*id).status() == Status::Review;
        for id in state.plan.task_ids().filter(is_begun) {
            let mut running = RunningTask::at(at);
            if let Some(judging) = state.task(id).judging() {
                let has_scores =
                    |seat: &&Seat| matches!(seat.state, SeatState::Replied(_)) && seat.answer().is_some();
                running.seats = number(judging.seats.len());
                running.scored = number(judging.seats.iter().filter(has_scores).count());
                running.checks = number(judging.checks.iter().flatten().count());
            }
            self.running.insert(id, running);
        }
    }

    /// Drops what an event ended, once the line about it is made: that line says how long it took.
    pub fn forget(&mut self, event: &Event) {
        if let Event::Task(task, TaskEvent::Transition { to, .. }) = event
            && matches!(to, Status::Pending | Status::AwaitingApproval | Status::Done | Status::Failed)
        {
            self.running.remove(task);
        }
    }

    /// Time passes without an event.
    pub fn tick(&mut self, at: Timestamp) {
        self.now = at;
    }

    /// How long the session takes so far.
    pub fn elapsed(&self) -> Millis {
        self.started.map_or(Millis::default(), |started| self.now.since(started))
    }

    /// How far into the session a moment was.
    pub fn offset(&self, at: Timestamp) -> Millis {
        self.started.map_or(Millis::default(), |started| at.since(started))
    }

    /// How long the current attempt of a task takes.
    pub fn attempt(&self, running: &RunningTask) -> Millis {
        self.now.since(running.attempt)
    }

    /// How long the rest may take at the speed of this session; `None` where too little has ended to tell, or where a
    /// person has to act first.
    pub fn remaining(&self, state: &State) -> Option<Millis> {
        const ENOUGH: u32 = 3;
        let left = state.sums.counts.selected.saturating_sub(state.sums.counts.ended());
        if self.ended < ENOUGH || left == 0 || state.sums.counts.awaiting > 0 {
            return None;
        }
        Some(Millis(self.elapsed().0 / u64::from(self.ended) * u64::from(left)))
    }

    /// How long a task has held its slot.
    pub fn since(&self, running: &RunningTask) -> Millis {
        self.now.since(running.since)
    }

    /// The row of a task that holds a slot.
    pub fn get(&self, task: TaskId) -> Option<&RunningTask> {
        self.running.get(&task)
    }

    /// The running tasks, in file order.
    pub fn running(&self) -> impl ExactSizeIterator<Item = (TaskId, &RunningTask)> {
        self.running.iter().map(|(id, running)| (*id, running))
    }

    fn update(&mut self, task: TaskId, change: impl FnOnce(&mut RunningTask)) {
        if let Some(running) = self.running.get_mut(&task) {
            change(running);
        }
    }
}

impl RunningTask {
    fn at(since: Timestamp) -> Self {
        Self {
            since,
            attempt: since,
            said: None,
            process: None,
            passed: Vec::new(),
            seats: 0,
            scored: 0,
            checks: 0,
        }
    }
}

/// Seats and checks of a task are counted in `u32` by the loader.
fn number(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}

/// The activity of a running task, in a few words: `working`, `attempt 2`, `checks 1/3`, `judges 2/3`.
pub fn activity(state: &State, id: TaskId, running: &RunningTask) -> String {
    let task = state.task(id);
    match task.status() {
        Status::Assigned => "starting".to_owned(),
        Status::InProgress if task.attempt.number > 1 => format!("attempt {}", task.attempt.number),
        Status::InProgress => "working".to_owned(),
        _ if is_verified(state, id) => "verifying".to_owned(),
        _ if running.seats > 0 => format!("judges {}/{}", running.scored, running.seats),
        _ => {
            let checks = state.plan.task(id).checks().len();
            format!("checks {}/{checks}", running.checks)
        }
    }
}

/// Whether the stage of its criteria has come.
fn is_verified(state: &State, id: TaskId) -> bool {
    let judging = state.task(id).judging();
    state.plan.task(id).verification().is_some() && judging.is_some_and(|judging| judging.stage.is_some())
}
