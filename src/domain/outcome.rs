//! What a run ends with: one class, one exit code (semantics, section 20).

use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A condition that can hold at the end of a run. The one that weighs most is the run's outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeClass {
    /// Every selected task done, nothing below the bar, all gates and thresholds passed.
    Ok,
    /// Our bug or a state I/O error.
    Internal,
    /// Bad flag, config or mission; no agent was started.
    Usage,
    /// At least one task failed.
    TaskFailed,
    /// A gate failed; its blocked tasks did not run.
    GateFailed,
    /// A done task is below the bar, or the mission threshold was missed.
    BelowThreshold,
    /// A review that was asked for gave no trustworthy verdict.
    Indeterminate,
    /// Budget or time reached; resumable.
    Limit,
    /// Waiting for a person; resumable.
    Awaiting,
    /// Binary, credential, lock or an unfinished run in the way.
    Environment,
    /// SIGINT; state saved.
    Interrupted,
    /// SIGTERM, or a terminal that was closed (SIGHUP); state saved.
    Terminated,
}

impl OutcomeClass {
    /// All classes, the one that weighs most first: 1 > signal > 2 > 9 > 7 > 3 > 4 > 6 > 5 > 8 > 0.
    pub const BY_PRECEDENCE: [Self; 12] = [
        Self::Internal,
        Self::Terminated,
        Self::Interrupted,
        Self::Usage,
        Self::Environment,
        Self::Limit,
        Self::TaskFailed,
        Self::GateFailed,
        Self::Indeterminate,
        Self::BelowThreshold,
        Self::Awaiting,
        Self::Ok,
    ];

    /// The process's exit code.
    #[must_use]
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::Internal => 1,
            Self::Usage => 2,
            Self::TaskFailed => 3,
            Self::GateFailed => 4,
            Self::BelowThreshold => 5,
            Self::Indeterminate => 6,
            Self::Limit => 7,
            Self::Awaiting => 8,
            Self::Environment => 9,
            Self::Interrupted => 130,
            Self::Terminated => 143,
        }
    }

    /// The name as written in JSON. Both signals are `interrupted`; the exit code tells them apart.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Internal => "internal",
            Self::Usage => "usage",
            Self::TaskFailed => "task_failed",
            Self::GateFailed => "gate_failed",
            Self::BelowThreshold => "below_threshold",
            Self::Indeterminate => "indeterminate",
            Self::Limit => "limit",
            Self::Awaiting => "awaiting",
            Self::Environment => "environment",
            Self::Interrupted | Self::Terminated => "interrupted",
        }
    }

    /// Whether the session was stopped before its work had ended: by a signal or a limit. What it was at is not done, and
    /// `resume` alone goes on with it.
    #[must_use]
    pub fn is_stop(self) -> bool {
        matches!(self, Self::Interrupted | Self::Terminated | Self::Limit)
    }

    /// Whether `--allow` may take this condition out. What says "the run did not get there" cannot be allowed away.
    #[must_use]
    pub fn may_be_allowed(self) -> bool {
        matches!(
            self,
            Self::TaskFailed
                | Self::GateFailed
                | Self::BelowThreshold
                | Self::Indeterminate
                | Self::Limit
                | Self::Awaiting
        )
    }
}

impl FromStr for OutcomeClass {
    type Err = String;

    /// The class that `--allow` names.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wanted = text.trim().replace('-', "_");
        let allowed = || {
            Self::BY_PRECEDENCE
                .into_iter()
                .filter(|class| class.may_be_allowed())
        };
        allowed().find(|class| class.as_str() == wanted).ok_or_else(|| {
            let names: Vec<_> = allowed().map(Self::as_str).collect();
            format!(
                "'{text}' is not a class that can be allowed; one of: {}",
                names.join(", ")
            )
        })
    }
}
