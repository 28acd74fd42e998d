//! What people are told when something is wrong: who, what, and what to type.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::support::model::{Model, refuses};
use crate::support::{AtTerminal, Mission, Says, Workspace};

#[test]
fn a_call_that_is_repeated_says_which_of_how_many_it_is() {
    let model = Model::new(|_| refuses(503, "busy"));
    let workspace = Workspace::with(&format!(
        "
name: busy
agents:
  worker: {{run: echo work}}
  alice: {{adapter: openai, model: m, baseUrl: {0}, role: reviewer}}
  remote: {{adapter: openai, model: m, baseUrl: {0}}}
settings: {{maxAssessmentRetries: 0}}
tasks:
  - {{title: judged, assignTo: worker, maxAttempts: 1, review: required}}
  - {{title: far, assignTo: remote, maxAttempts: 1, review: none}}
",
        model.base()
    ))
    .at_scale("100");
    let finished = workspace.quorum(&["run", "--run-id", "r1"]).exits(3);
    finished.stderr.says(&["retry 2 of 4 in ", "retry 3 of 4 in ", "retry 4 of 4 in "]);
    finished.stderr.says(&["alice: provider_transient"]);
    assert!(!finished.stderr.contains("judge 1:"), "{}", finished.stderr);
    let far: Vec<&str> = finished.stderr.lines().filter(|line| line.contains(" far ")).collect();
    assert!(far.iter().any(|line| line.contains("RETRY") && line.contains("retry 2 of ")), "{far:?}");
    let port =
        model.base().rsplit(':').next().unwrap_or_default().split('/').next().unwrap_or_default().to_owned();
    let text = &finished.stdout;
    assert!(text.contains("no reviewer could be reached: alice (provider_transient: "), "{text}");
    assert!(finished.stderr.contains(&port), "the port is named: {}", finished.stderr);
}

#[test]
fn a_reply_that_cannot_be_read_is_shown_with_who_gave_it() {
    let workspace = Mission::new()
        .worker("echo work")
        .judge("alice", &["PONG, says the model"])
        .setting("maxAssessmentRetries", 0)
        .task("t", |t| t.expects(json!({"type": "llm_review", "criteria": "good", "reviewers": ["alice"]})))
        .workspace();
    let ended = workspace.quorum(&["run"]).exits(6).stderr;
    ended.says(&["alice: the reply contains no JSON object", "PONG, says"]);
}

#[test]
fn what_is_wrong_before_a_run_is_named_once_with_what_to_type() {
    let workspace = Mission::new()
        .key("name", "m")
        .agent_with("alice", json!({"adapter": "openai", "model": "m", "apiKey": "${NO_SUCH_KEY}"}))
        .tasks(["t"])
        .workspace();
    let refused = workspace.quorum(&["run"]);
    assert_eq!(refused.stderr.matches("'alice'").count(), 1, "{}", refused.stderr);
    let workspace = Mission::new()
        .key("name", "m")
        .agent_with("a", json!({"run": ["./work.sh"]}))
        .tasks(["t"])
        .workspace();
    workspace.write("work.sh", "#!/bin/sh\n");
    std::fs::set_permissions(workspace.path("work.sh"), std::fs::Permissions::from_mode(0o644))
        .expect("it is ours");
    workspace.quorum(&["run"]).exits(9).says(&["chmod +x"]);
    workspace.quorum(&["mission.yaml"]).exits(2).says(&["quorum run mission.yaml"]);
    let ended = workspace.quorum(&["schema", "mission", "tasks.expectations.tres"]).exits(2);
    ended.says(&["did you mean 'threshold'"]);
    workspace.quorum(&["schema", "mission", "tasks.title.foo"]).exits(2).says(&["holds one value"]);
    workspace
        .write("open.yaml", "name: m\nagents: {a: {run: x}}\ntasks:\n  - title: \"one\n    description: x\n");
    let ended = workspace.quorum(&["validate", "open.yaml"]).exits(2);
    ended.says(&["this quote is not closed", "open.yaml:4:12"]);
}

#[test]
fn a_task_that_nobody_worked_on_has_no_output_and_that_is_said() {
    let workspace = Mission::new()
        .agent("a", "exit 1")
        .setting("maxRetries", 0)
        .task("one", |t| t.attempts(1))
        .task("two", |t| t.needs("one"))
        .workspace();
    workspace.quorum(&["run"]).exits(3);
    for flags in [&["logs", "two"][..], &["logs", "-f", "two"]] {
        workspace.quorum(flags).exits(0).says(&["no agent has worked on 'two': cascade"]);
    }
}

#[test]
fn what_init_writes_is_listed_and_quiet_is_quiet() {
    let workspace = Workspace::new();
    workspace.quorum(&["init"]).exits(0).shows(&["wrote ./.gitignore"]);
    let workspace = Workspace::new();
    assert_eq!(workspace.quorum(&["init", "-q"]).exits(0).stdout, "");
    assert!(workspace.exists("mission.yaml"));
}

#[test]
fn a_review_of_work_without_a_run_names_no_ids_that_nobody_can_use() {
    let workspace = Mission::new().agent("w", "true").reviewer("alice", "echo PONG").tasks(["t"]).workspace();
    workspace.write("a.txt", "work");
    let finished =
        workspace.quorum(&["review", "--criteria", "good", "--reviewer", "alice", "a.txt"]).exits(6);
    assert!(finished.stderr.contains("WAIT") && !finished.stderr.contains(".0.1"), "{}", finished.stderr);
    let run = finished.stderr.lines().next().unwrap_or_default();
    assert!(!run.contains("-20") && run.trim_end().ends_with("at a time"), "{run}");
}

#[test]
fn several_who_find_the_same_are_shown_as_one_finding_of_the_panel() {
    let reply = r#"{"scores": [{"dimension": "d", "score": 2, "reasoning": "r"}], "findings": [{"severity": "high", "description": "same thing", "evidence": "x"}]}"#;
    let workspace = Mission::new()
        .agent("w", "echo work")
        .judge("a", &[reply])
        .judge("b", &[reply])
        .task("t", |t| {
            t.attempts(1).expects(json!({
                "type": "llm_review",
                "criteria": "good",
                "reviewers": ["a", "b"],
                "dimensions": [{"name": "d", "weight": 1}],
            }))
        })
        .workspace();
    workspace.quorum(&["run"]).exits(3);
    let shown = workspace.quorum(&["show", "t", "--full"]).exits(0).stdout;
    let (_, panel) = shown.rsplit_once("judge: fail").expect("the panel's verdict");
    assert_eq!(panel.matches("same thing").count(), 1, "{shown}");
}

#[test]
fn nothing_live_is_left_where_the_terminal_shows_an_interrupt() {
    let workspace = Mission::new().agent("a", "sleep 60").tasks(["t"]).workspace();
    let mut command = workspace.command(&["run"]);
    command.env("TERM", "xterm");
    let mut terminal = AtTerminal::start(command);
    terminal.shows("working");
    terminal.types("\u{3}");
    let (code, text) = terminal.finish();
    assert_eq!(code, Some(130), "{text}");
    // The cursor stood at the beginning of a line when the terminal wrote it, so that it moved nothing.
    let (before, _) = text.split_once("^C").expect("the terminal shows what is typed");
    assert!(before.ends_with('\r'), "{:?}", &before[before.len().saturating_sub(40)..]);
}

#[test]
fn a_watched_run_shows_what_matters_in_the_lines_that_there_are() {
    let tasks: String = (0..40).map(|n| format!("  - {{title: t{n}, assignTo: w}}\n")).collect();
    let workspace = Workspace::with(&format!(
        "
name: many
agents:
  w: {{run: echo work}}
  j: {{run: 'echo SCORE: 90', role: reviewer}}
  bad: {{run: exit 1}}
settings: {{maxRetries: 0}}
tasks:
  - {{title: broken, assignTo: bad, maxAttempts: 1}}
{tasks}"
    ));
    workspace.quorum(&["run", "--run-id", "r1"]).exits(3);
    let mut command = workspace.command(&["status", "--watch"]);
    command.env("TERM", "xterm");
    let seen = crate::support::at_terminal(command, 80, "").exits(0).shows(&[
        "run r1",
        "broken",
        "more, all in --json",
    ]);
    let (_, page) = seen.text.rsplit_once("\u{1b}[2J").expect("a frame");
    assert!(page.lines().count() < 24, "{page}");
}
