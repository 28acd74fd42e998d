//! What git cannot put together stays open until its agent has written it, and what merging came to is part of the outcome.

use std::fs::File;
use std::sync::mpsc::channel;

use serde_json::json;

use crate::support::scenes::repositories::{git, names_its_top, refused, repository, subjects};
use crate::support::{DEADLINE, Mission, Workspace, attempts, standing, task};

/// Two tasks that begin with the same files: the second one is judged once the first one was accepted. What it does in further
/// attempts is `again`.
fn two(files: &[(&str, &str)], (first, second): (&str, &str), again: &str) -> Workspace {
    let second = format!(
        "if test $QUORUM_ATTEMPT = 1; then {second}; until test -e TOP/seen; do sleep 0.02; done; else {again}; fi"
    );
    let mission = Mission::new()
        .agent("first", first)
        .agent("second", &second)
        .agent("last", "touch TOP/seen")
        .setting("evaluate", false)
        .setting("concurrency", 3)
        .task("first", |task| task.by("first"))
        .task("second", |task| task.by("second").attempts(1))
        .task("last", |task| task.by("last").needs("first"));
    let workspace = repository(mission, files);
    names_its_top(&workspace);
    workspace
}

/// Conflicts that leave no marks: what lies there before, what each side does, and how that is told.
const KINDS: [(&str, &str, &str, &str); 8] = [
    ("printf 'a\\0b' > f", "printf 'a\\0one' > f", "printf 'a\\0two' > f", "f (changed on both sides)"),
    ("echo 1 > f", "echo one > f", "rm f", "f (removed on one side, changed on the other)"),
    ("echo 1 > f", "rm f", "echo two > f", "f (removed on one side, changed on the other)"),
    ("ln -s a f", "ln -sfn b f", "ln -sfn c f", "f (a link to something else on each side)"),
    ("echo 1 > f", "echo one > f", "ln -sfn g f", "f (a link on one side, a file on the other)"),
    (
        "echo 1 > g",
        "mkdir f; echo one > f/x",
        "echo two > f",
        "f (a file on one side, a folder on the other)",
    ),
    ("seq 50 > f", "mv f one", "mv f two", "(under another name on each side)"),
    (
        "echo '* -merge' > .gitattributes; echo 1 > f",
        "echo one > f",
        "echo two > f",
        "f (changed on both sides)",
    ),
];

fn prepared(before: &str, sides: (&str, &str), again: &str) -> Workspace {
    let workspace = two(&[], sides, again);
    workspace.bash(before).exits(0);
    git(&workspace, &["add", "-A"]);
    git(&workspace, &["commit", "-qm", "files"]);
    workspace
}

#[test]
fn false_green_55_a_conflict_without_marks_is_open_until_its_file_was_written() {
    for (before, first, second, told) in KINDS {
        let workspace = prepared(before, (first, second), "true");
        let document = workspace.run_json(3, &[]);
        assert_eq!(standing(&document, "first").0, "done", "{told}: {document:#}");
        let findings = task(&document, "second")["findings"].to_string();
        assert!(findings.contains(told) && !findings.contains("marks still"), "{told}: {findings}");
        let main = git(&workspace, &["for-each-ref", "--format=%(refname)", "refs/quorum/*/main"]);
        let names = git(&workspace, &["ls-tree", "-r", "--name-only", &main]);
        assert!(!names.contains('~'), "{names}");
    }
}

#[test]
fn false_green_55_what_was_written_anew_or_is_said_to_be_right_is_resolved() {
    for (before, first, second, _) in KINDS {
        for again in ["find . -path ./.git -prune -o -exec touch -h {} +", "rm -rf f one two; echo both > f"]
        {
            let workspace = prepared(before, (first, second), again);
            let document = workspace.run_json(0, &[]);
            assert_eq!(attempts(&document, "second").len(), 2, "{before}: {document:#}");
            assert_eq!(git(&workspace, &["status", "--porcelain"]), "", "{before}");
            assert!(!git(&workspace, &["ls-files"]).contains('~'), "{before}");
        }
    }
}

#[test]
fn false_green_55_a_folder_that_was_thrown_away_resolves_nothing() {
    let (before, first, second, told) = KINDS[0];
    let workspace = prepared(before, (first, second), "rm -rf \"$PWD\"");
    let document = workspace.run_json(3, &[]);
    assert!(task(&document, "second")["findings"].to_string().contains(told), "{document:#}");
}

#[test]
fn merges_see_the_attributes_of_the_tree() {
    let sides = ("echo one >> sub/log", "echo two >> sub/log");
    let workspace = two(&[("sub/log", "1\n"), ("sub/.gitattributes", "log merge=union\n")], sides, "true");
    let document = workspace.run_json(0, &[]);
    assert_eq!(attempts(&document, "second").len(), 1, "{document:#}");
    let mut lines = workspace.lines("sub/log");
    lines.sort();
    assert_eq!(lines, ["1", "one", "two"]);
}

#[test]
fn a_merge_driver_of_the_user_is_named_and_not_run() {
    let files = [("f", "1\n"), (".gitattributes", "f merge=own\n")];
    let workspace = two(&files, ("echo one > f", "echo two > f"), "true");
    let top = workspace.root().display().to_string();
    git(&workspace, &["config", "merge.own.driver", &format!("touch {top}/hooked")]);
    let document = workspace.run_json(3, &[]);
    let findings = task(&document, "second")["findings"].to_string();
    assert!(findings.contains("its merge driver, own, is not run"), "{findings}");
    assert!(!workspace.exists("hooked"));
}

fn one() -> Workspace {
    repository(
        Mission::new().worker("echo new > f; echo x >> g").setting("evaluate", false).tasks(["a"]),
        &[("g", "1\n")],
    )
}

#[test]
fn false_green_56_what_could_not_be_merged_is_9_in_every_output() {
    let workspace = one();
    workspace.write("f", "mine");
    let reports = ["--report", "junit=j.xml", "--report", "markdown=m.md", "--report", "html=h.html"];
    let all: Vec<&str> = ["run", "mission.yaml"].into_iter().chain(reports).collect();
    let why = "f is there, and git does not follow it";
    let summary = workspace.path("summary.md").display().to_string();
    let finished = workspace.quorum_with(&[("GITHUB_STEP_SUMMARY", &summary)], &all).exits(9).says(&[why]);
    finished.shows(&["exit 9 (environment)", why, "git merge refs/quorum/", "quorum resume"]);
    for (report, words) in [
        ("j.xml", "environment"),
        ("m.md", "exit 9 (environment)"),
        ("h.html", "environment"),
        ("summary.md", "exit 9 (environment)"),
    ] {
        assert!(workspace.read(report).contains(words), "{report}: {}", workspace.read(report));
    }
    workspace.quorum(&["status", "--exit-code"]).exits(9).shows(&["exit 9 (environment)", why]);
    let document = workspace.status();
    assert_eq!(
        (&document["outcome"], &document["exitCode"], &document["conditions"], &document["resumable"]),
        (&json!("environment"), &json!(9), &json!(["environment"]), &json!(true))
    );
    assert!(workspace.quorum(&["events"]).stdout.contains("environment"));

    // Once nothing is in the way any more all of them say so.
    workspace.bash("rm f").exits(0);
    workspace.quorum(&["resume"]).exits(0).shows(&["exit 0 (ok)"]);
    workspace.quorum(&["status", "--exit-code"]).exits(0);
    assert_eq!(workspace.status()["warnings"], json!([]));
    assert_eq!(subjects(&workspace, "main"), ["a"]);
}

#[test]
fn false_green_56_what_is_allowed_and_could_not_be_merged_is_9_too() {
    let mission = Mission::new().worker("echo new > f").agent("bad", "exit 1").setting("evaluate", false);
    let mission = mission.task("a", |task| task).task("b", |task| task.by("bad").attempts(1));
    let workspace = repository(mission, &[]);
    workspace.write("f", "mine");
    workspace.quorum(&["run", "mission.yaml", "--allow", "task_failed"]).exits(9);
    workspace.quorum(&["status", "--exit-code"]).exits(9);
    assert_eq!(workspace.status()["conditions"], json!(["environment", "task_failed"]));
}

#[test]
fn a_stale_lock_leaves_the_checkout_alone_and_resume_merges_once_it_is_gone() {
    // One of ours that is older than the session was left by a session that is gone: `worktrees::what_git_of_a_killed_session…`.
    for lock in ["refs/quorum/r1/main.lock", "refs/quorum/r1/task/0.lock"] {
        let workspace = one();
        workspace.write(&format!(".git/{lock}"), "");
        workspace.quorum(&["run", "mission.yaml", "--run-id", "r1"]).exits(0);
        assert_eq!(subjects(&workspace, "main"), ["a"], "{lock}");
    }
    for lock in ["refs/heads/main.lock", "HEAD.lock", "index.lock"] {
        let workspace = one();
        let path = format!(".git/{lock}");
        workspace.write(&path, "");
        workspace.quorum(&["run", "mission.yaml", "--run-id", "r1"]).exits(9);
        assert_eq!((workspace.exists("f"), workspace.read("g")), (false, "1\n".to_owned()), "{lock}");
        assert_eq!(subjects(&workspace, "main"), [""; 0], "{lock}");
        workspace.bash(&format!("rm {path}")).exits(0);
        assert_eq!(git(&workspace, &["status", "--porcelain"]), "", "{lock}");
        workspace.quorum(&["resume"]).exits(0);
        assert_eq!(subjects(&workspace, "main"), ["a"], "{lock}");
        assert_eq!(git(&workspace, &["status", "--porcelain"]), "", "{lock}");
    }
}

#[test]
fn a_stale_lock_of_packed_references_is_named_by_whoever_removes_one() {
    let workspace = one();
    git(&workspace, &["pack-refs", "--all"]);
    workspace.write(".git/packed-refs.lock", "");
    workspace.quorum(&["run", "mission.yaml", "--run-id", "r1"]).exits(0);
    assert_eq!(subjects(&workspace, "main"), ["a"]);
    workspace
        .quorum(&["clean", "--all", "--yes"])
        .exits(0)
        .says(&["references of run r1 stay", "packed-refs.lock"]);
    assert_ne!(git(&workspace, &["for-each-ref", "refs/quorum"]), "");
}

/// A log of git in place of which a pipe lies, once git has it open.
fn opened(path: std::path::PathBuf) -> File {
    let (sender, opened) = channel();
    std::thread::spawn(move || sender.send(File::open(path)));
    opened.recv_timeout(DEADLINE).expect("git opens its log").expect("it can be read")
}

#[test]
fn a_branch_is_put_back_whatever_somebody_else_writes_meanwhile() {
    let workspace = one();
    let logs = [".git/logs/HEAD", ".git/logs/refs/heads/main"];
    workspace.write(".git/index.lock", "");
    workspace.bash(&format!("rm -f {0}; mkfifo {0}", logs.join(" "))).exits(0);
    let running = workspace.start(&["run", "mission.yaml"]);
    let first = opened(workspace.path(logs[0]));
    workspace.write("g", "mine\n");
    workspace.bash(&format!("rm {}", logs[0])).exits(0);
    let second = opened(workspace.path(logs[1]));
    running.finish().exits(9).says(&["g was changed while your branch was moved"]);
    drop((first, second));
    assert_eq!(subjects(&workspace, "main"), [""; 0], "the branch is where it was");
    assert_eq!((workspace.exists("f"), workspace.read("g")), (false, "mine\n".to_owned()));
    workspace.bash("rm -r .git/index.lock .git/logs").exits(0);
    workspace.quorum(&["resume"]).exits(9);
    assert_eq!(workspace.read("g"), "mine\n");
    git(&workspace, &["checkout", "-q", "g"]);
    workspace.quorum(&["resume"]).exits(0);
    assert_eq!(subjects(&workspace, "main"), ["a"]);
}

#[test]
fn a_checkout_whose_branch_cannot_be_put_back_follows_it_once_it_can() {
    let workspace = one();
    let logs = [".git/logs/HEAD", ".git/logs/refs/heads/main"];
    workspace.write(".git/index.lock", "");
    workspace.bash(&format!("rm -f {0}; mkfifo {0}", logs.join(" "))).exits(0);
    let running = workspace.start(&["run", "mission.yaml"]);
    // Git writes both before it moves the branch; whoever is to move it back finds the first one in the way.
    let first = opened(workspace.path(logs[0]));
    workspace.bash(&format!("rm {0}; mkdir {0}; touch {0}/x", logs[0])).exits(0);
    let second = opened(workspace.path(logs[1]));
    running.finish().exits(9).says(&["your checkout is on the way between two commits, and", "index.lock"]);
    drop((first, second));
    assert_eq!((workspace.exists("f"), workspace.read("g")), (false, "1\n".to_owned()));
    assert_eq!(subjects(&workspace, "main"), ["a"], "the branch could not be put back");
    workspace.bash("rm -r .git/index.lock .git/logs").exits(0);
    workspace.quorum(&["resume"]).exits(0);
    assert_eq!(git(&workspace, &["status", "--porcelain"]), "");
    assert_eq!(
        (workspace.read("f"), subjects(&workspace, "main")),
        ("new\n".to_owned(), vec!["a".to_owned()])
    );
}

#[test]
fn a_move_that_was_cut_off_is_finished_or_put_back_and_nobody_elses_change_is_lost() {
    let cut = |workspace: &Workspace, command: &str| {
        let head = git(workspace, &["rev-parse", "main"]);
        workspace.write("f", "in the way");
        workspace.quorum(&["run", "mission.yaml", "--run-id", "r1"]).exits(9);
        let main = git(workspace, &["rev-parse", "refs/quorum/r1/main"]);
        workspace.write(".polpo/runs/r1/worktrees/moving", format!("{head} {main}"));
        workspace.bash(&format!("rm f; {}", command.replace("MAIN", &main))).exits(0);
        workspace.quorum(&["resume"])
    };
    // The reference has moved and no file, or one of them; or a file and not the reference.
    for command in [
        "git update-ref HEAD MAIN",
        "git update-ref HEAD MAIN; echo new > f",
        "echo new > f; printf '1\\nx\\n' > g",
        // Git of the session was killed.
        "touch .git/HEAD.lock .git/refs/heads/main.lock",
        "git update-ref HEAD MAIN; touch .git/index.lock",
    ] {
        let workspace = one();
        cut(&workspace, command).exits(0);
        assert_eq!(git(&workspace, &["status", "--porcelain"]), "", "{command}");
        assert_eq!(workspace.read("f"), "new\n");
    }
    let workspace = one();
    cut(&workspace, "touch -d '1 hour ago' .git/index.lock").exits(9).says(&["index.lock"]);
    assert!(workspace.exists(".git/index.lock"), "whose it is, nobody knows");
    let workspace = one();
    let finished = cut(&workspace, "git update-ref HEAD MAIN; echo mine > g").exits(9);
    finished.says(&["g was changed while your branch was moved"]);
    assert_eq!(workspace.read("g"), "mine\n");
}

#[test]
fn a_branch_whose_move_was_cut_off_is_moved_by_the_next_session() {
    let mission = Mission::new().worker("echo new > f").setting("evaluate", false).tasks(["a"]);
    let workspace = repository(mission.setting("worktree", json!({"merge": "branch done"})), &[]);
    // Somebody else has locked it.
    workspace.write(".git/refs/heads/done.lock", "");
    let finished = workspace.quorum(&["run", "mission.yaml", "--run-id", "r1"]).exits(9);
    finished.says(&["branch done cannot be moved"]);
    workspace.quorum(&["resume"]).exits(9);
    // Git of the session was killed.
    workspace.write(".polpo/runs/r1/worktrees/moving", "refs/heads/done");
    workspace.bash("touch .git/refs/heads/done.lock").exits(0);
    workspace.quorum(&["resume"]).exits(0);
    assert_eq!(subjects(&workspace, "done"), ["a"]);
}

#[test]
fn a_merge_of_the_users_own_that_is_not_concluded_is_in_the_way_before_any_work() {
    let workspace = one();
    workspace.bash("git rev-parse HEAD > .git/MERGE_HEAD").exits(0);
    refused(&workspace, &["MERGE_HEAD is there"]);
}
