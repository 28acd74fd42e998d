//! Checks that fail now and then (semantics, section 24): `reruns`.

use serde_json::{Value, json};

use crate::support::scenes::repositories::{names_its_top, repository};
use crate::support::{Mission, Says, Task, Workspace, junit, task};

/// A worker whose work every check of these scenes asks for.
fn one(keys: impl FnOnce(Task) -> Task) -> Mission {
    let worker = Mission::new().worker("echo made > made.txt").setting("evaluate", false);
    worker.setting("finalChecks", "never").task("work", keys)
}

/// A script that fails before the work, and notes behind it, outside of the worktree, that it runs; `then` sees how often it ran
/// in `$n`.
fn counting(then: &str) -> String {
    format!("test -e made.txt || exit 1; echo x >> TOP/runs; n=$(wc -l < TOP/runs); {then}")
}

fn checked(command: &str, reruns: u32) -> Value {
    json!({"type": "script", "command": counting(command), "reruns": reruns})
}

/// In the workspace itself and in a worktree.
fn everywhere(mission: impl Fn() -> Mission) -> [Workspace; 2] {
    let shared = mission().workspace();
    let top = format!("'{}'", shared.root().display());
    shared.mission(&shared.read("mission.yaml").replace("TOP", &top));
    let isolated = repository(mission(), &[("a.txt", "a\n")]);
    names_its_top(&isolated);
    [shared, isolated]
}

/// The reruns of the check that counts, as `show` tells them of the last attempt.
fn reruns(workspace: &Workspace) -> Value {
    let shown = workspace.quorum(&["show", "work", "--json"]).exits(0).json();
    let attempts = shown["attempts"].as_array().expect("its attempts");
    let checks = attempts.last().expect("one")["checks"].as_array().expect("its checks");
    let counts = checks.iter().find(|check| check["check"].to_string().contains("runs"));
    counts.expect("that which counts")["reruns"].clone()
}

fn flag(document: &Value) -> &str {
    flag_of(document, "work")
}

fn flag_of<'a>(document: &'a Value, title: &str) -> &'a str {
    task(document, title)["qualityFlag"].as_str().unwrap_or_default()
}

#[test]
fn a_check_that_passes_when_it_runs_again_has_passed_and_is_told_to_be_flaky() {
    let metric = json!({
        "type": "metric", "name": "n", "command": counting("echo $n"), "min": 3, "reruns": 2,
    });
    for check in [checked("[ $n -ge 3 ]", 2), metric] {
        for workspace in everywhere(|| one(|task| task.expects(check.clone()))) {
            let document = workspace.run_json(0, &["--strict", "--report", "junit=junit.xml"]);
            assert_eq!(flag(&document), "relaxed");
            let found = &task(&document, "work")["findings"][0];
            assert_eq!(found["severity"], "medium");
            found["description"].to_string().says(&["flaky: ", "after 2 failed run(s)"]);
            assert_eq!(task(&document, "work")["proof"]["red"], 1, "all runs before the work failed");
            assert_eq!((workspace.lines("runs").len(), reruns(&workspace)), (3, json!(2)));
            let ends = workspace.events().named("work:ended");
            let of_check = ends.iter().filter(|end| end["purpose"] == "check");
            let told: Vec<_> = of_check.map(|end| (end["passed"].clone(), end["reruns"].clone())).collect();
            assert_eq!(
                told,
                [(json!(false), Value::Null), (json!(false), json!(1)), (json!(true), json!(2))]
            );
            let root = junit::read(&workspace.read("junit.xml"));
            let flaky = root.case("work").all("flakyFailure");
            assert_eq!(flaky.len(), 1);
            assert_eq!(flaky[0].attribute("type"), "flaky");
        }
    }
}

#[test]
fn work_whose_check_was_flaky_stays_where_the_mission_changes_elsewhere() {
    let [workspace, _] = everywhere(|| one(|task| task.expects(checked("[ $n -ge 3 ]", 2))));
    workspace.run_json(0, &[]);
    let more = "  - {title: more, assignTo: worker}\n";
    workspace.mission(&(workspace.read("mission.yaml") + more));
    let document = workspace.resume_json(0, &["--accept-changed-mission"]);
    assert_eq!((flag(&document), flag_of(&document, "more")), ("relaxed", "unreviewed"));
    assert_eq!(workspace.lines("runs").len(), 3, "nobody asked for it again");
}

#[test]
fn a_check_that_never_passes_runs_once_and_its_reruns_and_has_failed() {
    for workspace in everywhere(|| one(|task| task.expects(checked("false", 2)).attempts(1))) {
        let document = workspace.run_json(3, &[]);
        assert_eq!(task(&document, "work")["status"], "failed");
        assert_eq!((workspace.lines("runs").len(), reruns(&workspace)), (3, json!(2)));
    }
    // In each attempt anew; and of two checks only the one that fails runs again.
    let two = || one(|task| task.expects(checked("[ $n -ge 4 ]", 1)).check("test -e made.txt").attempts(2));
    for workspace in everywhere(two) {
        let document = workspace.run_json(0, &[]);
        assert_eq!((flag(&document), reruns(&workspace)), ("relaxed", json!(1)));
        assert_eq!(task(&document, "work")["attempts"].as_array().map(Vec::len), Some(2));
        let asked = workspace.events().named("work:requested");
        assert_eq!(asked.iter().filter(|asked| asked["purpose"] == "check").count(), 6);
    }
}

#[test]
fn what_judges_say_takes_nothing_of_it_back() {
    let mission = || {
        Mission::new().worker("echo made > made.txt").judge("critic", &["SCORE: 90"]).task("work", |task| {
            task.by("worker").expects(checked("[ $n -ge 2 ]", 1)).set("review", "required")
        })
    };
    for workspace in everywhere(mission) {
        assert_eq!(flag(&workspace.run_json(0, &["--strict"])), "relaxed");
    }
}

#[test]
fn false_green_59_what_was_green_in_one_of_its_runs_before_the_work_is_no_proof() {
    let check = |reruns: u32| {
        let command = "test -e made.txt || { echo x >> TOP/seen; [ $(wc -l < TOP/seen) -ge 2 ]; }";
        json!({"type": "script", "command": command, "reruns": reruns})
    };
    for workspace in everywhere(|| one(|task| task.expects(check(1)))) {
        let document = workspace.run_json(0, &[]);
        assert_eq!(flag(&document), "unreviewed");
        assert_eq!(task(&document, "work")["flagCause"], "vacuous");
        assert_eq!(workspace.lines("seen").len(), 2);
    }
    for workspace in everywhere(|| one(|task| task.expects(check(0)))) {
        assert_eq!(flag(&workspace.run_json(0, &["--strict"])), "clean");
    }
}

#[test]
fn a_kill_between_its_runs_loses_none_that_is_on_record() {
    let blocks =
        "[ $n -eq 2 ] && echo > TOP/second && while [ ! -e TOP/home/go ]; do sleep 0.02; done; [ $n -ge 3 ]";
    for workspace in everywhere(|| one(|task| task.expects(checked(blocks, 2)))) {
        workspace.kill_at(&["run", "mission.yaml"], "second");
        workspace.write("home/go", "");
        let document = workspace.resume_json(0, &["--strict"]);
        assert_eq!((flag(&document), reruns(&workspace)), ("relaxed", json!(1)));
        assert_eq!(workspace.lines("runs").len(), 3, "the one that was cut off runs once more");
        let ends = workspace.events().named("work:ended");
        assert_eq!(ends.iter().filter(|end| end["purpose"] == "check").count(), 2);
    }
}

#[test]
fn audits_run_it_as_often() {
    for (reruns, code) in [(1, 0), (0, 3)] {
        // Content with the work, once; then it fails, and passes, and fails for good.
        let check = checked("[ $n -eq 1 ] || [ $n -eq 3 ]", reruns);
        let mission = || one(|task| task.expects(check.clone()).attempts(1)).setting("finalChecks", "always");
        for workspace in everywhere(mission) {
            let document = workspace.run_json(code, &[]);
            assert_eq!(flag(&document), if code == 0 { "clean" } else { "" });
            let regressed = workspace.events().named("task:regressed");
            assert_eq!(regressed.is_empty(), code == 0);
        }
    }
}

#[test]
fn one_that_takes_too_long_runs_again_as_well() {
    let check = json!({
        "type": "test", "reruns": 1, "timeout": "2s",
        "command": counting("[ $n -ge 2 ] || while :; do sleep 0.1; done"),
    });
    for workspace in everywhere(|| one(|task| task.expects(check.clone()))) {
        assert_eq!((flag(&workspace.run_json(0, &[])), workspace.lines("runs").len()), ("relaxed", 2));
    }
}

#[test]
fn only_commands_of_expectations_run_again_and_not_without_end() {
    let script =
        |reruns: Value| json!({"expectations": [{"type": "script", "command": "true", "reruns": reruns}]});
    for (keys, place) in [
        (script(json!(6)), "a number of reruns from 0 to 5"),
        (script(json!(-1)), "a number of reruns from 0 to 5"),
        (script(json!("often")), "often"),
        (json!({"expectations": [{"type": "file_exists", "paths": ["a"], "reruns": 1}]}), "does not apply"),
        (json!({"expectations": [{"type": "llm_review", "reruns": 1}]}), "does not apply"),
        (json!({"verify": {"commands": ["true"], "reruns": 1}}), "reruns"),
        (json!({"stages": [{"name": "s", "command": "true", "reruns": 1}]}), "reruns"),
    ] {
        let keys = keys.as_object().unwrap().clone();
        let workspace =
            one(|task| keys.into_iter().fold(task, |task, (key, value)| task.set(&key, value))).workspace();
        workspace.refuses(&[place, "reruns"]);
    }
    // What is required of a task that was handed down runs once.
    let lead = r#"printf '%s' '{"delegate": [{"title": "part", "verify": {"commands": ["true"], "reruns": 1}}]}' > "$QUORUM_RESULT_FILE""#;
    let workspace = Mission::new()
        .agent_with("lead", json!({"run": ["sh", "-c", lead]}))
        .setting("evaluate", false)
        .task("work", |task| task.by("lead"))
        .workspace();
    let said = workspace.run_json(0, &[]);
    said["warnings"].to_string().says(&["reruns"]);
}
