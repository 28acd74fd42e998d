//! What keeps a task, or what stands behind a checkpoint or a delay, from moving until a person or a moment says so, and
//! what their answer leads to.

use crate::domain::{Cause, FailureMode, StageKey, Timestamp, WaitingReason};
use crate::engine::event::HoldEvent;

/// The hold of a task, a checkpoint or a delay.
#[derive(Debug, Clone, PartialEq)]
pub struct Hold {
    /// The reason of the wait.
    pub reason: WaitingReason,
    /// For a refer: its cause.
    pub cause: Option<Cause>,
    /// For a refer: the stage that a person decides instead of.
    pub stage: StageKey,
    /// How often the owner was held, this time included.
    pub number: u32,
    /// The approval gate that asks, where one does.
    pub gate: Option<Box<str>>,
    /// The moment at which the time for an answer is up, or was; of a delay, its end.
    pub expires: Option<Timestamp>,
    /// The position of the approver that is no person and is asked now.
    pub asking: Option<u32>,
    /// How many of the approvers have left it open.
    pub undecided: u32,
}

/// The step behind the answer to a hold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Resume {
    /// The task starts, once everybody has agreed.
    Start,
    /// The agent goes on in a new turn of the attempt.
    Turn,
    /// The work is judged behind the stage; nobody has said anything about it.
    Judge,
    /// The answer stands for the stage, and the work is judged behind it: a person who was asked about one stage did not
    /// speak of the others.
    Pass,
    /// The answer stands for the stage, and the work is accepted.
    Accept,
    /// The answer stands for the stage, and the work is sent back within the limits of its attempts.
    Rework,
    /// The answer stands for the stage, and the task has failed: its attempts are used up.
    GiveUp,
    /// The task has failed.
    Fail(FailureMode),
    /// The tasks behind the checkpoint or the delay start.
    Release,
    /// The tasks behind the checkpoint have failed.
    Block,
}

impl Hold {
    /// The hold that an event opens.
    pub(crate) fn opened(event: &HoldEvent) -> Option<Self> {
        let HoldEvent::Opened { number, reason, cause, stage, message: _, gate, expires } = event else {
            return None;
        };
        Some(Self {
            cause: *cause,
            stage: stage.unwrap_or(StageKey::JUDGE),
            number: *number,
            gate: gate.as_deref().map(Box::from),
            expires: *expires,
            ..Self::of(*reason)
        })
    }

    /// A hold that is asked about for this reason.
    pub(crate) fn of(reason: WaitingReason) -> Self {
        Self {
            reason,
            cause: None,
            stage: StageKey::JUDGE,
            number: 0,
            gate: None,
            expires: None,
            asking: None,
            undecided: 0,
        }
    }

    /// The step behind a yes.
    pub(crate) fn on_yes(&self) -> Resume {
        match self.reason {
            WaitingReason::Approval | WaitingReason::SideEffects => Resume::Start,
            WaitingReason::Question | WaitingReason::Auth => Resume::Turn,
            WaitingReason::Operator => Resume::Judge,
            WaitingReason::Refer if self.is_last_word() => Resume::Accept,
            WaitingReason::Refer => Resume::Pass,
            WaitingReason::Checkpoint | WaitingReason::Delay => Resume::Release,
        }
    }

    /// The step behind a no.
    pub(crate) fn on_no(&self) -> Resume {
        match self.reason {
            WaitingReason::Approval | WaitingReason::SideEffects => Resume::Fail(FailureMode::Rejected),
            WaitingReason::Question | WaitingReason::Auth => Resume::Fail(FailureMode::Cancelled),
            WaitingReason::Refer if self.is_last_word() => Resume::GiveUp,
            WaitingReason::Refer | WaitingReason::Operator => Resume::Rework,
            WaitingReason::Checkpoint | WaitingReason::Delay => Resume::Block,
        }
    }

    /// The step behind the end of the time: the moment of a delay is its answer, everything else is a no.
    pub(crate) fn on_silence(&self) -> Resume {
        match self.reason {
            WaitingReason::Delay => self.on_yes(),
            _ => self.on_no(),
        }
    }

    /// Whether the end of its time ends it, or it stays open: `is_no` where silence is a no (`autoRejectOnTimeout`).
    pub(crate) fn ends_by_silence(&self, is_no: bool) -> bool {
        is_no || matches!(self.reason, WaitingReason::Delay | WaitingReason::Auth)
    }

    /// Whether a person is asked because the attempts are used up: then their word ends the task, either way.
    fn is_last_word(&self) -> bool {
        self.cause == Some(Cause::Exhausted)
    }

    /// Whether the judges, not a person, are missing: such a task is asked about again on resume and counts as
    /// indeterminate (section 20).
    pub fn is_for_judges(&self) -> bool {
        self.reason == WaitingReason::Refer && self.cause.is_some_and(Cause::is_of_judges)
    }
}
