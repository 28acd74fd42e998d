//! Recordings of failures.

use super::*;

/// Each recorded failure: words of the message, code, status, kind.
type Failed = (&'static str, &'static str, &'static str, Option<i64>, Option<u16>, Option<&'static str>);

const FAILURES: [Failed; 23] = [
    ("claude-agent-acp", "e401", "Authentication required", Some(-32000), None, Some("auth_required")),
    ("claude-agent-acp", "e402", "API Error: 402 Insufficient", Some(-32603), Some(402), Some("unknown")),
    (
        "claude-agent-acp",
        "e429",
        "API Error: Request rejected (429)",
        Some(-32603),
        Some(429),
        Some("rate_limit"),
    ),
    (
        "claude-agent-acp",
        "window",
        "API Error: Request rejected (429)",
        Some(-32603),
        Some(429),
        Some("rate_limit"),
    ),
    ("claude-agent-acp", "e500", "API Error: 500 Internal", Some(-32603), Some(500), Some("server_error")),
    ("claude-agent-acp", "ctx", "Prompt is too long", Some(-32603), None, Some("invalid_request")),
    ("codex-acp", "e401", "Authentication required", Some(-32000), None, Some("auth_required")),
    ("codex-acp", "e402", "unexpected status 402", None, Some(402), Some("responseStreamDisconnected")),
    ("codex-acp", "e429", "exceeded retry limit", None, Some(429), Some("responseStreamDisconnected")),
    ("codex-acp", "window", "You’ve hit your usage limit", Some(-32603), None, Some("usageLimitExceeded")),
    ("codex-acp", "e500", "We’re currently", None, None, Some("responseStreamDisconnected")),
    ("codex-acp", "ctx", "prompt is too long", None, None, Some("context_length_exceeded")),
    ("gemini", "e401", "invalid x-api-key (fake)", Some(401), Some(401), None),
    ("gemini", "e402", "Insufficient credits", Some(402), Some(402), None),
    ("gemini", "e429", "Rate limit exceeded", Some(429), Some(429), None),
    ("gemini", "e500", "Internal server error", Some(500), Some(500), None),
    ("gemini", "ctx", "prompt is too long", Some(400), Some(400), None),
    ("opencode", "e401", "invalid x-api-key (fake)", Some(-32603), None, Some("APIError")),
    ("opencode", "e429", "Rate limit exceeded", Some(-32603), None, Some("APIError")),
    ("opencode", "ctx", "Session too large to compact", Some(-32603), None, Some("ContextOverflowError")),
    ("qwen", "e401", "401 invalid x-api-key (fake)", Some(-32603), Some(401), None),
    ("qwen", "e402", "402 Insufficient credits", Some(-32603), Some(402), None),
    ("qwen", "ctx", "400 prompt is too long", Some(-32603), Some(400), None),
];

#[test]
fn a_failure_is_an_error_with_everything_the_server_told() {
    for (server, scene, words, code, status, kind) in FAILURES {
        let played = play(server, scene, EDIT);
        assert_eq!(played.exit, Some(FAILED), "{server} {scene}");
        let error = played.line("error");
        let message = error["message"].as_str().unwrap();
        assert!(message.starts_with(words), "{server} {scene}: {message}");
        let told = (error["code"].as_i64(), error["status"].as_u64(), error["kind"].as_str());
        assert_eq!(told, (code, status.map(u64::from), kind), "{server} {scene}");
        assert!(played.lines("end").is_empty(), "{server} {scene}");
    }
}
