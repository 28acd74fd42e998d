//! What becomes of work that fails: the one table for all kinds of work and all purposes of asking (semantics, section 13).
//!
//! The rules read it, and so do the plan, the worst case, and whoever asks agents outside of a run.

use crate::domain::{Millis, Purpose};

/// A kind of work; of a question to an agent, with its purpose.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum WorkKind {
    /// A worker acts.
    Turn,
    /// An agent is asked.
    Ask(Purpose),
    /// An agent is asked about a request from outside, which belongs to no task yet.
    Triage,
    /// A command that judges or agrees: a check, a finish gate, a probe, a stage, an approver.
    Command,
    /// Files are looked at.
    Scan,
    /// A channel is told something.
    Deliver,
}

/// The rules for work that fails.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Policy {
    /// How often a request is made again whose failure may pass. Of a turn it is one request to a model that is meant: a
    /// process that has begun is never repeated.
    pub request_retries: u32,
    /// How often work is started again that never came to be.
    pub start_retries: u32,
    /// The longest pause before a try again.
    pub longest_pause: LongestPause,
    /// How often a reply that does not fit is asked for again.
    pub reprompts: u32,
    /// Whether another agent is asked, or goes on, instead of one that cannot be reached.
    pub fallback: bool,
    /// The treatment of work that was out when a session died.
    pub after_crash: AfterCrash,
    /// The dead letter once the work has failed for good; `None` where there is none.
    pub letter: Option<Letter>,
}

/// The longest pause before a try again.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LongestPause {
    /// A provider that asks for a longer pause is down as far as a run is concerned.
    GiveUp(Millis),
    /// A longer one is cut to this: the end of the run may be waiting.
    Cut(Millis),
}

/// The treatment by the next session of work that was out when a session died.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum AfterCrash {
    /// The work outlives the session: it is taken over, or it is lost.
    AdoptOrLose,
    /// The work is done again.
    Repeat,
    /// The work is delivered again.
    Redeliver,
}

/// An operation of the dead-letter queue.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Letter {
    /// The letter `judge:AGENT`.
    Judge,
    /// The letter `notify:CHANNEL`.
    Notify,
}

/// The rules for failures of this kind of work.
pub const fn policy(job: WorkKind) -> Policy {
    match job {
        WorkKind::Turn => Policy {
            request_retries: 3,
            start_retries: 1,
            fallback: true,
            after_crash: AfterCrash::AdoptOrLose,
            ..DONE_AGAIN
        },
        WorkKind::Ask(purpose) if purpose.is_judging() => Policy {
            request_retries: 3,
            reprompts: 1,
            fallback: true,
            letter: Some(Letter::Judge),
            ..DONE_AGAIN
        },
        // Whoever answers for the mission, or agrees to something, is asked by name: nobody else can.
        WorkKind::Ask(_) | WorkKind::Triage => Policy { request_retries: 3, ..DONE_AGAIN },
        WorkKind::Command => Policy { start_retries: 1, ..DONE_AGAIN },
        WorkKind::Scan => DONE_AGAIN,
        WorkKind::Deliver => Policy {
            request_retries: 2,
            longest_pause: LongestPause::Cut(Millis::from_secs(10)),
            after_crash: AfterCrash::Redeliver,
            letter: Some(Letter::Notify),
            ..DONE_AGAIN
        },
    }
}

/// Tried once, and done again after a crash.
const DONE_AGAIN: Policy = Policy {
    request_retries: 0,
    start_retries: 0,
    longest_pause: LongestPause::GiveUp(Millis::from_secs(600)),
    reprompts: 0,
    fallback: false,
    after_crash: AfterCrash::Repeat,
    letter: None,
};
