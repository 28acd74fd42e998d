//! `quorum judge test`: whether the replies of an agent can be read where it is asked as a judge. Nothing of it is kept.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::model::{Model, refuses, says};
use crate::support::{Has, Says, Workspace, is_alive, read_pid, wait_for};

const KINDS: [&str; 7] = ["evaluation", "panel", "grade", "stage", "redTeam", "vision", "approve"];

/// A judge that keeps to the form that each request asks for.
const GOOD: &str = r##"
prompt=$(cat)
case "$prompt" in
*'# Dimensions'*)
    echo '{"scores": {"correctness": {"score": 4, "reasoning": "r"}, "completeness": {"score": 4, "reasoning": "r"},
        "code_quality": {"score": 4, "reasoning": "r"}, "edge_cases": {"score": 3, "reasoning": "r"}}}' ;;
*'SCORE: n'*) printf 'It adds.\nSCORE: 80\n' ;;
*'"decision"'*) echo '{"decision": "approve"}' ;;
*'"criteria"'*)
    echo '{"criteria": {"correctness": {"grade": 1, "reasoning": "r"}, "completeness": {"grade": 1, "reasoning": "r"},
        "probe-adherence": {"grade": 1, "reasoning": "r"}}, "verdict": "pass", "confidence": 0.9, "findings": []}' ;;
*'"verdict"'*) echo '{"verdict": "pass", "reason": "fine", "findings": []}' ;;
*) echo '{"findings": [], "summary": "nothing"}' ;;
esac
"##;

/// A workspace in which the agent `critic` is this script.
fn critic(script: &str) -> Workspace {
    let workspace = Workspace::with(
        "
name: judges
agents:
  worker: {run: 'echo done'}
  other: {run: 'touch asked-another; echo SCORE: 99', role: reviewer}
  critic: {run: [./critic.sh], vision: true, fallback: other, timeout: 2m}
tasks: [{title: work, assignTo: worker, review: none}]
",
    );
    workspace.write("critic.sh", format!("#!/bin/sh\n{script}"));
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(workspace.path("critic.sh"), mode).expect("it is ours");
    workspace.write("tmp/.keep", "");
    workspace
}

/// What the test of `critic` says, which must leave nothing behind and ask nobody else.
#[track_caller]
fn tested(workspace: &Workspace, code: i32, more: &[&str]) -> Value {
    let tmp = workspace.path("tmp");
    let mut arguments = vec!["judge", "test", "critic", "--json"];
    arguments.extend(more);
    let variables = [("TMPDIR", tmp.to_str().expect("it is text"))];
    let document = workspace.quorum_with(&variables, &arguments).exits(code).json();
    assert!(!workspace.exists(".polpo") && !workspace.exists("asked-another"));
    assert_eq!(fs::read_dir(&tmp).expect("it is there").count(), 1, "something is left in {tmp:?}");
    document
}

#[track_caller]
fn row<'a>(document: &'a Value, kind: &str) -> &'a Value {
    let mut rows = document["kinds"].as_array().into_iter().flatten();
    rows.find(|row| row["kind"] == kind).unwrap_or_else(|| panic!("no {kind} in {document:#}"))
}

#[test]
fn a_judge_that_keeps_to_every_form_is_read_in_all_kinds() {
    for workspace in [critic(GOOD), critic(GOOD).confined()] {
        let document = tested(&workspace, 0, &[]);
        document.has(
            json!({"schema": "quorum.judge-test/v1", "agent": "critic", "outcome": "ok", "exitCode": 0}),
        );
        for kind in KINDS {
            row(&document, kind).has(json!({"state": "read", "replies": 1, "why": null, "reply": null}));
            assert!(row(&document, kind)["durationMs"].is_u64());
        }
        assert_eq!(row(&document, "evaluation")["read"], json!({"result": "score", "points": 80.0}));
        assert_eq!(
            row(&document, "panel")["read"]["dimensions"][3],
            json!({"dimension": "edge_cases", "score": 3.0})
        );
        row(&document, "grade").has(json!({"read": {"verdict": "pass", "confidence": 0.9}}));
        row(&document, "stage").has(json!({"read": {"verdict": "pass"}}));
        row(&document, "vision").has(json!({"read": {"findings": 0}}));
        row(&document, "approve").has(json!({"read": {"decision": "approve"}}));
    }
    let page = critic(GOOD).quorum(&["judge", "test", "critic", "--kind", "panel,approve"]).exits(0);
    page.shows(&["judge test of critic", "correctness 4, completeness 4", "approve", "exit 0 (ok)"])
        .hides(&["evaluation"])
        .says(&["asking 'critic' about a sample"]);
}

#[test]
fn prose_is_asked_for_once_more_and_named_with_its_reason_and_its_beginning() {
    let document = tested(&critic("cat > /dev/null; echo I like it."), 6, &[]);
    document.has(json!({"outcome": "indeterminate", "exitCode": 6}));
    for kind in KINDS {
        // Whoever agrees to a start is asked once.
        let replies = if kind == "approve" { 1 } else { 2 };
        row(&document, kind)
            .has(json!({"state": "unread", "replies": replies, "read": null, "reply": "I like it.\n"}));
        assert!(!row(&document, kind)["why"].as_str().unwrap_or_default().is_empty(), "{kind}");
    }
    row(&document, "evaluation")["why"].to_string().says(&["the reply contains no"]);
}

#[test]
fn what_is_read_on_the_second_request_is_said_to_be_so() {
    let second =
        format!("if grep -q 'could not be read' \"$QUORUM_PROMPT_FILE\"; then\n{GOOD}\nelse echo hm; fi");
    let document = tested(&critic(&second), 0, &["--kind", "evaluation", "--kind", "stage"]);
    row(&document, "evaluation").has(json!({"state": "read", "replies": 2, "read": {"points": 80.0}}));
    row(&document, "stage").has(json!({"state": "read", "replies": 2}));
    assert!(row(&document, "stage")["why"].is_string());
    assert_eq!(document["kinds"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_panel_is_not_answered_by_a_score_of_4() {
    let document = tested(&critic("cat > /dev/null; echo SCORE: 4"), 6, &["--kind", "panel"]);
    row(&document, "panel").has(json!({"state": "unread", "reply": "SCORE: 4\n"}));
}

#[test]
fn grades_that_leave_a_criterion_out_have_the_form_and_do_not_count() {
    let partly =
        "cat > /dev/null; echo '{\"criteria\": {\"correctness\": {\"grade\": 1, \"reasoning\": \"r\"}},
        \"verdict\": \"pass\", \"confidence\": 0.9, \"findings\": []}'";
    let document = tested(&critic(partly), 6, &["--kind", "grade"]);
    row(&document, "grade").has(json!({"state": "unread", "replies": 2, "read": {"result": "grades"}}));
    row(&document, "grade")["why"].to_string().says(&["could not be", "completeness"]);
}

#[test]
fn one_that_hangs_is_killed_in_its_time_and_is_unread() {
    let workspace = critic("sleep 600").tap_mission("timeout: 2m", "timeout: 300ms").at_scale("1000");
    let document = tested(&workspace, 6, &["--kind", "evaluation"]);
    row(&document, "evaluation").has(json!({"state": "unread", "replies": 0}));
    row(&document, "evaluation")["why"].to_string().says(&["time-out"]);
}

#[test]
fn one_that_is_not_there_or_has_no_key_or_refuses_is_exit_9() {
    let gone = critic(GOOD).tap_mission("[./critic.sh]", "[./no-such-critic]");
    gone.quorum(&["judge", "test", "critic"]).exits(9).says(&["agent 'critic'", "no-such-critic"]);
    let model = |url: &str| {
        let spec = format!("adapter: openai, model: m, baseUrl: '{url}', apiKey: '${{CRITIC_KEY}}'");
        critic("").tap_mission("run: [./critic.sh]", &spec).at_scale("1000")
    };
    // Nobody listens there.
    let unheard = model("http://127.0.0.1:1/v1");
    unheard.quorum(&["judge", "test", "critic"]).exits(9).says(&["CRITIC_KEY"]);
    let key = [("CRITIC_KEY", "sk-a-secret-of-somebody")];
    let arguments = ["judge", "test", "critic", "--kind", "evaluation,approve", "--json"];
    let refused = unheard.quorum_with(&key, &arguments).exits(9);
    let document = refused.json();
    document.has(json!({"outcome": "environment"}));
    row(&document, "evaluation").has(json!({"state": "unreachable", "replies": 0}));
    let server = Model::new(|_| refuses(401, "no such key: sk-a-secret-of-somebody"));
    let refused = model(&server.base()).quorum_with(&key, &arguments).exits(9).hides(&["a-secret"]);
    row(&refused.json(), "approve").has(json!({"state": "unreachable"}));
}

#[test]
fn a_model_is_asked_with_a_picture_and_tells_what_it_used_and_no_secret() {
    let server = Model::new(|_| says("my key is sk-a-secret-of-somebody"));
    let spec = format!("adapter: openai, model: m, baseUrl: '{}', apiKey: '${{CRITIC_KEY}}'", server.base());
    let workspace = critic("").tap_mission("run: [./critic.sh]", &spec);
    let key = [("CRITIC_KEY", "sk-a-secret-of-somebody")];
    let document = workspace.quorum_with(&key, &["judge", "test", "critic", "--json"]).exits(6);
    let document = document.hides(&["a-secret"]).json();
    row(&document, "vision").has(json!({"state": "unread", "inputTokens": 200, "outputTokens": 20}));
    let asked: Vec<String> = server.asked().iter().map(Value::to_string).collect();
    assert!(asked.iter().any(|body| body.contains("data:image/png;base64,")));
}

#[test]
fn pictures_are_not_possible_for_an_agent_that_sees_none() {
    let workspace = critic(GOOD).tap_mission("vision: true, ", "");
    row(&tested(&workspace, 0, &[]), "vision").has(json!({"state": "notPossible"}));
    let document = tested(&workspace, 6, &["--kind", "vision"]);
    row(&document, "vision")["why"].to_string().says(&["vision: true"]);
}

#[test]
fn hostile_replies_are_harmless_and_bounded() {
    let hostile =
        r"cat > /dev/null; printf '\033]0;owned\007\033[2J'; head -c 20000000 /dev/zero | tr '\0' x";
    let workspace = critic(hostile);
    let page = workspace.quorum(&["judge", "test", "critic", "--kind", "evaluation,redTeam"]).exits(6);
    assert!(page.stdout.len() < 10_000 && !page.stdout.contains('\u{1b}'), "{}", page.stdout.len());
    let document = tested(&workspace, 6, &["--kind", "evaluation"]);
    assert!(row(&document, "evaluation").to_string().len() < 10_000);
}

#[test]
fn an_interrupt_ends_the_agent_and_leaves_nothing() {
    let workspace = critic("echo $$ > \"$1\"; sleep 600");
    let file = workspace.path("critic.pid");
    let workspace = workspace.tap_mission("[./critic.sh]", &format!("[./critic.sh, {:?}]", file));
    let running = workspace.start(&["judge", "test", "critic", "--kind", "evaluation", "--json"]);
    let pid = read_pid(&workspace.path("critic.pid"));
    running.signal(Signal::INT);
    let document = running.finish().exits(130).json();
    row(&document, "evaluation").has(json!({"read": null}));
    wait_for("its end", || !is_alive(pid));
    assert!(!workspace.exists(".polpo"));
}

#[test]
fn what_cannot_be_tested_is_refused() {
    let workspace = critic(GOOD);
    for (arguments, says) in [
        (&["nobody"][..], "there is no agent 'nobody'"),
        (&["critic", "--kind", "poem"], "poem"),
        (&["critic", "--mission", "gone.yaml"], "gone.yaml"),
    ] {
        let mut all = vec!["judge", "test"];
        all.extend(arguments);
        workspace.quorum(&all).exits(2).says(&[says]);
    }
    let person =
        critic(GOOD).tap_mission("run: [./critic.sh], vision: true, fallback: other", "adapter: human");
    person
        .quorum(&["judge", "test", "critic", "--kind", "stage"])
        .exits(2)
        .says(&["no program and no model"]);
    // Another judge that the mission has is not asked, and not needed.
    let alone = critic(GOOD).tap_mission("run: 'touch asked-another; echo SCORE: 99'", "run: [./gone]");
    tested(&alone, 0, &[]);
}

#[test]
fn a_ceiling_stops_it() {
    let document = tested(&critic("sleep 600"), 7, &["--kind", "evaluation", "--timeout", "300ms"]);
    document.has(json!({"outcome": "limit"}));
}
