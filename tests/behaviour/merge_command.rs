//! `quorum merge`: the work of a run that ended well is merged later, by what holds for `--merge`.

use std::fs;

use serde_json::json;

use crate::support::scenes::begun_runs::in_folder;
use crate::support::scenes::repositories::{git, repository, subjects};
use crate::support::{BINARY, DEADLINE, Mission, Says, Workspace, poll, wait_for};

/// One task that changes `g` and makes `f`.
fn one() -> Mission {
    Mission::new().worker("echo new > f; echo x >> g").setting("evaluate", false).tasks(["a"])
}

/// A run that ended with ok and was to merge nothing.
fn held() -> Workspace {
    let workspace = repository(one().setting("worktree", json!({"merge": "never"})), &[("g", "1\n")]);
    workspace.quorum(&["run", "mission.yaml", "--run-id", "r1"]).exits(0).shows(&["next: quorum merge r1\n"]);
    assert_eq!(subjects(&workspace, "main"), [""; 0]);
    workspace
}

#[track_caller]
fn is_merged(workspace: &Workspace) {
    assert_eq!(subjects(workspace, "main"), ["a"]);
    assert_eq!(git(workspace, &["status", "--porcelain"]), "");
    assert_eq!((workspace.read("f"), workspace.read("g")), ("new\n".to_owned(), "1\nx\n".to_owned()));
}

/// What was refused has touched nothing.
#[track_caller]
fn is_refused(workspace: &Workspace, words: &[&str]) {
    let before = git(workspace, &["log", "--all", "--format=%H %D"]);
    let dirty = git(workspace, &["status", "--porcelain"]);
    workspace.quorum(&["merge", "r1"]).exits(9).says(words);
    assert_eq!(git(workspace, &["log", "--all", "--format=%H %D"]), before);
    assert_eq!(git(workspace, &["status", "--porcelain"]), dirty);
}

#[test]
fn what_waits_is_merged_once_and_the_run_says_so_from_then_on() {
    let workspace = held();
    let merged = workspace.quorum(&["merge", "--json"]).exits(0).says(&["merged: 1 commit"]).json();
    assert_eq!((&merged["runId"], &merged["outcome"]), (&json!("r1"), &json!("ok")));
    is_merged(&workspace);
    let status = workspace.quorum(&["status"]).exits(0).stdout;
    assert!(!status.contains("quorum merge"), "{status}");
    let journal = workspace.read(".polpo/runs/r1/journal.jsonl");
    for _ in 0..2 {
        workspace.quorum(&["merge", "r1"]).exits(0).says(&["run r1 is already merged"]);
        workspace.quorum(&["resume", "r1"]).exits(0).says(&["there is nothing to resume"]);
    }
    assert_eq!(workspace.read(".polpo/runs/r1/journal.jsonl"), journal);

    // What somebody took back since is brought again: the record is not the branch.
    git(&workspace, &["reset", "-q", "--hard", "HEAD~1"]);
    workspace.quorum(&["merge", "r1"]).exits(0).says(&["merged: 1 commit"]);
    is_merged(&workspace);
}

#[test]
fn a_named_branch_is_made_and_the_one_that_is_checked_out_may_follow() {
    let workspace = held();
    workspace.quorum(&["merge", "r1", "--into", "branch done"]).exits(0);
    assert_eq!((subjects(&workspace, "done"), subjects(&workspace, "main").len()), (vec!["a".to_owned()], 0));
    workspace.quorum(&["merge", "r1", "--into", "branch done"]).exits(0).says(&["already merged"]);
    workspace.quorum(&["merge", "r1", "--into", "ff"]).exits(0).says(&["merged: 1 commit"]);
    is_merged(&workspace);
    for wrong in ["never", "done", "branch a..b"] {
        workspace.quorum(&["merge", "r1", "--into", wrong]).exits(2).says(&["--into"]);
    }
}

#[test]
fn what_is_in_the_way_is_in_the_way_of_this_too_and_once_it_is_gone_the_work_is_merged() {
    for (blocks, mends, why) in [
        ("echo mine >> g", "git checkout -q g", "changes that are not committed: g"),
        ("echo mine > f", "rm f", "f is there, and git does not follow it"),
        ("git checkout -q --detach", "git checkout -q main", "another branch is checked out"),
        ("git checkout -q -b other", "git checkout -q main", "another branch is checked out"),
        (
            "git -c user.name=b -c user.email=b@c commit -q --allow-empty -m mine",
            "git reset -q --hard HEAD~1",
            "your branch has moved since the run began",
        ),
    ] {
        let workspace = held();
        workspace.bash(blocks).exits(0);
        is_refused(&workspace, &[why]);
        workspace.quorum(&["status", "--exit-code"]).exits(9);
        workspace.bash(mends).exits(0);
        workspace.quorum(&["merge", "r1"]).exits(0).says(&["merged: 1 commit"]);
        is_merged(&workspace);
    }
}

#[test]
fn only_work_of_a_run_that_ended_with_ok_is_merged() {
    let mission = || Mission::new().worker("echo new > f").setting("evaluate", false);
    let bad = |mission: Mission| mission.agent("bad", "exit 1").task("b", |task| task.by("bad").attempts(1));
    let failed = repository(bad(mission().tasks(["a"])), &[]);
    failed.quorum(&["run", "mission.yaml", "--run-id", "r1"]).exits(3);
    is_refused(&failed, &["run r1 ended with task_failed (3)"]);

    // What the run was allowed counts here as it did there.
    let never = json!({"merge": "never"});
    let allowed = repository(bad(mission().tasks(["a"])).setting("worktree", never), &[]);
    allowed.quorum(&["run", "mission.yaml", "--run-id", "r1", "--allow", "task_failed"]).exits(0);
    allowed.quorum(&["merge", "r1"]).exits(0).says(&["merged: 1 commit"]);
    assert_eq!(subjects(&allowed, "main"), ["a"]);

    let waits = repository(mission().tasks(["a"]).task("b", |task| task.needs("a").approved()), &[]);
    waits.quorum(&["run", "mission.yaml", "--run-id", "r1"]).exits(8);
    is_refused(&waits, &["run r1 has not ended", "quorum resume r1"]);

    let shared = mission().tasks(["a"]).workspace();
    shared.quorum(&["run", "mission.yaml", "--run-id", "r1"]).exits(0);
    shared.quorum(&["merge", "r1"]).exits(2).says(&["no task of run r1 works in a worktree"]);

    let nothing = repository(Mission::new().worker("true").setting("evaluate", false).tasks(["a"]), &[]);
    nothing.quorum(&["run", "mission.yaml", "--run-id", "r1"]).exits(0);
    nothing.quorum(&["merge", "r1"]).exits(0).says(&["changed nothing: there is nothing to merge"]);
    nothing.quorum(&["merge", "r7"]).exits(2).says(&["there is no run 'r7'"]);
}

#[test]
fn false_green_72_a_reference_that_somebody_moved_is_merged_nowhere() {
    let workspace = held();
    let commit = "git -c user.name=b -c user.email=b@c commit -q --allow-empty -m mine";
    // Another commit in the place of what was accepted.
    let other = git(&workspace, &["commit-tree", "-m", "forged", "HEAD^{tree}"]);
    git(&workspace, &["update-ref", "refs/quorum/r1/main", &other]);
    is_refused(&workspace, &["refs/quorum/r1/main is", "somebody has moved it"]);
    assert!(!workspace.exists("f"));

    // Work of a person that only the reference claims to be of the run: it would be lost.
    let workspace = repository(one(), &[("g", "1\n")]);
    workspace.write("f", "mine");
    workspace.quorum(&["run", "mission.yaml", "--run-id", "r1"]).exits(9);
    workspace.bash(&format!("rm f; {commit}; git update-ref refs/quorum/r1/main HEAD")).exits(0);
    is_refused(&workspace, &["somebody has moved it"]);
    workspace.quorum(&["resume", "r1"]).exits(9).says(&["your branch has moved since the run began"]);
    assert_eq!(subjects(&workspace, "main"), ["mine"]);
}

#[test]
fn killed_at_any_record_the_next_one_ends_the_same() {
    let workspace = held();
    let journal = workspace.path(".polpo/runs/r1/journal.jsonl");
    let lines = || fs::read_to_string(&journal).unwrap_or_default().lines().count();
    for _ in 0..12 {
        let so_far = lines();
        let mut merging = workspace.start(&["merge", "r1"]);
        let mut ended = false;
        poll(DEADLINE, || {
            ended = merging.has_ended();
            ended || lines() > so_far
        });
        if ended {
            merging.finish().exits(0);
            break;
        }
        merging.kill();
    }
    workspace.quorum(&["merge", "r1"]).exits(0);
    is_merged(&workspace);

    // Git had moved the reference, and no file yet.
    let workspace = held();
    let (head, main) =
        (git(&workspace, &["rev-parse", "main"]), git(&workspace, &["rev-parse", "refs/quorum/r1/main"]));
    workspace.write(".polpo/runs/r1/worktrees/moving", format!("{head} {main}"));
    git(&workspace, &["update-ref", "HEAD", &main]);
    workspace.quorum(&["merge", "r1"]).exits(0);
    is_merged(&workspace);
}

#[test]
fn a_run_that_was_moved_is_merged_where_it_lies_now() {
    let workspace = Workspace::new();
    let mission = one().key("isolation", "worktree").setting("worktree", json!({"merge": "never"}));
    workspace.write("one/mission.yaml", mission.yaml());
    workspace.write("one/.gitignore", ".polpo\n");
    workspace.write("one/g", "1\n");
    let commit = "git -c user.name=b -c user.email=b@c commit -qm base";
    workspace.bash(&format!("cd one && git init -q -b main && git add -A && {commit}")).exits(0);
    in_folder(&workspace, "one", &["run", "-q", "--run-id", "r1"]).exits(0);
    workspace.bash("mv one two").exits(0);
    in_folder(&workspace, "two", &["merge", "r1"]).exits(0).says(&["merged: 1 commit"]);
    assert_eq!((workspace.read("two/f"), workspace.exists("one")), ("new\n".to_owned(), false));
}

#[test]
fn agents_and_whoever_comes_while_a_session_is_at_work_are_refused() {
    let workspace = held();
    let script = format!(
        "{BINARY} merge r1 2> said; echo $? > code; touch seen; until test -e go; do sleep 0.02; done"
    );
    let mission = Mission::new().worker(script).setting("evaluate", false).tasks(["a"]);
    workspace.write("home/second.yaml", mission.key("workspace", "..").yaml());
    let running = workspace.start(&["run", "home/second.yaml", "--run-id", "r2"]);
    wait_for("the agent that merges", || workspace.exists("seen"));
    workspace.quorum(&["merge", "r1"]).exits(9).says(&["is held by process"]);
    workspace.write("go", "");
    running.finish().exits(0);
    assert_eq!(workspace.lines("code"), ["9"]);
    workspace.read("said").says(&["refused to agents of a run"]);
    assert_eq!(subjects(&workspace, "main"), [""; 0]);
}
