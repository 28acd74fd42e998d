//! What the runtime must do about an event. An effect starts only after the record that decided it is durable.
//!
//! Nothing is stored beside the state: after a crash [`pending_effects`] derives from the state what is still to do.

use crate::domain::{AgentId, AskId, FailureMode, Millis, Purpose, Status, TaskId, Timestamp, TurnId};

use super::baseline_record::BaselineResult;
use super::event::{AskEvent, BudgetEvent, Event, RunEvent, RunWork, TaskEvent, TurnEvent, WorkEvent};
use super::fact::TurnUpdate;
use super::job::{Job, JobEnd};
use super::notice::NoticeEvent;
use super::state::{RunPhase, State};
use super::work::id::{TaskWork, WorkId};

/// Something to do in the world, named by value.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Write the prompt of the next turn. Harmless to repeat, so it may run before the record is durable.
    PreparePrompt(TurnId),
    /// Write down what stands in the files that the next turn is held against.
    NoteFiles {
        turn: TurnId,
        /// Turns that were ever started.
        starts: u64,
        /// Whether another one is under way.
        shared: bool,
    },
    /// Start the worker's process or request.
    RunTurn {
        turn: TurnId,
        /// Not before this moment.
        not_before: Option<Timestamp>,
    },
    /// Run a command or look at files for a task.
    Job {
        /// The turn at which the task is.
        turn: TurnId,
        job: Job,
    },
    /// Look at what was accepted.
    Audit {
        /// The number of the audit.
        number: u32,
    },
    /// Asks an agent.
    Ask {
        /// The id of the call.
        id: AskId,
        purpose: Purpose,
        /// The agent that is asked.
        agent: AgentId,
        /// For a strict reprompt of a judge: what its reply before lacks.
        strict: Option<String>,
        /// Not before this moment.
        not_before: Option<Timestamp>,
    },
    /// Bring the accepted work of isolated tasks into the user's repository.
    DeliverWork {
        /// Whether the branch is to have it.
        merge: bool,
    },
    /// Tell a channel something.
    Deliver {
        /// The number of the notification.
        number: u32,
        /// The number of the try, from 1.
        tried: u32,
        /// Not before this moment.
        not_before: Option<Timestamp>,
    },
    /// Put an operation that failed for good into the dead-letter queue.
    File {
        /// The id of the letter within the run.
        letter: String,
    },
    /// End a turn whose agent has said nothing for too long.
    KillTurn {
        turn: TurnId,
        /// The time for which the agent said nothing.
        idle: Millis,
    },
    /// End what runs for a task that was called off.
    StopTask(TaskId),
    /// End everything that runs.
    StopAll,
}

impl Effect {
    /// The work of a task that it starts, or ends.
    pub fn work(&self) -> Option<WorkId> {
        match *self {
            Self::RunTurn { turn, .. } | Self::KillTurn { turn, .. } => Some(WorkId::turn(turn)),
            Self::Job { turn, job } => Some(WorkId::job(turn, job)),
            Self::Ask { id, .. } => Some(WorkId::ask(id)),
            _ => None,
        }
    }

    /// The part of judging that it asks for, if it does.
    pub fn judged_work(&self) -> Option<WorkId> {
        let judges = match self {
            Self::Job { job, .. } => job.judges(),
            Self::Ask { purpose, .. } => purpose.is_judging(),
            _ => false,
        };
        self.work().filter(|_| judges)
    }
}

/// The effects of an event that was just applied.
pub fn effects(state: &State, event: &Event) -> Vec<Effect> {
    let one = match event {
        Event::Task(task, TaskEvent::Answered { .. }) => prepare_prompt(state, *task),
        Event::Task(task, TaskEvent::Transition { from, to, mode, .. }) => {
            return of_transition(state, *task, (*from, *to), *mode);
        }
        Event::Task(_, TaskEvent::EdgeTaken { stopped, .. }) => {
            return stopped.iter().copied().map(Effect::StopTask).collect();
        }
        Event::Task(_, TaskEvent::StageVoided(voided)) => start(state, voided.work),
        Event::Turn(turn, TurnEvent::FilesNoted { .. }) => prepare_prompt(state, turn.task),
        Event::Turn(turn, TurnEvent::Lost) => next_turn_after_loss(state, turn.task),
        Event::Turn(turn, TurnEvent::Started(_)) => started(state, WorkId::turn(*turn)),
        Event::Turn(turn, TurnEvent::RequestFailed { .. }) => start(state, WorkId::turn(*turn)),
        Event::Turn(turn, TurnEvent::Progress(TurnUpdate::Stale { idle, killed: true })) => {
            let (turn, idle) = (*turn, *idle);
            Some(Effect::KillTurn { turn, idle })
        }
        Event::Work(task, WorkEvent::Ended { end, .. }) => return behind_baseline(state, *task, end),
        Event::Work(task, WorkEvent::Requested(job)) => {
            started(state, WorkId::job(state.current_turn(*task), *job))
        }
        Event::Ask(id, AskEvent::Requested { .. }) => started(state, WorkId::ask(*id)),
        // Whatever waited for it goes on.
        Event::Run(RunEvent::AuditFinished { .. } | RunEvent::WorkDelivered(_)) => {
            let tasks = state.plan.task_ids();
            return tasks.filter_map(|id| prepare_prompt(state, id)).collect();
        }
        Event::Run(RunEvent::WorkRequested(work)) => Some(match *work {
            RunWork::Audit { number } => Effect::Audit { number },
            RunWork::Delivery { merge } => Effect::DeliverWork { merge },
        }),
        // The call that was held, if its task still waits for it.
        Event::Budget(BudgetEvent::Held { call, released: true, .. }) => match call.work {
            TaskWork::Turn(..) => prepare_prompt(state, call.task),
            TaskWork::Ask(..) | TaskWork::Job(..) => start(state, *call),
        },
        Event::Run(RunEvent::Stopping(_)) => Some(Effect::StopAll),
        Event::Notice(event) => of_notice(state, event),
        _ => None,
    };
    one.into_iter().collect()
}

/// The effects of a step of a task.
fn of_transition(
    state: &State,
    task: TaskId,
    (from, to): (Status, Status),
    mode: Option<FailureMode>,
) -> Vec<Effect> {
    let stop = vec![Effect::StopTask(task)];
    let was_looked_at = state.task(task).course.baseline.is_none();
    match (to, mode) {
        (Status::Assigned | Status::InProgress, _) => prepare_prompt(state, task).into_iter().collect(),
        // Its checks were being looked at: nobody waits for that any more.
        _ if from == Status::Assigned && was_looked_at && state.must_look_before(task) => {
            [waited_near(state, task), stop].concat()
        }
        (Status::Failed, Some(FailureMode::Cancelled | FailureMode::Deadline)) => stop,
        (Status::Failed, Some(FailureMode::Protected)) if from == Status::Review => stop,
        _ => Vec::new(),
    }
}

/// The effects that waited for a look at checks: no turn has begun meanwhile where it was made.
fn behind_baseline(state: &State, task: TaskId, end: &JobEnd) -> Vec<Effect> {
    match end {
        // Where nobody looked, because others are at work, nobody has waited.
        JobEnd::Baseline { checks, .. }
            if checks.iter().any(|seen| seen.reason != BaselineResult::TURN_NEAR) =>
        {
            waited_near(state, task)
        }
        _ => Vec::new(),
    }
}

/// The effects of tasks that no turn of could begin while it was looked what the checks of `task` say, itself among them.
fn waited_near(state: &State, task: TaskId) -> Vec<Effect> {
    // What goes back with the end of its look may begin again at once, which is told of it then.
    let itself = Some(task).filter(|id| !state.must_go_back(*id, state.task(*id)));
    let near = state.near(task).chain(itself);
    near.filter_map(|id| prepare_prompt(state, id)).collect()
}

/// The effects that are still due in a state that was just recovered, beside those of its new events.
pub fn pending_effects(state: &State) -> Vec<Effect> {
    let mut pending = Vec::new();
    for id in state.plan.task_ids() {
        pending.extend(prepare_prompt(state, id));
        // Commands and looks do nothing to the world that they would not do again, and whoever was asked is asked once more.
        pending.extend(state.made_again(id).filter_map(|work| start(state, work)));
    }
    let notices = state.notices.next_of_each();
    pending.extend(notices.filter_map(|number| deliver(state, number)));
    let letters = state.notices.letters().keys().cloned();
    pending.extend(letters.map(|letter| Effect::File { letter }));
    pending
}

/// Starts work that was asked for just now: it is out, or nobody would ever hear of it.
fn started(state: &State, work: WorkId) -> Option<Effect> {
    let effect = start(state, work);
    debug_assert!(effect.is_some(), "it was asked for and is not out: {work:?}");
    effect
}

/// Starts work that is out: for the first time, or once more.
fn start(state: &State, work: WorkId) -> Option<Effect> {
    if !state.is_out(work) {
        return None;
    }
    let (task, turn) = (state.task(work.task), state.current_turn(work.task));
    match work.work {
        TaskWork::Turn(..) => {
            task.work.turn.map(|tries| Effect::RunTurn { turn, not_before: tries.not_before })
        }
        TaskWork::Job(.., job) => Some(Effect::Job { turn, job }),
        TaskWork::Ask(..) => task.open_ask(work).map(|open| Effect::Ask {
            id: open.id,
            purpose: open.purpose,
            agent: open.agent,
            strict: open.strict.clone(),
            not_before: open.tries.not_before,
        }),
    }
}

/// Each channel is told one thing after the other.
fn of_notice(state: &State, event: &NoticeEvent) -> Option<Effect> {
    let number = match event {
        NoticeEvent::Requested { number, channel, .. } => {
            Some(*number).filter(|number| state.notices.next_of(channel) == Some(*number))
        }
        NoticeEvent::Tried { number, failure: Some(failure), .. } if failure.again.is_some() => Some(*number),
        // The channel is free for what waits behind it.
        NoticeEvent::Tried { number, channel, .. } => {
            // Numbers go up: what is given up while it waits frees nothing.
            state.notices.next_of(channel).filter(|next| next > number)
        }
        NoticeEvent::Died(letter) => {
            return Some(Effect::File { letter: letter.id.clone() });
        }
        NoticeEvent::Filed(_) => None,
    };
    deliver(state, number?)
}

fn deliver(state: &State, number: u32) -> Option<Effect> {
    let open = state.notices.open(number)?;
    Some(Effect::Deliver { number, tried: open.tries.requests + 1, not_before: open.tries.not_before })
}

/// Whether the prompt of a turn is still to be written.
pub fn waits_for_prompt(state: &State, turn: TurnId) -> bool {
    prepare_prompt(state, turn.task) == Some(Effect::PreparePrompt(turn))
}

/// The effect for a task between its decision to work and the turn: its files are to be noted, then its prompt
/// is to be written.
fn prepare_prompt(state: &State, id: TaskId) -> Option<Effect> {
    let task = state.task(id);
    let turn = state.next_turn(id);
    if !task.is_between_turns()
        || state.is_held()
        || task.is_clarified()
        || state.plan.task(id).route.is_some()
        || task.is_looked_at_before()
        || state.baseline_is_near(id)
    {
        None
    } else if state.must_note(id) {
        Some(Effect::NoteFiles { turn, starts: state.turns_started, shared: state.sums.turns_running > 0 })
    } else {
        Some(Effect::PreparePrompt(turn))
    }
}

/// Whether an effect is still to be made. Others may have overtaken it: the end of what it was for, an audit that holds back
/// what begins, a budget that has no room for its call.
pub fn may_be_made(state: &State, effect: &Effect) -> bool {
    match effect {
        Effect::NoteFiles { turn, .. } => {
            let due = prepare_prompt(state, turn.task);
            matches!(due, Some(Effect::NoteFiles { turn: due, .. }) if due == *turn)
        }
        Effect::Audit { number } => state.audit.out && state.audit.number == *number,
        Effect::DeliverWork { .. } => state.delivering,
        Effect::Ask { id, .. } if !state.ledger.is_open(WorkId::ask(*id)) => false,
        effect => effect.work().is_none_or(|work| state.is_out(work)),
    }
}

fn next_turn_after_loss(state: &State, id: TaskId) -> Option<Effect> {
    let goes_on = state.phase == RunPhase::Running && !state.task(id).must_be_allowed(state.plan.task(id));
    prepare_prompt(state, id).filter(|_| goes_on)
}
