//! A run of all kinds of work, by scripted agents, in two sessions.

use serde_json::json;

use crate::support::scenes::approvals::only_approval;
use crate::support::{BINARY, Workspace, task};

const MISSION: &str = "
name: of all kinds
agents:
  worker: {run: [/bin/sh, worker.sh]}
  a: {run: [/bin/sh, '@agents/judge.sh', a], role: reviewer}
  b: {run: [/bin/sh, '@agents/judge.sh', b], role: reviewer}
  editor: {run: [/bin/sh, '@agents/judge.sh', editor]}
  lawyer: {run: [/bin/sh, '@agents/judge.sh', lawyer]}
  mallet: {run: [/bin/sh, '@agents/judge.sh', mallet]}
redTeam: {agent: mallet, minStakes: high}
settings: {concurrency: 1}
rubrics:
  usable: {criteria: [{name: example, weight: 1, grade: binary, required: true}]}
tasks:
  - title: judged
    assignTo: worker
    stakes: high
    targetFiles: [judged.txt]
    verify: {commands: ['test -s judged.txt']}
    stages: [{name: legal, agent: lawyer}, {name: shape, command: 'echo fine'}]
    expectations:
      - {type: script, command: 'true'}
      - {type: file_exists, paths: [judged.txt]}
      - {type: llm_review, reviewers: [a, b], dimensions: [{name: depth, weight: 1}]}
  - title: verified
    type: verification
    assignTo: editor
    description: Is it usable?
    dependsOn: [judged]
    acceptance: [there is an example]
    verification: {rubric: usable, threshold: 70}
    onPass: asking
    onFail: repair
    onRefer: look
  - {title: asking, assignTo: worker, review: none}
  - {title: repair, assignTo: worker}
  - {title: look, assignTo: worker}
  - {title: last, assignTo: worker, review: none, dependsOn: [asking]}
qualityGates:
  - {name: good, afterTasks: [judged], blocksTasks: [last], minScore: 3}
";

const WORKER: &str = "
cat > prompt
[ $QUORUM_TASK != judged ] || echo \"as of attempt $QUORUM_ATTEMPT\" > judged.txt
[ $QUORUM_TASK != asking ] || grep -q '^Answer: ' prompt || exec @quorum ask 'Which one?'
echo \"$QUORUM_TASK is done\"
";

/// The run `r1`: a panel that sends work back once, checks, a finish gate, stages by agent and by command, a red team, a
/// verification, a question that a person answers, a gate.
pub fn of_all_kinds() -> Workspace {
    let workspace = Workspace::with(MISSION);
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
