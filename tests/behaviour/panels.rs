//! Panels that ask no more seats than they need, and panels that are not sure enough to decide (semantics, section 7).

use serde_json::{Value, json};

use crate::support::{Says, Workspace, standing, task};

fn depth(score: &str) -> String {
    json!({"scores": {"depth": {"reasoning": "seen", "score": score.parse::<f64>().expect("a number")}}, "findings": []})
        .to_string()
}

/// A task reviewed by three judges who give these scores, call by call; `more` goes into the expectation, `rest` below.
fn panel(scores: [&[&str]; 3], more: &str, rest: &str) -> Workspace {
    let workspace = Workspace::with(&format!(
        "
name: a panel
agents:
  worker: {{run: [/bin/sh, '@agents/keep-prompt.sh', prompts]}}
  a: {{run: [/bin/sh, '@agents/judge.sh', a], role: reviewer}}
  b: {{run: [/bin/sh, '@agents/judge.sh', b], role: reviewer}}
  c: {{run: [/bin/sh, '@agents/judge.sh', c], role: reviewer}}
tasks:
  - title: work
    assignTo: worker
    maxAttempts: 1
    expectations:
      - {{type: llm_review, reviewers: [a, b, c], threshold: 3, dimensions: [{{name: depth, weight: 1}}], {more}}}
{rest}
"
    ));
    for (judge, scores) in ["a", "b", "c"].into_iter().zip(scores) {
        let replies: Vec<String> = scores.iter().map(|score| depth(score)).collect();
        workspace.judge(judge, &replies);
    }
    workspace
}

fn calls(workspace: &Workspace) -> [usize; 3] {
    ["a", "b", "c"].map(|judge| workspace.calls(judge))
}

#[test]
fn an_adaptive_panel_leaves_out_the_seat_that_could_change_nothing() {
    let workspace = panel([&["4"], &["4"], &["1"]], "panel: adaptive", "");
    let document = workspace.run_json(0, &[]);
    assert_eq!(calls(&workspace), [1, 1, 0]);
    let work = task(&document, "work");
    assert_eq!(work["reviews"].as_array().map(Vec::len), Some(2), "{work}");
    let events = workspace.events();
    let verdict = events.iter().find(|event| event["event"] == "stage:verdict" && event["stage"] == "judge");
    verdict.expect("the judges decided")["findings"].to_string().says(&["c not asked"]);
}

#[test]
fn an_adaptive_panel_asks_the_third_seat_while_it_could_change_the_verdict() {
    for (third, code) in [("4", 0), ("2", 3)] {
        let workspace = panel([&["4"], &["2"], &[third]], "panel: adaptive", "");
        let document = workspace.run_json(code, &[]);
        assert_eq!(calls(&workspace), [1, 1, 1]);
        let points = task(&document, "work")["points"].as_f64();
        assert_eq!(points, Some(if code == 0 { 80.0 } else { 40.0 }));
    }
}

#[test]
fn a_seat_that_gives_no_verdict_is_made_up_for_by_the_third() {
    let workspace = panel([&["4"], &["4"], &["5"]], "panel: adaptive", "");
    workspace.judge("b", &["no verdict", "still none"]);
    let document = workspace.run_json(0, &[]);
    assert_eq!(calls(&workspace), [1, 2, 1]);
    assert_eq!(task(&document, "work")["points"], 90.0);
}

#[test]
fn where_the_score_is_needed_every_seat_has_its_say() {
    let gate = "  - {title: next, assignTo: worker, review: none}\nqualityGates:\n  - {name: g, afterTasks: [work], \
                blocksTasks: [next], minScore: 3}\n";
    for (more, rest) in [
        ("panel: adaptive", gate),
        ("panel: adaptive", "qualityThreshold: 3"),
        ("panel: adaptive, referBelow: 0.1", ""),
        ("panel: adaptive, consensus: exclude-outliers", ""),
        ("panel: parallel", ""),
    ] {
        let workspace = panel([&["4"], &["4"], &["4"]], more, rest);
        workspace.run_json(0, &[]);
        assert_eq!(calls(&workspace), [1, 1, 1], "{more} {rest}");
    }
}

/// |3.25 − 3| / (0 + 0.25) is 1.
const CLOSE: [&[&str]; 3] = [&["3.25"], &["3.25"], &["3.25"]];

#[test]
fn a_verdict_too_close_to_the_bar_is_left_to_a_person() {
    let workspace = panel(CLOSE, "referBelow: 1.01", "");
    let document = workspace.run_json(8, &[]);
    let work = task(&document, "work");
    assert_eq!((&work["status"], &work["points"]), (&json!("awaiting_approval"), &json!(65.0)));
    assert_eq!(work["waiting"]["reason"], "refer");
    let id = document["approvals"][0]["id"].as_str().expect("it has an id").to_owned();
    let message = &document["approvals"][0]["message"];
    assert!(message.as_str().is_some_and(|text| text.contains("gave 65, bar 60")), "{message}");
    workspace.quorum(&["approve", &id, "--as", "ada"]).exits(0);
    let after = workspace.resume_json(0, &[]);
    assert_eq!(standing(&after, "work"), ("done", "clean"));
    assert_eq!(task(&after, "work")["points"], 65.0);
}

#[test]
fn a_close_fail_is_left_to_a_person_too_and_a_no_sends_it_back() {
    let workspace = panel([&["2.9"], &["2.9"], &["2.9"]], "referBelow: 1", "");
    let document = workspace.run_json(8, &[]);
    let id = document["approvals"][0]["id"].as_str().expect("it has an id").to_owned();
    workspace.quorum(&["reject", &id, "--reason", "not enough"]).exits(0);
    let after = workspace.resume_json(3, &[]);
    let work = task(&after, "work");
    assert_eq!((&work["status"], &work["attempts"][0]["verdict"]), (&json!("failed"), &json!("fail")));
}

#[test]
fn a_sure_panel_decides_alone() {
    let workspace = panel(CLOSE, "referBelow: 1", "");
    let document: Value = workspace.run_json(0, &[]);
    assert_eq!(standing(&document, "work"), ("done", "clean"));
}
