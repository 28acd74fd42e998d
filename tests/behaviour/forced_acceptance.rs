//! Work that was accepted below its bar: operators are told, and answer it: they know of it, refuse it, or have it done again.

use serde_json::{Value, json};

use crate::support::{BINARY, Has, Mission, Says, Workspace, standing, task, wait_for_file};

/// `weak` is accepted below its bar, `after` is built on it.
fn accepted_below() -> Workspace {
    let workspace = Mission::new()
        .worker("cat > \"prompt.$QUORUM_TASK\"; echo x > \"$QUORUM_TASK.txt\"; echo done")
        .judge("judge", &["Poor.\nSCORE: 41"])
        .task("weak", |task| task.files(["weak.txt"]).attempts(2))
        .task("after", |task| task.files(["after.txt"]).unreviewed().needs("weak"))
        .workspace();
    workspace
        .quorum(&["run", "--run-id", "r1"])
        .exits(5)
        .stdout
        .says(&["accepted below the bar: 1", "next: quorum show weak r1\n      quorum approve r1.0.r2\n"]);
    workspace
}

/// The ids of what operators were told and have not answered.
fn requests(workspace: &Workspace) -> Vec<Value> {
    workspace.status()["requests"].as_array().expect("a list").clone()
}

fn is_below_its_bar(workspace: &Workspace) {
    let document = workspace.status();
    assert_eq!(standing(&document, "weak"), ("done", "below-threshold"));
    document.has(json!({"outcome": "below_threshold", "exitCode": 5, "state": "ended", "resumable": false}));
    workspace.quorum(&["status", "--exit-code"]).exits(5);
}

#[test]
fn who_acknowledges_it_is_on_record_and_the_request_goes_and_the_flag_stays() {
    let workspace = accepted_below();
    requests(&workspace)[0].has(json!({"id": "r1.0.r2", "task": "weak", "kind": "below-threshold"}));
    // It holds nothing up, so it is not in the way of what does.
    let inbox = workspace.quorum(&["inbox", "--json"]).exits(0).json();
    assert_eq!((&inbox["requests"], &inbox["approvals"]), (&json!([]), &json!([])));
    workspace.quorum(&["requests"]).exits(0).shows(&["r1.0.r2  weak", "answer with: quorum approve r1.0.r2"]);

    workspace.quorum(&["approve", "r1.0.r2", "--as", "ada"]).exits(0).shows(&["approve r1.0.r2: applied"]);
    assert_eq!(requests(&workspace), Vec::<Value>::new());
    workspace.quorum(&["requests"]).exits(0).shows(&["there are no operator requests"]);
    is_below_its_bar(&workspace);
    let events = workspace.events();
    let answered = events.first_named("acceptance:answered");
    answered.has(json!({"title": "weak", "answer": "yes", "by": "ada", "reason": null}));
    assert!(answered["at"].is_string());
    // An acknowledgement is no session of its own.
    assert_eq!(events.count("run:finished"), 1);

    workspace.quorum(&["approve", "r1.0.r2"]).exits(0).shows(&["already so"]);
    workspace.quorum(&["reject", "r1.0.r2", "--reason", "late"]).exits(4).says(&["decided otherwise"]);
    assert_eq!(workspace.events().count("acceptance:answered"), 1);
    is_below_its_bar(&workspace);
    workspace.quorum(&["review", "--replay", "r1"]).exits(0);
}

#[test]
fn who_refuses_it_fails_the_task_with_that_reason_and_what_tries_again_is_told() {
    let workspace = accepted_below();
    workspace.quorum(&["reject", "r1.0.r2"]).exits(2);
    workspace.quorum(&["reject", "r1.0.r2", "--reason", "no tests", "--as", "ada"]).exits(0);
    let document = workspace.status();
    assert_eq!(task(&document, "weak")["failure"]["mode"], "rejected");
    task(&document, "weak")["failure"].to_string().says(&["rejected by ada: no tests"]);
    document.has(json!({"outcome": "task_failed", "exitCode": 3, "requests": []}));
    assert_eq!(standing(&document, "after").0, "done", "what was built on it stays");
    workspace.events().first_named("acceptance:answered").has(json!({"answer": "no", "reason": "no tests"}));
    workspace.quorum(&["reject", "r1.0.r2", "--reason", "no tests"]).exits(0).shows(&["already so"]);
    workspace.quorum(&["approve", "r1.0.r2"]).exits(4);
    workspace.quorum(&["resume"]).exits(3);

    workspace.judge("judge", &["SCORE: 90"]);
    let document = workspace.resume_json(0, &["--retry-failed"]);
    assert_eq!(standing(&document, "weak"), ("done", "clean"));
    workspace.read("prompt.weak").says(&["no tests"]);
    workspace.quorum(&["review", "--replay", "r1"]).exits(0);
}

#[test]
fn what_is_done_again_answers_it_and_an_old_id_meets_nothing_new() {
    let workspace = accepted_below();
    let document = workspace.resume_json(5, &["--redo", "weak"]);
    assert_eq!(document["requests"][0]["id"], "r1.0.r4");
    for old in [&["approve", "r1.0.r2"][..], &["reject", "r1.0.r2", "--reason", "x"]] {
        workspace.quorum(old).exits(4).says(&["decided otherwise"]);
    }
    is_below_its_bar(&workspace);
    workspace.judge("judge", &["SCORE: 90"]);
    let document = workspace.resume_json(0, &["--redo", "weak"]);
    assert_eq!(document["requests"], json!([]));
    workspace.quorum(&["approve", "r1.0.r4"]).exits(4);
}

#[test]
fn an_id_that_is_of_no_such_work_is_unknown_and_says_where_ids_are() {
    let workspace = accepted_below();
    for id in ["r1.0.r3", "r1.1.r1", "r1.7.r1"] {
        workspace.quorum(&["approve", id]).exits(2).says(&["unknown"]);
        workspace.quorum(&["reject", id, "--reason", "x"]).exits(2).says(&["unknown"]);
    }
    workspace.quorum(&["answer", "r1.0.r2", "yes"]).exits(2).says(&["`quorum requests`"]);
    is_below_its_bar(&workspace);
}

#[test]
fn a_live_run_takes_the_answer_and_what_waits_for_refused_work_does_not_start() {
    let workspace = Mission::new()
        .worker("cat > /dev/null; echo x > \"$QUORUM_TASK.txt\"; echo done")
        .agent("slow", "cat > /dev/null; echo > started; while ! test -e go; do sleep 0.02; done; echo done")
        .judge("judge", &["Poor.\nSCORE: 41"])
        .task("weak", |task| task.files(["weak.txt"]).attempts(1))
        .task("other", |task| task.by("slow").unreviewed().needs("weak"))
        .task("both", |task| task.files(["both.txt"]).unreviewed().set("dependsOn", json!(["weak", "other"])))
        .workspace();
    let run = workspace.start(&["run", "--run-id", "r1", "--json"]);
    wait_for_file(&workspace.path("started"));
    workspace.quorum(&["reject", "r1.0.r1", "--reason", "not good", "--as", "ada"]).exits(0);
    workspace.write("go", "");
    let document = run.finish().exits(3).json();
    assert_eq!(task(&document, "weak")["failure"]["mode"], "rejected");
    assert_eq!(standing(&document, "other").0, "done", "it had begun");
    assert_eq!(task(&document, "both")["failure"]["mode"], "cascade");
    assert!(!workspace.exists("both.txt"));
}

#[test]
fn a_live_run_begins_no_work_whose_checks_it_looks_at_when_what_that_builds_on_is_refused() {
    let look = "echo > started; while ! test -e go; do sleep 0.02; done; test -e after.txt";
    let workspace = Mission::new()
        .worker("cat > /dev/null; echo x > \"$QUORUM_TASK.txt\"; echo done")
        .judge("judge", &["Poor.\nSCORE: 41"])
        .task("weak", |task| task.files(["weak.txt"]).attempts(1))
        .task("after", |task| task.unreviewed().needs("weak").check(look))
        .workspace();
    let run = workspace.start(&["run", "--run-id", "r1", "--json"]);
    wait_for_file(&workspace.path("started"));
    workspace.quorum(&["reject", "r1.0.r1", "--reason", "not good"]).exits(0);
    workspace.write("go", "");
    let document = run.finish().exits(3).json();
    assert_eq!(task(&document, "after")["failure"]["mode"], "cascade");
    assert!(!workspace.exists("after.txt"));
}

#[test]
fn an_agent_of_the_run_answers_nothing_about_it() {
    let workspace = Mission::new()
        .worker("cat > /dev/null; echo x > weak.txt; echo done")
        .agent(
            "speaker",
            format!("cat > /dev/null; {BINARY} approve r1.0.r1 2> refused; echo $? > code; echo done"),
        )
        .judge("judge", &["Poor.\nSCORE: 41"])
        .task("weak", |task| task.files(["weak.txt"]).attempts(1))
        .task("next", |task| task.by("speaker").unreviewed().needs("weak"))
        .workspace();
    workspace.quorum(&["run", "--run-id", "r1"]).exits(5);
    assert_eq!(workspace.read("code"), "9\n");
    workspace.read("refused").says(&["refused to agents of a run"]);
    assert_eq!(requests(&workspace).len(), 1);
}

#[test]
fn an_acknowledgement_opens_no_gate() {
    let workspace = Mission::new()
        .worker("cat > /dev/null; echo x > \"$QUORUM_TASK.txt\"; echo done")
        .judge("judge", &["Poor.\nSCORE: 41"])
        .task("weak", |task| task.files(["weak.txt"]).attempts(1))
        .task("after", |task| task.files(["after.txt"]).unreviewed())
        .key("qualityGates", json!([{"name": "g", "afterTasks": ["weak"], "blocksTasks": ["after"]}]))
        .workspace();
    workspace.quorum(&["run", "--run-id", "r1"]).exits(4);
    workspace.quorum(&["approve", "r1.0.r1"]).exits(0);
    workspace.quorum(&["resume"]).exits(4);
    assert!(!workspace.exists("after.txt"));
    assert_eq!(standing(&workspace.status(), "weak"), ("done", "below-threshold"));
}
