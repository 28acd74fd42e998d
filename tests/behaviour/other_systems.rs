//! Missions and words as other systems write them: what means the same loads, and what is called otherwise here leads to its key.

use serde_json::{Value, json};

use crate::support::{Says, Workspace};

/// A mission around what an example says: the agents and channels that it names are defined.
fn around(example: &Value) -> Value {
    let mut mission = json!({
        "name": "around an example",
        "agents": {"worker": {"run": "echo done"}, "judge": {"run": "echo SCORE: 90", "role": "reviewer"}},
        "channels": {"alerts": {"type": "file", "path": "alerts"}, "pager": {"type": "file", "path": "pager"}},
        "tasks": [{"title": "work", "assignTo": "worker"}],
    });
    for (key, value) in example.as_object().expect("an object") {
        mission[key] = value.clone();
    }
    mission
}

#[track_caller]
fn validated(mission: &Value, code: i32) -> String {
    let workspace = Workspace::new();
    workspace.write("mission.json", mission.to_string());
    workspace.quorum(&["validate", "mission.json"]).exits(code).stderr
}

#[test]
fn examples_of_other_systems_load_as_they_stand() {
    let rubric =
        |three: &str| json!({"1": "slow", "2": "works", "3": three, "4": "fast", "5": "as fast as can be"});
    for example in [
        // Gates between phases, with a bar and a channel.
        json!({
            "tasks": [
                {"title": "core", "assignTo": "worker"},
                {"title": "tests", "assignTo": "worker"},
                {"title": "integration", "assignTo": "worker"},
                {"title": "staging", "assignTo": "worker"},
            ],
            "qualityGates": [
                {"name": "code", "afterTasks": ["core", "tests"], "blocksTasks": ["integration"],
                 "minScore": 4.0, "requireAllPassed": true, "notifyChannels": ["alerts"]},
                {"name": "whole", "afterTasks": ["integration"], "blocksTasks": ["staging"], "requireAllPassed": true},
            ],
        }),
        // A bar for the mission, weighted by priority.
        json!({
            "qualityThreshold": 3.5,
            "tasks": [
                {"title": "critical", "priority": 2.0, "assignTo": "worker"},
                {"title": "nice to have", "priority": 0.5, "assignTo": "worker"},
            ],
        }),
        // Deadlines.
        json!({"settings": {"sla": {
            "warningThreshold": 0.8, "checkIntervalMs": 30000, "warningChannels": ["alerts"],
            "violationChannels": ["alerts", "pager"], "violationAction": "notify",
        }}}),
        json!({"settings": {"sla": {"violationAction": "fail"}}, "deadline": "2030-01-31T12:00:00Z"}),
        // A task with what it is judged by.
        json!({"tasks": [
            {"title": "schema", "assignTo": "worker"},
            {"title": "api", "assignTo": "worker", "description": "Create the endpoints.", "dependsOn": ["schema"],
             "expectations": [{"type": "llm_review", "criteria": "The endpoints return correct codes."}]},
        ]}),
        json!({"tasks": [{"title": "mail", "assignTo": "worker", "sideEffects": true, "requiresApproval": true}]}),
        // Allowances and limits of tasks.
        json!({"settings": {
            "maxRetries": 3, "maxFixAttempts": 2, "maxQuestionRounds": 2, "maxResolutionAttempts": 2,
            "taskTimeout": 1800000, "staleThreshold": 300000,
        }}),
        // Dimensions with a scale of sentences.
        json!({"tasks": [{"title": "work", "assignTo": "worker", "expectations": [
            {"type": "llm_review", "dimensions": [{"name": "performance", "weight": 0.5, "rubric": rubric("fair")}]},
        ]}]}),
        // What must be seen before the end of a turn counts.
        json!({"tasks": [{"title": "work", "assignTo": "worker", "verify": {
            "requiredTests": ["a"], "testCommand": "true {test}", "requireFileChanges": true, "maxAttempts": 2,
            "requireCompilation": true, "compileCommand": "true", "compilationMaxAttempts": 8,
        }}]}),
        // How evaluation is switched.
        json!({"settings": {"evaluate": true, "evalThreshold": 60, "maxAttempts": 2, "failOpenOnUnparsedEval": false}}),
        // Both chains of middleware, by their names.
        json!({"settings": {"middleware": {
            "agent": ["checkpoint_resume", "delegation_chain_hash", "authority_deference", "sanitize_message",
                      "security_interceptor", "policy_gate", "approval_gate", "assumption_violation",
                      "classification", "cost_recording", "semantic_drift"],
            "coordination": ["clarification_gate", "task_ledger", "plan_review_gate", "progress_ledger",
                             "coordination_replan", "authority_deference_coordination"],
        }}}),
    ] {
        let warnings = validated(&around(&example), 0);
        warnings.omits(&["error"]);
    }
}

#[test]
fn the_reply_of_another_systems_reviewer_is_read() {
    let reply = |name: &str, weight: f64| json!({"dimension": name, "score": 4, "reasoning": "it does what was asked", "weight": weight});
    let replies = json!([
        reply("correctness", 0.35),
        reply("completeness", 0.3),
        reply("code_quality", 0.2),
        reply("edge_cases", 0.15)
    ]);
    let workspace = Workspace::new();
    workspace.write("reply.json", replies.to_string());
    let mission = json!({"agents": {
        "worker": {"run": "cat > /dev/null; echo done"},
        "judge": {"run": "cat > /dev/null; cat reply.json", "role": "reviewer"},
    }, "tasks": [{"title": "work", "assignTo": "worker", "expectations": [{"type": "llm_review"}]}]});
    workspace.write("mission.yaml", around(&mission).to_string());
    assert_eq!(workspace.run_json(0, &[])["tasks"][0]["points"], 80.0);
}

/// Where a key is written, and what is written there.
fn written(place: &str, key: &str, value: &Value) -> Value {
    let keys = json!({ key: value });
    let mut task = json!({"title": "work", "assignTo": "worker"});
    match place {
        "mission" => keys,
        "settings" => json!({"settings": keys}),
        "task" => {
            task[key] = value.clone();
            json!({"tasks": [task]})
        }
        "review" => {
            task["expectations"] = json!([{"type": "llm_review", key: value}]);
            json!({"tasks": [task]})
        }
        "rubric" => json!({"rubrics": {"mine": {"criteria": [{"name": "a", "weight": 1}], key: value}}}),
        "criterion" => json!({"rubrics": {"mine": {"criteria": [{"name": "a", "weight": 1, key: value}]}}}),
        key_of_task => {
            task[key_of_task] = keys;
            json!({"tasks": [task]})
        }
    }
}

#[test]
fn spellings_of_other_systems_lead_to_the_key_that_means_the_same() {
    const GATE: &[&str] = &["verify: {"];
    const REVIEW: &[&str] = &["expectations: [{type: llm_review", "threshold", "dimensions"];
    let table: &[(&str, &[&str], &[&str])] = &[
        (
            "task",
            &["verificationGate", "VerificationGate", "verification_gate", "verificationCriteria"],
            GATE,
        ),
        (
            "task",
            &["requiredTests", "requireFileChanges", "requireCompilation", "compilationMaxAttempts"],
            GATE,
        ),
        ("verification", &["requiredTests", "requireFileChanges", "compilationMaxAttempts"], GATE),
        ("task", &["FAIL_TO_PASS", "failToPass"], &["verify: {failToPass"]),
        ("mission", &["verificationGate", "VerificationCriteria"], GATE),
        ("settings", &["verificationGate"], GATE),
        ("mission", &["evalThreshold"], &["settings: {evalThreshold: ...}"]),
        ("mission", &["evaluate"], &["settings: {evaluate: ...}"]),
        ("mission", &["failOpenOnUnparsedEval"], &["settings: {failOpenOnUnparsedEval: ...}"]),
        ("mission", &["maxFixAttempts"], &["settings: {maxFixAttempts: ...}"]),
        ("mission", &["taskTimeout"], &["settings: {taskTimeout: ...}"]),
        ("mission", &["sla"], &["settings: {sla: ...}"]),
        ("mission", &["approvalGates"], &["settings: {approvalGates: ...}"]),
        ("mission", &["middleware"], &["settings: {middleware: ...}"]),
        ("task", &["evalThreshold", "qualityThreshold", "threshold", "dimensions", "rubric"], REVIEW),
        ("mission", &["dimensions", "threshold"], REVIEW),
        ("review", &["evalThreshold", "qualityThreshold"], &["write `threshold: ...`"]),
        ("mission", &["gates", "quality_gates", "qualitygates"], &["qualityGates"]),
        ("settings", &["gates", "qualityGates"], &["qualityGates: [...]"]),
        ("settings", &["qualityThreshold"], &["one of the mission", "qualityThreshold: ..."]),
        ("task", &["gates", "qualityGates"], &["qualityGates: [...]"]),
        ("task", &["VERIFICATION_PASS", "verificationPass"], &["onPass: TITLE"]),
        ("task", &["VERIFICATION_FAIL", "verificationFail"], &["onFail: TITLE"]),
        ("task", &["VERIFICATION_REFER", "verification_refer"], &["onRefer: TITLE"]),
        ("task", &["middleware_override", "middlewareOverride"], &["middleware: [...]"]),
        ("mission", &["security", "vision_verify"], &["redTeam: {agent: NAME}", "vision: {kind: ...}"]),
        ("settings", &["security", "red_team"], &["redTeam: {agent: NAME}", "vision: {kind: ...}"]),
        ("task", &["red_team", "vision"], &["redTeam: {agent: NAME}", "vision: {kind: ...}"]),
        ("mission", &["red_team"], &["redTeam"]),
        ("mission", &["semantic_drift_enabled"], &["settings: {middleware: {agent: [..., semantic_drift]}}"]),
        ("settings", &["semanticDriftEnabled"], &["settings: {middleware: {agent: [..., semantic_drift]}}"]),
        ("rubric", &["calibration_examples"], &["examples: [...]"]),
        ("verification", &["calibration_examples"], &["examples: [...]"]),
        ("rubric", &["minimum_confidence"], &["minConfidence"]),
        ("criterion", &["grade_type"], &["grade: binary | ternary | score"]),
        ("task", &["criteria_decomposer"], &["decomposer: {agent: NAME}"]),
        ("mission", &["criteria_decomposer", "decomposer"], &["decomposer: {agent: NAME}"]),
        ("task", &["acceptance_criteria", "acceptanceCriteria"], &["'acceptance'"]),
        ("mission", &["review_pipeline"], &["stages: [{name:"]),
        ("task", &["side_effects"], &["'sideEffects'"]),
        ("task", &["taskTimeout"], &["maxDuration"]),
        ("task", &["maxQuestionRounds", "failOpenOnUnparsedEval", "autoRejectOnTimeout"], &["`settings`"]),
    ];
    for (place, keys, words) in table {
        for key in *keys {
            let text = validated(&around(&written(place, key, &json!({}))), 2);
            text.says(&["error[Q0201]", key]).says(words);
        }
    }
}

#[test]
fn words_of_other_systems_lead_to_the_word_that_means_the_same() {
    for (task, words) in [
        (json!({"decomposer": "llm", "acceptance": ["it works"]}), "decomposer: {agent: NAME}"),
        (json!({"verification": {"grader": "HEURISTIC"}}), "'heuristic'"),
        (json!({"type": "VERIFICATION"}), "'verification'"),
        (json!({"expectations": [{"type": "llmReview"}]}), "'llm_review'"),
    ] {
        let mut all = json!({"title": "work", "assignTo": "worker"});
        for (key, value) in task.as_object().expect("keys") {
            all[key] = value.clone();
        }
        validated(&around(&json!({"tasks": [all]})), 2).says(&["error[Q0205]", words]);
    }
    let text = validated(&around(&json!({"redTeam": {"enabled": true, "agent": "judge"}})), 2);
    text.says(&["a red team that is declared is on"]);
    // One mistake is one error.
    let text = validated(&around(&json!({"redTeam": {"enabled": true}})), 2);
    text.says(&["a red team needs `agent`"]).omits(&["there is no agent"]);
}
