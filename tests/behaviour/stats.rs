//! `quorum stats`: how agents and judges did over all runs.

use serde_json::{Value, json};

use crate::support::{Mission, Workspace};

/// The rows of agents, types or judges, by name.
fn row(workspace: &Workspace, flags: &[&str], name: &str) -> Value {
    let document = workspace.quorum(&[&["stats", "--json"], flags].concat()).exits(0).json();
    let rows = document.get("work").or_else(|| document.get("judges")).expect("there are rows");
    let found = rows.as_array().unwrap().iter().find(|row| row["name"] == name);
    found.unwrap_or_else(|| panic!("no row {name}: {document:#}")).clone()
}

/// A task of `sure` that passes at once, and one of `slow` that passes at its second attempt.
fn two_agents() -> Mission {
    Mission::new()
        .agent("sure", "echo a > a.txt")
        .agent("slow", "echo $QUORUM_ATTEMPT > b.txt")
        .task("a", |task| task.by("sure").set("type", "document").check("test -s a.txt"))
        .task("b", |task| task.by("slow").set("type", "research").check("test $(cat b.txt) = 2"))
}

#[test]
fn agents_are_told_by_what_passed_at_the_first_attempt() {
    let workspace = two_agents().workspace();
    workspace.run_json(0, &[]);
    let (sure, slow) = (row(&workspace, &[], "sure"), row(&workspace, &["--by", "agent"], "slow"));
    assert_eq!([&sure["tasks"], &sure["accepted"], &sure["judged"], &sure["attempts"]], [1, 1, 1, 1]);
    assert_eq!((&sure["firstPass"]["value"], &sure["rework"]), (&json!(1.0), &json!(0.0)));
    assert_eq!(sure["firstPass"]["interval"], json!([0.2065, 1.0]), "one task says little");
    assert_eq!(
        (&slow["firstPass"]["value"], &slow["rework"], &slow["accepted"]),
        (&json!(0.0), &json!(1.0), &json!(1))
    );
    assert_eq!((&slow["costPerAccepted"], &slow["tokensPerAccepted"]), (&Value::Null, &Value::Null));
    assert_eq!(row(&workspace, &["--by", "type"], "research"), {
        let mut same = slow.clone();
        same["name"] = json!("research");
        same
    });
    workspace.quorum(&["stats"]).exits(0).shows(&[
        "1 run",
        "FIRST PASS",
        "sure",
        "100 % (21 to 100)",
        "slow",
    ]);
}

#[test]
fn runs_add_up_and_time_chooses_among_them() {
    let workspace = two_agents().workspace();
    workspace.run_json(0, &["--run-id", "r1"]);
    workspace.run_json(0, &["--run-id", "r2"]);
    assert_eq!(row(&workspace, &["--since", "1d"], "slow")["tasks"], 2);
    let none = workspace.quorum(&["stats", "--since", "0s", "--json"]).exits(0).json();
    assert_eq!((&none["runs"], none.get("work")), (&json!(0), None));
    workspace.quorum(&["stats", "--since", "yesterday"]).exits(2).says(&["yesterday"]);
    workspace.quorum(&["stats", "--by", "moon"]).exits(2).says(&["agent, type, judge"]);
}

/// Only work that was judged, and that judges accepted, has passed.
#[test]
fn false_green_75_what_nobody_judged_is_no_first_pass() {
    let workspace = Mission::new()
        .worker("echo work > work.txt")
        .judge("judge", &["SCORE: 90", "SCORE: 20"])
        .task("unreviewed", |task| task.by("worker").unreviewed())
        .task("judged", |task| task.by("worker").set("review", "required").needs("unreviewed"))
        .task("below", |task| {
            task.by("worker")
                .set("review", "required")
                .attempts(1)
                .set("onExhausted", "accept")
                .needs("judged")
        })
        .workspace();
    workspace.run_json(5, &[]);
    let worker = row(&workspace, &[], "worker");
    assert_eq!([&worker["tasks"], &worker["judged"], &worker["accepted"]], [3, 2, 1], "{worker:#}");
    assert_eq!(worker["firstPass"]["value"], 0.5);
    workspace.run_json(0, &["--no-eval", "--run-id", "off"]);
    let worker = row(&workspace, &[], "worker");
    assert_eq!([&worker["tasks"], &worker["judged"], &worker["accepted"]], [6, 2, 1], "{worker:#}");
}

/// The word of a person stays with the attempt it was said of, when the task is done again.
#[test]
fn false_green_75_what_a_person_let_pass_is_no_first_pass_once_it_is_done_again() {
    let workspace = Mission::new()
        .worker("echo work > work.txt")
        .judge("judge", &["SCORE: 20", "SCORE: 90"])
        .task("work", |task| {
            task.by("worker").set("review", "required").attempts(1).set("onExhausted", "refer")
        })
        .workspace();
    let document = workspace.run_json(8, &[]);
    let id = document["approvals"][0]["id"].as_str().expect("an id").to_owned();
    workspace.quorum(&["approve", &id, "--as", "ada"]).exits(0);
    workspace.resume_json(0, &[]);
    assert_eq!(row(&workspace, &[], "worker")["firstPass"], Value::Null);
    workspace.resume_json(0, &["--redo", "work", "--yes"]);
    let worker = row(&workspace, &[], "worker");
    assert_eq!([&worker["attempts"], &worker["accepted"], &worker["judged"]], [2, 1, 0], "{worker:#}");
    assert_eq!(worker["firstPass"], Value::Null, "20 of 100 was no pass of its judges");
}

#[test]
fn judges_are_told_by_their_panel_and_by_what_could_be_read() {
    let workspace = Mission::new()
        .worker("echo work > work.txt")
        .judge("kind", &[r#"{"scores": {"fit": 5}}"#])
        .judge("strict", &[r#"{"scores": {"fit": 1}}"#])
        .judge("unclear", &["Fine.", r#"{"scores": {"fit": 4}}"#])
        .task("work", |task| task.by("worker").scored(["kind", "strict", "unclear"], "fit"))
        .workspace();
    workspace.quorum(&["run", "--run-id", "r1"]);
    let (kind, strict) =
        (row(&workspace, &["--by", "judge"], "kind"), row(&workspace, &["--by", "judge"], "strict"));
    let unclear = row(&workspace, &["--by", "judge"], "unclear");
    assert_eq!(
        (&kind["unread"]["value"], &kind["agreement"]["value"]),
        (&json!(0.0), &json!(1.0)),
        "{kind:#}"
    );
    assert_eq!((&strict["compared"], &strict["agreement"]["value"]), (&json!(1), &json!(0.0)), "{strict:#}");
    assert_eq!((&unclear["replies"], &unclear["unread"]["value"]), (&json!(2), &json!(0.5)), "{unclear:#}");
    workspace.quorum(&["stats", "--by", "judge"]).exits(0).shows(&["JUDGE", "AGREES", "unclear"]);
}

#[test]
fn what_was_not_counted_is_named() {
    let workspace = two_agents().workspace();
    workspace.run_json(0, &["--run-id", "r1"]);
    let other = [("QUORUM_OPERATOR_KEY", "that of another machine")];
    let document = workspace.quorum_with(&other, &["stats", "--json"]).exits(0).json();
    assert_eq!((&document["runs"], &document["leftOut"][0]["runId"]), (&json!(0), &json!("r1")));
    let document = workspace.quorum_with(&other, &["stats", "--json", "--trust-origin"]).exits(0).json();
    assert_eq!((&document["runs"], &document["leftOut"]), (&json!(1), &json!([])));
    workspace.write(".polpo/runs/r2/journal.jsonl", "garbage\n");
    workspace.quorum(&["stats"]).exits(0).shows(&["1 run", "not counted: r2"]);
}

#[test]
fn no_runs_are_no_figures() {
    let workspace = Workspace::new();
    workspace.quorum(&["stats"]).exits(0).shows(&["0 runs", "no task has ended"]);
    workspace.quorum(&["stats", "--by", "judge"]).exits(0).shows(&["no judge was asked"]);
}
