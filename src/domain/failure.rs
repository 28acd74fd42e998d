//! Why work failed: the class says what happened, the mode what it means for the task (semantics, section 13).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a shell ended without a word of the command that it was to run: its exit codes 126 and 127.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShellFailure {
    /// What it was to run cannot be executed.
    CannotExecute,
    /// What it was to run was not found.
    NotFound,
}

impl ShellFailure {
    /// What an exit code says of that; `None` for a command's own.
    pub const fn of(code: i32) -> Option<Self> {
        match code {
            126 => Some(Self::CannotExecute),
            127 => Some(Self::NotFound),
            _ => None,
        }
    }
}

/// What went wrong, by cause. Read from exit status, HTTP status and structured errors, never from prose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailureClass {
    /// Killed by our timer, or 408 / 504.
    Timeout,
    /// 429.
    RateLimited,
    /// 5xx except 504, 529, connection reset.
    ProviderTransient,
    /// A subscription's limit that resets at a moment: no failure, but a reason to wait.
    UsageWindow,
    /// What was asked is longer than the model takes.
    ContextTooLong,
    /// 402, or quota exhausted.
    ProviderSpendLimit,
    /// 401 or 403 from the provider; what the agent needs, such as its program or its key, is not there.
    ProviderAuth,
    /// A tool call was blocked by policy.
    PolicyBlocked,
    /// A tool call was malformed.
    InvalidToolArgs,
    /// A declared path does not exist.
    MissingTargetPath,
    /// A person must allow it.
    PermissionRequired,
    /// Everything else.
    Unknown,
}

impl FailureClass {
    /// Whether a provider *request* (never a worker turn that had started) may be repeated.
    #[must_use]
    pub fn request_retried(self) -> bool {
        matches!(self, Self::Timeout | Self::RateLimited | Self::ProviderTransient)
    }

    /// Whether trying the attempt again cannot help, so that the task fails at once (section 4).
    #[must_use]
    pub fn exhausts_at_once(self) -> bool {
        matches!(
            self,
            Self::ProviderAuth | Self::ProviderSpendLimit | Self::PolicyBlocked | Self::PermissionRequired
        )
    }

    /// Whether whoever waits for long enough need do nothing else about it.
    #[must_use]
    pub fn passes_by_itself(self) -> bool {
        self.request_retried() || self == Self::UsageWindow
    }

    /// Whether it is a failure of the provider that passes by itself, so that the next attempt waits for a while
    /// (section 4).
    #[must_use]
    pub fn is_of_provider(self) -> bool {
        matches!(self, Self::Timeout | Self::RateLimited | Self::ProviderTransient)
    }

    /// The mode of a task that failed with this class.
    #[must_use]
    pub fn mode(self) -> FailureMode {
        match self {
            Self::Timeout => FailureMode::Timeout,
            Self::RateLimited | Self::UsageWindow | Self::ProviderSpendLimit => FailureMode::RateLimit,
            _ => FailureMode::Error,
        }
    }

    /// `errorType` of the JSON output.
    #[must_use]
    pub fn error_type(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::RateLimited => "429",
            Self::UsageWindow => "window",
            Self::ProviderSpendLimit => "402",
            _ => "error",
        }
    }

    words_of! {
        /// The name as written in JSON.
        as_str {
            Timeout => "timeout",
            RateLimited => "rate_limited",
            ProviderTransient => "provider_transient",
            UsageWindow => "usage_window",
            ContextTooLong => "context_too_long",
            ProviderSpendLimit => "provider_spend_limit",
            ProviderAuth => "provider_auth",
            PolicyBlocked => "policy_blocked",
            InvalidToolArgs => "invalid_tool_args",
            MissingTargetPath => "missing_target_path",
            PermissionRequired => "permission_required",
            Unknown => "unknown",
        }
    }
}

/// How a failed task failed (semantics, section 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FailureMode {
    /// The agent or its provider failed.
    Error,
    /// Killed by a timer.
    Timeout,
    /// Out of rate or money.
    RateLimit,
    /// Judged, and not good enough.
    Quality,
    /// Nothing was done.
    Hollow,
    /// A dependency failed.
    Cascade,
    /// A person said no.
    Rejected,
    /// Called off.
    Cancelled,
    /// A protected path was changed.
    Protected,
    /// Its deadline passed and the policy is to fail.
    Deadline,
    /// What it was accepted for does not stand any more.
    Regressed,
}

impl FailureMode {
    words_of! {
        /// The name as written in JSON.
        as_str {
            Error => "error",
            Timeout => "timeout",
            RateLimit => "rate-limit",
            Quality => "quality",
            Hollow => "hollow",
            Cascade => "cascade",
            Rejected => "rejected",
            Cancelled => "cancelled",
            Protected => "protected",
            Deadline => "deadline",
            Regressed => "regressed",
        }
    }
}
