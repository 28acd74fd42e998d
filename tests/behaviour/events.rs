//! `quorum events --format jsonl`, and what every journal must show.

use std::collections::HashMap;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::events::{assert_work_is_whole, is};
use crate::support::{Mission, Workspace, wait_for_file};

/// The table of the life cycle (semantics, section 5). Written down again on purpose.
const LEGAL: [(&str, &[&str]); 7] = [
    ("pending", &["assigned", "awaiting_approval", "failed"]),
    ("awaiting_approval", &["assigned", "in_progress", "pending", "review", "failed"]),
    ("assigned", &["in_progress", "pending", "failed"]),
    ("in_progress", &["review", "awaiting_approval", "pending", "failed"]),
    ("review", &["done", "in_progress", "pending", "awaiting_approval", "failed"]),
    ("done", &["pending"]),
    ("failed", &["pending"]),
];

/// Every task goes from state to state as the table allows; sequence numbers never decrease; each session ends with
/// `run:finished`, unless it was killed.
pub fn assert_lawful(events: &[Value], killed: bool) {
    assert_legal_steps(events);
    let mut finished = true;
    for event in events {
        let name = event["event"].as_str().expect("every event has a name");
        match name {
            "run:started" | "run:resumed" => {
                assert!(finished || killed, "a session did not end before {event}");
                finished = false;
            }
            "run:finished" => finished = true,
            _ => assert!(!finished, "{name} outside of a session"),
        }
    }
    assert!(finished || killed, "the last session has no end");
}

/// Every task goes from state to state as the table allows; sequence numbers never decrease; work has a beginning and at
/// most one end.
pub fn assert_legal_steps(events: &[Value]) {
    assert_work_is_whole(events);
    let mut states: HashMap<&str, &str> = HashMap::new();
    let mut last_seq = 0;
    for event in events {
        let seq = event["seq"].as_u64().expect("every event has a number");
        assert!(seq >= last_seq, "{seq} after {last_seq}");
        last_seq = seq;
        assert!(event["at"].is_string() && event["runId"].is_string(), "{event}");
        if event["event"] == "task:transition" {
            let text = |key: &str| event[key].as_str().expect("a transition says from where to where");
            let (task, from, to) = (text("taskId"), text("from"), text("to"));
            let before = states.insert(task, to).unwrap_or("pending");
            assert_eq!(before, from, "{event}");
            let (_, allowed) = LEGAL.iter().find(|(state, _)| *state == from).expect("a known state");
            assert!(allowed.contains(&to), "{from} may not become {to}");
        }
    }
}

fn names(events: &[Value]) -> Vec<&str> {
    events.iter().filter_map(|event| event["event"].as_str()).collect()
}

#[test]
fn a_run_with_everything_in_it_is_lawful_and_told_by_its_public_names() {
    let workspace = Mission::new()
        .worker("echo work")
        .agent("breaker", "exit 1")
        .agent("slow", "sleep 60")
        .judge("judge", &["SCORE: 10", "SCORE: 11"])
        .agent("mute", "true")
        .key("qualityThreshold", 95)
        .key("qualityGates", json!([
            {"name": "open", "afterTasks": ["reworked"], "blocksTasks": ["behind"]},
            {"name": "shut", "afterTasks": ["broken"], "blocksTasks": ["behind"], "requireAllPassed": true},
        ]))
        .setting("concurrency", 2)
        .task("reworked", |t| t.set("review", "required").check("true").expects(json!({"type": "file_exists", "paths": ["mission.yaml"]})))
        .task("broken", |t| t.by("breaker").attempts(2))
        .task("late", |t| t.by("slow").set("maxDuration", 200).attempts(1))
        .task("after", |t| t.needs("broken"))
        .task("referred", |t| t.attempts(1).expects(json!({"type": "llm_review", "criteria": "x", "reviewers": ["mute"]})))
        .task("behind", |t| t.unreviewed())
        .workspace();
    workspace.run_json(3, &[]);
    let events = workspace.events();
    assert_lawful(&events, false);
    let names = names(&events);
    for name in [
        "run:started",
        "task:created",
        "task:transition",
        "work:started turn",
        "agent:spawned",
        "work:ended turn !lost",
        "work:ended check",
        "work:requested score",
        "work:ended score ok",
        "stage:verdict",
        "assessment:complete",
        "task:fix",
        "task:retry",
        "task:timeout",
        "task.forceAccept",
        "approval:requested",
        "deadlock:unresolvable",
        "quality:gate:failed",
        "run:finished",
    ] {
        assert!(events.iter().any(|event| is(event, name)), "{name} is not in {names:?}");
    }
    assert_eq!(names.last(), Some(&"run:finished"));
    let created = events.iter().filter(|event| event["event"] == "task:created");
    assert_eq!(created.count(), 6);
}

#[test]
fn the_last_event_of_every_session_is_its_end() {
    let workspace = Mission::new()
        .worker("echo $QUORUM_TURN > turn; while [ ! -e go ]; do sleep 0.02; done")
        .tasks(["one"])
        .task("two", |t| t.needs("one"))
        .workspace();
    let mut sessions = 0;
    for (command, signal) in [(&["run", "mission.yaml"][..], Signal::INT), (&["resume"], Signal::TERM)] {
        let running = workspace.start(command);
        wait_for_file(&workspace.path("turn"));
        running.signal(signal);
        running.finish();
        sessions += 1;
        let events = workspace.events();
        assert_lawful(&events, false);
        assert_eq!(names(&events).last(), Some(&"run:finished"));
        assert_eq!(names(&events).iter().filter(|name| **name == "run:finished").count(), sessions);
        std::fs::remove_file(workspace.path("turn")).unwrap();
    }
    workspace.write("go", "");
    workspace.resume_json(0, &[]);
    let events = workspace.events();
    assert_lawful(&events, false);
    let ends: Vec<_> = events.iter().filter(|event| event["event"] == "run:finished").collect();
    let codes: Vec<_> = ends.iter().map(|event| event["exitCode"].as_u64().unwrap()).collect();
    assert_eq!(codes, [130, 143, 0]);
}

#[test]
fn followed_events_end_with_the_session_and_miss_nothing() {
    let workspace = Mission::new()
        .worker("echo > started; while [ ! -e go ]; do sleep 0.02; done")
        .tasks(["one", "two"])
        .workspace();
    let running = workspace.start(&["run", "mission.yaml", "-j", "1"]);
    wait_for_file(&workspace.path("started"));
    let follower = workspace.start(&["events", "--follow", "--format", "jsonl"]);
    workspace.write("go", "");
    running.finish().exits(0);
    let followed = follower.finish().exits(0);
    let told = workspace.quorum(&["events", "--format", "jsonl"]).exits(0);
    assert_eq!(followed.stdout, told.stdout);
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let workspace = Workspace::with(&format!(
        "name: many\nagents: {{worker: {{run: 'true', input: none}}}}\ntasks: [{}]\n",
        (0..200).map(|n| format!("{{title: t{n}}}")).collect::<Vec<_>>().join(", ")
    ));
    workspace.run_json(0, &[]);
    for command in ["events", "status --json", "events --format jsonl"] {
        let script = format!("\"$0\" {command} | head -c 10 > /dev/null; exit ${{PIPESTATUS[0]}}");
        let finished = workspace.bash(&script).exits(0);
        assert_eq!(finished.stderr, "", "{command}");
    }
}
