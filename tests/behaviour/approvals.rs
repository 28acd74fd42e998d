//! Somebody's agreement before a task starts: people, commands, gates with conditions, time-outs.

use serde_json::{Value, json};

use crate::support::events::{named, on_record};
use crate::support::scenes::approvals::only_approval;
use crate::support::{Has, Mission, Workspace, standing, task, wait_for};

/// One task that `asks` so, behind another, and one that hangs on it.
fn asking(asks: &str, settings: &str) -> Workspace {
    Workspace::with(&format!(
        "
name: asking
agents:
  worker: {{run: 'echo \"$QUORUM_TASK\" >> done.log'}}
settings: {{evaluate: false{settings}}}
tasks:
  - {{title: before, assignTo: worker}}
  - {{title: work, assignTo: worker, dependsOn: [before], tags: [prod]{asks}}}
  - {{title: next, assignTo: worker, dependsOn: [work]}}
"
    ))
}

#[test]
fn false_green_22_an_approval_nobody_answers_is_exit_8_and_resumable() {
    let workspace = asking(", requiresApproval: true", "");
    let document = workspace.run_json(8, &[]);
    document.has(json!({"outcome": "awaiting", "resumable": true, "state": "suspended"}));
    assert_eq!(standing(&document, "work").0, "awaiting_approval");
    assert_eq!(workspace.lines("done.log"), ["before"]);
    // However often: nobody agreed.
    workspace.resume_json(8, &[]);
    assert_eq!(workspace.lines("done.log"), ["before"]);
    let asked = &document["approvals"][0];
    assert_eq!(
        (&asked["task"], &asked["reason"], &asked["expires"]),
        (&json!("work"), &json!("approval"), &Value::Null)
    );
    assert_eq!(task(&document, "work")["waiting"]["id"], asked["id"]);
    // It was asked for once what it depends on was done, and not before.
    let events = workspace.events();
    assert_eq!(events.count("approval:requested"), 1);

    workspace.quorum(&["approve", &only_approval(&workspace), "--as", "ada"]).exits(0);
    let document = workspace.resume_json(0, &[]);
    assert_eq!(standing(&document, "next").0, "done");
    assert_eq!(workspace.lines("done.log"), ["before", "work", "next"]);
    let resolved = workspace.events();
    let resolved = named(&resolved, "approval:resolved");
    assert_eq!((&resolved[0]["status"], &resolved[0]["resolvedBy"]), (&json!("approved"), &json!("ada")));
}

#[test]
fn a_refusal_has_a_reason_and_fails_the_task() {
    let workspace = asking(", requiresApproval: {message: may it go?}", "");
    let document = workspace.run_json(8, &[]);
    assert_eq!(document["approvals"][0]["message"], "may it go?");
    let id = only_approval(&workspace);
    workspace.quorum(&["reject", &id]).exits(2);
    workspace.quorum(&["reject", &id, "--reason", " "]).exits(2);
    workspace.quorum(&["reject", &id, "--reason", "not on a Friday"]).exits(0);
    workspace.quorum(&["reject", &id, "--reason", "again"]).exits(0);
    workspace.quorum(&["approve", &id]).exits(4);
    let document = workspace.resume_json(3, &[]);
    let failure = &task(&document, "work")["failure"];
    assert_eq!(failure["mode"], "rejected");
    assert!(failure["message"].as_str().unwrap_or_default().contains("not on a Friday"));
    assert_eq!(standing(&document, "next").0, "failed");
    assert_eq!(workspace.lines("done.log"), ["before"]);
    // Tried again, it is asked for again.
    let document = workspace.resume_json(8, &["--retry-failed"]);
    assert_eq!(standing(&document, "work").0, "awaiting_approval");
}

#[test]
fn a_live_session_goes_on_with_the_answer() {
    let workspace = asking(", requiresApproval: {approvers: [ada]}", "");
    let running = workspace.start(&["run", "mission.yaml", "--json", "--wait-approvals", "1h"]);
    wait_for("the request", || on_record(&workspace, "run:waiting") == 1);
    workspace.quorum(&["approve", &only_approval(&workspace)]).exits(0);
    running.finish().exits(0);
    let events = workspace.events();
    let edges: Vec<_> = named(&events, "task:transition")
        .into_iter()
        .filter(|event| event["title"] == "work")
        .map(|event| event["to"].as_str().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(edges, ["awaiting_approval", "assigned", "in_progress", "review", "done"]);
}

#[test]
fn a_command_agrees_refuses_or_leaves_it_open() {
    let asks = ", requiresApproval: {approvers: [{command: 'cat said; exit $(cat code)'}, ada]}";
    let workspace = asking(asks, "");
    workspace.write("said", "fine");
    workspace.write("code", "0");
    workspace.run_json(0, &[]);
    let events = workspace.events();
    let by = named(&events, "approval:resolved")[0]["resolvedBy"].clone();
    assert!(by.as_str().unwrap_or_default().contains("cat said"), "{by}");

    let workspace = asking(asks, "");
    workspace.write("said", "the freeze is on\n");
    workspace.write("code", "1");
    let document = workspace.run_json(3, &[]);
    let failure = &task(&document, "work")["failure"];
    assert_eq!(failure["mode"], "rejected");
    assert!(failure["message"].as_str().unwrap_or_default().contains("the freeze is on"));

    // Neither: a person decides, or the command when it is asked again.
    let workspace = asking(asks, "");
    workspace.write("said", "the build is not ready");
    workspace.write("code", "3");
    workspace.run_json(8, &[]);
    let events = workspace.events();
    let open = named(&events, "work:ended approver");
    assert_eq!(open[0]["reason"], "it exited 3: the build is not ready");
    workspace.write("code", "0");
    let document = workspace.resume_json(0, &[]);
    assert_eq!(standing(&document, "work").0, "done");

    // One that cannot be started decides nothing.
    let workspace = asking(", requiresApproval: {approvers: [{command: /nonexistent/thing}]}", "");
    workspace.run_json(8, &[]);
}

#[test]
fn a_gate_holds_the_tasks_that_its_condition_names() {
    let gates = ", approvalGates: [\
        {name: production, when: \"'prod' in task.tags and task.type != 'test'\", approvers: [ada]}, \
        {name: never, when: task.priority > 7}]";
    let workspace = asking("", gates);
    let document = workspace.run_json(8, &[]);
    assert_eq!(standing(&document, "before").0, "done");
    assert_eq!(standing(&document, "work").0, "awaiting_approval");
    let events = workspace.events();
    let asked = named(&events, "approval:requested");
    assert_eq!((asked.len(), &asked[0]["gateName"]), (1, &json!("production")));
    workspace.quorum(&["approve", &only_approval(&workspace)]).exits(0);
    workspace.resume_json(0, &[]);

    // Its own approval and a gate's are two.
    let workspace = asking(", requiresApproval: true", gates);
    workspace.run_json(8, &[]);
    workspace.quorum(&["approve", &only_approval(&workspace)]).exits(0);
    assert_eq!(workspace.lines("done.log"), ["before"]);
    workspace.resume_json(8, &[]);
    workspace.quorum(&["approve", &only_approval(&workspace)]).exits(0);
    workspace.resume_json(0, &[]);
    workspace.quorum(&["plan", "mission.yaml"]).exits(0).shows(&["starts when ada agrees (production)"]);
}

#[test]
fn a_condition_that_cannot_be_decided_is_a_load_error() {
    for (when, word) in [
        ("task.type ==", "no expression"),
        ("task.tpye == 1", "task.tpye"),
        ("task.title", "neither true nor false"),
        ("task.exclusive && true", "no expression"),
    ] {
        let workspace = asking("", &format!(", approvalGates: [{{name: g, when: \"{when}\"}}]"));
        workspace.quorum(&["run", "mission.yaml"]).exits(2).says(&["Q0505", "mission.yaml:5", word]);
        assert!(!workspace.path("done.log").exists());
    }
}

#[test]
fn a_time_out_refuses_where_it_is_told_to_and_says_so_where_not() {
    let asks = ", requiresApproval: {approvers: [ada], timeout: 50ms}";
    let workspace = asking(asks, ", autoRejectOnTimeout: true");
    let document = workspace.run_json(3, &["--wait-approvals", "1h"]);
    let failure = &task(&document, "work")["failure"];
    failure.has(json!({"mode": "rejected", "message": "nobody approved it within 50ms"}));

    let workspace = asking(asks, "");
    let running = workspace.start(&["run", "mission.yaml", "--json", "--wait-approvals", "1h"]);
    wait_for("the time-out", || on_record(&workspace, "approval:timeout") == 1);
    let document = workspace.status();
    assert_eq!(standing(&document, "work").0, "awaiting_approval");
    assert!(document["approvals"][0]["expires"].is_string());
    workspace.quorum(&["approve", &only_approval(&workspace)]).exits(0);
    running.finish().exits(0);

    // An answer that comes too late comes too late, though no session was there to see the time pass.
    let workspace = asking(asks, ", autoRejectOnTimeout: true");
    workspace.run_json(8, &[]);
    let id = only_approval(&workspace);
    let expires = workspace.status()["approvals"][0]["expires"].clone();
    wait_for("the moment", || {
        let now = chrono::Utc::now().to_rfc3339_opts(chrono::SecondsFormat::Millis, true);
        expires.as_str().is_some_and(|expires| *expires < *now)
    });
    workspace.quorum(&["approve", &id]).exits(4);
    let document = workspace.resume_json(3, &[]);
    assert_eq!(task(&document, "work")["failure"]["mode"], "rejected");
}

#[test]
fn an_agent_agrees_refuses_or_leaves_it_open_and_never_about_its_own_task() {
    let workspace = |reply: &str| {
        let workspace = asking(", requiresApproval: {approvers: [boss, ada], message: may it go?}", "");
        let boss = "agents:\n  boss: {run: 'cat > asked; cat reply'}\n";
        let workspace = workspace.tap_mission("agents:\n", boss);
        workspace.write("reply", reply);
        workspace
    };
    let agreed = workspace("{\"decision\": \"approve\"}");
    agreed.run_json(0, &[]);
    assert!(agreed.read("asked").contains("may it go?"));
    assert_eq!(agreed.events().first_named("approval:resolved")["resolvedBy"], "boss");

    let refused = workspace("{\"decision\": \"reject\", \"reason\": \"nothing was tested\"}");
    let document = refused.run_json(3, &[]);
    let failure = &task(&document, "work")["failure"];
    assert_eq!(failure["mode"], "rejected");
    assert!(failure["message"].as_str().unwrap_or_default().contains("nothing was tested"));

    // Prose is no agreement.
    let unclear = workspace("I approve of this.");
    let document = unclear.run_json(8, &[]);
    assert_eq!(standing(&document, "work").0, "awaiting_approval");
    unclear.quorum(&["approve", &only_approval(&unclear)]).exits(0);
    unclear.resume_json(0, &[]);

    asking(", requiresApproval: {approvers: [worker]}", "")
        .quorum(&["run", "mission.yaml"])
        .exits(2)
        .says(&["Q0410", "cannot approve its own task"]);
}

#[test]
fn what_was_agreed_to_holds_for_the_turn_after_an_answer() {
    let workspace = Workspace::with(
        "
name: asked twice, agreed once
agents:
  worker: {run: 'cat > prompt.$QUORUM_TURN; grep -q \"^Answer: \" prompt.$QUORUM_TURN || @quorum ask Which?'}
  slow: {run: 'echo yes > $QUORUM_TASK.there; while ! test -e $QUORUM_TASK.go; do sleep 0.02; done'}
settings: {evaluate: false, concurrency: 1, approvalGates: [{name: big, when: 'task.priority > 1'}]}
tasks:
  - {title: work, assignTo: worker, requiresApproval: true, priority: 3}
  - {title: first, assignTo: slow, priority: 0.9}
  - {title: second, assignTo: slow, priority: 0.5}
"
        .replace("@quorum", crate::support::BINARY)
        .as_str(),
    );
    let running = workspace.start(&["run", "mission.yaml", "--run-id", "r1", "--json"]);
    let there = |title: &str| wait_for(title, || workspace.exists(&format!("{title}.there")));
    there("first");
    workspace.quorum(&["approve", &only_approval(&workspace)]).exits(0);
    workspace.quorum(&["approve", &only_approval(&workspace)]).exits(0);
    workspace.write("first.go", "");
    there("second");
    // There is no room now: it goes back to pending, and nobody is asked about it once more.
    workspace.quorum(&["answer", &only_approval(&workspace), "This one."]).exits(0);
    assert_eq!(standing(&workspace.status(), "work").0, "pending");
    workspace.write("second.go", "");
    let document = running.finish().exits(0).json();
    assert_eq!(task(&document, "work")["attempts"].as_array().map(Vec::len), Some(1));
    let events = workspace.events();
    let asked: Vec<&Value> =
        named(&events, "approval:requested").into_iter().map(|event| &event["reason"]).collect();
    assert_eq!(asked, ["approval", "approval", "question"]);
}

#[test]
fn an_agent_that_is_still_asked_holds_up_no_approval_that_comes_behind() {
    let workspace = Mission::new()
        .worker("echo done >> done.log")
        .reviewer("slow", "touch asked; while [ ! -e told ]; do sleep 0.1; done; exit 1")
        .setting("evaluate", false)
        .setting("approvalGates", json!([
            {"name": "one", "when": "task.priority > 0", "approvers": ["slow", "ada"]},
            {"name": "two", "when": "task.priority > 0", "approvers": [{"command": "touch told; echo ran >> ran.log"}]},
        ]))
        .task("work", |t| t.set("priority", 3))
        .workspace();
    let running = workspace.start(&["run", "mission.yaml", "--json", "--wait-approvals", "1h"]);
    wait_for("the agent", || workspace.exists("asked"));
    workspace.quorum(&["approve", &only_approval(&workspace), "--as", "ada"]).exits(0);
    running.finish().exits(0);
    assert_eq!(workspace.lines("ran.log"), ["ran"]);
    assert_eq!(workspace.lines("done.log"), ["done"]);
}
