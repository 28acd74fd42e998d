//! State that was carried elsewhere works there.

use std::fs;
use std::path::Path;

use crate::support::journal;
use crate::support::{Finished, Running, Workspace};

/// Two tasks, each done by a script beside the mission and told by a file; the second waits until `go` is there.
const TWO: &str = "
name: two files
agents:
  first: {run: [agents/first.sh]}
  second: {run: 'echo two > Two.txt'}
settings: {maxRetries: 0}
tasks:
  - {title: One, assignTo: first, targetFiles: [One.txt]}
  - {title: Two, assignTo: second, dependsOn: [One], targetFiles: [Two.txt], requiresApproval: true}
";

pub fn in_folder(workspace: &Workspace, folder: &str, arguments: &[&str]) -> Finished {
    let mut command = workspace.command(arguments);
    command.current_dir(workspace.path(folder));
    Running::start(command).finish()
}

/// `one/` with a run that waits for a person.
pub fn begun(mission: &str) -> Workspace {
    let workspace = Workspace::new();
    workspace.write("one/mission.yaml", mission);
    workspace.write("one/agents/first.sh", "#!/bin/sh\necho one > One.txt\n");
    let script = workspace.path("one/agents/first.sh");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(script, executable).expect("it can be made executable");
    in_folder(&workspace, "one", &["run", "-q", "--run-id", "r1"]).exits(8);
    workspace
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
    let workspace = begun(TWO);
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
    let workspace = begun(TWO);
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
        "
name: long
agents: {worker: {run: 'test -e stop && exit 1; echo > started; while [ ! -e go ]; do sleep 0.02; done; echo > done'}}
settings: {maxRetries: 0}
tasks: [{title: work}]
",
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
    let mission = format!("workspace: {}\n{TWO}", elsewhere.display());
    let workspace = {
        workspace.write("one/mission.yaml", &mission);
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
    workspace.write("a/job/mission.yaml", TWO.replace("[agents/first.sh]", "'echo one > One.txt'"));
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
    workspace.write("job/mission.yaml", TWO.replace("[agents/first.sh]", "'echo one > One.txt'"));
    let state = workspace.path("state").display().to_string();
    in_folder(&workspace, "job", &["run", "-q", "--run-id", "r1", "--state-dir", &state]).exits(8);
    fs::rename(workspace.path("job"), workspace.path("gone")).expect("it can be moved");
    workspace.quorum(&["approve", "r1.1.1", "--state-dir", &state]).exits(0);
    workspace.quorum(&["resume", "--state-dir", &state]).exits(9).says(&["job", "is not there"]);
    assert!(!workspace.exists("job"));
}
