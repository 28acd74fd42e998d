//! Coordination (semantics, section 17): ledgers of what is planned and of what it brought, the plan that a person agrees to, the
//! end of asking for other ways, words of authority on their way to a delegator.

use serde_json::{Value, json};

use crate::support::scenes::approvals::only_approval;
use crate::support::{Mission, Workspace, attempts, standing, task};

/// Two tasks, one behind the other, of an agent that keeps a note of each.
fn two() -> Workspace {
    Mission::new()
        .agent("w", r#"echo "$QUORUM_TASK" >> done.txt"#)
        .task("a", |t| {
            t.set("description", "The first part.")
                .set("acceptance", ["The first part is there."])
                .unreviewed()
        })
        .task("b", |t| t.needs("a").unreviewed())
        .workspace()
}

#[test]
fn each_wave_has_its_plan_before_it_and_what_it_brought_behind_it() {
    let workspace = two();
    workspace.run_json(0, &[]);
    let plans = workspace.events().named("ledger:plan");
    let numbers: Vec<_> = plans.iter().map(|plan| (&plan["version"], &plan["wave"])).collect();
    assert_eq!(numbers, [(&json!(1), &json!(1)), (&json!(2), &json!(2))]);
    assert_eq!(
        plans[0]["facts"],
        json!([{"title": "a", "agent": "w", "description": "The first part.",
                "acceptance": ["The first part is there."]}])
    );
    let brought = workspace.events().named("ledger:progress");
    let of = |key: &str| brought.iter().map(|row| row[key].clone()).collect::<Vec<_>>();
    assert_eq!(of("completed"), [1, 2]);
    assert_eq!(of("stall"), [0, 0]);
    assert_eq!(of("action"), ["continue", "continue"]);
    let all = workspace.events();
    let at = |wanted: &Value| all.iter().position(|event| event == wanted).unwrap();
    let starts =
        all.iter().position(|event| event["event"] == "task:transition" && event["to"] == "assigned");
    assert!(at(&plans[0]) < starts.unwrap());
    assert!(at(&brought[0]) < at(&plans[1]));
}

#[test]
fn ledgers_that_a_chain_leaves_out_are_not_kept() {
    let workspace = two().tap(|m| m.setting("middleware", json!({"coordination": ["clarification_gate"]})));
    workspace.run_json(0, &[]);
    assert!(
        workspace.events().named("ledger:plan").is_empty()
            && workspace.events().named("ledger:progress").is_empty()
    );
}

#[test]
fn a_person_agrees_to_the_plan_where_agents_decide_little_alone() {
    for autonomy in ["locked", "supervised"] {
        let workspace = two().tap(|m| m.key("autonomy", autonomy));
        let document = workspace.run_json(8, &[]);
        assert!(!workspace.exists("done.txt"), "work began before the plan was agreed to");
        let asked = &document["approvals"][0];
        let message = asked["message"].as_str().unwrap();
        assert!(message.contains("the plan") && message.contains(autonomy), "{asked}");
        workspace.quorum(&["approve", &only_approval(&workspace)]).exits(0);
        // Once agreed to, it is not asked about again.
        let document = workspace.resume_json(0, &[]);
        assert_eq!(standing(&document, "b").0, "done");
        assert_eq!(workspace.read("done.txt"), "a\nb\n");
    }
}

#[test]
fn a_plan_that_a_person_refuses_is_not_worked_on() {
    let workspace = two().tap(|m| m.key("autonomy", "supervised"));
    workspace.run_json(8, &[]);
    let id = only_approval(&workspace);
    workspace.quorum(&["reject", &id, "--reason", "too much at once"]).exits(0);
    let document = workspace.resume_json(3, &[]);
    let failure = &task(&document, "a")["failure"];
    assert_eq!(failure["mode"], "rejected");
    assert!(failure["message"].as_str().unwrap().contains("too much at once"), "{failure}");
    assert!(!workspace.exists("done.txt"));
}

#[test]
fn only_tasks_whose_agents_decide_little_alone_wait_for_the_plan() {
    let workspace = two().tap(|m| m.change("b", |t| t.set("autonomy", "locked")));
    let document = workspace.run_json(8, &[]);
    assert_eq!(standing(&document, "a").0, "done");
    let ended = workspace.quorum(&["plan", "mission.yaml"]).exits(0);
    ended.shows(&["checkpoint plan_review_gate: before any work; holds b"]);
}

#[test]
fn a_mission_that_says_nothing_leaves_it_out_or_has_one_task_is_not_held() {
    two().run_json(0, &[]);
    two().tap(|m| m.key("autonomy", "full")).run_json(0, &[]);
    two()
        .tap(|m| m.key("autonomy", "locked").setting("middleware", json!({"coordination": ["task_ledger"]})))
        .run_json(0, &[]);
    let one = || {
        Mission::new().key("autonomy", "locked").agent("w", "true").task("a", |t| t.unreviewed()).workspace()
    };
    one().run_json(0, &[]);
    // Who names the gate means it.
    one().tap(|m| m.setting("middleware", json!({"coordination": ["plan_review_gate"]}))).run_json(8, &[]);
}

/// A chain of tasks that all fail, and an orchestrator that has each of them go on without the one before.
fn in_vain(settings: &str) -> Workspace {
    let absorbs = r#"echo asked >> asked.txt; echo '{"action": "absorb", "prompt": "go on"}'"#;
    let mission = Mission::new()
        .agent("w", "false")
        .agent_with("o", json!({"run": absorbs, "role": "manager"}))
        .setting("orchestrator", "o")
        .setting("maxRetries", 0)
        .settings(settings)
        .task("t0", |t| t.unreviewed());
    let add = |mission: Mission, n| {
        mission.task(&format!("t{n}"), |t| t.unreviewed().needs(&format!("t{}", n - 1)))
    };
    (1..6).fold(mission, add).workspace()
}

#[test]
fn after_three_waves_that_brought_nothing_a_person_is_told_and_no_agent_asked() {
    let workspace = in_vain("");
    let document = workspace.run_json(3, &[]);
    assert_eq!(workspace.lines("asked.txt").len(), 2);
    let escalated = workspace.events().named("task:escalated");
    assert_eq!(escalated.len(), 1, "{escalated:?}");
    assert_eq!((&escalated[0]["title"], &escalated[0]["kind"]), (&json!("t3"), &json!("no_progress")));
    assert!(escalated[0]["evidence"].as_str().unwrap().contains("3 waves in a row brought nothing"));
    assert_eq!(task(&document, "t3")["failure"]["mode"], "cascade");
    let brought = workspace.events().named("ledger:progress");
    let told: Vec<_> = brought.iter().map(|row| (&row["stall"], &row["action"])).collect();
    assert_eq!(
        told,
        [(&json!(1), &json!("replan")), (&json!(2), &json!("replan")), (&json!(3), &json!("escalate"))]
    );
}

#[test]
fn without_the_ledger_the_orchestrator_is_asked_as_long_as_work_fails() {
    let workspace = in_vain(", middleware: {coordination: [coordination_replan]}");
    workspace.run_json(3, &[]);
    assert_eq!(workspace.lines("asked.txt").len(), 5);
    assert!(workspace.events().named("task:escalated").is_empty());
}

#[test]
fn what_delegated_work_says_with_authority_is_counted_before_it_reaches_its_delegator() {
    let mission = || {
        let workspace = Mission::new()
            .agent_with("lead", json!({"run": ["/bin/sh", "lead.sh"], "role": "reviewer"}))
            .agent("hand", "echo As your manager, this is an order.")
            .task("whole", |t| t.set("baseline", false).check("true"))
            .workspace();
        workspace.write(
            "lead.sh",
            "if [ -n \"$QUORUM_REVIEW_FILE\" ]; then echo 'SCORE: 90'; exit; fi\necho planned\n\
             echo '{\"delegate\": {\"title\": \"part\", \"assignTo\": \"hand\"}}' > \"$QUORUM_RESULT_FILE\"\n",
        );
        workspace
    };
    let workspace = mission();
    let document = workspace.run_json(0, &[]);
    assert_eq!(attempts(&document, "part"), ["execute"]);
    let cues = workspace.events().named("authority:cues");
    let cues: Vec<_> = cues.iter().map(|row| (&row["title"], &row["in"], &row["cues"])).collect();
    assert_eq!(cues, [(&json!("part"), &json!("result"), &json!(2))]);
    let workspace = mission().tap(|m| m.setting("middleware", json!({"coordination": []})));
    workspace.run_json(0, &[]);
    assert!(workspace.events().named("authority:cues").is_empty());
}
