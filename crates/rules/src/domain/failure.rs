//! Why work failed: the class says what happened, the mode what it means for the task (semantics, section 13).

/// Why a shell ended without a word of the command that it was to run: its exit codes 126 and 127.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ShellFailure {
    /// A program of the command cannot be executed.
    CannotExecute,
    /// A program of the command was not found.
    NotFound,
}

impl ShellFailure {
    /// The failure that a shell's exit code tells; `None` for a code of the command's own.
    pub const fn of(code: i32) -> Option<Self> {
        match code {
            126 => Some(Self::CannotExecute),
            127 => Some(Self::NotFound),
            _ => None,
        }
    }
}

worded! {
    /// The cause of a failure. Read from exit status, HTTP status and structured errors, never from prose.
    pub enum FailureClass {
        /// Killed by our timer, or 408 / 504.
        Timeout = "timeout",
        /// The provider allows no more requests now (HTTP 429).
        RateLimited = "rate_limited",
        /// 5xx except 504, 529, connection reset.
        ProviderTransient = "provider_transient",
        /// A subscription's limit that resets at a moment: no failure, but a reason to wait.
        UsageWindow = "usage_window",
        /// The request is longer than the model takes.
        ContextTooLong = "context_too_long",
        /// 402, or quota exhausted.
        ProviderSpendLimit = "provider_spend_limit",
        /// 401 or 403 from the provider; what the agent needs, such as its program or its key, is not there.
        ProviderAuth = "provider_auth",
        /// A tool call was blocked by policy.
        PolicyBlocked = "policy_blocked",
        /// A tool call was malformed.
        InvalidToolArgs = "invalid_tool_args",
        /// A declared path does not exist.
        MissingTargetPath = "missing_target_path",
        /// A person must allow the call.
        PermissionRequired = "permission_required",
        /// The failure is of no other class.
        Unknown = "unknown",
    }
}

impl FailureClass {
    /// Whether a provider *request* (never a worker turn that had started) may be repeated.
    pub fn request_retried(self) -> bool {
        matches!(self, Self::Timeout | Self::RateLimited | Self::ProviderTransient)
    }

    /// Whether trying the attempt again cannot help, so that the task fails at once (section 4).
    pub fn exhausts_at_once(self) -> bool {
        matches!(
            self,
            Self::ProviderAuth | Self::ProviderSpendLimit | Self::PolicyBlocked | Self::PermissionRequired
        )
    }

    /// Whether whoever waits for long enough need do nothing else about it.
    pub fn passes_by_itself(self) -> bool {
        self.request_retried() || self == Self::UsageWindow
    }

    /// Whether the failure is one of the provider that passes by itself, so that the next attempt waits for a
    /// while (section 4).
    pub fn is_of_provider(self) -> bool {
        self.request_retried()
    }

    /// The mode of a task that failed with this class.
    pub fn mode(self) -> FailureMode {
        match self {
            Self::Timeout => FailureMode::Timeout,
            Self::RateLimited | Self::UsageWindow | Self::ProviderSpendLimit => FailureMode::RateLimit,
            _ => FailureMode::Error,
        }
    }

    /// `errorType` of the JSON output.
    pub fn error_type(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::RateLimited => "429",
            Self::UsageWindow => "window",
            Self::ProviderSpendLimit => "402",
            _ => "error",
        }
    }
}

worded! {
    /// How a failed task failed (semantics, section 5).
    pub enum FailureMode {
        /// The agent or its provider failed.
        Error = "error",
        /// Killed by a timer.
        Timeout = "timeout",
        /// Out of rate or money.
        RateLimit = "rate-limit",
        /// Judged, and not good enough.
        Quality = "quality",
        /// The agent did nothing.
        Hollow = "hollow",
        /// A dependency failed.
        Cascade = "cascade",
        /// A person said no.
        Rejected = "rejected",
        /// A person called the task off.
        Cancelled = "cancelled",
        /// A protected path was changed.
        Protected = "protected",
        /// The deadline of the task passed and the policy is to fail.
        Deadline = "deadline",
        /// The evidence that the task was accepted for does not stand any more.
        Regressed = "regressed",
    }
}
