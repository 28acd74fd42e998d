//! Errors as agents and providers really send them, in our own words, with the class that each must have.

use serde_json::json;

use rules::domain::Timestamp;

use super::*;
use FailureClass::{
    ContextTooLong as Long, InvalidToolArgs as Args, MissingTargetPath as Path,
    PermissionRequired as Permission, PolicyBlocked as Policy, ProviderAuth as Auth,
    ProviderSpendLimit as Spend, ProviderTransient as Transient, RateLimited as Rate, Timeout, Unknown,
    UsageWindow as Window,
};

#[test]
fn answers_are_classed_by_status_then_code_then_text() {
    for (status, codes, message, want) in [
        (408, &[][..], "", Timeout),
        (504, &[], "", Timeout),
        (429, &[], "You exceeded your current quota", Rate),
        (429, &["rate_limit_exceeded"], "", Rate),
        (429, &["x", "Insufficient_Quota"], "", Spend),
        (402, &[], "", Spend),
        (403, &["insufficient_credits"], "", Spend),
        (400, &["invalid_request_error"], "Your credit balance is too low.", Spend),
        (500, &[], "credit balance is too low", Transient),
        (401, &[], "", Auth),
        (403, &[], "", Auth),
        (500, &[], "", Transient),
        (502, &[], "", Transient),
        (503, &[], "", Transient),
        (529, &["overloaded_error"], "", Transient),
        (400, &[], "", Unknown),
        (404, &["model_not_found"], "", Unknown),
        (302, &[], "", Unknown),
        (400, &["INVALID_ARGUMENT", "API_KEY_INVALID"], "", Auth),
        (403, &["PERMISSION_DENIED"], "", Auth),
        (403, &["PERMISSION_DENIED", "BILLING_DISABLED"], "", Spend),
        (429, &["RESOURCE_EXHAUSTED"], "", Rate),
        (429, &["RESOURCE_EXHAUSTED", "quota_exhausted"], "", Spend),
        (400, &["content_filter"], "", Policy),
        (200, &["overloaded_error"], "", Transient),
        (200, &["RESOURCE_EXHAUSTED"], "", Rate),
        (500, &["rate_limit_error"], "", Transient),
        (200, &[], "wrote 500 lines, timeout 504", Unknown),
    ] {
        let answer = ErrorAnswer { status, codes, message };
        assert_eq!(classify_answer(&answer), want, "{answer:?}");
    }
}

#[test]
fn a_request_that_cannot_be_made_is_not_tried_again() {
    let client = crate::agents::endpoint::http_client(&reqwest::Url::parse("http://host").unwrap()).unwrap();
    let impossible = client.get("no address").build().unwrap_err();
    let (class, message) = of_transport("host", impossible);
    assert!(!class.request_retried());
    assert!(message.starts_with("host: "), "{message}");
}

/// Each line as an adapter or provider writes it. What a row is about stands in its text.
const TEXTS: &[(&str, FailureClass)] = &[
    // Anthropic and Claude Code.
    (
        r#"API Error: 401 {"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}"#,
        Auth,
    ),
    (
        r#"API Error: 429 {"type":"error","error":{"type":"rate_limit_error","message":"Number of tokens has exceeded your per-minute limit"}}"#,
        Rate,
    ),
    (
        r#"API Error: 529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
        Transient,
    ),
    (
        r#"API Error: 400 {"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to use the API"}}"#,
        Spend,
    ),
    (
        r#"API Error: 403 {"type":"error","error":{"type":"permission_error","message":"Your key may not use this model"}}"#,
        Auth,
    ),
    (
        r#"{"type":"error","error":{"type":"api_error","message":"Something went wrong on our side"}}"#,
        Transient,
    ),
    (
        r#"{"type":"error","error":{"type":"billing_error","message":"Please check your billing details"}}"#,
        Spend,
    ),
    (r#"{"type":"error","error":{"type":"timeout_error","message":"The request took too long"}}"#, Timeout),
    (
        r#"API Error: 413 {"type":"error","error":{"type":"request_too_large","message":"Too large"}}"#,
        Unknown,
    ),
    ("API Error: 402 Payment Required", Spend),
    ("API Error: Connection refused", Transient),
    ("Invalid API key · Please run /login", Auth),
    ("Not logged in · Please run /login", Auth),
    ("Claude usage limit reached. It will reset at 5pm", Window),
    (
        "--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons",
        Permission,
    ),
    ("No conversation found with session ID: 5d0e4f3e-1111-4a5b-9c1d-222222222222", Unknown),
    // OpenAI and Codex.
    ("ERROR: unexpected status 401 Unauthorized: Missing bearer authentication in header", Auth),
    ("ERROR: exceeded retry limit, last status: 429 Too Many Requests", Rate),
    ("unexpected status 402 Payment Required: no credits left", Spend),
    ("stream disconnected before completion: error sending request for url", Transient),
    ("We're currently experiencing high demand, which may cause temporary errors.", Transient),
    ("unexpected status 503 Service Unavailable: upstream is starting", Transient),
    ("Not inside a trusted directory and --skip-git-repo-check was not specified.", Permission),
    (
        r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}"#,
        Spend,
    ),
    (
        r#"{"error":{"message":"Rate limit reached for gpt-5 in organization org-1","type":"tokens","code":"rate_limit_exceeded"}}"#,
        Rate,
    ),
    (
        r#"{"error":{"message":"Incorrect API key provided: sk-****1234","type":"invalid_request_error","code":"invalid_api_key"}}"#,
        Auth,
    ),
    (
        r#"{"error":{"message":"Billing hard limit has been reached","type":"invalid_request_error","code":"billing_hard_limit_reached"}}"#,
        Spend,
    ),
    (
        r#"{"error":{"message":"The response was filtered","type":null,"code":"content_filter","status":400}}"#,
        Policy,
    ),
    (
        r#"{"error":{"message":"The model `gpt-9` does not exist","type":"invalid_request_error","code":"model_not_found"}}"#,
        Unknown,
    ),
    (
        r#"{"error":{"message":"This model's maximum context length is 128000 tokens","code":"context_length_exceeded"}}"#,
        Long,
    ),
    ("openai.RateLimitError: Error code: 429 - {'error': {'message': 'Slow down'}}", Rate),
    ("openai.AuthenticationError: Error code: 401 - {'error': {'message': 'No such key'}}", Auth),
    ("openai.APIConnectionError: Connection error.", Transient),
    ("openai.APITimeoutError: Request timed out.", Timeout),
    ("openai.InternalServerError: Error code: 500 - {'error': {'message': 'oops'}}", Transient),
    // Gemini.
    (
        "Error when talking to Gemini API\n    at async Client.send (client.js:1:1)\n{\n  \"session_id\": \"a\",\n  \"error\": {\n    \"type\": \"ApiError\",\n    \"message\": \"API key not valid\",\n    \"code\": 401\n  }\n}\n",
        Auth,
    ),
    (
        r#"{"error":{"code":429,"message":"Resource has been exhausted (e.g. check quota).","status":"RESOURCE_EXHAUSTED"}}"#,
        Rate,
    ),
    (
        r#"{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}"#,
        Auth,
    ),
    (
        r#"{"error":{"code":403,"message":"This API method requires billing to be enabled","status":"BILLING_DISABLED"}}"#,
        Spend,
    ),
    (
        r#"{"error":{"code":503,"message":"The model is overloaded. Please try again later.","status":"UNAVAILABLE"}}"#,
        Transient,
    ),
    (
        r#"{"error":{"code":504,"message":"Deadline expired before operation could complete.","status":"DEADLINE_EXCEEDED"}}"#,
        Timeout,
    ),
    ("Please set an Auth method in your /root/.gemini/settings.json", Auth),
    // opencode, Qwen, pi, aider, OpenRouter, Ollama, proxies.
    (
        r#"{"type":"error","error":{"name":"APIError","data":{"message":"Too fast","statusCode":429,"isRetryable":true}}}"#,
        Rate,
    ),
    (
        r#"{"type":"error","error":{"name":"APIError","data":{"message":"No","statusCode":401,"isRetryable":false}}}"#,
        Auth,
    ),
    (
        r#"{"type":"error","error":{"name":"ProviderAuthError","data":{"message":"No auth credentials found"}}}"#,
        Auth,
    ),
    ("! permission requested: edit (src/lib.rs); auto-rejecting", Permission),
    ("[API Error: 401 Incorrect token]", Auth),
    ("402 Payment Required", Spend),
    ("litellm.AuthenticationError: AuthenticationError: OpenAIException - no such key", Auth),
    ("litellm.RateLimitError: RateLimitError: OpenAIException - slow down", Rate),
    ("litellm.APIConnectionError: connection reset by peer", Transient),
    (r#"{"error":{"message":"This request requires more credits, or fewer max_tokens","code":402}}"#, Spend),
    (
        r#"{"error":{"message":"Provider returned error","code":502,"metadata":{"provider_name":"x"}}}"#,
        Transient,
    ),
    (r#"{"error":{"message":"No auth credentials found","code":401}}"#, Auth),
    (r#"{"error":"model \"qwen9\" not found, try pulling it first"}"#, Unknown),
    (
        "Error: could not connect to ollama app: dial tcp 127.0.0.1:11434: connect: connection refused",
        Transient,
    ),
    ("curl: (22) The requested URL returned error: 503 Service Unavailable", Transient),
    ("curl: (6) Could not resolve host: api.openai.com", Transient),
    ("upstream answered HTTP/1.1 502 Bad Gateway", Transient),
    ("proxy: HTTP 407 Proxy Authentication Required", Unknown),
    // The network.
    ("connect ETIMEDOUT 104.18.2.1:443", Transient),
    ("read ECONNRESET", Transient),
    ("Error: connect ECONNREFUSED 127.0.0.1:8080", Transient),
    ("getaddrinfo ENOTFOUND api.openai.com", Transient),
    ("getaddrinfo EAI_AGAIN api.anthropic.com", Transient),
    (
        "error: dns error: failed to lookup address information: Temporary failure in name resolution",
        Transient,
    ),
    ("error trying to connect: tls handshake eof", Transient),
    ("unable to get local issuer certificate", Transient),
    ("socket hang up", Transient),
    ("TypeError: fetch failed", Transient),
    ("network error: fetch failed", Transient),
    ("connection refused", Transient),
    // Statuses in words, alone and together.
    ("HTTP 504 Gateway Timeout", Timeout),
    ("HTTP 504 from upstream", Timeout),
    ("HTTP 402 Payment Required", Spend),
    ("HTTP 401 Unauthorized", Auth),
    ("HTTP 403 Forbidden", Auth),
    ("HTTP 429 Too Many Requests", Rate),
    ("HTTP 500 Internal Server Error", Transient),
    ("HTTP 502 Bad Gateway", Transient),
    ("HTTP 503 Service Unavailable", Transient),
    ("503 Service Unavailable", Transient),
    ("HTTP 529 overloaded_error", Transient),
    ("Request failed with status code 429", Rate),
    ("HTTP 429: rate limit; HTTP 402 spend limit exceeded", Spend),
    ("HTTP 403: request timed out", Auth),
    ("HTTP 401 rate limit exceeded", Auth),
    ("404 Not Found", Unknown),
    // Words.
    ("Worker timed out after 300000ms", Timeout),
    ("Request timeout", Timeout),
    ("context deadline exceeded", Timeout),
    ("Lock wait timeout exceeded; file not found", Path),
    ("Tool arguments could not be parsed", Args),
    ("Failed to parse arguments as JSON: unexpected token", Args),
    ("arguments were of the wrong type or format", Args),
    ("invalid arguments for tool edit_file", Args),
    ("Malformed JSON in tool call", Args),
    ("schema validation failed: missing property 'path'", Args),
    ("File not found: src/auth.ts", Path),
    ("Target file or directory does not exist", Path),
    ("Use glob to search for similar files", Path),
    ("The path does not exist", Path),
    ("ENOENT: no such file or directory, open 'src/auth.ts'", Path),
    ("cat: src/auth.ts: No such file or directory", Path),
    ("Tool call blocked: bash not in allowlist", Policy),
    ("Command rejected by policy whitelist", Policy),
    ("Action not allowed by policy", Policy),
    ("Blocked by policy: rm -rf", Policy),
    ("content policy violation", Policy),
    ("Operation not allowed", Policy),
    ("This action requires approval", Permission),
    ("set sandbox_permissions to require_escalated", Permission),
    ("Permission denied (publickey)", Permission),
    ("EACCES: permission denied, mkdir '/etc/x'", Permission),
    ("Error: permission_required", Permission),
    ("API key USD spend limit exceeded", Spend),
    ("Spend limit exceeded for this key", Spend),
    ("insufficient_quota: you exceeded your current quota", Spend),
    ("Your credit balance is too low", Spend),
    ("billing hard limit reached", Spend),
    ("Forbidden", Auth),
    ("Invalid API key provided", Auth),
    ("AuthenticationError: bad key", Auth),
    ("invalid x-api-key", Auth),
    ("user is not authorized", Auth),
    ("Rate limit reached for gpt-4o", Rate),
    ("rate_limit_exceeded", Rate),
    ("RateLimitError: slow down", Rate),
    ("Too many requests, please retry", Rate),
    ("Overloaded", Transient),
    ("Internal server error", Transient),
    // What says nothing about the provider: numbers, work, bugs.
    ("401", Unknown),
    ("429", Unknown),
    ("wrote 500 lines then failed", Unknown),
    ("processed 429 of 500 files", Unknown),
    ("src/server.rs:403:12: error: mismatched types", Unknown),
    ("listening on 127.0.0.1:500", Unknown),
    ("coverage 402/500", Unknown),
    ("exit code 1", Unknown),
    ("exit status 429", Unknown),
    ("Test timeout of 5000ms exceeded in auth.spec.ts", Unknown),
    ("Process killed with SIGTERM", Unknown),
    ("TypeError: Cannot read properties of undefined (reading 'x')", Unknown),
    ("SyntaxError: Unexpected end of JSON input", Unknown),
    ("AssertionError: expected 3 to equal 4", Unknown),
    ("Segmentation fault (core dumped)", Unknown),
    ("Out of memory", Unknown),
    ("", Unknown),
    ("context length exceeded: 200000 tokens", Long),
    ("Budget pool exhausted", Unknown),
    ("ENOENT: no such file or directory, open 'a.ts'", Unknown),
    ("sh: 1: cluade: not found", Unknown),
    ("cat: /root/.netrc: Permission denied", Unknown),
    ("the tests assert that a forbidden_word is rejected", Unknown),
];

#[test]
fn what_adapters_write_to_standard_error() {
    assert!(TEXTS.len() >= 80, "{}", TEXTS.len());
    let mut wrong = Vec::new();
    for (text, want) in TEXTS {
        let end = FailedCommand {
            code: Some(1),
            stderr: text,
            declared: &["src/auth.ts"],
            ..FailedCommand::default()
        };
        let class = read_command(&end).class;
        if class != *want {
            wrong.push(format!("{text}: {class:?}, not {want:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), TEXTS.len(), wrong.join("\n"));
    let all = [Auth, Spend, Rate, Transient, Timeout, Args, Path, Policy, Permission, Window, Long, Unknown];
    for class in all {
        assert!(TEXTS.iter().any(|(_, want)| *want == class), "{class:?}");
    }
}

#[test]
fn the_last_error_decides_and_what_came_before_it_does_not() {
    let text = "HTTP 429 Too Many Requests, retrying\nHTTP 503 Service Unavailable, retrying\nHTTP 401 Unauthorized\n\n";
    assert_eq!(classify_stderr(text), Auth);
    let text = format!("HTTP 401 Unauthorized\n{}", "still working\n".repeat(40));
    assert_eq!(classify_stderr(&text), Unknown, "it went on for long after that");
    let objects = "{\"error\":{\"code\":429}}\nretrying\n{\"error\":{\"code\":402,\"message\":\"gone\"}}\n";
    assert_eq!(classify_stderr(objects), Spend);
    let nothing_in_it = "{\"done\": true}\nHTTP 403 Forbidden\n";
    assert_eq!(classify_stderr(nothing_in_it), Auth);
}

#[test]
fn our_timer_and_known_exit_codes_come_before_words() {
    let end = |program, code, timed_out, stderr| {
        read_command(&FailedCommand { program, code, timed_out, stderr, ..FailedCommand::default() }).class
    };
    assert_eq!(end("claude", None, true, "HTTP 401 Unauthorized"), Timeout);
    // Gemini's exit code is the status, as far as eight bits hold it.
    for (code, want) in
        [(145, Auth), (146, Spend), (147, Auth), (173, Rate), (244, Transient), (41, Auth), (1, Unknown)]
    {
        assert_eq!(end("gemini", Some(code), false, ""), want, "{code}");
        assert_eq!(end("sh", Some(code), false, ""), Unknown, "{code}");
    }
    assert_eq!(end("gemini", Some(173), false, "HTTP 500 Internal Server Error"), Rate);
    assert_eq!(end("timeout", Some(124), false, ""), Timeout);
    assert_eq!(end("timeout", Some(124), false, "HTTP 401 Unauthorized"), Auth);
    // Killed by the kernel for its memory, or by anybody: that says nothing of the provider.
    assert_eq!(end("claude", None, false, "Killed"), Unknown);
    assert_eq!(end("sh", Some(137), false, "Killed"), Unknown);
    assert_eq!(end("sh", Some(127), false, "sh: 1: codex: not found"), Unknown);
}

/// What agents say when a subscription's limit is reached, when what they were asked is too long, or when money is gone.
const LIMITS: &[(&str, FailureClass)] = &[
    ("You've hit your session limit · resets 8pm", Window),
    ("You've hit your limit · resets 2pm", Window),
    ("You're out of extra usage · resets 9:30am (UTC)", Window),
    ("You've hit your 5-hour limit · resets 1:57am (UTC)", Window),
    ("You've hit your weekly limit · resets Nov 25, 9am (UTC)", Window),
    ("Claude usage limit reached. Your limit will reset at 9am", Window),
    ("Claude AI usage limit reached|1795401000", Window),
    (
        "You\u{2019}ve hit your usage limit. Upgrade to Pro (https://x.test) or try again at Nov 23rd, 2026 1:57 AM.",
        Window,
    ),
    ("You've hit your usage limit. Try again in 3 days 4 hours.", Window),
    ("You have exhausted your capacity on this model. Your quota will reset after 15h57m40s.", Window),
    ("Prompt is too long · 250000 tokens > 200000 maximum", Long),
    ("Codex ran out of room in the model's context window. Start a new conversation.", Long),
    ("Quota exceeded. Check your plan and billing details.", Spend),
    ("the widget count exceeds your limit of 5", Unknown),
];

#[test]
fn limits_are_told_from_failures_wherever_an_adapter_says_so() {
    for (text, want) in LIMITS {
        let stdout = [
            json!({"type": "result", "is_error": true, "subtype": "success", "api_error_status": 429, "result": text}),
            json!({"type": "turn.failed", "error": {"message": text}}),
            json!({"type": "error", "error": {"name": "APIError", "data": {"message": text, "statusCode": 429}}}),
        ];
        let on_stdout = stdout.map(|object| format!("I work\n{object}\nnoise\n"));
        for (stdout, stderr) in
            on_stdout.iter().map(|out| (out.as_str(), "WARN nothing")).chain([("", *text)])
        {
            let told = read_command(&FailedCommand {
                program: "agent",
                code: Some(1),
                stdout,
                stderr,
                at: Moment::utc(Timestamp(1_795_393_800_000)),
                ..FailedCommand::default()
            });
            let want = match (want, stdout.is_empty()) {
                // The status says more than such words.
                (Unknown, false) if stdout.contains("429") => Rate,
                (Unknown, false) => Unknown,
                (want, _) => *want,
            };
            assert_eq!(told.class, want, "{stdout}{stderr}");
            assert_eq!(told.retry_after.is_some(), want == Window, "{stdout}{stderr}");
            assert_eq!(told.reason, text.split_whitespace().collect::<Vec<_>>().join(" "));
        }
    }
}

#[test]
fn of_what_an_agent_prints_only_the_last_structured_error_is_read() {
    let read = |stdout: &str| {
        let told = read_command(&FailedCommand { code: Some(1), stdout, ..FailedCommand::default() });
        (told.class, told.reason)
    };
    let none = || (Unknown, String::new());
    assert_eq!(read("the log says {\"error\": {\"code\": 401}} and more\n"), none());
    assert_eq!(
        read("{\"type\":\"result\",\"is_error\":false,\"result\":\"HTTP 401 Unauthorized\"}\n"),
        none()
    );
    assert_eq!(read("{\"error\":null}\n"), none());
    assert_eq!(read("{\"error\":{\"code\":401,\"message\":\"no\"}"), none(), "half a line");
    let whole = "{\n  \"session_id\": \"a\",\n  \"error\": {\"message\": \"gone\",\n \"code\": 402}\n}\n";
    assert_eq!(read(whole), (Spend, "gone".to_owned()));
    let two = "{\"error\":{\"code\":402}}\n{\"error\":{\"code\":429,\"message\":\"slow\\ndown\"}}\n{\"type\":\"done\"}\n";
    assert_eq!(read(two), (Rate, "slow down".to_owned()));
}

#[test]
fn a_reason_is_the_message_of_the_error_and_not_its_last_line() {
    let stderr = "Error when talking to Gemini API\n{\n  \"error\": {\n    \"message\": \"API key not valid\",\n    \"code\": 401\n  }\n}\n";
    let told = read_command(&FailedCommand {
        program: "gemini",
        code: Some(145),
        stderr,
        ..FailedCommand::default()
    });
    assert_eq!((told.class, told.reason.as_str()), (Auth, "API key not valid"));
}

#[test]
fn the_last_objects_of_agents_streams_are_read_by_their_fields() {
    for (object, want) in [
        (
            json!({"type": "result", "subtype": "success", "is_error": true, "api_error_status": 401, "result": "x"}),
            Some(Auth),
        ),
        (json!({"type": "result", "is_error": true, "api_error_status": 402}), Some(Spend)),
        (
            json!({"type": "result", "is_error": true, "api_error_status": 429, "terminal_reason": "api_error"}),
            Some(Rate),
        ),
        (
            json!({"type": "result", "subtype": "success", "is_error": false, "result": "wrote 500 lines, HTTP 401"}),
            None,
        ),
        (
            json!({"type": "turn.failed", "error": {"message": "unexpected status 401 Unauthorized: no"}}),
            Some(Auth),
        ),
        (
            json!({"type": "turn.failed", "error": {"message": "exceeded retry limit, last status: 429 Too Many Requests"}}),
            Some(Rate),
        ),
        (
            json!({"type": "error", "error": {"name": "APIError", "data": {"statusCode": 503}}}),
            Some(Transient),
        ),
        (json!({"is_error": true, "error": {"message": "[API Error: 402 Insufficient]"}}), Some(Spend)),
        (
            json!({"code": -32603, "message": "Internal error: API Error: 402 no credits", "data": {"errorKind": "unknown"}}),
            Some(Spend),
        ),
        (
            json!({"code": -32603, "message": "Internal error", "data": {"errorKind": "rate_limit"}}),
            Some(Rate),
        ),
        (json!({"stopReason": "error", "errorMessage": "done"}), None),
    ] {
        assert_eq!(classify_error_object(&object), want, "{object}");
    }
}

#[test]
fn no_text_makes_it_panic() {
    for text in [
        "{",
        "{{{{",
        "HTTP",
        "HTTP 4",
        "é 401 é",
        "(401)",
        "status:",
        "\u{0}429",
        "{\"error\":[1]}",
        "[{\"a\":{}}]",
    ] {
        let _ = classify_stderr(text);
    }
    let deep = "{\"a\":".repeat(5_000);
    assert_eq!(classify_stderr(&deep), Unknown);
    assert_eq!(classify_stderr(&"HTTP 500 ".repeat(50_000)), Transient);
}
