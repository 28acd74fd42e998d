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
        /// The turn, or a request to its provider, took longer than it may. A request is repeated within bounds.
        Timeout = "timeout",
        /// The provider asked for a pause. Requests are repeated within bounds.
        RateLimited = "rate_limited",
        /// The provider or the connection failed in a way that may pass. The request is repeated within bounds.
        ProviderTransient = "provider_transient",
        /// A usage limit of a subscription that resets at a moment: the task waits for it without a slot, at most
        /// `maxWindowWait`.
        UsageWindow = "usage_window",
        /// The prompt is longer than the model takes. Use a model with a larger context, or smaller tasks.
        ContextTooLong = "context_too_long",
        /// The account has no money or quota left. Nothing resets by itself.
        ProviderSpendLimit = "provider_spend_limit",
        /// The key is missing, wrong or not allowed. `quorum doctor` checks the keys.
        ProviderAuth = "provider_auth",
        /// A rule forbids it: the provider's, or one of quorum's (a judge that is not independent).
        PolicyBlocked = "policy_blocked",
        /// A model called a tool in a way that cannot be carried out.
        InvalidToolArgs = "invalid_tool_args",
        /// A path that the work needs is not there.
        MissingTargetPath = "missing_target_path",
        /// The agent may not do what it was asked to do. Allow it in the agent's configuration, or ask for something
        /// else.
        PermissionRequired = "permission_required",
        /// It has no known cause. It is tried again within the attempts.
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
        /// The agent failed in a way that has no mode of its own, such as an exit code. `quorum logs TASK --stderr`
        /// shows what it wrote.
        Error = "error",
        /// The turn took longer than it may (`maxDuration`, `taskTimeout`) or was silent for too long, and was
        /// ended.
        Timeout = "timeout",
        /// The provider refused for reasons of quota. Try again later or with another model.
        RateLimit = "rate-limit",
        /// The work was judged, is not good enough, and no attempt is left. `quorum show TASK` has the findings.
        Quality = "quality",
        /// The agent did nothing that can be seen: no output, or target files are missing.
        Hollow = "hollow",
        /// A task that it depends on failed, so it never ran. Repair that one and `quorum resume --retry-failed`.
        Cascade = "cascade",
        /// A person or an approver refused the work.
        Rejected = "rejected",
        /// A person ended the work or denied a tool call, and what depends on it is skipped.
        Cancelled = "cancelled",
        /// A file that no agent may change was changed, such as tests, scripts that judge, settings or the mission.
        /// Restore it; a task that is meant to write such a file lists it in `targetFiles`.
        Protected = "protected",
        /// The deadline was missed, and `violationAction: fail` ends the work.
        Deadline = "deadline",
        /// Accepted work does not stand any more: another task overwrote or removed its files, or its check fails
        /// now. It is done again in one attempt of kind fix, at most twice, and as long as the session has made
        /// fewer than three audits; else it fails, and `quorum resume --redo TASK` does it again.
        Regressed = "regressed",
    }
}
