//! What is in the way before any work starts: another writer, an unfinished run, a taken id, a missing program.

use std::fs::File;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::Signal;

use serde_json::json;

use crate::support::{Has, Mission, Running, Workspace, standing, task, wait_for_file};

const WAITS: &str = "
name: waits
agents:
  worker: {run: 'echo > started; while [ ! -e go ]; do sleep 0.02; done'}
tasks:
  - {title: first, maxAttempts: 1}
  - {title: second, dependsOn: [first]}
";

fn start_waiting(workspace: &Workspace) -> Running {
    let running = workspace.start(&["run", "mission.yaml", "--run-id", "older"]);
    wait_for_file(&workspace.path("started"));
    running
}

fn interrupt(workspace: &Workspace) {
    let running = start_waiting(workspace);
    running.signal(Signal::INT);
    running.finish().exits(130);
}

#[test]
fn a_missing_program_is_found_before_anything_starts() {
    let workspace = Mission::new()
        .agent("here", "touch touched")
        .agent_with("gone", json!({"run": ["no-such-program-anywhere", "{task}"]}))
        .tasks(["one"])
        .task("two", |t| t.by("gone").needs("one"))
        .workspace();
    workspace.quorum(&["run", "mission.yaml"]).exits(9).says(&["gone", "no-such-program-anywhere"]);
    workspace.assert_nothing_started();
}

#[test]
fn a_missing_judge_is_found_before_anything_starts() {
    let workspace = Mission::new()
        .agent("here", "touch touched")
        .agent_with("judge", json!({"run": ["./judge.sh"], "role": "qa"}))
        .tasks(["one"])
        .workspace();
    workspace.quorum(&["run", "mission.yaml"]).exits(9).says(&["judge", "judge.sh"]);
    workspace.assert_nothing_started();
    // Where nobody would ask it, it is not missed.
    let document = workspace.run_json(0, &["--no-eval"]);
    assert_eq!(standing(&document, "one"), ("done", "unreviewed"));
}

#[test]
fn a_file_that_cannot_be_executed_is_not_a_program() {
    let workspace =
        Mission::new().agent_with("worker", json!({"run": ["./worker.sh"]})).tasks(["one"]).workspace();
    workspace.write("worker.sh", "#!/bin/sh\ntouch touched\n");
    workspace.quorum(&["run", "mission.yaml"]).exits(9).says(&["worker.sh"]);
    workspace.assert_nothing_started();
}

#[test]
fn a_second_writer_is_told_who_the_first_one_is() {
    let workspace = Workspace::with(WAITS);
    let running = start_waiting(&workspace);
    workspace.write("other.yaml", Mission::new().worker("touch touched").tasks(["elsewhere"]).yaml());
    let pid = running.pid().as_raw_nonzero().to_string();
    workspace.quorum(&["run", "other.yaml"]).exits(9).says(&[&pid, "lock", "held", "quorum run"]);
    assert!(!workspace.exists("touched"));
    assert_eq!(workspace.run_folders().len(), 1);
    // A state folder of its own is free.
    workspace.quorum(&["run", "other.yaml", "--state-dir", "elsewhere"]).exits(0);
    workspace.write("go", "");
    running.finish().exits(0);
}

#[test]
fn readers_never_keep_a_writer_out() {
    let workspace = Mission::new().worker("true").tasks(["one"]).workspace();
    workspace.run_json(0, &["--run-id", "r0"]);
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // What `status` does to see whether a run is live, as often as it can be done.
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                let _ = quorum::Lock::holder(&workspace.path(".polpo/lock"));
            }
        });
        let codes: Vec<_> = (1..=20)
            .map(|n| workspace.quorum(&["run", "mission.yaml", "--run-id", &format!("r{n}")]).code())
            .collect();
        over.store(true, Ordering::Relaxed);
        assert_eq!(codes, [Some(0); 20]);
    });
}

#[test]
fn an_unfinished_run_in_the_way_is_named_with_the_task() {
    let workspace = Workspace::with(WAITS);
    interrupt(&workspace);
    workspace.write("go", "");
    workspace.quorum(&["run", "mission.yaml"]).exits(9).says(&["older", "first", "resume", "--fresh"]);
    assert_eq!(workspace.run_folders().len(), 1);
    // Another mission without a title in common is not in the way.
    workspace.write("other.yaml", Mission::new().worker("true").tasks(["elsewhere"]).yaml());
    workspace.quorum(&["run", "other.yaml"]).exits(0);
    // One with only the last title in common is.
    workspace.write("other.yaml", Mission::new().worker("true").tasks(["new", "second"]).yaml());
    workspace.quorum(&["run", "other.yaml"]).exits(9).says(&["older", "second"]);
}

#[test]
fn a_crashed_run_is_in_the_way_too() {
    let workspace = Workspace::with(WAITS);
    start_waiting(&workspace).kill();
    workspace.write("go", "");
    workspace.quorum(&["run", "mission.yaml"]).exits(9).says(&["older", "first"]);
    workspace.resume_json(0, &[]);
    // Once it is finished its titles are free.
    workspace.run_json(0, &[]);
}

#[test]
fn fresh_cancels_just_what_is_in_the_way() {
    let workspace = Workspace::with(WAITS);
    interrupt(&workspace);
    workspace.write("go", "");
    let document = workspace.run_json(0, &["--fresh", "--yes", "--run-id", "younger"]);
    document.has(json!({"runId": "younger", "counts": {"done": 2}}));

    let older = workspace.status_of("older");
    older.has(json!({"state": "cancelled", "resumable": false, "exitCode": 3}));
    for title in ["first", "second"] {
        assert_eq!(standing(&older, title), ("failed", ""));
        assert_eq!(task(&older, title)["failure"]["mode"], "cancelled");
    }
    workspace.quorum(&["resume", "older"]).exits(3);
    workspace.quorum(&["status", "older", "--exit-code"]).exits(3);
}

#[test]
fn fresh_ends_the_agents_of_a_crashed_run() {
    let workspace = Mission::new()
        .worker("echo $$ > pid.$QUORUM_RUN_ID; test $QUORUM_RUN_ID = younger || sleep 60")
        .tasks(["work"])
        .workspace();
    let running = workspace.start(&["run", "mission.yaml", "--run-id", "older"]);
    let agent = crate::support::read_pid(&workspace.path("pid.older"));
    running.kill();
    workspace.run_json(0, &["--fresh", "--yes", "--run-id", "younger"]);
    assert!(!crate::support::is_alive(agent));
}

#[test]
fn a_run_id_that_is_taken_is_refused() {
    let workspace = Mission::new().worker("echo x >> log").tasks(["one"]).workspace();
    workspace.run_json(0, &["--run-id", "mine"]);
    workspace.quorum(&["run", "mission.yaml", "--run-id", "mine"]).exits(9).says(&["mine", "exists"]);
    assert_eq!(workspace.lines("log").len(), 1);
    for bad in ["", "..", "a/b", "../out", "a b"] {
        workspace.quorum(&["run", "mission.yaml", "--run-id", bad]).exits(2);
    }
    assert_eq!(workspace.run_folders().len(), 1);
}

#[test]
fn a_mission_that_was_edited_is_not_resumed() {
    let workspace = Workspace::with(WAITS);
    interrupt(&workspace);
    workspace.write("go", "");
    workspace.mission(&WAITS.replace("name: waits", "name: changed"));
    workspace.quorum(&["resume"]).exits(2).says(&["mission.yaml", "changed", "older"]);
    workspace.mission(WAITS);
    workspace.resume_json(0, &[]);
}

#[test]
fn commands_say_what_is_not_there() {
    let workspace = Workspace::new();
    for command in [&["status"][..], &["resume"], &["gate"], &["events"]] {
        workspace.quorum(command).exits(2).says(&["no run"]);
    }
    assert!(!workspace.exists(".polpo"), "looking makes nothing");
    Mission::new().worker("true").tasks(["one"]).write(&workspace);
    workspace.run_json(0, &["--run-id", "only"]);
    workspace.quorum(&["status", "other"]).exits(2).says(&["other", "only"]);
    workspace.quorum(&["resume", "other"]).exits(2).says(&["other", "only"]);
    workspace.quorum(&["gate"]).exits(2).says(&["no gates"]);
}

#[test]
fn a_second_run_waits_for_the_first_and_says_for_whom() {
    let workspace = Workspace::with(WAITS);
    let second = WAITS.replace("echo > started; while [ ! -e go ]; do sleep 0.02; done", "echo done");
    workspace.write("second.yaml", second.replace("first", "third").replace("second", "fourth"));
    let first = start_waiting(&workspace);
    workspace.quorum(&["run", "second.yaml", "--run-id", "r2"]).exits(9);
    let refused = workspace.quorum(&["run", "second.yaml", "--run-id", "r2", "--wait", "300ms"]).exits(9);
    assert!(refused.stderr.contains("note: waits for run older (process "), "{}", refused.stderr);
    assert!(!workspace.exists(".polpo/runs/r2"));
    let mut command = workspace.command(&["run", "second.yaml", "--run-id", "r2", "--wait"]);
    command.stderr(File::create(workspace.path("waits")).unwrap()).stdout(Stdio::null());
    let mut waits = command.spawn().unwrap();
    wait_for_file(&workspace.path("waits"));
    workspace.write("go", "");
    first.finish().exits(0);
    assert!(waits.wait().unwrap().success());
    assert_eq!(workspace.status()["runId"], "r2");
    assert!(workspace.read("waits").starts_with("note: waits for run older (process "));
}
