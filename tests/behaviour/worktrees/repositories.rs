//! Repositories as people have them, and runs that do not end where they began.

use serde_json::json;

use super::{git, names_its_top, repository, subjects};
use crate::support::{Mission, Workspace, attempts, task};

fn one(script: &str) -> Mission {
    Mission::new().worker(script).setting("evaluate", false)
}

#[test]
fn a_history_that_is_cut_is_enough() {
    let origin =
        repository(one("echo x > $QUORUM_TASK; git log --format=%s > $QUORUM_TASK.log").tasks(["a", "b"]), &[("file", "1\n")]);
    origin.write("file", "2\n");
    git(&origin, &["commit", "-qam", "second"]);
    let clone = Workspace::new();
    let url = format!("file://{}", origin.root().display());
    git(&clone, &["clone", "-q", "--depth", "1", &url, "repository"]);
    let folder = clone.path("repository");
    let mut command = clone.command(&["run", "mission.yaml"]);
    command.current_dir(&folder);
    crate::support::Running::start(command).finish().exits(0);
    let log = git(&clone, &["-C", "repository", "log", "--format=%s"]);
    assert_eq!(log.lines().count(), 3, "{log}");
    assert!(folder.join("a").exists() && folder.join("b").exists());
}

#[test]
fn objects_may_have_longer_names() {
    let workspace = one("echo x > x").tasks(["a"]).key("isolation", "worktree").workspace();
    git(&workspace, &["init", "-q", "-b", "main", "--object-format=sha256"]);
    let workspace = super::committed(workspace, &[]);
    workspace.quorum(&["run", "mission.yaml"]).exits(0);
    assert_eq!(subjects(&workspace, "main"), ["a"]);
}

#[test]
fn settings_and_hooks_of_the_user_do_not_come_between() {
    let workspace = repository(one("echo x > x").tasks(["a"]), &[]);
    for (key, value) in [
        ("commit.gpgsign", "true"),
        ("core.hooksPath", "hooks"),
        ("core.autocrlf", "true"),
        ("merge.ff", "false"),
        ("core.fsmonitor", "touch hooked"),
    ] {
        git(&workspace, &["config", key, value]);
    }
    for hook in ["post-merge", "reference-transaction", "post-checkout"] {
        workspace.write(&format!("hooks/{hook}"), "#!/bin/sh\ntouch hooked\n");
    }
    workspace.bash("chmod +x hooks/*").exits(0);
    let environment = [("GIT_DIR", "/nowhere"), ("GIT_INDEX_FILE", "/nowhere"), ("GIT_WORK_TREE", "/")];
    workspace.quorum_with(&environment, &["run", "mission.yaml"]).exits(0);
    assert_eq!(subjects(&workspace, "main"), ["a"]);
    assert!(!workspace.exists("hooked"));
}

#[test]
fn a_run_that_was_carried_elsewhere_goes_on_there() {
    let mission = one("test -e first && echo second > second || echo first > first");
    let workspace = repository(mission.task("a", |task| task.check("test -e second").attempts(1)), &[]);
    workspace.quorum(&["run", "mission.yaml"]).exits(3);
    let there = Workspace::new();
    workspace.bash(&format!("cp -R . '{}'/there && rm -rf .git .polpo", there.root().display())).exits(0);
    let mut command = there.command(&["resume", "--retry-failed"]);
    command.current_dir(there.path("there"));
    crate::support::Running::start(command).finish().exits(0);
    assert_eq!(there.read("there/second"), "second\n");
}

#[test]
fn a_fixup_goes_on_where_the_work_that_it_mends_was_left() {
    let worker = "test -e first && echo second > second || echo first > first";
    let mission =
        one(worker).task("a", |task| task.check("test -e second").attempts(1).set("onExhausted", "fixup"));
    let workspace = repository(mission, &[]);
    let document = workspace.run_json(0, &[]);
    assert_eq!(attempts(&document, "a").len(), 1, "{document:#}");
    assert_eq!(
        (workspace.read("first"), workspace.read("second")),
        ("first\n".to_owned(), "second\n".to_owned())
    );
}

#[test]
fn work_that_was_merged_can_be_judged_once_more() {
    let workspace = repository(
        Mission::new()
            .worker("echo x > x")
            .reviewer("judge", "test -e x && echo 'SCORE: 90' || echo 'SCORE: 10'")
            .tasks(["a"]),
        &[],
    );
    workspace.quorum(&["run", "mission.yaml"]).exits(0);
    workspace.quorum(&["review", "a"]).exits(0).shows(&["90 of 100"]);
}

#[test]
fn a_folder_that_its_agent_removed_or_replaced_changes_nothing_elsewhere() {
    for how in ["rm -rf \"$PWD\"; echo TOP", "here=$PWD; cd /; rm -rf \"$here\"; ln -s TOP \"$here\""] {
        let mission = one(&format!("{how}; true"))
            .task("a", |task| task.set("verify", json!({"requireFileChanges": true})));
        let workspace = repository(mission, &[("file", "as it was\n")]);
        names_its_top(&workspace);
        let finished = workspace.quorum(&["run", "mission.yaml", "--json"]);
        assert_ne!(finished.code(), Some(0), "nothing was done");
        assert_eq!(task(&finished.json(), "a")["diff"]["merged"], false);
        assert_eq!(git(&workspace, &["status", "--porcelain"]), "", "{how}");
        assert_eq!(workspace.read("file"), "as it was\n");
    }
}
