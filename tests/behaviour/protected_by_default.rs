//! What is protected without a word of the mission: itself, settings, recordings, and what its work is judged by.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::support::events::{is, on_record};
use crate::support::scenes::approvals::only_approval;
use crate::support::{Mission, Says, Workspace, standing, task, wait_for};

fn mission(worker: &str, task: &str) -> Workspace {
    let workspace = Workspace::with(&format!(
        "
name: judged by scripts
agents:
  worker: {{run: '{worker}'}}
  judge: {{run: [/bin/sh, tools/judge.sh], role: reviewer}}
tasks:
  - {{title: work, assignTo: worker, {task}}}
"
    ));
    workspace.write("tools/judge.sh", "cat >/dev/null; echo SCORE: 90");
    workspace
}

fn assert_protected(workspace: &Workspace, words: &str) {
    let document = workspace.run_json(3, &[]);
    let failure = &task(&document, "work")["failure"];
    assert_eq!(failure["mode"], "protected", "{document:#}");
    let message = failure["message"].as_str().unwrap_or_default();
    assert!(message.contains(words), "'{message}' does not say {words}");
}

#[test]
fn the_mission_and_the_settings_are() {
    for (script, words) in [
        ("echo x-y: 1 >> mission.yaml", "mission.yaml was changed"),
        ("echo settings: > quorum.yaml", "quorum.yaml appeared"),
        ("rm mission.yaml", "mission.yaml is gone"),
    ] {
        assert_protected(&mission(script, "review: none"), words);
    }
}

#[test]
fn the_executable_bit_is_a_part_of_it() {
    let workspace = mission("chmod +x tools/judge.sh", "review: required");
    assert_protected(&workspace, "tools/judge.sh was made executable");
    let workspace = mission("chmod a-x tools/judge.sh", "review: required");
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(workspace.path("tools/judge.sh"), executable).expect("it is ours");
    assert_protected(&workspace, "is not executable any more");
}

#[test]
fn what_a_task_is_to_make_is_its_own() {
    let workspace = mission(
        "echo \"cat >/dev/null; echo SCORE: \\$((90 + 1))\" > tools/judge.sh",
        "review: required, targetFiles: [tools/judge.sh]",
    );
    let document = workspace.run_json(0, &[]);
    assert_eq!(task(&document, "work")["points"], 91.0);
}

#[test]
fn what_was_not_there_when_the_run_began_is_work() {
    let workspace = mission(
        "echo $QUORUM_ATTEMPT >> made.txt",
        "expectations: [{type: test, command: grep -q 3 made.txt}]",
    );
    let document = workspace.run_json(0, &[]);
    assert_eq!(standing(&document, "work"), ("done", "clean"));
}

#[test]
fn what_checks_keep_beside_the_tests_is_nobodys_change() {
    let check = "mkdir -p tests/__pycache__; date >> tests/__pycache__/a.pyc; test -e right";
    let yaml = |more: &str| {
        format!(
            "
name: caches
agents: {{worker: {{run: 'test $QUORUM_ATTEMPT = 1 || touch right'}}}}
settings: {{protect: [tests/**]{more}}}
tasks:
  - {{title: work, expectations: [{{type: test, command: '{check}'}}]}}
"
        )
    };
    let workspace = Workspace::with(&yaml(""));
    workspace.write("tests/a.py", "pass");
    let document = workspace.run_json(0, &[]);
    assert_eq!(standing(&document, "work"), ("done", "clean"));
    let workspace = Workspace::with(&yaml(", scratch: []"));
    workspace.write("tests/a.py", "pass");
    assert_protected(&workspace, "tests/__pycache__/a.pyc appeared");
}

#[test]
fn what_came_between_two_sessions_is_named_and_not_refused() {
    let workspace = mission("test -e go", "review: required, maxRetries: 0");
    workspace.run_json(3, &[]);
    workspace.write("tools/judge.sh", "cat >/dev/null; echo SCORE: 80");
    workspace.write("go", "");
    let document = workspace.resume_json(0, &["--retry-failed"]);
    assert_eq!(task(&document, "work")["points"], 80.0);
    document["warnings"].to_string().says(&["tools/judge.sh is not what it was"]);
}

#[test]
fn what_an_adopted_turn_did_to_its_judge_before_the_session_began_is_found() {
    let script = "echo \"cat >/dev/null; echo SCORE: \\$((90 + 7))\" > tools/judge.sh; echo yes > changed; \
                  until test -e go; do sleep 0.02; done";
    let workspace = mission(&script.replace('\'', ""), "review: required");
    workspace.kill_at(&["run", "mission.yaml", "--run-id", "r1"], "changed");
    let resumed = workspace.start(&["resume", "--json"]);
    workspace.write("go", "");
    let document = resumed.finish().exits(3).json();
    let failure = &task(&document, "work")["failure"];
    assert_eq!(failure["mode"], "protected", "{document:#}");
}

#[test]
fn an_approver_whose_script_was_swapped_meanwhile_has_not_agreed() {
    let workspace = Mission::new()
        .key("name", "swapped")
        .worker("echo work")
        .agent(
            "vandal",
            "until test -e asked; do sleep 0.02; done\n\
            mv agree.sh keep; echo exit 0 > agree.sh; mv keep agree.sh\n\
            echo > swapped\n",
        )
        .setting("evaluate", false)
        .setting("concurrency", 2)
        .task("guarded", |t| {
            t.set("requiresApproval", json!({"approvers": [{"command": "sh agree.sh"}, "ada"]}))
        })
        .task("other", |t| t.by("vandal").attempts(1))
        .workspace();
    workspace.write("agree.sh", "echo > asked; until test -e swapped; do sleep 0.02; done; exit 0\n");
    let running = workspace.start(&["run", "mission.yaml", "--json"]);
    wait_for("its word", || on_record(&workspace, "work:ended approver") == 1);
    let undecided = workspace.events().into_iter();
    let undecided: Vec<_> = undecided.filter(|event| is(event, "work:ended approver")).collect();
    undecided[0]["reason"].says(&["does not count: protected:", "agree.sh"]);
    assert_eq!(standing(&workspace.status(), "guarded").0, "awaiting_approval");
    running.finish();
    workspace.quorum(&["approve", &only_approval(&workspace), "--as", "ada"]).exits(0);
    let document = workspace.quorum(&["resume", "--json"]).json();
    assert_eq!(standing(&document, "guarded").0, "done");
}

#[test]
fn a_report_that_a_check_writes_each_time_is_in_nobodys_way() {
    let check = "review: none, expectations: [{type: script, command: \"echo ok > report.txt; grep -q ok report.txt\"}]";
    let workspace = mission("echo work", check);
    for _ in 0..2 {
        workspace.run_json(0, &[]);
    }
}

#[test]
fn what_a_check_changes_that_it_names_is_told_with_the_way_out() {
    let check =
        "review: none, expectations: [{type: script, command: \"echo ok | tee -a tests/report.txt\"}]";
    let workspace = mission("echo work", check);
    workspace.write("tests/report.txt", "before");
    let document = workspace.run_json(3, &[]);
    task(&document, "work")["failure"]["message"].says(&["report.txt", "checksMayWrite"]);
    let allowed = check.replace("review: none", "review: none, checksMayWrite: [tests/report.txt]");
    workspace.mission(&workspace.read("mission.yaml").replace(check, &allowed));
    workspace.run_json(0, &[]);
}

#[test]
fn an_approver_that_writes_what_it_names_fails_its_own_task_with_the_way_out() {
    let workspace = Mission::new()
        .worker("echo work")
        .setting("evaluate", false)
        .setting("concurrency", 1)
        .task("work", |t| {
            t.set("requiresApproval", json!({"approvers": [{"command": "echo asked >> log.txt"}]}))
        })
        .workspace();
    workspace.write("log.txt", "before\n");
    let document = workspace.run_json(3, &[]);
    let failure = &task(&document, "work")["failure"];
    assert_eq!(failure["mode"], "protected", "{document:#}");
    assert!(failure["message"].as_str().unwrap().contains("checksMayWrite"), "{failure}");
}
