//! Protected paths, and false green 20 for tests and rubrics: what an agent must not change, and what follows if it does.

use std::os::unix::fs::{PermissionsExt, symlink};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::events::on_record;
use crate::support::{
    Mission, RUN_AS_R1, Says, Workspace, attempts, standing, task, wait_for, wait_for_file,
};

/// One worker with this script, whose tests are protected and decide.
fn with_tests(script: &str) -> Workspace {
    let script: String = script.lines().map(|line| format!("      {}\n", line.trim())).collect();
    let workspace = Workspace::with(&format!(
        "
name: tests that decide
agents:
  worker:
    run: |
{script}
settings: {{protect: [tests/**, rubric.md]}}
tasks:
  - {{title: work, onExhausted: accept, expectations: [{{type: test, command: sh tests/check.sh}}]}}
  - {{title: next, dependsOn: [work]}}
"
    ));
    workspace.write("tests/check.sh", "test -e right");
    workspace.write("rubric.md", "Be strict.");
    workspace
}

fn failure<'a>(document: &'a Value, title: &str) -> &'a Value {
    &task(document, title)["failure"]
}

fn assert_protected(workspace: &Workspace, code: i32, named: &[&str]) {
    is_protected(&workspace.run_json(code, &[]), named);
}

/// The document of a run whose `work` was found out.
fn is_protected(document: &Value, named: &[&str]) {
    assert_eq!(standing(document, "work"), ("failed", ""), "{document:#}");
    assert_eq!(failure(document, "work")["mode"], "protected");
    let message = failure(document, "work")["message"].as_str().unwrap_or_default();
    for name in named {
        assert!(message.contains(name), "'{message}' does not name {name}");
    }
    // Final at once: another attempt would begin with what this one left.
    assert_eq!(attempts(document, "work"), ["execute"]);
    assert_eq!(task(document, "work")["attempts"][0]["cause"], "protected");
}

#[test]
fn false_green_20_an_agent_that_edits_the_tests_has_failed() {
    for (script, named) in [
        ("echo exit 0 > tests/check.sh", "tests/check.sh was changed"),
        ("rm tests/check.sh", "tests/check.sh is gone"),
        ("touch right; touch tests/conftest.py", "tests/conftest.py appeared"),
        ("rm tests/check.sh; ln -s /bin/true tests/check.sh", "tests/check.sh was replaced by a link"),
        (
            "mv tests elsewhere; touch right; mkdir tests; echo exit 0 > tests/check.sh",
            "tests/check.sh was changed",
        ),
        ("echo Be kind. > rubric.md; touch right", "rubric.md was changed"),
        // An agent that fails has changed them all the same.
        ("echo exit 0 > tests/check.sh; exit 1", "tests/check.sh was changed"),
    ] {
        let workspace = with_tests(script);
        assert_protected(&workspace, 3, &[named]);
        assert_eq!(failure(&workspace.status(), "next")["mode"], "cascade", "{script}");
    }
}

#[test]
fn an_agent_that_leaves_the_tests_alone_is_judged_by_them() {
    let workspace = with_tests("test $QUORUM_ATTEMPT = 1 || touch right; sh tests/check.sh; cat rubric.md");
    let document = workspace.run_json(0, &[]);
    assert_eq!(standing(&document, "work"), ("done", "clean"));
    assert_eq!(attempts(&document, "work"), ["execute", "fix"]);
    let noted = workspace.events().into_iter().filter(|event| event["event"] == "files:noted");
    assert_eq!(noted.count(), 3, "before every turn");
}

#[test]
fn a_check_may_change_what_the_mission_says_and_nothing_else() {
    let workspace = with_tests("test $QUORUM_ATTEMPT = 1 || touch right");
    workspace.write("tests/check.sh", "date >> tests/log; test -e right");
    assert_protected(&workspace, 3, &["tests/log appeared"]);
    let workspace = with_tests("test $QUORUM_ATTEMPT = 1 || touch right")
        .tap_mission("rubric.md]", "rubric.md], checksMayWrite: [tests/log]");
    workspace.write("tests/check.sh", "date >> tests/log; test -e right");
    let document = workspace.run_json(0, &[]);
    assert_eq!(standing(&document, "work"), ("done", "clean"));
    assert_eq!(standing(&document, "next").0, "done");
}

#[test]
fn every_turn_that_overlapped_a_change_has_failed() {
    let workspace = Mission::new()
        .agent("vandal", "touch begun; while ! test -e watching; do sleep 0.02; done; echo x > tests/a")
        .agent("other", "touch watching; while ! grep -q x tests/a; do sleep 0.02; done")
        .agent("later", "true")
        .setting("protect", ["tests"])
        .setting("concurrency", 2)
        .task("one", |t| t.unreviewed())
        .task("two", |t| t.by("other").unreviewed())
        .task("three", |t| t.by("later").set("priority", 0.1).unreviewed())
        .workspace();
    workspace.write("tests/a", "a");
    let document = workspace.run_json(3, &[]);
    for title in ["one", "two"] {
        assert_eq!(failure(&document, title)["mode"], "protected", "{document:#}");
    }
    assert_eq!(standing(&document, "three").0, "done");
}

#[test]
fn a_task_protects_files_of_its_own_workspace_for_itself() {
    let workspace = Mission::new()
        .worker("echo new > data.txt")
        .task("may not", |t| t.set("workspace", "inner").set("protect", ["*.txt"]))
        .task("may", |t| t.set("workspace", "inner").needs("may not").unreviewed())
        .task("may too", |t| t.unreviewed())
        .workspace();
    workspace.write("inner/data.txt", "old");
    let document = workspace.run_json(3, &[]);
    assert_eq!(failure(&document, "may not")["mode"], "protected");
    failure(&document, "may not")["message"].says(&["inner/data.txt was changed"]);
    assert_eq!(standing(&document, "may too").0, "done");
    // A person's word: it starts anew, from what there is now.
    let document = workspace.resume_json(0, &["--retry-failed"]);
    assert_eq!(standing(&document, "may").0, "done");
}

#[test]
fn what_a_turn_did_before_its_runner_was_killed_is_found() {
    // Runner and agent die together; the next turn does nothing wrong and still stands for what the first one did.
    let workspace = with_tests(
        "test $QUORUM_TURN = 1 || { touch right; exit 0; }
        echo exit 0 > tests/check.sh; echo yes > changed; while true; do sleep 1; done",
    );
    let running = workspace.start(&["run", "mission.yaml", "--run-id", "r1"]);
    wait_for_file(&workspace.path("changed"));
    // An agent may be quicker than the record of its start.
    wait_for("the agent on record", || on_record(&workspace, "agent:spawned") == 1);
    let spawned = workspace.events().into_iter().find(|event| event["event"] == "agent:spawned");
    let pid = spawned.expect("it works")["pid"].as_i64().expect("it has a pid");
    running.kill();
    let pid = Pid::from_raw(i32::try_from(pid).expect("a pid")).expect("a pid");
    let _ = kill_process(pid, Signal::KILL);
    let document = workspace.resume_json(3, &[]);
    assert_eq!(failure(&document, "work")["mode"], "protected", "{document:#}");
}

#[test]
fn what_an_adopted_turn_did_is_found() {
    let workspace = with_tests(
        "echo yes > begun; while ! test -e go; do sleep 0.02; done
        echo exit 0 > tests/check.sh; touch right",
    );
    workspace.kill_at(&["run", "mission.yaml", "--run-id", "r1"], "begun");
    let resumed = workspace.start(&["resume", "--json"]);
    workspace.write("go", "");
    let document = resumed.finish().exits(3).json();
    assert_eq!(failure(&document, "work")["mode"], "protected", "{document:#}");
}

#[test]
fn an_interrupted_turn_that_changed_them_has_failed() {
    let workspace =
        with_tests("echo exit 0 > tests/check.sh; echo yes > changed; while true; do sleep 1; done");
    let running = workspace.start(&["run", "mission.yaml", "--json"]);
    wait_for_file(&workspace.path("changed"));
    running.signal(Signal::INT);
    let document = running.finish().exits(130).json();
    assert_eq!(failure(&document, "work")["mode"], "protected", "{document:#}");
}

#[test]
fn false_green_20_the_record_of_protected_files_cannot_be_forged() {
    let workspace = with_tests(
        "echo exit 0 > tests/check.sh
        for f in .polpo/runs/*/@spool/*.before; do echo '{}' > $f; done",
    );
    assert_protected(&workspace, 3, &["record of them is lost"]);
}

#[test]
fn what_cannot_be_watched_is_no_reason_to_look_away() {
    // A link on the way: what it leads to would go unwatched, so the agent is not started.
    let workspace = with_tests("touch touched");
    std::fs::remove_dir_all(workspace.path("tests")).expect("it is ours");
    workspace.write("real/check.sh", "true");
    symlink("real", workspace.path("tests")).expect("a link can be made");
    let document = workspace.run_json(3, &[]);
    failure(&document, "work")["message"].says(&["tests is a link"]);
    assert!(!workspace.exists("touched"));
}

#[test]
fn a_protected_file_that_cannot_be_read_afterwards_is_named() {
    let workspace = with_tests("chmod 0 tests/check.sh; touch right");
    // Root may read anything.
    let document = workspace.start_unprivileged(&["run", "mission.yaml", "--json"]).finish().exits(3).json();
    is_protected(&document, &["check.sh", "denied"]);
    let mode = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(workspace.path("tests/check.sh"), mode).expect("it is ours");
}

#[test]
fn a_glob_that_is_none_is_an_error() {
    for (protect, words) in [("'a[b'", "not a glob"), ("../x", "leads out"), ("/etc", "leads out")] {
        let workspace = Workspace::with(&format!(
            "
name: globs
agents: {{worker: {{run: touch touched}}}}
settings: {{protect: [{protect}]}}
tasks: [{{title: work}}]
"
        ));
        workspace.refuses(&["mission.yaml:4", words]);
    }
}

#[test]
fn an_honest_run_leaves_the_journal_and_its_folder_unwatched_by_globs() {
    // `**` means everything that is the user's: the run's own records change all the time.
    let workspace = Mission::new().worker("echo said").setting("protect", ["**"]).tasks(["work"]).workspace();
    workspace.quorum(RUN_AS_R1).exits(0);
}
