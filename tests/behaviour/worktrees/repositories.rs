//! Repositories as people have them, and runs that do not end where they began.

use serde_json::json;

use crate::support::scenes::repositories::{committed, git, names_its_top, repository, subjects};
use crate::support::{Mission, Workspace, attempts, standing, task};

fn one(script: &str) -> Mission {
    Mission::new().worker(script).setting("evaluate", false)
}

#[test]
fn a_history_that_is_cut_is_enough() {
    let origin = repository(
        one("echo x > $QUORUM_TASK; git log --format=%s > $QUORUM_TASK.log").tasks(["a", "b"]),
        &[("file", "1\n")],
    );
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
    let workspace = committed(workspace, &[]);
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
    for how in ["rm -rf \"$PWD\"; echo TOP", "here=\"$PWD\"; cd /; rm -rf \"$here\"; ln -s TOP \"$here\""] {
        let mission = one(&format!("{how}; true"));
        let mission = mission
            .task("a", |task| task.set("verify", json!({"requireFileChanges": true})).check("test -e new"));
        let workspace = repository(mission, &[("file", "as it was\n")]);
        names_its_top(&workspace);
        workspace.quorum(&["run", "mission.yaml"]).exits(3);
        assert_eq!(git(&workspace, &["status", "--porcelain"]), "", "{how}");
        assert_eq!(workspace.read("file"), "as it was\n");
    }
}

#[test]
fn files_of_the_user_that_git_does_not_follow_are_never_overwritten() {
    let named = |script: &str, name: &str| {
        let workspace = repository(one(script).tasks(["a"]), &[]);
        workspace.write(name, "of the user");
        let finished = workspace.quorum(&["run", "mission.yaml"]).exits(9);
        assert_eq!(workspace.read(name), "of the user");
        assert_eq!(git(&workspace, &["status", "--porcelain", "--untracked-files=no"]), "");
        finished.says(&["git does not follow it"]).shows(&["git merge refs/quorum/"]);
    };
    named("echo x > notes", "notes");
    named("echo .polpo > .gitignore; echo x > seen", "seen");
    named("echo .polpo > .gitignore; echo x > home", "home/file");

    // What only the user's repository ignores is ignored in the folders of tasks, too.
    let workspace = repository(one("echo PORT=1 > .env; echo x > file").tasks(["a"]), &[]);
    workspace.write(".git/info/exclude", ".env\n");
    workspace.write(".env", "SECRET=1");
    workspace.quorum(&["run", "mission.yaml"]).exits(0);
    assert_eq!((workspace.read(".env"), workspace.read("file")), ("SECRET=1".to_owned(), "x\n".to_owned()));
}

#[test]
fn the_state_folder_is_no_part_of_any_work() {
    let workspace =
        repository(one("echo > .gitignore; rm -rf .polpo; echo x > .polpo; echo y > file").tasks(["a"]), &[]);
    workspace.quorum(&["run", "mission.yaml"]).exits(0);
    assert!(workspace.path(".polpo").is_dir());
    assert_eq!(git(&workspace, &["ls-files", ".polpo"]), "");
}

#[test]
fn conflict_marks_are_never_merged() {
    let mission = one("echo $QUORUM_TASK >> list").setting("concurrency", 2).tasks(["a", "b"]);
    let workspace = repository(mission, &[("list", "first\n")]);
    let document = workspace.run_json(3, &[]);
    let done: Vec<&str> =
        ["a", "b"].into_iter().filter(|title| standing(&document, title).0 == "done").collect();
    assert_eq!(done.len(), 1, "{document:#}");
    assert!(document.to_string().contains("list has conflict marks still"), "{document:#}");
    let main = git(&workspace, &["for-each-ref", "--format=%(refname)", "refs/quorum/*/main"]);
    assert!(!git(&workspace, &["show", &format!("{main}:list")]).contains("<<<"));
}

#[test]
fn a_conflict_may_be_settled_by_keeping_ones_own() {
    let mission = Mission::new()
        .agent("a", "echo a > list; echo x > own")
        .agent("b", "echo b > list")
        .setting("evaluate", false)
        .task("a", |task| task.by("a"))
        .task("b", |task| task.by("b"));
    let workspace = repository(mission, &[("list", "first\n")]);
    let document = workspace.run_json(0, &[]);
    let tried = attempts(&document, "a").len() + attempts(&document, "b").len();
    assert_eq!((tried, workspace.read("own")), (3, "x\n".to_owned()), "{document:#}");
}

#[test]
fn an_agent_that_throws_its_repository_away_throws_nobody_elses_work_away() {
    let mission = Mission::new()
        .agent("a", "sed -i s/first/a/ list; rm -rf .git; test ! -e other || echo a > list")
        .agent("b", "grep -q '<<<<' list && echo b > list || sed -i s/first/b/ list; echo important > other")
        .setting("evaluate", false)
        .task("a", |task| task.by("a"))
        .task("b", |task| task.by("b"));
    let workspace = repository(mission, &[("list", "first\n")]);
    workspace.quorum(&["run", "mission.yaml"]).exits(0);
    assert_eq!(workspace.read("other"), "important\n");
}

#[test]
fn what_a_check_writes_behind_the_judges_is_not_merged() {
    let check = "grep -q good code || exit 1; echo bad > code; echo x > backdoor";
    let workspace = repository(one("echo good > code").task("a", |task| task.check(check)), &[]);
    workspace.quorum(&["run", "mission.yaml"]).exits(0);
    assert_eq!((workspace.read("code"), workspace.exists("backdoor")), ("good\n".to_owned(), false));
}

#[test]
fn what_agents_write_to_the_settings_of_git_changes_no_merge() {
    let settings = "mkdir -p \"$HOME/.config/git\"; echo '* merge=union' > \"$HOME/.config/git/attributes\"; \
                    echo 'feature*' > \"$HOME/.config/git/ignore\"";
    let writer = format!("{settings}; echo $QUORUM_TASK > list; echo x > feature.$QUORUM_TASK");
    let workspace = repository(one(&writer).tasks(["a", "b"]), &[("list", "first\n")]);
    let document = workspace.run_json(0, &[]);
    assert_eq!(attempts(&document, "a").len() + attempts(&document, "b").len(), 3, "{document:#}");
    assert!(workspace.exists("feature.a") && workspace.exists("feature.b"));
}

#[test]
fn work_that_git_cannot_take_is_no_trouble_of_the_machine() {
    let mission = one("echo '* working-tree-encoding=foo' > .gitattributes; echo x > file");
    let workspace = repository(mission.task("a", |task| task.attempts(1)), &[]);
    let document = workspace.run_json(3, &[]);
    assert!(task(&document, "a")["findings"].to_string().contains("cannot be committed"), "{document:#}");
}

#[test]
fn a_branch_that_was_not_checked_out_when_the_run_began_stays_where_it_is() {
    let mission = one("git -C TOP switch -q -c other; echo x > x").tasks(["a"]);
    let workspace = repository(mission, &[]);
    names_its_top(&workspace);
    workspace.quorum(&["run", "mission.yaml"]).exits(9).says(&["another branch is checked out"]);
    assert_eq!(subjects(&workspace, "other"), ["where it is"]);
}

#[test]
fn a_session_that_was_killed_before_it_brought_its_work_loses_none() {
    let workspace = repository(one("echo x > x").tasks(["a"]), &[]);
    workspace.quorum(&["run", "mission.yaml", "--run-id", "r1", "--merge", "never"]).exits(0);
    git(&workspace, &["update-ref", "-d", "refs/quorum/r1/main"]);
    workspace.quorum(&["clean", "--all", "--yes"]).exits(0).says(&["refs/quorum/r1/main stays"]);
    assert_eq!(git(&workspace, &["show", "refs/quorum/r1/main:x"]), "x");
}

#[test]
fn filters_are_refused() {
    let workspace =
        repository(one("true").tasks(["a"]), &[(".gitattributes", "*.bin filter=lfs\n"), ("a.bin", "x")]);
    super::refused(&workspace, &["no filters", "a.bin has one"]);
}

#[test]
fn new_files_are_merged_however_the_workspace_is_written() {
    let mission = one("echo x > new; echo y > .polpo").key("workspace", "inner/..").tasks(["a"]);
    let workspace = repository(mission, &[("inner/file", "")]);
    workspace.quorum(&["run", "mission.yaml"]).exits(0);
    assert_eq!(workspace.read("new"), "x\n");
    assert!(workspace.path(".polpo").is_dir());
}

#[test]
fn what_is_protected_stays_so_where_a_turn_could_not_be_committed() {
    // Its first turn is found out. In the second session it hides the change behind what git cannot take, which a check removes.
    let worker =
        "if test -e again; then mkdir -p lib; git init -q lib; else touch again; echo true > check.sh; fi";
    let mission = one(worker).task("a", |task| task.check("sh check.sh; rm -rf lib").attempts(1));
    let workspace = repository(mission, &[("check.sh", "test -e done\n")]);
    let failed = workspace.run_json(3, &[]);
    assert_eq!(task(&failed, "a")["failure"]["mode"], "protected", "{failed:#}");
    let document = workspace.quorum(&["resume", "--retry-failed", "--json"]).exits(3).json();
    assert!(document.to_string().contains("check.sh was changed"), "{document:#}");
    let main = git(&workspace, &["for-each-ref", "--format=%(refname)", "refs/quorum/*/main"]);
    assert_eq!(main, "", "nothing was accepted");
}
