//! Recordings of real servers, played through the state machine; and whatever a server could send instead.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::options::Options;
use super::paths::Folder;
use super::turn::{DONE, FAILED, Step, TERMINATED, Turn};

const FOLDER: &str = "/srv/project";
const SERVERS: [&str; 5] = ["claude-agent-acp", "codex-acp", "gemini", "opencode", "qwen"];
const EDIT: &str = r#"{"permissions": "edit"}"#;
const READ: &str = r#"{"permissions": "read"}"#;

fn with_rules(rule: &str) -> String {
    format!(r#"{{"permissions": "full", "rules": {{"read": "{rule}", "edit": "{rule}", "run": "{rule}"}}}}"#)
}

fn turn(options: &str) -> Turn {
    let options: Options = serde_json::from_str(options).unwrap();
    Turn::new(
        options,
        Folder::new(PathBuf::from(FOLDER), Path::to_path_buf),
        "P".to_owned(),
    )
}

/// What came of a turn.
#[derive(Default)]
struct Played {
    sent: Vec<Value>,
    printed: Vec<Value>,
    exit: Option<u8>,
}

impl Played {
    fn take(&mut self, steps: Vec<Step>) {
        for step in steps {
            assert_eq!(self.exit, None, "nothing comes after the end");
            match step {
                Step::Send(message) => self.sent.push(message),
                Step::Print(line) => self.printed.push(line),
                Step::WaitAtMost(_) => {}
                Step::Exit(code) => self.exit = Some(code),
            }
        }
    }

    /// The printed lines of a type.
    fn lines(&self, kind: &str) -> Vec<&Value> {
        self.printed.iter().filter(|line| line["type"] == kind).collect()
    }

    fn line(&self, kind: &str) -> &Value {
        match self.lines(kind).as_slice() {
            [line] => line,
            other => panic!("{} lines {kind} in {:#?}", other.len(), self.printed),
        }
    }

    fn types(&self) -> Vec<&str> {
        self.printed
            .iter()
            .map(|line| line["type"].as_str().unwrap())
            .collect()
    }

    fn methods(&self) -> Vec<&str> {
        self.sent
            .iter()
            .filter_map(|message| message["method"].as_str())
            .collect()
    }
}

fn recording(server: &str, scene: &str) -> Vec<(bool, Value)> {
    let path = format!(
        "{}/fixtures/agents/acp/{server}/{scene}.wire",
        env!("CARGO_MANIFEST_DIR")
    );
    let text = fs::read_to_string(path).unwrap();
    let read = |line: &str| (line.starts_with('<'), serde_json::from_str(&line[2..]).unwrap());
    text.lines().map(read).collect()
}

/// Plays what a server sent, with the ids of our own requests; what its client asked for must have been asked for by us.
fn play_with(turn: &mut Turn, server: &str, scene: &str) -> Played {
    let mut played = Played::default();
    played.take(turn.begin());
    let mut ids: HashMap<u64, Value> = HashMap::new();
    for (is_of_server, mut message) in recording(server, scene) {
        if !is_of_server {
            let Some(method) = message["method"].as_str() else {
                continue;
            };
            let ours = played.sent.iter().rev().find(|ours| ours["method"] == method);
            match ours {
                Some(ours) => {
                    drop(ids.insert(message["id"].as_u64().unwrap_or_default(), ours["id"].clone()))
                }
                // We log in only where we must, and cancel only where somebody wants us to.
                None => assert!(
                    ["authenticate", "session/cancel"].contains(&method),
                    "{server} {scene}: {method}"
                ),
            }
            continue;
        }
        if message.get("method").is_none() {
            let Some(id) = message["id"].as_u64().and_then(|id| ids.get(&id)) else {
                continue;
            };
            message["id"] = id.clone();
        }
        if played.exit.is_none() {
            played.take(turn.line(message.to_string().as_bytes()));
        }
    }
    played
}

fn play(server: &str, scene: &str, options: &str) -> Played {
    play_with(&mut turn(options), server, scene)
}

fn usage(input: u64, output: u64, cost: Option<f64>, is_partial: bool) -> (u64, u64, Option<f64>, bool) {
    (input, output, cost, is_partial)
}

fn used(line: &Value) -> (u64, u64, Option<f64>, bool) {
    let number = |key: &str| line[key].as_u64().unwrap_or_default();
    (
        number("inputTokens"),
        number("outputTokens"),
        line["cost"].as_f64(),
        line["partial"] == true,
    )
}

#[test]
fn each_server_does_what_it_was_allowed_to() {
    for server in SERVERS {
        let played = play(server, "ok", &with_rules("allow"));
        assert_eq!(played.exit, Some(DONE), "{server}: {:#?}", played.printed);
        let (name, kind, title) = match server {
            "claude-agent-acp" => ("Write", "edit", "Write hello.txt"),
            "codex-acp" => (
                "execute",
                "execute",
                "printf 'hello from fake model\\n' > /srv/project/hello.txt",
            ),
            "gemini" => ("write_file", "edit", "Writing to hello.txt"),
            "opencode" => ("write", "edit", "write"),
            _ => ("write_file", "edit", "Writing to hello.txt"),
        };
        let tool = played.line("tool");
        assert_eq!(
            (&tool["name"], &tool["kind"], &tool["title"]),
            (&name.into(), &kind.into(), &title.into())
        );
        assert_eq!(played.line("tool_end")["status"], "completed", "{server}");
        assert_eq!(played.line("tool_end")["id"], tool["id"], "{server}");
        assert_eq!(
            played.lines("text").last().unwrap()["text"],
            "DONE: hello.txt handled."
        );
        let expected = match server {
            "claude-agent-acp" => usage(200, 40, Some(0.0024), false),
            "opencode" => usage(100, 20, Some(0.000_28), true),
            _ => usage(200, 40, None, false),
        };
        assert_eq!(used(played.line("usage")), expected, "{server}");
        assert_eq!(
            *played.printed.last().unwrap(),
            json!({"type": "end", "stopReason": "end_turn"})
        );
        assert_eq!(played.types()[..2], ["session", "mode"], "{server}");
        assert_eq!(played.line("session")["resumed"], false);
        let outcome = played
            .sent
            .iter()
            .find_map(|message| message["result"]["outcome"]["optionId"].as_str());
        let once = ["allow-once", "allow_once", "proceed_once", "once", "proceed_once"];
        let at = SERVERS.iter().position(|other| *other == server).unwrap();
        assert_eq!(outcome, Some(once[at]));
    }
}

#[test]
fn what_each_server_is_asked_is_what_was_recorded() {
    for server in SERVERS {
        let played = play(server, "ok", &with_rules("allow"));
        let recorded = recording(server, "ok")
            .into_iter()
            .filter(|(is_of_server, _)| !is_of_server);
        let recorded = recorded
            .map(|(_, message)| message)
            .filter(|message| message["method"] != "authenticate");
        let known = |mut message: Value| {
            // Of errors the code counts; of requests everything but their number and what is ours.
            if message.get("method").is_some() {
                message["id"].take();
                message["params"]["clientInfo"].take();
                message["params"]["prompt"].take();
            }
            message
        };
        let recorded: Vec<Value> = recorded.map(known).collect();
        let sent: Vec<Value> = played.sent.into_iter().map(known).collect();
        assert_eq!(sent, recorded, "{server}");
    }
}

#[test]
fn a_request_is_denied_where_the_rules_say_so() {
    for server in SERVERS {
        let played = play(server, "asked", &with_rules("deny"));
        let denied = played.line("denied");
        let tool = played.line("tool");
        assert_eq!(denied["tool"], tool["name"], "{server}");
        if server == "codex-acp" {
            // It ends the turn there.
            assert_eq!(played.exit, Some(FAILED));
            assert_eq!(played.line("error")["kind"], "cancelled");
        } else {
            assert_eq!(played.exit, Some(DONE), "{server}");
            // gemini does not tell the end of what was denied.
            assert_eq!(played.lines("tool_end").len(), usize::from(server != "gemini"));
            assert!(
                played
                    .lines("tool_end")
                    .iter()
                    .all(|line| line["status"] == "failed"),
                "{server}"
            );
        }
        let outcome = played
            .sent
            .iter()
            .find_map(|message| message["result"]["outcome"]["optionId"].as_str());
        assert!(["reject", "cancel"].contains(&outcome.unwrap()), "{server}");
    }
}

#[test]
fn a_person_is_asked_and_what_was_allowed_is_allowed_once() {
    for server in SERVERS {
        let mut turn_that_asks = turn(&with_rules("ask"));
        let played = play_with(&mut turn_that_asks, server, "asked");
        let permission = played.line("permission");
        let wish = permission["wish"].as_str().unwrap().to_owned();
        let (expected, kind) = match server {
            "codex-acp" => (
                r#"run "printf 'hello from fake model\\n' > /srv/project/hello.txt""#,
                "execute",
            ),
            _ => (r#"edit "hello.txt""#, "edit"),
        };
        assert_eq!(
            (wish.as_str(), &permission["kind"]),
            (expected, &kind.into()),
            "{server}"
        );
        assert_eq!(played.methods().last(), Some(&"session/cancel"), "{server}");
        let outcome = played
            .sent
            .iter()
            .find(|message| !message["result"].is_null())
            .unwrap();
        assert_eq!(outcome["result"]["outcome"]["outcome"], "cancelled");
        // The recorded server ends its turn.
        assert_eq!(played.exit, Some(DONE), "{server}");
        assert!(
            played.lines("end").is_empty() && played.lines("error").is_empty(),
            "{server}"
        );
        assert_eq!(used(played.line("usage")).0 % 100, 0, "{server}");

        let mut allowed: Value = serde_json::from_str(&with_rules("ask")).unwrap();
        allowed["allowed"] = wish.into();
        let played = play(server, "ok", &allowed.to_string());
        assert_eq!(played.exit, Some(DONE), "{server}");
        assert!(played.lines("permission").is_empty() && played.line("end")["stopReason"] == "end_turn");
        allowed["allowed"] = "run \"something else\"".into();
        assert_eq!(
            play(server, "ok", &allowed.to_string()).lines("permission").len(),
            1,
            "{server}"
        );
    }
}

#[test]
fn who_may_only_read_is_set_to_a_mode_for_that_and_denied_the_rest() {
    for server in SERVERS {
        let played = play(server, "read", READ);
        assert_eq!(played.exit, Some(DONE), "{server}");
        let mode = if server == "codex-acp" {
            "read-only"
        } else {
            "plan"
        };
        assert_eq!(played.line("mode")["id"], mode);
        assert_eq!(
            played.lines("denied").len(),
            usize::from(server == "claude-agent-acp"),
            "{server}"
        );
        assert!(
            played
                .lines("tool_end")
                .iter()
                .all(|line| line["status"] == "failed")
                || server == "codex-acp"
        );
    }
}

#[test]
fn who_may_edit_edits_unasked() {
    for server in SERVERS {
        let played = play(server, "edit", EDIT);
        assert_eq!(played.exit, Some(DONE), "{server}: {:#?}", played.printed);
        assert_eq!(played.line("tool_end")["status"], "completed", "{server}");
    }
}

/// Each recorded failure: words of the message, code, status, kind.
type Failed = (
    &'static str,
    &'static str,
    &'static str,
    Option<i64>,
    Option<u16>,
    Option<&'static str>,
);

const FAILURES: [Failed; 23] = [
    (
        "claude-agent-acp",
        "e401",
        "Authentication required",
        Some(-32000),
        None,
        None,
    ),
    (
        "claude-agent-acp",
        "e402",
        "API Error: 402 Insufficient",
        Some(-32603),
        Some(402),
        Some("unknown"),
    ),
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
    (
        "claude-agent-acp",
        "e500",
        "API Error: 500 Internal",
        Some(-32603),
        Some(500),
        Some("server_error"),
    ),
    (
        "claude-agent-acp",
        "ctx",
        "Prompt is too long",
        Some(-32603),
        None,
        Some("invalid_request"),
    ),
    (
        "codex-acp",
        "e401",
        "Authentication required",
        Some(-32000),
        None,
        None,
    ),
    (
        "codex-acp",
        "e402",
        "unexpected status 402",
        None,
        Some(402),
        Some("responseStreamDisconnected"),
    ),
    (
        "codex-acp",
        "e429",
        "exceeded retry limit",
        None,
        Some(429),
        Some("responseStreamDisconnected"),
    ),
    (
        "codex-acp",
        "window",
        "You’ve hit your usage limit",
        Some(-32603),
        None,
        Some("usageLimitExceeded"),
    ),
    (
        "codex-acp",
        "e500",
        "We’re currently",
        None,
        None,
        Some("responseStreamDisconnected"),
    ),
    (
        "codex-acp",
        "ctx",
        "prompt is too long",
        None,
        None,
        Some("context_length_exceeded"),
    ),
    (
        "gemini",
        "e401",
        "invalid x-api-key (fake)",
        Some(401),
        Some(401),
        None,
    ),
    (
        "gemini",
        "e402",
        "Insufficient credits",
        Some(402),
        Some(402),
        None,
    ),
    (
        "gemini",
        "e429",
        "Rate limit exceeded",
        Some(429),
        Some(429),
        None,
    ),
    (
        "gemini",
        "e500",
        "Internal server error",
        Some(500),
        Some(500),
        None,
    ),
    ("gemini", "ctx", "prompt is too long", Some(400), Some(400), None),
    (
        "opencode",
        "e401",
        "invalid x-api-key (fake)",
        Some(-32603),
        None,
        Some("APIError"),
    ),
    (
        "opencode",
        "e429",
        "Rate limit exceeded",
        Some(-32603),
        None,
        Some("APIError"),
    ),
    (
        "opencode",
        "ctx",
        "Session too large to compact",
        Some(-32603),
        None,
        Some("ContextOverflowError"),
    ),
    (
        "qwen",
        "e401",
        "401 invalid x-api-key (fake)",
        Some(-32603),
        Some(401),
        None,
    ),
    (
        "qwen",
        "e402",
        "402 Insufficient credits",
        Some(-32603),
        Some(402),
        None,
    ),
    (
        "qwen",
        "ctx",
        "400 prompt is too long",
        Some(-32603),
        Some(400),
        None,
    ),
];

#[test]
fn a_failure_is_an_error_with_everything_the_server_told() {
    for (server, scene, words, code, status, kind) in FAILURES {
        let played = play(server, scene, EDIT);
        assert_eq!(played.exit, Some(FAILED), "{server} {scene}");
        let error = played.line("error");
        let message = error["message"].as_str().unwrap();
        assert!(message.starts_with(words), "{server} {scene}: {message}");
        let told = (
            error["code"].as_i64(),
            error["status"].as_u64(),
            error["kind"].as_str(),
        );
        assert_eq!(told, (code, status.map(u64::from), kind), "{server} {scene}");
        assert!(played.lines("end").is_empty(), "{server} {scene}");
    }
}

#[test]
fn a_server_that_is_silent_is_waited_for() {
    for (server, scene) in [("gemini", "window"), ("opencode", "window"), ("opencode", "e500")] {
        let played = play(server, scene, EDIT);
        assert_eq!(
            (played.exit, played.methods().last()),
            (None, Some(&"session/prompt")),
            "{server} {scene}"
        );
    }
}

#[test]
fn a_turn_that_is_to_end_is_cancelled_first() {
    for server in SERVERS {
        let mut turn = turn(EDIT);
        let mut played = play_with(&mut turn, server, "edit");
        assert!(turn.terminate().is_empty(), "it is over");
        assert_eq!(played.exit, Some(DONE));

        // Until the prompt is out there is nothing to cancel.
        let mut turn = self::turn(EDIT);
        played = Played::default();
        played.take(turn.begin());
        played.take(turn.terminate());
        assert_eq!(played.exit, Some(TERMINATED));
    }
    let mut turn = turn(EDIT);
    let mut played = play_with(&mut turn, "gemini", "window");
    played.take(turn.terminate());
    assert_eq!(
        (played.exit, played.methods().last()),
        (None, Some(&"session/cancel"))
    );
    played.take(turn.time_is_up());
    assert_eq!(played.exit, Some(TERMINATED));
    assert!(played.lines("error").is_empty());
}

#[test]
fn a_cancelled_turn_that_nobody_here_cancelled_has_failed() {
    for server in SERVERS {
        let played = play(server, "cancel", EDIT);
        assert_eq!(played.exit, Some(FAILED), "{server}");
        assert_eq!(played.line("error")["kind"], "cancelled", "{server}");
    }
}

#[test]
fn a_server_without_a_login_is_logged_in_where_that_needs_nobody() {
    for server in ["codex-acp", "gemini"] {
        let mut turn = turn(EDIT);
        let mut played = play_with(&mut turn, server, "noauth");
        let login = played.sent.last().unwrap().clone();
        let method = if server == "gemini" {
            "gemini-api-key"
        } else {
            "api-key"
        };
        assert_eq!(
            (&login["method"], &login["params"]["methodId"]),
            (&"authenticate".into(), &method.into())
        );
        let answer = |id: &Value, rest: Value| {
            let mut answer = rest;
            answer["id"] = id.clone();
            answer.to_string()
        };
        played.take(turn.line(answer(&login["id"], json!({"result": {}})).as_bytes()));
        let again = played.sent.last().unwrap().clone();
        assert_eq!(again["method"], "session/new");
        // Once is enough.
        let refused = json!({"error": {"code": -32000, "message": "Authentication required"}});
        played.take(turn.line(answer(&again["id"], refused).as_bytes()));
        assert_eq!(
            (played.exit, played.line("error")["code"].as_i64()),
            (Some(FAILED), Some(-32000))
        );
    }
    for server in ["qwen", "claude-agent-acp"] {
        let played = play(server, "noauth", EDIT);
        assert_eq!(
            (played.exit, played.line("error")["code"].as_i64()),
            (Some(FAILED), Some(-32000)),
            "{server}"
        );
        assert!(!played.methods().contains(&"authenticate"), "{server}");
    }
}

/// A server that is told what to answer, method by method.
fn talk(options: &str, answers: &[(&str, Value)]) -> (Turn, Played) {
    let mut turn = turn(options);
    let mut played = Played::default();
    played.take(turn.begin());
    for (method, answer) in answers {
        let asked = played.sent.last().unwrap();
        assert_eq!(asked["method"], *method, "{:#?}", played.printed);
        let mut answer = answer.clone();
        answer["id"] = asked["id"].clone();
        played.take(turn.line(answer.to_string().as_bytes()));
    }
    (turn, played)
}

fn capabilities(resumes: bool) -> Value {
    let session = if resumes { json!({"resume": {}}) } else { json!({}) };
    json!({"result": {
        "protocolVersion": 1, "agentCapabilities": {"loadSession": true, "sessionCapabilities": session}
    }})
}

fn opened() -> Value {
    json!({"result": {"sessionId": "new", "modes": {"availableModes": [{"id": "acceptEdits"}]}}})
}

const IN_SESSION: &str = r#"{"permissions": "edit", "session": "old"}"#;

#[test]
fn a_session_is_gone_on_in_as_the_server_can() {
    for (resumes, method) in [(true, "session/resume"), (false, "session/load")] {
        let answers = [
            ("initialize", capabilities(resumes)),
            (method, opened()),
            ("session/set_mode", json!({"result": {}})),
        ];
        let (_, played) = talk(IN_SESSION, &answers);
        assert_eq!(
            *played.line("session"),
            json!({"type": "session", "id": "old", "resumed": true})
        );
        assert_eq!(played.sent.last().unwrap()["params"]["sessionId"], "old");
    }
}

#[test]
fn a_session_that_is_lost_is_told_and_another_one_opened() {
    let lost = json!({"error": {"code": -32603, "message": "Internal error: no such session"}});
    let answers = [
        ("initialize", capabilities(true)),
        ("session/resume", lost),
        ("session/new", opened()),
    ];
    let (_, played) = talk(IN_SESSION, &answers);
    let told = json!({"type": "session_lost", "id": "old", "message": "no such session"});
    assert_eq!(*played.line("session_lost"), told);
    assert_eq!(
        *played.line("session"),
        json!({"type": "session", "id": "new", "resumed": false})
    );

    let nothing = json!({"result": {"protocolVersion": 1}});
    let (_, played) = talk(IN_SESSION, &[("initialize", nothing), ("session/new", opened())]);
    assert_eq!(played.types(), ["session_lost", "session"]);
}

#[test]
fn what_a_server_tells_of_earlier_turns_is_no_part_of_this_one() {
    let (mut turn, mut played) = talk(IN_SESSION, &[("initialize", capabilities(false))]);
    let update =
        |update: Value| json!({"method": "session/update", "params": {"sessionId": "old", "update": update}});
    let text = |text: &str| json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}});
    let cost =
        |amount: f64| json!({"sessionUpdate": "usage_update", "cost": {"amount": amount, "currency": "USD"}});
    let tool = json!({"sessionUpdate": "tool_call", "toolCallId": "t", "status": "completed"});
    for old in [text("old words"), cost(0.1), tool] {
        played.take(turn.line(update(old).to_string().as_bytes()));
    }
    for (method, result) in [
        ("session/load", opened()["result"].clone()),
        ("session/set_mode", json!({})),
    ] {
        let asked = played.sent.last().unwrap();
        assert_eq!(asked["method"], method);
        let answer = json!({"id": asked["id"], "result": result});
        played.take(turn.line(answer.to_string().as_bytes()));
    }
    let id = played.sent.last().unwrap()["id"].clone();
    for new in [
        update(text("new words")),
        update(cost(0.3)),
        json!({"id": id, "result": {"stopReason": "end_turn"}}),
    ] {
        played.take(turn.line(new.to_string().as_bytes()));
    }
    assert_eq!(played.types(), ["session", "mode", "text", "usage", "end"]);
    assert_eq!(played.line("text")["text"], "new words");
    assert_eq!(used(played.line("usage")), usage(0, 0, Some(0.2), false));
}

#[test]
fn a_mode_that_the_server_refuses_or_leaves_ends_the_turn() {
    let start = [("initialize", capabilities(true)), ("session/new", opened())];
    let refused = json!({"error": {"code": -32602, "message": "no"}});
    let (_, played) = talk(EDIT, &[&start[..], &[("session/set_mode", refused)]].concat());
    assert_eq!(
        played.line("error")["message"],
        "the server refuses acceptEdits: no"
    );
    assert_eq!(played.exit, Some(FAILED));

    let other = |mode: &str| {
        let update = json!({"sessionUpdate": "current_mode_update", "currentModeId": mode});
        json!({"method": "session/update", "params": {"sessionId": "new", "update": update}}).to_string()
    };
    let (mut turn, mut played) = talk(EDIT, &start);
    played.take(turn.line(other("default").as_bytes()));
    let id = played.sent.last().unwrap()["id"].clone();
    played.take(turn.line(json!({"id": id, "result": {}}).to_string().as_bytes()));
    assert_eq!(
        played.line("error")["message"],
        "the server was set to the mode acceptEdits and stays in default"
    );

    let (mut turn, mut played) = talk(
        EDIT,
        &[&start[..], &[("session/set_mode", json!({"result": {}}))]].concat(),
    );
    played.take(turn.line(other("plan").as_bytes()));
    assert_eq!(played.exit, None);
    played.take(turn.line(other("bypassPermissions").as_bytes()));
    assert_eq!(played.exit, Some(FAILED));
}

#[test]
fn a_server_that_ends_early_or_prints_anything_else_is_an_error_with_its_last_words() {
    let (mut turn, mut played) = talk(EDIT, &[]);
    turn.words("  panic: no more\n");
    turn.words("\n");
    played.take(turn.broken("the server ended"));
    assert_eq!(
        played.line("error")["message"],
        "the server ended; its last words: panic: no more"
    );
    let (mut turn, mut played) = talk(EDIT, &[]);
    played.take(turn.line(b" \r"));
    assert_eq!(played.exit, None);
    played.take(turn.line(b"Usage: server"));
    assert_eq!(
        played.line("error")["message"],
        "the server printed what is no message: Usage: server"
    );
    assert!(turn.line(b"more").is_empty() && turn.broken("again").is_empty() && turn.time_is_up().is_empty());
    let version = json!({"result": {"protocolVersion": 2}});
    assert_eq!(talk(EDIT, &[("initialize", version)]).1.exit, Some(FAILED));
}

#[test]
fn files_terminals_and_extensions_are_refused() {
    let start = [("initialize", capabilities(true)), ("session/new", opened())];
    let (mut turn, mut played) = talk(EDIT, &start);
    for method in [
        "fs/read_text_file",
        "fs/write_text_file",
        "terminal/create",
        "_x/y",
    ] {
        let request = json!({"id": format!("id of {method}"), "method": method, "params": {"path": "a"}});
        played.take(turn.line(request.to_string().as_bytes()));
        let answer = played.sent.last().unwrap();
        assert_eq!(
            (answer["id"].as_str(), &answer["error"]["code"]),
            (request["id"].as_str(), &(-32601).into())
        );
    }
}

fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-z_/]{0,8}|end_turn|edit|allow_once|s".prop_map(Value::from),
    ];
    let keys = "[a-z]{1,3}|id|method|params|update|result|error|sessionUpdate|toolCallId|toolCall|options|rawInput|\
                locations|path|content|text|_meta|codex|modes|availableModes|cost|amount|code|message|data|kind";
    leaf.prop_recursive(4, 32, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((keys, inner), 0..6).prop_map(|pairs| pairs.into_iter().collect()),
        ]
    })
}

/// Puts `other` in the place number `at` of a value.
fn replace(value: &mut Value, at: &mut usize, other: &Value) {
    if *at == 0 {
        *value = other.clone();
    }
    *at = at.wrapping_sub(1);
    match value {
        Value::Array(entries) if *at < 10_000 => {
            entries.iter_mut().for_each(|entry| replace(entry, at, other))
        }
        Value::Object(entries) if *at < 10_000 => {
            entries.values_mut().for_each(|entry| replace(entry, at, other))
        }
        _ => {}
    }
}

proptest! {
    #[test]
    fn no_value_anywhere_in_a_message_makes_it_panic(
        server in 0..SERVERS.len(),
        scene in prop::sample::select(vec!["ok", "asked", "e402", "read", "edit"]),
        places in prop::collection::vec((0..20_usize, 0..40_usize, anything()), 1..4),
        rule in prop::sample::select(vec!["allow", "ask", "deny"]),
    ) {
        let mut turn = turn(&with_rules(rule));
        let mut played = Played::default();
        played.take(turn.begin());
        let messages = recording(SERVERS[server], scene).into_iter().filter(|(is_of_server, _)| *is_of_server);
        for (number, (_, mut message)) in messages.enumerate() {
            if message.get("method").is_none() {
                message["id"] = played.sent.iter().rev().find_map(|sent| sent.get("method").and(sent.get("id"))).cloned().into();
            }
            for (_, at, other) in places.iter().filter(|(line, _, _)| *line == number) {
                replace(&mut message, &mut at.clone(), other);
            }
            let steps = turn.line(message.to_string().as_bytes());
            let is_over = played.exit.is_some();
            prop_assert!(!is_over || steps.is_empty());
            played.take(steps);
        }
        played.take(turn.terminate());
        played.take(turn.time_is_up());
        played.take(turn.broken("it ended"));
        prop_assert!(played.exit.is_some());
        prop_assert!(played.lines("end").len() + played.lines("error").len() + played.lines("permission").len() <= 1);
    }

    #[test]
    fn no_bytes_make_it_panic(lines in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 0..8)) {
        let mut turn = turn(EDIT);
        turn.begin();
        for line in lines {
            turn.line(&line);
        }
    }

    #[test]
    fn a_message_that_is_broken_anywhere_is_no_message_and_no_panic(at in 0..4_000_usize, byte in any::<u8>()) {
        let mut turn = turn(&with_rules("ask"));
        let mut played = Played::default();
        played.take(turn.begin());
        let text = fs::read(format!("{}/fixtures/agents/acp/gemini/ok.wire", env!("CARGO_MANIFEST_DIR"))).unwrap();
        let mut text = text;
        text[at] = byte;
        for line in text.split(|byte| *byte == b'\n').filter_map(|line| line.strip_prefix(b"< ")) {
            turn.line(line);
        }
    }
}
