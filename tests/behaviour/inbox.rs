//! `quorum inbox`: all that wants a person in one list, and its two halves under their old names.

use serde_json::{Value, json};

use crate::operator::on_record;
use crate::support::{Has, Mission, Workspace, wait_for};

fn inbox(workspace: &Workspace) -> Value {
    let document = workspace.quorum(&["inbox", "--json"]).exits(0).json();
    document.has(json!({"schema": "quorum.inbox/v1", "runId": "r1"}));
    // The halves are the same rows under the names that they had.
    for half in ["approvals", "requests"] {
        let old = workspace.quorum(&[half, "--json"]).exits(0).json();
        assert_eq!(old["schema"], format!("quorum.{half}/v1"));
        assert_eq!(old[half], document[half]);
    }
    document
}

#[test]
fn a_question_a_checkpoint_and_work_below_the_bar_stand_in_one_list() {
    let mission = "
name: m
agents:
  worker: {run: 'cat > /dev/null; echo done > out.txt; echo I did it.'}
  asker: {run: 'cat > /dev/null; @quorum agent ask Which?'}
  judge: {run: 'cat > /dev/null; echo SCORE: 40', role: reviewer}
tasks:
  - {title: weak, assignTo: worker, maxAttempts: 1, onExhausted: accept, targetFiles: [out.txt]}
  - {title: unclear, assignTo: asker, review: none}
  - {title: later, assignTo: worker, review: none}
checkpoints: [{name: go, blocksTasks: [later], afterTasks: [weak], message: look at staging}]
";
    let workspace = Workspace::with(&mission.replace("@quorum", crate::support::BINARY));
    workspace.quorum(&["run", "--run-id", "r1"]).exits(5);
    let document = inbox(&workspace);
    let rows = document["approvals"].as_array().expect("a list");
    let reasons: Vec<&Value> = rows.iter().map(|row| &row["reason"]).collect();
    assert_eq!(reasons, [&json!("checkpoint"), &json!("question")]);
    assert_eq!(document["requests"][0]["task"], "weak");
    let ended = workspace.quorum(&["inbox", "r"]).exits(0);
    ended.shows(&["go  checkpoint: look at staging", "unclear  question: Which?", "weak  below"]);
}

#[test]
fn a_delay_is_listed_with_the_moment_that_ends_it() {
    let workspace = Mission::new()
        .worker("true")
        .key(
            "delays",
            json!([
                {"name": "cool", "afterTasks": ["build"], "blocksTasks": ["ship"], "duration": "60s"},
            ]),
        )
        .setting("evaluate", false)
        .tasks(["build", "ship"])
        .workspace();
    let running = workspace.start(&["run", "--run-id", "r1"]);
    wait_for("the delay", || on_record(&workspace, "hold:opened delay") == 1);
    let document = inbox(&workspace);
    let row = &document["approvals"][0];
    assert_eq!((&row["id"], &row["task"]), (&Value::Null, &Value::Null));
    assert_eq!((&row["reason"], &row["delay"]), (&json!("delay"), &json!("cool")));
    let until = row["expires"].as_str().expect("a moment");
    workspace.quorum(&["inbox"]).exits(0).shows(&[&format!("cool  delay until {until}")]);

    // Where nothing waits for it any more, it is nothing to wait for.
    workspace.quorum(&["cancel", "ship", "--yes"]).exits(0);
    running.finish();
    assert_eq!(inbox(&workspace)["approvals"], json!([]));
}

#[test]
fn nothing_that_waits_is_said() {
    let workspace = Mission::new().agent("a", "true").setting("evaluate", false).tasks(["t"]).workspace();
    workspace.quorum(&["run", "--run-id", "r1"]).exits(0);
    assert_eq!(inbox(&workspace)["approvals"], json!([]));
    let text = workspace.quorum(&["inbox"]).exits(0).stdout;
    assert_eq!(text, "nothing waits for a person\n");
}
