//! The last resort of the classifier: what stands on an adapter's standard error, or in a provider's message.
//!
//! A number is a status only where it is called one, or where its own phrase stands behind it: "wrote 500 lines" is not
//! a 500. The last line that says something decides: what an agent met and got over before does not.

use serde_json::{Deserializer, Value};

use rules::domain::FailureClass;

use super::{classify_error_object, classify_status, reset};

/// Lines from the end that are looked at.
const LINES: usize = 20;
/// Places of standard error at which an object may begin that are looked at.
pub const MOST_OBJECTS: usize = 500;

/// The words before a number that make it a status.
const STATUS_WORDS: &[&str] = &[
    "http",
    "http/1.1",
    "http/2",
    "https",
    "status",
    "status code",
    "statuscode",
    "status_code",
    "error code",
    "api error",
    "apierror",
    "response code",
    "server returned",
    "last status",
    "unexpected status",
];

/// The words behind a number that make it a status.
const REASONS: &[(u16, &[&str])] = &[
    (401, &["unauthorized"]),
    (402, &["payment required"]),
    (403, &["forbidden"]),
    (408, &["request timeout"]),
    (409, &["conflict"]),
    (425, &["too early"]),
    (499, &["client closed request"]),
    (429, &["too many requests"]),
    (500, &["internal server error"]),
    (502, &["bad gateway"]),
    (503, &["service unavailable"]),
    (504, &["gateway timeout", "gateway time-out"]),
    (529, &["overloaded", "site is overloaded"]),
];

/// Words by class. The first class wins that has one of its words in the line: what no retry can help with comes first.
const WORDS: &[(FailureClass, &[&str])] = &[
    (
        FailureClass::ContextTooLong,
        &[
            "prompt is too long",
            "context_length",
            "context_length_exceeded",
            "context length",
            "context window",
            "input token count",
            "maximum context",
        ],
    ),
    (
        FailureClass::ProviderSpendLimit,
        &[
            "spend limit",
            "insufficient_quota",
            "insufficient quota",
            "credit balance is too low",
            "billing hard limit",
            "billing_hard_limit_reached",
            "insufficient credits",
            "insufficient balance",
            "out of credits",
            "requires more credits",
            "payment required",
            "quota exceeded",
            "check your plan and billing",
        ],
    ),
    (
        FailureClass::ProviderAuth,
        &[
            "unauthorized",
            "forbidden",
            "invalid api key",
            "incorrect api key",
            "invalid x-api-key",
            "api key not valid",
            "authenticationerror",
            "authentication_error",
            "authentication failed",
            "not authorized",
            "not logged in",
            "please run /login",
            "api key not found",
            "missing api key",
            "no api key",
            "token has expired",
            "please set an auth method",
            "no auth credentials found",
        ],
    ),
    (
        FailureClass::PolicyBlocked,
        &[
            "tool call blocked",
            "policy whitelist",
            "not allowed by policy",
            "blocked by policy",
            "content policy violation",
            "content_policy_violation",
            "usage policy",
            "operation not allowed",
        ],
    ),
    (
        FailureClass::PermissionRequired,
        &[
            "requires approval",
            "sandbox_permissions",
            "require_escalated",
            "permission_required",
            "permission requested:",
            "permission denied (publickey",
            "eacces:",
            "eperm:",
            "cannot be used with root",
            "not inside a trusted directory",
        ],
    ),
    (
        FailureClass::RateLimited,
        &[
            "too many requests",
            "rate limit",
            "rate_limit",
            "rate_limit_exceeded",
            "rate_limit_error",
            "ratelimiterror",
            "rate-limited",
            "resource_exhausted",
            "resource has been exhausted",
        ],
    ),
    (
        FailureClass::InvalidToolArgs,
        &[
            "arguments could not be parsed",
            "failed to parse arguments",
            "arguments were of the wrong type",
            "invalid arguments for tool",
            "malformed json in tool call",
            "schema validation failed",
        ],
    ),
    (
        FailureClass::MissingTargetPath,
        &[
            "file not found",
            "target file or directory does not exist",
            "use glob to search for similar files",
            "the path does not exist",
        ],
    ),
    (
        FailureClass::ProviderTransient,
        &[
            "internal server error",
            "bad gateway",
            "service unavailable",
            "overloaded",
            "network error",
            "fetch failed",
            "econnreset",
            "econnrefused",
            "etimedout",
            "enotfound",
            "eai_again",
            "epipe",
            "socket hang up",
            "connection refused",
            "connection reset",
            "connection error",
            "connection closed before",
            "could not resolve host",
            "temporary failure in name resolution",
            "name or service not known",
            "dns error",
            "tls handshake",
            "certificate has expired",
            "unable to get local issuer certificate",
            "currently experiencing high demand",
            "stream disconnected before completion",
        ],
    ),
    (
        FailureClass::Timeout,
        &[
            "request timed out",
            "request timeout",
            "worker timed out",
            "gateway timeout",
            "deadline exceeded",
            "timed out waiting for the model",
            "read timeout",
        ],
    ),
];

/// Words for a limit of a subscription.
const LIMITS: &[&str] = &[
    "session limit",
    "usage limit",
    "usage limits",
    "weekly limit",
    "5-hour limit",
    "monthly limit",
    "your limit",
    "extra usage",
    "quota will reset",
    "usage cap",
];
/// The words for a limit that is reached. A limit alone is no reason to wait.
const REACHED: &[&str] =
    &["hit", "reached", "reset", "resets", "exceeded", "out of", "try again", "regain", "exhausted"];

/// Whether a text, in lower case, says that a limit of a subscription is reached, which resets at some moment.
pub fn is_window(text: &str) -> bool {
    let has = |words: &[&str]| words.iter().any(|word| contains(text, word));
    let resets = || has(&["limit", "cap"]) && has(&["reset", "resets", "resetting", "renews"]);
    (has(LIMITS) && has(REACHED) || resets())
        && !has(&["rate limit", "spend limit", "context limit", "token limit"])
}

/// Whether a provider says that a quota which money buys is used up.
pub fn is_used_up(message: &str) -> bool {
    let message = reset::plain(message);
    contains(&message, "check your plan and billing")
}

/// The class that the words of a provider's error tell where no status can: it goes before the status.
pub fn before_status(message: &str) -> Option<FailureClass> {
    let message = reset::plain(message);
    let is_too_long = || WORDS[0].1.iter().any(|word| contains(&message, word));
    if is_window(&message) {
        Some(FailureClass::UsageWindow)
    } else if is_too_long() {
        Some(FailureClass::ContextTooLong)
    } else {
        None
    }
}

/// The class that an error's text tells; paths in `declared` are the task's own.
pub fn classify(text: &str, declared: &[&str]) -> FailureClass {
    if let Some(class) =
        objects(text, MOST_OBJECTS).last().as_ref().and_then(|(object, _)| classify_error_object(object))
    {
        return class;
    }
    let lines = text.lines().rev().map(str::trim).filter(|line| !line.is_empty());
    let classes = lines.take(LINES).map(|line| of_line(&reset::plain(line), declared));
    classes.into_iter().find(|class| *class != FailureClass::Unknown).unwrap_or(FailureClass::Unknown)
}

/// The JSON objects that stand in a text, wherever in a line, each with where it ends: of the first `most` places at which one
/// may begin.
pub fn objects(text: &str, most: usize) -> impl Iterator<Item = (Value, usize)> {
    let (mut end, mut looked) = (0, 0);
    let starts = text.match_indices('{').map(|(at, _)| at);
    starts.filter_map(move |at| {
        // An object inside of the one before is not a later one.
        if at < end || looked >= most {
            return None;
        }
        looked += 1;
        let mut objects = Deserializer::from_str(&text[at..]).into_iter::<Value>();
        let object = objects.next()?.ok().filter(Value::is_object)?;
        end = at + objects.byte_offset();
        Some((object, end))
    })
}

fn of_line(line: &str, declared: &[&str]) -> FailureClass {
    let by_words = WORDS.iter().find(|(_, words)| words.iter().any(|word| contains(line, word)));
    let by_words = by_words.map_or(FailureClass::Unknown, |(class, _)| *class);
    if is_window(line) {
        return FailureClass::UsageWindow;
    }
    if matches!(by_words, FailureClass::ContextTooLong | FailureClass::ProviderSpendLimit) {
        return by_words;
    }
    let statuses = statuses(line).map(classify_status);
    // What no retry can help with weighs most.
    let weight = |class: &FailureClass| match class {
        FailureClass::ProviderSpendLimit => 4,
        FailureClass::ProviderAuth => 3,
        FailureClass::Unknown => 0,
        _ => 1,
    };
    let by_status = statuses.max_by_key(weight).filter(|class| *class != FailureClass::Unknown);
    by_status.unwrap_or_else(|| match by_words {
        FailureClass::Unknown if is_missing(line, declared) => FailureClass::MissingTargetPath,
        class => class,
    })
}

/// Whether a file that is not there is one that the task declares.
fn is_missing(line: &str, declared: &[&str]) -> bool {
    let says_so = ["enoent", "no such file or directory"].iter().any(|word| contains(line, word));
    says_so && declared.iter().any(|path| contains(line, &path.to_lowercase()))
}

/// Whether a word stands in a line as a word: not as a part of another.
fn contains(line: &str, word: &str) -> bool {
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let begins_word = word.starts_with(|c: char| c.is_alphanumeric());
    let ends_word = word.ends_with(|c: char| c.is_alphanumeric());
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        // A plural is the same word.
        let after = if after == Some('s') { line[at + word.len()..].chars().nth(1) } else { after };
        !(begins_word && is_part(before) || ends_word && is_part(after))
    })
}

/// The numbers of a line that are called a status.
fn statuses(line: &str) -> impl Iterator<Item = u16> {
    let digits = |c: char| c.is_ascii_digit();
    let mut rest = 0;
    std::iter::from_fn(move || {
        while let Some(found) = line[rest..].find(digits) {
            let begin = rest + found;
            let end = line[begin..].find(|c: char| !digits(c)).map_or(line.len(), |length| begin + length);
            rest = end;
            let number = line[begin..end].parse::<u16>().ok().filter(|n| (400..600).contains(n));
            if let Some(number) = number.filter(|n| is_status(&line[..begin], *n, &line[end..])) {
                return Some(number);
            }
        }
        None
    })
}

fn is_status(before: &str, number: u16, after: &str) -> bool {
    // A part of a longer number or word: a size, a version, an address.
    let joined = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '/');
    if joined(before.chars().next_back())
        || after.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '%')
    {
        return false;
    }
    let reason = after.trim_start_matches([' ', ':', '-', '"', ')', ']', ',']);
    let has_reason = REASONS
        .iter()
        .any(|(status, reasons)| *status == number && reasons.iter().any(|text| reason.starts_with(text)));
    let called = before.trim_end_matches([' ', ':', '(', '[', '"', '=', '\'']);
    let is_called = |word: &&str| -> bool {
        let rest = called.strip_suffix(*word);
        // An exit status is none.
        let is_word = |rest: &str| {
            !rest.ends_with(|c: char| c.is_alphanumeric() || c == '_') && !rest.ends_with("exit ")
        };
        rest.is_some_and(is_word)
    };
    has_reason || STATUS_WORDS.iter().any(is_called)
}
