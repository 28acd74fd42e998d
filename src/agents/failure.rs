//! From what a provider, the network or an agent's adapter said to the class of the failure (semantics, section 13).
//!
//! Exit and status codes and structured error fields first, the error text of the provider or adapter last, a worker's
//! own words never.
//!
//! | file | what |
//! |---|---|
//! | `reset` | when one says in words that it can be asked again: limits that reset (13); the header is read in `model` |
//! | `words` | the last resort of the classifier: texts on an adapter's standard error, messages of a provider |

use serde_json::Value;

use rules::domain::{FailureClass, Millis, without_mark};

use super::secrets::Secrets;

mod reset;
mod words;

pub use reset::{Moment, wait_in_text};
pub use words::{MOST_OBJECTS, objects};

/// The causes of an error, the nearest first.
pub(super) fn causes(error: &dyn std::error::Error) -> impl Iterator<Item = String> {
    std::iter::successors(error.source(), |cause| cause.source()).map(ToString::to_string)
}

/// How a request failed before an answer was complete: by class, and in words about `host` without the address.
pub fn of_transport(host: &str, error: reqwest::Error) -> (FailureClass, String) {
    let class = if error.is_timeout() {
        FailureClass::Timeout
    } else if error.is_builder() {
        FailureClass::Unknown
    } else {
        FailureClass::ProviderTransient
    };
    let error = error.without_url();
    let mut message = format!("{host}: {error}");
    for cause in causes(&error) {
        message.push_str(": ");
        message.push_str(&cause);
    }
    (class, message)
}

/// A text as people may see it: one line without secrets, of so many characters at most.
pub fn presentable(text: &str, secrets: &Secrets, most: usize) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    secrets.redact(text).chars().take(most).map(plain).collect()
}

/// The answer of a provider that holds an error.
#[derive(Debug, Clone, Copy, PartialEq)]
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
    "insufficient_quota insufficient_credits insufficient_balance insufficient_funds",
    "billing_hard_limit_reached billing_not_active billing_error credit_balance_too_low quota_exhausted",
    "billing_disabled",
];

/// Codes of a limit that resets at some moment.
const WINDOW_CODES: &[&str] = &["usage_limit_reached usage_limit_exceeded"];

/// Codes with which providers say that what they were asked is too long.
const LENGTH_CODES: &[&str] =
    &["context_length_exceeded context_too_long context_window_exceeded context_overflow_error"];

/// Codes that say what the status does not, where the status is that of a success or of any bad request, by class.
const CLASSES_OF_CODES: [(FailureClass, &str); 13] = [
    (
        FailureClass::ProviderAuth,
        "api_key_invalid invalid_api_key authentication_error permission_error unauthenticated permission_denied",
    ),
    (FailureClass::ProviderAuth, "unauthorized forbidden auth_required"),
    (
        FailureClass::RateLimited,
        "rate_limit_error rate_limit_exceeded resource_exhausted rate_limit rate_limited too_many_requests",
    ),
    (FailureClass::RateLimited, "throttling_exception"),
    (
        FailureClass::ProviderTransient,
        "overloaded_error overloaded server_overloaded engine_overloaded api_error server_error unavailable",
    ),
    (
        FailureClass::ProviderTransient,
        "service_unavailable internal internal_error internal_server_error bad_gateway conflict aborted",
    ),
    (
        FailureClass::ProviderTransient,
        "capacity_exceeded http_connection_failed response_stream_connection_failed",
    ),
    (FailureClass::ProviderTransient, "response_stream_disconnected response_too_many_failed_attempts"),
    (FailureClass::Timeout, "timeout_error timeout deadline_exceeded gateway_timeout"),
    (FailureClass::PolicyBlocked, "content_filter content_policy_violation policy_blocked cyber_policy"),
    (FailureClass::PermissionRequired, "permission_required"),
    (FailureClass::InvalidToolArgs, "invalid_tool_args"),
    (FailureClass::MissingTargetPath, "missing_target_path"),
];

/// The class of an answer with an error.
pub fn classify_answer(answer: &ErrorAnswer) -> FailureClass {
    let is_one_of = |known| has_code(answer.codes, known);
    if is_one_of(WINDOW_CODES) {
        return FailureClass::UsageWindow;
    }
    if is_one_of(LENGTH_CODES) {
        return FailureClass::ContextTooLong;
    }
    // A provider that has trouble of its own repeats what it likes.
    let by_words = words::before_status(answer.message).filter(|_| answer.status < 500);
    if let Some(class) = by_words {
        return class;
    }
    // A quota of which it is not said when it is there again is used up.
    let is_used_up = || {
        let asks_for_money = words::is_used_up(answer.message);
        asks_for_money && wait_in_text(answer.message, Moment::default()).is_none()
    };
    if is_one_of(SPEND_CODES) || answer.status < 500 && is_used_up() {
        return FailureClass::ProviderSpendLimit;
    }
    match answer.status {
        402 => FailureClass::ProviderSpendLimit,
        400 if answer.message.to_ascii_lowercase().contains("credit balance is too low") => {
            FailureClass::ProviderSpendLimit
        }
        401 | 403 => FailureClass::ProviderAuth,
        408 | 504 => FailureClass::Timeout,
        429 => FailureClass::RateLimited,
        // Another request, a capacity or a connection stood in the way, and not what was asked.
        409 | 423..=425 | 498 | 499 | 500..=599 => FailureClass::ProviderTransient,
        0 | 400 => class_of_codes(answer.codes),
        // Of a success nothing but its words tells what it is.
        200..=299 => match class_of_codes(answer.codes) {
            FailureClass::Unknown => words::classify(answer.message, &[]),
            class => class,
        },
        _ => FailureClass::Unknown,
    }
}

/// The class of an answer of which nothing but the status is known.
pub fn classify_status(status: u16) -> FailureClass {
    classify_answer(&ErrorAnswer { status, codes: &[], message: "" })
}

/// Whether a code is a known one, however it joins its words: `serverOverloaded`, `SERVER-OVERLOADED`.
fn is_code(code: &str, known: &str) -> bool {
    let letters = |text: &str| -> String {
        let letters = text.chars().filter(|c| !matches!(c, '_' | '-' | ' '));
        letters.flat_map(char::to_lowercase).take(100).collect()
    };
    letters(code) == letters(known)
}

/// Whether one of the codes is known; the known ones stand in lines, with spaces between them.
fn has_code(codes: &[&str], known: &[&str]) -> bool {
    let mut known = known.iter().flat_map(|line| line.split_whitespace());
    known.any(|known| codes.iter().any(|code| is_code(code, known)))
}

/// The class that the codes alone tell.
fn class_of_codes(codes: &[&str]) -> FailureClass {
    let told = CLASSES_OF_CODES.iter().find(|(_, known)| has_code(codes, &[known]));
    told.map_or(FailureClass::Unknown, |(class, _)| *class)
}

/// How a command ended that should have exited with 0.
#[derive(Debug, Clone, Copy, Default)]
pub struct FailedCommand<'a> {
    /// The name of the command's program, without folders.
    pub program: &'a str,
    /// The exit code, unless a signal ended it.
    pub code: Option<i32>,
    /// Whether our own timer ended the command.
    pub timed_out: bool,
    /// The end of what it wrote to standard error.
    pub stderr: &'a str,
    /// The end of what it wrote to standard output, which is its work: only the last structured error is read of it.
    pub stdout: &'a str,
    /// Paths that the task declares.
    pub declared: &'a [&'a str],
    /// The moment of the end, and the zone of the machine.
    pub at: Moment,
}

/// The failure of a command by its own outputs.
#[derive(Debug, Clone, PartialEq)]
pub struct CommandFailure {
    pub class: FailureClass,
    /// How long whoever failed asks to be left alone, where that is told.
    pub retry_after: Option<Millis>,
    /// Why, in the words of the structured error; else the last line of standard error. May be empty.
    pub reason: String,
}

/// Reads the failure of a command: from our timer, structured errors on standard output, the exit codes that
/// its program is known for, structured errors on standard error, then words there.
pub fn read_command(end: &FailedCommand) -> CommandFailure {
    let printed = last_error(end.stdout);
    let complained = objects(end.stderr.trim_end(), MOST_OBJECTS)
        .last()
        .filter(|(object, at)| *at == end.stderr.trim_end().len() && is_error(object))
        .map(|(object, _)| object);
    let by_stdout = printed.as_ref().and_then(classify_error_object);
    let class = classify(end, by_stdout);
    let reason = [&printed, &complained].into_iter().find_map(|object| message_of(object.as_ref()?));
    // The end of a document says nothing.
    let says = |line: &&str| line.contains(char::is_alphanumeric);
    let last_line = end.stderr.lines().rev().map(str::trim).find(says).unwrap_or_default();
    let says_when = matches!(
        class,
        FailureClass::UsageWindow | FailureClass::RateLimited | FailureClass::ProviderTransient
    );
    let of_object = |object: &Option<Value>| reset::wait_in_error(object.as_ref()?, end.at);
    let told = || {
        let by_fields = of_object(&printed).or_else(|| of_object(&complained));
        let by_words = || wait_in_text(reason.as_deref().unwrap_or_default(), end.at);
        by_fields.or_else(by_words).or_else(|| wait_in_text(end.stderr, end.at))
    };
    CommandFailure {
        class,
        retry_after: says_when.then(told).flatten(),
        reason: reason.unwrap_or_else(|| last_line.to_owned()),
    }
}

/// The class of a command's end; see [`read_command`].
fn classify(end: &FailedCommand, by_stdout: Option<FailureClass>) -> FailureClass {
    if end.timed_out {
        return FailureClass::Timeout;
    }
    let said = by_stdout.unwrap_or_else(|| words::classify(end.stderr, end.declared));
    let by_code = end.code.and_then(|code| known_exit(end.program, code));
    // A status does not tell these from others with the same one.
    let is_told = matches!(
        said,
        FailureClass::ContextTooLong | FailureClass::UsageWindow | FailureClass::ProviderSpendLimit
    );
    if let Some(class) = by_code.filter(|_| !is_told) {
        return class;
    }
    // What coreutils' `timeout` exits with when it has ended the command.
    let by_timeout = end.code == Some(124) && said == FailureClass::Unknown;
    if by_timeout { FailureClass::Timeout } else { said }
}

/// The last structured error that an agent printed: the last whole line, or the whole output, that is a JSON object which
/// calls itself an error. Never one inside of a line of prose.
fn last_error(stdout: &str) -> Option<Value> {
    let object = |text: &str| {
        let text = without_mark(text.trim());
        let begins = text.starts_with('{') && text.ends_with('}');
        let parsed = begins.then(|| serde_json::from_str::<Value>(text).ok()).flatten();
        parsed.filter(is_error)
    };
    object(stdout).or_else(|| stdout.lines().rev().find_map(object))
}

/// Whether an object calls itself an error.
fn is_error(object: &Value) -> bool {
    let error = &object["error"];
    object["is_error"] == true
        || error.is_object()
        || error.as_str().is_some_and(|error| !error.is_empty())
        || matches!(object["type"].as_str(), Some("error" | "turn.failed"))
}

/// The words of a structured error.
fn message_of(error: &Value) -> Option<String> {
    let (inner, nothing) = (error.get("error").unwrap_or(&Value::Null), &Value::Null);
    // Of a turn that ended well it is the agent's work.
    let result = if error["is_error"] == true { &error["result"] } else { nothing };
    let texts = [
        &inner["data"]["message"],
        &inner["message"],
        inner,
        &error["data"]["message"],
        &error["message"],
        &error["errorMessage"],
        result,
        &error["errors"][0],
    ];
    let told = texts.into_iter().filter_map(Value::as_str).map(str::trim);
    let mut told = told.filter(|text| !text.is_empty());
    told.next().map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The class of why a program could not be started.
pub fn of_start(why: &str) -> FailureClass {
    if why.contains("Argument list too long") || why.ends_with("bytes is too long") {
        FailureClass::ContextTooLong
    } else {
        FailureClass::Unknown
    }
}

/// The class of what a program wrote to standard error before it failed.
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
    let class = classify_status(u16::try_from(status).ok()?);
    (class != FailureClass::Unknown).then_some(class)
}

/// The class that a structured error tells: the last object of an agent's event stream, or of its standard error.
/// `None` if it has no field that says what went wrong.
pub fn classify_error_object(error: &Value) -> Option<FailureClass> {
    // The same few fields stand at the top, below `error`, or below its `data`.
    let inner = error.get("error").unwrap_or(&Value::Null);
    let levels = [error, inner, &inner["data"], &error["data"], &inner["error"]];
    let texts = ["code", "type", "status", "name", "errorKind"];
    let codes: Vec<&str> =
        levels.iter().flat_map(|level| texts.iter().filter_map(|key| level[*key].as_str())).collect();
    let numbers = ["api_error_status", "statusCode", "status_code", "status", "code"];
    let status = levels
        .iter()
        .flat_map(|level| numbers.iter().filter_map(|key| level[*key].as_u64()))
        .filter_map(|number| u16::try_from(number).ok())
        .find(|status| (400..600).contains(status));
    let message = message_of(error);
    let message = message.as_deref().unwrap_or_default();
    let class = classify_answer(&ErrorAnswer { status: status.unwrap_or(0), codes: &codes, message });
    match class {
        FailureClass::Unknown => {
            Some(words::classify(message, &[])).filter(|class| *class != FailureClass::Unknown)
        }
        class => Some(class),
    }
}

#[cfg(test)]
mod tests;
