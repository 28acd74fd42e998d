//! What the runtime must do about an event. An effect starts only after the record that decided it is durable.
//!
//! Nothing is stored beside the state: after a crash [`pending_effects`] derives from the state what is still to do.

use crate::domain::{AgentId, AskId, FailureMode, Millis, Purpose, Status, TaskId, Timestamp, TurnId};

use super::decide::{must_be_allowed, must_note, needs_prompt};
use super::event::{AskEvent, BudgetEvent, Event, RunEvent, TaskEvent, TurnEvent, WorkEvent};
use super::job::Job;
use super::ledger::{Call, CallId};
use super::notice::NoticeEvent;
use super::place::JudgingPlace;
use super::state::{Ask, RunPhase, State};

/// Something to do in the world, named by value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Write the prompt of the next turn. Harmless to repeat, so it may run before the record is durable.
    PreparePrompt(TurnId),
    /// Write down what stands in the files that the next turn is held against.
    NoteFiles {
        /// The turn.
        turn: TurnId,
        /// Turns that were ever started.
        starts: u64,
        /// Whether another one is under way.
        shared: bool,
    },
    /// Start the worker's process or request.
    RunTurn {
        /// The turn.
        turn: TurnId,
        /// Not before this moment.
        not_before: Option<Timestamp>,
    },
    /// Run a command or look at files for a task.
    Job {
        /// The turn at which the task is.
        turn: TurnId,
        /// What.
        job: Job,
    },
    /// Look at what was accepted.
    Audit {
        /// Which audit.
        number: u32,
    },
    /// Ask an agent.
    Ask {
        /// Which call.
        id: AskId,
        /// What about.
        purpose: Purpose,
        /// Who is asked.
        agent: AgentId,
        /// For a strict reprompt of a reviewer: why the reply before could not be read.
        strict: Option<String>,
        /// Not before this moment.
        not_before: Option<Timestamp>,
    },
    /// Tell a channel something.
    Deliver {
        /// The notification's number.
        number: u32,
        /// Which try it is, from 1.
        tried: u32,
        /// Not before this moment.
        not_before: Option<Timestamp>,
    },
    /// Put an operation that failed for good into the dead-letter queue.
    File {
        /// Its id within the run.
        letter: String,
    },
    /// End a turn whose agent has said nothing for too long.
    KillTurn {
        /// The turn.
        turn: TurnId,
        /// How long it said nothing.
        idle: Millis,
    },
    /// End what runs for a task that was called off.
    StopTask(TaskId),
    /// End everything that runs.
    StopAll,
}

/// What follows from an event that was just applied.
#[must_use]
pub fn effects(state: &State, event: &Event) -> Vec<Effect> {
    match event {
        Event::Task(
            task,
            TaskEvent::Transition {
                to: Status::Assigned | Status::InProgress,
                ..
            },
        ) => prepare_prompt(state, *task).into_iter().collect(),
        Event::Task(
            task,
            TaskEvent::Transition {
                from: Status::Pending | Status::InProgress | Status::Review | Status::AwaitingApproval,
                to: Status::Failed,
                mode: Some(FailureMode::Cancelled | FailureMode::Deadline),
                ..
            }
            | TaskEvent::Transition {
                from: Status::Review,
                to: Status::Failed,
                mode: Some(FailureMode::Protected),
                ..
            },
        ) => vec![Effect::StopTask(*task)],
        Event::Task(_, TaskEvent::EdgeTaken { stopped, .. }) => {
            stopped.iter().copied().map(Effect::StopTask).collect()
        }
        Event::Task(task, TaskEvent::Answered { .. }) => prepare_prompt(state, *task).into_iter().collect(),
        Event::Turn(turn, TurnEvent::FilesNoted { .. }) => {
            prepare_prompt(state, turn.task).into_iter().collect()
        }
        Event::Task(_, TaskEvent::StageVoided(voided)) => open_at(state, voided.place).into_iter().collect(),
        Event::Turn(turn, TurnEvent::Lost) => next_turn_after_loss(state, turn.task).into_iter().collect(),
        Event::Turn(turn, TurnEvent::Started { .. }) => vec![Effect::RunTurn {
            turn: *turn,
            not_before: None,
        }],
        Event::Turn(turn, TurnEvent::RequestFailed { not_before, .. }) => {
            vec![Effect::RunTurn {
                turn: *turn,
                not_before: Some(*not_before),
            }]
        }
        Event::Work(task, WorkEvent::Requested(job)) => vec![Effect::Job {
            turn: state.current_turn(*task),
            job: *job,
        }],
        // Whatever waited for it goes on.
        Event::Run(RunEvent::AuditFinished { .. }) => {
            let tasks = state.plan.task_ids();
            tasks.filter_map(|id| prepare_prompt(state, id)).collect()
        }
        Event::Run(RunEvent::AuditRequested { number }) => vec![Effect::Audit { number: *number }],
        Event::Ask(
            id,
            AskEvent::Requested {
                purpose,
                agent,
                strict,
                not_before,
            },
        ) => vec![Effect::Ask {
            id: *id,
            purpose: *purpose,
            agent: *agent,
            strict: strict.clone(),
            not_before: *not_before,
        }],
        Event::Turn(turn, TurnEvent::Stale { idle, killed: true }) => vec![Effect::KillTurn {
            turn: *turn,
            idle: *idle,
        }],
        Event::Budget(BudgetEvent::Released { call }) => released(state, *call),
        Event::Run(RunEvent::Stopping { .. }) => vec![Effect::StopAll],
        Event::Notice(event) => of_notice(state, event),
        _ => Vec::new(),
    }
}

/// What is still to do in a state that was just recovered, beside what its new events ask for.
#[must_use]
pub fn pending_effects(state: &State) -> Vec<Effect> {
    let mut pending = Vec::new();
    for id in state.plan.task_ids() {
        let task = state.task(id);
        if matches!(task.status(), Status::Assigned | Status::InProgress) {
            pending.extend(prepare_prompt(state, id));
        }
        pending.extend(jobs(state, id));
        // Those that met a limit that resets are asked again when it has.
        let asked = task.work.asks.iter().filter(|open| open.window.is_none());
        pending.extend(asked.map(ask));
    }
    pending.extend(
        state
            .notices
            .next_of_each()
            .filter_map(|number| deliver(state, number)),
    );
    let letters = state.notices.letters().keys().cloned();
    pending.extend(letters.map(|letter| Effect::File { letter }));
    pending
}

/// Each channel is told one thing after the other.
fn of_notice(state: &State, event: &NoticeEvent) -> Vec<Effect> {
    let number = match event {
        NoticeEvent::Requested { number, channel, .. } => {
            Some(*number).filter(|number| state.notices.next_of(channel) == Some(*number))
        }
        NoticeEvent::Retried { number, .. } => Some(*number),
        // The channel is free for what waits behind it.
        NoticeEvent::Sent { number, channel } | NoticeEvent::Failed { number, channel, .. } => {
            // Numbers go up: what is given up while it waits frees nothing.
            state.notices.next_of(channel).filter(|next| next > number)
        }
        NoticeEvent::Died(letter) => {
            return vec![Effect::File {
                letter: letter.id.clone(),
            }];
        }
        NoticeEvent::Filed { .. } => None,
    };
    number
        .and_then(|number| deliver(state, number))
        .into_iter()
        .collect()
}

fn deliver(state: &State, number: u32) -> Option<Effect> {
    let open = state.notices.open(number)?;
    Some(Effect::Deliver {
        number,
        tried: open.failed_tries + 1,
        not_before: open.not_before,
    })
}

/// Whether the prompt of a turn is still to be written.
#[must_use]
pub fn waits_for_prompt(state: &State, turn: TurnId) -> bool {
    prepare_prompt(state, turn.task) == Some(Effect::PreparePrompt(turn))
}

/// A task between its decision to work and the turn: its files are to be noted, then its prompt is to be written.
fn prepare_prompt(state: &State, id: TaskId) -> Option<Effect> {
    let task = state.task(id);
    let waits = matches!(task.status(), Status::Assigned | Status::InProgress) && task.work.turn.is_none();
    let turn = TurnId {
        turn: task.attempt.turn + 1,
        ..state.current_turn(id)
    };
    if !waits || state.audit.out || task.is_clarified() || state.plan.task(id).route.is_some() {
        None
    } else if must_note(state, id) {
        Some(Effect::NoteFiles {
            turn,
            starts: state.turns_started,
            shared: state.sums.turns_running > 0,
        })
    } else {
        Some(Effect::PreparePrompt(turn))
    }
}

/// The call that was held, if its task still waits for it.
fn released(state: &State, call: CallId) -> Vec<Effect> {
    let task = state.task(call.task);
    match call.call {
        Call::Turn(..) => prepare_prompt(state, call.task).into_iter().collect(),
        Call::Ask(..) => {
            let open = task.work.asks.iter().find(|open| CallId::ask(open.id) == call);
            open.map(ask).into_iter().collect()
        }
    }
}

fn ask(open: &Ask) -> Effect {
    Effect::Ask {
        id: open.id,
        purpose: open.purpose,
        agent: open.agent,
        strict: open.strict.clone(),
        not_before: open.not_before,
    }
}

/// Whether the budget lets an effect make its call: one that is held may not.
#[must_use]
pub fn may_be_made(state: &State, effect: &Effect) -> bool {
    match effect {
        Effect::Ask { id, .. } => state.ledger.is_open(CallId::ask(*id)),
        _ => true,
    }
}

fn next_turn_after_loss(state: &State, id: TaskId) -> Option<Effect> {
    let goes_on = state.phase == RunPhase::Running && !must_be_allowed(state.plan.task(id), state.task(id));
    prepare_prompt(state, id).filter(|_| goes_on)
}

/// Commands and looks that did not come back. They do nothing to the world that they would not do again, so they are simply
/// made once more.
fn jobs(state: &State, id: TaskId) -> impl Iterator<Item = Effect> {
    let turn = state.current_turn(id);
    state.task(id).jobs().map(move |job| Effect::Job { turn, job })
}

/// What is asked at a place of judging and has not come back.
pub(super) fn open_at(state: &State, place: JudgingPlace) -> Option<Effect> {
    let task = state.tasks.get(place.task().index())?;
    let mut open = jobs(state, place.task()).chain(task.work.asks.iter().map(ask));
    open.find(|effect| effect.place() == Some(place))
}

/// Whether the agent of a task is told anything: if not, its prompt is "ready" without a file.
#[must_use]
pub fn gets_prompt(state: &State, task: TaskId) -> bool {
    needs_prompt(&state.plan, state.plan.task(task))
}
