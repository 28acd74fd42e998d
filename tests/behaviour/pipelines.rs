//! What pipelines show of a run: SARIF and GitLab's report of code quality.

use serde_json::{Value, json};

use crate::support::pages::project;
use crate::support::{Mission, Workspace};

/// Work in which a judge finds this, where `app.py` has a few lines; it is accepted all the same.
fn found(evidence: &str) -> Workspace {
    let reply = json!({
        "dimensions": [{"dimension": "security", "score": 4, "reasoning": "so so"}],
        "findings": [{"severity": "high", "description": "A password is committed on line 1", "evidence": evidence}],
    });
    Mission::new()
        .worker("cat > /dev/null; printf '1\\n2\\n3\\n' > app.py; echo done")
        .judge("alice", &[&reply.to_string()])
        .task("work", |task| {
            task.expects(json!({
                "type": "llm_review",
                "reviewers": ["alice"],
                "dimensions": [{"name": "security", "weight": 1}],
            }))
        })
        .workspace()
}

const REPORTS: [&str; 5] = ["run", "--report", "sarif=r.sarif", "--report", "codequality=r.json"];

/// The only run of a log, which must fit the schema of the standard.
fn log(workspace: &Workspace) -> Value {
    let schema = std::fs::read_to_string(project("fixtures/schemas/sarif-2.1.0.json")).unwrap();
    let schema: Value = serde_json::from_str(&schema).unwrap();
    let mut log: Value = serde_json::from_str(&workspace.read("r.sarif")).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> = schema.iter_errors(&log).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    log["runs"][0].take()
}

/// The issues of code quality, each with all that GitLab wants.
fn issues(workspace: &Workspace) -> Vec<Value> {
    let issues: Vec<Value> = serde_json::from_str(&workspace.read("r.json")).unwrap();
    for issue in &issues {
        for key in ["description", "check_name", "fingerprint"] {
            assert!(issue[key].as_str().is_some_and(|text| !text.is_empty()), "{key}: {issue}");
        }
        assert!(
            ["info", "minor", "major", "critical", "blocker"].contains(&issue["severity"].as_str().unwrap())
        );
        let path = issue["location"]["path"].as_str().unwrap();
        assert!(!path.starts_with(['.', '/']), "{issue}");
        assert!(issue["location"]["lines"]["begin"].as_u64() > Some(0), "{issue}");
    }
    issues
}

#[test]
fn a_finding_is_a_result_at_the_file_and_line_that_it_names() {
    let workspace = found("see app.py:2, it is `app.py:3`");
    workspace.quorum(&REPORTS).exits(0);
    let run = log(&workspace);
    let [result] = run["results"].as_array().unwrap().as_slice() else { panic!("{run:#}") };
    let place = &result["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "app.py");
    assert_eq!(place["region"]["startLine"], 2);
    assert_eq!((&result["level"], &result["ruleId"]), (&json!("error"), &json!("quorum/judge")));
    assert!(result["message"]["text"].as_str().unwrap().contains("A password is committed"));
    assert_eq!(run["tool"]["driver"]["rules"][0]["id"], "quorum/judge");
    assert_eq!(run["invocations"][0]["executionSuccessful"], true);
    let [issue] = &issues(&workspace)[..] else { panic!() };
    assert_eq!(issue["location"], json!({"path": "app.py", "lines": {"begin": 2}}));
    assert_eq!((&issue["check_name"], &issue["severity"]), (&json!("quorum/judge"), &json!("critical")));
    assert_eq!(issue["fingerprint"], result["partialFingerprints"]["quorum/v1"]);

    // The same finding on another line is the same alert; written later, by another command, it is too.
    let moved = found("app.py:1");
    moved.quorum(&["run"]).exits(0);
    moved.quorum(&["report", "--to", "sarif=r.sarif", "--to", "codequality=r.json"]).exits(0);
    assert_eq!(issues(&moved)[0]["fingerprint"], issue["fingerprint"]);
    assert_eq!(log(&moved)["results"][0]["partialFingerprints"], result["partialFingerprints"]);
}

#[test]
fn a_finding_that_names_no_file_that_is_there_stands_at_the_mission() {
    for evidence in [
        "gone.py:2",
        "/etc/passwd:1",
        "../outside.py:1",
        "http://127.0.0.1:8080/x",
        "example.com:8080",
        "at 12:30",
        "app.py:0",
        "app.py",
        "app.py:99999999999",
    ] {
        let workspace = found(evidence);
        workspace.quorum(&REPORTS).exits(0);
        let run = log(&workspace);
        let place = &run["results"][0]["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "mission.yaml", "{evidence}");
        assert_eq!(place["region"]["startLine"], 1, "{evidence}");
        assert_eq!(issues(&workspace)[0]["location"]["path"], "mission.yaml", "{evidence}");
    }
}

#[test]
fn a_point_that_a_judge_called_addressed_is_no_alert_and_one_that_is_open_is() {
    for (addressed, alerts) in [("yes", 0), ("no", 1)] {
        let first = r#"{"dimensions": [{"dimension": "d", "score": 1, "reasoning": "bad"}],
            "findings": [{"severity": "high", "description": "the colour is wrong", "evidence": "out.txt:1"}]}"#;
        let second = format!(
            r#"{{"dimensions": [{{"dimension": "d", "score": 5, "reasoning": "good"}}],
            "prior": [{{"id": 1, "addressed": "{addressed}", "evidence": "out.txt"}}], "findings": []}}"#
        );
        let workspace = Mission::new()
            .worker("cat > /dev/null; echo $RANDOM$$ > out.txt; echo done")
            .judge("alice", &[first, &second, &second, &second])
            .task("work", |task| {
                task.attempts(2).expects(json!({
                    "type": "llm_review",
                    "reviewers": ["alice"],
                    "dimensions": [{"name": "d", "weight": 1}],
                }))
            })
            .workspace();
        workspace.quorum(&REPORTS);
        let told = workspace.read("r.sarif").matches("the colour is wrong").count().min(1);
        assert_eq!(told, alerts, "{addressed}: {}", workspace.read("r.sarif"));
    }
}

#[test]
fn false_green_71_a_run_that_did_not_end_well_has_an_error_in_every_report_of_a_pipeline() {
    let failing =
        |worker: &str| Mission::new().worker(worker).task("work", |task| task.attempts(1).unreviewed());
    let judged = |score: &str| {
        let judge = format!("cat > /dev/null; {score}");
        let worker = "cat > /dev/null; echo x > out.txt; echo done";
        Mission::new().worker(worker).reviewer("judge", judge).task("work", |task| task.attempts(1))
    };
    let runs = [
        ("its work failed", failing("exit 3").workspace(), 3),
        (
            "it did nothing",
            Mission::new()
                .worker("cat > /dev/null; echo done")
                .task("work", |task| task.attempts(1).unreviewed().files(["out.txt"]))
                .workspace(),
            3,
        ),
        (
            "a gate failed",
            judged("echo SCORE: 70")
                .task("next", |task| task.unreviewed())
                .gate("good", ["work"], ["next"], json!({"minScore": 90}))
                .workspace(),
            4,
        ),
        ("it is below the bar", judged("echo SCORE: 30").workspace(), 5),
        ("nobody could say", judged("echo what").workspace(), 6),
        (
            "it waits",
            Mission::new()
                .worker("cat > /dev/null; echo x > y")
                .task("work", |task| task.approved().unreviewed())
                .workspace(),
            8,
        ),
    ];
    for (what, workspace, code) in runs {
        workspace.quorum(&REPORTS).exits(code);
        let run = log(&workspace);
        assert_eq!(run["invocations"][0]["executionSuccessful"], false, "{what}");
        assert_eq!(run["invocations"][0]["exitCode"], code, "{what}");
        let results = run["results"].as_array().unwrap();
        assert!(results.iter().any(|result| result["level"] == "error"), "{what}: {run:#}");
        let is_severe =
            |issue: &Value| ["critical", "blocker"].contains(&issue["severity"].as_str().unwrap());
        assert!(issues(&workspace).iter().any(is_severe), "{what}");
    }
}
