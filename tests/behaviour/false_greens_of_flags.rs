//! Row 47 of the false greens: how good accepted work is, however often it is merged, looked at and done again.

use serde_json::{Value, json};

use crate::support::scenes::repositories::{git, names_its_top, repository, subjects};
use crate::support::{Mission, Task, Workspace, gate, standing};

/// `work` is done beside `neighbour`, which is merged first: so `work` comes to its merge twice.
fn beside_a_neighbour(mission: Mission, keys: impl FnOnce(Task) -> Task) -> Workspace {
    let merged = "until grep -q landed TOP/.polpo/runs/r1/journal.jsonl; do sleep 0.02; done";
    let begun = "until test -e TOP/.polpo/runs/r1/worktrees/0; do sleep 0.02; done";
    let mission = mission
        .agent("worker", format!("{merged}; echo \"try $QUORUM_ATTEMPT\" > out.txt"))
        .agent("other", format!("{begun}; echo x > other.txt"))
        .setting("concurrency", 2)
        .task("work", |task| keys(task.by("worker").files(["out.txt"])))
        .task("neighbour", |task| task.by("other").unreviewed());
    let workspace = repository(mission, &[]);
    names_its_top(&workspace);
    workspace
}

fn strict() -> Mission {
    Mission::new().judge("judge", &["Bad work.\nSCORE: 20"])
}

/// Runs it: its document, and how `work` ended.
fn run(workspace: &Workspace, code: i32, flags: &[&str]) -> (Value, String) {
    let document = workspace.run_json(code, &[&["--run-id", "r1"], flags].concat());
    let (status, flag) = standing(&document, "work");
    let ended = format!("{status} {flag}");
    (document, ended)
}

/// Work went to its merge twice, and nothing but the flag keeps it from the user's branch.
fn is_not_merged(workspace: &Workspace) {
    let tries = workspace.events().named("work:requested");
    let tries = tries.iter().filter(|event| event["purpose"] == "merge").count();
    assert!(tries >= 3, "it came to its merge once");
    assert_eq!(subjects(workspace, "main"), ["where it is"]);
}

#[test]
fn false_green_47_work_below_the_bar_stays_so_when_a_neighbour_was_merged_first() {
    let workspace = beside_a_neighbour(strict(), |task| task);
    let reports = ["junit=home/junit.xml", "html=home/page.html", "markdown=home/page.md"];
    let flags: Vec<&str> = reports.into_iter().flat_map(|target| ["--report", target]).collect();
    let (document, ended) = run(&workspace, 5, &flags);
    assert_eq!(ended, "done below-threshold", "{document:#}");
    is_not_merged(&workspace);
    // Every output says the same.
    let junit = workspace.read("home/junit.xml");
    assert!(junit.contains("failures=\"1\"") && junit.contains("below-threshold"), "{junit}");
    assert!(!workspace.read("home/page.html").contains("nothing is below the bar"));
    workspace.quorum(&["status", "--exit-code"]).exits(5).shows(&["below-threshold"]);
    assert!(workspace.read("home/page.md").contains("accepted all the same: below-threshold"));
    let accepted = workspace.events().first_named("task.forceAccept");
    assert_eq!(accepted["qualityFlag"], "below-threshold");
}

#[test]
fn false_green_47_what_a_panel_and_on_exhausted_say_stays_through_a_second_merge() {
    for (policy, flag) in [("accept", "below-threshold"), ("degrade", "degraded")] {
        let panel = json!({"type": "llm_review", "criteria": "It is good.", "reviewers": ["judge"]});
        let low =
            json!({"scores": {"correctness": 1, "completeness": 1, "code_quality": 1, "edge_cases": 1}});
        let mission = Mission::new().judge("judge", &[&low.to_string()]);
        let keys = |task: Task| task.expects(panel).set("onExhausted", policy).attempts(1);
        let workspace = beside_a_neighbour(mission, keys);
        let (document, ended) = run(&workspace, 5, &[]);
        assert_eq!(ended, format!("done {flag}"), "{document:#}");
        is_not_merged(&workspace);
        assert_eq!(workspace.events().first_named("task.forceAccept")["qualityFlag"], flag);
    }
}

#[test]
fn false_green_47_a_gate_does_not_open_over_work_below_the_bar_that_was_merged_twice() {
    let gates = json!([{"name": "good", "afterTasks": ["work"], "blocksTasks": ["behind"], "requireAllPassed": true}]);
    let workspace = beside_a_neighbour(strict().key("qualityGates", gates), |task| task);
    let text = workspace.read("mission.yaml") + "  - {title: behind, assignTo: other, review: none}\n";
    workspace.mission(&text);
    git(&workspace, &["commit", "-qam", "where it is"]);
    let (document, ended) = run(&workspace, 4, &[]);
    assert_eq!((ended.as_str(), standing(&document, "behind").0), ("done below-threshold", "pending"));
    assert_eq!(gate(&document, "good")["state"], "failed", "{document:#}");
    workspace.quorum(&["gate", "good"]).exits(4);
}

#[test]
fn false_green_47_a_judge_that_cannot_be_read_leaves_both_marks_through_a_second_merge() {
    let workspace = beside_a_neighbour(Mission::new().judge("judge", &["I like it."]), |task| task);
    let (document, ended) = run(&workspace, 5, &["--allow", "indeterminate"]);
    assert_eq!(ended, "done below-threshold", "{document:#}");
    is_not_merged(&workspace);
    workspace.quorum(&["status", "--exit-code"]).exits(5);
}

/// The check of merged work waits, so that the session can be killed there, and ends with this code.
fn killed_while_it_merges(judge: &str, code: u32) -> Workspace {
    let wait = "echo yes > TOP/home/merging; until test -e TOP/home/go; do sleep 0.02; done";
    let check = format!("test ! -e other.txt || {{ {wait}; exit {code}; }}");
    let keys = |task: Task| task.check(check).set("review", "required").attempts(1);
    let workspace = beside_a_neighbour(Mission::new().judge("judge", &[judge]), keys);
    workspace.kill_at(&["run", "mission.yaml", "--run-id", "r1"], "home/merging");
    workspace.write("home/go", "");
    workspace
}

#[test]
fn false_green_47_a_session_that_goes_on_with_a_merge_keeps_what_is_known_of_the_work() {
    for flags in [&[][..], &["--no-eval"]] {
        for (judge, code, flag) in [("SCORE: 20", 5, "below-threshold"), ("SCORE: 90", 0, "clean")] {
            let workspace = killed_while_it_merges(judge, 0);
            let document = workspace.resume_json(code, flags);
            assert_eq!(standing(&document, "work"), ("done", flag), "{flags:?} {document:#}");
        }
    }
}

#[test]
fn false_green_47_no_eval_lands_no_work_whose_checks_on_merged_work_are_still_out() {
    let workspace = killed_while_it_merges("SCORE: 90", 1);
    let document = workspace.resume_json(3, &["--no-eval"]);
    assert_eq!(standing(&document, "work").0, "failed", "{document:#}");
    assert_eq!(subjects(&workspace, "main"), ["where it is"]);
}

#[test]
fn false_green_47_only_a_redo_takes_the_flag_back() {
    let workspace =
        beside_a_neighbour(Mission::new().judge("judge", &["SCORE: 20", "SCORE: 30", "SCORE: 95"]), |task| {
            task
        });
    let (document, ended) = run(&workspace, 5, &[]);
    assert_eq!(ended, "done below-threshold", "{document:#}");
    // A session with nothing to do looks at all of it once more, and says the same.
    let document = workspace.resume_json(5, &[]);
    assert_eq!(standing(&document, "work"), ("done", "below-threshold"), "{document:#}");
    let document = workspace.resume_json(0, &["--redo", "work"]);
    assert_eq!(standing(&document, "work"), ("done", "clean"), "{document:#}");
}

#[test]
fn false_green_47_an_audit_makes_a_flag_worse_and_never_better() {
    for (reply, before, flag) in [("SCORE: 20", 5, "below-threshold"), ("SCORE: 95", 8, "unverified")] {
        let workspace = Mission::new()
            .worker("echo x > out.txt")
            .judge("judge", &[reply])
            .task("work", |task| task.files(["out.txt"]))
            .task("later", Task::approved)
            .workspace();
        workspace.quorum(&["run", "mission.yaml"]).exits(before);
        workspace.write("out.txt", "something else\n");
        let document = workspace.resume_json(5, &[]);
        assert_eq!(standing(&document, "work"), ("done", flag), "{document:#}");
    }
}
