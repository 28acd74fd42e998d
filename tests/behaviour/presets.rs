//! Programs of agents that presets start and read: sessions, usage, denials, judges, limits. Scripts stand for them, and print
//! what the real ones print.

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use crate::support::events::named;
use crate::support::{
    Finished, Mission, Running, Says, Workspace, attempts, standing, supervisor_of, task, wait_for_file,
};

const SESSION: &str = "5f0c6a52-0000-4000-8000-000000000001";

/// A program that notes its arguments, one line a start, and its prompt, and then does this. `say FIELDS` prints Claude Code's
/// result with these fields; `$resumed` says whether it goes on in a session.
fn claude(does: &str) -> String {
    format!(
        r#"echo "$@" >> args; n=$(wc -l < args | tr -d ' '); cat > prompt.$n; resumed=no; session={SESSION}
        say() {{ echo '{{"type":"assistant","message":{{"content":[{{"type":"tool_use","name":"Write"}}]}}}}'; echo '{{"type":"result","subtype":"success","is_error":false,"session_id":"'$session'","usage":{{"input_tokens":100,"output_tokens":20}},'"$1"'}}'; }}
        echo '{{"uuid":"x","type":"system","model":"claude-sonnet-4-5","subtype":"init","session_id":"'$session'"}}'
        case "$*" in *--resume*) resumed=yes;; esac
        {does}"#
    )
}

/// The same as an agent, with more keys.
fn agent(does: &str, more: Value) -> Value {
    let mut keys = json!({"adapter": "claude", "run": ["/bin/sh", "-c", claude(does), "claude"]});
    keys.as_object_mut().expect("keys").extend(more.as_object().expect("keys").clone());
    keys
}

const FIXES: &str = r#"if [ $resumed = yes ]; then echo right > out; say '"result":"mended","total_cost_usd":0.003'
    else echo wrong > out; say '"result":"first try","total_cost_usd":0.001'; fi"#;

fn fixing(more: Value) -> Workspace {
    Mission::new()
        .agent_with("coder", agent(FIXES, more))
        .task("work", |t| {
            t.set("description", "Write right into out.").check("grep -q right out").unreviewed()
        })
        .workspace()
}

/// A task whose check wants `right` in `out`.
fn checked(agent: Value) -> Workspace {
    Mission::new()
        .agent_with("coder", agent)
        .task("work", |t| t.check("grep -q right out").unreviewed())
        .workspace()
}

#[test]
fn a_fix_goes_on_in_the_same_session_with_only_what_is_to_be_corrected() {
    let workspace = fixing(json!({}));
    let document = workspace.run_json(0, &[]);
    assert_eq!(attempts(&document, "work"), ["execute", "fix"]);
    let args = workspace.lines("args");
    assert!(args[0].contains("--permission-mode acceptEdits --session-id "), "{args:#?}");
    assert!(args[1].ends_with(&format!("--permission-mode acceptEdits --resume {SESSION}")), "{args:#?}");
    let (first, second) = (workspace.read("prompt.1"), workspace.read("prompt.2"));
    assert!(first.contains("Write right into out."), "{first}");
    assert!(second.contains("Correct your work") && second.contains("grep -q right out"), "{second}");
    assert!(!second.contains("Write right into out."), "it is in the session already: {second}");
    // What it costs counts from the beginning of the session, its tokens do not.
    let usage = &task(&document, "work")["usage"];
    assert_eq!((&usage["cost"], &usage["inputTokens"]), (&json!(0.003), &json!(200)), "{usage:#}");
    let events = workspace.events();
    let ended = named(&events, "work:ended");
    assert!(ended.iter().any(|event| event["session"] == SESSION), "{ended:#?}");
    workspace.quorum(&["review", "--replay"]).exits(0);
}

#[test]
fn a_fix_begins_anew_where_the_mission_says_so() {
    let workspace = fixing(json!({"session": "fresh"}));
    workspace.run_json(3, &[]);
    let args = workspace.lines("args");
    assert!(args.iter().all(|line| line.contains("--session-id") && !line.contains("--resume")), "{args:#?}");
    assert!(workspace.read("prompt.2").contains("Write right into out."));
}

#[test]
fn a_session_that_is_not_there_any_more_is_told_and_begun_anew() {
    let gone = r#"if [ $resumed = yes ]; then
        echo "No conversation found with session ID: $session" >&2; exit 1
    elif [ $n = 1 ]; then echo wrong > out; say '"result":"first try"'
    else echo right > out; say '"result":"anew"'; fi"#;
    let workspace = Mission::new()
        .agent_with("coder", agent(gone, json!({})))
        .task("work", |t| {
            t.set("description", "Write right.").check("grep -q right out").attempts(4).unreviewed()
        })
        .workspace();
    let document = workspace.run_json(0, &[]);
    assert_eq!(attempts(&document, "work"), ["execute", "fix", "retry"]);
    let args = workspace.lines("args");
    assert!(args[1].contains("--resume") && args[2].contains("--session-id"), "{args:#?}");
    assert!(workspace.read("prompt.3").contains("Write right."), "the new session is told all");
}

#[test]
fn what_a_program_was_not_allowed_is_a_finding_of_the_attempt_that_failed() {
    let denied = r#"say '"result":"I could not","permission_denials":[{"tool_name":"Bash"},{"tool_name":"Write"},{"tool_name":"Bash"}]'"#;
    let workspace = Mission::new()
        .agent_with("coder", agent(denied, json!({"permissions": "read"})))
        .task("work", |t| t.check("test -e out").attempts(1).unreviewed())
        .workspace();
    let document = workspace.run_json(3, &[]);
    assert!(workspace.lines("args")[0].contains("--permission-mode plan"));
    let findings = task(&document, "work")["findings"].to_string();
    assert!(findings.contains("the agent was not allowed to: Bash, Write"), "{document:#}");
}

#[test]
fn false_green_a_program_that_exits_with_0_before_it_is_done_has_failed() {
    for (does, said) in [
        ("exit 0", "it ended without saying that it is done"),
        ("echo 'not json'; echo '{\"type\":\"result\"'; exit 0", "it ended without saying that it is done"),
        (
            r#"echo '{"type":"result","is_error":true,"api_error_status":402,"result":"Insufficient credits"}'; exit 0"#,
            "Insufficient credits",
        ),
    ] {
        let workspace = Mission::new()
            .agent_with("coder", agent(does, json!({})))
            .setting("maxRetries", 0)
            .task("work", |t| t.unreviewed())
            .workspace();
        let document = workspace.run_json(3, &[]);
        let message = task(&document, "work")["failure"]["message"].as_str().expect("it failed").to_owned();
        assert!(message.contains(said), "{does}: {message}");
    }
}

#[test]
fn a_judge_is_asked_in_a_session_of_its_own_with_a_schema_and_may_only_look() {
    let verdict = json!({"scores": {"correctness": {"score": 5, "reasoning": "it is right"}}, "findings": [], "summary": "good"});
    let judges = format!(
        r#"case "$*" in *--json-schema*) ;; *) exit 9;; esac
        say '"result":"see there","total_cost_usd":0.01,"structured_output":{verdict}'"#
    );
    let workspace = Mission::new()
        .worker("echo right > out")
        .agent_with("judge", agent(&judges, json!({"role": "reviewer"})))
        .task("work", |t| {
            t.expects(json!({"type": "llm_review", "criteria": "It is right.", "dimensions": [{"name": "correctness", "weight": 1}], "threshold": 4}))
        })
        .workspace();
    let document = workspace.run_json(0, &[]);
    assert_eq!(standing(&document, "work"), ("done", "clean"), "{document:#}");
    let args = &workspace.lines("args")[0];
    for word in ["--permission-mode plan", "--no-session-persistence", "\"correctness\""] {
        assert!(args.contains(word), "{args}");
    }
    assert!(!args.contains("--session-id"), "{args}");
    // It was asked three times: what it used each time is its own.
    let usage = &document["usage"];
    assert_eq!((&usage["cost"], &usage["inputTokens"]), (&json!(0.03), &json!(300)), "{usage:#}");
    workspace.quorum(&["review", "--replay"]).exits(0);
}

#[test]
fn a_judge_that_says_nothing_readable_is_no_pass_and_its_failure_has_a_class() {
    for (does, code, told) in [
        (
            r#"echo '{"type":"result","is_error":true,"api_error_status":401,"result":"Invalid API key"}'; exit 1"#,
            6,
            "provider_auth",
        ),
        (r#"say '"result":"lovely weather today"'"#, 6, "no JSON object"),
    ] {
        let workspace = Mission::new()
            .worker("echo right > out")
            .agent_with("judge", agent(does, json!({"role": "reviewer"})))
            .task("work", |t| t.expects(json!({"type": "llm_review", "criteria": "right", "dimensions": [{"name": "correctness", "weight": 1}]})))
            .workspace();
        let finished = workspace.quorum(&["run", "mission.yaml", "--json", "--run-id", "r"]);
        assert_eq!(finished.code(), Some(code), "{does}\n{}", finished.stderr);
        let shown = workspace.quorum(&["show", "work", "--json"]).stdout;
        assert!(
            shown.contains(told) || finished.stderr.contains(told),
            "{does}\n{shown}\n{}",
            finished.stderr
        );
    }
}

/// A gemini that meets a limit and waits for it by itself.
const WAITS: &str = r#"echo '{"type":"init","session_id":"g","model":"gemini-2.5-flash"}'
    echo 'Attempt 1 failed: You have exhausted your capacity on this model. Your quota will reset after 2h0m0s.. Retrying after 7200000ms...' >&2
    exec sleep 1000"#;

#[test]
fn a_program_that_waits_for_its_provider_for_hours_is_ended_and_no_attempt_is_spent() {
    let workspace = Mission::new()
        .agent_with("coder", json!({"adapter": "gemini", "run": ["/bin/sh", "-c", WAITS, "gemini"]}))
        .setting("maxWindowWait", "1h")
        .task("work", |t| t.unreviewed())
        .workspace();
    let document = workspace.run_json(7, &[]);
    assert_eq!(standing(&document, "work").0, "pending", "{document:#}");
    assert!(document["resumableAt"].is_string(), "{document:#}");
    assert_eq!(attempts(&document, "work"), ["execute"]);
    let events = workspace.events();
    let waits = named(&events, "task:window");
    assert!(waits[0].to_string().contains("exhausted your capacity"), "{waits:#?}");
}

/// A qwen that counts what it asks its provider, as the settings of its preset want it to: one failed request, and the pause.
fn counts(error: &str, pause: u64) -> String {
    let counted =
        json!({"attributes": {"error_message": error, "status_code": 429, "retry_delay_ms": pause}});
    let counted = serde_json::to_string_pretty(&counted).expect("it is JSON");
    format!("cat >&2 <<'E'\n{counted}\nE")
}

#[test]
fn a_program_that_asks_its_provider_again_in_silence_is_ended_by_what_it_counts() {
    let run = |does: String, code: i32| {
        let keys = json!({"adapter": "qwen", "run": ["/bin/sh", "-c", does, "qwen"]});
        let mission =
            Mission::new().agent_with("coder", keys).setting("maxWindowWait", "1h").setting("maxRetries", 0);
        mission.task("work", |t| t.unreviewed()).workspace().run_json(code, &[])
    };
    let limit = "429 This request would exceed your account's rate limit.";
    let document = run(format!("{}\nexec sleep 1000", counts(limit, 7_200_000)), 7);
    let wait = &document["approvals"][0];
    assert_eq!((&wait["reason"], &attempts(&document, "work")), (&json!("window"), &vec!["execute"]));
    let told = wait["message"].as_str().expect("it is told");
    assert!(told.ends_with(limit), "without the signs of JSON: {told}");
    let down = counts("500 Internal server error", 1_500);
    let document = run(format!("for n in 1 2 3 4 5 6; do {down}\ndone; exec sleep 1000"), 3);
    let failure = &task(&document, "work")["failure"];
    assert_eq!(failure["class"], "provider_transient", "{failure:#}");
}

#[test]
fn silence_behind_a_failed_request_is_not_waited_out() {
    let stuck = r#"echo 'level=ERROR message="stream error" error.error="AI_APICallError: 503 service unavailable"' >&2; exec sleep 1000"#;
    let keys = json!({"adapter": "opencode", "run": ["/bin/sh", "-c", stuck, "opencode"], "env": {"OPENCODE_CONFIG": "x"}});
    let workspace = Mission::new()
        .agent_with("coder", keys)
        .setting("maxRetries", 0)
        .task("work", |t| t.unreviewed())
        .workspace()
        .at_scale("0.01");
    let document = workspace.run_json(3, &[]);
    assert_eq!(task(&document, "work")["failure"]["class"], "provider_transient", "{document:#}");
}

#[test]
fn a_program_that_would_go_elsewhere_without_a_login_is_not_started() {
    let keys = json!({"adapter": "opencode", "run": ["/bin/sh", "-c", "touch started", "opencode"]});
    let workspace = Mission::new().agent_with("coder", keys).task("work", |t| t.unreviewed()).workspace();
    let refused = workspace.quorum(&["run", "mission.yaml"]);
    refused.exits(9).says(&["agent 'coder'", "it has no login", "opencode auth login"]);
    assert!(!workspace.exists("started"));
    workspace.quorum(&["doctor"]).exits(9).shows(&["login of coder", "none is seen"]);
}

#[test]
fn a_turn_that_outlives_its_session_is_adopted_and_keeps_its_own() {
    let does = r#"if [ $resumed = yes ]; then echo right > out; say '"result":"mended"'; else echo > ready; until test -e go; do sleep 0.02; done; echo wrong > out; say '"result":"first"'; fi"#;
    let workspace = checked(agent(does, json!({})));
    let running = workspace.start(&["run", "mission.yaml", "--run-id", "r"]);
    wait_for_file(&workspace.path("ready"));
    running.kill();
    workspace.write("go", "");
    let document = workspace.resume_json(0, &[]);
    assert_eq!(attempts(&document, "work"), ["execute", "fix"]);
    let args = workspace.lines("args");
    assert_eq!(args.len(), 2, "{args:#?}");
    assert!(args[1].contains(&format!("--resume {SESSION}")), "{args:#?}");
}

#[test]
fn a_fix_whose_turn_was_lost_is_told_again_what_is_to_be_corrected() {
    let does = r#"if [ $resumed = no ]; then echo wrong > out; say '"result":"first"'
        elif [ $n = 2 ]; then echo > ready; sleep 1000
        else echo right > out; say '"result":"mended"'; fi"#;
    let workspace = checked(agent(does, json!({})));
    let running = workspace.start(&["run", "mission.yaml", "--run-id", "r"]);
    wait_for_file(&workspace.path("ready"));
    kill_process(supervisor_of(running.pid()), Signal::KILL).expect("it can be killed");
    running.kill();
    let document = workspace.resume_json(0, &[]);
    assert_eq!(attempts(&document, "work"), ["execute", "fix"]);
    let prompt = workspace.read("prompt.3");
    assert!(prompt.contains("Correct your work") && prompt.contains("grep -q right out"), "{prompt}");
    assert!(workspace.lines("args")[2].contains(&format!("--resume {SESSION}")));
}

#[test]
fn an_own_preset_has_the_same_form_and_a_built_in_one_can_be_replaced() {
    let does = r#"case "$*" in *GO*) echo '{"id":"s1","done":true,"said":"mended"}'; echo right > out;;
        *) echo '{"id":"s1","done":true,"said":"first"}';; esac; echo "$MARK $@" >> args"#;
    let preset = json!({
        "argv": ["/bin/sh", "-c", does, "mine"],
        "resume": ["GO", "{session}"],
        "edit": {"argv": ["may-edit"], "env": {"MARK": "edit"}},
        "env": {"MARK": "what every start has"},
        "format": "jsonl",
        "rules": [{"when": {"/done": "true"}, "set": {"session": "/id", "text": "/said", "ended": "/done"}}],
        "complete": "ended",
    });
    for name in ["mine", "claude"] {
        let workspace = checked(json!({"adapter": name}));
        workspace.write("quorum.yaml", json!({"presets": {name: preset}}).to_string());
        workspace.run_json(0, &[]);
        assert_eq!(workspace.lines("args"), ["edit may-edit", "edit may-edit GO s1"], "{name}");
    }
}

#[test]
fn mistakes_in_presets_are_told_where_they_stand() {
    let refused = |adapter: &str, preset: Value| -> Finished {
        let workspace =
            Mission::new().agent_with("coder", json!({"adapter": adapter})).tasks(["work"]).workspace();
        workspace.write("quorum.yaml", format!("presets:\n  mine: {preset}\n"));
        workspace.quorum(&["run", "mission.yaml"])
    };
    let rules = |set: Value| json!({"argv": ["x"], "rules": [{"when": {"/a": "b"}, "set": set}]});
    refused("claud", json!({"argv": ["x"]})).exits(2).says(&["'claud' is not an adapter", "claude"]);
    refused("mine", json!({})).exits(2).says(&["quorum.yaml:2", "argv"]);
    refused("mine", rules(json!({"txt": "/a"}))).exits(2).says(&["quorum.yaml:2", "txt"]);
    refused("mine", json!({"argv": ["x"], "formt": "jsonl"})).exits(2).says(&["formt", "format"]);
    let files = |name: &str| json!({"argv": ["x"], "files": {name: "{}"}});
    refused("mine", files("../../escaped")).exits(2).says(&["quorum.yaml:2", "escaped", "no name of a file"]);
    refused("mine", json!({"argv": ["x"], "env": {"A": "{file:gone}"}})).exits(2).says(&["no file 'gone'"]);
    refused("mine", json!({"argv": ["x"], "resumeAt": 2})).exits(2).says(&["resumeAt"]);
    refused("mine", json!({"argv": ["x"], "errors": [{"text": "a", "class": "nope"}]}))
        .exits(2)
        .says(&["nope"]);
}

#[test]
fn doctor_tells_version_and_login_of_a_program() {
    let says = "#!/bin/sh\ntouch started\ncase \"$*\" in *--version*) echo '9.9.9 (Claude Code)';; esac\n";
    let keys = |run: Value| json!({"adapter": "claude", "run": run, "env": {"ANTHROPIC_API_KEY": "k"}});
    let doctor = |run: Value| {
        let mission = Mission::new().agent_with("coder", keys(run));
        let workspace = mission.task("work", |t| t.unreviewed()).workspace();
        workspace.write("bin/claude", says);
        workspace.bash("chmod +x bin/claude").exits(0);
        let mut command = workspace.command(&["doctor"]);
        command.env("PATH", format!("{}:/usr/bin:/bin", workspace.path("bin").display()));
        let told = Running::start(command).finish().exits(0).stdout;
        (told, workspace.exists("started"))
    };
    // What comes with a repository is not started to be looked at.
    let (told, started) = doctor(json!(["bin/claude"]));
    assert!(told.contains("not asked") && !started, "{told}");
    let (told, _) = doctor(Value::Null);
    told.says(&[
        "version of coder",
        "9.9.9",
        "its preset is for 2.1.330",
        "login of coder",
        "ANTHROPIC_API_KEY is set",
    ]);
}

#[test]
fn what_is_passed_on_is_passed_where_it_is_set_and_a_key_is_in_no_file() {
    let key = "sk-secret-0123456789";
    let does = r#"say '"result":"key '$ANTHROPIC_API_KEY' zone '$TZ'"'"#;
    let workspace = Mission::new()
        .agent_with("coder", agent(does, json!({"passEnv": ["TZ", "NOT_SET_ANYWHERE"]})))
        .task("work", |t| t.unreviewed())
        .workspace();
    let mut command = workspace.command(&["run", "mission.yaml", "--run-id", "r"]);
    command.envs([("ANTHROPIC_API_KEY", key), ("TZ", "UTC")]);
    Running::start(command).finish().exits(0);
    let said = workspace.quorum(&["logs", "work"]).exits(0).stdout;
    assert!(said.contains("zone UTC") && !said.contains(key), "{said}");
    let found = workspace.other_command("grep").args(["-rl", key, ".polpo"]).output().expect("there is grep");
    assert_eq!(String::from_utf8_lossy(&found.stdout), "");
}

#[test]
fn the_schema_of_a_preset_is_printed() {
    let schema = Workspace::new().quorum(&["schema", "preset"]).exits(0).stdout;
    schema.says(&["urn:quorum:preset:v1", "lostSession", "cumulative"]);
}

#[test]
fn logs_that_are_followed_tell_what_a_program_says_and_uses() {
    let does = r#"echo '{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Write"}]}}'; sh -c 'echo > ready'
        until test -e go; do sleep 0.02; done; say '"result":"All is written."'"#;
    let workspace = Mission::new()
        .agent_with("coder", agent(does, json!({})))
        .task("work", |t| t.unreviewed())
        .workspace();
    let running = workspace.start(&["run", "mission.yaml", "--run-id", "r"]);
    wait_for_file(&workspace.path("ready"));
    let follows = workspace.start(&["logs", "work", "-f"]);
    workspace.write("go", "");
    running.finish().exits(0);
    let told = follows.finish().exits(0);
    assert!(told.stdout.contains("All is written.") && !told.stdout.contains("\"type\""), "{}", told.stdout);
}

#[test]
fn no_variable_takes_the_place_of_what_a_program_may_do() {
    for (key, value) in
        [("env", json!({"OPENCODE_CONFIG_CONTENT": "{}"})), ("passEnv", json!(["OPENCODE_CONFIG_CONTENT"]))]
    {
        let keys = json!({"adapter": "opencode", key: value});
        let workspace = Mission::new().agent_with("coder", keys).tasks(["work"]).workspace();
        workspace.quorum(&["run", "mission.yaml"]).exits(2).says(&["OPENCODE_CONFIG_CONTENT", "permissions"]);
    }
}

#[test]
fn a_program_that_needs_its_provider_does_not_begin_offline() {
    let workspace = fixing(json!({}));
    let refused = workspace.quorum(&["run", "mission.yaml", "--offline"]).exits(9);
    refused.says(&["agent 'coder'", "needs the network"]);
    assert!(!workspace.exists("args"));
}

#[test]
fn files_of_a_preset_are_written_anew_whatever_stands_in_their_place() {
    let does = r#"echo '{"done":true,"text":"'"$(cat "$SETTINGS")"'"}'; echo x > out"#;
    let preset = json!({
        "argv": ["/bin/sh", "-c", does, "mine"],
        "files": {"settings.json": "of the preset"},
        "env": {"SETTINGS": "{file:settings.json}"},
        "format": "jsonl",
        "rules": [{"when": {"/done": "true"}, "set": {"text": "/text", "ended": "/done"}}],
        "complete": "ended",
    });
    // An agent that nothing confines plants a link where the file of the next task will lie.
    let plants = "ln -s \"$PWD/decoy\" .polpo/runs/r/work/1.1.1.preset.settings.json; echo > planted";
    let workspace = Mission::new()
        .setting("sandbox", "off")
        .agent("planter", plants)
        .agent_with("coder", json!({"adapter": "mine"}))
        .task("plant", |t| t.unreviewed())
        .task("work", |t| t.by("coder").needs("plant").unreviewed())
        .workspace();
    workspace.write("quorum.yaml", json!({"presets": {"mine": preset}}).to_string());
    workspace.write("decoy", "of the user");
    workspace.quorum(&["run", "mission.yaml", "--run-id", "r"]).exits(0);
    assert_eq!(workspace.read("decoy"), "of the user");
    assert_eq!(workspace.quorum(&["logs", "work"]).exits(0).stdout, "of the preset");
}

#[test]
fn a_model_that_was_told_before_another_agent_went_on_still_counts_for_independence() {
    let limit = "You've hit your session limit · resets in 2 hours";
    let does = format!(
        r#"say '"result":"{}"' | sed 's/"is_error":false/"is_error":true/'; exit 1"#,
        limit.replace('\'', "’")
    );
    let reply = r#"{"scores": {"it": {"reasoning": "r", "score": 5}}}"#;
    let judge =
        json!({"run": format!("cat > judged; echo '{reply}'"), "role": "reviewer", "family": "claude"});
    let workspace = Mission::new()
        .agent_with("first", agent(&does, json!({"family": "unlike", "fallback": "second"})))
        .agent_with("second", json!({"run": "echo right > out", "family": "third"}))
        .agent_with("judge", judge)
        .setting("independence", "family")
        .task("work", |t| {
            let panel = json!({"type": "llm_review", "reviewers": ["judge"], "dimensions": [{"name": "it", "weight": 1}]});
            t.by("first").expects(panel)
        })
        .workspace();
    let document = workspace.run_json(6, &[]);
    assert_eq!(task(&document, "work")["agent"], "second", "{document:#}");
    let words = workspace.quorum(&["show", "work", "--full"]).stdout;
    assert!(workspace.exists("judged") && words.contains("is of the author's family, claude"), "{words}");
}
