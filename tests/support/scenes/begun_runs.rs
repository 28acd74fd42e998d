//! Runs that have begun and wait: one that was interrupted, one that a person is asked about.

use std::fs;

use rustix::process::Signal;
use serde_json::json;

use crate::support::{Finished, Mission, Running, Workspace, wait_for_file};

/// A run that was interrupted after its first task, with the file that lets the second one go on.
pub fn interrupted() -> Workspace {
    let workspace = Mission::new()
        .key("name", "interrupted")
        .agent_with("quick", json!({"run": ["/bin/sh", "@agents/logger.sh", "log"]}))
        .agent("slow", "echo > started; while [ ! -e go ]; do sleep 0.02; done")
        .tasks(["quick"])
        .task("slow", |t| t.by("slow").needs("quick"))
        .workspace();
    let running = workspace.start(&["run", "mission.yaml", "--run-id", "r1"]);
    wait_for_file(&workspace.path("started"));
    running.signal(Signal::INT);
    running.finish().exits(130);
    workspace.write("go", "");
    workspace
}

/// `one/` with a run that waits for a person.
pub fn begun(mission: &Mission) -> Workspace {
    let workspace = Workspace::new();
    workspace.write("one/mission.yaml", mission.yaml());
    workspace.write("one/agents/first.sh", "#!/bin/sh\necho one > One.txt\n");
    let script = workspace.path("one/agents/first.sh");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(script, executable).expect("it can be made executable");
    in_folder(&workspace, "one", &["run", "-q", "--run-id", "r1"]).exits(8);
    workspace
}

/// Runs quorum in a folder of the workspace, to its end.
pub fn in_folder(workspace: &Workspace, folder: &str, arguments: &[&str]) -> Finished {
    let mut command = workspace.command(arguments);
    command.current_dir(workspace.path(folder));
    Running::start(command).finish()
}
