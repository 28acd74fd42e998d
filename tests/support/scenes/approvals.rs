//! Work that waits for a person: what is asked, and what a test says to it.

use crate::support::{Mission, Workspace, wait_for};

/// One task that nobody may review, one that hangs on it, and the agent `slow`.
pub fn parked() -> Workspace {
    Mission::new()
        .keeps_prompts("worker", "prompts")
        .agent("slow", "echo $$ > pid; while ! test -e go; do sleep 0.05; done")
        .setting("concurrency", 2)
        .task("work", |t| t.set("review", "required"))
        .task("next", |t| t.needs("work").unreviewed())
        .workspace()
}

/// A task that keeps a session alive until there is a file `go`.
pub fn slow(mission: Mission) -> Mission {
    mission.task("slow", |t| t.by("slow").unreviewed())
}

/// The id of the one question that is open.
pub fn only_approval(workspace: &Workspace) -> String {
    let document = workspace.quorum(&["approvals", "--json"]).exits(0).json();
    let approvals = document["approvals"].as_array().expect("there is a list").clone();
    assert_eq!(approvals.len(), 1, "{document:#}");
    approvals[0]["id"].as_str().expect("it has an id").to_owned()
}

/// Waits until one question is open.
pub fn waits(workspace: &Workspace) {
    wait_for("the approval", || {
        let listed = workspace.quorum(&["approvals", "--json"]);
        listed.code() == Some(0) && listed.json()["approvals"].as_array().is_some_and(|list| list.len() == 1)
    });
}
