//! From what a provider or the network said to the class of the failure (semantics, section 13).
//!
//! Status codes and structured error fields first, the provider's own error text last, a model's prose never.

use crate::domain::FailureClass;

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
];

/// The text of a provider that says so without a code.
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
        200..=299 | 400 => told_class(answer.codes),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_classed_by_status_then_code_then_text() {
        use FailureClass::*;
        for (status, codes, message, want) in [
            (408, &[][..], "", Timeout),
            (504, &[], "", Timeout),
            (429, &[], "You exceeded your current quota", RateLimited),
            (429, &["rate_limit_exceeded"], "", RateLimited),
            (429, &["x", "Insufficient_Quota"], "", ProviderSpendLimit),
            (402, &[], "", ProviderSpendLimit),
            (403, &["insufficient_credits"], "", ProviderSpendLimit),
            (
                400,
                &["invalid_request_error"],
                "Your credit balance is too low.",
                ProviderSpendLimit,
            ),
            (500, &[], "credit balance is too low", ProviderTransient),
            (401, &[], "", ProviderAuth),
            (403, &[], "", ProviderAuth),
            (500, &[], "", ProviderTransient),
            (502, &[], "", ProviderTransient),
            (503, &[], "", ProviderTransient),
            (529, &["overloaded_error"], "", ProviderTransient),
            (400, &[], "", Unknown),
            (404, &["model_not_found"], "", Unknown),
            (302, &[], "", Unknown),
            (400, &["INVALID_ARGUMENT", "API_KEY_INVALID"], "", ProviderAuth),
            (403, &["PERMISSION_DENIED"], "", ProviderAuth),
            (
                403,
                &["PERMISSION_DENIED", "BILLING_DISABLED"],
                "",
                ProviderSpendLimit,
            ),
            (429, &["RESOURCE_EXHAUSTED"], "", RateLimited),
            (
                429,
                &["RESOURCE_EXHAUSTED", "quota_exhausted"],
                "",
                ProviderSpendLimit,
            ),
            (200, &["overloaded_error"], "", ProviderTransient),
            (200, &["RESOURCE_EXHAUSTED"], "", RateLimited),
            (500, &["rate_limit_error"], "", ProviderTransient),
            (200, &[], "wrote 500 lines, timeout 504", Unknown),
        ] {
            let answer = ErrorAnswer {
                status,
                codes,
                message,
            };
            assert_eq!(classify_answer(&answer), want, "{answer:?}");
        }
    }

    #[test]
    fn broken_connections_may_be_tried_again_and_impossible_requests_not() {
        assert_eq!(classify_transport(Transport::TimedOut), FailureClass::Timeout);
        assert!(classify_transport(Transport::Broken).request_retried());
        assert!(!classify_transport(Transport::NotSent).request_retried());
    }
}
