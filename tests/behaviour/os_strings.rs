//! What the system takes and records cannot hold: variables and folders that are not UTF-8; names that git does not take.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use crate::support::{Mission, Running, Says, Workspace};

const RAW: &[u8] = b"\xff\xfe";

/// A worker that leaves what it was handed, with these keys.
fn handed(keys: &str) -> Workspace {
    let mission = Mission::new().worker("env > seen; touch touched").change_agent("worker", keys);
    mission.setting("evaluate", false).tasks(["one"]).workspace()
}

fn with_raw(workspace: &Workspace, variable: &str, arguments: &[&str]) -> crate::support::Finished {
    let mut command = workspace.command(arguments);
    command.env(variable, OsStr::from_bytes(RAW));
    Running::start(command).finish()
}

#[test]
fn a_variable_that_is_not_text_is_named_before_any_work() {
    let workspace = handed(", env: {V: \"${RAW}\"}");
    with_raw(&workspace, "RAW", &["run", "mission.yaml"]).exits(9).says(&["RAW", "UTF-8"]);
    workspace.assert_nothing_started();
    with_raw(&workspace, "RAW", &["doctor", "--mission", "mission.yaml"]).exits(9).shows(&["RAW", "UTF-8"]);
}

#[test]
fn a_variable_that_is_not_handed_on_because_it_is_not_text_is_named() {
    for (keys, variable) in [(", passEnv: [RAW]", "RAW"), ("", "TERM"), ("", "LANG")] {
        let workspace = handed(keys);
        let ended = with_raw(&workspace, variable, &["run", "mission.yaml"]).exits(0);
        ended.says(&[variable, "not UTF-8"]);
    }
    let workspace = handed("");
    let ended = with_raw(&workspace, "RAW", &["run", "mission.yaml"]).exits(0);
    assert!(!ended.stderr.contains("UTF-8"), "{}", ended.stderr);
}

#[test]
fn a_folder_whose_path_is_not_text_is_refused_before_any_work() {
    let workspace = handed("");
    let folder = workspace.root().join(OsStr::from_bytes(RAW));
    fs::create_dir(&folder).expect("the file system takes any name");
    fs::copy(workspace.path("mission.yaml"), folder.join("mission.yaml")).expect("it can be copied");
    let start = |arguments: &[&str]| {
        let mut command = workspace.command(arguments);
        command.current_dir(&folder);
        Running::start(command).finish()
    };
    start(&["run"]).exits(9).says(&["UTF-8"]);
    start(&["status"]).exits(9).says(&["UTF-8"]);
    let state = workspace.path("state").display().to_string();
    start(&["run", "--state-dir", &state]).exits(9).says(&["UTF-8"]);
    assert!(!folder.join("touched").exists() && !folder.join(".polpo").exists());
}

#[test]
fn a_run_id_that_git_takes_no_reference_with_is_refused() {
    let workspace = handed("");
    for id in ["a..b", "a.lock", "a."] {
        workspace.quorum(&["run", "mission.yaml", "--run-id", id]).exits(2).says(&[id, "git"]);
    }
    workspace.assert_nothing_started();
    workspace.quorum(&["run", "mission.yaml", "--run-id", "a.b"]).exits(0);
}

#[test]
fn a_run_that_could_not_begin_is_not_said_to_be_resumable() {
    let workspace = handed("");
    let ended = workspace.bash("ulimit -f 1; \"$0\" run mission.yaml --run-id r1");
    let ended = ended.exits(1);
    assert!(!ended.stderr.contains("quorum resume"), "{}", ended.stderr);
    ended.stderr.says(&["nothing was started"]);
    workspace.quorum(&["run", "mission.yaml", "--run-id", "r1"]).exits(0);
}
