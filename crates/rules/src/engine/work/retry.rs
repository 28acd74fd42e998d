//! What follows when a try failed: the one rule for all kinds of work, and for whoever asks outside of a run (semantics,
//! section 13). When an attempt of a task is given up is decided in `decide::conclude`.

use crate::domain::{FailureClass, Millis, Timestamp};

use super::policy::{LongestPause, Policy};

/// The pause before the first try again; each one in a row doubles it.
const FIRST_PAUSE: Millis = Millis::from_secs(1);
/// How long a limit is taken to last where nobody says when it resets.
const UNTOLD: Millis = Millis::from_secs(30 * 60);

/// How often work that is open failed, and when it may be tried again. Starts and requests have bounds of their own.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Tries {
    /// Starts that failed: nothing came to be.
    pub starts: u32,
    /// Requests that failed; of a question, those of the agent that is asked now. A limit that resets is no failure.
    pub requests: u32,
    /// When the next one may be made; `None`: at once.
    pub not_before: Option<Timestamp>,
}

impl Tries {
    /// With one more request that failed.
    pub fn fail(&mut self, not_before: Option<Timestamp>) {
        self.requests += 1;
        self.not_before = not_before;
    }

    /// With one more start that failed.
    pub fn fail_to_start(&mut self, not_before: Timestamp) {
        self.starts += 1;
        self.not_before = Some(not_before);
    }
}

/// A try that failed.
#[derive(Debug, Clone, Copy)]
pub struct FailedTry {
    /// The class of the failure.
    pub class: FailureClass,
    /// The step that may be done once more.
    pub again: Again,
    /// The pause that was asked for.
    pub retry_after: Option<Millis>,
    /// Randomness for the back-off, 0 to 1000.
    pub jitter: u16,
}

/// The step of a failed try that may be done once more.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Again {
    /// The start may be repeated: nothing came to be.
    Start,
    /// The request may be repeated: the same may go well a moment later.
    Request,
    Nothing,
}

/// The decision about a try that failed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Retry {
    /// The work is tried again.
    After {
        /// The pause before the next try.
        pause: Millis,
        /// How many tries there may be in all.
        of: u32,
    },
    /// A limit must reset before.
    Window,
    /// Nothing more is to be expected.
    Never,
}

impl FailedTry {
    /// A request that failed, for the reasons of this class.
    pub fn of(class: FailureClass, retry_after: Option<Millis>, jitter: u16) -> Self {
        let again = if class.request_retried() { Again::Request } else { Again::Nothing };
        Self { class, again, retry_after, jitter }
    }

    /// The decision for work of this policy, of which `before` tries had failed.
    #[must_use]
    pub fn leads_to(self, policy: Policy, before: Tries) -> Retry {
        let (retries, failed_before) = match self.again {
            Again::Start => (policy.start_retries, before.starts),
            Again::Request => (policy.request_retries, before.requests),
            Again::Nothing => (0, 0),
        };
        let pause = self.retry_after;
        let pause = pause.unwrap_or_else(|| back_off(FIRST_PAUSE, failed_before.min(6), self.jitter));
        let pause = match policy.longest_pause {
            LongestPause::Cut(longest) => Some(pause.min(longest)),
            LongestPause::GiveUp(longest) => Some(pause).filter(|pause| *pause <= longest),
        };
        match pause.filter(|_| failed_before < retries) {
            Some(pause) => Retry::After { pause, of: 1 + retries },
            None if self.class == FailureClass::UsageWindow => Retry::Window,
            None => Retry::Never,
        }
    }
}

/// A first pause doubled so often, and up to half as much again by `jitter` (0 to 1000).
pub fn back_off(first: Millis, doublings: u32, jitter: u16) -> Millis {
    let base = first.0 << doublings;
    Millis(base + base * u64::from(jitter.min(1000)) / 2000)
}

/// When a limit that was met is over, where `met` of them were met in a row before. One that is met again and again is
/// never asked about in a hurry.
pub fn resets(told: Option<Millis>, met: u32, now: Timestamp) -> Timestamp {
    let least = Millis(1000 << met.min(11));
    now.plus(told.unwrap_or(UNTOLD).max(least))
}
