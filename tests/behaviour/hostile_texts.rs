//! Texts of agents at a terminal, and results that nobody can get.

use serde_json::json;

use crate::support::{Mission, Workspace, at_terminal};

/// C1, bidirectional and tag characters, which a terminal acts on or does not show.
const HOSTILE: [char; 5] = ['\u{9b}', '\u{202e}', '\u{2066}', '\u{e0041}', '\u{1}'];

fn hostile() -> Workspace {
    let text: String = HOSTILE.iter().collect();
    let workspace = Mission::new()
        .worker("cat said; cat said >&2")
        .reviewer("judge", "cat >/dev/null; cat said; echo SCORE: 80")
        .task("work", |t| {
            t.expects(json!({"type": "script", "command": "cat said"})).set("review", "required")
        })
        .workspace();
    workspace.write("said", format!("a{text}b\rover\nplain größe\n"));
    workspace
}

#[test]
fn what_a_terminal_would_act_on_is_shown_wherever_agents_speak() {
    let workspace = hostile();
    workspace.run_json(0, &["--run-id", "r1"]);
    for arguments in [
        &["logs", "work"][..],
        &["logs", "work", "--stderr"],
        &["logs", "work", "--json"],
        &["show", "work", "--full"],
        &["show", "work", "--json"],
        &["status"],
        &["status", "--json"],
        &["events"],
        &["events", "--format", "jsonl"],
        &["report", "--markdown", "-"],
        &["report", "--json", "-"],
    ] {
        let mut command = workspace.command(arguments);
        command.env("TERM", "xterm");
        let seen = at_terminal(command, 100, "").exits(0);
        for c in HOSTILE {
            assert!(!seen.text.contains(c), "{arguments:?} shows {c:?}:\n{}", seen.text.escape_debug());
        }
    }
    let mut command = workspace.command(&["logs", "work"]);
    command.env("TERM", "xterm");
    at_terminal(command, 100, "").exits(0).shows(&[r"\u{202e}", r"\u{e0041}", "\nover\nplain größe"]);
    // A program gets what was said, byte by byte.
    let piped = workspace.quorum(&["logs", "work"]).exits(0).stdout;
    assert_eq!(piped, workspace.read("said"));
}

#[test]
fn what_a_failed_check_and_a_judge_said_is_harmless_in_every_report() {
    let text: String = HOSTILE.iter().collect();
    let workspace = Mission::new()
        .worker("echo work")
        .reviewer("judge", "cat >/dev/null; echo \"- [high] $(cat said)\"; cat said; echo SCORE: 20")
        .task("checked", |t| {
            t.expects(json!({"type": "script", "command": "cat said; false"})).set("maxAttempts", 2)
        })
        .task("judged", |t| t.set("review", "required").set("maxAttempts", 2))
        .workspace();
    workspace.write("said", format!("a{text}b\u{1b}]0;title\u{7}c\n"));
    let reports = ["junit", "markdown", "html"];
    let files = reports.map(|kind| format!("{kind}={kind}.out"));
    let targets = files.iter().flat_map(|file| ["--report", file]);
    let arguments: Vec<&str> =
        ["run", "mission.yaml", "-v", "--run-id", "r1"].into_iter().chain(targets).collect();
    let summary = workspace.path("summary.md");
    // Annotations are written to the same stream as everything else that people read.
    let variables = [("GITHUB_ACTIONS", "true"), ("GITHUB_STEP_SUMMARY", summary.to_str().unwrap())];
    let ended = workspace.quorum_with(&variables, &arguments).exits(3).says(&["::error title=checked::"]);
    let mut outputs = vec![("stdout", ended.stdout.clone()), ("stderr", ended.stderr.clone())];
    outputs.push(("summary", workspace.read("summary.md")));
    outputs.extend(reports.map(|kind| (kind, workspace.read(&format!("{kind}.out")))));
    for (of, output) in outputs {
        for c in HOSTILE.into_iter().chain(['\u{1b}', '\u{7}']) {
            assert!(!output.contains(c), "{of} has {c:?}:\n{}", output.escape_debug());
        }
    }
}

#[test]
fn a_result_that_nobody_can_get_is_no_success() {
    let workspace = Mission::new().agent("a", "echo x").tasks(["t"]).workspace();
    let closed = |command: &str| workspace.bash(&format!("exec \"$0\" {command} >&-"));
    for command in [
        "run mission.yaml --json --run-id r1",
        "run mission.yaml --run-id r2",
        "status",
        "status --json",
        "show t --json",
        "logs t",
        "logs t --json",
        "events",
        "events --format jsonl",
        "metrics --json",
        "runs",
        "validate",
        "plan --json",
        "report --json -",
        "config show",
        "schema",
        "explain --json",
    ] {
        closed(command).exits(1).says(&["the output cannot be written"]);
    }
    // The work was done all the same, and what reaches nobody on purpose is another matter.
    assert_eq!(workspace.status_of("r1")["exitCode"], 0);
    workspace.bash("exec \"$0\" status --json >/dev/null").exits(0);
}
