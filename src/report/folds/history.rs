//! Everything that happened to one task, attempt by attempt: what `show`, `logs` and `metrics` are made from.
//!
//! [`super::view`] keeps what every document needs of every task. This keeps all there is of the tasks that somebody
//! asked about, so it may be large.

use std::collections::BTreeMap;

use rules::{
    domain::{
        AgentId, Answer, AskId, AttemptKind, FailureClass, Millis, Purpose, Status, TaskId, Timestamp, TurnId,
    },
    engine::{
        AskEvent, AskReply, CheckResult, Event, Exit, FileRef, Job, JobEnd, Look, Looked, ProcessRef,
        ReplyRef, StageReport, TaskEvent, ToolLedgerRef, TurnEvent, TurnUpdate, Usage, Used, WorkEvent,
    },
    plan::PlanStep,
};

/// The story of one task.
#[derive(Debug, Clone)]
pub struct TaskHistory {
    pub task: TaskId,
    /// The attempts of the task, the first one first.
    pub attempts: Vec<AttemptHistory>,
    /// The state of the task.
    pub status: Status,
    /// The agent that goes on with the task instead of the one that the mission names; `None` where that one
    /// does.
    instead: Option<AgentId>,
}

/// The history of one attempt.
#[derive(Debug, Clone)]
pub struct AttemptHistory {
    pub number: u32,
    pub kind: AttemptKind,
    pub turns: Vec<TurnHistory>,
    /// The results of the checks by position; a check that was run again has its last result.
    pub checks: Vec<(u32, CheckResult)>,
    /// The looks at tests that the attempt changed, in order.
    pub looks: Vec<(Look, Looked)>,
    /// All calls to judges.
    pub calls: Vec<CallHistory>,
    /// Verdicts of all stages, in order.
    pub stages: Vec<StageReport>,
    /// The records that were handed to graders: the call, to whom, and the record.
    pub handoffs: Vec<(AskId, AgentId, FileRef)>,
}

/// One turn of the worker.
#[derive(Debug, Clone)]
pub struct TurnHistory {
    pub id: TurnId,
    /// The agent of the turn, where that is not the one that the mission names.
    pub instead: Option<AgentId>,
    /// The moment when the turn was decided.
    pub started_at: Timestamp,
    /// The process of the turn, once it was there.
    pub process: Option<ProcessRef>,
    /// Why a process or request could not be made at first.
    pub refused: Vec<String>,
    pub end: TurnStanding,
}

/// Where a turn stands.
#[derive(Debug, Clone)]
pub enum TurnStanding {
    /// No end is on record.
    Open,
    /// The turn ended, with this result.
    Finished(Box<TurnResult>),
    /// The turn was lost to the death or interruption of the runner.
    Lost,
}

/// The result of a turn that ended.
#[derive(Debug, Clone)]
pub struct TurnResult {
    pub exit: Exit,
    /// The time from the start of the process or request to its end.
    pub duration: Millis,
    /// The usage of the turn.
    pub usage: Usage,
    /// The model as the provider returned it.
    pub model: Option<String>,
    /// The tool calls that this program made for the turn.
    pub tools: Option<Box<ToolLedgerRef>>,
}

/// One call to a judge.
#[derive(Debug, Clone)]
pub struct CallHistory {
    pub id: AskId,
    pub purpose: Purpose,
    /// The judge that was asked.
    pub reviewer: AgentId,
    /// Whether the call was a strict reprompt.
    pub strict: bool,
    /// Why the reply before it did not do.
    pub why: Option<String>,
    /// How far the call is.
    pub standing: CallStanding,
}

/// How far a call to a judge is.
#[derive(Debug, Clone)]
pub enum CallStanding {
    /// No reply is on record.
    Open,
    /// A reply and what could be read from it.
    Reply(ReplyRef, Answer),
    /// The judge could not be asked, or the call broke off with this on record.
    Failed(FailureClass, String, Option<Box<Used>>),
}

impl TaskHistory {
    /// Before the first event.
    pub fn new(task: TaskId) -> Self {
        Self { task, attempts: Vec::new(), status: Status::default(), instead: None }
    }

    /// Takes in one event; those of other tasks change nothing.
    pub fn apply(&mut self, at: Timestamp, event: &Event) {
        if event.task() != Some(self.task) {
            return;
        }
        match event.plan_step() {
            Some(PlanStep::HandedOver { to, .. }) => self.instead = Some(to),
            Some(PlanStep::Anew(_)) => self.instead = None,
            _ => {}
        }
        match event {
            Event::Task(_, TaskEvent::Transition { to, .. }) => {
                self.status = *to;
                if *to == Status::Assigned && self.attempts.is_empty() {
                    self.attempts.push(AttemptHistory::new(1, AttemptKind::Execute));
                }
            }
            Event::Task(_, TaskEvent::AttemptPlanned { attempt, kind }) => match self.attempts.last_mut() {
                // Planned anew before it had begun.
                Some(last) if last.number == *attempt => last.kind = *kind,
                _ => self.attempts.push(AttemptHistory::new(*attempt, *kind)),
            },
            _ => {
                if let Some(attempt) = self.attempts.last_mut() {
                    attempt.apply(at, event, self.instead);
                }
            }
        }
    }

    /// All turns, the first one first.
    pub fn turns(&self) -> impl Iterator<Item = &TurnHistory> {
        self.attempts.iter().flat_map(|attempt| &attempt.turns)
    }
}

/// The stories of several tasks, told up to one event: so they match a view that ends there, also while a live session
/// goes on writing.
#[derive(Debug, Clone)]
pub struct Histories {
    tasks: BTreeMap<TaskId, TaskHistory>,
    until: Option<u64>,
}

impl Histories {
    /// Before the first event, of these tasks; `until` is the number of the last event that counts.
    pub fn of(tasks: impl IntoIterator<Item = TaskId>, until: Option<u64>) -> Self {
        let tasks = tasks.into_iter().map(|task| (task, TaskHistory::new(task)));
        Self { tasks: tasks.collect(), until }
    }

    /// Takes in the events of one record, whose first has the number `seq`.
    pub fn take(&mut self, seq: u64, at: Timestamp, events: &[Event]) {
        let counted = (seq..).zip(events);
        for (_, event) in counted.filter(|(seq, _)| self.until.is_some_and(|until| *seq <= until)) {
            let history = event.task().and_then(|task| self.tasks.get_mut(&task));
            if let Some(history) = history {
                history.apply(at, event);
            }
        }
    }

    /// The story of a task, if it is one of those.
    pub fn task(&self, id: TaskId) -> Option<&TaskHistory> {
        self.tasks.get(&id)
    }
}

impl AttemptHistory {
    fn new(number: u32, kind: AttemptKind) -> Self {
        Self {
            number,
            kind,
            turns: Vec::new(),
            checks: Vec::new(),
            looks: Vec::new(),
            calls: Vec::new(),
            stages: Vec::new(),
            handoffs: Vec::new(),
        }
    }

    fn apply(&mut self, at: Timestamp, event: &Event, instead: Option<AgentId>) {
        match event {
            Event::Task(_, TaskEvent::StageVerdict(report)) => self.stages.push((**report).clone()),
            Event::Work(_, WorkEvent::Ended { job: Job::Check(check), end: JobEnd::Checked(result) }) => {
                self.checks.retain(|(known, _)| known != check);
                self.checks.push((*check, result.clone()));
            }
            Event::Work(_, WorkEvent::Ended { job: Job::Look(look), end: JobEnd::Looked(looked) }) => {
                self.looks.push((*look, (**looked).clone()))
            }
            Event::Ask(id, event) => self.apply_ask(*id, event),
            Event::Turn(turn, TurnEvent::Started(_)) => self.turns.push(TurnHistory {
                id: *turn,
                instead,
                started_at: at,
                process: None,
                refused: Vec::new(),
                end: TurnStanding::Open,
            }),
            Event::Turn(_, event) => {
                if let Some(turn) = self.turns.last_mut() {
                    turn.apply(event);
                }
            }
            _ => {}
        }
    }

    fn apply_ask(&mut self, id: AskId, event: &AskEvent) {
        match event {
            AskEvent::HandedOver { agent, file } => {
                self.handoffs.retain(|(known, ..)| *known != id);
                self.handoffs.push((id, *agent, file.clone()));
            }
            AskEvent::Requested { purpose, agent, strict, .. } if purpose.is_judging() => {
                self.calls.push(CallHistory {
                    id,
                    purpose: *purpose,
                    reviewer: *agent,
                    strict: match purpose {
                        Purpose::Score(_) => strict.is_some(),
                        other => other.round().is_some_and(|round| round > 1),
                    },
                    why: strict.clone().filter(|_| purpose.seat().is_some()),
                    standing: CallStanding::Open,
                })
            }
            AskEvent::Requested { .. } => {}
            AskEvent::Replied(AskReply { reply, answer, .. }) => {
                self.came_back(id, CallStanding::Reply(reply.clone(), answer.clone()));
            }
            AskEvent::Failed { class, message, used, .. } => {
                self.came_back(id, CallStanding::Failed(*class, message.clone(), used.clone()))
            }
        }
    }

    fn came_back(&mut self, id: AskId, standing: CallStanding) {
        if let Some(call) = self.calls.iter_mut().rev().find(|call| call.id == id) {
            call.standing = standing;
        }
    }
}

impl TurnHistory {
    fn apply(&mut self, event: &TurnEvent) {
        match event {
            TurnEvent::Progress(TurnUpdate::Spawned { process }) => self.process.clone_from(process),
            TurnEvent::RequestFailed { message, .. } => self.refused.push(message.clone()),
            TurnEvent::Lost => self.end = TurnStanding::Lost,
            TurnEvent::Finished(end) => {
                self.refused.extend(end.denied.iter().map(ToString::to_string));
                self.end = TurnStanding::Finished(Box::new(TurnResult {
                    exit: end.exit.clone(),
                    duration: end.duration,
                    usage: end.usage,
                    model: end.model.clone(),
                    tools: end.tools.clone(),
                }));
            }
            _ => {}
        }
    }
}
