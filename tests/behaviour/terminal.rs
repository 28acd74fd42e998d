//! What a person meets at a terminal: questions, colours, the live area; and what a script meets instead.

use serde_json::json;

use crate::support::{Finished, Mission, Says, Seen, Workspace, at_terminal};

fn two() -> Mission {
    Mission::new()
        .key(
            "qualityGates",
            json!([
                {"name": "shut", "afterTasks": ["broken"], "blocksTasks": ["later"], "requireAllPassed": true}
            ]),
        )
        .agent("a", "true")
        .agent("b", "echo no such file >&2; echo it is broken >&2; exit 3")
        .task("fine", |t| t.unreviewed())
        .task("broken", |t| t.by("b").attempts(1))
        .task("later", |t| t.needs("fine").unreviewed())
}

/// At a terminal with these variables; `typed` is answered.
fn person(workspace: &Workspace, variables: &[(&str, &str)], typed: &str, arguments: &[&str]) -> Seen {
    let mut command = workspace.command(arguments);
    command.env("TERM", "xterm").envs(variables.iter().copied());
    at_terminal(command, 80, typed)
}

/// A run that is not finished, because its gate failed.
fn stuck() -> Workspace {
    let workspace = two().workspace();
    workspace.quorum(&["run", "--run-id", "r1"]).exits(3);
    workspace
}

fn states(workspace: &Workspace) -> Vec<String> {
    let document = workspace.status_of("r1");
    let tasks = document["tasks"].as_array().expect("tasks").iter();
    tasks.map(|task| task["status"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn what_would_be_lost_is_asked_about_at_a_terminal() {
    for (arguments, question) in [
        (&["cancel", "later"][..], "cancel later? [y/N]"),
        (&["run", "--fresh"], "cancel the unfinished run r1? [y/N]"),
        (
            &["gate", "shut", "--override", "--reason", "it is known"],
            "override gate 'shut'? This is recorded. [y/N]",
        ),
    ] {
        for refusal in ["n\n", "\n", "what?\n", "\u{4}"] {
            let workspace = stuck();
            let ended = person(&workspace, &[], refusal, arguments).exits(2);
            ended.shows(&[question, "nothing was changed", "--yes"]);
            assert_eq!(states(&workspace), ["done", "failed", "pending"], "{arguments:?}");
            assert_eq!(workspace.run_folders().len(), 1);
        }
        let workspace = stuck();
        let agreed = person(&workspace, &[], "y\n", arguments).shows(&[question]);
        assert_ne!(agreed.code, Some(2), "{}", agreed.text);
        let workspace = stuck();
        let told = person(&workspace, &[], "n\n", &[arguments, &["--yes"]].concat()).hides(&["[y/N]"]);
        assert_ne!(told.code, Some(2), "{}", told.text);
        // Where nobody can be asked nothing is changed, at a terminal and without one.
        let workspace = stuck();
        let ended = person(&workspace, &[], "y\n", &[arguments, &["--no-input"]].concat()).exits(2);
        ended.hides(&["[y/N]"]).shows(&["confirmation needed", "--no-input", "--yes"]);
        workspace.quorum(arguments).exits(2).says(&["confirmation needed", "no terminal", "--yes"]);
        assert_eq!(states(&workspace), ["done", "failed", "pending"], "{arguments:?}");
    }
}

#[test]
fn runs_are_removed_only_on_somebodys_word() {
    let done = || {
        let workspace = Mission::new().agent("a", "true").tasks(["t"]).workspace();
        workspace.quorum(&["run", "--run-id", "r1"]).exits(0);
        workspace
    };
    for (variables, arguments, typed) in [
        (&[][..], &["clean", "--all"][..], "n\n"),
        (&[], &["clean", "--all", "--no-input"], "y\n"),
        (&[("QUORUM_NO_INPUT", "1")], &["clean", "--all"], "y\n"),
        (&[("CI", "true")], &["clean", "--all"], "y\n"),
    ] {
        let workspace = done();
        let seen = person(&workspace, variables, typed, arguments).exits(2);
        let seen = seen.shows(&["would remove r1 (ended, ok)", "quorum clean --all --yes"]);
        let asked = seen.text.contains("remove 1 run? [y/N]");
        assert_eq!(asked, variables.is_empty() && arguments.len() == 2, "{}", seen.text);
        assert_eq!(workspace.run_folders().len(), 1);
    }
    for (variables, arguments, typed) in [
        (&[][..], &["clean", "--all"][..], "y\n"),
        (&[], &["clean", "--all", "-y"], ""),
        (&[("QUORUM_YES", "yes")], &["clean", "--all"], ""),
    ] {
        let workspace = done();
        person(&workspace, variables, typed, arguments).exits(0).shows(&["1 removed, 0 kept"]);
        assert_eq!(workspace.run_folders().len(), 0);
    }
}

#[test]
fn init_asks_before_it_writes_unless_it_must_not() {
    for (typed, more, code, written) in [
        ("n\n", None, 0, false),
        ("\n", None, 0, true),
        ("\u{4}", None, 0, false),
        ("\n", Some("--no-input"), 2, false),
        ("n\n", Some("--yes"), 0, true),
    ] {
        let workspace = Workspace::new();
        let arguments: Vec<&str> = ["init"].into_iter().chain(more).collect();
        person(&workspace, &[], typed, &arguments).exits(code);
        assert_eq!(workspace.exists("mission.yaml"), written, "{typed:?} {more:?}");
    }
}

const COLOR: &str = "\u{1b}[1m";
const ERASED: &str = "\u{1b}[2K";

#[test]
fn a_terminal_gets_what_it_can_show() {
    for (variables, flags, colour, live) in [
        (&[][..], &[][..], true, true),
        (&[("NO_COLOR", "1")], &[], false, true),
        (&[("CLICOLOR", "0")], &[], false, true),
        (&[], &["--color", "never"], false, true),
        (&[("NO_COLOR", "1")], &["--color", "always"], true, true),
        (&[("TERM", "dumb")], &[], false, false),
        (&[("CI", "true")], &[], true, false),
        (&[], &["--progress", "plain"], true, false),
    ] {
        let workspace = two().workspace();
        let seen = person(&workspace, variables, "", &[&["run"], flags].concat()).exits(3);
        let seen = seen.shows(&["DONE", "fine", "FAIL", "exit 3 (task_failed), also gate_failed"]);
        let case = format!("{variables:?} {flags:?}\n{}", seen.text.escape_debug());
        assert_eq!(seen.text.contains(COLOR), colour, "{case}");
        assert_eq!(seen.text.contains(ERASED), live, "{case}");
        if !colour && !live {
            assert!(!seen.text.contains('\u{1b}'), "{case}");
        }
    }
}

#[test]
fn colour_can_be_forced_on_a_pipe() {
    let workspace = two().workspace();
    workspace.quorum(&["run"]).exits(3);
    let status = |variables: &[(&str, &str)], flags: &[&str]| -> Finished {
        workspace.quorum_with(variables, &[&["status"], flags].concat()).exits(0)
    };
    assert!(!status(&[], &[]).stdout.contains('\u{1b}'));
    assert!(status(&[("CLICOLOR_FORCE", "1")], &[]).stdout.contains(COLOR));
    assert!(!status(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], &[]).stdout.contains('\u{1b}'));
    assert!(status(&[], &["--color=always"]).stdout.contains(COLOR));
}

#[test]
fn symbols_are_ascii_where_the_locale_is() {
    let workspace = two().workspace();
    for flags in [&["run"][..], &["status"], &["plan"], &["metrics"], &["explain"], &["runs"]] {
        let printed = workspace.quorum_with(&[("LANG", "C")], flags);
        let text = format!("{}{}", printed.stdout, printed.stderr);
        assert!(!text.is_empty() && text.is_ascii(), "{flags:?}: {text}");
    }
}

#[test]
fn verbose_says_who_and_how_and_quiet_only_what_failed() {
    let workspace = two().workspace();
    let verbose = workspace.quorum(&["run", "--verbose"]).exits(3).stderr;
    verbose.says(&["RUN [   0.0s] a  agent at /", "fine  process ", "fine  turn 1: finished in "]);
    verbose.says(&["broken  turn 1: exit 3 in ", " | it is broken\n"]);
    let ended = workspace.quorum(&["run", "--fresh", "--yes"]).exits(3).stderr;
    ended.omits(&["agent at /", "  process ", "turn 1: ", " | it is broken"]);
    let quiet = workspace.quorum(&["run", "--fresh", "--quiet", "--yes"]).exits(3).stderr;
    assert!(quiet.contains("FAIL [") && !quiet.contains("START ["), "{quiet}");
    workspace.quorum(&["run", "-q", "-v"]).exits(2).says(&["--quiet", "--verbose"]);
}

#[test]
fn switches_of_the_environment_are_written_as_people_write_them() {
    let workspace = two().workspace();
    let failed = |value: &str| {
        workspace.quorum_with(
            &[("QUORUM_FRESH", "1"), ("QUORUM_QUIET", value), ("QUORUM_ALLOW", "task_failed,gate_failed")],
            &["run", "--yes"],
        )
    };
    for (value, quiet) in [("1", true), ("on", true), ("", false), ("no", false)] {
        let stderr = failed(value).exits(0).stderr;
        assert_eq!(!stderr.contains("START ["), quiet, "{value:?}: {stderr}");
    }
    failed("perhaps").exits(2).says(&["perhaps", "neither true nor false"]);
    let list = workspace.quorum(&["runs", "--last", "1", "--json"]).exits(0).json();
    assert_eq!(list["runs"].as_array().map(Vec::len), Some(1));
    let list = workspace.quorum(&["runs", "--last", "2", "--json"]).exits(0).json();
    assert_eq!(list["runs"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_reader_that_goes_away_is_silent() {
    let workspace = stuck();
    for command in
        ["status", "runs", "events", "plan", "metrics", "explain", "schema", "--help", "run --fresh"]
    {
        let script = format!("set -o pipefail; $0 {command} 2>errors | head -c 1 >/dev/null; true");
        workspace.bash(&script).exits(0);
        let said = workspace.read("errors");
        assert!(!said.contains("panicked") && !said.contains("roken pipe"), "{command}: {said}");
    }
}
