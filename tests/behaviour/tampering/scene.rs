//! A run of all kinds of work, by scripted agents, in two sessions.

use serde_json::json;

use crate::support::scenes::approvals::only_approval;
use crate::support::{BINARY, Mission, Workspace, task};

fn mission() -> Mission {
    Mission::new()
        .key("redTeam", json!({"agent": "mallet", "minStakes": "high"}))
        .key("rubrics", json!({
            "usable": {"criteria": [{"name": "example", "weight": 1, "grade": "binary", "required": true}]}
        }))
        .key("qualityGates", json!([
            {"name": "good", "afterTasks": ["judged"], "blocksTasks": ["last"], "minScore": 3}
        ]))
        .agent_with("worker", json!({"run": ["/bin/sh", "worker.sh"]}))
        .judge("a", &[])
        .judge("b", &[])
        .answerer("editor", &[])
        .answerer("lawyer", &[])
        .answerer("mallet", &[])
        .setting("concurrency", 1)
        .task("judged", |t| t.set("stakes", "high").files(["judged.txt"]).set("verify", json!({
            "commands": ["test -s judged.txt"]
        })).set("stages", json!([{"name": "legal", "agent": "lawyer"}, {"name": "shape", "command": "echo fine"}])).expects(json!({"type": "script", "command": "true"})).expects(json!({"type": "file_exists", "paths": ["judged.txt"]})).expects(json!({"type": "llm_review", "reviewers": ["a", "b"], "dimensions": [{"name": "depth", "weight": 1}]})))
        .task("verified", |t| t.by("editor").set("type", "verification").set("description", "Is it usable?").needs("judged").set("acceptance", ["there is an example"]).set("verification", json!({
            "rubric": "usable", "threshold": 70
        })).set("onPass", "asking").set("onFail", "repair").set("onRefer", "look"))
        .task("asking", |t| t.unreviewed())
        .tasks(["repair", "look"])
        .task("last", |t| t.unreviewed().needs("asking"))
}

const WORKER: &str = "
cat > prompt
[ $QUORUM_TASK != judged ] || echo \"as of attempt $QUORUM_ATTEMPT\" > judged.txt
[ $QUORUM_TASK != asking ] || grep -q '^Answer: ' prompt || exec @quorum ask 'Which one?'
echo \"$QUORUM_TASK is done\"
";

/// The run `r1`: a panel that sends work back once, checks, a finish gate, stages by agent and by command, a red team, a
/// verification, a question that a person answers, a gate.
pub fn of_all_kinds() -> Workspace {
    let workspace = mission().workspace();
    workspace.write("worker.sh", WORKER.replace("@quorum", BINARY));
    let scores = |score: u32| {
        json!({"scores": {"depth": {"score": score, "reasoning": format!("it is a {score}")}}, "findings": [], "summary": "s"})
            .to_string()
    };
    workspace.judge("a", &[&scores(1), &scores(4)]);
    workspace.judge("b", &[&scores(2), &scores(5)]);
    let opinion = json!({"verdict": "pass", "reason": "no objection"});
    workspace.judge("lawyer", &[&opinion.to_string()]);
    let findings = json!({"findings": [], "summary": "it holds"});
    workspace.judge("mallet", &[&findings.to_string()]);
    let graded = json!({
        "criteria": {"example": {"grade": 1, "reasoning": "there is one"}}, "verdict": "pass", "confidence": 0.9,
    });
    workspace.judge("editor", &[&graded.to_string()]);
    let waits = workspace.run_json(8, &["--run-id", "r1"]);
    assert_eq!(task(&waits, "judged")["attempts"].as_array().map(Vec::len), Some(2), "{waits:#}");
    workspace.quorum(&["answer", &only_approval(&workspace), "The second.", "--as", "ada"]).exits(0);
    workspace.resume_json(0, &[]);
    workspace
}
