//! `quorum plan`: what would happen, told without starting anything.

use serde_json::{Value, json};

use crate::support::{Has, Mission, Says, Workspace, gate, task};

fn planned() -> Workspace {
    Mission::new()
        .key("name", "to be planned")
        .agent_with("worker", json!({"run": "touch touched", "reportsTo": "boss"}))
        .judge("boss", &[])
        .agent_with("critic", json!({"run": ["/bin/sh", "@agents/judge.sh", "critic"]}))
        .key(
            "qualityGates",
            json!([
                {"name": "door", "afterTasks": ["design"], "blocksTasks": ["ship"], "minScore": 4},
            ]),
        )
        .setting("maxAttempts", 3)
        .task("design", |t| {
            t.expects(json!({"type": "llm_review", "criteria": "good", "reviewers": ["critic", "boss"]}))
        })
        .task(r#"say "build" #1"#, |t| t.needs("design"))
        .task("ship", |t| t.unreviewed().set("maxRetries", 1))
        .task("checked", |t| t.attempts(1).check("true"))
        .workspace()
}

#[test]
fn a_plan_tells_waves_judges_gates_and_the_worst_case_and_starts_nothing() {
    let workspace = planned();
    let plan = workspace.quorum(&["plan", "mission.yaml", "--json"]).exits(0).json();
    assert_eq!(plan["schema"], "quorum.plan/v1");
    assert_eq!(plan["waves"], json!([["design", "checked"], ["say \"build\" #1", "ship"]]));
    let design = task(&plan, "design");
    design.has(json!({"judgedBy": "panel", "seats": ["critic", "boss"]}));
    assert_eq!(
        design["eligible"],
        json!([
            {"agent": "critic", "why": "named as reviewer"},
            {"agent": "boss", "why": "named as reviewer"}
        ])
    );
    // One execute with two fixes, three retries with two fixes each, two seats each time.
    assert_eq!(design["worstCase"], json!({"attempts": 12, "judgeCalls": 24, "judgeCallsWithRepeats": 240}));
    let build = task(&plan, "say \"build\" #1");
    assert_eq!((&build["judgedBy"], &build["seats"]), (&json!("evaluation"), &json!(["boss"])));
    assert_eq!(build["eligible"], json!([{"agent": "boss", "why": "role reviewer or qa"}]));
    assert_eq!(build["worstCase"]["attempts"], 3);
    let ship = task(&plan, "ship");
    ship.has(json!({"judgedBy": "nobody", "note": "review: none", "heldBy": ["door"]}));
    // Only its agent can fail: then it is retried, never fixed.
    assert_eq!(ship["worstCase"]["attempts"], 2);
    assert_eq!(task(&plan, "checked")["worstCase"]["attempts"], 1);
    assert_eq!(gate(&plan, "door")["minScore"], 80.0);
    assert_eq!(plan["worstCase"]["attempts"], 18);
    assert_eq!(plan["cost"], json!({"known": false, "text": "unknown (no prices)"}));

    workspace.quorum(&["plan"]).exits(0).shows(&[
        "wave 1",
        "worker",
        "held by gate door",
        "panel of critic (named as reviewer)",
        "cost: unknown (no prices)",
    ]);
    assert!(!workspace.exists(".polpo"), "a state folder was made");
    workspace.assert_nothing_started();
}

#[test]
fn a_dry_run_is_the_plan_and_heeds_the_flags_of_run() {
    let workspace = planned();
    let plan = workspace.quorum(&["plan", "--json", "--no-eval"]).exits(0).json();
    let dry: Value = workspace.quorum(&["run", "--dry-run", "--json", "--no-eval"]).exits(0).json();
    assert_eq!(plan, dry);
    assert_eq!(task(&plan, "design")["note"], "reviews are switched off");
    assert_eq!(plan["worstCase"]["judgeCalls"], 0);
    assert!(!workspace.exists(".polpo"));
}

#[test]
fn a_plan_can_be_drawn_and_nothing_else_can() {
    let workspace = planned();
    let dot = workspace.quorum(&["plan", "--format", "dot"]).exits(0).stdout;
    assert!(dot.starts_with("digraph \"to be planned\" {") && dot.ends_with("}\n"), "{dot}");
    dot.says(&["t0 -> t1;", "t0 -> g0;", "g0 -> t2;", r#"say \"build\" #1"#]);
    let mermaid = workspace.quorum(&["run", "--dry-run", "--format", "mermaid"]).exits(0).stdout;
    assert!(mermaid.starts_with("flowchart LR\n"), "{mermaid}");
    mermaid.says(&["t0 --> t1", "g0{\"door\"}", "say #34;build#34; #35;1"]);
    for command in [&["run", "mission.yaml", "--format", "dot"][..], &["status", "--format", "mermaid"]] {
        workspace.quorum(command).exits(2).says(&["only a plan", "quorum plan"]);
    }
    workspace.assert_nothing_started();
}

#[test]
fn a_wrong_mission_has_no_plan() {
    let workspace = Workspace::with("name: wrong\nagents: {a: {run: 'true'}}\ntasks: [{titel: x}]\n");
    workspace.quorum(&["plan"]).exits(2).says(&["titel"]);
    assert!(!workspace.exists(".polpo"));
}

/// Workers and judges with tools, without, and with tools that their own words deny them.
fn with_tools() -> Workspace {
    Mission::new()
        .key("name", "tools")
        .agent_with(
            "coder",
            json!({
                "adapter": "openai",
                "model": "c",
                "tools": {"read": "allow", "write": "allow", "run": "deny"},
            }),
        )
        .agent_with("talker", json!({"adapter": "openai", "model": "t"}))
        .agent("script", "true")
        .agent_with("eye", json!({"adapter": "openai", "model": "e", "role": "reviewer"}))
        .agent_with("blind", json!({"adapter": "openai", "model": "b", "role": "qa", "tools": []}))
        .key("stages", json!([{"name": "licence", "command": "true"}, {"name": "legal", "agent": "eye"}]))
        .key("redTeam", json!({"agent": "blind"}))
        .key("rubrics", json!({"usable": {"criteria": [{"name": "runs", "weight": 1, "grade": "binary"}]}}))
        .task("build", |t| {
            t.files(["a.rs"])
                .expects(json!({"type": "llm_review", "criteria": "c", "reviewers": ["eye", "blind"]}))
        })
        .task("say", |t| t.by("talker"))
        .task("grade", |t| {
            t.by("script")
                .unreviewed()
                .set("acceptance", ["it runs"])
                .set("verification", json!({"rubric": "usable"}))
        })
        .task("check", |t| {
            t.set("type", "verification")
                .by("eye")
                .needs("build")
                .set("verification", json!({"rubric": "usable"}))
                .set("onPass", "good")
                .set("onFail", "bad")
                .set("onRefer", "ask")
        })
        .task("good", |t| t.by("talker").unreviewed())
        .task("bad", |t| t.by("talker").unreviewed())
        .task("ask", |t| t.by("talker").unreviewed())
        .workspace()
}

#[test]
fn a_plan_says_who_has_which_tools() {
    let workspace = with_tools();
    let plan = workspace.quorum(&["plan", "mission.yaml", "--json"]).exits(0).json();
    let looks = json!(["list", "read", "search"]);
    let build = task(&plan, "build");
    assert_eq!(build["agentTools"], json!({"read": "allow", "write": "allow", "run": "deny"}));
    assert_eq!(build["eligible"][0]["tools"], looks);
    assert_eq!(
        (&build["eligible"][1]["agent"], &build["eligible"][1]["tools"]),
        (&json!("blind"), &Value::Null)
    );
    let stages = build["stages"].as_array().unwrap();
    let tools: Vec<_> = stages.iter().map(|stage| &stage["tools"]).collect();
    assert_eq!(tools, [&Value::Null, &looks, &Value::Null]);
    // What is only said is judged by what is shown.
    let say = task(&plan, "say");
    assert_eq!((&say["agentTools"], &say["eligible"][0]["tools"]), (&Value::Null, &Value::Null));
    assert_eq!(say["stages"][1]["tools"], Value::Null);
    // A command may have changed files.
    assert_eq!(task(&plan, "grade")["graderTools"], looks);
    assert_eq!(task(&plan, "check")["graderTools"], looks);
    workspace.quorum(&["plan", "mission.yaml"]).exits(0).shows(&[
        "build: coder (tools: read allow, write allow, run deny)",
        "panel of eye (named as reviewer; tools: list, read, search), blind (named as reviewer)",
        "stage licence by true, then stage legal by eye (tools: list, read, search), then redTeam by blind",
        "criteria by eye (tools: list, read, search): 1",
        "say: talker\n",
        "evaluation of eye (role reviewer or qa), bar 60, then stage licence by true, then stage legal by eye, then",
    ]);
}
