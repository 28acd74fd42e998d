//! Recordings of real servers, played through the state machine.

mod failed;
mod talks;
mod whatever;

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::options::Options;
use super::paths::WorkingFolder;
use super::turn::{DONE, FAILED, TERMINATED, Turn, TurnStep};

const FOLDER: &str = "/srv/project";
const SERVERS: [&str; 5] = ["claude-agent-acp", "codex-acp", "gemini", "opencode", "qwen"];
const EDIT: &str = r#"{"permissions": "edit"}"#;
const READ: &str = r#"{"permissions": "read"}"#;

fn with_rules(rule: &str) -> String {
    format!(r#"{{"permissions": "full", "rules": {{"read": "{rule}", "edit": "{rule}", "run": "{rule}"}}}}"#)
}

fn turn(options: &str) -> Turn {
    let options: Options = serde_json::from_str(options).unwrap();
    Turn::new(options, WorkingFolder::new(PathBuf::from(FOLDER), Path::to_path_buf), "P".to_owned())
}

/// What came of a turn.
#[derive(Default)]
struct Played {
    sent: Vec<Value>,
    printed: Vec<Value>,
    exit: Option<u8>,
}

impl Played {
    fn take(&mut self, steps: Vec<TurnStep>) {
        for step in steps {
            assert_eq!(self.exit, None, "nothing comes after the end");
            match step {
                TurnStep::Send(message) => self.sent.push(message),
                TurnStep::Print(line) => self.printed.push(line),
                TurnStep::WaitAtMost(_) => {}
                TurnStep::Exit(code) => self.exit = Some(code),
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
        self.printed.iter().map(|line| line["type"].as_str().unwrap()).collect()
    }

    fn methods(&self) -> Vec<&str> {
        self.sent.iter().filter_map(|message| message["method"].as_str()).collect()
    }
}

fn recording(server: &str, scene: &str) -> Vec<(bool, Value)> {
    let path = format!("{}/fixtures/agents/acp/{server}/{scene}.wire", env!("CARGO_MANIFEST_DIR"));
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
    (number("inputTokens"), number("outputTokens"), line["cost"].as_f64(), line["partial"] == true)
}

#[test]
fn each_server_does_what_it_was_allowed_to() {
    for server in SERVERS {
        let played = play(server, "ok", &with_rules("allow"));
        assert_eq!(played.exit, Some(DONE), "{server}: {:#?}", played.printed);
        let (name, kind, title) = match server {
            "claude-agent-acp" => ("Write", "edit", "Write hello.txt"),
            "codex-acp" => {
                ("execute", "execute", "printf 'hello from fake model\\n' > /srv/project/hello.txt")
            }
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
        assert_eq!(played.lines("text").last().unwrap()["text"], "DONE: hello.txt handled.");
        let expected = match server {
            "claude-agent-acp" => usage(200, 40, Some(0.0024), false),
            "opencode" => usage(100, 20, Some(0.000_28), true),
            _ => usage(200, 40, None, false),
        };
        assert_eq!(used(played.line("usage")), expected, "{server}");
        assert_eq!(*played.printed.last().unwrap(), json!({"type": "end", "stopReason": "end_turn"}));
        assert_eq!(played.types()[..2], ["session", "mode"], "{server}");
        assert_eq!(played.line("session")["resumed"], false);
        let outcome =
            played.sent.iter().find_map(|message| message["result"]["outcome"]["optionId"].as_str());
        let once = ["allow-once", "allow_once", "proceed_once", "once", "proceed_once"];
        let at = SERVERS.iter().position(|other| *other == server).unwrap();
        assert_eq!(outcome, Some(once[at]));
    }
}

#[test]
fn what_each_server_is_asked_is_what_was_recorded() {
    for server in SERVERS {
        let played = play(server, "ok", &with_rules("allow"));
        let recorded = recording(server, "ok").into_iter().filter(|(is_of_server, _)| !is_of_server);
        let recorded =
            recorded.map(|(_, message)| message).filter(|message| message["method"] != "authenticate");
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
            assert!(played.lines("tool_end").iter().all(|line| line["status"] == "failed"), "{server}");
        }
        let outcome =
            played.sent.iter().find_map(|message| message["result"]["outcome"]["optionId"].as_str());
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
            "codex-acp" => (r#"run "printf 'hello from fake model\\n' > /srv/project/hello.txt""#, "execute"),
            _ => (r#"edit "hello.txt""#, "edit"),
        };
        assert_eq!((wish.as_str(), &permission["kind"]), (expected, &kind.into()), "{server}");
        assert_eq!(played.methods().last(), Some(&"session/cancel"), "{server}");
        let outcome = played.sent.iter().find(|message| !message["result"].is_null()).unwrap();
        assert_eq!(outcome["result"]["outcome"]["outcome"], "cancelled");
        // The recorded server ends its turn.
        assert_eq!(played.exit, Some(DONE), "{server}");
        assert!(played.lines("end").is_empty() && played.lines("error").is_empty(), "{server}");
        assert_eq!(used(played.line("usage")).0 % 100, 0, "{server}");

        let mut allowed: Value = serde_json::from_str(&with_rules("ask")).unwrap();
        allowed["allowed"] = wish.into();
        let played = play(server, "ok", &allowed.to_string());
        assert_eq!(played.exit, Some(DONE), "{server}");
        assert!(played.lines("permission").is_empty() && played.line("end")["stopReason"] == "end_turn");
        allowed["allowed"] = "run \"something else\"".into();
        assert_eq!(play(server, "ok", &allowed.to_string()).lines("permission").len(), 1, "{server}");
    }
}

#[test]
fn who_may_only_read_is_set_to_a_mode_for_that_and_denied_the_rest() {
    for server in SERVERS {
        let played = play(server, "read", READ);
        assert_eq!(played.exit, Some(DONE), "{server}");
        let mode = if server == "codex-acp" { "read-only" } else { "plan" };
        assert_eq!(played.line("mode")["id"], mode);
        assert_eq!(played.lines("denied").len(), usize::from(server == "claude-agent-acp"), "{server}");
        assert!(
            played.lines("tool_end").iter().all(|line| line["status"] == "failed") || server == "codex-acp"
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
    assert_eq!((played.exit, played.methods().last()), (None, Some(&"session/cancel")));
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
        let method = if server == "gemini" { "gemini-api-key" } else { "api-key" };
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
        assert_eq!((played.exit, played.line("error")["code"].as_i64()), (Some(FAILED), Some(-32000)));
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
