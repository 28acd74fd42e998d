//! How a reply ended, in its provider's word.

use rules::domain::FailureClass;

/// The words of the providers for a reply that ran into its limit.
const LIMIT_REACHED: [&str; 6] = [
    "length",
    "max_tokens",
    "max_output_tokens",
    "max_length",
    "model_length",
    "model_context_window_exceeded",
];

/// The words of the providers for a reply that broke off over their own trouble.
const BROKE_OFF: [&str; 5] = ["error", "abort", "aborted", "network_error", "insufficient_system_resource"];

/// Whether a reply ended because it ran into its limit, so that its end is missing.
pub fn is_cut_short(reason: Option<&str>) -> bool {
    is_one_of(&LIMIT_REACHED, reason.unwrap_or_default())
}

/// The failure of a reply whose end is neither one of `good`, which are whole, nor a cut at a limit: no other
/// end is one of a reply.
pub fn fault(reason: Option<&str>, good: &[&str]) -> Option<(FailureClass, String)> {
    let reason = reason.unwrap_or_default();
    if is_one_of(good, reason) || is_one_of(&LIMIT_REACHED, reason) {
        return None;
    }
    let class =
        if is_one_of(&BROKE_OFF, reason) { FailureClass::ProviderTransient } else { FailureClass::Unknown };
    Some(match reason {
        "" => (class, "does not say how it ended".to_owned()),
        word => (class, format!("ended with '{word}', which no whole reply does")),
    })
}

fn is_one_of(words: &[&str], reason: &str) -> bool {
    words.iter().any(|word| word.eq_ignore_ascii_case(reason))
}
