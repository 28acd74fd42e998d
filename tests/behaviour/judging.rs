//! Panels, evaluations, rework: what reviewers are told, what becomes of what they say.

use serde_json::{Value, json};

use crate::support::journal;
use crate::support::scenes::approvals::only_approval;
use crate::support::{Has, Mission, Says, Workspace, attempts, standing, task};

/// A panel's reply with one dimension, `depth`.
fn depth(score: &str, reasoning: &str) -> String {
    format!(r#"{{"scores": {{"depth": {{"reasoning": "{reasoning}", "score": {score}}}}}, "findings": []}}"#)
}

/// A task reviewed by a panel of these agents on one dimension.
fn panel(reviewers: Value, more: &str) -> Workspace {
    Mission::new()
        .keeps_prompts("worker", "prompts")
        .judge("a", &[])
        .answerer("b", &[])
        .change_agent("b", "role: qa")
        .answerer("c", &[])
        .task("work", |t| {
            let more_of_it = json!({"reviewers": reviewers, "threshold": 3});
            t.scored([], "depth").change_expectation(more_of_it).with(more)
        })
        .workspace()
}

fn findings(workspace: &Workspace) -> String {
    let events = workspace.events();
    let verdicts = events.iter().filter(|event| event["event"] == "stage:verdict");
    verdicts.map(|event| event["findings"].to_string()).collect()
}

#[test]
fn a_panel_of_three_takes_the_median_and_marks_the_outlier() {
    let workspace = panel(json!(["a", "b", "c"]), "");
    workspace.judge("a", &[&depth("4", "from a")]);
    workspace.judge("b", &[&depth("1", "from b")]);
    workspace.judge("c", &[&depth("5", "from c")]);
    let document = workspace.run_json(0, &[]);
    let work = task(&document, "work");
    assert_eq!((&work["points"], &work["score"], &work["bar"]), (&json!(80.0), &json!(4.0), &json!(60.0)));
    assert_eq!(work["dimensions"][0]["reasoning"], "from a");
    let outliers: Vec<(&Value, &Value)> = work["reviews"]
        .as_array()
        .unwrap()
        .iter()
        .map(|review| (&review["reviewer"], &review["dimensions"][0]["outlier"]))
        .collect();
    assert_eq!(
        outliers,
        [(&json!("a"), &json!(false)), (&json!("b"), &json!(true)), (&json!("c"), &json!(false))]
    );
    let review: Value = serde_json::from_str(&workspace.read("a/call.1/review.json")).unwrap();
    assert_eq!(review["task"], "work");
    assert_eq!(review["dimensions"][0]["name"], "depth");
}

#[test]
fn a_score_that_meets_the_bar_exactly_passes() {
    let workspace = Mission::new()
        .worker("echo work")
        .judge("judge", &[])
        .task("work", |t| {
            t.attempts(1)
                .expects(json!({"type": "llm_review", "criteria": "good", "reviewers": 1, "threshold": 3}))
        })
        .workspace();
    // 4 × .35 + 3 × .30 + 2 × .20 + 2 × .15 = 3
    workspace.judge(
        "judge",
        &[r#"{"scores": {"correctness": {"score": 4, "reasoning": "a"}, "completeness": {"score": 3, "reasoning": "b"},
            "code_quality": {"score": 2, "reasoning": "c"}, "edge_cases": {"score": 2, "reasoning": "d"}}, "findings": []}"#],
    );
    let document = workspace.run_json(0, &[]);
    assert_eq!(task(&document, "work")["points"], 60.0);
    assert_eq!(task(&document, "work")["dimensions"].as_array().unwrap().len(), 4);
}

#[test]
fn too_few_reviewers_fill_the_seats_in_fresh_contexts_and_it_is_said() {
    let workspace = panel(json!(3), "");
    workspace.judge("a", &[&depth("4", "x")]);
    workspace.judge("b", &[&depth("4", "x")]);
    workspace.run_json(0, &[]);
    // `c` has no role and was not named: it is never asked.
    assert_eq!((workspace.calls("a"), workspace.calls("b"), workspace.calls("c")), (2, 1, 0));
    assert!(findings(&workspace).contains("fewer eligible reviewers than seats"));
}

#[test]
fn a_named_reviewer_needs_no_role_and_no_one_else_is_asked() {
    let workspace = panel(json!(["c"]), "");
    workspace.judge("c", &[&depth("5", "x")]);
    workspace.run_json(0, &[]);
    assert_eq!((workspace.calls("a"), workspace.calls("b"), workspace.calls("c")), (0, 0, 1));
}

#[test]
fn an_unreadable_reply_is_asked_for_again_once_and_strictly() {
    let workspace = panel(json!(["a"]), "");
    workspace.judge("a", &["It is fine, I think.", &depth("4", "x")]);
    let document = workspace.run_json(0, &[]);
    assert_eq!(attempts(&document, "work"), ["execute"]);
    assert_eq!(workspace.calls("a"), 2);
    let (first, second) = (workspace.asked("a", 1), workspace.asked("a", 2));
    assert!(second.len() > first.len() && second.contains("no JSON object"), "{second}");
}

#[test]
fn a_single_answer_of_several_seats_counts_and_it_is_said() {
    let workspace = panel(json!(["a", "b", "c"]), "");
    workspace.judge("a", &["no json"]);
    workspace.judge("b", &[&depth("2", "too shallow")]);
    // No score for the dimension, and off the scale.
    workspace.judge("c", &[r#"{"scores": {"width": {"score": 5}}}"#, &depth("6", "x")]);
    let document = workspace.run_json(3, &["--max-attempts", "1"]);
    assert_eq!(task(&document, "work")["points"], 40.0);
    assert_eq!((workspace.calls("a"), workspace.calls("b"), workspace.calls("c")), (2, 1, 2));
    assert!(findings(&workspace).contains("single reviewer"));
}

#[test]
fn a_panel_nobody_of_which_can_be_read_is_run_again_and_then_referred() {
    let workspace = panel(json!(["a", "b"]), "");
    // Whoever said the same twice would not be asked a third time.
    workspace.judge("a", &["no json", "no", "never", "not now"]);
    workspace.judge("b", &["no json either", "nor this", "or that", "it is fine"]);
    let document = workspace.run_json(6, &[]);
    assert_eq!(standing(&document, "work"), ("awaiting_approval", ""));
    assert_eq!((workspace.calls("a"), workspace.calls("b")), (4, 4));
    document["approvals"][0].has(json!({"reason": "refer", "task": "work"}));
    assert_eq!(attempts(&document, "work"), ["execute"]);
}

#[test]
fn below_the_bar_is_fixed_twice_then_tried_afresh_then_failed() {
    let workspace = panel(json!(["a"]), "maxRetries: 1");
    workspace.judge("a", &[&depth("2", "shallow")]);
    let document = workspace.run_json(3, &[]);
    assert_eq!(attempts(&document, "work"), ["execute", "fix", "fix", "retry", "fix", "fix"]);
    assert_eq!(workspace.calls("a"), 6);
    task(&document, "work").has(json!({"failure": {"mode": "quality"}, "points": 40.0}));
    assert_eq!(document["counts"]["reworked"], 1);
}

#[test]
fn a_fix_is_told_all_that_was_found_and_the_judge_what_it_said_before() {
    let workspace = panel(json!(["a"]), "description: Write about the sea.");
    let reply = |finding: &str, score: u8| {
        format!(
            r#"{{"scores": {{"depth": {{"reasoning": "reason-{score}", "score": {score}}}}},
                "findings": [{{"severity": "high", "description": "{finding}", "evidence": "page-9", "suggestedFix": "dive-{score}"}}]}}"#
        )
    };
    workspace.judge("a", &[&reply("no-whales", 2), &reply("no-squids", 1), &depth("5", "x")]);
    let document = workspace.run_json(0, &[]);
    assert_eq!(attempts(&document, "work"), ["execute", "fix", "fix"]);

    workspace.read("prompts/prompt.3.1").says(&[
        "Write about the sea.",
        "no-squids",
        "reason-1",
        "dive-1",
        "page-9",
        "depth",
        // The feedback before that.
        "no-whales",
        "reason-2",
        "dive-2",
    ]);
    workspace.read("prompts/prompt.1.1").says(&["Write about the sea."]).omits(&["no-whales"]);

    workspace.asked("a", 3).says(&["no-squids", "Answer for each point"]);
    assert!(!workspace.asked("a", 1).contains("Earlier feedback"));
}

#[test]
fn the_judge_is_shown_the_work_and_not_more() {
    let workspace = Mission::new()
        .key("name", "shown")
        .worker("echo the answer; echo private thoughts >&2; echo the content > made.txt")
        .judge("judge", &["SCORE: 90"])
        .task("work", |t| {
            t.set("description", "the order")
                .files(["made.txt", "missing.txt"])
                .set("review", "required")
                .check("echo the check; true")
        })
        .workspace();
    workspace.run_json(0, &[]);
    let asked = workspace.asked("judge", 1);
    asked.says(&["the order", "the answer", "the content", "missing.txt", "does not exist", "passed"]);
    asked.says(&["(UTC)"]);
    assert!(!asked.contains("private thoughts"), "{asked}");
}

#[test]
fn a_required_review_without_a_reviewer_is_indeterminate() {
    let workspace = Mission::new()
        .worker("echo work")
        .agent("other", "touch touched")
        .task("work", |t| t.set("review", "required"))
        .tasks(["free"])
        .workspace();
    let document = workspace.run_json(6, &[]);
    assert_eq!(standing(&document, "work"), ("awaiting_approval", ""));
    assert_eq!(standing(&document, "free"), ("done", "unreviewed"));
    assert!(!workspace.exists("touched"));
    assert_eq!(workspace.status()["resumable"], true);
    workspace.resume_json(6, &[]);
}

#[test]
fn an_attempt_that_crashes_is_retried_and_never_fixed_or_judged() {
    let workspace = Mission::new()
        .worker("echo $QUORUM_ATTEMPT >> log; test $QUORUM_ATTEMPT -ge 3 || { sleep 1.1; exit 1; }")
        .judge("judge", &["SCORE: 90"])
        .task("work", |t| t.attempts(5))
        .workspace();
    let document = workspace.run_json(0, &[]);
    assert_eq!(attempts(&document, "work"), ["execute", "retry", "retry"]);
    assert_eq!(workspace.calls("judge"), 1);
    assert_eq!(workspace.lines("log"), ["1", "2", "3"]);
}

#[test]
fn a_crash_is_final_even_where_poor_work_would_be_accepted() {
    let workspace = Mission::new()
        .worker("echo work; test $QUORUM_ATTEMPT -lt 2")
        .judge("judge", &["SCORE: 50"])
        .task("work", |t| t.set("onExhausted", "accept"))
        .workspace();
    let document = workspace.run_json(3, &[]);
    assert_eq!(standing(&document, "work"), ("failed", ""));
    assert_eq!(task(&document, "work")["failure"]["mode"], "error");
}

#[test]
fn no_progress_ends_the_attempts_early() {
    let workspace = Mission::new()
        .key("name", "no progress")
        .worker("echo same > made.txt; echo x >> log")
        .task("work", |t| t.files(["made.txt"]).check("false"))
        .workspace();
    let document = workspace.run_json(3, &[]);
    assert_eq!(workspace.lines("log").len(), 2);
    task(&document, "work")["failure"]["message"].to_string().says(&["no progress"]);
}

#[test]
fn an_unparsed_evaluation_may_be_waved_through_only_where_the_mission_says_so() {
    let workspace = Mission::new()
        .worker("echo work")
        .reviewer("judge", "cat")
        .setting("failOpenOnUnparsedEval", true)
        .tasks(["work"])
        .workspace();
    let document = workspace.run_json(0, &[]);
    assert_eq!(standing(&document, "work"), ("done", "unreviewed"));
    assert!(workspace.events().iter().any(|event| event["event"] == "task.eval.unparsed"));
}

#[test]
fn the_missing_score_is_named_to_dependents() {
    let workspace = Mission::new()
        .key("name", "unknown")
        .worker("echo work")
        .keeps_prompts("reader", "read")
        .reviewer("judge", "echo no idea")
        .tasks(["work"])
        .task("next", |t| t.by("reader").needs("work").unreviewed())
        .workspace();
    workspace.run_json(6, &[]);
    workspace.read("read/prompt.1.1").says(&["[ACCEPTED BELOW QUALITY BAR, score unknown]"]);
}

#[test]
fn a_reply_too_long_to_be_read_whole_is_not_read_at_all() {
    // What comes behind the part that could be read might take it back.
    let workspace = Mission::new()
        .worker("echo work")
        .reviewer("judge", "echo SCORE: 90; yes so it is, or is it not | head -c 9000000; echo SCORE: 10")
        .tasks(["work"])
        .workspace();
    let document = workspace.run_json(6, &[]);
    assert_eq!(standing(&document, "work"), ("done", "below-threshold"));
    assert_eq!(task(&document, "work")["points"], json!(null));
}

#[test]
fn work_whose_output_was_exchanged_is_not_judged_by_what_is_left() {
    // The output is on record; what lies there now is something else, so nobody can say what was done.
    let workspace = Mission::new()
        .worker("echo the real output")
        .judge("judge", &[r#"{"correctness":1,"completeness":1,"code_quality":1,"edge_cases":1}"#])
        .task("work", |t| {
            t.expects(json!({
                "type": "script",
                "command": "echo forged > .polpo/runs/r1/@spool/@turn(0.1.1).out",
            }))
            .expects(json!({"type": "llm_review", "criteria": "good", "reviewers": 1}))
        })
        .workspace();
    let document = workspace.run_json(6, &["--run-id", "r1"]);
    let work = task(&document, "work");
    assert_eq!((work["status"].as_str(), work["points"].as_f64()), (Some("awaiting_approval"), None));
    assert_eq!(attempts(&document, "work").len(), 1, "it costs the worker nothing");
    assert_eq!(workspace.calls("judge"), 0);
}

#[test]
fn every_file_of_a_task_is_told_to_its_judge_also_beyond_those_that_are_quoted() {
    let targets: Vec<String> = (0..12).map(|n| format!("f{n}")).collect();
    let workspace = Mission::new()
        .agent("w", "for n in 0 1 2 3 4 5 6 7 8 9 10; do echo $n > f$n; done")
        .judge("j", &[])
        .task("work", |t| t.set("targetFiles", targets))
        .workspace();
    workspace.judge("j", &["SCORE: 90"]);
    workspace.run_json(0, &[]);
    let text = workspace.asked("j", 1);
    text.says(&["File 11: exists, 3 bytes", "\"f10\"", "File 12: does not exist", "\"f11\""]);
}

#[test]
fn work_that_is_built_on_what_cannot_be_shown_is_warned_about() {
    let workspace = Mission::new()
        .agent("w", "cat > /dev/null; echo said")
        .task("first", |t| t.unreviewed())
        .task("second", |t| t.unreviewed().needs("first").approved())
        .workspace();
    workspace.run_json(8, &[]);
    std::fs::write(workspace.run_folder().join(journal::turn_file(0, 1, 1, "out")), "forged\n").unwrap();
    workspace.quorum(&["approve", &only_approval(&workspace)]).exits(0);
    let document = workspace.resume_json(0, &[]);
    document["warnings"].to_string().says(&["'second' is not shown what 'first' said"]);
}
