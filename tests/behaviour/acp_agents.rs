//! Agents behind the Agent Client Protocol in missions, with a scripted server.

use serde_json::json;

use crate::support::{Mission, Says, Workspace, attempts, standing, task};

/// A server that keeps its session, and writes `wrong` in its first prompt, `right` where it goes on. With `asks` it asks first
/// whether it may run a command.
const SERVER: &str = r#"
say() { printf '{"jsonrpc":"2.0",%s}\n' "$1"; }
modes='"modes":{"availableModes":[{"id":"acceptEdits"},{"id":"default"},{"id":"plan"}]}'
ended() { say '"id":4,"result":{"stopReason":"'"$1"'","usage":{"inputTokens":100,"outputTokens":20}}'; }
work() {
  say '"method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"tool_call","toolCallId":"t","title":"write","kind":"edit","status":"completed"}}'
  if test -n "$loaded"; then echo right > out; else echo wrong > out; fi
  ended end_turn
}
while read -r line; do
  printf '%s\n' "$line" >> received
  case $line in
    *'"initialize"'*) say '"id":1,"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}' ;;
    *'"session/new"'*) say '"id":2,"result":{"sessionId":"s1",'"$modes"'}' ;;
    *'"session/load"'*) loaded=yes; say '"id":2,"result":{'"$modes"'}' ;;
    *'"session/set_mode"'*) say '"id":3,"result":null' ;;
    *'"session/prompt"'*)
      if test "$1" = asks; then
        say '"id":"a","method":"session/request_permission","params":{"sessionId":"s1","toolCall":{"toolCallId":"c","title":"make","kind":"execute","rawInput":{"command":"make"}},"options":[{"optionId":"y","kind":"allow_once"},{"optionId":"n","kind":"reject_once"}]}'
      else work; fi ;;
    *'"session/cancel"'*) ended cancelled ;;
    *'"y"'*) loaded=yes; work ;;
  esac
done"#;

fn server(what: &str, more: serde_json::Value) -> serde_json::Value {
    let mut keys = json!({"adapter": "acp", "run": ["/bin/sh", "server.sh", what]});
    keys.as_object_mut().expect("keys").extend(more.as_object().expect("keys").clone());
    keys
}

fn workspace(agent: serde_json::Value) -> Workspace {
    let workspace = Mission::new()
        .agent_with("coder", agent)
        .task("work", |t| t.set("description", "Write right.").check("grep -q right out").unreviewed())
        .workspace();
    workspace.write("server.sh", SERVER);
    workspace
}

#[test]
fn a_fix_loads_the_session_and_the_mode_is_set_each_time() {
    let workspace = workspace(server("works", json!({})));
    let document = workspace.run_json(0, &[]);
    assert_eq!(attempts(&document, "work"), ["execute", "fix"], "{document:#}");
    let received = workspace.read("received");
    assert_eq!(received.matches("session/set_mode").count(), 2, "{received}");
    assert_eq!((received.matches("session/new").count(), received.matches("session/load").count()), (1, 1));
    let prompts: Vec<&str> = received.lines().filter(|line| line.contains("session/prompt")).collect();
    assert!(prompts[0].contains("Write right.") && !prompts[1].contains("Write right."), "{prompts:#?}");
    assert_eq!(task(&document, "work")["usage"]["inputTokens"], 200, "{document:#}");
}

#[test]
fn the_tools_of_a_turn_are_handed_to_each_session_that_is_to_have_them() {
    for (tools, is_handed) in [("mcp", true), ("cli", false)] {
        let workspace = workspace(server("works", json!({"agentTools": tools})));
        workspace.run_json(0, &[]);
        let received = workspace.read("received");
        let begun =
            received.lines().filter(|line| line.contains("session/new") || line.contains("session/load"));
        let servers: Vec<serde_json::Value> = begun
            .map(|line| {
                serde_json::from_str::<serde_json::Value>(line).unwrap()["params"]["mcpServers"].take()
            })
            .collect();
        assert_eq!(servers.len(), 2, "{received}");
        for (turn, servers) in servers.iter().enumerate() {
            let count = servers.as_array().map(Vec::len);
            assert_eq!(count, Some(usize::from(is_handed)), "{servers}");
            if is_handed {
                assert_eq!(servers[0]["args"], json!(["mcp", "--task"]));
                // Each turn speaks in a folder of its own.
                let folder = &servers[0]["env"][0];
                assert_eq!(folder["name"], "QUORUM_TASK_DIR");
                let ends = format!("0.{}.{}", turn + 1, 1);
                assert!(folder["value"].as_str().unwrap().contains(&ends), "{folder}");
            }
        }
    }
}

#[test]
fn what_an_agent_must_ask_for_waits_for_a_person_whose_yes_is_for_that_once() {
    let workspace = workspace(server("asks", json!({"permissions": {"run": "ask"}})));
    let asked = workspace.run_json(8, &["--run-id", "r"]);
    assert_eq!(standing(&asked, "work").0, "awaiting_approval", "{asked:#}");
    let approval = &asked["approvals"][0];
    assert_eq!(approval["reason"], "auth", "{approval:#}");
    assert!(approval.to_string().contains("run \\\"make\\\""), "{approval:#}");
    let id = approval["id"].as_str().expect("it has an id").to_owned();
    workspace.quorum(&["approve", &id]).exits(0);
    let document = workspace.resume_json(0, &[]);
    assert_eq!(standing(&document, "work").0, "done", "{document:#}");
    let received = workspace.read("received");
    assert_eq!(received.matches("session/load").count(), 1, "it goes on in its session");
    assert_eq!(received.matches(r#""optionId":"y""#).count(), 1, "{received}");
}

#[test]
fn a_server_that_cannot_be_set_as_asked_is_refused_before_it_is_prompted() {
    let workspace = workspace(server("works", json!({"permissions": "full"})));
    let document = workspace.run_json(3, &[]);
    let message = task(&document, "work")["failure"]["message"].as_str().expect("it failed").to_owned();
    message.says(&["it offers acceptEdits, default, plan"]);
    assert!(!workspace.read("received").contains("session/prompt") && !workspace.exists("out"));
}

#[test]
fn a_judge_behind_the_protocol_may_only_look() {
    let judge = r#"case $line in *'"session/prompt"'*) say '"method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"SCORE: 90"}}}'; ended end_turn; continue;; esac"#;
    let script = SERVER.replace(
        "  case $line in\n    *'\"initialize\"'",
        &format!("  {judge}\n  case $line in\n    *'\"initialize\"'"),
    );
    assert_ne!(script, SERVER);
    let workspace = Mission::new()
        .worker("echo right > out")
        .agent_with("judge", server("judges", json!({"role": "reviewer"})))
        .task("work", |t| t)
        .workspace();
    workspace.write("server.sh", &script);
    let document = workspace.run_json(0, &[]);
    assert_eq!(standing(&document, "work"), ("done", "clean"), "{document:#}");
    assert!(workspace.read("received").contains(r#""modeId":"plan""#));
}

/// What a server can say of how a turn ended, and whether that is its own end.
const ENDS: [(&str, bool); 9] = [
    (r#""end_turn""#, true),
    (r#""max_tokens""#, false),
    (r#""max_turn_requests""#, false),
    (r#""refusal""#, false),
    (r#""cancelled""#, false),
    (r#""END_TURN""#, false),
    (r#""finished""#, false),
    ("null", false),
    ("7", false),
];

/// The server, whose prompted turns end like this.
fn ending(script: &str, end: &str) -> String {
    let ending = script.replace(r#""stopReason":"'"$1"'","#, &format!(r#""stopReason":{end},"#));
    assert_ne!(ending, script);
    ending
}

#[test]
fn false_green_52_an_acp_turn_counts_by_its_own_end_only() {
    for (end, is_good) in ENDS {
        let workspace = Mission::new()
            .setting("maxRetries", 0)
            .agent_with("coder", server("works", json!({})))
            .task("work", |t| t.check("grep -q right out").attempts(1).unreviewed())
            .workspace();
        workspace.write("server.sh", ending(&SERVER.replace("echo wrong", "echo right"), end));
        let document = workspace.run_json(if is_good { 0 } else { 3 }, &[]);
        let state = if is_good { "done" } else { "failed" };
        assert_eq!(standing(&document, "work").0, state, "{end}: {document:#}");
        assert_eq!(workspace.read("out"), "right\n", "{end}");
    }
}

#[test]
fn false_green_52_a_verdict_of_an_acp_turn_without_its_own_end_is_none() {
    let said = r#"work() { say '"method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"SCORE: 90"}}}'; ended end_turn; }
while read"#;
    let script = SERVER.replacen("while read", said, 1);
    for (end, is_good) in ENDS {
        let workspace = Mission::new()
            .setting("maxAssessmentRetries", 0)
            .worker("echo right > out")
            .agent_with("judge", server("judges", json!({"role": "reviewer"})))
            .task("work", |t| t)
            .workspace();
        workspace.write("server.sh", ending(&script, end));
        let document = workspace.run_json(if is_good { 0 } else { 6 }, &[]);
        assert_eq!(task(&document, "work")["points"].is_null(), !is_good, "{end}: {document:#}");
    }
}
