//! `quorum review`: work without a run, and a task of a run again. Nothing of a run changes.

use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::support::{Mission, Says, Workspace};

fn reviewers() -> Mission {
    Mission::new()
        .worker("echo the work of the worker")
        .judge("a", &[])
        .judge("b", &[])
        .task("write it", |t| t.set("description", "Write it well."))
}

fn scores(each: u8) -> String {
    format!(
        r#"{{"correctness": {each}, "completeness": {each}, "code_quality": {each}, "edge_cases": {each},
            "findings": [{{"severity": "high", "description": "no tests"}}]}}"#
    )
}

/// A workspace whose two reviewers give these scores.
fn workspace(a: &str, b: &str) -> Workspace {
    let workspace = reviewers().workspace();
    workspace.judge("a", &[a]);
    workspace.judge("b", &[b]);
    workspace
}

fn reviewed(workspace: &Workspace, code: i32, arguments: &[&str]) -> Value {
    let mut all = vec!["review", "--json", "--progress", "none"];
    all.extend(arguments);
    workspace.quorum(&all).exits(code).json()
}

fn has_no_run(workspace: &Workspace) -> bool {
    !workspace.path(".polpo").exists()
}

#[test]
fn files_are_judged_without_a_run() {
    let workspace = workspace(&scores(4), &scores(5));
    workspace.write("src/a.py", "def count(): return 1\n");
    let document = reviewed(&workspace, 0, &["--criteria", "It counts.", "src/a.py"]);
    assert_eq!(document["schema"], "quorum.review/v1");
    assert_eq!((document["verdict"].as_str(), document["exitCode"].as_i64()), (Some("pass"), Some(0)));
    assert_eq!(document["findings"][0]["description"], "no tests");
    workspace.asked("a", 1).says(&["It counts.", "def count(): return 1"]);
    assert!(has_no_run(&workspace));
}

#[test]
fn work_below_the_bar_is_exit_5() {
    let workspace = workspace(&scores(3), &scores(3));
    workspace.write("a.txt", "x");
    let bar = ["--criteria", "Good.", "--threshold", "3.5", "a.txt"];
    let document = reviewed(&workspace, 5, &bar);
    assert_eq!(document["verdict"], "fail");
    assert_eq!((document["points"].as_f64(), document["bar"].as_f64()), (Some(60.0), Some(70.0)));
    assert_eq!(document["outcome"], "below_threshold");
}

#[test]
fn no_verdict_is_exit_6_and_never_a_score() {
    let workspace = workspace("I like it.", "Me too. 5 stars!");
    workspace.write("a.txt", "x");
    let document = reviewed(&workspace, 6, &["--criteria", "Good.", "a.txt"]);
    assert_eq!(document["verdict"], "indeterminate");
    assert!(document["points"].is_null());
}

#[test]
fn named_reviewers_are_the_ones_asked() {
    let workspace = workspace(&scores(5), &scores(1));
    workspace.write("a.txt", "x");
    reviewed(&workspace, 5, &["--criteria", "Good.", "--reviewer", "b", "a.txt"]);
    assert!(!workspace.path("a/call.1").exists());
}

#[test]
fn a_diff_is_judged() {
    let workspace = workspace(&scores(4), &scores(4));
    let git = |arguments: &[&str]| {
        let identity = ["-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main"];
        let output =
            Command::new("git").args(identity).args(arguments).current_dir(workspace.root()).output();
        let output = output.expect("git is there");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    workspace.write("a.py", "old\n");
    workspace.write(".gitignore", "*\n");
    git(&["init", "-q"]);
    git(&["add", "-f", "a.py"]);
    git(&["commit", "-q", "-m", "first"]);
    workspace.write("a.py", "new and better\n");
    reviewed(&workspace, 0, &["--criteria", "Better than before.", "--diff"]);
    workspace.asked("a", 1).says(&["-old", "+new and better"]);
    workspace.write("a.py", "old\n");
    workspace.quorum(&["review", "--criteria", "x", "--diff"]).exits(2).says(&["nothing to judge"]);
}

#[test]
fn a_task_of_a_run_is_judged_again_and_nothing_changes() {
    let workspace = reviewers().workspace();
    workspace.judge("a", &["SCORE: 80", "SCORE: 30"]);
    workspace.judge("b", &["SCORE: 80"]);
    workspace.run_json(0, &[]);
    let journal = workspace.journal();
    let before = fs::read(&journal).unwrap();
    let document = reviewed(&workspace, 5, &["write it"]);
    assert_eq!((document["verdict"].as_str(), document["points"].as_f64()), (Some("fail"), Some(30.0)));
    assert!(workspace.asked("a", 2).contains("the work of the worker"));
    assert_eq!(fs::read(&journal).unwrap(), before, "a review never changes state");
    assert_eq!(workspace.status()["outcome"], "ok");
}

#[test]
fn the_progress_of_a_second_judgement_counts_its_checks() {
    let workspace =
        Mission::new().worker("true").task("work", |t| t.by("worker").check("test -f no")).workspace();
    workspace.run_json(3, &[]);
    workspace.quorum(&["review", "work"]).exits(5).says(&["1/1 check failed"]);
}

#[test]
fn the_author_never_judges_its_own_work_again() {
    let workspace = Mission::new().reviewer("worker", "echo SCORE: 100").tasks(["write it"]).workspace();
    workspace.run_json(0, &[]);
    reviewed(&workspace, 6, &["write it"]);
}

#[test]
fn what_cannot_be_judged_is_said() {
    let workspace = workspace(&scores(5), &scores(5));
    for (arguments, says) in [
        (&["review"][..], "name one task"),
        (&["review", "--criteria", "x"], "nothing to judge"),
        (&["review", "--criteria", "x", "missing.txt"], "no file missing.txt"),
        (
            &["review", "--criteria", "x", "--reviewer", "nobody", "mission.yaml"],
            "there is no agent 'nobody' that could review",
        ),
        (&["review", "--no-eval", "--criteria", "x", "mission.yaml"], "switched off"),
        (&["review", "--criteria", "x", "--diff=--upload-pack=touch owned"], "not a revision"),
        (&["review", "write it"], "no run"),
    ] {
        workspace.quorum(arguments).exits(2).says(&[says]);
    }
    assert!(has_no_run(&workspace) && !workspace.path("owned").exists());
}

#[test]
fn nothing_to_see_is_a_fail_of_the_work_and_not_of_the_review() {
    let workspace = workspace(&scores(5), &scores(5));
    workspace.write("empty.py", "");
    let document = reviewed(&workspace, 5, &["--criteria", "It counts.", "empty.py"]);
    assert_eq!(document["verdict"], "fail");
    assert_eq!(workspace.calls("a"), 0, "no judge is asked about nothing");
}
