//! Fixups, through the binary.

use serde_json::json;

use crate::support::scenes::approvals::only_approval;
use crate::support::{Has, Says, Workspace, attempts, gate, standing, task};

/// What the worker makes of the work depends on what it is told; it keeps every prompt.
const MISSION: &str = "
name: mended
settings: {maxFixAttempts: 0, maxRetries: 1}
agents:
  worker: {run: [/bin/sh, worker.sh]}
  next: {run: 'echo \"$QUORUM_TASK\" >> order', input: none}
tasks:
  - title: work
    description: Do it <well>.
    assignTo: worker
    onExhausted: fixup
    expectations: [{type: script, command: 'echo \"found: no \\`tests\\`\"; test -e good'}]
  - {title: after, assignTo: next, dependsOn: [work], review: none}
  - {title: behind, assignTo: next, review: none}
qualityGates: [{name: door, afterTasks: [work], blocksTasks: [behind], requireAllPassed: true}]
";

const WORKER: &str = "echo \"$QUORUM_TASK\" >> order
cat > \"prompt.$QUORUM_TASK.$QUORUM_ATTEMPT\"
case \"$QUORUM_TASK\" in *fixup*) FIXUP ;; esac
";

fn workspace(fixup: &str) -> Workspace {
    let workspace = Workspace::with(MISSION);
    workspace.write("worker.sh", WORKER.replace("FIXUP", fixup));
    workspace
}

#[test]
fn a_clean_fixup_makes_up_for_the_failure() {
    let workspace = workspace("touch good");
    let document = workspace.run_json(0, &["--report", "junit=junit.xml", "--report", "markdown=page.md"]);
    assert_eq!(document["conditions"], json!(["ok"]));
    let counts = &document["counts"];
    counts.has(json!({"total": 4, "done": 3, "failed": 0, "superseded": 1}));
    let work = task(&document, "work");
    work.has(json!({"status": "failed", "supersededBy": "work (fixup)", "failure": {"mode": "quality"}}));
    assert_eq!(attempts(&document, "work"), ["execute", "retry"]);
    let fixup = task(&document, "work (fixup)");
    assert_eq!(fixup["added"], json!({"origin": "fixup", "source": "work"}));
    assert_eq!(standing(&document, "work (fixup)"), ("done", "clean"));
    assert_eq!(gate(&document, "door")["state"], "passed");
    let order = workspace.lines("order");
    assert_eq!(order[..3], ["work", "work", "work (fixup)"], "{order:?}");
    assert_eq!(order.len(), 5);
    // What was found comes along as data.
    let text = workspace.read("prompt.work (fixup).1");
    text.says(&["Do it <well>.", "The task 'work' was given up", "Attempt 1", "Attempt 2", "found: no"]);
    // All reports say the same.
    workspace.read("junit.xml").says(&["superseded by", "failures=\"0\""]);
    assert!(workspace.read("page.md").contains("superseded by 'work (fixup)'"));
    workspace.quorum(&["status"]).exits(0).shows(&["3 of 4 done, 1 superseded"]);
    workspace.quorum(&["status", "--exit-code"]).exits(0);
    assert_eq!(workspace.status()["tasks"], document["tasks"]);
    let superseded = workspace.events().first_named("task:superseded");
    assert_eq!((&superseded["title"], &superseded["by"]), (&json!("work"), &json!("work (fixup)")));
}

#[test]
fn a_fixup_that_fails_changes_nothing() {
    let workspace = workspace("true");
    let document = workspace.run_json(3, &[]);
    assert_eq!(document["counts"]["failed"], 3, "{document:#}");
    assert_eq!(document["counts"]["total"], 4, "there is one at most");
    assert_eq!(task(&document, "after")["failure"]["mode"], "cascade");
    assert_eq!(gate(&document, "door")["state"], "failed");
    assert!(task(&document, "work").get("supersededBy").is_none());

    // Tried again, the task itself is; its fixup is taken back.
    workspace.write("good", "");
    let document = workspace.resume_json(0, &["--retry-failed"]);
    assert_eq!(document["counts"]["total"], 3);
    assert_eq!(standing(&document, "work"), ("done", "clean"));
}

#[test]
fn a_killed_run_goes_on_with_its_fixup() {
    let workspace = workspace("echo yes > started; while test ! -e go; do sleep 0.02; done; touch good");
    workspace.kill_at(&["run", "mission.yaml"], "started");
    let document = workspace.status();
    assert_eq!(document["resumable"], true);
    assert_eq!(task(&document, "after")["blockedBy"], json!(["work (fixup)"]));
    workspace.write("go", "");
    let document = workspace.resume_json(0, &[]);
    assert_eq!(document["counts"]["superseded"], 1);
    assert_eq!(workspace.lines("order").iter().filter(|line| line.contains("fixup")).count(), 1);
}

#[test]
fn a_fixup_does_not_act_again_without_a_person() {
    let workspace = workspace("touch good")
        .tap_mission("onExhausted: fixup", "onExhausted: fixup\n    sideEffects: true\n    maxAttempts: 1");
    let document = workspace.run_json(3, &[]);
    assert_eq!(document["conditions"], json!(["task_failed", "awaiting"]));
    document["approvals"][0].has(json!({"task": "work (fixup)", "reason": "side-effects"}));
    assert_eq!(workspace.lines("order"), ["work"]);
    workspace.quorum(&["approve", &only_approval(&workspace)]).exits(0);
    let document = workspace.resume_json(0, &[]);
    assert_eq!(document["counts"]["superseded"], 1);
    assert!(workspace.read("prompt.work (fixup).1").contains("Do not repeat"));
}

#[test]
fn a_changed_task_takes_its_fixup_along_and_a_redone_fixup_what_was_built_on_it() {
    let workspace = workspace("touch good");
    workspace.run_json(0, &[]);
    let refused = workspace.quorum(&["resume", "--redo", "work"]).exits(2);
    assert!(refused.stderr.contains("superseded"), "{}", refused.stderr);
    let document = workspace.resume_json(0, &["--redo", "work (fixup)"]);
    assert_eq!(attempts(&document, "after"), ["execute", "execute"]);
    assert_eq!(document["counts"]["superseded"], 1);

    let workspace = workspace.tap_mission("Do it <well>.", "Do it better.");
    let document = workspace.resume_json(0, &["--accept-changed-mission"]);
    assert_eq!(document["counts"]["total"], 3, "{document:#}");
    assert_eq!(standing(&document, "work"), ("done", "clean"), "what it lacked is there now");
}

#[test]
fn the_mission_that_grows_runs_as_it_stands() {
    let workspace = Workspace::of_missions(&["growing.yaml", "growing/writer.sh", "growing/critic.sh"]);
    let document = workspace.quorum(&["run", "growing.yaml", "--json"]).exits(0).json();
    document["counts"].has(json!({"superseded": 1, "relaxed": 1, "belowThreshold": 0}));
    assert!(workspace.read("playground/handbook/handbook.md").contains("For example"));
}
