//! Why an agent failed: read from how it ended and from its standard error, never from its work.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::events::is;
use crate::support::model::{Model, refuses};
use crate::support::{Mission, Says, attempts, task};

/// The document of a run whose only task's agent is this command, with two retries.
fn run(agent: &str) -> Value {
    let workspace = Mission::new()
        .agent_with("w", json!({"run": ["/bin/sh", "-c", agent]}))
        .setting("maxRetries", 2)
        .task("t", |t| t.files(["out.txt"]))
        .workspace();
    workspace.at_scale("0.001").run_json(3, &[])
}

fn failure(document: &Value) -> (&str, &str, &str, usize) {
    let failure = &task(document, "t")["failure"];
    let text = |key: &str| failure[key].as_str().unwrap_or_default();
    (text("class"), text("mode"), text("errorType"), attempts(document, "t").len())
}

#[test]
fn an_agents_standard_error_says_why_and_what_no_retry_can_help_with_ends_at_once() {
    for (agent, want) in [
        (
            "echo 'API Error: 401 {\"error\":{\"type\":\"authentication_error\"}}' >&2; exit 1",
            ("provider_auth", "error", "error", 1),
        ),
        ("echo 'HTTP 402 Payment Required' >&2; exit 1", ("provider_spend_limit", "rate-limit", "402", 1)),
        (
            "echo 'Tool call blocked: rm is not in the allowlist' >&2; exit 1",
            ("policy_blocked", "error", "error", 1),
        ),
        ("echo 'This action requires approval' >&2; exit 1", ("permission_required", "error", "error", 1)),
        ("echo 'last status: 429 Too Many Requests' >&2; exit 1", ("rate_limited", "rate-limit", "429", 3)),
        ("echo 'HTTP 503 Service Unavailable' >&2; exit 1", ("provider_transient", "error", "error", 3)),
        (
            "echo 'cat: out.txt: No such file or directory' >&2; exit 1",
            ("missing_target_path", "error", "error", 3),
        ),
        ("echo 'invalid arguments for tool edit' >&2; exit 1", ("invalid_tool_args", "error", "error", 3)),
        ("echo 'Request timed out.' >&2; exit 1", ("timeout", "timeout", "timeout", 3)),
        // What ends at once and nobody knows why is tried once more, what took its time as often as it may.
        ("kill -9 $$", ("unknown", "error", "error", 2)),
        ("sleep 1.1; exit 1", ("unknown", "error", "error", 3)),
    ] {
        assert_eq!(failure(&run(agent)), want, "{agent}");
    }
}

#[test]
fn what_an_agent_prints_as_its_work_is_never_read() {
    let document = run("echo 'HTTP 401 Unauthorized, wrote 500 lines'; exit 1");
    assert_eq!(failure(&document), ("unknown", "error", "error", 2));
}

#[test]
fn a_debug_build_waits_as_much_less_as_it_is_told_and_writes_what_the_rules_say() {
    let model = Model::new(|_| refuses(503, "overloaded"));
    let workspace = Mission::new()
        .model("w", &model, json!({}))
        .setting("maxRetries", 0)
        .tasks(["t"])
        .workspace()
        .at_scale("0.001");
    let begin = Instant::now();
    workspace.run_json(3, &[]);
    assert_eq!(model.asked().len(), 4, "a request is repeated three times");
    let took = begin.elapsed();
    assert!(took < Duration::from_secs(6), "1 + 2 + 4 s and more are to be waited at full scale: {took:?}");
}

#[test]
fn a_structured_error_on_standard_output_says_why() {
    for (printed, class, reason, tries) in [
        (
            json!({"type": "result", "is_error": true, "subtype": "success", "api_error_status": 401, "result": "Invalid API key · Fix external API key"}),
            "provider_auth",
            "Invalid API key · Fix external API key",
            1,
        ),
        (
            json!({"type": "turn.failed", "error": {"message": "unexpected status 402 Payment Required: no credits left"}}),
            "provider_spend_limit",
            "no credits left",
            1,
        ),
        (
            json!({"type": "error", "error": {"name": "APIError", "data": {"message": "Too fast", "statusCode": 429}}}),
            "rate_limited",
            "Too fast",
            3,
        ),
    ] {
        let agent = format!("echo 'I wrote 500 lines'; echo '{printed}'; echo 'WARN unrelated' >&2; exit 1");
        let document = run(&agent);
        let (found, _, _, attempts) = failure(&document);
        assert_eq!((found, attempts), (class, tries), "{printed}");
        let message = task(&document, "t")["failure"]["message"].as_str().unwrap();
        assert!(message.contains(reason) && !message.contains("unrelated"), "{message}");
    }
}

#[test]
fn a_reason_is_the_message_of_an_error_and_not_a_bracket() {
    let document = run(
        "printf '{\n \"error\": {\n  \"message\": \"API key not valid\",\n  \"code\": 401\n }\n}\n' >&2; exit 145",
    );
    let failure = &task(&document, "t")["failure"];
    assert_eq!(failure["message"], "exited 145: API key not valid");
}

#[test]
fn a_dead_judge_says_what_stands_on_its_output() {
    let judge =
        json!({"type": "result", "is_error": true, "api_error_status": 402, "result": "no credits left"});
    let workspace = Mission::new()
        .agent("w", "echo done")
        .agent_with(
            "j",
            json!({"run": ["/bin/sh", "-c", format!("echo '{judge}'; exit 1")], "role": "reviewer"}),
        )
        .task("t", |t| t.set("review", "required"))
        .workspace();
    let ended = workspace.quorum(&["run", "mission.yaml"]).exits(6);
    ended.says(&["provider_spend_limit", "exited 1: no credits left"]);
}

#[test]
fn a_command_that_its_shell_cannot_find_is_tried_once() {
    for (line, code) in [("nosuchprogram --x", 127), ("./mission.yaml", 126)] {
        let workspace = Mission::new().agent("w", line).setting("evaluate", false).tasks(["t"]).workspace();
        let document = workspace.run_json(3, &[]);
        let failure = &task(&document, "t")["failure"];
        assert_eq!(
            (failure["class"].as_str(), failure["mode"].as_str(), attempts(&document, "t").len()),
            (Some("unknown"), Some("error"), 1),
            "{failure}"
        );
        let message = failure["message"].as_str().unwrap();
        assert!(message.starts_with(&format!("exited {code}")) && !message.contains("quorum:"), "{message}");
    }
}

#[test]
fn a_refused_connection_of_a_worker_is_repeated_once_a_turn_and_named_with_its_port() {
    // Nobody listens on a port that was just given back.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let workspace = Mission::new()
        .agent_with(
            "w",
            json!({"adapter": "openai", "baseUrl": format!("http://127.0.0.1:{port}/v1"), "model": "m"}),
        )
        .setting("maxRetries", 0)
        .tasks(["t"])
        .workspace()
        .at_scale("0.001");
    let document = workspace.run_json(3, &[]);
    task(&document, "t")["failure"]["message"].says(&[&format!("127.0.0.1:{port}")]);
    let events = workspace.events();
    let repeated = events.iter().filter(|event| is(event, "work:progressed turn retry"));
    assert_eq!(repeated.count(), 1, "{events:#?}");
}
