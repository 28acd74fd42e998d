//! Missions in a repository of git: their first commit, their branches, and runs that are refused there.

use crate::support::{Finished, Mission, Workspace};

/// Git in the user's repository: what it prints.
#[track_caller]
pub fn git(workspace: &Workspace, arguments: &[&str]) -> String {
    let mut command = workspace.other_command("git");
    command.args(["-c", "user.name=ada", "-c", "user.email=ada@example.org"]).args(arguments);
    let output = command.output().expect("there is git");
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("it is text").trim_end().to_owned()
}

/// The mission's workspace as a repository with one commit.
pub fn repository(mission: Mission, files: &[(&str, &str)]) -> Workspace {
    committed(mission.key("isolation", "worktree").workspace(), files)
}

/// The same where the mission says what is isolated.
pub fn committed(workspace: Workspace, files: &[(&str, &str)]) -> Workspace {
    git(&workspace, &["init", "-q", "-b", "main"]);
    workspace.write(".gitignore", ".polpo\nhome\nseen\n");
    for (name, text) in files {
        workspace.write(name, text);
    }
    git(&workspace, &["add", "-A"]);
    git(&workspace, &["commit", "-qm", "base"]);
    workspace
}

/// Titles of what lies on a branch behind the first commit, the last first.
pub fn subjects(workspace: &Workspace, name: &str) -> Vec<String> {
    let log = git(workspace, &["log", "--format=%s", name]);
    let mut all: Vec<String> = log.lines().map(str::to_owned).collect();
    assert_eq!(all.pop().as_deref(), Some("base"));
    all
}

/// Agents are told where the user's checkout is, which they do not work in.
pub fn names_its_top(workspace: &Workspace) {
    let top = workspace.root().to_string_lossy().into_owned();
    workspace.mission(&workspace.read("mission.yaml").replace("TOP", &format!("'{top}'")));
    git(workspace, &["commit", "-qam", "where it is"]);
}

/// A run that must be refused before anything starts.
#[track_caller]
pub fn refused(workspace: &Workspace, words: &[&str]) {
    let finished: Finished = workspace.quorum(&["run", "mission.yaml"]).exits(9);
    finished.says(words);
    workspace.assert_nothing_started();
}
