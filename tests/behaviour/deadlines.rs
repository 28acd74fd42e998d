//! Deadlines: warnings and violations, said once over all sessions; they change the exit code only where they fail work.

use serde_json::json;

use crate::support::events::named;
use crate::support::{Mission, Says, Workspace, attempts, standing, task};

/// A task whose agent works until `go` is there, and whether a missed deadline fails it. The channels keep what they are told.
fn scene(fails: bool, task: &str) -> Workspace {
    let workspace = Workspace::new();
    workspace.write(
        "worker.sh",
        "echo $$ > \"$QUORUM_TASK.pid\"\nwhile [ ! -e go ]; do sleep 0.01; done\necho worked\n",
    );
    let mut channels = json!({"warningChannels": ["ops"], "violationChannels": ["ops", "boss"]});
    if fails {
        channels["violationAction"] = json!("fail");
    }
    let file = |path: &str| json!({"type": "file", "path": path});
    workspace.with_mission(
        Mission::new()
            .key("channels", json!({"ops": file("told.jsonl"), "boss": file("boss.jsonl")}))
            .agent_with("worker", json!({"run": ["/bin/sh", "worker.sh"]}))
            .setting("evaluate", false)
            .setting("sla", channels)
            .task("work", |t| t.with(task)),
    )
}

#[test]
fn a_missed_deadline_is_told_once_and_changes_no_exit_code() {
    // On a busy machine the session may not look for a while: between the warning and the deadline is more than half a second.
    let workspace = scene(false, "deadline: 3000");
    let running = workspace.start(&["run", "mission.yaml", "--json"]);
    crate::support::wait_for("the violation", || workspace.exists("boss.jsonl"));
    workspace.write("go", "");
    let document = running.finish().exits(0).json();
    assert_eq!(task(&document, "work")["deadline"]["status"], "violated");
    document["warnings"].as_array().unwrap()[0].says(&["'work' missed its deadline"]);
    let events = workspace.events();
    for (name, wanted) in [("sla:warning", 1), ("sla:violated", 1), ("sla:met", 0), ("quality:sla", 2)] {
        assert_eq!(named(&events, name).len(), wanted, "{name}");
    }
    let violated = named(&events, "sla:violated")[0];
    assert_eq!((&violated["entityType"], &violated["title"]), (&json!("task"), &json!("work")));
    assert!(violated["overdueMs"].as_u64().unwrap() > 0 && violated["percentUsed"].as_f64().unwrap() > 1.0);
    assert_eq!(named(&events, "quality:sla")[1]["status"], "violated");
    let told = workspace.lines("told.jsonl");
    assert!(told[0].contains("sla:warning") && told[1].contains("sla:violated"), "{told:?}");
    assert_eq!(workspace.lines("boss.jsonl").len(), 1);
    let metrics = workspace.quorum(&["metrics", "--json"]).exits(0).json();
    assert_eq!(metrics["tasks"][0]["deadlinesMissed"], 1);
    assert_eq!(metrics["mission"]["deadlinesMet"], 0);
    // Another session says nothing anew.
    workspace.quorum(&["resume", "--redo", "work"]).exits(0);
    assert_eq!(named(&workspace.events(), "sla:violated").len(), 1);
}

#[test]
fn a_missed_deadline_that_fails_kills_the_agent_and_retries_nothing() {
    let workspace = scene(true, "deadline: 100, maxRetries: 3");
    let document = workspace.run_json(3, &[]);
    assert_eq!(standing(&document, "work").0, "failed");
    let failure = &task(&document, "work")["failure"];
    assert_eq!((&failure["mode"], &failure["class"]), (&json!("deadline"), &json!(null)));
    assert_eq!(attempts(&document, "work").len(), 1);
    let agent = crate::support::read_pid(&workspace.path("work.pid"));
    assert!(!crate::support::is_alive(agent), "its process tree is gone");
}

#[test]
fn deadlines_that_are_met_are_counted() {
    let workspace = scene(false, "deadline: 1h").tap(|m| m.key("deadline", "2h"));
    workspace.write("go", "");
    let document = workspace.run_json(0, &[]);
    assert!(document["deadline"].as_str().unwrap().ends_with('Z'));
    assert_eq!(task(&document, "work")["deadline"]["status"], "met");
    let events = workspace.events();
    let met = named(&events, "sla:met");
    assert_eq!((&met[0]["entityType"], &met[1]["entityType"]), (&json!("task"), &json!("mission")));
    assert!(met[0]["marginMs"].as_u64().unwrap() > 3_000_000);
    let metrics = workspace.quorum(&["metrics", "--json"]).exits(0).json();
    assert_eq!(metrics["mission"]["deadlinesMet"], 2, "the task's and its own");
    assert_eq!(metrics["agents"][0]["deadlinesMet"], 1);
}

#[test]
fn a_moment_that_has_passed_is_said_once() {
    let workspace = scene(false, "deadline: '2020-01-31T18:00:00'");
    workspace.write("go", "");
    workspace.run_json(0, &[]);
    let events = workspace.events();
    let violated = named(&events, "sla:violated");
    assert_eq!(violated[0]["deadline"], "2020-01-31T18:00:00.000Z", "no zone is UTC");
    assert_eq!((violated.len(), events.count("sla:warning")), (1, 0));
}
