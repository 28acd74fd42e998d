//! Tasks with side effects: once their agent may have acted, only a person makes it act again.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::support::events::on_record;
use crate::support::scenes::approvals::only_approval;
use crate::support::{
    Mission, Workspace, attempts, is_alive, read_pid, standing, task, wait_for, wait_for_file,
};

/// A deployment that notes each time it acts, and that passes when `good` is there.
fn deploy() -> Mission {
    acting(KEEPS, "test ! -e crash || { sleep 1.1; exit 4; }")
}

/// The same with what its agent does before it acts, and behind that.
fn acting(before: &str, behind: &str) -> Mission {
    Mission::new()
        .worker(format!("{before}echo acted >> acts.log; {behind}"))
        .setting("evaluate", false)
        .task("deploy", |t| {
            t.set("type", "deploy")
                .set("sideEffects", true)
                .expects(json!({"type": "script", "command": "test -e good"}))
        })
}

const KEEPS: &str = "cat > prompt.$QUORUM_ATTEMPT.$QUORUM_TURN; ";

/// It waits for a person, and has acted so often.
fn held(workspace: &Workspace, document: &Value, acts: usize) -> String {
    assert_eq!(standing(document, "deploy").0, "awaiting_approval");
    assert_eq!(
        (&document["exitCode"], &document["approvals"][0]["reason"]),
        (&json!(8), &json!("side-effects"))
    );
    assert_eq!(workspace.lines("acts.log").len(), acts);
    only_approval(workspace)
}

#[test]
fn a_failed_check_does_not_make_it_act_again() {
    let workspace = deploy().workspace();
    let document = workspace.run_json(8, &[]);
    let id = held(&workspace, &document, 1);
    let blocked = workspace.events().named("task:retry:blocked");
    assert_eq!(blocked.len(), 1);
    assert!(blocked[0]["reason"].as_str().unwrap_or_default().contains("checks"));
    held(&workspace, &workspace.resume_json(8, &[]), 1);
    workspace.write("good", "");
    workspace.quorum(&["approve", &id, "--as", "ada"]).exits(0);
    let document = workspace.resume_json(0, &[]);
    assert_eq!(attempts(&document, "deploy"), ["execute", "fix"]);
    assert_eq!(workspace.lines("acts.log").len(), 2);
    let (first, second) = (workspace.read("prompt.1.1"), workspace.read("prompt.2.1"));
    let warning = "Do not repeat external actions";
    assert!(!first.contains(warning) && second.contains(warning), "{second}");
    assert!(second.contains("test -e good") || second.contains("checks"), "{second}");
}

#[test]
fn each_further_time_is_asked_for() {
    let workspace = deploy().workspace();
    workspace.write("crash", "");
    let document = workspace.run_json(8, &[]);
    let id = held(&workspace, &document, 1);
    workspace.quorum(&["approve", &id]).exits(0);
    let document = workspace.resume_json(8, &[]);
    let second = held(&workspace, &document, 2);
    assert_ne!(id, second);
    workspace.quorum(&["reject", &second, "--reason", "it is out already"]).exits(0);
    let document = workspace.resume_json(3, &[]);
    assert_eq!(task(&document, "deploy")["failure"]["mode"], "rejected");
    // Trying again is a person's word, too, but not about what it may do twice.
    let document = workspace.resume_json(8, &["--retry-failed"]);
    held(&workspace, &document, 2);
}

#[test]
fn a_time_out_does_not_make_it_act_again() {
    let mission = acting(KEEPS, "sleep 300 || { sleep 1.1; exit 4; }");
    let workspace = mission.change("deploy", |t| t.set("maxDuration", "1s")).workspace();
    let document = workspace.run_json(8, &[]);
    held(&workspace, &document, 1);
}

#[test]
fn done_work_is_not_redone_without_a_word_about_its_side_effects() {
    let workspace = deploy().workspace();
    workspace.write("good", "");
    workspace.run_json(0, &[]);
    let document = workspace.resume_json(8, &["--redo", "deploy"]);
    let id = held(&workspace, &document, 1);
    workspace.quorum(&["approve", &id]).exits(0);
    workspace.resume_json(0, &[]);
    assert_eq!(workspace.lines("acts.log").len(), 2);
}

/// Its agent says who it is and does not end by itself.
fn at_work() -> Workspace {
    acting(KEEPS, "echo $$ > pid; exec sleep 300 || { sleep 1.1; exit 4; }").workspace()
}

#[test]
fn false_green_23_a_side_effect_task_is_never_run_twice_after_a_crash() {
    let workspace = at_work();
    let running = workspace.start(&["run", "mission.yaml", "--run-id", "r1", "--json"]);
    wait_for_file(&workspace.path("pid"));
    wait_for("the agent on record", || on_record(&workspace, "agent:spawned") == 1);
    let agent = read_pid(&workspace.path("pid"));
    // Everything dies at once, as when the power fails.
    let supervisor = crate::support::parent(agent);
    for process in [running.pid(), supervisor, agent] {
        let _ = kill_process(process, Signal::KILL);
    }
    running.kill();
    wait_for("the end of all", || !is_alive(agent) && !is_alive(supervisor));
    let document = workspace.resume_json(8, &[]);
    let id = held(&workspace, &document, 1);
    assert_eq!(workspace.events().count("work:ended turn lost"), 1);
    assert_eq!(workspace.events().count("work:started turn"), 1);
    // As often as anybody likes.
    held(&workspace, &workspace.resume_json(8, &[]), 1);
    workspace.quorum(&["reject", &id, "--reason", "it is out"]).exits(0);
    workspace.resume_json(3, &[]);
    assert_eq!(workspace.lines("acts.log").len(), 1);
}

#[test]
fn an_interrupt_does_not_make_it_act_again() {
    let workspace = at_work();
    let running = workspace.start(&["run", "mission.yaml", "--run-id", "r1", "--json"]);
    wait_for_file(&workspace.path("pid"));
    running.signal(Signal::INT);
    let document = running.finish().exits(130).json();
    assert_eq!(standing(&document, "deploy").0, "awaiting_approval");
    held(&workspace, &workspace.resume_json(8, &[]), 1);
}

#[test]
fn an_agent_that_outlived_its_runner_is_no_repetition() {
    let workspace = acting(KEEPS, "echo $$ > pid; while [ ! -e go ]; do sleep 0.02; done").workspace();
    workspace.write("good", "");
    let running = workspace.start(&["run", "mission.yaml", "--run-id", "r1", "--json"]);
    wait_for_file(&workspace.path("pid"));
    wait_for("the agent on record", || on_record(&workspace, "agent:spawned") == 1);
    running.kill();
    let agent: Pid = read_pid(&workspace.path("pid"));
    workspace.write("go", "");
    wait_for("the end of the agent", || !is_alive(agent));
    let document = workspace.resume_json(0, &[]);
    assert_eq!(standing(&document, "deploy").0, "done");
    assert_eq!(workspace.lines("acts.log").len(), 1);
}

#[test]
fn a_finish_gate_does_not_make_it_act_again() {
    for input in ["stdin", "none"] {
        let workspace = acting("", &format!("{KEEPS}test ! -e crash || {{ sleep 1.1; exit 4; }}"))
            .change_agent("worker", json!({"input": input}))
            .change("deploy", |t| t.without("expectations").with("verify: {commands: [test -e good]}"))
            .workspace();
        let document = workspace.run_json(8, &[]);
        let id = held(&workspace, &document, 1);
        assert_eq!(workspace.events().count("task:retry:blocked"), 1);
        held(&workspace, &workspace.resume_json(8, &[]), 1);
        workspace.quorum(&["approve", &id]).exits(0);
        // It misses the same: a person is asked for every further time.
        let document = workspace.resume_json(8, &[]);
        let second = held(&workspace, &document, 2);
        assert_ne!(id, second);
        let prompt = workspace.read("prompt.1.2");
        assert_eq!(
            (prompt.contains("Do not repeat external actions"), prompt.contains("test -e good")),
            (input == "stdin", input == "stdin"),
            "{prompt}"
        );
        workspace.write("good", "");
        workspace.quorum(&["approve", &second]).exits(0);
        let document = workspace.resume_json(0, &[]);
        assert_eq!(attempts(&document, "deploy"), ["execute"]);
        assert_eq!(workspace.lines("acts.log").len(), 3);
    }
}

#[test]
fn a_changed_mission_does_not_make_it_act_again() {
    let workspace = deploy().workspace();
    workspace.run_json(8, &[]);
    let workspace = workspace.tap(|m| m.change("deploy", |t| t.set("description", "otherwise")));
    let document = workspace.resume_json(8, &["--accept-changed-mission"]);
    held(&workspace, &document, 1);
}

#[test]
fn a_deployment_that_does_not_say_is_warned_about() {
    let workspace = deploy().change("deploy", |t| t.without("sideEffects")).workspace();
    workspace.quorum(&["validate", "mission.yaml"]).exits(0).says(&["Q0411", "sideEffects"]);
    let workspace = deploy().workspace();
    let said = workspace.quorum(&["validate", "mission.yaml"]).exits(0);
    assert!(!said.stderr.contains("Q0411"), "{}", said.stderr);
}
