//! Gates let pass by a person, failed work tried again, done work redone.

use serde_json::json;

use crate::support::events::on_record;
use crate::support::{Mission, Workspace, attempts, gate, standing, task};

fn score(workspace: &Workspace, judge: &str, scores: &[u8]) {
    let reply = |score: &u8| format!(r#"{{"scores": {{"x": {{"reasoning": "r", "score": {score}}}}}}}"#);
    let replies: Vec<String> = scores.iter().map(reply).collect();
    workspace.judge(judge, &replies);
}

/// A judged task before a gate, one behind it.
fn gated(scores: &[u8]) -> Workspace {
    let workspace = Workspace::with(
        "
name: gated
agents:
  worker: {run: [/bin/sh, '@agents/logger.sh', log]}
  judge: {run: [/bin/sh, '@agents/judge.sh', judge]}
tasks:
  - {title: before, assignTo: worker, maxAttempts: 1, expectations: [{type: llm_review, threshold: 1, reviewers: [judge], dimensions: [{name: x, weight: 1}]}]}
  - {title: behind, assignTo: worker, evaluate: false}
settings: {evaluate: true}
qualityGates:
  - {name: door, afterTasks: [before], blocksTasks: [behind], minScore: 4}
"
        .replace(", evaluate: false", ", review: none")
        .as_str(),
    );
    score(&workspace, "judge", scores);
    workspace
}

#[test]
fn a_person_lets_a_failed_gate_pass_and_it_stays_visible() {
    let workspace = gated(&[3]);
    workspace.run_json(4, &[]);
    workspace.quorum(&["gate", "door", "--override"]).exits(2).says(&["--reason"]);
    workspace.quorum(&["gate", "door", "--override", "--yes", "--reason", " "]).exits(2);
    workspace.quorum(&["gate", "dor", "--override", "--yes", "--reason", "x"]).exits(2);
    workspace
        .quorum(&["gate", "door", "--override", "--yes", "--reason", "accepted risk", "--as", "ada"])
        .exits(0);
    let document = workspace.status();
    assert_eq!(gate(&document, "door")["state"], "overridden");
    assert_eq!(document["outcome"], json!(null), "the old outcome no longer holds");
    assert_eq!(document["state"], "suspended");

    let document = workspace.resume_json(0, &[]);
    assert_eq!(standing(&document, "behind").0, "done");
    assert_eq!(gate(&document, "door")["state"], "overridden");
    let audited = workspace.events().into_iter().find(|event| event["event"] == "quality:gate:overridden");
    let audited = audited.expect("the override is on record");
    assert_eq!((&audited["by"], &audited["reason"]), (&json!("ada"), &json!("accepted risk")));
    // Once more changes nothing.
    let ended = workspace.quorum(&["gate", "door", "--override", "--yes", "--reason", "again"]).exits(0);
    ended.says(&["open already"]);
    let events = workspace.events();
    let overridden = events.iter().filter(|event| event["event"] == "quality:gate:overridden");
    assert_eq!(overridden.count(), 1);
}

#[test]
fn a_gate_that_is_not_there_yet_can_be_waited_for_but_not_overridden() {
    let workspace = Mission::new()
        .worker("while ! test -e go; do sleep 0.05; done")
        .key("qualityGates", json!([{"name": "door", "afterTasks": ["before"], "blocksTasks": ["behind"]}]))
        .tasks(["before", "behind"])
        .workspace();
    let running = workspace.start(&["run", "mission.yaml"]);
    // A journal that is there may still be empty; a run whose first turn is on record can be looked into.
    crate::support::wait_for("the run", || on_record(&workspace, "agent:spawned") == 1);
    workspace.quorum(&["gate", "door", "--wait", "--timeout", "300ms"]).exits(8);
    let waiting = workspace.start(&["gate", "door", "--wait", "--timeout", "30s"]);
    workspace.write("go", "");
    waiting.finish().exits(0);
    running.finish().exits(0);
}

#[test]
fn failed_work_is_tried_again_and_done_work_is_not_repeated() {
    let workspace = Mission::new()
        .worker("echo $QUORUM_TASK $QUORUM_ATTEMPT >> log; test $QUORUM_TASK != weak || test -e repaired")
        .task("weak", |t| t.attempts(1))
        .task("next", |t| t.needs("weak"))
        .task("beside", |t| t.set("dependsOn", json!([])))
        .workspace();
    workspace.run_json(3, &[]);
    // Without the flag nothing happens to what has ended.
    workspace.quorum(&["resume"]).exits(3).says(&["nothing to resume"]);
    workspace.write("repaired", "");
    let document = workspace.resume_json(0, &["--retry-failed"]);
    for title in ["weak", "next", "beside"] {
        assert_eq!(standing(&document, title).0, "done", "{title}");
    }
    assert_eq!(attempts(&document, "weak"), ["execute", "execute"]);
    let mut log = workspace.lines("log");
    log.sort();
    assert_eq!(log, ["beside 1", "next 1", "weak 1", "weak 2"]);
}

#[test]
fn redone_work_takes_along_its_dependents_and_its_gates() {
    let workspace = gated(&[5, 3]);
    let document = workspace.run_json(0, &[]);
    assert_eq!(task(&document, "before")["points"], 100.0);
    workspace.quorum(&["resume", "--redo", "befor"]).exits(2).says(&["befor"]);
    let document = workspace.resume_json(4, &["--redo", "before"]);
    assert_eq!(task(&document, "before")["points"], 60.0);
    assert_eq!(attempts(&document, "before"), ["execute", "execute"]);
    assert_eq!(gate(&document, "door")["state"], "failed");
    assert_eq!(standing(&document, "behind").0, "pending");
    assert_eq!(workspace.lines("log"), ["before 1 1", "behind 1 1", "before 2 1"]);
    workspace.quorum(&["resume", "--redo", "behind"]).exits(2).says(&["pending"]);
}

#[test]
fn work_that_is_active_elsewhere_is_not_tried_again() {
    let workspace = Mission::new()
        .worker("test -e repaired")
        .agent("nobody", "true")
        .task("one", |t| t.attempts(1).unreviewed())
        .workspace();
    let first = workspace.run_json(3, &[]);
    Mission::new().worker("true").task("one", |t| t.set("review", "required")).write(&workspace);
    workspace.run_json(6, &[]);
    let run = first["runId"].as_str().expect("it has an id");
    Mission::new()
        .worker("test -e repaired")
        .agent("nobody", "true")
        .task("one", |t| t.attempts(1).unreviewed())
        .write(&workspace);
    workspace.quorum(&["resume", run, "--retry-failed"]).exits(9).says(&["one", "active"]);
}

#[test]
fn an_agent_cannot_open_its_own_gate() {
    let workspace = Mission::new()
        .key(
            "qualityGates",
            json!([
                {"name": "door", "afterTasks": ["weak"], "blocksTasks": ["behind"], "requireAllPassed": true}
            ]),
        )
        .agent("weak", "exit 1")
        .agent(
            "burglar",
            format!(
                "echo started >> tries\n\
for way in '' 'env -i' 'setsid -w env -i' 'env -u QUORUM_RUN_ID -u QUORUM_TURN_KEY'; do\n\
  $way {} gate door --override --reason mine --run $QUORUM_RUN_ID; echo $? >> tries\n\
done",
                crate::support::BINARY
            )
            .as_str(),
        )
        .task("weak", |t| t.attempts(1))
        .task("burglar", |t| t.by("burglar"))
        .tasks(["behind"])
        .workspace();
    let document = workspace.run_json(3, &[]);
    assert_eq!(workspace.lines("tries"), ["started", "9", "9", "9", "9"]);
    assert_eq!(gate(&document, "door")["state"], "failed");
}
