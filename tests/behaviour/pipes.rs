//! Row 58 of the false greens: a failure in a pipe counts in every command that judges, on machines with bash and without.

use serde_json::json;
use std::os::unix::fs::symlink;

use crate::support::{Finished, Mission, Running, Workspace, standing};

/// One attempt at a task with these keys, by an agent that counts its turns.
fn judged_by() -> Workspace {
    Mission::new()
        .worker("echo turn >> turns; echo done")
        .setting("evaluate", false)
        .task("work", |t| t.attempts(1))
        .workspace()
}

/// Ways to let a command judge; `COMMAND` stands for it, and the code says how a run ends whose command failed.
const JUDGES: [(&str, i32); 8] = [
    ("expectations: [{type: test, command: COMMAND}]", 3),
    (CHECK, 3),
    ("expectations: [{type: metric, name: m, command: COMMAND, min: 0}]", 3),
    ("verify: {commands: [COMMAND], maxAttempts: 0}", 5),
    ("verify: {requireCompilation: true, compileCommand: COMMAND, compilationMaxAttempts: 0}", 5),
    ("verify: {requiredTests: [t], testCommand: COMMAND, maxAttempts: 0}", 5),
    ("stages: [{name: look, command: COMMAND}]", 3),
    ("requiresApproval: {approvers: [{command: COMMAND}]}", 3),
];

const CHECK: &str = "expectations: [{type: script, command: COMMAND}]";

/// A mission in which this command judges so.
fn with_command(keys: &str, command: &str) -> Workspace {
    let test = if keys.contains("testCommand") { "true {test}; " } else { "" };
    let command = serde_json::json!(format!("{test}{command}"));
    judged_by().tap(|m| m.change("work", |t| t.with(keys.replace("COMMAND", &command.to_string()))))
}

fn run(keys: &str, command: &str, code: i32) -> serde_json::Value {
    with_command(keys, command).run_json(code, &[])
}

#[test]
fn false_green_58_a_failed_command_in_a_pipe_of_one_line_fails_whatever_judges_by_it() {
    for (keys, code) in JUDGES {
        let document = run(keys, "(echo 1; exit 1) | tee log", code);
        assert_ne!(standing(&document, "work"), ("done", "clean"), "{keys}");
        let document = run(keys, "echo 1 | tee log", 0);
        assert_eq!(standing(&document, "work").0, "done", "{keys}");
    }
}

#[test]
fn false_green_58_a_pipe_counts_wherever_it_stands_in_the_line() {
    for failing in [
        "false|cat",
        "true && false | cat",
        "false |& cat",
        "{ false; } | cat | cat",
        "(false | cat)",
        "test \"$(false | cat)\" = \"\" && x=$(false | cat)",
        "if ! false | cat; then exit 9; fi",
        "cat missing 2>/dev/null | sort > sorted",
        "\n  false | cat\n",
    ] {
        run(CHECK, failing, 3);
    }
    for passing in ["false || true | cat", "echo 'false | cat'", "false; true", "echo $unset"] {
        run(CHECK, passing, 0);
    }
}

#[test]
fn false_green_58_a_criterion_that_names_a_command_with_a_pipe_fails_with_it() {
    let keys = "acceptance: ['`false | tee log` passes'], verification: {grader: heuristic, onRefer: rework}";
    let document = judged_by().tap(|m| m.change("work", |t| t.with(keys))).run_json(3, &[]);
    assert_eq!(standing(&document, "work").0, "failed");
}

#[test]
fn a_reader_that_may_stop_early_is_named_beforehand_and_where_its_line_fails() {
    let hint = ["grep -q", "may stop reading", "grep x > /dev/null"];
    for (keys, _) in JUDGES {
        let workspace = with_command(keys, "yes | grep -q y; exit 1");
        workspace.quorum(&["validate"]).exits(0).says(&hint);
        let planned = workspace.quorum(&["plan"]).exits(0);
        assert!(format!("{}{}", planned.stdout, planned.stderr).contains("may stop reading"), "{keys}");
        workspace.quorum(&["run", "mission.yaml", "-q"]);
        let events = workspace.events();
        let mut said = events.iter().filter(|event| event["event"] != "run:started");
        assert!(said.any(|event| event.to_string().contains("may stop reading")), "{keys}");
    }
    for command in ["yes | head -1", "yes|head", "yes | LC_ALL=C grep -m1 y", "test -n \"$(yes | head -1)\""]
    {
        let workspace = with_command(CHECK, command);
        workspace.quorum(&["validate"]).exits(0).says(&["may stop reading"]);
        workspace.run_json(if command.contains("test") { 0 } else { 3 }, &[]);
    }
    for command in ["grep -q x file || true", "echo y | grep y > /dev/null", "echo a | sort"] {
        let said = with_command(CHECK, command).quorum(&["validate"]).exits(0);
        assert!(!said.stderr.contains("may stop reading"), "{command}: {}", said.stderr);
    }
}

/// Whoever can install a program need not do the work again.
#[test]
fn a_check_whose_program_is_not_there_ends_the_session_and_costs_no_attempt() {
    for keys in [
        CHECK,
        "verify: {commands: [COMMAND]}",
        "expectations: [{type: metric, name: m, command: COMMAND, min: 0}]",
    ] {
        let workspace = with_command(keys, "counts-lines turns");
        workspace.quorum(&["run", "mission.yaml", "--run-id", "r1"]).exits(9).says(&["counts-lines", "PATH"]);
        workspace.write("programs/counts-lines", "#!/bin/sh\necho 1\n");
        workspace.bash("chmod +x programs/counts-lines").exits(0);
        let mut command = workspace.command(&["resume", "r1"]);
        let path = std::env::var("PATH").expect("there is one");
        command.env("PATH", format!("{}:{path}", workspace.path("programs").display()));
        Running::start(command).finish().exits(0);
        assert_eq!(workspace.lines("turns"), ["turn"], "{keys}");
    }
    // What the work is to bring along is its fault.
    for command in ["./made", "sh made.sh", "test -e x && counts-lines"] {
        run(CHECK, command, 3);
    }
}

#[test]
fn an_agents_own_line_runs_as_it_always_did() {
    let workspace = Mission::new()
        .worker("false | cat; false | echo done")
        .setting("evaluate", false)
        .task("work", |t| t.attempts(1))
        .workspace();
    workspace.run_json(0, &[]);
}

/// The binary where PATH leads to the programs that tests need, and to no bash.
fn without_bash(workspace: &Workspace, arguments: &[&str]) -> Finished {
    for program in ["sh", "cat", "tee", "env", "true", "false", "git", "echo", "test", "grep"] {
        let found = std::env::var_os("PATH").into_iter().flat_map(|path| {
            std::env::split_paths(&path).map(|folder| folder.join(program)).collect::<Vec<_>>()
        });
        if let Some(found) = found.into_iter().find(|path| path.exists()) {
            std::fs::create_dir_all(workspace.path("programs")).expect("a folder");
            let _ = symlink(found, workspace.path("programs").join(program));
        }
    }
    let mut command = workspace.command(arguments);
    command.env("PATH", workspace.path("programs"));
    Running::start(command).finish()
}

#[test]
fn without_bash_a_command_that_needs_it_stops_the_run_before_any_work() {
    for (keys, _) in JUDGES {
        for command in ["echo 1 | cat", "echo 1\necho 2"] {
            let workspace = with_command(keys, command);
            let words = ["task 'work'", "echo 1", "needs bash"];
            without_bash(&workspace, &["run", "mission.yaml"]).exits(9).says(&words);
            workspace.assert_nothing_started();
            without_bash(&workspace, &["validate"]).exits(0).says(&words);
            without_bash(&workspace, &["doctor", "--mission", "mission.yaml"]).exits(9).shows(&words);
        }
    }
}

#[test]
fn without_bash_a_line_without_a_pipe_still_runs() {
    for (keys, _) in JUDGES {
        for command in ["echo 1", "echo 1 || false", "echo 1 # a | b", "echo 'a|b' > log; echo 1"] {
            let workspace = with_command(keys, command);
            without_bash(&workspace, &["run", "mission.yaml", "-q"]).exits(0);
            without_bash(&workspace, &["doctor", "--mission", "mission.yaml"]).exits(0);
        }
    }
}

#[test]
fn without_bash_a_run_that_waits_is_not_resumed_to_a_pipe() {
    let workspace = judged_by().tap(|m| {
        m.change("work", |t| t.approved().expects(json!({"type": "script", "command": "echo 1 | cat"})))
    });
    workspace.quorum(&["run", "mission.yaml", "-q", "--run-id", "r1"]).exits(8);
    workspace.quorum(&["approve", "r1.0.1"]).exits(0);
    without_bash(&workspace, &["resume", "r1"]).exits(9).says(&["needs bash"]);
    assert!(!workspace.exists("turns"));
    workspace.resume_json(0, &["r1"]);
    assert_eq!(workspace.lines("turns"), ["turn"]);
}
