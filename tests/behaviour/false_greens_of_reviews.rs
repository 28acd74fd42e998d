//! Row 48 of the false greens: a task of a run is judged again by its own rules, all of them.

use serde_json::{Value, json};

use crate::support::scenes::repositories::repository;
use crate::support::{Mission, Task, Workspace, standing, task};

/// `quorum review work`: its document.
#[track_caller]
fn reviewed(workspace: &Workspace, code: i32) -> Value {
    workspace.quorum(&["review", "work", "--json", "--progress", "none"]).exits(code).json()
}

fn panel(each: u32) -> String {
    let scores = json!({"correctness": each, "completeness": each, "code_quality": each, "edge_cases": each});
    json!({ "scores": scores }).to_string()
}

/// Work of which a judge thinks well, whatever else there is.
fn well_judged() -> Mission {
    Mission::new().worker("echo wrong > out.txt; echo done").judge("judge", &["SCORE: 90"])
}

/// The review must come to what the run came to, and say why.
#[track_caller]
fn comes_to(workspace: &Workspace, run: i32, review: i32, says: &str) {
    workspace.run_json(run, &[]);
    let document = reviewed(workspace, review);
    let told = document.to_string();
    assert!(told.contains(says), "{says}: {document:#}");
    workspace.quorum(&["review", "work"]).exits(review).shows(&[says]);
}

#[test]
fn false_green_48_a_check_that_fails_keeps_a_good_score_out() {
    let keys = |task: Task| {
        task.files(["out.txt"]).check("grep -q correct out.txt").set("review", "required").attempts(1)
    };
    let workspace = well_judged().task("work", |task| keys(task).set("onExhausted", "accept")).workspace();
    comes_to(&workspace, 5, 5, "grep -q correct out.txt");
    assert_eq!(workspace.calls("judge"), 0, "checks come first, here as there");
}

#[test]
fn false_green_48_stages_of_mission_and_task_judge_again() {
    let failing = json!([{"name": "lint", "command": "echo no good; exit 1"}]);
    let of_mission = well_judged().key("stages", failing.clone());
    let of_mission = of_mission.task("work", |task| task.attempts(1).set("onExhausted", "accept"));
    comes_to(&of_mission.workspace(), 5, 5, "no good");
    let keys = |task: Task| task.attempts(1).set("onExhausted", "accept").set("stages", failing);
    comes_to(&well_judged().task("work", keys).workspace(), 5, 5, "no good");
}

#[test]
fn false_green_48_criteria_that_are_not_met_fail_it_again() {
    let keys = |task: Task| {
        task.files(["out.txt"])
            .set("review", "required")
            .set("acceptance", json!(["`out.txt` contains `correct`"]))
            .set("verification", json!({"grader": "heuristic"}))
            .set("onExhausted", "accept")
            .attempts(1)
    };
    comes_to(&well_judged().task("work", keys).workspace(), 5, 5, "contains `correct`");
}

#[test]
fn false_green_48_the_consensus_that_is_written_decides_again() {
    let expectation = json!({
        "type": "llm_review", "criteria": "It is good.", "reviewers": ["a", "b", "c"], "consensus": "mean",
        "threshold": "80/100",
    });
    let mission = Mission::new()
        .worker("echo done")
        .judge("a", &[&panel(5)])
        .judge("b", &[&panel(5)])
        .judge("c", &[&panel(1)])
        .task("work", |task| task.expects(expectation).attempts(1).set("onExhausted", "accept"));
    let workspace = mission.workspace();
    workspace.run_json(5, &[]);
    assert_eq!(reviewed(&workspace, 5)["points"], 73.3333);
}

#[test]
fn false_green_48_the_red_team_attacks_again() {
    let found =
        json!({"severity": "high", "surface": "security", "description": "it leaks", "evidence": "line 1"});
    let found = json!({"findings": [found], "summary": "looked at it"});
    let mission = well_judged()
        .agent("attacker", format!("echo '{found}'"))
        .key("redTeam", json!({"agent": "attacker"}))
        .task("work", |task| task.files(["out.txt"]).attempts(1).set("onExhausted", "accept"));
    comes_to(&mission.workspace(), 5, 5, "it leaks");
}

#[test]
fn false_green_48_a_finish_gate_that_is_not_met_is_no_pass() {
    let gate = json!({"commands": ["grep -q correct out.txt"], "maxAttempts": 1});
    let mission = well_judged().task("work", |task| task.files(["out.txt"]).set("verify", gate));
    let workspace = mission.workspace();
    comes_to(&workspace, 5, 5, "a required command failed");
    let turns = workspace.events().named("agent:spawned").len();
    assert_eq!(turns, 2, "nobody is told to go on by a review");
}

#[test]
fn false_green_48_the_bar_of_the_mission_holds_again() {
    let mission = well_judged().setting("evalThreshold", 95);
    comes_to(&mission.task("work", |task| task.attempts(1)).workspace(), 5, 5, "95");
    let flagged = well_judged().task("work", |task| task.attempts(1)).workspace();
    flagged.run_json(5, &["--eval-threshold", "95"]);
    assert_eq!(reviewed(&flagged, 5)["bar"], 95.0);
    flagged.quorum(&["review", "work", "--eval-threshold", "85"]).exits(0);
}

#[test]
fn false_green_48_whoever_is_not_independent_has_no_say_again() {
    let agent = |script: &str| json!({"run": script, "model": "m-1", "role": "reviewer"});
    let expectation = json!({
        "type": "llm_review", "criteria": "It is good.", "reviewers": ["judge"], "independence": "model",
    });
    let mission = Mission::new()
        .agent_with("author", json!({"run": "echo done", "model": "m-1"}))
        .agent_with("judge", agent(&format!("echo '{}'", panel(5))))
        .task("work", |task| task.by("author").expects(expectation));
    let workspace = mission.workspace();
    workspace.run_json(6, &[]);
    reviewed(&workspace, 6);
}

#[test]
fn false_green_48_where_nobody_judges_there_is_no_verdict() {
    let nobody = Mission::new().worker("echo x > out.txt; echo done");
    comes_to(&nobody.task("work", Task::unreviewed).workspace(), 0, 6, "--criteria");
    let off = well_judged().setting("evaluate", false).tasks(["work"]).workspace();
    comes_to(&off, 0, 6, "--criteria");
    assert_eq!(off.calls("judge"), 0);
}

#[test]
fn what_is_passed_is_passed_again_by_all_stages() {
    let keys = |task: Task| {
        task.files(["out.txt"])
            .check("grep -q wrong out.txt")
            .set("review", "required")
            .set("description", "Write `out.txt`.")
            .set("acceptance", json!(["`out.txt` contains `wrong`"]))
            .set("verification", json!({"grader": "heuristic"}))
            .set("verify", json!({"commands": ["test -e out.txt"], "requireFileChanges": true}))
            .set("stages", json!([{"name": "lint", "command": "echo lint >> lints"}]))
            .set("sideEffects", true)
            .approved()
    };
    let workspace = well_judged().task("work", keys).workspace();
    workspace.quorum(&["run", "mission.yaml", "--run-id", "r1"]).exits(8);
    workspace.quorum(&["approve", "r1.0.1"]).exits(0);
    workspace.resume_json(0, &[]);
    let document = reviewed(&workspace, 0);
    assert_eq!(document["verdict"], "pass", "{document:#}");
    assert_eq!(workspace.lines("lints").len(), 2, "each of its stages is asked again");
    assert_eq!(workspace.status()["outcome"], "ok");
}

/// What was written is on record: whoever judges again cannot see it, and holds nothing against it.
#[test]
fn finished_work_is_not_called_hollow() {
    let workspace = Workspace::new();
    workspace.quorum(&["init"]).exits(0);
    workspace.quorum(&["run"]).exits(0);
    for title in ["Say goodbye", "Write a greeting"] {
        let said = workspace.quorum(&["review", title]).exits(0).stdout;
        assert!(!said.contains("hollow") && said.contains("pass"), "{said}");
    }
}

#[test]
fn work_that_did_nothing_is_hollow_again() {
    let keys =
        |task: Task| task.files(["out.txt"]).set("description", "Write the file `out.txt`.").attempts(1);
    let mission = Mission::new().worker("echo done").judge("judge", &["SCORE: 90"]).task("work", keys);
    let workspace = mission.workspace();
    workspace.write("out.txt", "from before\n");
    workspace.run_json(3, &[]);
    let document = reviewed(&workspace, 5);
    assert!(document.to_string().contains("none of these was written"), "{document:#}");
}

#[test]
fn an_attempt_whose_agent_failed_is_not_judged() {
    let worker = "echo x > out.txt; echo boom >&2; exit 3";
    let mission = Mission::new().worker(worker).judge("judge", &["SCORE: 90"]);
    let workspace = mission.task("work", |task| task.attempts(1)).workspace();
    comes_to(&workspace, 3, 6, "boom");
    assert_eq!(workspace.calls("judge"), 0);
}

#[test]
fn the_author_is_not_needed_to_judge_its_work_again() {
    let workspace = Mission::new()
        .agent_with("author", json!({"run": ["./author.sh"]}))
        .judge("judge", &["SCORE: 90"])
        .tasks(["work"])
        .workspace();
    workspace.write("author.sh", "#!/bin/sh\necho x > out.txt; echo I wrote it\n");
    workspace.bash("chmod +x author.sh");
    workspace.run_json(0, &[]);
    workspace.bash("rm author.sh");
    reviewed(&workspace, 0);
    assert!(workspace.asked("judge", 2).contains("I wrote it"));
}

#[test]
fn accepted_files_of_isolated_tasks_are_judged_and_not_what_lies_elsewhere() {
    for isolation in ["worktree", "temp", "copy"] {
        let keys = |task: Task| {
            let task = task.files(["out.txt"]).check("grep -q mine out.txt").set("isolation", isolation);
            task.set("review", "required")
        };
        let mission = Mission::new()
            .worker("echo mine > out.txt; echo done")
            .reviewer("judge", "if grep -q mine out.txt; then echo 'SCORE: 90'; else echo 'SCORE: 10'; fi")
            .task("work", keys);
        let workspace =
            repository(mission.setting("worktree", json!({"merge": "never"})), &[("out.txt", "theirs\n")]);
        let document = workspace.run_json(0, &[]);
        assert_eq!(standing(&document, "work"), ("done", "clean"), "{isolation}");
        assert_eq!(workspace.read("out.txt"), "theirs\n");
        let document = reviewed(&workspace, 0);
        assert_eq!(document["points"], 90.0, "{isolation} {document:#}");
        assert_eq!(workspace.read("out.txt"), "theirs\n");
    }
}

#[test]
fn work_that_the_mission_does_not_name_is_judged_by_the_rules_that_it_has() {
    let mission = Mission::new()
        .worker("test -e out.txt && echo good > out.txt || echo bad > out.txt; echo done")
        .task("work", |task| {
            task.files(["out.txt"]).check("grep -q good out.txt").attempts(1).set("onExhausted", "fixup")
        });
    let workspace = mission.workspace();
    let document = workspace.run_json(0, &[]);
    let fixup = document["tasks"].as_array().expect("tasks").last().expect("a fixup")["title"].clone();
    let fixup = fixup.as_str().expect("it has a title");
    assert_ne!(fixup, "work");
    assert_eq!(task(&document, fixup)["status"], "done");
    workspace.quorum(&["review", fixup]).exits(0).shows(&["pass"]);
    workspace.write("out.txt", "worse\n");
    workspace.quorum(&["review", fixup]).exits(5).shows(&["grep -q good out.txt"]);
}

#[test]
fn what_cannot_be_judged_again_is_said() {
    let node = json!({"grader": "heuristic"});
    let mission = Mission::new()
        .worker("echo done")
        .task("work", Task::unreviewed)
        .task("look", |task| {
            let task = task.set("type", "verification").needs("work").set("verification", node);
            task.set("acceptance", json!(["`mission.yaml` exists"]))
                .set("onPass", "on")
                .set("onFail", "on")
                .set("onRefer", "on")
        })
        .task("on", Task::approved);
    let workspace = mission.workspace();
    workspace.quorum(&["run", "mission.yaml"]).exits(8);
    workspace.quorum(&["review", "look"]).exits(2).says(&["it does no work"]);
    workspace.quorum(&["review", "on"]).exits(2).says(&["has done nothing yet"]);
    workspace.quorum(&["review", "work", "--no-eval"]).exits(2).says(&["switched off"]);
}
