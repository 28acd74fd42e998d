//! One turn of an agent that speaks ACP, through the binary, with a scripted server.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{Finished, Running, Workspace, is_alive, read_pid};

const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/agents/acp/server.sh");
const EDIT: &str = r#"{"permissions":"edit"}"#;

/// Starts a turn with the scripted server.
fn start(workspace: &Workspace, options: &str, what: &str) -> Running {
    workspace.write("prompt", "Do it");
    let mut command = workspace.other_command("sh");
    let script = r#"exec "$0" --acp-turn sh "$1" "$2" < prompt"#;
    command.args(["-c", script, crate::support::BINARY, SERVER, what]).env("QUORUM_ACP_TURN", options);
    Running::start(command)
}

fn turn(workspace: &Workspace, options: &str, what: &str) -> Finished {
    start(workspace, options, what).finish()
}

fn lines(finished: &Finished) -> Vec<Value> {
    finished.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The message of the error that it must have ended with.
fn error(finished: Finished) -> String {
    let last = lines(&finished.exits(1)).pop().unwrap();
    assert_eq!(last["type"], "error", "{last}");
    last["message"].as_str().unwrap().to_owned()
}

#[test]
fn a_turn_is_told_in_lines_and_the_server_sees_only_what_is_its() {
    let workspace = Workspace::new();
    let finished = turn(&workspace, EDIT, "work").exits(0);
    let folder = workspace.root().canonicalize().unwrap();
    let usage = json!({
        "type": "usage", "inputTokens": 3, "outputTokens": 2, "cacheRead": null, "cacheWrite": null,
        "cost": null, "sessionCost": null
    });
    let expected = [
        json!({"type": "session", "id": null, "resumed": false}),
        json!({"type": "mode", "id": "acceptEdits"}),
        json!({"type": "text", "text": format!("in {} with []", folder.display())}),
        usage,
        json!({"type": "end", "stopReason": "end_turn"}),
    ];
    assert_eq!(lines(&finished), expected);
    assert!(workspace.read("received").contains(r#""text":"Do it""#));
}

#[test]
fn a_mode_that_is_refused_ends_the_turn() {
    let workspace = Workspace::new();
    assert_eq!(error(turn(&workspace, EDIT, "refuse")), "the server refuses acceptEdits: not today");
    assert!(!workspace.read("received").contains("session/prompt"));
    let full = error(turn(&workspace, r#"{"permissions":"full"}"#, "work"));
    assert!(full.ends_with("it offers acceptEdits, default"), "{full}");
}

#[test]
fn a_person_is_asked_for_what_the_rules_leave_to_one() {
    let workspace = Workspace::new();
    let mut options =
        json!({"permissions": "edit", "rules": {"read": "allow", "edit": "allow", "run": "ask"}});
    let asked = lines(&turn(&workspace, &options.to_string(), "ask").exits(0));
    let permission = json!({"type": "permission", "wish": "run \"cargo test\"", "kind": "execute"});
    assert!(asked.contains(&permission), "{asked:?}");
    assert!(!asked.iter().any(|line| ["end", "error"].contains(&line["type"].as_str().unwrap())));
    let received = workspace.read("received");
    assert!(received.contains("session/cancel") && received.contains(r#""outcome":"cancelled""#));

    options["allowed"] = permission["wish"].clone();
    let allowed = lines(&turn(&workspace, &options.to_string(), "ask").exits(0));
    assert_eq!(allowed.last().unwrap()["type"], "end");
}

#[test]
fn a_server_that_dies_or_prints_anything_else_is_an_error() {
    let workspace = Workspace::new();
    let died = turn(&workspace, EDIT, "die").says(&["first words", "out of order"]);
    let message = "the server ended before the turn did (exit status: 3); its last words: out of order";
    assert_eq!(error(died), message);
    let message = error(turn(&workspace, EDIT, "garbage"));
    let ended = "the server ended before the turn did (exit status: 139); its last words: Segmentation fault";
    assert_eq!(message, ended);
    let message = error(turn(&workspace, EDIT, "babble"));
    assert!(
        message.starts_with("the server printed 1000 lines that are no messages: no message"),
        "{message}"
    );
    let message = error(turn(&workspace, EDIT, "long"));
    assert_eq!(message, "the server printed a line of more than 8 MiB");
    let message = error(turn(&workspace, EDIT, "deaf"));
    assert_eq!(message, "the server does not read what it asks for");
}

#[test]
fn lines_of_a_log_and_noise_beside_messages_are_skipped() {
    let workspace = Workspace::new();
    let told = lines(&turn(&workspace, EDIT, "noise").exits(0));
    assert!(told.contains(&json!({"type": "text", "text": "heard"})), "{told:?}");
    assert_eq!(told.last().unwrap()["stopReason"], "end_turn");
}

#[test]
fn what_cannot_begin_says_why() {
    let workspace = Workspace::new();
    let begin = |options: &str, server: &str| {
        error(workspace.bash(&format!("QUORUM_ACP_TURN='{options}' \"$0\" --acp-turn {server} < /dev/null")))
    };
    assert!(begin(EDIT, "/there/is/no/server").starts_with("/there/is/no/server: No such file"));
    assert_eq!(begin(EDIT, ""), "--acp-turn: it needs a server");
    let message = begin(r#"{"permissions":"edit","mode":"x"}"#, "true");
    assert!(message.starts_with("QUORUM_ACP_TURN: unknown field `mode`"), "{message}");
}

#[test]
fn sigterm_cancels_the_turn_and_leaves_nothing() {
    let workspace = Workspace::new();
    let running = start(&workspace, EDIT, "hang");
    let server = read_pid(&workspace.path("pid"));
    running.signal(Signal::TERM);
    let finished = running.finish().exits(143);
    assert!(!is_alive(server), "the server is gone");
    assert_eq!(lines(&finished).last().unwrap()["type"], "mode");
    assert!(workspace.read("received").contains("session/cancel"));
}

#[test]
fn a_server_that_does_not_end_is_killed() {
    let workspace = Workspace::new();
    let finished = turn(&workspace, EDIT, "stay").exits(0);
    assert_eq!(lines(&finished).last().unwrap()["type"], "end");
    assert!(!is_alive(read_pid(&workspace.path("pid"))), "the server is gone");
}
