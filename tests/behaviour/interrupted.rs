//! Runs that were stopped: by signals, by the time limit, by SIGKILL; and what `resume` makes of them.

use std::time::{Duration, Instant};

use rustix::process::{Signal, kill_process};
use serde_json::json;
use wiremock::matchers::path;
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::support::events::is;
use crate::support::journal;
use crate::support::{
    AtTerminal, Has, Mission, Running, Workspace, attempts, gate, is_alive, parent, read_pid, standing, task,
    wait_for, wait_for_file,
};

/// `quick` is done and `slow` works until the file `go` is there.
fn slow() -> Mission {
    Mission::new()
        .agent_with("quick", json!({"run": ["/bin/sh", "@agents/logger.sh", "log"]}))
        .agent(
            "slow",
            "echo \"$QUORUM_TASK $QUORUM_ATTEMPT $QUORUM_TURN\" >> log\n\
echo $$ > slow.pid\n\
while [ ! -e go ]; do sleep 0.02; done\n\
echo slowly done",
        )
        .tasks(["quick"])
        .task("slow", |t| t.by("slow").needs("quick"))
        .task("last", |t| t.needs("slow"))
}

fn start_slow(workspace: &Workspace) -> Running {
    let running = workspace.start(&["run", "mission.yaml", "--json"]);
    wait_for_file(&workspace.path("slow.pid"));
    running
}

/// How the turns of `slow` begin: `[1]` if the first one was taken over, `[1, 2]` if it was lost.
fn assert_resumes_to_the_end(workspace: &Workspace, turns: &[u32]) {
    workspace.write("go", "");
    let document = workspace.resume_json(0, &[]);
    document.has(json!({"state": "ended", "counts": {"done": 3}}));
    // A lost turn is a new turn of the same attempt.
    assert_eq!(attempts(&document, "slow"), ["execute"]);
    let mut log = vec!["quick 1 1".to_owned()];
    log.extend(turns.iter().map(|turn| format!("slow 1 {turn}")));
    log.push("last 1 1".to_owned());
    assert_eq!(workspace.lines("log"), log);
}

#[test]
fn a_signal_ends_the_run_that_whoever_started_it_held_back() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 143)] {
        for arguments in [&["run", "mission.yaml"][..], &["resume"]] {
            let workspace = slow().workspace();
            if arguments == ["resume"] {
                let running = start_slow(&workspace);
                running.signal(Signal::TERM);
                running.finish().exits(143);
                std::fs::remove_file(workspace.path("slow.pid")).expect("it is there");
            }
            let mut command = workspace.other_command("env");
            command.args(["--block-signal", crate::support::BINARY]).args(arguments);
            let running = Running::start(command);
            wait_for_file(&workspace.path("slow.pid"));
            running.signal(signal);
            running.finish().exits(code);
        }
    }
}

#[test]
fn false_green_16_a_signal_ends_the_run_as_interrupted_and_resumable() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let workspace = slow().workspace();
        let running = start_slow(&workspace);
        let agent = read_pid(&workspace.path("slow.pid"));
        running.signal(signal);
        let document = running.finish().exits(code).json();
        wait_for("the end of the agent", || !is_alive(agent));
        assert_eq!(document["outcome"], "interrupted");
        assert_eq!(document["exitCode"], code);
        document.has(json!({"state": "suspended", "resumable": true}));
        assert_eq!(standing(&document, "quick").0, "done");
        assert_ne!(standing(&document, "slow").0, "done");
        assert_ne!(standing(&document, "slow").0, "failed");
        assert_eq!(standing(&document, "last").0, "pending");

        let status = workspace.status();
        assert_eq!((&status["state"], &status["resumable"]), (&json!("suspended"), &json!(true)));
        workspace.quorum(&["status", "--exit-code"]).exits(code);
        assert_resumes_to_the_end(&workspace, &[1, 2]);
    }
}

#[test]
fn a_signal_does_not_wait_for_a_turn_whose_request_is_to_be_repeated() {
    // The server lives on a thread of its own; only asking it needs a runtime.
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime can be made");
    let server = runtime.block_on(async {
        let server = MockServer::start().await;
        let busy = ResponseTemplate::new(503).insert_header("retry-after", "20");
        Mock::given(path("/api/chat")).respond_with(busy).mount(&server).await;
        server
    });
    let workspace = Mission::new()
        .agent_with("w", json!({"adapter": "ollama", "baseUrl": server.uri(), "model": "m"}))
        .setting("evaluate", false)
        .tasks(["work"])
        .workspace();
    let running = workspace.start(&["run", "mission.yaml"]);
    wait_for("the first request", || {
        runtime.block_on(server.received_requests()).is_some_and(|asked| !asked.is_empty())
    });
    std::thread::sleep(Duration::from_millis(500));
    let begin = Instant::now();
    running.signal(Signal::TERM);
    running.finish().exits(143);
    assert!(begin.elapsed() < Duration::from_secs(15), "it waited for the pause");
    assert_eq!(workspace.status()["resumable"], true);
}

#[test]
fn false_green_16_a_second_signal_does_not_wait_for_an_agent_that_will_not_go() {
    let workspace = Mission::new()
        .agent_with("worker", json!({"run": ["/bin/sh", "@agents/stubborn.sh", "{workspace}"]}))
        .tasks(["work"])
        .workspace();
    let running = workspace.start(&["run", "mission.yaml"]);
    let pids = ["agent.pid", "escaped.pid"].map(|name| read_pid(&workspace.path(name)));
    running.signal(Signal::INT);
    running.signal(Signal::INT);
    running.finish().exits(130);
    for pid in pids {
        wait_for("the end of all it started", || !is_alive(pid));
    }
}

#[test]
fn false_green_16_a_closed_terminal_ends_the_run_as_interrupted_and_resumable() {
    for progress in ["bar", "plain"] {
        let workspace = slow().workspace();
        let mut command = workspace.command(&["run", "mission.yaml", "--progress", progress]);
        command.env("TERM", "xterm");
        let running = AtTerminal::start(command);
        let agent = read_pid(&workspace.path("slow.pid"));
        assert_eq!(running.close(), Some(143));
        wait_for("the end of the agent", || !is_alive(agent));
        let status = workspace.status();
        status.has(json!({"state": "suspended", "resumable": true, "outcome": "interrupted"}));
        assert_resumes_to_the_end(&workspace, &[1, 2]);
    }
}

#[test]
fn a_run_that_shall_survive_its_terminal_does() {
    let workspace = slow().workspace();
    let mut command = workspace.other_command("/bin/sh");
    command.args(["-c", r#"trap '' HUP; exec "$0" run mission.yaml --json"#]);
    command.arg(env!("CARGO_BIN_EXE_quorum"));
    let running = Running::start(command);
    let agent = read_pid(&workspace.path("slow.pid"));
    running.signal(Signal::HUP);
    // Behind the signal in the same queue.
    workspace.quorum(&["pause"]).exits(0);
    assert!(is_alive(agent));
    workspace.write("go", "");
    let document = running.finish().exits(8).json();
    assert_eq!(standing(&document, "slow").0, "done");
}

#[test]
fn false_green_16_a_killed_run_is_crashed_and_resumable_and_not_a_success() {
    let workspace = slow().workspace();
    start_slow(&workspace).kill();
    let status = workspace.status();
    status.has(json!({
        "state": "crashed", "resumable": true, "live": false, "outcome": null, "exitCode": null,
    }));
    let code = workspace.quorum(&["status", "--exit-code"]).code();
    assert_ne!(code, Some(0));
    assert_resumes_to_the_end(&workspace, &[1]);
}

#[test]
fn resume_ends_what_a_session_killed_with_its_supervisor_left_running() {
    // It does not mind being told.
    let workspace = Mission::new()
        .worker(
            "trap '' TERM HUP\n\
            echo $$ > \"pid.$QUORUM_TURN\"\n\
            n=0\n\
            while [ ! -e go ] && [ $n -lt 1500 ]; do sleep 0.02; n=$((n + 1)); done\n\
            echo \"$QUORUM_TURN\" >> finished\n",
        )
        .tasks(["work"])
        .workspace();
    let running = workspace.start(&["run", "mission.yaml"]);
    let first = read_pid(&workspace.path("pid.1"));
    let supervisor = parent(first);
    running.kill();
    kill_process(supervisor, Signal::KILL).unwrap();
    wait_for("the end of the supervisor", || !is_alive(supervisor));
    let resumed = workspace.start(&["resume", "--json"]);
    wait_for_file(&workspace.path("pid.2"));
    let both = is_alive(first);
    workspace.write("go", "");
    let document = resumed.finish().exits(0).json();
    assert!(!both, "the worker of the lost turn was still at work");
    assert_eq!(standing(&document, "work").0, "done");
    assert_eq!(workspace.lines("finished"), ["2"]);
}

#[test]
fn a_run_that_was_killed_before_its_first_record_leaves_its_id_free() {
    // Found by `torture::life`, seed 8: nobody could resume it, and nobody could start it again.
    let first_words: [(&str, Option<&str>); 3] =
        [("no", None), ("empty", Some("")), ("torn", Some(journal::TORN))];
    for (name, journal) in first_words {
        let workspace = slow().workspace();
        workspace.write("go", "");
        workspace.write(".polpo/runs/r1/mission.yaml", "name: half a missi");
        if let Some(text) = journal {
            workspace.write(&journal::of("r1"), text);
        }
        let document = workspace.run_json(0, &["--run-id", "r1"]);
        assert_eq!(document["runId"], "r1", "{name} journal");
        // Now it has begun, and its id is taken.
        workspace.quorum(&["run", "mission.yaml", "--run-id", "r1"]).exits(9).says(&["r1", "exists"]);
        assert_eq!(workspace.lines("log").len(), 3);
    }
}

#[test]
fn a_live_run_is_running_and_not_resumed_twice() {
    let workspace = slow().workspace();
    let running = start_slow(&workspace);
    let status = workspace.status();
    assert_eq!((&status["state"], &status["live"]), (&json!("running"), &json!(true)));
    assert_eq!(standing(&status, "slow").0, "in_progress");
    let pid = running.pid().as_raw_nonzero().to_string();
    workspace.quorum(&["resume"]).exits(9).says(&[&pid, "process"]);
    workspace.write("go", "");
    running.finish().exits(0);
    assert_eq!(workspace.lines("log").len(), 3);
}

#[test]
fn false_green_15_resume_ends_with_the_outcome_of_the_whole_run() {
    // One task has failed before the interrupt; what is resumed succeeds.
    let workspace = Mission::new()
        .agent("breaker", "exit 1")
        .agent("slow", "echo > started; while [ ! -e go ]; do sleep 0.02; done")
        .setting("concurrency", 1)
        .task("broken", |t| t.attempts(1))
        .task("slow", |t| t.by("slow"))
        .workspace();
    let running = workspace.start(&["run", "mission.yaml"]);
    wait_for_file(&workspace.path("started"));
    running.signal(Signal::INT);
    running.finish().exits(130);
    workspace.write("go", "");
    let document = workspace.resume_json(3, &[]);
    assert_eq!(standing(&document, "slow").0, "done");
    assert_eq!(document["outcome"], "task_failed");
    // Asked again, it says the same.
    workspace.resume_json(3, &[]);
    workspace.quorum(&["status", "--exit-code"]).exits(3);
}

#[test]
fn false_green_15_resume_fails_when_the_resumed_task_fails() {
    let workspace = Mission::new()
        .worker("echo > started; while [ ! -e go ]; do sleep 0.02; done; exit 4")
        .task("work", |t| t.attempts(1))
        .workspace();
    workspace.kill_at(&["run", "mission.yaml"], "started");
    workspace.write("go", "");
    let document = workspace.resume_json(3, &[]);
    assert_eq!(standing(&document, "work"), ("failed", ""));
}

#[test]
fn false_green_17_a_time_limit_suspends_the_run_and_resume_finishes_it() {
    let workspace = slow().workspace();
    let document = workspace.run_json(7, &["--timeout", "1500ms"]);
    document.has(json!({"outcome": "limit", "state": "suspended", "resumable": true}));
    assert_eq!(standing(&document, "quick").0, "done");
    assert_eq!(standing(&document, "last").0, "pending");
    workspace.write("go", "");
    let document = workspace.resume_json(0, &["--timeout", "1m"]);
    document.has(json!({"counts": {"done": 3}, "conditions": ["ok"]}));
}

#[test]
fn a_time_limit_does_not_wait_for_a_judge_that_hangs() {
    let workspace = Mission::new()
        .agent_with("worker", json!({"run": ["/bin/sh", "@agents/logger.sh", "log"]}))
        .reviewer("judge", r#"trap "" TERM; while [ ! -e go ]; do sleep 0.02; done; echo SCORE: 90"#)
        .tasks(["work"])
        .workspace();
    let begin = Instant::now();
    let document = workspace.run_json(7, &["--timeout", "500ms"]);
    assert!(begin.elapsed() < Duration::from_secs(20));
    assert_eq!(document["state"], "suspended");
    workspace.write("go", "");
    let document = workspace.resume_json(0, &["--timeout", "1m"]);
    assert_eq!(standing(&document, "work"), ("done", "clean"));
    assert_eq!(workspace.lines("log"), ["work 1 1"]);
}

#[test]
fn judging_that_was_interrupted_is_done_again() {
    let workspace = Mission::new()
        .agent_with("worker", json!({"run": ["/bin/sh", "@agents/logger.sh", "log"]}))
        .judge("first", &[])
        .reviewer("second", "echo asked >> asked; while [ ! -e go ]; do sleep 0.02; done; cat first/reply.1")
        .setting("baseline", false)
        .task("work", |t| {
            t.expects(json!({"type": "script", "command": "echo checked >> checked"})).expects(json!({
                "type": "llm_review",
                "reviewers": ["first", "second"],
                "dimensions": [{"name": "depth", "weight": 1}],
            }))
        })
        .workspace();
    workspace
        .judge("first", &[r#"{"scores": {"depth": {"reasoning": "deep", "score": 4}}, "findings": []}"#]);
    let running = workspace.start(&["run", "mission.yaml"]);
    wait_for_file(&workspace.path("asked"));
    let replied = || workspace.events().iter().any(|event| is(event, "work:ended score ok"));
    wait_for("the first reply on record", replied);
    running.kill();
    assert_eq!(standing(&workspace.status(), "work").0, "review");

    workspace.write("go", "");
    let document = workspace.resume_json(0, &[]);
    assert_eq!(task(&document, "work")["points"], 80.0);
    assert_eq!(attempts(&document, "work"), ["execute"]);
    // What is on record counts; only the lost call is made again.
    assert_eq!(workspace.lines("log"), ["work 1 1"]);
    assert_eq!(workspace.calls("first"), 1);
    assert_eq!(workspace.lines("asked").len(), 2);
    assert_eq!(workspace.lines("checked").len(), 1);
}

/// `poor` ends below the gate's bar unless the judge gives more.
fn gated() -> Mission {
    Mission::new()
        .key(
            "qualityGates",
            json!([{"name": "door", "afterTasks": ["poor"], "blocksTasks": ["next"], "minScore": 4}]),
        )
        .agent_with("worker", json!({"run": ["/bin/sh", "@agents/logger.sh", "log"]}))
        .judge("judge", &[])
        .tasks(["poor"])
        .task("next", |t| t.unreviewed())
}

#[test]
fn false_green_13_a_failed_gate_stays_failed_after_a_restart() {
    let workspace = gated().workspace();
    // From now on the judge would be kinder: nobody may ask it again.
    workspace.judge("judge", &["SCORE: 79", "SCORE: 100"]);
    let document = workspace.run_json(4, &[]);
    assert_eq!(gate(&document, "door")["state"], "failed");
    assert_eq!(document["resumable"], true);
    for _ in 0..2 {
        workspace.quorum(&["gate", "door"]).exits(4);
        let document = workspace.resume_json(4, &[]);
        assert_eq!(gate(&document, "door")["state"], "failed");
        assert_eq!(standing(&document, "next"), ("pending", ""));
    }
    assert_eq!(workspace.lines("log"), ["poor 1 1"]);
    assert_eq!(workspace.calls("judge"), 1);
}

#[test]
fn false_green_13_a_passed_gate_stays_passed_and_is_not_evaluated_again() {
    let workspace = Mission::new()
        .agent_with("worker", json!({"run": ["/bin/sh", "@agents/logger.sh", "log"]}))
        .agent("slow", "echo > started; while [ ! -e go ]; do sleep 0.02; done")
        .judge("judge", &["SCORE: 90"])
        .key(
            "qualityGates",
            json!([
                {"name": "door", "afterTasks": ["good"], "blocksTasks": ["next"], "minScore": 4},
            ]),
        )
        .tasks(["good"])
        .task("next", |t| t.by("slow").unreviewed())
        .workspace();
    workspace.kill_at(&["run", "mission.yaml"], "started");
    workspace.quorum(&["gate", "door"]).exits(0);
    workspace.write("go", "");
    let document = workspace.resume_json(0, &[]);
    assert_eq!(gate(&document, "door")["state"], "passed");
    let passed = |event: &&serde_json::Value| event["event"] == "quality:gate:passed";
    assert_eq!(workspace.events().iter().filter(passed).count(), 1);
}

#[test]
fn false_green_14_a_gate_of_one_run_opens_nothing_in_the_next() {
    let workspace = gated().workspace();
    workspace.judge("judge", &["SCORE: 90", "SCORE: 61"]);
    let first = workspace.run_json(0, &["--run-id", "first"]);
    assert_eq!(gate(&first, "door")["state"], "passed");
    let second = workspace.run_json(4, &["--run-id", "second"]);
    assert_eq!(gate(&second, "door")["state"], "failed");
    assert_eq!(standing(&second, "next"), ("pending", ""));
    workspace.quorum(&["gate", "door", "--run", "first"]).exits(0);
    workspace.quorum(&["gate", "door", "--run", "second"]).exits(4);
    assert_eq!(workspace.lines("log"), ["poor 1 1", "next 1 1", "poor 1 1"]);
}
