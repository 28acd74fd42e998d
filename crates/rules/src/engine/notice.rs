//! Notifications and dead letters, as they stand in the journal and in the state (semantics, sections 13 and 18).
//!
//! A notification is decided in the record of what it is about, so no crash loses it; its delivery is an effect, done at
//! least once, with an id by which a receiver can tell a repeated one. Each channel is told one thing after the other, in
//! the order in which things happened.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with::skip_serializing_none;

use crate::domain::{
    AgentId, BarrierId, FailureClass, FailureMode, GateId, OutcomeClass, Points, TaskId, Timestamp, TurnId,
    WaitingReason,
};
use crate::plan::Plan;

use super::work::retry::Tries;

worded! {
    /// The topic of a notification: one public event each.
    pub enum Topic {
        /// A gate passed (`quality:gate:passed`).
        GatePassed = "quality:gate:passed",
        /// A gate failed (`quality:gate:failed`).
        GateFailed = "quality:gate:failed",
        /// An approval is asked for (`approval:requested`).
        ApprovalRequested = "approval:requested",
        /// A task failed (`task:transition`).
        TaskFailed = "task:transition",
        /// Work was accepted below its bar (`task.forceAccept`).
        ForceAccepted = "task.forceAccept",
        /// A checkpoint was reached (`checkpoint:reached`).
        CheckpointReached = "checkpoint:reached",
        /// A delay began (`delay:started`).
        DelayStarted = "delay:started",
        /// A deadline is near (`sla:warning`).
        DeadlineNear = "sla:warning",
        /// A deadline passed (`sla:violated`).
        DeadlinePassed = "sla:violated",
        /// The run ended (`run:finished`).
        RunFinished = "run:finished",
    }
}

/// The message for a channel, by value: the state may have moved on when it is delivered.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Notice {
    /// The topic of the notification.
    pub topic: Topic,
    /// The moment of the event.
    pub at: Timestamp,
    /// The task, if the notification is about one.
    pub task: Option<TaskId>,
    /// The gate, if the notification is about one.
    pub gate: Option<GateId>,
    /// The checkpoint or delay, if the notification is about one.
    pub barrier: Option<BarrierId>,
    /// The hold's number, where a person is asked.
    pub approval: Option<u32>,
    /// Why a person is asked.
    pub waiting: Option<WaitingReason>,
    /// The score of the task, or the mean score of the gate.
    pub points: Option<Points>,
    /// How the task failed.
    pub mode: Option<FailureMode>,
    /// The outcome of the run.
    pub outcome: Option<OutcomeClass>,
    /// The text for people.
    pub text: String,
}

impl Notice {
    /// A notice without details.
    pub fn new(topic: Topic, at: Timestamp) -> Self {
        Self {
            topic,
            at,
            task: None,
            gate: None,
            barrier: None,
            approval: None,
            waiting: None,
            points: None,
            mode: None,
            outcome: None,
            text: String::new(),
        }
    }
}

/// An operation that failed for good, on its way to the dead-letter queue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FailedOperation {
    /// The id of the operation within the run: the same operation never has two.
    pub id: String,
    /// The operation that failed.
    pub operation: Operation,
    /// Why not, by class.
    pub class: FailureClass,
    /// Why not, in words.
    pub error: String,
}

/// An operation that can fail for good.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Operation {
    /// A notification could not be delivered.
    Notify { number: u32, channel: Box<str>, notice: Box<Notice> },
    /// A judge could not be asked.
    Judge {
        /// The judge that could not be asked.
        agent: AgentId,
        /// The work that it did not judge.
        task: TaskId,
        attempt: u32,
    },
    /// A tool call of a worker failed for good.
    Tool {
        /// The turn in which the call was made.
        turn: TurnId,
        tool: Box<str>,
        /// The arguments of the call, long texts cut.
        arguments: Value,
    },
}

impl Operation {
    /// The name of what failed: `notify:CHANNEL`, `judge:AGENT`, `tool:NAME`.
    pub fn name(&self, plan: &Plan) -> String {
        match self {
            Self::Notify { channel, .. } => format!("notify:{channel}"),
            Self::Judge { agent, .. } => format!("judge:{}", plan.agent_name(*agent)),
            Self::Tool { tool, .. } => format!("tool:{tool}"),
        }
    }
}

/// A tool call of a turn that failed for good.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FailedTool {
    pub tool: Box<str>,
    /// The arguments of the call, long texts cut.
    pub arguments: Value,
    /// The class of the failure.
    pub class: FailureClass,
    pub error: String,
}

/// An event of notifications and dead letters.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum NoticeEvent {
    /// `work:requested`: a channel is to be told.
    Requested {
        /// The number of the notification, counted from 1 over the whole run; the id is made of it.
        number: u32,
        channel: Box<str>,
        /// The message for the channel.
        notice: Box<Notice>,
    },
    /// A try to deliver it has ended. `work:ended`: it was taken, or it is given up (`failed`) and a dead letter stands beside
    /// it; `work:progressed` (`retry`): there will be another.
    Tried {
        number: u32,
        channel: Box<str>,
        /// Why it was not taken.
        failure: Option<DeliveryFailure>,
    },
    /// `dlq:requested`: an operation failed for good.
    Died(Box<FailedOperation>),
    /// `dlq:added`: the dead-letter queue has them, by their ids within the run.
    Filed(Vec<String>),
}

impl NoticeEvent {
    /// The failure by which a notification was given up.
    pub fn given_up(&self) -> Option<(&str, &DeliveryFailure)> {
        match self {
            Self::Tried { channel, failure: Some(failure), .. } if failure.again.is_none() => {
                Some((channel, failure))
            }
            _ => None,
        }
    }
}

/// Why a notification was not taken, and what follows.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeliveryFailure {
    /// The class of the failure.
    pub class: FailureClass,
    /// The failure in words.
    pub message: String,
    /// When it is tried again; `None`: it is given up.
    pub again: Option<Timestamp>,
    /// Until when nothing else is tried on the channel; `None` if it is not to blame.
    pub down_until: Option<Timestamp>,
}

/// A notification that has not come to its end.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenNotice {
    pub channel: Box<str>,
    /// The message for the channel.
    pub notice: Box<Notice>,
    /// The tries so far.
    pub tries: Tries,
}

/// Notifications and dead letters of a run.
#[derive(Debug, Clone, Default)]
pub struct Notices {
    /// How many there were.
    pub count: u32,
    open: BTreeMap<u32, OpenNotice>,
    /// The open ones of each channel, in order.
    queues: BTreeMap<Box<str>, BTreeSet<u32>>,
    /// Channels that failed lately, and until when they are left alone.
    down: BTreeMap<Box<str>, Timestamp>,
    letters: BTreeMap<String, FailedOperation>,
    /// Whether the end of this session was announced.
    pub announced: bool,
}

impl Notices {
    /// One that has not come to its end.
    pub fn open(&self, number: u32) -> Option<&OpenNotice> {
        self.open.get(&number)
    }

    /// The numbers of all that have not come to their end.
    pub fn open_numbers(&self) -> impl Iterator<Item = u32> {
        self.open.keys().copied()
    }

    /// The next notification of each channel.
    pub fn next_of_each(&self) -> impl Iterator<Item = u32> {
        self.queues.values().filter_map(|queue| queue.first().copied())
    }

    /// The next notification of a channel.
    pub fn next_of(&self, channel: &str) -> Option<u32> {
        self.queues.get(channel)?.first().copied()
    }

    /// Everything that a channel is still to be told.
    pub fn queue(&self, channel: &str) -> impl Iterator<Item = u32> {
        self.queues.get(channel).into_iter().flatten().copied()
    }

    /// Until when a channel is left alone.
    pub fn down_until(&self, channel: &str) -> Option<Timestamp> {
        self.down.get(channel).copied()
    }

    /// Dead letters that the queue is not known to have, by id.
    pub fn letters(&self) -> &BTreeMap<String, FailedOperation> {
        &self.letters
    }

    /// Whether no channel is still to be told anything.
    pub fn is_quiet(&self) -> bool {
        self.open.is_empty()
    }

    /// Changes by one event.
    pub fn apply(&mut self, event: &NoticeEvent) {
        match event {
            NoticeEvent::Requested { number, channel, notice } => {
                self.count = self.count.max(*number);
                self.announced |= notice.topic == Topic::RunFinished;
                self.queues.entry(channel.clone()).or_default().insert(*number);
                let open =
                    OpenNotice { channel: channel.clone(), notice: notice.clone(), tries: Tries::default() };
                self.open.insert(*number, open);
            }
            NoticeEvent::Tried { number, failure, .. } => match failure {
                None => {
                    if let Some(sent) = self.close(*number) {
                        self.down.remove(&sent.channel);
                    }
                }
                Some(failure) if failure.again.is_some() => {
                    if let Some(open) = self.open.get_mut(number) {
                        open.tries.fail(failure.again);
                    }
                }
                Some(failure) => {
                    if let (Some(failed), Some(until)) = (self.close(*number), failure.down_until) {
                        self.down.insert(failed.channel, until);
                    }
                }
            },
            NoticeEvent::Died(letter) => {
                self.letters.insert(letter.id.clone(), (**letter).clone());
            }
            NoticeEvent::Filed(ids) => {
                for id in ids {
                    self.letters.remove(id);
                }
            }
        }
    }

    fn close(&mut self, number: u32) -> Option<OpenNotice> {
        let closed = self.open.remove(&number)?;
        if let Some(queue) = self.queues.get_mut(&closed.channel) {
            queue.remove(&number);
        }
        Some(closed)
    }
}
