//! What was found is told: causes of failures and findings of accepted work, in every output.

use serde_json::{Value, json};

use crate::support::{Has, Mission, Workspace, junit, task};

/// Work that two reviewers accept at the bar, with a finding that nobody should miss.
fn accepted_with_a_finding() -> Workspace {
    let workspace = Mission::new()
        .worker("cat > /dev/null; echo done")
        .judge("alice", &[])
        .judge("bob", &[])
        .task("work", |t| {
            t.expects(json!({
                "type": "llm_review",
                "reviewers": ["alice", "bob"],
                "dimensions": [{"name": "security", "weight": 1}],
            }))
        })
        .workspace();
    let reply = r#"{"dimensions": [{"dimension": "security", "score": 3, "reasoning": "so so"}],
        "findings": [{"severity": "high", "description": "A password is committed", "evidence": "app.py:1"}]}"#;
    workspace.judge("alice", &[reply]);
    workspace.judge("bob", &[reply]);
    workspace
}

#[test]
fn a_severe_finding_of_accepted_work_is_in_every_output() {
    let workspace = accepted_with_a_finding();
    let finished = workspace.quorum(&[
        "run",
        "mission.yaml",
        "--report",
        "junit=junit.xml",
        "--report",
        "markdown=report.md",
    ]);
    let ended = finished.exits(0);
    ended.shows(&["findings in accepted work: 1 high", "work: [high] A password is committed (alice)"]);
    assert!(workspace.read("report.md").contains("A password is committed"));
    let root = junit::read(&workspace.read("junit.xml"));
    assert!(
        root.case("work").property("finding").is_some_and(|text| text.contains("A password is committed"))
    );

    let document = workspace.status();
    assert_eq!(document["counts"]["findings"]["high"], 1);
    let found: Vec<&Value> = task(&document, "work")["findings"].as_array().expect("a list").iter().collect();
    let [found] = found[..] else { panic!("one finding, told once: {found:?}") };
    assert_eq!(
        (&found["stage"], &found["reviewer"], &found["severity"], &found["open"]),
        (&Value::from("judge"), &Value::from("alice"), &Value::from("high"), &Value::from(false))
    );
    assert_eq!(found["evidence"], "app.py:1");
}

#[test]
fn a_failed_check_says_why_on_the_screen_and_in_the_document() {
    let workspace = Mission::new()
        .key("name", "a secret")
        .worker("true")
        .setting("maxRetries", 0)
        .setting("maxFixAttempts", 0)
        .task("decide", |t| t.check(r#"echo "app.py:1 looks like a secret"; exit 1"#))
        .workspace();
    let ended = workspace.quorum(&["run", "mission.yaml"]).exits(3);
    ended.shows(&["decide: quality: a check failed", "app.py:1 looks like a secret"]);
    let document = workspace.status();
    let found = &task(&document, "decide")["findings"][0];
    assert_eq!(found["stage"], "checks");
    assert!(found.to_string().contains("app.py:1 looks like a secret"), "{found}");
}

#[test]
fn a_score_alone_is_no_finding() {
    let workspace = Mission::new().worker("true").judge("judge", &["SCORE: 41"]).tasks(["work"]).workspace();
    workspace.quorum(&["run", "mission.yaml"]).exits(5);
    let document = workspace.status();
    assert_eq!(task(&document, "work")["findings"], serde_json::json!([]));
}

#[test]
fn a_run_that_was_called_off_is_cancelled_and_one_that_was_stopped_interrupted() {
    let workspace = Mission::new().worker("true").task("first", |t| t.approved()).workspace();
    workspace.quorum(&["run", "mission.yaml", "--run-id", "r1"]).exits(8);
    workspace.quorum(&["cancel", "r1", "--yes"]).exits(0);
    let document = workspace.status();
    document.has(json!({"cancelled": true, "counts": {"failed": 1}}));
    workspace.quorum(&["runs"]).exits(0).shows(&["cancelled"]);
}

/// What a reviewer writes in a form counts as found, whatever the form of its verdict is.
#[test]
fn a_finding_beside_a_score_is_told() {
    let finding = r#"{"findings": [{"severity": "high", "description": "A password is committed"}]}"#;
    for reply in [
        r#"{"score": 80, "findings": [{"severity": "high", "description": "A password is committed"}]}"#
            .to_owned(),
        format!("It is good.\n\n```json\n{finding}\n```\n\nSCORE: 80"),
        format!("{finding}\nSCORE: 80"),
    ] {
        let workspace = Mission::new()
            .worker("cat > /dev/null; echo done")
            .judge("alice", &[&reply])
            .task("work", |t| t.set("review", "required"))
            .workspace();
        let document = workspace.run_json(0, &[]);
        let found = &task(&document, "work")["findings"];
        assert_eq!(found[0]["severity"], "high", "{reply}: {document:#}");
        assert_eq!(found[0]["description"], "A password is committed", "{reply}");
        assert_eq!(document["counts"]["findings"]["high"], 1, "{reply}");
        workspace.quorum(&["show", "work"]).exits(0).shows(&["A password is committed"]);
    }
}

#[test]
fn a_panel_is_heard_on_what_it_found_outside_of_its_scores() {
    let workspace = accepted_with_a_finding();
    let reply = r#"{"dimensions": [{"dimension": "security", "score": 4, "reasoning": "so so"}]}

One thing: {"findings": [{"severity": "critical", "description": "The key is in the log"}]}"#;
    workspace.judge("alice", &[reply]);
    workspace.judge("bob", &[reply]);
    let document = workspace.run_json(0, &[]);
    let found = task(&document, "work")["findings"].to_string();
    assert!(found.contains("The key is in the log"), "{document:#}");
}
