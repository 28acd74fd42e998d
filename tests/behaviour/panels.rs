//! Panels that ask no more seats than they need, and panels that are not sure enough to decide (semantics, section 7).

use serde_json::{Value, json};

use crate::support::{Mission, Says, Workspace, standing, task};

fn depth(score: &str) -> String {
    json!({"scores": {"depth": {"reasoning": "seen", "score": score.parse::<f64>().expect("a number")}}, "findings": []})
        .to_string()
}

/// A task reviewed by three judges who give these scores, call by call; `more` goes into the expectation.
fn panel(scores: [&[&str]; 3], more: Value) -> Workspace {
    let workspace = Mission::new()
        .keeps_prompts("worker", "prompts")
        .judge("a", &[])
        .judge("b", &[])
        .judge("c", &[])
        .task("work", |t| {
            t.attempts(1)
                .scored(["a", "b", "c"], "depth")
                .change_expectation(json!({"threshold": 3}))
                .change_expectation(more)
        })
        .workspace();
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
    let workspace = panel([&["4"], &["4"], &["1"]], json!({"panel": "adaptive"}));
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
        let workspace = panel([&["4"], &["2"], &[third]], json!({"panel": "adaptive"}));
        let document = workspace.run_json(code, &[]);
        assert_eq!(calls(&workspace), [1, 1, 1]);
        let points = task(&document, "work")["points"].as_f64();
        assert_eq!(points, Some(if code == 0 { 80.0 } else { 40.0 }));
    }
}

#[test]
fn a_seat_that_gives_no_verdict_is_made_up_for_by_the_third() {
    let workspace = panel([&["4"], &["4"], &["5"]], json!({"panel": "adaptive"}));
    workspace.judge("b", &["no verdict", "still none"]);
    let document = workspace.run_json(0, &[]);
    assert_eq!(calls(&workspace), [1, 2, 1]);
    assert_eq!(task(&document, "work")["points"], 90.0);
}

#[test]
fn where_the_score_is_needed_every_seat_has_its_say() {
    let gated = |m: Mission| m.gate("g", ["work"], ["next"], "minScore: 3").task("next", |t| t.unreviewed());
    let workspace = panel([&["4"], &["4"], &["4"]], json!({"panel": "adaptive"})).tap(gated);
    workspace.run_json(0, &[]);
    assert_eq!(calls(&workspace), [1, 1, 1]);
    for (more, rest) in [
        (json!({"panel": "adaptive"}), json!({"qualityThreshold": 3})),
        (json!({"panel": "adaptive", "referBelow": 0.1}), json!({})),
        (json!({"panel": "adaptive", "consensus": "exclude-outliers"}), json!({})),
        (json!({"panel": "parallel"}), json!({})),
    ] {
        let workspace = panel([&["4"], &["4"], &["4"]], more.clone()).tap(|m| m.keys(rest.clone()));
        workspace.run_json(0, &[]);
        assert_eq!(calls(&workspace), [1, 1, 1], "{more} {rest}");
    }
}

/// |3.25 − 3| / (0 + 0.25) is 1.
const CLOSE: [&[&str]; 3] = [&["3.25"], &["3.25"], &["3.25"]];

#[test]
fn a_verdict_too_close_to_the_bar_is_left_to_a_person() {
    let workspace = panel(CLOSE, json!({"referBelow": 1.01}));
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
    let workspace = panel([&["2.9"], &["2.9"], &["2.9"]], json!({"referBelow": 1}));
    let document = workspace.run_json(8, &[]);
    let id = document["approvals"][0]["id"].as_str().expect("it has an id").to_owned();
    workspace.quorum(&["reject", &id, "--reason", "not enough"]).exits(0);
    let after = workspace.resume_json(3, &[]);
    let work = task(&after, "work");
    assert_eq!((&work["status"], &work["attempts"][0]["verdict"]), (&json!("failed"), &json!("fail")));
}

#[test]
fn a_sure_panel_decides_alone() {
    let workspace = panel(CLOSE, json!({"referBelow": 1}));
    let document: Value = workspace.run_json(0, &[]);
    assert_eq!(standing(&document, "work"), ("done", "clean"));
}
