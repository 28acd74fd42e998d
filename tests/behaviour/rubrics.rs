//! Work that a judge grades by a rubric (semantics, section 10), through the binary.

use serde_json::{Value, json};

use crate::support::{Mission, Says, Workspace, standing, task};

/// A task that is verified by `more` and judged by the scripted judge `j`; `rest` goes to the top level.
fn workspace(more: &str, rest: &str, replies: &[Value]) -> Workspace {
    let workspace = Workspace::with(&format!(
        "
name: graded
agents:
  worker: {{run: [/bin/sh, '@agents/keep-prompt.sh', prompts]}}
  j: {{run: [/bin/sh, '@agents/judge.sh', j], role: reviewer}}
tasks: [{{title: work, assignTo: worker, review: none, {more}}}]
{rest}
"
    ));
    workspace.judge("j", replies);
    workspace
}

/// Kind, verdict and cause of each attempt.
fn tried(document: &Value) -> Vec<(&str, &str, &str)> {
    let attempts = task(document, "work")["attempts"].as_array();
    let attempts = attempts.into_iter().flatten();
    attempts
        .map(|attempt| {
            let word = |key: &str| attempt[key].as_str().unwrap_or_default();
            (word("kind"), word("verdict"), word("cause"))
        })
        .collect()
}

/// A reply for the rubric `own`.
fn graded(runs: f64, reads: f64, verdict: &str, confidence: f64) -> Value {
    json!({
        "criteria": {"runs": {"grade": runs, "reasoning": "ran it"}, "reads": {"grade": reads, "reasoning": "read it"}},
        "verdict": verdict, "confidence": confidence, "findings": [],
    })
}

const OWN: &str = "
rubrics:
  own:
    description: Whether it can be used.
    criteria:
      - {name: runs, weight: 0.6, grade: binary, required: true, description: It runs}
      - {name: reads, weight: 0.4, grade: ternary, levels: {1: nobody can read it, 5: a pleasure}}
    examples:
      - {artifact: an empty page, verdict: fail, rationale: nothing is there, grades: {runs: 0}}
";

#[test]
fn a_judge_grades_by_the_missions_rubric_and_the_worse_work_goes_back() {
    let replies = [graded(0.0, 1.0, "pass", 0.9), graded(1.0, 0.5, "pass", 0.9)];
    let workspace = workspace("verification: {rubric: own}, maxAttempts: 2", OWN, &replies);
    let document = workspace.run_json(0, &[]);
    let work = task(&document, "work");
    assert_eq!((&work["qualityFlag"], &work["points"]), (&json!("clean"), &json!(80.0)));
    assert_eq!(tried(&document), [("execute", "fail", "required-criterion"), ("fix", "pass", "")]);
    let review = &work["reviews"][0];
    assert_eq!(
        (&review["stage"], &review["reviewer"], &review["confidence"]),
        (&json!("verification"), &json!("j"), &json!(0.9))
    );
    assert_eq!(
        (&review["criteria"][1]["criterion"], &review["criteria"][1]["grade"]),
        (&json!("reads"), &json!(0.5))
    );
    workspace.asked("j", 1).says(&[
        "runs (0 or 1, required): It runs",
        "reads (0, 0.5 or 1)",
        "- 0: nobody can read it",
        "an empty page",
    ]);
    workspace.read("prompts/prompt.2.1").says(&["runs is failed"]);
}

#[test]
fn an_unsure_judge_refers_and_the_mission_says_to_whom() {
    let unsure = || [graded(1.0, 1.0, "pass", 0.4), graded(1.0, 1.0, "pass", 0.8)];
    // To a person.
    let first = workspace("verification: {rubric: own}", OWN, &unsure());
    let document = first.run_json(8, &[]);
    assert_eq!(standing(&document, "work").0, "awaiting_approval");
    // Back to the worker.
    let second = workspace("verification: {rubric: own, onRefer: rework}, maxAttempts: 2", OWN, &unsure());
    let document = second.run_json(0, &[]);
    assert_eq!(tried(&document), [("execute", "fail", "confidence"), ("fix", "pass", "")]);
    // Accepted, but never as clean work.
    let third = workspace("verification: {rubric: own, onRefer: pass}", OWN, &unsure());
    let document = third.run_json(5, &[]);
    assert_eq!(standing(&document, "work"), ("done", "unverified"));
    // Sure enough for this task.
    let fourth = workspace("verification: {rubric: own, minConfidence: 0.3}", OWN, &unsure());
    let document = fourth.run_json(8, &[]);
    assert_eq!(
        standing(&document, "work").0,
        "awaiting_approval",
        "a task asks for more certainty, never for less"
    );
}

#[test]
fn a_judge_that_says_nothing_is_asked_again_and_then_a_person() {
    let good = json!({
        "criteria": {
            "correctness": {"grade": 0.9}, "completeness": {"grade": 0.8}, "probe-adherence": {"grade": 1},
        },
        "verdict": "pass", "confidence": 1,
    });
    // The acceptance criteria are probes.
    let bad = json!({"criteria": {"correctness": {"grade": 1}}, "verdict": "pass", "confidence": 1});
    let heard = workspace(
        "acceptance: [it is short], verification: {rubric: default-task}",
        "",
        &[bad.clone(), good],
    );
    let document = heard.run_json(0, &[]);
    assert_eq!(task(&document, "work")["points"], 89.0);
    assert!(heard.asked("j", 1).contains("1. it is short"));
    assert!(heard.asked("j", 2).contains("every criterion exactly once"));

    let never = workspace("acceptance: [it is short], verification: {rubric: default-task}", "", &[bad]);
    let document = never.run_json(6, &[]);
    assert_eq!(standing(&document, "work").0, "awaiting_approval");
    assert_eq!(never.calls("j"), 2);
}

#[test]
fn without_a_judge_the_verification_is_missing_and_without_evaluation_it_is_withdrawn() {
    let replies = [graded(1.0, 1.0, "pass", 1.0)];
    let alone =
        workspace("verification: {rubric: own}", OWN, &replies).tap_mission("role: reviewer", "role: writer");
    let document = alone.run_json(6, &[]);
    assert_eq!(standing(&document, "work").0, "awaiting_approval");
    assert_eq!(alone.calls("j"), 0);

    let off = workspace("verification: {rubric: own}", OWN, &replies);
    let document = off.run_json(0, &["--no-eval"]);
    assert_eq!(standing(&document, "work"), ("done", "unreviewed"));
    assert_eq!(off.calls("j"), 0);
}

#[test]
fn a_judge_that_fails_what_it_grades_well_is_told_with_its_verdict() {
    let replies = [graded(1.0, 1.0, "fail", 0.9), graded(1.0, 1.0, "pass", 0.9)];
    let workspace = workspace("verification: {rubric: own}", OWN, &replies);
    let document = workspace.run_json(0, &[]);
    assert_eq!(tried(&document)[0], ("execute", "fail", "score"));
    workspace.read("prompts/prompt.2.1").says(&["the judge's own verdict is fail"]);
}

#[test]
fn a_key_that_nobody_asked_for_and_an_empty_finding_are_no_reason_to_ask_again() {
    let mut extra = graded(1.0, 1.0, "pass", 0.9);
    extra["category"] = json!("fail");
    let mut blank = graded(1.0, 1.0, "pass", 0.9);
    blank["findings"] = json!([{"severity": "low", "description": " "}]);
    for odd in [extra, blank] {
        let workspace = workspace("verification: {rubric: own}", OWN, &[odd, graded(1.0, 1.0, "pass", 0.9)]);
        let document = workspace.run_json(0, &[]);
        assert_eq!(standing(&document, "work"), ("done", "clean"));
        assert_eq!(workspace.calls("j"), 1);
    }
}

#[test]
fn a_plan_says_that_nobody_may_grade() {
    let workspace = Mission::new()
        .agent("w", "true")
        .task("work", |t| t.set("verification", json!({"rubric": "default-task"})).unreviewed())
        .workspace();
    let plan = workspace.quorum(&["plan", "mission.yaml", "--json"]).exits(0).json();
    assert_eq!(task(&plan, "work")["note"], "nobody may grade its criteria: a person will be asked");
    workspace.quorum(&["plan", "mission.yaml"]).exits(0).shows(&["criteria by nobody: 3"]);
    workspace.run_json(6, &[]);
}
