//! `quorum compare`: a run held against an earlier one of the same mission.

use serde_json::{Value, json};

use crate::support::{Mission, Workspace};

/// A reply that scores the one dimension from 1 to 5, with findings.
fn reply(score: u32, found: &[&str]) -> String {
    let finding = |said: &&str| json!({"severity": "high", "description": said, "evidence": "work.txt:3"});
    let findings: Vec<Value> = found.iter().map(finding).collect();
    json!({"scores": {"fit": {"reasoning": "as seen", "score": score}}, "findings": findings, "summary": ""})
        .to_string()
}

fn judged() -> Mission {
    Mission::new()
        .worker("echo work > work.txt")
        .judge("judge", &[])
        .task("work", |task| task.by("worker").scored(["judge"], "fit").attempts(1))
}

/// The runs `r1` and `r2` of a mission whose judge replies so in them.
fn two_runs(before: &str, now: &str) -> Workspace {
    let workspace = judged().workspace();
    workspace.judge("judge", &[before, now]);
    for run in ["r1", "r2"] {
        workspace.quorum(&["run", "--run-id", run]);
    }
    workspace
}

fn compared(workspace: &Workspace, code: i32, flags: &[&str]) -> Value {
    workspace.quorum(&[&["compare", "--json"], flags].concat()).exits(code).json()
}

#[test]
fn scores_flags_and_findings_of_two_runs_are_held_together() {
    let workspace = two_runs(&reply(5, &["old", "kept 1"]), &reply(4, &["kept 2", "new"]));
    let document = compared(&workspace, 0, &["r2"]);
    assert_eq!(document["schema"], "quorum.compare/v1");
    assert_eq!([&document["run"]["runId"], &document["against"]["runId"]], ["r2", "r1"]);
    let whole = &document["scores"][0];
    assert_eq!(whole["dimension"], Value::Null);
    assert_eq!([&whole["before"], &whole["now"], &whole["difference"]["value"]], [100.0, 80.0, -20.0]);
    assert_eq!(whole["difference"]["interval"], Value::Null, "one task says nothing of others");
    assert_eq!(document["scores"][1]["dimension"], "fit");
    let said = |kind: &str| {
        let rows = document["findings"][kind].as_array().unwrap();
        rows.iter().map(|row| row["message"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(said("new"), ["work: [high] new (judge)"]);
    assert_eq!(said("gone"), ["work: [high] old (judge)"]);
    assert_eq!(said("stillThere"), ["work: [high] kept 2 (judge)"], "numbers are of lines and times");
    workspace.quorum(&["compare", "r2", "r1"]).exits(0).shows(&[
        "100 -> 80",
        "-20",
        "1 new, 1 gone, 1 still there",
    ]);
    assert_eq!(compared(&workspace, 0, &["r1", "r2"])["scores"][0]["difference"]["value"], 20.0);
}

#[test]
fn a_drop_is_borne_as_far_as_it_may_go() {
    let workspace = two_runs(&reply(5, &[]), &reply(4, &[]));
    compared(&workspace, 0, &["r2", "--max-drop", "20"]);
    let document = compared(&workspace, 5, &["r2", "--max-drop", "19.99"]);
    assert_eq!(document["outcome"], "below_threshold");
    assert_eq!(document["broken"][0], "the score is 20 points lower, and may be 19.99");
    compared(&workspace, 0, &["r1", "r2", "--max-drop", "0"]);
    workspace.quorum(&["compare", "r2", "--max-drop", "much"]).exits(2).says(&["'much' are no points"]);
    workspace.quorum(&["compare", "r2", "--max-drop=-1"]).exits(2).says(&["from 0 to 100"]);
}

#[test]
fn new_findings_are_told_from_those_that_were_there() {
    let workspace = two_runs(&reply(5, &["kept"]), &reply(5, &["kept"]));
    compared(&workspace, 0, &["r2", "--no-new-findings"]);
    let workspace = two_runs(&reply(5, &["kept"]), &reply(5, &["kept", "a password is in it"]));
    let document = compared(&workspace, 5, &["r2", "--no-new-findings"]);
    assert_eq!(document["broken"], json!(["1 new finding"]));
}

/// A score that is gone has not risen, and neither has that of a task that is gone.
#[test]
fn false_green_73_a_lost_score_is_a_drop() {
    let workspace = two_runs(&reply(5, &[]), "I cannot say.");
    let document = compared(&workspace, 5, &["r2", "--max-drop", "100"]);
    let broken = document["broken"].to_string();
    assert!(broken.contains("'work' was scored before and is not now"), "{broken}");
    assert!(broken.contains("no task is scored in both runs"), "{broken}");

    let workspace = judged().task("second", |task| task.by("worker").scored(["judge"], "fit")).workspace();
    workspace.judge("judge", &[reply(5, &[])]);
    workspace.run_json(0, &["--run-id", "r1"]);
    judged().judge("judge", &[]).write(&workspace);
    workspace.run_json(0, &["--run-id", "r2"]);
    let document = compared(&workspace, 5, &["r2", "--max-drop", "100"]);
    assert_eq!(document["broken"], json!(["'second' was scored before and is not now"]));
}

/// Whoever is not asked finds nothing.
#[test]
fn false_green_73_no_review_is_no_review_without_findings() {
    let workspace = judged().workspace();
    workspace.judge("judge", &[reply(5, &["kept"])]);
    workspace.run_json(0, &["--run-id", "r1"]);
    workspace.run_json(0, &["--run-id", "r2", "--no-eval"]);
    let document = compared(&workspace, 5, &["r2", "--no-new-findings"]);
    let broken = document["broken"].to_string();
    assert!(broken.contains("nothing was reviewed"), "{broken}");
    assert!(document["differs"].to_string().contains("reviews are switched off now"), "{document:#}");
    compared(&workspace, 0, &["r2"]);

    let workspace = two_runs(&reply(5, &["kept"]), "I cannot say.");
    let broken = compared(&workspace, 5, &["r2", "--no-new-findings"])["broken"].to_string();
    assert!(broken.contains("has not ended"), "{broken}");
}

#[test]
fn what_judged_otherwise_is_said_first() {
    let workspace = judged().workspace();
    workspace.judge("judge", &[reply(5, &[])]);
    workspace.judge("other", &[reply(5, &[])]);
    workspace.run_json(0, &["--run-id", "r1"]);
    Mission::new()
        .worker("echo work > work.txt")
        .judge("other", &[])
        .key("name", "renamed")
        .task("work", |task| task.by("worker").scored(["other"], "fit").attempts(1))
        .write(&workspace);
    workspace.run_json(0, &["--run-id", "r2"]);
    workspace.quorum(&["compare", "r2"]).exits(2).says(&["no run of 'renamed' began before r2"]);
    let differs = compared(&workspace, 0, &["r2", "r1"])["differs"].to_string();
    for words in
        ["the missions are two: 'renamed' now, 'mission' before", "other judges or their models for 'work'"]
    {
        assert!(differs.contains(words), "{differs}");
    }
}

#[test]
fn nothing_to_compare_is_said() {
    let workspace = judged().workspace();
    workspace.judge("judge", &[reply(5, &[])]);
    workspace.run_json(0, &["--run-id", "r1"]);
    workspace
        .quorum(&["compare", "r1"])
        .exits(2)
        .says(&["no run of 'mission' began before r1", "quorum runs"]);
    workspace.quorum(&["compare", "r1", "r1"]).exits(2).says(&["is both runs"]);
    workspace.quorum(&["compare", "r1", "r9"]).exits(2).says(&["r9"]);
    Mission::new().worker("true").tasks(["other"]).write(&workspace);
    workspace.run_json(0, &["--run-id", "r2"]);
    workspace.quorum(&["compare", "r2", "r1"]).exits(2).says(&["no task in common"]);
}

/// A run that nobody vouches for is no measure.
#[test]
fn a_run_that_nobody_vouches_for_holds_nothing() {
    let workspace = two_runs(&reply(5, &[]), &reply(5, &[]));
    let elsewhere = [("QUORUM_OPERATOR_KEY", "that of another machine")];
    let held = |flags: &[&str]| workspace.quorum_with(&elsewhere, &[&["compare", "r2"], flags].concat());
    held(&["--max-drop", "1"]).exits(9).says(&["does not vouch for run r2", "--trust-origin"]);
    held(&["--max-drop", "1", "--trust-origin"]).exits(0);
    held(&[]).exits(0);
}
