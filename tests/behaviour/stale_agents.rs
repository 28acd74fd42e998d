//! Agents that fall silent: a warning, and an end only where somebody set the threshold for them.

use serde_json::{Value, json};

use crate::support::{Mission, Workspace, attempts, standing, task};

fn stale(workspace: &Workspace) -> Vec<Value> {
    let events = workspace.events().into_iter();
    events.filter(|event| event["event"] == "agent:stale").collect()
}

#[test]
fn an_agent_with_a_threshold_of_its_own_is_killed_after_twice_that() {
    let workspace = Mission::new()
        .agent_with(
            "worker",
            json!({
                "run": "echo $$ > pid; echo began; sleep 60 & wait",
                "staleThreshold": "300ms",
            }),
        )
        .setting("evaluate", false)
        .setting("maxRetries", 0)
        .tasks(["work"])
        .workspace();
    let document = workspace.run_json(3, &[]);
    let failure = &task(&document, "work")["failure"];
    assert_eq!((&failure["mode"], &failure["class"]), (&json!("timeout"), &json!("timeout")));
    assert!(failure["message"].as_str().unwrap().contains("without a word"), "{failure}");
    let stale = stale(&workspace);
    let last = stale.last().unwrap();
    assert_eq!((&last["action"], &last["agentName"]), (&json!("kill"), &json!("worker")));
    assert!(last["idleMs"].as_u64().unwrap() >= 600);
    let agent = crate::support::read_pid(&workspace.path("pid"));
    assert!(!crate::support::is_alive(agent));
}

#[test]
fn others_are_warned_about_and_work_on() {
    // It prints once, at its end: it is working, not stale.
    let workspace = Mission::new()
        .worker("while [ ! -e go ]; do sleep 0.01; done; echo worked")
        .setting("evaluate", false)
        .setting("staleThreshold", "50ms")
        .tasks(["work"])
        .workspace();
    let running = workspace.start(&["run", "mission.yaml", "--json"]);
    crate::support::wait_for("the warning", || {
        workspace.exists(".polpo/runs")
            && workspace.quorum(&["events", "--format", "jsonl"]).stdout.contains("agent:stale")
    });
    workspace.write("go", "");
    let document = running.finish().exits(0).json();
    assert_eq!(standing(&document, "work").0, "done");
    let stale = stale(&workspace);
    assert_eq!((stale.len(), &stale[0]["action"]), (1, &json!("warning")));
}

#[test]
fn what_an_agent_prints_is_a_sign_of_life() {
    for to in ["", " >&2"] {
        let workspace = Mission::new()
            .worker(format!("for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do echo $n{to}; sleep 0.2; done"))
            .setting("evaluate", false)
            .setting("maxRetries", 0)
            .task("work", |t| t.set("staleThreshold", "1s"))
            .workspace();
        let document = workspace.run_json(0, &[]);
        assert_eq!(attempts(&document, "work"), ["execute"]);
        assert!(stale(&workspace).is_empty());
    }
}

#[test]
fn a_word_of_progress_is_a_sign_of_life() {
    let quorum = crate::support::BINARY;
    let workspace = Workspace::new();
    workspace.write(
        "worker.sh",
        format!(
            "for n in 1 2 3 4 5 6 7 8 9 10 11 12; do {quorum} progress \"$n\"; sleep 0.2; done; echo worked\n"
        ),
    );
    Mission::new()
        .agent_with("worker", json!({"run": ["/bin/sh", "worker.sh"]}))
        .setting("evaluate", false)
        .task("work", |t| t.set("staleThreshold", "1s"))
        .write(&workspace);
    let document = workspace.run_json(0, &[]);
    assert_eq!(attempts(&document, "work"), ["execute"]);
}
