//! A task's own workspace is there for whoever works in it first, agent or not.

use crate::support::{Workspace, standing};

#[test]
fn checks_stages_and_reviewers_find_a_workspace_that_no_process_has_made() {
    let workspace = Workspace::with(
        r#"
name: an echo in a folder of its own
agents:
  echo: {adapter: echo}
  judge: {run: 'cat > /dev/null; pwd > seen; echo SCORE: 90', role: reviewer}
tasks:
  - title: checked
    assignTo: echo
    workspace: one
    expectations: [{type: test, command: 'test -d .'}]
    stages: [{name: place, command: 'pwd > stage'}]
  - {title: judged, assignTo: echo, workspace: two}
"#,
    );
    let document = workspace.run_json(0, &[]);
    assert_eq!(standing(&document, "checked"), ("done", "clean"));
    assert_eq!(standing(&document, "judged"), ("done", "clean"));
    assert!(workspace.read("one/stage").trim().ends_with("/one"));
    assert!(workspace.read("two/seen").trim().ends_with("/two"));
}
