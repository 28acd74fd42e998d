//! A bug of quorum's own: exit code 1, never a signal, with what to do next. (The bug is asked for by a variable that only
//! builds with debug assertions know.)

use crate::support::{Mission, skipped};

#[test]
fn a_bug_ends_with_exit_code_1_and_the_command_that_goes_on() {
    if !cfg!(debug_assertions) {
        return skipped("only a build with debug assertions can be asked for a bug");
    }
    let workspace = Mission::new().key("name", "bug").worker("touch touched").tasks(["one"]).workspace();
    workspace
        .quorum_with(&[("QUORUM_TEST_PANIC", "1")], &["run", "mission.yaml", "--run-id", "r1"])
        .exits(1)
        .says(&["bug of quorum", "please report it", "quorum resume r1"]);
    // Nothing of it holds the state folder.
    workspace.quorum(&["run", "mission.yaml", "--run-id", "r2"]).exits(0);
}
