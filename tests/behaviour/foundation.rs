//! Foundation tasks, through the binary.

use serde_json::json;

use crate::support::{Workspace, attempts, standing, task};

const MISSION: &str = "
name: founded
agents:
  worker: {run: echo work}
  judge: {run: [/bin/sh, '@agents/judge.sh', judge], role: reviewer}
tasks:
  - {title: base, assignTo: worker}
  - {title: one, assignTo: worker, dependsOn: [base], review: none}
  - {title: two, assignTo: worker, dependsOn: [base], review: none}
  - {title: three, assignTo: worker, dependsOn: [base], review: none}
";

fn workspace(replies: &[&str]) -> Workspace {
    let workspace = Workspace::with(MISSION);
    workspace.judge("judge", replies);
    workspace
}

#[test]
fn a_pass_below_the_full_bar_is_relaxed_and_exits_0() {
    let workspace = workspace(&["SCORE: 39", "SCORE: 45"]);
    let document = workspace.run_json(0, &[]);
    let base = task(&document, "base");
    assert_eq!(standing(&document, "base"), ("done", "relaxed"));
    assert_eq!((&base["bar"], &base["barOrigin"]), (&json!(40.0), &json!("foundation")));
    assert_eq!(attempts(&document, "base"), ["execute", "fix"]);
    assert_eq!((&document["counts"]["relaxed"], &document["counts"]["clean"]), (&json!(1), &json!(0)));
    assert_eq!(workspace.status()["tasks"], document["tasks"]);
    workspace.quorum(&["status"]).exits(0).shows(&["relaxed"]);
    let verdict = workspace.events().into_iter().find(|event| event["relaxed"] == true);
    assert_eq!(verdict.expect("the verdict says so")["event"], "stage:verdict");
}

#[test]
fn who_grades_by_a_rubric_holds_the_work_to_the_same_bar() {
    let grades =
        json!({"correctness": {"grade": 1}, "completeness": {"grade": 0}, "probe-adherence": {"grade": 0}});
    let reply = json!({"criteria": grades, "verdict": "pass", "confidence": 1}).to_string();
    let workspace = workspace(&[&reply]).tap_mission(
        "base, assignTo: worker",
        "base, assignTo: worker, review: none, verification: {rubric: default-task}",
    );
    let document = workspace.run_json(0, &[]);
    let base = task(&document, "base");
    assert_eq!((&base["score"], &base["bar"]), (&json!(2.0), &json!(40.0)));
    assert_eq!(standing(&document, "base"), ("done", "relaxed"));
}

#[test]
fn it_has_one_more_attempt_and_the_switch_takes_both_away() {
    let document = workspace(&["SCORE: 39"]).run_json(5, &[]);
    assert_eq!(attempts(&document, "base"), ["execute", "fix", "fix"]);
    assert_eq!(standing(&document, "base"), ("done", "below-threshold"));

    let workspace =
        workspace(&["SCORE: 45"]).tap_mission("agents:", "settings: {foundation: false}\nagents:");
    let document = workspace.run_json(5, &[]);
    assert_eq!(attempts(&document, "base"), ["execute", "fix"]);
    let base = task(&document, "base");
    assert_eq!((&base["bar"], &base["barOrigin"]), (&json!(60.0), &json!("default")));
}

#[test]
fn the_plan_shows_it() {
    let workspace = workspace(&[]);
    let plan = workspace.quorum(&["plan", "mission.yaml", "--json"]).exits(0).json();
    let base = &plan["tasks"][0];
    assert_eq!(
        (&base["foundation"], &base["bar"], &base["barOrigin"]),
        (&json!(true), &json!(40.0), &json!("foundation"))
    );
    assert_eq!(base["worstCase"]["attempts"], 3);
    assert!(plan["tasks"][1].get("foundation").is_none());
    workspace.quorum(&["plan", "mission.yaml"]).exits(0).shows(&["at least 3 tasks depend on it"]);
}

#[test]
fn a_relief_that_is_taken_back_takes_what_needed_it_along() {
    let workspace = workspace(&["SCORE: 45", "SCORE: 90"]);
    workspace.run_json(0, &[]);
    let workspace = workspace.tap_mission("agents:", "settings: {foundation: false}\nagents:");
    let document = workspace.resume_json(0, &["--accept-changed-mission"]);
    assert_eq!(standing(&document, "base"), ("done", "clean"));
    assert_eq!(attempts(&document, "one"), ["execute", "execute"]);

    // What needed none stays done.
    let workspace = workspace.tap_mission("foundation: false", "foundation: true");
    let document = workspace.resume_json(0, &["--accept-changed-mission"]);
    assert_eq!(attempts(&document, "base"), ["execute", "execute"]);
}
