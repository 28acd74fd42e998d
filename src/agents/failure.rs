//! From what a provider, the network or an agent's adapter said to the class of the failure (semantics, section 13).
//!
//! Exit and status codes and structured error fields first, the error text of the provider or adapter last, a worker's
//! own words never.

use serde_json::Value;

use crate::domain::FailureClass;

mod words;

/// How a request failed before an answer was complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// Our own timer ran out.
    TimedOut,
    /// The connection was refused, reset, or ended in the middle of the answer.
    Broken,
    /// The request could not even be made.
    NotSent,
}

/// The class of a failure of the connection.
#[must_use]
pub fn classify_transport(transport: Transport) -> FailureClass {
    match transport {
        Transport::TimedOut => FailureClass::Timeout,
        Transport::Broken => FailureClass::ProviderTransient,
        Transport::NotSent => FailureClass::Unknown,
    }
}

/// What an answer with an error says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorAnswer<'a> {
    /// The HTTP status, or the status that the body names.
    pub status: u16,
    /// `code` and `type` of the body's error.
    pub codes: &'a [&'a str],
    /// The message of the body's error.
    pub message: &'a str,
}

/// Codes with which providers say that money or quota is used up, under whatever status.
const SPEND_CODES: &[&str] = &[
    "insufficient_quota",
    "insufficient_credits",
    "insufficient_balance",
    "insufficient_funds",
    "billing_hard_limit_reached",
    "billing_not_active",
    "billing_error",
    "credit_balance_too_low",
    "quota_exhausted",
    "billing_disabled",
];

/// Codes that say what the status does not, where the status is that of a success or of any bad request.
const TOLD: &[(&str, FailureClass)] = &[
    ("api_key_invalid", FailureClass::ProviderAuth),
    ("invalid_api_key", FailureClass::ProviderAuth),
    ("authentication_error", FailureClass::ProviderAuth),
    ("permission_error", FailureClass::ProviderAuth),
    ("unauthenticated", FailureClass::ProviderAuth),
    ("permission_denied", FailureClass::ProviderAuth),
    ("rate_limit_error", FailureClass::RateLimited),
    ("rate_limit_exceeded", FailureClass::RateLimited),
    ("resource_exhausted", FailureClass::RateLimited),
    ("overloaded_error", FailureClass::ProviderTransient),
    ("api_error", FailureClass::ProviderTransient),
    ("unavailable", FailureClass::ProviderTransient),
    ("internal", FailureClass::ProviderTransient),
    ("timeout_error", FailureClass::Timeout),
    ("deadline_exceeded", FailureClass::Timeout),
    ("content_filter", FailureClass::PolicyBlocked),
    ("content_policy_violation", FailureClass::PolicyBlocked),
    ("policy_blocked", FailureClass::PolicyBlocked),
    ("permission_required", FailureClass::PermissionRequired),
    ("invalid_tool_args", FailureClass::InvalidToolArgs),
    ("missing_target_path", FailureClass::MissingTargetPath),
    ("rate_limit", FailureClass::RateLimited),
];

/// Texts of providers that say so without a code, under a status that says nothing.
const SPEND_TEXT: &str = "credit balance is too low";

/// The class of an answer with an error.
#[must_use]
pub fn classify_answer(answer: &ErrorAnswer) -> FailureClass {
    let spent = answer
        .codes
        .iter()
        .any(|code| SPEND_CODES.iter().any(|spend| code.eq_ignore_ascii_case(spend)));
    if spent {
        return FailureClass::ProviderSpendLimit;
    }
    match answer.status {
        402 => FailureClass::ProviderSpendLimit,
        400 if answer.message.to_ascii_lowercase().contains(SPEND_TEXT) => FailureClass::ProviderSpendLimit,
        401 | 403 => FailureClass::ProviderAuth,
        408 | 504 => FailureClass::Timeout,
        429 => FailureClass::RateLimited,
        500..=599 => FailureClass::ProviderTransient,
        0 | 200..=299 | 400 => told_class(answer.codes),
        _ => FailureClass::Unknown,
    }
}

/// The class that the codes alone tell.
fn told_class(codes: &[&str]) -> FailureClass {
    let told = TOLD
        .iter()
        .find(|(told, _)| codes.iter().any(|code| code.eq_ignore_ascii_case(told)));
    told.map_or(FailureClass::Unknown, |(_, class)| *class)
}

/// How a command ended that should have exited with 0.
#[derive(Debug, Clone, Copy, Default)]
pub struct CommandEnd<'a> {
    /// The name of its program, without folders.
    pub program: &'a str,
    /// The exit code, unless a signal ended it.
    pub code: Option<i32>,
    /// Whether our own timer ended it.
    pub timed_out: bool,
    /// The end of what it wrote to standard error. What it wrote to standard output is its work and is never read here.
    pub stderr: &'a str,
    /// Paths that the task declares.
    pub declared: &'a [&'a str],
}

/// The class of a command's end: our timer, the exit codes that its program is known for, structured errors, then words.
#[must_use]
pub fn classify_command(end: &CommandEnd) -> FailureClass {
    if end.timed_out {
        return FailureClass::Timeout;
    }
    let by_code = end.code.and_then(|code| known_exit(end.program, code));
    by_code.unwrap_or_else(|| {
        let said = words::classify(end.stderr, end.declared);
        // What coreutils' `timeout` exits with when it has ended the command.
        let by_timeout = end.code == Some(124) && said == FailureClass::Unknown;
        if by_timeout { FailureClass::Timeout } else { said }
    })
}

/// The class of what a program wrote to standard error before it failed.
#[must_use]
pub fn classify_stderr(stderr: &str) -> FailureClass {
    words::classify(stderr, &[])
}

/// Exit codes with a meaning of their own: Gemini's CLI and its kin exit with the HTTP status, as far as eight bits hold
/// it, and with 41 without credentials.
fn known_exit(program: &str, code: i32) -> Option<FailureClass> {
    if !matches!(program, "gemini" | "qwen") {
        return None;
    }
    if code == 41 {
        return Some(FailureClass::ProviderAuth);
    }
    let status = (400..=529).find(|status| status % 256 == code && code > 128)?;
    let class = classify_answer(&ErrorAnswer {
        status: u16::try_from(status).ok()?,
        codes: &[],
        message: "",
    });
    (class != FailureClass::Unknown).then_some(class)
}

/// The class that a structured error tells: the last object of an agent's event stream, or of its standard error.
/// `None` if it has no field that says what went wrong.
#[must_use]
pub fn classify_error_object(error: &Value) -> Option<FailureClass> {
    // The same few fields stand at the top, below `error`, or below its `data`.
    let inner = error.get("error").unwrap_or(&Value::Null);
    let levels = [error, inner, &inner["data"], &error["data"], &inner["error"]];
    let texts = ["code", "type", "status", "name", "errorKind"];
    let codes: Vec<&str> = levels
        .iter()
        .flat_map(|level| texts.iter().filter_map(|key| level[*key].as_str()))
        .collect();
    let numbers = ["api_error_status", "statusCode", "status_code", "status", "code"];
    let status = levels
        .iter()
        .flat_map(|level| numbers.iter().filter_map(|key| level[*key].as_u64()))
        .filter_map(|number| u16::try_from(number).ok())
        .find(|status| (400..600).contains(status));
    let message = levels
        .iter()
        .find_map(|level| level["message"].as_str().or(level["error"].as_str()));
    let message = message.unwrap_or_default();
    let class = classify_answer(&ErrorAnswer {
        status: status.unwrap_or(0),
        codes: &codes,
        message,
    });
    match class {
        FailureClass::Unknown => {
            Some(words::classify(message, &[])).filter(|class| *class != FailureClass::Unknown)
        }
        class => Some(class),
    }
}

#[cfg(test)]
mod tests;
