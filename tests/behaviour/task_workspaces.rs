//! A task's own workspace is there for whoever works in it first, agent or not.

use serde_json::json;

use crate::support::{Mission, standing};

#[test]
fn checks_stages_and_reviewers_find_a_workspace_that_no_process_has_made() {
    let workspace = Mission::new()
        .agent_with("echo", json!({"adapter": "echo"}))
        .reviewer("judge", "cat > /dev/null; pwd > seen; echo SCORE: 90")
        .task("checked", |t| {
            t.set("workspace", "one")
                .set("baseline", false)
                .check("test -d .")
                .set("stages", json!([{"name": "place", "command": "pwd > stage"}]))
        })
        .task("judged", |t| t.set("workspace", "two"))
        .workspace();
    let document = workspace.run_json(0, &[]);
    assert_eq!(standing(&document, "checked"), ("done", "clean"));
    assert_eq!(standing(&document, "judged"), ("done", "clean"));
    assert!(workspace.read("one/stage").trim().ends_with("/one"));
    assert!(workspace.read("two/seen").trim().ends_with("/two"));
}

#[test]
fn whoever_is_asked_outside_of_a_session_finds_the_workspace_as_well() {
    let judge = r#"printf '{"scores": {"depth": {"score": 4, "reasoning": "r"}}, "findings": []}'"#;
    let workspace = Mission::new()
        .key("workspace", "not/yet/there")
        .agent_with("w", json!({"adapter": "echo"}))
        .reviewer("judge", judge)
        .tasks(["t"])
        .workspace();
    let row = json!({
        "source": "mine", "group": "a", "dims": ["depth"], "scale": [1, 5],
        "meanings": {"depth": "It goes beneath the surface."},
        "task": "Write something deep.", "criteria": "It is deep.", "work": "The sea is deep.",
        "human": {"mean": [4]},
    });
    workspace.write("labels.jsonl", format!("{row}\n"));
    let calibrate =
        ["calibrate", "labels.jsonl", "--record", "replies.jsonl", "--json", "--reviewers", "judge"];
    let document = workspace.quorum(&calibrate).exits(0).json();
    assert_eq!(document["asked"][0]["replied"], 1, "{document}");
}
