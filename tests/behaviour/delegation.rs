//! Work that an agent hands down, through the binary.

use serde_json::{Value, json};

use crate::support::journal;
use crate::support::scenes::approvals::{only_approval, waits};
use crate::support::{Mission, Says, Workspace, task, wait_for};

/// As a reviewer the lead is content; as a worker it hands this down.
fn workspace(check: &str, delegate: &Value) -> Workspace {
    let workspace = Mission::new()
        .key("baseline", false)
        .agent_with("lead", json!({"run": ["/bin/sh", "lead.sh"], "role": "reviewer"}))
        .agent_with("worker", json!({"run": ["/bin/sh", "@agents/logger.sh", "log"]}))
        .task("plan", |t| {
            t.expects(json!({"type": "script", "command": check})).attempts(1).set("onExhausted", "accept")
        })
        .task("ship", |t| t.by("worker").needs("plan").unreviewed())
        .workspace();
    let result = json!({"output": "planned", "delegate": delegate});
    workspace.write("result.json", result.to_string());
    workspace.write(
        "lead.sh",
        "if [ -n \"$QUORUM_REVIEW_FILE\" ]; then echo 'SCORE: 90'; else cp result.json \"$QUORUM_RESULT_FILE\"; fi\n",
    );
    workspace
}

#[test]
fn sub_tasks_run_before_what_waits_for_the_task_and_are_reviewed_by_who_handed_them_down() {
    let list = json!([
        {"title": "part two", "assignTo": "worker", "dependsOn": ["part one"]},
        {"title": "part one", "assignTo": "worker", "description": "the first"},
        {"title": "part three", "assignTo": "nobody"},
        {"title": ""},
    ]);
    let workspace = workspace("true", &list);
    let document = workspace.run_json(0, &[]);
    let titles: Vec<&str> =
        document["tasks"].as_array().unwrap().iter().filter_map(|t| t["title"].as_str()).collect();
    assert_eq!(titles, ["plan", "ship", "part one", "part two"]);
    assert_eq!(document["counts"]["total"], 4);
    let one = task(&document, "part one");
    assert_eq!(one["added"], json!({"origin": "delegated", "source": "plan"}));
    assert_eq!((&one["delegatedBy"], &one["qualityFlag"]), (&json!("lead"), &json!("clean")));
    assert_eq!(one["reviews"][0]["reviewer"], "lead");
    assert_eq!(task(&document, "ship")["dependsOn"], json!(["plan", "part one", "part two"]));
    let log = workspace.read("log");
    let lines: Vec<&str> = log.lines().collect();
    assert!(
        lines[0].contains("part one") && lines[1].contains("part two") && lines[2].contains("ship"),
        "{log}"
    );
    document["warnings"].to_string().says(&["nobody", "sub-task 4"]);
    // The journal alone knows of them.
    let status = workspace.status();
    assert_eq!(status["tasks"].as_array().map(Vec::len), Some(4));
    workspace.quorum(&["show", "part two"]).exits(0);
    workspace.quorum(&["events"]).exits(0).shows(&["tasks:added", "delegation:refused", "task:created"]);
    // Done again, the task hands down anew.
    let again = workspace.resume_json(0, &["--redo", "plan"]);
    assert_eq!(again["counts"]["total"], 4);
    assert_eq!(task(&again, "part two")["attempts"].as_array().map(Vec::len), Some(2));
}

#[test]
fn nothing_is_handed_down_from_work_below_the_bar() {
    let workspace = workspace("false", &json!({"title": "more", "assignTo": "worker"}));
    let document = workspace.run_json(5, &[]);
    assert_eq!(document["counts"]["total"], 2);
    document["warnings"].to_string().says(&["'more'", "below-threshold"]);
}

#[test]
fn a_delegator_may_say_what_its_sub_task_is_accepted_by_and_what_must_hold() {
    let list = json!([
        {"title": "part", "assignTo": "worker", "acceptance": ["The part is complete and tested."],
         "verify": {"commands": ["test -e proof"], "maxAttempts": 1}},
    ]);
    let workspace = workspace("true", &list);
    let document = workspace.run_json(5, &[]);
    // The gate was never met, so it was told so once and the work was let through unverified.
    assert_eq!(task(&document, "part")["qualityFlag"], "unverified");
    let prompt = |turn: u32| {
        let shown = workspace.quorum(&["show", "part", "--json"]).exits(0).json();
        let path =
            shown["attempts"][0]["turns"][turn as usize]["prompt"]["path"].as_str().unwrap().to_owned();
        std::fs::read_to_string(path).unwrap()
    };
    assert!(prompt(0).contains("The part is complete and tested."));
    assert!(prompt(1).contains("test -e proof"));
}

#[test]
fn what_a_delegator_asks_of_its_sub_task_is_nobodys_review() {
    for command in ["true", "test -e made"] {
        // Who handed it down may not judge it: it is the same model.
        let workspace = Mission::new()
            .agent_with("lead", json!({"run": ["/bin/sh", "lead.sh"], "model": "one"}))
            .agent_with("worker", json!({"run": ["/bin/sh", "-c", "echo x > made"], "model": "one"}))
            .setting("independence", "model")
            .task("plan", |t| t.expects(json!({"type": "script", "command": "test -e planned"})))
            .workspace();
        let part = json!({"title": "part", "assignTo": "worker", "verify": {"commands": [command]}});
        workspace.write("result.json", json!({"output": "planned", "delegate": [part]}).to_string());
        workspace.write("lead.sh", "echo x > planned; cp result.json \"$QUORUM_RESULT_FILE\"\n");
        let document = workspace.run_json(0, &[]);
        assert_eq!(task(&document, "part")["qualityFlag"], "unreviewed", "{command}");
    }
}

#[test]
fn a_sub_task_with_another_key_is_refused_with_the_list_of_what_is_known() {
    for (wrong, words) in [
        (json!({"title": "part", "assignTo": "worker", "expectations": []}), "acceptance, verify"),
        (
            json!({"title": "part", "assignTo": "worker", "verify": {"command": "x"}}),
            "known are requiredTests",
        ),
    ] {
        let workspace = workspace("true", &json!([wrong]));
        let document = workspace.run_json(0, &[]);
        let warnings = document["warnings"].to_string();
        assert!(warnings.contains(words), "{warnings}");
        assert_eq!(document["counts"]["total"], 2);
    }
}

#[test]
fn criteria_of_delegated_work_that_say_nothing_are_refused_where_that_is_asked_for() {
    let list = json!([{"title": "part", "assignTo": "worker", "acceptance": ["It works"]}]);
    let workspace = workspace("true", &list).tap(|m| {
        m.setting("clarification", "enforce")
            .change("ship", |t| t.set("acceptance", ["The parts are in the archive."]))
    });
    let document = workspace.run_json(0, &[]);
    assert_eq!(document["counts"]["total"], 2);
    document["warnings"].to_string().says(&["only says that the work is to be finished"]);
}

#[test]
fn delegated_work_that_is_not_what_was_delegated_is_an_event_when_it_begins() {
    let list = json!([{"title": "part", "assignTo": "worker", "description": "sweep the floor"}]);
    let scene = || {
        let held = json!([{"name": "parts", "when": "task.title == 'part'"}]);
        let workspace = workspace("true", &list).tap(|m| m.setting("approvalGates", held));
        let running = workspace.start(&["run", "mission.yaml", "--wait-approvals", "1h"]);
        waits(&workspace);
        running.kill();
        workspace
    };
    let drifts = |workspace: &Workspace| {
        workspace.resume_json(8, &[]);
        workspace.quorum(&["approve", &only_approval(workspace)]).exits(0);
        workspace.resume_json(0, &[]);
        let events = workspace.events().into_iter();
        let drifts: Vec<_> = events.filter(|event| event["event"] == "delegation:drift").collect();
        drifts
    };
    assert!(drifts(&scene()).is_empty());

    let workspace = scene();
    journal::rewrite(&workspace.journal(), |record| {
        if journal::has(record, journal::code::ADDED) {
            record.replace("sweep the floor", "empty the safe")
        } else {
            record.to_owned()
        }
    });
    let drifts = drifts(&workspace);
    assert_eq!(drifts.len(), 1, "{drifts:?}");
    assert_eq!(drifts[0]["title"], "part");
    assert_ne!(drifts[0]["storedHash"], drifts[0]["chainHash"]);
}

#[test]
fn false_green_34_the_gate_of_delegated_work_rests_on_no_file_that_nobody_protects() {
    let refused = [
        (json!({"commands": ["sh check.sh"]}), "check.sh"),
        (json!({"commands": ["true"], "maxAttempts": 4_000_000_000_u32}), "at most 20"),
        (json!({"requireCompilation": true}), "compileCommand"),
    ];
    for (verify, words) in refused {
        let workspace = Mission::new()
            .agent("lead", r#"cp delegate.json "$QUORUM_TASK_DIR"/delegate.json; echo planned"#)
            .worker("echo exit 0 > check.sh; echo work")
            .setting("evaluate", false)
            .tasks(["plan"])
            .workspace();
        workspace.write("check.sh", "exit 1");
        let sub_task = json!({"title": "part", "assignTo": "worker", "verify": verify});
        workspace.write("delegate.json", sub_task.to_string());
        let document = workspace.run_json(0, &[]);
        assert_eq!(document["tasks"].as_array().unwrap().len(), 1, "{document:#}");
        let warnings = document["warnings"].to_string();
        assert!(warnings.contains("wants to delegate work") && warnings.contains(words), "{warnings}");
    }
}

#[test]
fn a_turn_may_end_beside_work_that_was_handed_down_since_it_began() {
    let workspace = Mission::new()
        .agent("early", "until test -e began; do sleep 0.02; done; touch mission.yaml; echo work")
        .agent("lead", r#"cp delegate.json "$QUORUM_TASK_DIR"/delegate.json; echo planned"#)
        .agent("late", "echo > began; until test -e go; do sleep 0.02; done; echo work")
        .setting("evaluate", false)
        .setting("concurrency", 3)
        .setting("baseline", false)
        .tasks(["first"])
        .task("plan", |t| t.by("lead").expects(json!({"type": "script", "command": "true"})))
        .workspace();
    workspace.write("delegate.json", json!({"title": "part", "assignTo": "late"}).to_string());
    let running = workspace.start(&["run", "mission.yaml", "--json"]);
    wait_for("the first", || {
        let status = workspace.quorum(&["status", "--json"]);
        status.code() == Some(0) && task(&status.json(), "first")["status"] == "done"
    });
    workspace.write("go", "");
    let document = running.finish().exits(0).json();
    assert_eq!(task(&document, "part")["status"], "done", "{document:#}");
}

#[test]
fn an_agent_that_is_needed_later_and_is_not_there_is_told_with_the_reason_and_tried_once() {
    let list = json!([{"title": "part", "assignTo": "helper"}]);
    for (helper, why) in [
        (json!({"run": ["/opt/nowhere/helper"]}), "/opt/nowhere/helper"),
        (json!({"run": ["no-such-helper"]}), "no-such-helper"),
        (
            json!({
                "adapter": "openai", "model": "m", "baseUrl": "http://127.0.0.1:9",
                "apiKey": "${KEY_OF_NOBODY}",
            }),
            "KEY_OF_NOBODY",
        ),
    ] {
        let workspace = workspace("true", &list).tap(|m| m.agent_with("helper", helper));
        let document = workspace.run_json(3, &[]);
        let part = task(&document, "part");
        assert_eq!(part["status"], "failed", "{part}");
        assert_eq!(part["attempts"].as_array().map(Vec::len), Some(1), "{part}");
        part["failure"]["message"].to_string().says(&["'helper' cannot be reached", why]);
    }
}

#[test]
fn another_agent_goes_on_with_work_whose_agent_is_not_there() {
    let list = json!([{"title": "part", "assignTo": "helper"}]);
    let helper = json!({"run": ["/opt/nowhere/helper"], "fallback": ["worker"]});
    let workspace = workspace("true", &list).tap(|m| m.agent_with("helper", helper));
    let document = workspace.run_json(0, &[]);
    assert_eq!(task(&document, "part")["status"], "done");
    workspace.read("log").says(&["part"]);
}
