//! Row 27 of the false greens: reports of a red team or a vision check in which something hides a blocking finding.

use serde_json::{Value, json};

use crate::support::{Mission, Workspace, standing};

/// Work that nobody else judges, looked at by the scripted agent `eye` as a red team or a vision check.
fn scrutinised(reply: &str) -> Workspace {
    let workspace = Mission::new()
        .worker("echo done; printf x > a.png")
        .agent_with("eye", json!({"run": ["/bin/sh", "@agents/judge.sh", "eye"], "vision": true}))
        .task("work", |t| t.unreviewed().attempts(1))
        .workspace();
    workspace.judge("eye", &[reply]);
    workspace
}

fn red_team() -> Value {
    json!({"redTeam": {"agent": "eye"}})
}

fn grave(more: &str) -> String {
    format!(
        r#"{{"severity": "critical", "surface": "security", "description": "sql in the title", "evidence": "line 3",
            "suggestedFix": "bind it"{more}}}"#
    )
}

/// The finding blocks at once, whatever else is wrong with the report.
fn assert_blocked(workspace: &Workspace) {
    let document = workspace.run_json(3, &[]);
    assert_eq!(standing(&document, "work").0, "failed");
    assert_eq!(workspace.calls("eye"), 1, "what blocks is not asked for again");
    let text = document.to_string();
    assert!(text.contains("sql in the title"), "{document:#}");
}

#[test]
fn false_green_27_a_key_that_nobody_asked_for_hides_no_blocking_finding() {
    let reply = format!(r#"{{"findings": [{}], "model": "m"}}"#, grave(r#", "cwe": "CWE-89""#));
    assert_blocked(&scrutinised(&reply).tap(|m| m.keys(red_team())));
}

#[test]
fn false_green_27_prose_and_a_fence_hide_no_blocking_finding() {
    let report = format!(r#"{{"findings": [{}], "summary": "bad"}}"#, grave(""));
    for reply in [
        format!("Here is my report:\n\n```json\n{report}\n```\n\nI hope that helps."),
        format!("I looked at it. {report} That is all."),
        format!("<think>fine?</think>\n{report}"),
        format!("First:\n{}\nMore I did not find.", grave("")),
    ] {
        assert_blocked(&scrutinised(&reply).tap(|m| m.keys(red_team())));
    }
}

#[test]
fn false_green_27_another_faulty_finding_hides_no_blocking_finding() {
    for faulty in [
        r#"{"severity": "high", "description": "no evidence of it"}"#,
        r#"{"severity": "high"}"#,
        r#"{"severity": "grave", "description": "no such word"}"#,
        "null",
        r#""words""#,
    ] {
        for list in [format!("{faulty}, {}", grave("")), format!("{}, {faulty}", grave(""))] {
            assert_blocked(&scrutinised(&format!("{{\"findings\": [{list}]}}")).tap(|m| m.keys(red_team())));
        }
    }
    let crowd = vec![r#"{"severity": "low", "description": "a comma"}"#; 40].join(", ");
    assert_blocked(
        &scrutinised(&format!("{{\"findings\": [{crowd}, {}]}}", grave(""))).tap(|m| m.keys(red_team())),
    );
}

#[test]
fn false_green_27_a_vision_report_with_another_key_blocks() {
    let report = format!(
        r#"Here: {{"findings": [{}], "pictures": 1}}"#,
        grave(r#", "category": "missing_element", "confidence": 0.9"#)
    );
    let vision = json!({"vision": {"kind": "llm_vision", "agent": "eye", "screenshots": ["a.png"], "expectations": ["a blue header"]}});
    let workspace = scrutinised(&report).tap(|m| m.keys(vision));
    let picture = include_bytes!("../../missions/landing-page/final.png");
    workspace.write("picture.png", picture);
    assert_blocked(&workspace.tap_mission("printf x > a.png", "cp picture.png a.png"));
}

/// What no program can read is a person's to read, where it speaks of something grave.
#[test]
fn false_green_27_a_report_in_words_of_something_grave_does_not_open_the_stage() {
    for reply in [
        "There is a critical hole: sql in the title, line 3.",
        r#"{"findings": [{"severity": "critical", "description": "sql in"#,
    ] {
        let workspace = scrutinised(reply).tap(|m| m.keys(red_team()));
        let document = workspace.run_json(6, &[]);
        assert_eq!(standing(&document, "work").0, "awaiting_approval", "{reply}");
        assert_eq!(workspace.calls("eye"), 2, "it is asked once more first");
    }
    let workspace = scrutinised("There is a critical hole: sql in the title.").tap(|m| m.keys(red_team()));
    workspace.judge("eye", &["There is a critical hole.", r#"{"findings": []}"#]);
    workspace.run_json(0, &[]);
}
