//! State that was carried elsewhere works there.

use std::fs;
use std::path::Path;

use rustix::process::Signal;
use serde_json::json;

use crate::support::journal;
use crate::support::scenes::begun_runs::{begun, in_folder};
use crate::support::{Mission, Running, Workspace};

/// Two tasks, each done by a script beside the mission and told by a file; the second waits until `go` is there.
fn two() -> Mission {
    Mission::new()
        .agent_with("first", json!({"run": ["agents/first.sh"]}))
        .agent("second", "echo two > Two.txt")
        .setting("maxRetries", 0)
        .task("One", |t| t.files(["One.txt"]))
        .task("Two", |t| t.by("second").needs("One").files(["Two.txt"]).approved())
}

fn approved(workspace: &Workspace, folder: &str) {
    in_folder(workspace, folder, &["approve", "r1.1.1"]).exits(0);
}

fn copy(from: &Path, to: &Path) {
    let copied = std::process::Command::new("cp").arg("-a").arg(from).arg(to).status();
    assert!(copied.expect("it can be copied").success());
}

fn files(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("it can be read");
    let names = entries.map(|entry| entry.expect("it can be read").file_name());
    let mut names: Vec<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn resume_in_a_moved_folder_works_there_and_says_from_where() {
    let workspace = begun(&two());
    fs::rename(workspace.path("one"), workspace.path("two")).expect("it can be moved");
    approved(&workspace, "two");
    in_folder(&workspace, "two", &["doctor"]).exits(0);
    let resumed = in_folder(&workspace, "two", &["resume", "--json"]).exits(0);
    assert!(workspace.exists("two/Two.txt"));
    assert!(!workspace.exists("one"), "the old folder was made again");
    let from = workspace.path("one").canonicalize().unwrap_or(workspace.path("one"));
    let from = from.display().to_string();
    assert!(resumed.stderr.contains(&from), "{}", resumed.stderr);
    assert_eq!(resumed.json()["movedFrom"], from.as_str());
    let status = in_folder(&workspace, "two", &["status", "--json"]).exits(0).json();
    assert_eq!(status["movedFrom"], from.as_str());
    in_folder(&workspace, "two", &["events"]).exits(0).shows(&["run:moved"]);
}

#[test]
fn resume_in_a_copy_leaves_the_original_alone() {
    let workspace = begun(&two());
    copy(&workspace.path("one"), &workspace.path("two"));
    let before = files(&workspace.path("one"));
    let journal = workspace.read(&format!("one/{}", journal::of("r1")));
    approved(&workspace, "two");
    in_folder(&workspace, "two", &["resume"]).exits(0);
    assert!(workspace.exists("two/Two.txt"));
    assert_eq!(files(&workspace.path("one")), before, "the old tree was touched");
    assert_eq!(workspace.read(&format!("one/{}", journal::of("r1"))), journal);
    // The original goes on by itself.
    approved(&workspace, "one");
    let resumed = in_folder(&workspace, "one", &["resume", "--json"]).exits(0);
    assert_eq!(resumed.json()["movedFrom"], serde_json::Value::Null);
    assert!(workspace.exists("one/Two.txt"));
}

#[test]
fn an_agent_of_the_original_is_not_ended_by_a_copy() {
    let workspace = Workspace::new();
    workspace.write(
        "one/mission.yaml",
        Mission::new()
            .worker(
                "test -e stop && exit 1; echo > started; while [ ! -e go ]; do sleep 0.02; done; echo > done",
            )
            .setting("maxRetries", 0)
            .tasks(["work"])
            .yaml(),
    );
    let mut command = workspace.command(&["run", "--run-id", "r1"]);
    command.current_dir(workspace.path("one"));
    let running = Running::start(command);
    crate::support::wait_for_file(&workspace.path("one/started"));
    let sock = workspace.path("one/.polpo/control.sock");
    assert!(sock.exists());
    // Sockets cannot be copied by everybody; nor are they state.
    workspace
        .bash(
            "mkdir two && cd one && tar cf - --exclude='*.sock' . | tar xf - -C ../two && touch ../two/stop",
        )
        .exits(0);
    in_folder(&workspace, "two", &["resume"]).exits(3);
    workspace.write("one/go", "");
    running.finish().exits(0);
    assert!(workspace.exists("one/done"));
}

#[test]
fn an_absolute_workspace_stays_where_it_is() {
    let workspace = Workspace::new();
    let elsewhere = workspace.path("elsewhere");
    let mission = two().key("workspace", elsewhere.display().to_string());
    let workspace = {
        workspace.write("one/mission.yaml", mission.yaml());
        workspace.write("one/agents/first.sh", "#!/bin/sh\necho one > One.txt\n");
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(workspace.path("one/agents/first.sh"), executable)
            .expect("it can be made executable");
        in_folder(&workspace, "one", &["run", "-q", "--run-id", "r1"]).exits(8);
        workspace
    };
    fs::rename(workspace.path("one"), workspace.path("two")).expect("it can be moved");
    approved(&workspace, "two");
    in_folder(&workspace, "two", &["resume"]).exits(0);
    assert!(workspace.exists("elsewhere/Two.txt"));
    assert!(!workspace.exists("two/Two.txt") && !workspace.exists("one"));
}

#[test]
fn state_and_mission_that_lie_beside_each_other_move_together() {
    let workspace = Workspace::new();
    workspace.write("a/job/mission.yaml", two().agent("first", "echo one > One.txt").yaml());
    let state = |root: &str| workspace.path(root).join("state").display().to_string();
    let old = state("a");
    in_folder(&workspace, "a/job", &["run", "-q", "--run-id", "r1", "--state-dir", &old]).exits(8);
    fs::rename(workspace.path("a"), workspace.path("b")).expect("it can be moved");
    let new = state("b");
    in_folder(&workspace, "b", &["approve", "r1.1.1", "--state-dir", &new]).exits(0);
    in_folder(&workspace, "b", &["resume", "--state-dir", &new]).exits(0);
    assert!(workspace.exists("b/job/Two.txt") && !workspace.exists("a"));
}

#[test]
fn a_mission_folder_that_is_gone_is_not_made_again() {
    let workspace = Workspace::new();
    workspace.write("job/mission.yaml", two().agent("first", "echo one > One.txt").yaml());
    let state = workspace.path("state").display().to_string();
    in_folder(&workspace, "job", &["run", "-q", "--run-id", "r1", "--state-dir", &state]).exits(8);
    fs::rename(workspace.path("job"), workspace.path("gone")).expect("it can be moved");
    workspace.quorum(&["approve", "r1.1.1", "--state-dir", &state]).exits(0);
    workspace.quorum(&["resume", "--state-dir", &state]).exits(9).says(&["job", "is not there"]);
    assert!(!workspace.exists("job"));
}

/// `one/` with a run under protected tests whose turn was ended by SIGTERM while it worked; `more` are keys of the mission, and
/// `work` is what the turn would have done next.
fn interrupted(more: &str, work: &str) -> Workspace {
    let workspace = Workspace::new();
    let top = workspace.root().display();
    let script = format!(r#"echo > "{top}/started"; while [ ! -e "{top}/go" ]; do sleep 0.02; done; {work}"#);
    let mission = Mission::new()
        .keys(more)
        .worker(script)
        .setting("protect", ["tests/**"])
        .setting("evaluate", false)
        .task("work", |t| {
            t.attempts(1).files(["x.txt"]).expects(json!({"type": "script", "command": "sh tests/t.sh"}))
        });
    workspace.write("one/mission.yaml", mission.yaml());
    workspace.write("one/tests/t.sh", "test -s x.txt\n");
    workspace.write("one/tests/other", "as it was\n");
    if more.contains("worktree") {
        let commands = "git init -qb main one && cd one && echo .polpo > .gitignore && git add -A &&
            git -c user.name=a -c user.email=a@example.org commit -qm base";
        workspace.bash(commands).exits(0);
    }
    let mut command = workspace.command(&["run", "--run-id", "r1"]);
    command.current_dir(workspace.path("one"));
    let running = Running::start(command);
    crate::support::wait_for_file(&workspace.path("started"));
    running.signal(Signal::TERM);
    running.finish().exits(143);
    workspace.write("go", "");
    workspace
}

const PLACES: [&str; 3] = ["", "isolation: worktree", "isolation: copy"];

/// Everything is written anew, as a checkout or a cache of CI does.
fn carried(workspace: &Workspace) {
    workspace.bash("cp -r one two && rm -rf one").exits(0);
}

#[test]
fn a_moved_run_does_not_accuse_the_agent_whose_turn_was_interrupted() {
    for place in PLACES {
        let workspace = interrupted(place, "echo x > x.txt");
        carried(&workspace);
        let document = in_folder(&workspace, "two", &["resume", "--json"]).exits(0).json();
        assert_eq!(document["movedFrom"], workspace.path("one").display().to_string(), "{place}");
    }
}

#[test]
fn a_run_whose_folder_was_made_anew_at_the_same_place_does_not_accuse_the_agent() {
    for place in PLACES {
        let workspace = interrupted(place, "echo x > x.txt");
        workspace.bash("cp -r one two && rm -rf one && cp -r two one").exits(0);
        in_folder(&workspace, "one", &["resume"]).exits(0);
    }
}

#[test]
fn a_moved_run_still_holds_the_agent_to_a_protected_file() {
    for place in PLACES {
        for work in ["echo > tests/t.sh", "rm tests/other", "echo > tests/new", "chmod +x tests/t.sh"] {
            let workspace = interrupted(place, &format!("{work}; echo x > x.txt"));
            carried(&workspace);
            let document = in_folder(&workspace, "two", &["resume", "--json"]).exits(3).json();
            assert_eq!(
                document["tasks"][0]["attempts"][0]["cause"], "protected",
                "{place}: {work}: {document:#}"
            );
        }
    }
}

#[test]
fn what_was_changed_between_the_sessions_of_a_moved_run_is_seen() {
    for place in ["", "isolation: copy"] {
        let workspace = interrupted(place, "echo x > x.txt");
        // Something of the interrupted turn may have done it.
        workspace.bash("find one -path '*tests/other' -exec sh -c 'echo other > \"$1\"' sh {} ';'").exits(0);
        carried(&workspace);
        let resumed = in_folder(&workspace, "two", &["resume"]).exits(3);
        resumed.says(&["tests/other was changed"]);
    }
}

#[test]
fn whoever_carries_a_run_has_not_done_its_work() {
    let with_a_file_of_yesterday = || {
        let workspace = interrupted("", "true");
        workspace.write("one/x.txt", "of yesterday\n");
        workspace
    };
    let here = with_a_file_of_yesterday();
    let stayed = in_folder(&here, "one", &["resume"]);
    let there = with_a_file_of_yesterday();
    carried(&there);
    let carried = in_folder(&there, "two", &["resume"]);
    assert_eq!(carried.code(), stayed.code(), "{}\n{}", carried.stderr, stayed.stderr);
}

#[test]
fn a_script_that_judges_beside_the_mission_is_protected_where_it_was_carried() {
    let workspace = Workspace::new();
    let mission = two()
        .key("workspace", "../work")
        .agent("first", "echo one > One.txt")
        .agent("second", "echo two > Two.txt; echo > check.sh")
        .change("Two", |t| t.check("sh check.sh"));
    workspace.write("a/job/mission.yaml", mission.yaml());
    workspace.write("a/work/check.sh", "exit 1\n");
    in_folder(&workspace, "a/job", &["run", "-q", "--run-id", "r1"]).exits(8);
    fs::rename(workspace.path("a"), workspace.path("b")).expect("it can be moved");
    in_folder(&workspace, "b/job", &["approve", "r1.1.1"]).exits(0);
    let document = in_folder(&workspace, "b/job", &["resume", "--json"]).exits(3).json();
    assert_eq!(document["tasks"][1]["attempts"][0]["cause"], "protected", "{document:#}");
}
