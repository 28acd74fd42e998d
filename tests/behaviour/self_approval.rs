//! False green 20, the half about approval: what an agent tries in order to speak for a person.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::support::journal;
use crate::support::{BINARY, RUN_AS_R1, Says, Workspace, standing, task};

/// `work` waits for a person, its approval is `r1.0.1`; `burglar` runs a script meanwhile. `@quorum` is the binary.
fn burgled(script: &str) -> Workspace {
    let script: String = script.lines().map(|line| format!("      {}\n", line.trim())).collect();
    Workspace::with(
        &format!(
            "
name: a burglar
agents:
  worker: {{run: echo work}}
  boss: {{adapter: human}}
  burglar:
    run: |
      while ! @quorum approvals --json | grep -q r1.0.1; do sleep 0.02; done
{script}
settings: {{concurrency: 2}}
tasks:
  - {{title: work, assignTo: worker, expectations: [{{type: llm_review, criteria: good, reviewers: [boss]}}]}}
  - {{title: burglar, assignTo: burglar, review: none, maxAttempts: 1}}
  - {{title: next, assignTo: worker, dependsOn: [work], review: none}}
"
        )
        .replace("@quorum", BINARY),
    )
}

/// The run ends and waits for the person, who can still answer.
fn still_waits(workspace: &Workspace) -> Value {
    let document = workspace.quorum(RUN_AS_R1).exits(8).json();
    assert_eq!(standing(&document, "work"), ("awaiting_approval", ""));
    assert_eq!(standing(&document, "next"), ("pending", ""));
    assert_eq!(standing(&document, "burglar").0, "done", "{document:#}");
    let resolved = |event: &Value| event["event"] == "approval:resolved";
    assert!(!workspace.events().iter().any(resolved));
    workspace.quorum(&["approve", "r1.0.1"]).exits(0);
    workspace.resume_json(0, &[]);
    document
}

fn refused(way: &str) {
    let workspace = burgled(&format!("{way} @quorum approve r1.0.1 --as boss 2> said; echo $? > code"));
    still_waits(&workspace);
    assert_eq!(workspace.lines("code"), ["9"], "{}", workspace.read("said"));
    assert!(workspace.read("said").contains("refused to agents"));
}

#[test]
fn false_green_20_an_agent_that_approves_is_refused() {
    refused("");
}

#[test]
fn false_green_20_an_agent_that_approves_without_its_environment_is_refused() {
    refused("env -i HOME=\"$HOME\"");
}

#[test]
fn false_green_20_an_agent_that_approves_from_another_session_is_refused() {
    refused("setsid -w");
    refused("setsid -w env -i HOME=\"$HOME\" nohup");
}

#[test]
fn false_green_20_an_orphan_of_an_agent_that_approves_is_refused() {
    // Its parent dies first; with a clean environment and a session of its own nothing but its forebears tells on it.
    let workspace = burgled(
        "sh -c 'MID=$$ setsid env -i MID=$$ PATH=$PATH HOME=\"$HOME\" sh orphan.sh &'
        while ! test -e code; do sleep 0.02; done",
    );
    workspace.write(
        "orphan.sh",
        format!(
            "while test -d /proc/$MID; do sleep 0.02; done
tr '\\0' '\\n' < /proc/$$/environ | sort | cut -d= -f1 > environment
cut -d' ' -f4 /proc/$$/stat > parent
{BINARY} approve r1.0.1 --as boss 2> said; echo $? > code.part; mv code.part code\n"
        ),
    );
    still_waits(&workspace);
    assert_eq!(workspace.lines("code"), ["9"], "{}", workspace.read("said"));
    assert!(!workspace.read("environment").contains("QUORUM"));
}

#[test]
fn false_green_20_what_an_agent_leaves_behind_to_approve_later_dies_with_its_turn() {
    let workspace = burgled(
        "(setsid env -i PATH=$PATH HOME=\"$HOME\" sh later.sh > /dev/null 2>&1 &)
        while ! test -s later.pid; do sleep 0.02; done",
    );
    workspace.write(
        "later.sh",
        format!("echo $$ > later.pid; while ! test -e ended; do sleep 0.02; done; {BINARY} approve r1.0.1; echo $? > code\n"),
    );
    still_waits(&workspace);
    let pid = workspace.read("later.pid");
    workspace.write("ended", "");
    let alive = format!("/proc/{}", pid.trim());
    assert!(!std::path::Path::new(&alive).exists(), "{pid}");
    assert!(!workspace.exists("code"));
}

#[test]
fn false_green_20_no_word_of_an_operator_is_an_agents() {
    let workspace = burgled(
        "for word in 'reject r1.0.1 --reason no' 'cancel work' 'cancel r1' 'pause' 'gate door --override --reason x'; do
        env -i HOME=\"$HOME\" @quorum $word > /dev/null 2>&1; echo $? >> codes
        done",
    )
    .tap_mission(
        "settings:",
        "qualityGates: [{name: door, afterTasks: [work], blocksTasks: [next]}]\nsettings:",
    );
    still_waits(&workspace);
    assert_eq!(workspace.lines("codes"), ["9", "9", "9", "9", "9"]);
}

/// The envelope of an approval as the inbox wants it, with a code of this key.
fn forged(key: &[u8]) -> String {
    let body = journal::left_approval("r1", "boss");
    journal::envelope(&json!(journal::code_of(key, &body)), &body)
}

/// What an agent drops into the inbox is moved aside, and said.
const DROPS: &str = "mkdir -p .polpo/@inbox; cp letter .polpo/@inbox/letter.json
    while ! test -e .polpo/@inbox/refused/letter.json; do sleep 0.02; done";

fn assert_moved_aside(document: &Value, why: &str) {
    let warnings = document["warnings"].to_string();
    assert!(warnings.contains("letter.json is no command") && warnings.contains(why), "{warnings}");
}

#[test]
fn false_green_20_a_letter_without_a_code_approves_nothing() {
    let body = journal::left_approval("r1", "boss");
    for code in [json!(null), json!(""), json!("0".repeat(64))] {
        let workspace = burgled(DROPS);
        // There is a key that it could be checked with.
        let key = workspace.path("home/.local/state/quorum/key");
        workspace.write("home/.local/state/quorum/key", [7; 32]);
        std::fs::set_permissions(key, PermissionsExt::from_mode(0o600)).expect("it is ours");
        workspace.write("letter", journal::envelope(&code, &body));
        assert_moved_aside(
            &still_waits(&workspace),
            if code.is_null() { "invalid type" } else { "code of the user" },
        );
    }
}

#[test]
fn false_green_20_a_letter_with_a_code_of_the_agents_own_key_approves_nothing() {
    let workspace = burgled(&format!(
        "export XDG_STATE_HOME=\"$PWD/own\"; mkdir -p own/quorum; echo {} > own/quorum/key; export QUORUM_OPERATOR_KEY=mine\n{DROPS}",
        "k".repeat(40)
    ));
    let key = workspace.path("home/.local/state/quorum/key");
    workspace.write("home/.local/state/quorum/key", [7; 32]);
    std::fs::set_permissions(key, PermissionsExt::from_mode(0o600)).expect("it is ours");
    workspace.write("letter", forged(b"mine"));
    assert_moved_aside(&still_waits(&workspace), "does not carry the code of the user's key");
}

#[test]
fn a_letter_with_a_code_of_the_users_key_approves_if_no_session_listened() {
    // What the two tests above would show if the code were not looked at.
    let key = [("QUORUM_OPERATOR_KEY", "the user's")];
    let workspace = burgled("true");
    workspace.quorum_with(&key, RUN_AS_R1).exits(8);
    workspace.write(&journal::inbox("letter.json"), forged(b"the user's"));
    let resumed = workspace.quorum_with(&key, &["resume", "r1", "--json"]);
    assert_eq!(standing(&resumed.exits(0).json(), "work"), ("done", "clean"));
    assert!(!workspace.exists(&journal::inbox("letter.json")));
}

#[test]
fn false_green_32_a_letter_that_comes_while_a_session_listens_approves_nothing() {
    let workspace = burgled(DROPS);
    workspace.write("letter", forged(b"the user's"));
    let key = [("QUORUM_OPERATOR_KEY", "the user's")];
    let document = workspace.quorum_with(&key, RUN_AS_R1).exits(8).json();
    assert_eq!(standing(&document, "work"), ("awaiting_approval", ""));
    assert_moved_aside(&document, "while the session listened");
}

#[test]
fn false_green_20_agents_are_never_given_the_users_key() {
    let run = |workspace: &Workspace| {
        workspace.quorum_with(
            &[("QUORUM_OPERATOR_KEY", "the-users-key")],
            &["run", "mission.yaml", "--run-id", "r1", "--json"],
        )
    };
    let workspace = burgled("env > env");
    run(&workspace).exits(8);
    workspace.read("env").says(&["QUORUM_RUN_ID"]).omits(&["the-users-key"]);
    // Nor when the mission asks for it.
    let workspace = burgled("env > env")
        .tap_mission("burglar:\n    run", "burglar:\n    env: {MINE: '${QUORUM_OPERATOR_KEY}'}\n    run");
    run(&workspace).exits(9).says(&["QUORUM_OPERATOR_KEY"]);
    assert!(!workspace.exists("env"));
}

#[test]
fn false_green_20_a_pipe_in_the_place_of_the_key_holds_nothing_up() {
    let workspace = burgled(
        "rm -f \"$HOME/.local/state/quorum/key\"; mkfifo -m 600 \"$HOME/.local/state/quorum/key\"
        mkdir -p .polpo/@inbox; cp letter .polpo/@inbox/letter.json
        while ! @quorum status r1 --json | grep -q 'not a regular file'; do sleep 0.02; done
        rm \"$HOME/.local/state/quorum/key\"
        while ! test -e .polpo/@inbox/refused/letter.json; do sleep 0.02; done",
    );
    workspace.write("letter", forged(b"mine"));
    let document = still_waits(&workspace);
    // `status` told of the pipe, else the agent would still look for it.
    assert!(document["warnings"].to_string().contains("was moved aside"), "{document:#}");
    assert_eq!(task(&document, "work")["waiting"]["reason"], "refer");
}
