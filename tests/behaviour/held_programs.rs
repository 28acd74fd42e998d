//! False green 41: what judges, or speaks for quorum, is the program that it was when the session began.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::support::{BINARY, Mission, RUN_AS_R1, Running, Workspace, task};

/// A server of the Agent Client Protocol whose judge gives this score.
fn server(score: u32) -> String {
    let text = json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": format!("SCORE: {score}")}});
    format!(
        r#"say() {{ printf '{{"jsonrpc":"2.0",%s}}\n' "$1"; }}
while read -r line; do
  case $line in
    *'"initialize"'*) say '"id":1,"result":{{"protocolVersion":1,"agentCapabilities":{{}}}}' ;;
    *'"session/new"'*) say '"id":2,"result":{{"sessionId":"s1","modes":{{"availableModes":[{{"id":"plan"}}]}}}}' ;;
    *'"session/set_mode"'*) say '"id":3,"result":null' ;;
    *'"session/prompt"'*) say '"method":"session/update","params":{{"sessionId":"s1","update":{text}}}'
      say '"id":4,"result":{{"stopReason":"end_turn"}}' ;;
  esac
done"#
    )
}

/// A copy of the binary below the workspace, as in `~/.cargo/bin`.
fn own_binary(workspace: &Workspace) -> std::path::PathBuf {
    let copy = workspace.path("home/bin/quorum");
    fs::create_dir_all(copy.parent().expect("it has a folder")).expect("a folder can be made");
    // By another process: a copy that is open for writing here, in a child that is just forked, cannot be started.
    let copied = std::process::Command::new("cp").arg(BINARY).arg(&copy).status().expect("there is cp");
    assert!(copied.success());
    copy
}

fn executable(workspace: &Workspace, name: &str, text: &str) {
    workspace.write(name, text);
    fs::set_permissions(workspace.path(name), fs::Permissions::from_mode(0o755)).expect("it is ours");
}

/// A worker that puts another program over the binary, and an ACP judge that finds its work poor.
fn replaced_before_the_judge(confined: bool, program: &str) -> (Workspace, Value) {
    let workspace = Mission::new()
        .worker(format!(
            "mv -f evil {program} 2> refused; cp -f evil2 {program} 2>> refused; echo done > out"
        ))
        .agent_with("judge", json!({"adapter": "acp", "run": ["/bin/sh", "server.sh"], "role": "reviewer"}))
        .task("work", |t| t.attempts(1).files(["out"]))
        .workspace();
    let workspace = if confined { workspace.confined() } else { workspace };
    workspace.write("server.sh", server(10));
    for name in ["evil", "evil2"] {
        executable(&workspace, name, "#!/bin/sh\ncat > /dev/null; touch replaced; echo SCORE: 97\n");
    }
    let binary = own_binary(&workspace);
    let mut command = workspace.other_command(binary.to_str().expect("it is text"));
    command.args(RUN_AS_R1);
    let document = Running::start(command).finish().json();
    (workspace, document)
}

#[test]
fn false_green_41_quorum_itself_is_replaced_before_an_acp_judge_is_started() {
    for confined in [false, true] {
        let (workspace, document) = replaced_before_the_judge(confined, "home/bin/quorum");
        let work = task(&document, "work");
        assert_eq!(work["points"], 10.0, "confined: {confined}: {document:#}");
        assert_ne!(document["exitCode"], 0, "{document:#}");
        assert!(!workspace.exists("replaced"));
        let there = fs::read(workspace.path("home/bin/quorum")).expect("it is there");
        let is_whole = there.starts_with(b"\x7fELF");
        assert_eq!(is_whole, confined && crate::support::makes_namespaces(), "confined: {confined}");
    }
}
