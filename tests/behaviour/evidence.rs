//! Evidence instead of words: preflight (with false green 1), the finish gate, the judge breaker.

use serde_json::{Value, json};

use crate::support::events::is;
use crate::support::{Mission, RUN_AS_R1, Says, Workspace, attempts, gate, standing, task, wait_for_file};

/// One task with these keys, whose agent is this shell script.
fn one_task(script: &str, keys: &str) -> Workspace {
    Mission::new().worker(script).task("work", |t| t.with(keys)).workspace()
}

fn of_kind(workspace: &Workspace, event: &str) -> Vec<Value> {
    let events = workspace.events().into_iter();
    events.filter(|line| is(line, event)).collect()
}

#[test]
fn false_green_01_an_agent_that_exits_0_having_done_nothing_has_failed() {
    for script in [
        "exit 0",
        "echo I have written the report to report.md. All tests pass.",
        "echo I will now create the file.",
        // What it claims is no evidence.
        r#"echo '{"files": ["report.md"], "toolCalls": 9, "output": "done"}' > "$QUORUM_RESULT_FILE""#,
    ] {
        // Nothing is there, or what is there was there before.
        for before in [None, Some("an old report")] {
            let keys =
                "description: 'Write a report to report.md.', targetFiles: [report.md], maxAttempts: 2";
            let workspace = one_task(script, keys);
            if let Some(text) = before {
                workspace.write("report.md", text);
            }
            let document = workspace.run_json(3, &[]);
            assert_eq!(standing(&document, "work"), ("failed", ""), "{script}");
            assert_eq!(task(&document, "work")["failure"]["mode"], "hollow", "{script}");
            let attempt = &task(&document, "work")["attempts"][1];
            let cause = if before.is_none() { "artifact" } else { "preflight" };
            assert_eq!((&attempt["cause"], &attempt["points"]), (&json!(cause), &json!(20.0)));
        }
    }
}

#[test]
fn false_green_01_an_agent_that_does_nothing_is_held_to_its_gate() {
    // It declares no files at all, and its words are fine.
    let workspace = one_task("echo All done.", "verify: {requireFileChanges: true}");
    let document = workspace.run_json(5, &[]);
    assert_eq!(standing(&document, "work"), ("done", "unverified"));
    assert_eq!(document["counts"]["unverified"], 1);
}

#[test]
fn an_agent_that_writes_what_was_there_has_written_it() {
    let keys = "description: 'Write a report to report.md.', targetFiles: [report.md]";
    let workspace = one_task("rm -f report.md; touch other; echo same > report.md", keys);
    workspace.write("report.md", "same\n");
    let document = workspace.run_json(0, &[]);
    assert_eq!(standing(&document, "work"), ("done", "unreviewed"));
    // Once more by a person's word: it is done once more.
    workspace.resume_json(0, &["--redo", "work"]);
}

#[test]
fn tool_calls_that_nobody_can_see_cannot_be_required() {
    let workspace = one_task("touch touched", "requiresToolCalls: true");
    workspace.refuses(&["mission.yaml:5", "Q0420", "cannot be seen", "requireFileChanges"]);
    workspace.quorum(&["explain", "Q0420"]).exits(0);
    one_task("true", "requiresToolCalls: false, type: implement").run_json(0, &[]);
}

#[test]
fn what_a_finish_gate_misses_is_told_in_the_same_attempt() {
    let workspace = one_task(
        "cat > prompt.$QUORUM_TURN
        echo turn $QUORUM_TURN of attempt $QUORUM_ATTEMPT
        test $QUORUM_TURN = 1 || touch b",
        "verify: {requiredTests: [a, b], testCommand: 'echo looking for {test}; test -e {test}'}, \
         expectations: [{type: test, command: 'true'}]",
    );
    workspace.write("a", "");
    let document = workspace.run_json(0, &[]);
    assert_eq!(standing(&document, "work"), ("done", "clean"));
    assert_eq!(attempts(&document, "work"), ["execute"]);
    workspace
        .read("prompt.2")
        .says(&["Not finished yet", "the test b is not green", "looking for b"])
        .omits(&["the test a is not green"]);
    let checked: Vec<_> = of_kind(&workspace, "work:ended finish")
        .iter()
        .map(|event| (event["label"].clone(), event["passed"].clone()))
        .collect();
    let expected = [("a", true), ("b", false), ("a", true), ("b", true)];
    assert_eq!(checked, expected.map(|(label, passed)| (json!(label), json!(passed))));
    assert_eq!(of_kind(&workspace, "task:nudge").len(), 1);
}

#[test]
fn a_test_that_only_claims_to_be_green_is_not() {
    // The worker says so, another test is green, and the required one was never made.
    let workspace = one_task(
        "echo '12 passed, 0 failed'; touch other",
        "verify: {failToPass: [mine], testCommand: 'test -e {test}'}",
    );
    let finished = workspace.quorum(RUN_AS_R1).exits(5);
    let document = finished.json();
    assert_eq!(standing(&document, "work"), ("done", "unverified"));
    assert_eq!(document["conditions"], json!(["below_threshold"]));
    finished.stderr.says(&["finish gate misses", "unverified"]);
    assert_eq!(of_kind(&workspace, "work:started turn").len(), 3, "two nudges");
    workspace.quorum(&["status", "--exit-code"]).exits(5);
    let junit = workspace.quorum(&["report", "--junit", "out.xml"]);
    assert_eq!(junit.code(), Some(0), "{}", junit.stderr);
    assert!(workspace.read("out.xml").contains("unverified"), "{}", workspace.read("out.xml"));
}

#[test]
fn a_gate_over_work_that_was_not_verified_fails() {
    let workspace = Mission::new()
        .worker("true")
        .key("qualityGates", json!([{"name": "door", "afterTasks": ["work"], "blocksTasks": ["next"]}]))
        .task("work", |t| t.set("verify", json!({"commands": ["false"], "maxAttempts": 0})))
        .tasks(["next"])
        .workspace();
    let document = workspace.run_json(4, &[]);
    assert_eq!(gate(&document, "door")["state"], "failed");
    assert_eq!(standing(&document, "next"), ("pending", ""));
}

#[test]
fn tests_that_a_file_names_are_frozen_when_the_run_starts() {
    for list in ["one\ntwo\n\n", r#"["one", "two"]"#] {
        let workspace = one_task(
            // The list is emptied by the agent: that changes nothing.
            "echo '[]' > list; touch one",
            "verify: {failToPass: list, testCommand: 'test -e {test}', maxAttempts: 0}",
        );
        workspace.write("list", list);
        let document = workspace.run_json(5, &[]);
        assert_eq!(standing(&document, "work"), ("done", "unverified"), "{list}");
        let labels: Vec<_> =
            of_kind(&workspace, "work:ended finish").iter().map(|event| event["label"].clone()).collect();
        assert_eq!(labels, ["one", "two"]);
    }
    for (list, words) in [(None, "No such file"), (Some(""), "names no test"), (Some("[1]"), "JSON list")] {
        let workspace =
            one_task("touch touched", "verify: {failToPass: list, testCommand: 'test -e {test}'}");
        if let Some(list) = list {
            workspace.write("list", list);
        }
        for command in ["run", "validate"] {
            workspace.quorum(&[command, "mission.yaml"]).exits(2).says(&["failToPass", words]);
        }
        workspace.assert_nothing_started();
    }
}

#[test]
fn compilation_has_a_command_or_a_tsconfig() {
    let keys = "verify: {requireCompilation: true}";
    let ended = one_task("true", keys).quorum(&["run", "mission.yaml"]).exits(2);
    ended.says(&["tsconfig.json", "compileCommand"]);
    // The default is run where there is one; there is no such compiler here.
    let workspace = one_task("true", "verify: {requireCompilation: true, compilationMaxAttempts: 1}");
    workspace.write("tsconfig.json", "{}");
    workspace.write("bin/npx", "#!/bin/sh\necho \"npx $*\" >> ran\nexit 1\n");
    let npx = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(workspace.path("bin/npx"), npx).expect("it is ours");
    let path = format!("{}:{}", workspace.path("bin").display(), std::env::var("PATH").unwrap_or_default());
    workspace.quorum_with(&[("PATH", &path)], &["run", "mission.yaml", "--json"]).exits(5);
    // Once before the work, and twice behind it.
    assert_eq!(workspace.lines("ran"), ["npx tsc --noEmit"; 3]);
}

#[test]
fn what_makes_no_sense_in_a_finish_gate_is_an_error() {
    for (verify, words) in [
        ("{requiredTests: [a]}", "testCommand"),
        ("{requiredTests: [a], testCommand: 'make test'}", "{test}"),
        ("{testCommand: 'test {test}'}", "none is required"),
        ("{compileCommand: make}", "requireCompilation"),
        ("{commands: [x], maxAttempts: -1}", "-1"),
        ("{requiredTest: [a]}", "requiredTests"),
    ] {
        let workspace = one_task("touch touched", &format!("verify: {verify}"));
        workspace.refuses(&["mission.yaml:5", words]);
    }
}

#[test]
fn a_run_that_is_killed_in_the_middle_of_a_gate_goes_on_with_it() {
    let workspace = one_task(
        "echo work",
        "baseline: false, verify: {commands: ['echo one >> ran', 'echo two >> ran; while ! test -e go; do sleep 0.02; done']}",
    );
    let running = workspace.start(&["run", "mission.yaml", "--run-id", "r1"]);
    wait_for_file(&workspace.path("ran"));
    crate::support::wait_for("the second command", || workspace.lines("ran").len() == 2);
    running.kill();
    workspace.write("go", "");
    let document = workspace.resume_json(0, &[]);
    assert_eq!(standing(&document, "work"), ("done", "clean"));
    assert_eq!(workspace.lines("ran"), ["one", "two", "two"], "the first one was on record");
    assert_eq!(attempts(&document, "work"), ["execute"]);
    assert_eq!(of_kind(&workspace, "work:started turn").len(), 1, "the worker is not started again");
}

#[test]
fn changes_by_somebody_else_are_nobodys() {
    let workspace = Mission::new()
        .agent("idler", "echo yes > begun; while ! test -e a; do sleep 0.02; done")
        .agent("writer", "while ! test -e begun; do sleep 0.02; done; echo x > a")
        .setting("concurrency", 2)
        .task("idle", |t| t.files(["a"]).set("verify", json!({"requireFileChanges": true})))
        .task("write", |t| t.by("writer"))
        .workspace();
    let document = workspace.run_json(5, &[]);
    assert_eq!(standing(&document, "idle"), ("done", "unverified"), "{document:#}");
    assert_eq!(of_kind(&workspace, "task:nudge").len(), 0, "there is nothing to tell it");
    let said = of_kind(&workspace, "stage:verdict");
    assert!(said.iter().any(|event| event.to_string().contains("cannot be told")), "{said:?}");
}

#[test]
fn too_many_rejections_in_a_row_stop_the_judging_and_are_never_a_success() {
    let workspace = Mission::new()
        .worker("echo work")
        .judge("judge", &["SCORE: 10"])
        .setting("concurrency", 1)
        .setting("maxAttempts", 1)
        .tasks(["t1", "t2", "t3", "t4", "t5", "t6", "t7"])
        .task("asked for", |t| t.set("review", "required"))
        .task("later", |t| t.needs("t1"))
        .workspace();
    let document = workspace.run_json(6, &[]);
    assert_eq!(workspace.calls("judge"), 6, "five, and one of the next wave");
    assert_eq!(standing(&document, "t5"), ("done", "below-threshold"));
    assert_eq!(standing(&document, "t6"), ("done", "unverified"));
    assert_eq!(standing(&document, "asked for"), ("done", "unverified"));
    assert_eq!(standing(&document, "later"), ("done", "below-threshold"));
    assert_eq!(document["conditions"], json!(["indeterminate", "below_threshold"]));
    assert_eq!(document["counts"]["indeterminate"], 1);
    assert_eq!(document["counts"]["unverified"], 3);
    document["warnings"].to_string().says(&["5 rejections in a row of the work of worker"]);
    let skipped = of_kind(&workspace, "stage:verdict");
    let skipped = skipped.iter().filter(|event| event["cause"] == "breaker");
    assert_eq!(skipped.count(), 3);
}

#[test]
fn the_mission_that_shows_it_does_what_it_says() {
    let workspace = Workspace::of_missions(&[
        "evidence.yaml",
        "evidence/develop.sh",
        "evidence/tests/adds.sh",
        "evidence/tests/negates.sh",
    ]);
    let document = workspace.quorum(&["run", "evidence.yaml", "--json"]).exits(0).json();
    assert_eq!(standing(&document, "Write the calculator"), ("done", "clean"));
    assert_eq!(attempts(&document, "Write the calculator"), ["execute"]);
    assert_eq!(of_kind(&workspace, "task:nudge").len(), 1);
}
