//! Row 52 of the false greens: what counts as a good end of a turn or of a reply, and what does not. Programs of agents are
//! scripts that print what the real ones print, models are servers.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use wiremock::matchers::method;
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::support::model::Model;
use crate::support::{Finished, Mission, Says, Workspace, attempts, standing, task};

/// Runs the mission, with keys that are none.
fn run(workspace: &Workspace) -> Finished {
    let keys = [("ANTHROPIC_API_KEY", "x"), ("GEMINI_API_KEY", "x"), ("KEY", "k-12345678")];
    workspace.quorum_with(&keys, &["run", "mission.yaml", "--json"])
}

/// A workspace whose program `./p` prints this on its outputs, and then does that.
fn printing(mission: &str, out: &str, err: &str, then: &str) -> Workspace {
    let workspace = Workspace::with(mission).at_scale("0.1");
    workspace.write("out", format!("{out}\n"));
    workspace.write("err", format!("{err}\n"));
    workspace.write(
        "p",
        format!("#!/bin/sh\nd=${{0%/*}}; cat > /dev/null; cat \"$d/err\" >&2; cat \"$d/out\"\n{then}\n"),
    );
    workspace.bash("chmod +x p").exits(0);
    workspace
}

/// One task for a program that a preset reads.
fn worked(preset: &str, out: &str, err: &str) -> Workspace {
    let mission = format!(
        "name: m\nagents: {{w: {{adapter: {preset}, run: [./p]}}}}\nsettings: {{maxRetries: 0}}\n\
         tasks: [{{title: t, assignTo: w, maxAttempts: 1, review: none}}]\n"
    );
    printing(&mission, out, err, "exit 0")
}

const CLAUDE: &str = r#"{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Write"}]}}"#;
const QWEN: &str = CLAUDE;
const GEMINI: &str = concat!(
    r#"{"type":"tool_use","tool_name":"write_file"}"#,
    "\n",
    r#"{"type":"message","role":"assistant","content":"I wrote the file and ran its tests, all of which pass now."}"#
);
const OPENCODE: &str = concat!(
    r#"{"type":"step_start","sessionID":"o"}"#,
    "\n",
    r#"{"type":"tool_use","part":{"tool":"write"}}"#,
    "\n",
    r#"{"type":"text","part":{"text":"I wrote the file and ran its tests, all of which pass now."}}"#
);
const CODEX: &str = concat!(
    r#"{"type":"thread.started","thread_id":"x"}"#,
    "\n",
    r#"{"type":"item.completed","item":{"type":"file_change"}}"#,
    "\n",
    r#"{"type":"item.completed","item":{"type":"agent_message","text":"I wrote the file and ran its tests, all of which pass."}}"#
);
const AIDER: &str = "I wrote the file and ran its tests, all of which pass now, as was asked for here.";

/// What a preset's program prints before it ends.
fn begin(preset: &str) -> &'static str {
    match preset {
        "claude" => CLAUDE,
        "qwen" => QWEN,
        "gemini" => GEMINI,
        "opencode" => OPENCODE,
        "codex" => CODEX,
        _ => AIDER,
    }
}

const STOP: &str = r#"{"type":"step_finish","part":{"reason":"stop"}}"#;
const CUT: &str = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"half"}],"stop_reason":"max_tokens"}}"#;

#[test]
fn false_green_52_a_turn_that_does_not_say_that_it_ended_well_is_not_done() {
    for (preset, end) in [
        ("claude", r#"{"type":"result","subtype":"error_max_turns","is_error":true}"#),
        ("claude", r#"{"type":"result","subtype":"error_max_turns","is_error":false,"result":"so far"}"#),
        ("claude", r#"{"type":"result","subtype":"error_during_execution","is_error":true,"errors":[]}"#),
        ("claude", r#"{"type":"result","subtype":"success","is_error":true}"#),
        (
            "claude",
            r#"{"type":"result","subtype":"success","is_error":false,"stop_reason":"max_tokens","result":"half"}"#,
        ),
        (
            "claude",
            r#"{"type":"result","subtype":"success","is_error":false,"stop_reason":"refusal","result":"no"}"#,
        ),
        (
            "claude",
            r#"{"type":"result","subtype":"success","is_error":false,"terminal_reason":"max_turns","result":"so far"}"#,
        ),
        ("claude", r#"{"type":"result","subtype":"something_new","is_error":false,"result":"done"}"#),
        ("claude", r#"{"type":"result","is_error":false,"result":"done"}"#),
        (
            "claude",
            &format!(
                "{CUT}\n{}",
                r#"{"type":"result","subtype":"success","is_error":false,"result":"half"}"#
            ),
        ),
        ("qwen", r#"{"type":"result","subtype":"error_during_execution","is_error":true}"#),
        ("qwen", r#"{"type":"result","subtype":"error_max_turns","is_error":true,"error":{}}"#),
        ("qwen", r#"{"type":"result","is_error":true,"error":{"type":"x"}}"#),
        (
            "qwen",
            &format!(
                "{CUT}\n{}",
                r#"{"type":"result","subtype":"success","is_error":false,"result":"half"}"#
            ),
        ),
        ("gemini", r#"{"type":"result","status":"error"}"#),
        ("gemini", r#"{"type":"result","status":"cancelled"}"#),
        ("gemini", r#"{"type":"result","status":"error","error":{"type":"FatalTurnLimitedError"}}"#),
        ("gemini", r#"{"type":"result","stats":{}}"#),
        ("opencode", r#"{"type":"step_finish","part":{"reason":"tool-calls"}}"#),
        ("opencode", r#"{"type":"step_finish","part":{"reason":"length"}}"#),
        ("opencode", r#"{"type":"step_finish","part":{"reason":"unknown"}}"#),
        ("opencode", r#"{"type":"step_finish","part":{}}"#),
        ("opencode", &format!("{STOP}\n{}", r#"{"type":"step_start"}"#)),
        ("opencode", &format!("{STOP}\n{}", r#"{"type":"error","error":{"name":"MessageAbortedError"}}"#)),
        ("codex", r#"{"type":"turn.failed"}"#),
        ("codex", r#"{"type":"turn.failed","error":{}}"#),
        ("codex", r#"{"type":"error","message":"stream disconnected"}"#),
        ("codex", "{\"type\":\"turn.completed\"}\n{\"type\":\"turn.started\"}"),
        ("aider", "litellm.AuthenticationError: AnthropicException - invalid x-api-key"),
        ("aider", ""),
        ("aider", "Tokens: 2.1k sent, 8.2k received.\n\nModel openai/m has hit a token limit!"),
        ("aider", "Tokens: 2.1k sent, 12 received.\nlitellm.APIError: the second request failed"),
        ("pi", ""),
    ] {
        let before = if preset == "pi" { "" } else { begin(preset) };
        let workspace = worked(preset, &format!("{before}\n{end}"), "");
        let document = run(&workspace).exits(3).json();
        assert_eq!(standing(&document, "t").0, "failed", "{preset}: {end}");
    }
}

#[test]
fn a_turn_that_says_that_it_ended_well_is_done_whatever_it_met_on_the_way() {
    let retry = r#"Attempt 1 failed. Retrying with backoff... {"error":{"code":503,"message":"overloaded"}}"#;
    let claude = r#"{"type":"result","subtype":"success","is_error":false,"stop_reason":"end_turn","terminal_reason":"completed","result":"done"}"#;
    let cut_before = format!("{CUT}\n{CLAUDE}\n{claude}");
    let cut_before = cut_before.as_str();
    let gemini = r#"{"type":"result","status":"success"}"#;
    for (preset, end, err) in [
        ("claude", claude, r#"{"error":{"message":"an MCP server did not start"}}"#),
        ("claude", cut_before, ""),
        ("claude", &format!("\u{1b}[?25l\u{1b}]0;claude\u{7}{claude}\u{1b}[0m"), ""),
        ("claude", &format!("\u{feff}{claude}\r"), ""),
        ("claude", &format!("A new version {{2.2}} is there! {claude}"), ""),
        ("claude", &format!("{claude} Goodbye."), ""),
        ("gemini", gemini, retry),
        (
            "gemini",
            gemini,
            r#"{"session_id":"s","error":{"type":"Error","message":"MCP server x: 401","code":401}}"#,
        ),
        (
            "gemini",
            &format!("{}\n{gemini}", r#"{"type":"error","severity":"error","message":"a tool failed"}"#),
            "",
        ),
        ("qwen", r#"{"type":"result","subtype":"success","is_error":false,"result":"done"}"#, retry),
        ("opencode", STOP, ""),
        (
            "opencode",
            &format!(
                "{}\n{STOP}",
                r#"{"type":"error","error":{"name":"APIError","data":{"message":"503"}}}"#
            ),
            "",
        ),
        (
            "opencode",
            &format!(
                "{}\n{}\n{STOP}",
                r#"{"type":"step_finish","part":{"reason":"tool-calls"}}"#, r#"{"type":"step_start"}"#
            ),
            "",
        ),
        (
            "codex",
            "{\"type\":\"error\",\"message\":\"Reconnecting... 1/5\"}\n{\"type\":\"turn.completed\"}",
            "",
        ),
        ("aider", "Tokens: 2.1k sent, 12 received.\nApplied edit to x", ""),
        (
            "aider",
            "litellm.APIError: try later\nRetrying in 0.2 seconds...\nTokens: 2.1k sent, 12 received. Cost: $0.01",
            "",
        ),
        ("pi", "I wrote the file.", ""),
    ] {
        // What stands behind it in standard output has no text of its own there.
        let text =
            r#"{"type":"text","part":{"text":"I wrote the file and ran its tests, all of which pass."}}"#;
        let text = if preset == "opencode" { text } else { "" };
        let workspace = worked(preset, &format!("{}\n{text}\n{end}", begin(preset)), err);
        let document = run(&workspace).json();
        assert_eq!(
            standing(&document, "t").0,
            "done",
            "{preset}: {end} {err}: {}",
            task(&document, "t")["failure"]
        );
    }
}

#[test]
fn a_failure_without_words_is_told_by_its_code_and_an_earlier_error_by_its_words() {
    for (preset, end, said) in [
        ("claude", r#"{"type":"result","subtype":"error_max_turns","is_error":true}"#, "error_max_turns"),
        (
            "claude",
            r#"{"type":"result","subtype":"success","is_error":false,"stop_reason":"pause_turn"}"#,
            "pause_turn",
        ),
        (
            "claude",
            &format!("{CUT}\n{}", r#"{"type":"result","subtype":"success","is_error":false}"#),
            "cut short (max_tokens)",
        ),
        ("opencode", r#"{"type":"step_finish","part":{"reason":"tool-calls"}}"#, "done: tool-calls"),
        ("opencode", r#"{"type":"step_finish","part":{"reason":"length"}}"#, "cut short (length)"),
        ("gemini", r#"{"type":"result","status":"cancelled"}"#, "cancelled"),
        ("codex", r#"{"type":"error","message":"the account is closed"}"#, "the account is closed"),
        (
            "codex",
            "{\"type\":\"error\",\"message\":\"the account is closed\"}\n{\"type\":\"turn.failed\"}",
            "the account is closed",
        ),
    ] {
        let workspace = worked(preset, &format!("{}\n{end}", begin(preset)), "");
        let document = run(&workspace).exits(3).json();
        task(&document, "t")["failure"].to_string().says(&[said]);
    }
}

#[test]
fn false_green_52_a_judge_whose_turn_did_not_end_well_gives_no_verdict_and_costs_no_attempt() {
    let verdict = |more: &str| format!(r#"{{"type":"result","result":"SCORE: 90"{more}}}"#);
    let text = r#"{"type":"text","part":{"text":"SCORE: 90"}}"#;
    for (preset, out) in [
        ("claude", verdict(r#","subtype":"success","is_error":false,"stop_reason":"max_tokens""#)),
        ("claude", verdict(r#","subtype":"error_max_turns","is_error":true"#)),
        ("claude", verdict("")),
        ("claude", r#"{"type":"result","subtype":"success","is_error":true}"#.to_owned()),
        ("qwen", verdict(r#","subtype":"error_during_execution","is_error":true"#)),
        (
            "gemini",
            format!(
                "{}\n{}",
                r#"{"type":"message","role":"assistant","content":"SCORE: 90"}"#,
                r#"{"type":"result","status":"error"}"#
            ),
        ),
        ("opencode", format!("{text}\n{}", r#"{"type":"step_finish","part":{"reason":"length"}}"#)),
        (
            "codex",
            format!(
                "{}\n{}",
                r#"{"type":"item.completed","item":{"type":"agent_message","text":"SCORE: 90"}}"#,
                r#"{"type":"turn.failed"}"#
            ),
        ),
    ] {
        let mission = format!(
            "name: m\nagents: {{w: {{run: echo work}}, j: {{adapter: {preset}, run: [./p], role: reviewer}}}}\n\
             tasks: [{{title: t, assignTo: w, maxAttempts: 2, review: required}}]\n"
        );
        let workspace = printing(&mission, &out, "", "exit 0");
        let document = run(&workspace).exits(6).json();
        assert_eq!(attempts(&document, "t"), ["execute"], "{preset}: {out}");
        assert_eq!(task(&document, "t")["points"], json!(null), "{preset}: {out}");
    }
}

#[test]
fn a_program_that_stays_alive_behind_its_last_event_is_ended_and_its_turn_counts() {
    let mission = |preset: &str| {
        format!(
            "name: m\nagents: {{w: {{adapter: {preset}, run: [./p]}}}}\nsettings: {{maxRetries: 0}}\n\
             tasks: [{{title: t, assignTo: w, maxAttempts: 1, review: none, maxDuration: 1h}}]\n"
        )
    };
    let success = r#"{"type":"result","subtype":"success","is_error":false,"result":"I wrote the file."}"#;
    let failed = r#"{"type":"result","subtype":"success","is_error":true,"result":"API Error: 401 no"}"#;
    for (preset, end, exit, state) in [
        ("claude", success, 0, "done"),
        ("claude", failed, 3, "failed"),
        ("codex", r#"{"type":"turn.completed"}"#, 0, "done"),
        ("opencode", STOP, 0, "done"),
        ("gemini", r#"{"type":"result","status":"success"}"#, 0, "done"),
    ] {
        let out = format!("{}\n{end}", begin(preset));
        let workspace = printing(&mission(preset), &out, "", "trap '' TERM; while :; do sleep 100; done");
        let before = Instant::now();
        let document = run(&workspace).exits(exit).json();
        assert_eq!(standing(&document, "t").0, state, "{preset}");
        assert!(before.elapsed() < Duration::from_secs(60), "nobody waits for the time-out");
        if exit == 3 {
            assert_eq!(task(&document, "t")["failure"]["class"], "provider_auth");
        }
    }
}

#[test]
fn a_judge_that_stays_alive_behind_its_last_event_is_ended_and_its_verdict_counts() {
    let success = r#"{"type":"result","subtype":"success","is_error":false,"result":"SCORE: 90"}"#;
    let message = r#"{"type":"item.completed","item":{"type":"agent_message","text":"SCORE: 90"}}"#;
    let completed = format!("{message}\n{}", r#"{"type":"turn.completed"}"#);
    for (preset, out) in [("claude", success), ("qwen", success), ("codex", &completed)] {
        let mission = format!(
            "name: m\nagents: {{w: {{run: echo work}}, j: {{adapter: {preset}, run: [./p], role: reviewer}}}}\n\
             tasks: [{{title: t, assignTo: w, maxAttempts: 1, review: required}}]\n"
        );
        let workspace = printing(&mission, out, "", "trap '' TERM; while :; do sleep 100; done");
        let before = Instant::now();
        let document = run(&workspace).exits(0).json();
        assert_eq!(task(&document, "t")["points"], json!(90.0), "{preset}: {document}");
        assert!(before.elapsed() < Duration::from_secs(20), "nobody waits for the time-out");
    }
}

#[test]
fn false_green_52_a_preset_of_ones_own_says_what_success_is() {
    let presets = "presets:\n  mine:\n    argv: [./p]\n    format: jsonl\n    complete: ended\n    rules:\n\
        \x20     - {when: {/e: text}, set: {+text: /t}}\n\
        \x20     - {when: {/e: end, /how: 'good|fine*', /why: absent}, set: {ended: /how}}\n\
        \x20     - {when: {/e: end, /how: full}, set: {cut: /how}}\n\
        \x20     - {when: {/e: bad}, set: {err: /words}}\n\
        \x20 plain:\n    argv: [./p]\n    complete: ended\n    rules: [{when: {/line: '*all * well*'}, set: {ended: /line}}]\n";
    let text = r#"{"e":"text","t":"I wrote the file and ran its tests, all of which pass now."}"#;
    for (preset, out, exit) in [
        ("mine", r#"{"e":"end","how":"good"}"#, 0),
        ("mine", r#"{"e":"end","how":"finest"}"#, 0),
        ("mine", "{\"e\":\"bad\"}\n{\"e\":\"end\",\"how\":\"good\"}", 0),
        ("mine", r#"{"e":"end","how":"bad"}"#, 3),
        ("mine", r#"{"e":"end","how":"good","why":"limit"}"#, 3),
        ("mine", "{\"e\":\"end\",\"how\":\"full\"}\n{\"e\":\"end\",\"how\":\"good\"}", 3),
        ("mine", "{\"e\":\"end\",\"how\":\"good\"}\n{\"e\":\"bad\"}", 3),
        ("plain", "in the end all is well, it says", 0),
        ("plain", "it ended", 3),
    ] {
        let mission = format!(
            "name: m\nagents: {{w: {{adapter: {preset}}}}}\nsettings: {{maxRetries: 0}}\n\
             tasks: [{{title: t, assignTo: w, maxAttempts: 1, review: none, expectations: [{{type: script, command: 'true'}}]}}]\n"
        );
        let workspace = printing(&mission, &format!("{text}\n{out}"), "", "exit 0");
        workspace.write("quorum.yaml", presets);
        run(&workspace).exits(exit);
    }
}

/// The answer of a provider to every request, in its protocol, with this word for its end.
fn ended(adapter: &str, text: &str, end: Option<&str>) -> Value {
    match adapter {
        "openai" => {
            json!({"model": "m-1", "choices": [{"message": {"content": text}, "finish_reason": end}]})
        }
        "anthropic" => {
            json!({"model": "m-1", "content": [{"type": "text", "text": text}], "stop_reason": end})
        }
        "gemini-api" => {
            json!({"candidates": [{"content": {"parts": [{"text": text}]}, "finishReason": end}]})
        }
        _ => json!({"model": "m-1", "message": {"content": text}, "done": true, "done_reason": end}),
    }
}

/// One task for a worker, judged; `w` or `j` is a model that answers so.
fn asked(who: &str, adapter: &str, body: Value) -> (MockServer, Workspace) {
    // The server lives on a thread of its own; only asking it needs a runtime.
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime can be made");
    let server = runtime.block_on(async {
        let server = MockServer::start().await;
        let answer = ResponseTemplate::new(200).set_body_json(body);
        Mock::given(method("POST")).respond_with(answer).mount(&server).await;
        server
    });
    let model = format!(
        "{{adapter: {adapter}, baseUrl: '{}', model: m, apiKey: '${{KEY}}', tools: [], role: reviewer}}",
        server.uri()
    );
    let (worker, judge, review) = match who {
        "w" => (model.as_str(), "{run: 'echo SCORE: 90', role: reviewer}", "none"),
        _ => ("{run: echo work}", model.as_str(), "required"),
    };
    let workspace = Workspace::with(&format!(
        "name: m\nagents:\n  w: {worker}\n  j: {judge}\nsettings: {{maxRetries: 0}}\n\
         tasks: [{{title: t, assignTo: w, maxAttempts: 1, review: {review}}}]\n"
    ))
    .at_scale("0.001");
    (server, workspace)
}

const BAD_ENDS: &[(&str, &[Option<&str>])] = &[
    (
        "openai",
        &[
            Some("model_length"),
            Some("length"),
            Some("error"),
            Some("abort"),
            Some("content_filter"),
            Some("tool_calls"),
            Some("insufficient_system_resource"),
            Some("something_new"),
            Some("STOPPED"),
            None,
        ],
    ),
    (
        "anthropic",
        &[
            Some("max_tokens"),
            Some("pause_turn"),
            Some("refusal"),
            Some("tool_use"),
            Some("model_context_window_exceeded"),
            None,
        ],
    ),
    (
        "gemini-api",
        &[
            Some("MAX_TOKENS"),
            Some("SAFETY"),
            Some("RECITATION"),
            Some("MALFORMED_FUNCTION_CALL"),
            Some("OTHER"),
            Some("FINISH_REASON_UNSPECIFIED"),
            None,
        ],
    ),
    ("ollama", &[Some("length"), Some("load"), Some("unload")]),
];

#[test]
fn false_green_52_a_reply_that_its_provider_did_not_end_well_is_no_verdict() {
    for (adapter, ends) in BAD_ENDS {
        for end in *ends {
            let (_server, workspace) = asked("j", adapter, ended(adapter, "SCORE: 95", *end));
            let document = run(&workspace).exits(6).json();
            assert_eq!(task(&document, "t")["points"], json!(null), "{adapter} {end:?}");
            assert_eq!(attempts(&document, "t"), ["execute"], "{adapter} {end:?}");
        }
    }
    for (adapter, end) in [
        ("openai", "stop"),
        ("openai", "eos"),
        ("anthropic", "stop_sequence"),
        ("gemini-api", "STOP"),
        ("ollama", "stop"),
    ] {
        let (_server, workspace) = asked("j", adapter, ended(adapter, "SCORE: 95", Some(end)));
        run(&workspace).exits(0);
    }
}

#[test]
fn false_green_52_work_whose_reply_did_not_end_well_is_not_done() {
    let text = "I wrote the text that was asked for, with all of its chapters, and this is how it begins.";
    for (adapter, ends) in BAD_ENDS {
        for end in *ends {
            let (_server, workspace) = asked("w", adapter, ended(adapter, text, *end));
            let document = run(&workspace).exits(3).json();
            assert_eq!(standing(&document, "t").0, "failed", "{adapter} {end:?}");
        }
    }
    let (_server, workspace) = asked("w", "ollama", ended("ollama", text, None));
    run(&workspace).exits(0);
    let mut begun = ended("ollama", text, Some("stop"));
    begun.as_object_mut().expect("an object").remove("done");
    let (_server, workspace) = asked("w", "ollama", begun);
    run(&workspace).exits(3);
}

#[test]
fn false_green_52_an_error_counts_wherever_a_reply_has_it() {
    let error = json!({"code": 502, "message": "the upstream died"});
    for (adapter, at) in [
        ("openai", "/choices/0"),
        ("openai", "/choices/0/message"),
        ("gemini-api", "/candidates/0"),
        ("ollama", "/message"),
    ] {
        let mut body =
            ended(adapter, "SCORE: 95", Some(if adapter == "gemini-api" { "STOP" } else { "stop" }));
        body.pointer_mut(at).expect("it is there")["error"] = error.clone();
        let (_server, workspace) = asked("j", adapter, body);
        let document = run(&workspace).exits(6).json();
        assert_eq!(attempts(&document, "t"), ["execute"], "{adapter} {at}");
        workspace.events().first_named("work:ended score failed").to_string().says(&["the upstream died"]);
    }
}

#[test]
fn false_green_52_a_judge_with_tools_whose_last_reply_is_cut_gives_no_verdict() {
    let model = Model::new(|_| {
        ResponseTemplate::new(200).set_body_json(ended("openai", "SCORE: 95", Some("length")))
    });
    let workspace = Mission::new()
        .agent("w", "echo x > f")
        .model("j", &model, json!({"role": "reviewer"}))
        .task("t", |t| t.attempts(2).files(["f"]).set("review", "required"))
        .workspace()
        .at_scale("0.001");
    let document = run(&workspace).exits(6).json();
    assert_eq!(attempts(&document, "t"), ["execute"]);
}
