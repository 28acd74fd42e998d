//! `quorum events --format jsonl`, and what every journal must show.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::events::{assert_lawful, is};
use crate::support::{Mission, Workspace, wait_for_file};

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
