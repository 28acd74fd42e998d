//! `quorum runs`, `quorum clean`, `quorum metrics`: what there is, what may go, how it did.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::journal;
use crate::support::{Has, Mission, Workspace, wait_for_file};

fn titled(title: &str, command: &str) -> Mission {
    Mission::new().key("name", format!("about {title}")).worker(command).tasks([title])
}

/// A run that is done, one that failed, one that was interrupted.
fn three_runs() -> Workspace {
    let workspace = titled("one", "true").workspace();
    workspace.run_json(0, &["--run-id", "r1"]);
    titled("two", "exit 1").write(&workspace);
    workspace.run_json(3, &["--run-id", "r2", "--max-attempts", "1"]);
    titled("three", "echo > started; while :; do sleep 0.02; done").write(&workspace);
    let running = workspace.start(&["run", "mission.yaml", "--run-id", "r3"]);
    wait_for_file(&workspace.path("started"));
    let listed = runs(&workspace);
    assert_eq!(listed[2]["state"], "running");
    running.signal(Signal::INT);
    running.finish().exits(130);
    workspace
}

fn runs(workspace: &Workspace) -> Vec<Value> {
    let document = workspace.quorum(&["runs", "--json"]).exits(0).json();
    assert_eq!(document["schema"], "quorum.runs/v1");
    document["runs"].as_array().unwrap().clone()
}

fn ids(workspace: &Workspace) -> Vec<String> {
    let runs = runs(workspace);
    runs.iter().map(|run| run["runId"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn runs_are_listed_with_the_newest_last_and_a_broken_one_hides_nobody() {
    let workspace = Workspace::new();
    workspace.quorum(&["runs"]).exits(0);
    assert!(!workspace.exists(".polpo"), "looking made a state folder");
    let workspace = three_runs();
    let listed = runs(&workspace);
    let told: Vec<(&Value, &Value, &Value)> =
        listed.iter().map(|run| (&run["runId"], &run["state"], &run["exitCode"])).collect();
    assert_eq!(
        told,
        [
            (&json!("r1"), &json!("ended"), &json!(0)),
            (&json!("r2"), &json!("ended"), &json!(3)),
            (&json!("r3"), &json!("suspended"), &json!(130)),
        ]
    );
    listed[0].has(json!({"mission": "about one", "counts": {"done": 1}}));
    assert!(listed[0]["startedAt"].is_string() && listed[0]["finishedAt"].is_string());
    assert_eq!((&listed[2]["resumable"], &listed[1]["resumable"]), (&json!(true), &json!(false)));

    workspace.write(&journal::of("r2"), "soup\nsoup\n");
    let listed = runs(&workspace);
    assert_eq!((&listed[1]["state"], &listed[2]["state"]), (&json!("unreadable"), &json!("suspended")));
    let human = workspace.quorum(&["runs", "-n", "2"]).exits(0).stdout;
    let lines: Vec<&str> = human.lines().collect();
    assert_eq!(lines.len(), 3, "{human}");
    assert!(
        lines[2].starts_with("r3") && lines[2].contains("suspended") && lines[2].ends_with("about three"),
        "{human}"
    );
}

#[test]
fn clean_asks_first_and_leaves_what_is_unfinished() {
    let workspace = three_runs();
    workspace.quorum(&["clean"]).exits(2).says(&["--older-than 30d", "--all"]);
    // Nobody can be asked here.
    let ended = workspace.quorum(&["clean", "--all"]).exits(2);
    ended.says(&["would remove r1", "would remove r2", "quorum clean --all --yes"]);
    workspace.quorum_with(&[("CI", "true")], &["clean", "--all"]).exits(2);
    assert_eq!(ids(&workspace), ["r1", "r2", "r3"]);
    workspace.quorum(&["clean", "--all", "--unfinished"]).exits(2).says(&["--yes"]);
    let nothing = workspace.quorum(&["clean", "--older-than", "1h", "--json"]).exits(0).json();
    assert_eq!((&nothing["schema"], &nothing["removed"]), (&json!("quorum.clean/v1"), &json!([])));
    let cleaned = workspace.quorum(&["clean", "--older-than", "0s", "--yes", "--json"]).exits(0).json();
    assert_eq!(cleaned["removed"].as_array().unwrap().len(), 2);
    assert_eq!(cleaned["kept"][0]["runId"], "r3");
    assert_eq!(ids(&workspace), ["r3"]);
    assert_eq!(workspace.run_folders().len(), 1);
    workspace.quorum(&["clean", "--all", "--unfinished", "--yes"]).exits(0);
    assert_eq!(workspace.run_folders().len(), 0);
}

#[test]
fn clean_stays_away_while_somebody_writes_and_finishes_what_was_begun() {
    let workspace = titled("one", "true").workspace();
    workspace.run_json(0, &[]);
    titled("two", "echo > started; while [ ! -e go ]; do sleep 0.02; done").write(&workspace);
    let running = workspace.start(&["run", "mission.yaml"]);
    wait_for_file(&workspace.path("started"));
    workspace.quorum(&["clean", "--all", "--yes"]).exits(9).says(&["quorum run"]);
    workspace.write("go", "");
    running.finish().exits(0);
    workspace.write(&format!(".polpo/runs/.trash-old/{}", journal::turn_file(0, 1, 1, "out")), "left");
    assert_eq!(ids(&workspace).len(), 2);
    workspace.quorum(&["clean", "--all", "--yes"]).exits(0);
    assert_eq!(workspace.run_folders().len(), 0);
}

#[test]
fn metrics_come_from_the_journal() {
    let workspace = Mission::new()
        .keeps_prompts("worker", "prompts")
        .agent("breaker", "exit 1")
        .judge("judge", &[])
        .task("panelled", |t| {
            t.expects(json!({
                "type": "llm_review",
                "reviewers": 1,
                "threshold": 3,
                "dimensions": [{"name": "depth", "weight": 1}],
            }))
        })
        .task("checked", |t| t.needs("panelled").check("test $QUORUM_ATTEMPT -gt 1"))
        .task("broken", |t| t.by("breaker").attempts(2).unreviewed())
        .workspace();
    let depth = |score: &str| {
        format!(r#"{{"scores": {{"depth": {{"reasoning": "so", "score": {score}}}}}, "findings": []}}"#)
    };
    workspace.judge("judge", &[&depth("2"), &depth("5")]);
    workspace.run_json(3, &[]);
    let metrics = workspace.quorum(&["metrics", "--json"]).exits(0).json();
    assert_eq!(metrics["schema"], "quorum.metrics/v1");
    assert_eq!(
        metrics["tasks"][0],
        json!({
            "name": "panelled", "totalAssessments": 2, "passedAssessments": 1,
            "avgScore": 3.5, "minScore": 2.0, "maxScore": 5.0, "dimensionScores": {"depth": 3.5},
            "avgPoints": 70.0, "minPoints": 40.0, "maxPoints": 100.0, "dimensionPoints": {"depth": 70.0},
            "totalRetries": 0, "totalFixes": 1, "deadlinesMet": 0, "deadlinesMissed": 0
        })
    );
    let of = |row: &Value| {
        let number = |key: &str| row[key].as_u64().unwrap();
        (
            number("totalAssessments"),
            number("passedAssessments"),
            number("totalFixes"),
            number("totalRetries"),
        )
    };
    assert_eq!(of(&metrics["tasks"][1]), (2, 1, 1, 0));
    // An agent's own failure is no assessment.
    assert_eq!(of(&metrics["tasks"][2]), (0, 0, 0, 1));
    assert_eq!(of(&metrics["mission"]), (4, 2, 2, 1));
    assert_eq!(metrics["agents"][0]["name"], "worker");
    assert_eq!(of(&metrics["agents"][0]), (4, 2, 2, 0));
    assert_eq!(metrics, workspace.quorum(&["metrics", "--json"]).exits(0).json());
    workspace.quorum(&["metrics"]).exits(0).shows(&["1 of 2 passed, average 70 of 100 (40 to 100)"]);
}
