//! Work that is handed down while its runner is killed: nothing twice, nothing lost.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::support::events::on_record;
use crate::support::{
    BINARY, Mission, Workspace, attempts, is_alive, parent, read_pid, standing, task, wait_for, wait_for_file,
};

/// A lead that hands two tasks down, a worker that does them, and what waits for all of it. Everybody notes each turn.
fn handed_down(lead: &str, check: &str, worker: &str) -> Workspace {
    let workspace = Mission::new()
        .agent_with("lead", json!({"run": ["/bin/sh", "lead.sh"]}))
        .agent_with("worker", json!({"run": ["/bin/sh", "worker.sh"]}))
        .setting("baseline", false)
        .task("plan", |t| t.unreviewed().expects(json!({"type": "script", "command": check})))
        .task("ship", |t| t.by("worker").needs("plan").unreviewed())
        .workspace();
    let script = |what: &str| {
        format!("echo \"$QUORUM_TASK $QUORUM_ATTEMPT $QUORUM_TURN\" >> log\n{what}\n")
            .replace("@quorum", BINARY)
    };
    // As a reviewer of what it handed down it is content.
    let review = "if [ -n \"$QUORUM_REVIEW_FILE\" ]; then echo 'SCORE: 90'; exit; fi\n";
    workspace.write("lead.sh", format!("{review}{}", script(lead)));
    workspace.write("worker.sh", script(worker));
    workspace
}

const DELEGATE: &str = "@quorum delegate one --to worker
echo '{\"title\": \"two\", \"assignTo\": \"worker\", \"dependsOn\": [\"one\"]}' | @quorum delegate -";
/// A script that says that it is there and stays until it may go.
const STAY: &str = "echo $$ > there; while ! test -e go; do sleep 0.02; done";

/// The resumed run ends well, everything was handed down once, and these turns were started.
fn assert_once(workspace: &Workspace, log: &[&str]) {
    let document = workspace.resume_json(0, &[]);
    assert_eq!(document["counts"]["total"], 4, "{document:#}");
    assert_eq!(task(&document, "ship")["dependsOn"], json!(["plan", "one", "two"]),);
    for title in ["plan", "one", "two", "ship"] {
        assert_eq!(standing(&document, title).0, "done", "{title}");
        assert_eq!(attempts(&document, title), ["execute"], "{title}");
    }
    assert_eq!(workspace.lines("log"), log);
    let events = workspace.events();
    let of = |name: &str| -> Vec<&Value> { events.iter().filter(|event| event["event"] == name).collect() };
    assert_eq!(of("tasks:added").len(), 1);
    assert_eq!(of("delegation:refused").len(), 0);
    assert_eq!(of("task:created").len(), 4);
}

fn run_until_there(workspace: &Workspace) -> crate::support::Running {
    let running = workspace.start(&["run", "mission.yaml", "--run-id", "r1", "--json"]);
    wait_for_file(&workspace.path("there"));
    running
}

/// Everything dies at once, as when the power fails.
fn kill_all(workspace: &Workspace, running: crate::support::Running) {
    let agent: Pid = read_pid(&workspace.path("there"));
    let supervisor = parent(agent);
    for process in [running.pid(), supervisor, agent] {
        let _ = kill_process(process, Signal::KILL);
    }
    running.kill();
    wait_for("the end of all", || !is_alive(agent) && !is_alive(supervisor));
}

#[test]
fn a_kill_between_the_request_and_the_end_of_the_task() {
    let workspace = handed_down(DELEGATE, &STAY.replace("$$", "yes"), "true");
    let running = run_until_there(&workspace);
    wait_for("the request on record", || on_record(&workspace, "delegation:requested") == 1);
    running.kill();
    assert_eq!(workspace.status()["counts"]["total"], 2);
    workspace.write("go", "");
    assert_once(&workspace, &["plan 1 1", "one 1 1", "two 1 1", "ship 1 1"]);
}

#[test]
fn a_kill_while_it_is_still_at_work() {
    let workspace = handed_down(&format!("{DELEGATE}\n{STAY}"), "true", "true");
    let running = run_until_there(&workspace);
    wait_for("the agent on record", || on_record(&workspace, "agent:spawned") == 1);
    let agent = read_pid(&workspace.path("there"));
    running.kill();
    // It ends while nobody is there to hear of it.
    workspace.write("go", "");
    wait_for("the end of the agent", || !is_alive(agent));
    assert_once(&workspace, &["plan 1 1", "one 1 1", "two 1 1", "ship 1 1"]);
}

#[test]
fn what_a_lost_turn_asked_for_is_not_handed_down_twice() {
    let workspace = handed_down(&format!("{DELEGATE}\n{STAY}"), "true", "true");
    let running = run_until_there(&workspace);
    wait_for("the agent on record", || on_record(&workspace, "agent:spawned") == 1);
    kill_all(&workspace, running);
    workspace.write("go", "");
    assert_once(&workspace, &["plan 1 1", "plan 1 2", "one 1 1", "two 1 1", "ship 1 1"]);
}

#[test]
fn a_kill_once_the_tasks_are_there() {
    let workspace = handed_down(DELEGATE, "true", STAY);
    let running = run_until_there(&workspace);
    wait_for("the agent on record", || on_record(&workspace, "agent:spawned") == 2);
    running.kill();
    // A reader folds them from the journal alone.
    assert_eq!(workspace.status()["counts"]["total"], 4);
    workspace.write("go", "");
    assert_once(&workspace, &["plan 1 1", "one 1 1", "two 1 1", "ship 1 1"]);
}

#[test]
fn a_kill_of_all_while_sub_tasks_run() {
    let workspace = handed_down(DELEGATE, "true", STAY);
    let running = run_until_there(&workspace);
    wait_for("the agent on record", || on_record(&workspace, "agent:spawned") == 2);
    kill_all(&workspace, running);
    workspace.write("go", "");
    assert_once(&workspace, &["plan 1 1", "one 1 1", "one 1 2", "two 1 1", "ship 1 1"]);
}
