//! Why an agent failed: read from how it ended and from its standard error, never from its work.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::model::{Model, refuses};
use crate::support::{Workspace, attempts, task};

/// The document of a run whose only task's agent is this command, with two retries.
fn run(agent: &str) -> Value {
    let workspace = Workspace::with(&format!(
        "name: m\nagents: {{w: {{run: {}}}}}\nsettings: {{maxRetries: 2}}\ntasks: [{{title: t, targetFiles: [out.txt]}}]\n",
        json!(["/bin/sh", "-c", agent])
    ));
    workspace.run_json(3, &[])
}

fn failure(document: &Value) -> (&str, &str, &str, usize) {
    let failure = &task(document, "t")["failure"];
    let text = |key: &str| failure[key].as_str().unwrap_or_default();
    (
        text("class"),
        text("mode"),
        text("errorType"),
        attempts(document, "t").len(),
    )
}

#[test]
fn an_agents_standard_error_says_why_and_what_no_retry_can_help_with_ends_at_once() {
    for (agent, want) in [
        (
            "echo 'API Error: 401 {\"error\":{\"type\":\"authentication_error\"}}' >&2; exit 1",
            ("provider_auth", "error", "error", 1),
        ),
        (
            "echo 'HTTP 402 Payment Required' >&2; exit 1",
            ("provider_spend_limit", "rate-limit", "402", 1),
        ),
        (
            "echo 'Tool call blocked: rm is not in the allowlist' >&2; exit 1",
            ("policy_blocked", "error", "error", 1),
        ),
        (
            "echo 'This action requires approval' >&2; exit 1",
            ("permission_required", "error", "error", 1),
        ),
        (
            "echo 'last status: 429 Too Many Requests' >&2; exit 1",
            ("rate_limited", "rate-limit", "429", 3),
        ),
        (
            "echo 'HTTP 503 Service Unavailable' >&2; exit 1",
            ("provider_transient", "error", "error", 3),
        ),
        (
            "echo 'cat: out.txt: No such file or directory' >&2; exit 1",
            ("missing_target_path", "error", "error", 3),
        ),
        (
            "echo 'invalid arguments for tool edit' >&2; exit 1",
            ("invalid_tool_args", "error", "error", 3),
        ),
        (
            "echo 'Request timed out.' >&2; exit 1",
            ("timeout", "timeout", "timeout", 3),
        ),
        ("kill -9 $$", ("unknown", "error", "error", 3)),
    ] {
        assert_eq!(failure(&run(agent)), want, "{agent}");
    }
}

#[test]
fn what_an_agent_prints_as_its_work_is_never_read() {
    let document = run("echo 'HTTP 401 Unauthorized, wrote 500 lines'; exit 1");
    assert_eq!(failure(&document), ("unknown", "error", "error", 3));
}

#[test]
fn a_debug_build_waits_as_much_less_as_it_is_told_and_writes_what_the_rules_say() {
    let model = Model::new(|_| refuses(503, "overloaded"));
    let workspace = Workspace::with(&format!(
        "name: m\nagents: {{w: {{adapter: openai, baseUrl: '{}', model: m}}}}\nsettings: {{maxRetries: 0}}\ntasks: [{{title: t}}]\n",
        model.base()
    ))
    .at_scale("0.001");
    let begin = Instant::now();
    workspace.run_json(3, &[]);
    assert_eq!(model.asked().len(), 4, "a request is repeated three times");
    let took = begin.elapsed();
    assert!(
        took < Duration::from_secs(6),
        "1 + 2 + 4 s and more are to be waited at full scale: {took:?}"
    );
}
