//! Who is told of what (semantics, section 18), and what becomes of what could not be done (section 13).
//!
//! Other rules only emit events; what follows from them for channels and for the dead-letter queue is decided here, in
//! the same record. A channel that fails never fails a task, and never holds the end of a run for ever: a notification
//! has three tries, what waits behind one that failed is given up with it, and the runtime bounds the whole wait.
//!
//! | event | channels |
//! |---|---|
//! | gate passed or failed | its `notifyChannels`; without them a failure goes to the default channels |
//! | approval requested | the default channels |
//! | task failed, unless by a dependency or because it was called off | the default channels |
//! | accepted below the bar | the default channels |
//! | a checkpoint reached | its `notifyChannels`, else the default channels |
//! | a delay begins | its `notifyChannels` |
//! | a deadline is near, or passed | `sla.warningChannels`, `sla.violationChannels` |
//! | the end of a session, unless by a signal | the default channels |

use crate::domain::{
    AgentId, FailureClass, FailureMode, HoldOwner, Millis, Purpose, Status, TaskId, Timestamp, TurnId,
    WaitingReason,
};
use crate::engine::deadline::{DeadlineEvent, DeadlineStep};
use crate::engine::event::{AskEvent, Event, GateEvent, HoldEvent, RunEvent, TaskEvent};
use crate::engine::event_payload::StopCause;
use crate::engine::fact::Undelivered;
use crate::engine::notice::{
    DeliveryFailure, FailedOperation, FailedTool, Notice, NoticeEvent, Operation, Topic,
};
use crate::engine::outcome::outcome;
use crate::engine::state::{RunPhase, State};
use crate::engine::timers::Timer;
use crate::engine::work::policy::{Letter, WorkKind, policy};
use crate::engine::work::retry::{Again, FailedTry, Retry};

use super::ending::{is_over, run_finished};

/// How long a channel is left alone once a notification was given up on it.
const DOWN_FOR: Millis = Millis::from_secs(60);
/// Characters of a text that a channel is told.
const LONGEST_TEXT: usize = 1_000;

/// Appends to a decision what follows from its events for channels and dead letters.
pub fn follow_up(state: &State, mut events: Vec<Event>, now: Timestamp) -> Vec<Event> {
    // The last event of a session stays the last one.
    if matches!(events.last(), Some(Event::Run(RunEvent::Finished { .. }))) {
        return events;
    }
    let mut follow = FollowUp::new(state, now);
    for event in &events {
        match event {
            Event::Ask(id, AskEvent::Failed { gave_up: true, purpose, agent, class, message, .. }) => {
                follow.asked_in_vain(id.task, *purpose, *agent, (*class, message))
            }
            // Most missions have no channels.
            _ if !state.plan.channels.is_empty() => follow.notify(event),
            _ => {}
        }
    }
    events.extend(follow.events);
    events
}

struct FollowUp<'s> {
    state: &'s State,
    now: Timestamp,
    count: u32,
    events: Vec<Event>,
}

impl<'s> FollowUp<'s> {
    fn new(state: &'s State, now: Timestamp) -> Self {
        Self { state, now, count: state.notices.count, events: Vec::new() }
    }

    fn emit(&mut self, event: NoticeEvent) {
        self.events.push(Event::Notice(Box::new(event)));
    }

    fn notify(&mut self, event: &Event) {
        let Some(mut notice) = notice_of(event, self.now) else {
            return;
        };
        if let Some((end, _)) = notice.text.char_indices().nth(LONGEST_TEXT) {
            notice.text.truncate(end);
            notice.text.push('…');
        }
        self.request_deliveries(&notice);
    }

    fn request_deliveries(&mut self, notice: &Notice) {
        for channel in channels_of(self.state, notice) {
            self.count += 1;
            let number = self.count;
            self.emit(NoticeEvent::Requested {
                number,
                channel: channel.clone(),
                notice: Box::new(notice.clone()),
            });
            let down = self.state.notices.down_until(channel);
            if down.is_some_and(|until| self.now < until) {
                let why = "the channel failed less than a minute before";
                self.give_up(number, channel, notice, FailureClass::ProviderTransient, why, None);
            }
        }
    }

    fn give_up(
        &mut self,
        number: u32,
        channel: &str,
        notice: &Notice,
        class: FailureClass,
        message: &str,
        down_until: Option<Timestamp>,
    ) {
        let failure = DeliveryFailure { class, message: message.to_owned(), again: None, down_until };
        self.emit(tried(number, channel, Some(failure)));
        self.emit(NoticeEvent::Died(Box::new(FailedOperation {
            id: format!("n{number}"),
            operation: Operation::Notify {
                number,
                channel: channel.into(),
                notice: Box::new(notice.clone()),
            },
            class,
            error: message.to_owned(),
        })));
    }

    /// Everything of `numbers` that is still on its way.
    fn give_up_each(&mut self, numbers: &[u32], class: FailureClass, message: &str) {
        for number in numbers {
            if let Some(open) = self.state.notices.open(*number) {
                self.give_up(*number, &open.channel, &open.notice, class, message, None);
            }
        }
    }

    /// A judge that could not be asked. One dead letter stands for all calls to it about one attempt. One that is cancelled
    /// because reviews are switched off has not failed.
    fn asked_in_vain(
        &mut self,
        task: TaskId,
        purpose: Purpose,
        agent: AgentId,
        (class, error): (FailureClass, &str),
    ) {
        let is_filed = policy(WorkKind::Ask(purpose)).letter == Some(Letter::Judge);
        if is_filed && self.state.plan.rules.settings.evaluate {
            let attempt = self.state.task(task).attempt.number;
            self.emit(NoticeEvent::Died(Box::new(FailedOperation {
                id: format!("j{}.{attempt}.{}", task.0, agent.0),
                operation: Operation::Judge { agent, task, attempt },
                class,
                error: error.to_owned(),
            })));
        }
    }
}

/// Tool calls of a turn that failed for good are not made again: what becomes of them is for a person to say (section 13).
pub fn letters_of_tools(turn: TurnId, failed: &[FailedTool]) -> impl Iterator<Item = Event> {
    (1..).zip(failed).map(move |(number, call): (u32, _)| {
        Event::Notice(Box::new(NoticeEvent::Died(Box::new(FailedOperation {
            id: format!("t{turn}.{number}"),
            operation: Operation::Tool { turn, tool: call.tool.clone(), arguments: call.arguments.clone() },
            class: call.class,
            error: call.error.clone(),
        }))))
    })
}

/// The notification about an event; `None` where there is nothing to tell.
fn notice_of(event: &Event, now: Timestamp) -> Option<Notice> {
    let of = |topic| Notice::new(topic, now);
    Some(match event {
        Event::Gate(gate, GateEvent::Evaluated { result }) => Notice {
            gate: Some(*gate),
            points: result.avg_score,
            text: result.reason.clone().unwrap_or_default(),
            ..of(if result.passed { Topic::GatePassed } else { Topic::GateFailed })
        },
        Event::Hold(owner, opened @ HoldEvent::Opened { .. }) => return of_hold(*owner, opened, now),
        // One failure is told once, not again for everything that hangs on it; and nobody needs to hear what a person
        // has just done.
        Event::Task(task, TaskEvent::Transition { to: Status::Failed, mode, reason, .. })
            if !matches!(mode, Some(FailureMode::Cascade | FailureMode::Cancelled)) =>
        {
            Notice {
                task: Some(*task),
                mode: *mode,
                text: reason.clone().unwrap_or_default(),
                ..of(Topic::TaskFailed)
            }
        }
        Event::Deadline(event) => return of_deadline(event, now),
        Event::Task(task, TaskEvent::ForceAccepted { points, message }) => {
            Notice { task: Some(*task), points: *points, text: message.clone(), ..of(Topic::ForceAccepted) }
        }
        _ => return None,
    })
}

/// The notification about a hold that opens.
fn of_hold(owner: HoldOwner, event: &HoldEvent, now: Timestamp) -> Option<Notice> {
    let HoldEvent::Opened { number, reason, message, expires, .. } = event else {
        return None;
    };
    let topic = match reason {
        WaitingReason::Checkpoint => Topic::CheckpointReached,
        WaitingReason::Delay => Topic::DelayStarted,
        _ => Topic::ApprovalRequested,
    };
    let until = expires.filter(|_| topic == Topic::DelayStarted && message.is_empty());
    Some(Notice {
        task: owner.task(),
        barrier: owner.barrier(),
        approval: (topic != Topic::DelayStarted).then_some(*number),
        waiting: owner.task().map(|_| *reason),
        text: until.map_or_else(|| message.clone(), |until| format!("until {}", until.to_rfc3339())),
        ..Notice::new(topic, now)
    })
}

/// The notification about a deadline: that it is near, or has passed.
fn of_deadline(event: &DeadlineEvent, now: Timestamp) -> Option<Notice> {
    let due = event.due.to_rfc3339();
    let (topic, text) = match event.step {
        DeadlineStep::Warned => {
            let share = event.share_used() * 100.0;
            let text = format!("{share:.0} % of the time to the deadline, {due}, is gone");
            (Topic::DeadlineNear, text)
        }
        DeadlineStep::Violated => (Topic::DeadlinePassed, format!("the deadline, {due}, passed")),
        DeadlineStep::Set | DeadlineStep::Met => return None,
    };
    Some(Notice { task: event.task, text, ..Notice::new(topic, now) })
}

/// The channels that are told: those that the thing names, else the default ones, which hear of nothing that
/// went well but the end of the run.
fn channels_of<'s>(state: &'s State, notice: &Notice) -> &'s [Box<str>] {
    let default = &*state.plan.rules.default_channels;
    match (notice.topic, notice.gate) {
        (Topic::GatePassed, Some(gate)) => state.plan.gate(gate).notify.as_deref().unwrap_or_default(),
        (Topic::GateFailed, Some(gate)) => state.plan.gate(gate).notify.as_deref().unwrap_or(default),
        (Topic::CheckpointReached, _) => own_of(state, notice).unwrap_or(default),
        (Topic::DelayStarted, _) => own_of(state, notice).unwrap_or_default(),
        (Topic::DeadlineNear, _) => &state.plan.rules.sla.warning_channels,
        (Topic::DeadlinePassed, _) => &state.plan.rules.sla.violation_channels,
        _ => default,
    }
}

/// The channels that a checkpoint or a delay names.
fn own_of<'s>(state: &'s State, notice: &Notice) -> Option<&'s [Box<str>]> {
    state.plan.barrier(notice.barrier?).notify.as_deref()
}

fn tried(number: u32, channel: &str, failure: Option<DeliveryFailure>) -> NoticeEvent {
    NoticeEvent::Tried { number, channel: channel.into(), failure }
}

/// How a try to deliver ended.
pub fn delivered(state: &State, number: u32, result: &Result<(), Undelivered>, now: Timestamp) -> Vec<Event> {
    let Some(open) = state.notices.open(number) else {
        return Vec::new();
    };
    let mut follow = FollowUp::new(state, now);
    let Err(failure) = result else {
        follow.emit(tried(number, &open.channel, None));
        return follow.events;
    };
    // Whatever a channel says, it may say something else a moment later.
    let failed = FailedTry {
        again: if failure.hopeless { Again::Nothing } else { Again::Request },
        ..FailedTry::of(failure.class, failure.retry_after, failure.jitter)
    };
    let (class, message) = (failure.class, &*failure.message);
    match failed.leads_to(policy(WorkKind::Deliver), open.tries) {
        Retry::After { pause, .. } => {
            let failure = DeliveryFailure {
                class,
                message: message.to_owned(),
                again: Some(now.plus(pause)),
                down_until: None,
            };
            follow.emit(tried(number, &open.channel, Some(failure)));
        }
        Retry::Window | Retry::Never => {
            // What waits behind it goes first, so that nothing of it is tried.
            let behind: Vec<u32> = state.notices.queue(&open.channel).filter(|n| *n != number).collect();
            follow.give_up_each(&behind, class, message);
            let down = Some(now.plus(DOWN_FOR));
            follow.give_up(number, &open.channel, &open.notice, class, message, down);
        }
    }
    follow.events
}

/// The dead-letter queue has them.
pub fn filed(state: &State, ids: &[String]) -> Vec<Event> {
    let letters = state.notices.letters();
    let ids: Vec<String> = ids.iter().filter(|id| letters.contains_key(*id)).cloned().collect();
    if ids.is_empty() {
        return Vec::new();
    }
    vec![Event::Notice(Box::new(NoticeEvent::Filed(ids)))]
}

/// The events between the last work and the end of a session: the end is announced, and deliveries on their way
/// are waited for. `None` where nothing comes between.
pub fn before_the_end(state: &State, now: Timestamp) -> Option<Vec<Event>> {
    let by_signal = matches!(state.session.stop, Some(StopCause::Interrupted | StopCause::Terminated));
    let notices = &state.notices;
    // Who pressed Ctrl-C wants the end, not a wait for it.
    if by_signal {
        let open: Vec<u32> = notices.open_numbers().collect();
        return (!open.is_empty()).then(|| give_up_all(state, now));
    }
    if !notices.announced && !state.plan.rules.default_channels.is_empty() {
        return Some(announce(state, now));
    }
    (!notices.is_quiet()).then(Vec::new)
}

fn announce(state: &State, now: Timestamp) -> Vec<Event> {
    let counts = &state.sums.counts;
    let parts = [
        (counts.done, "done"),
        (counts.failed, "failed"),
        (counts.superseded, "superseded"),
        (counts.awaiting, "waiting for a person"),
        (counts.below_threshold, "accepted below the bar"),
    ];
    let parts = parts.into_iter().filter(|(count, what)| *count > 0 || *what == "done");
    let parts: Vec<String> = parts.map(|(count, what)| format!("{count} {what}")).collect();
    let mut follow = FollowUp::new(state, now);
    follow.request_deliveries(&Notice {
        outcome: Some(outcome(state).class),
        text: format!("{} of {} tasks", parts.join(", "), counts.selected),
        ..Notice::new(Topic::RunFinished, now)
    });
    follow.events
}

/// Whether a session has nothing left to do but to wait for notifications on their way.
pub fn holds_the_end(state: &State) -> bool {
    let waits_for_a_person = state.timers.at(Timer::WaitOver).is_some();
    !state.notices.is_quiet() && (state.notices.announced || !waits_for_a_person) && is_over(state)
}

/// Nobody waits any longer: what is on its way becomes dead letters, and the session ends. They are filed with its end.
pub fn overdue(state: &State, now: Timestamp) -> Vec<Event> {
    if !matches!(state.phase, RunPhase::Running | RunPhase::Stopping) || !is_over(state) {
        return Vec::new();
    }
    let mut events = give_up_all(state, now);
    events.extend(run_finished(state));
    events
}

fn give_up_all(state: &State, now: Timestamp) -> Vec<Event> {
    let mut follow = FollowUp::new(state, now);
    let all: Vec<u32> = state.notices.open_numbers().collect();
    let message = "the session ended before it was delivered";
    follow.give_up_each(&all, FailureClass::Timeout, message);
    follow.events
}
