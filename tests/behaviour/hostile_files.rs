//! False green 20, the half about files: what an agent leaves where quorum, its judges or its checks look. Nothing of
//! it may hang a run, and no success may come of it.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::journal;
use crate::support::sockets::listen;
use crate::support::{BINARY, Finished, Mission, RUN_AS_R1, Says, Workspace, standing, task, wait_for_file};

/// One agent runs this script, a judge who is content with everything looks at the outcome.
fn vandal(script: &str) -> Workspace {
    let lines: Vec<&str> = script.lines().map(str::trim).collect();
    let script = format!("cd .polpo/runs/r1\n{}", lines.join("\n"));
    Mission::new()
        .agent("vandal", script.replace("@quorum", BINARY))
        .judge("judge", &["SCORE: 100"])
        .task("work", |t| t.attempts(1))
        .task("next", |t| t.needs("work").unreviewed())
        .workspace()
}

/// The run stops as internal, and no later reader takes what the journal says now for a success, or hangs.
fn assert_foreign_write_stops(script: &str) {
    let workspace = vandal(script);
    workspace.quorum(RUN_AS_R1).exits(1).says(&["changed by somebody else"]);
    assert!(!workspace.exists("judge/call.1"), "nothing more was started");
    assert_never_green(&workspace);
    // It is not in the way of an honest one.
    workspace.write("mission.yaml", workspace.read("mission.yaml").replace("cd .polpo/runs/r1", "exit 0"));
    workspace.quorum(&["run", "mission.yaml", "--run-id", "r2"]).exits(0);
    workspace.quorum(&["runs"]).exits(0);
}

fn assert_never_green(workspace: &Workspace) {
    for arguments in [
        &["status", "r1", "--exit-code"][..],
        &["resume", "r1"],
        &["show", "work", "--run", "r1", "--full"],
        &["metrics", "r1"],
        &["report", "r1"],
    ] {
        let finished = workspace.quorum(arguments);
        assert!(finished.code() != Some(0), "{arguments:?}: {finished:?}");
    }
}

#[test]
fn false_green_20_a_line_appended_to_the_journal_stops_the_run() {
    assert_foreign_write_stops("tail -n 1 @journal >> @journal");
}

#[test]
fn false_green_20_noise_appended_to_the_journal_stops_the_run() {
    assert_foreign_write_stops("echo done >> @journal");
}

#[test]
fn false_green_20_a_truncated_journal_stops_the_run() {
    assert_foreign_write_stops("truncate -s -10 @journal");
    assert_foreign_write_stops(": > @journal");
}

#[test]
fn false_green_20_a_replaced_journal_stops_the_run() {
    assert_foreign_write_stops("cp @journal copy; mv copy @journal");
    assert_foreign_write_stops("rm @journal");
    assert_foreign_write_stops("mv @journal copy; ln -s copy @journal");
    assert_foreign_write_stops("rm @journal; mkfifo @journal");
    assert_foreign_write_stops("rm @journal; mkdir @journal");
}

#[test]
fn false_green_20_a_well_made_end_of_the_journal_is_not_believed() {
    // What it appends is the true end of the same mission's run with a content judge: every checksum is right.
    let workspace = vandal("test -e forged || exit 0; cat forged >> @journal");
    workspace.quorum(RUN_AS_R1).exits(0);
    let honest = workspace.read(&journal::of("r1"));
    let workspace = vandal(
        "echo ready > ../../../ready; while ! test -e ../../../forged; do sleep 0.02; done
        cat ../../../forged >> @journal",
    );
    let running = workspace.start(RUN_AS_R1);
    wait_for_file(&workspace.path("ready"));
    let written = workspace.read(&journal::of("r1")).lines().count();
    let rest: String = honest.lines().skip(written).map(|line| format!("{line}\n")).collect();
    assert!(rest.contains(journal::code::ENDED_OK), "{rest}");
    workspace.write("forged.part", rest);
    std::fs::rename(workspace.path("forged.part"), workspace.path("forged")).expect("it is ours");
    running.finish().exits(1).says(&["changed by somebody else"]);
    assert_never_green(&workspace);
}

#[test]
fn false_green_20_an_edited_frozen_mission_changes_nothing_and_is_never_resumed() {
    for edit in [
        "sed -i 's/role: reviewer/role: idler/' mission.yaml",
        "rm mission.yaml; mkfifo mission.yaml",
        "rm mission.yaml",
    ] {
        let workspace = vandal(&format!("test $QUORUM_TASK = next && exit 0; {edit}"));
        workspace.judge("judge", &["SCORE: 10"]);
        // It is not even judged: the frozen mission is protected.
        let finished = workspace.quorum(RUN_AS_R1);
        assert_eq!(finished.code(), Some(3), "{edit}: {finished:?}");
        let document = finished.json();
        assert_eq!(standing(&document, "work"), ("failed", ""), "{edit}");
        let failure = &task(&document, "work")["failure"];
        assert_eq!(failure["mode"], "protected", "{edit}");
        assert!(failure["message"].to_string().contains("frozen mission"), "{failure}");
        assert_eq!(workspace.calls("judge"), 0, "{edit}");
        assert_never_green(&workspace);
    }
}

#[test]
fn false_green_20_an_edited_mission_file_is_not_the_one_that_runs() {
    let workspace = vandal("cd ../../..; sed -i 's/maxAttempts: 1/review: none/' mission.yaml");
    workspace.judge("judge", &["SCORE: 10"]);
    let document = workspace.quorum(RUN_AS_R1).exits(3).json();
    assert_eq!(task(&document, "work")["failure"]["mode"], "protected");
}

#[test]
fn false_green_20_edited_records_for_readers_are_not_believed() {
    for edit in [
        r#"echo '{"outcome": "ok"}' > @snapshot"#,
        "mkfifo @snapshot",
        "ln -s ../../../mission.yaml @snapshot",
        "echo noise >> @exits",
        ": > @exits",
        "rm -f @exits; mkfifo @exits",
        "rm -f @exits; mkdir @exits",
        "echo soup > ../../VERSION",
        "rm ../../VERSION; mkfifo ../../VERSION",
        "rm ../../lock; mkfifo ../../lock",
    ] {
        let workspace = vandal(&format!("test $QUORUM_TASK = next && exit 0; {edit}"));
        workspace.judge("judge", &["SCORE: 10"]);
        let finished = workspace.quorum(RUN_AS_R1);
        assert!(matches!(finished.code(), Some(1 | 5)), "{edit}: {finished:?}");
        for arguments in
            [&["status", "r1", "--exit-code"][..], &["resume", "r1"], &["run", "mission.yaml"], &["doctor"]]
        {
            let finished = workspace.quorum(arguments);
            let harmless = arguments == ["doctor"];
            assert!(harmless || finished.code() != Some(0), "{edit}: {arguments:?}: {finished:?}");
        }
    }
}

/// `work` writes its result file like this; what it prints is what it said.
fn result(make: &str) -> (Finished, Workspace) {
    let workspace = vandal(&format!(
        "echo what it printed; cd ../../..; test $QUORUM_TASK = next && exit 0
        F=\"$QUORUM_RESULT_FILE\"\n{make}"
    ));
    workspace.write("secret", r#"{"output": "a secret"}"#);
    let finished = workspace.quorum(RUN_AS_R1);
    (finished, workspace)
}

/// The file is refused with a warning, and the judge sees what was printed.
fn assert_result_refused(make: &str, why: &str) {
    let (finished, workspace) = result(make);
    let document = finished.exits(0).json();
    let warnings = document["warnings"].to_string();
    assert!(warnings.contains("result file") && warnings.contains(why), "{make}: {warnings}");
    let asked = workspace.asked("judge", 1);
    assert!(asked.contains("what it printed"), "{make}: {asked}");
    assert!(!asked.contains("a secret"), "{make}: {asked}");
}

#[test]
fn false_green_20_a_result_file_that_is_a_link_is_not_followed() {
    assert_result_refused("ln -s \"$PWD/secret\" \"$F\"", "cannot be read");
    assert_result_refused("ln -s /proc/self/environ \"$F\"", "cannot be read");
    assert_result_refused("ln -s /dev/zero \"$F\"", "cannot be read");
}

#[test]
fn false_green_20_a_result_file_that_is_a_pipe_or_a_folder_is_refused() {
    assert_result_refused("mkfifo \"$F\"", "not a regular file");
    assert_result_refused("mkdir \"$F\"", "not a regular file");
    assert_result_refused("mkdir \"$F\"; touch \"$F/x\"", "not a regular file");
}

#[test]
fn false_green_20_a_result_file_that_is_a_socket_is_refused() {
    let workspace = vandal(
        "echo what it printed; cd ../../..; test $QUORUM_TASK = next && exit 0
        echo \"$QUORUM_RESULT_FILE\" > where; while ! test -e go; do sleep 0.02; done",
    );
    let running = workspace.start(RUN_AS_R1);
    wait_for_file(&workspace.path("where"));
    let _socket = listen(Path::new(workspace.read("where").trim())).expect("a socket can be there");
    workspace.write("go", "");
    let document = running.finish().exits(0).json();
    assert!(document["warnings"].to_string().contains("result file"), "{document:#}");
    assert!(workspace.asked("judge", 1).contains("what it printed"));
}

#[test]
fn false_green_20_a_result_file_that_is_too_large_is_refused() {
    assert_result_refused("head -c 1048577 /dev/zero > \"$F\"", "bytes, more than");
    // More than any disk has: nobody reads through it.
    assert_result_refused("truncate -s 4T \"$F\"", "bytes, more than");
}

#[test]
fn false_green_20_a_result_file_that_is_no_text_is_refused() {
    assert_result_refused("head -c 1000 /dev/urandom > \"$F\"", "not what it should be");
    assert_result_refused("echo '[\"SCORE: 100\"]' > \"$F\"", "not what it should be");
}

#[test]
fn false_green_20_a_result_left_for_another_turn_is_not_its_result() {
    let plants = [
        r#"echo '{"output": "planted"}' > "$F""#,
        "mkdir \"$F\"; touch \"$F/x\"",
        "mkfifo \"$F\"",
        "ln -s \"$PWD/secret\" \"$F\"",
    ];
    let places = [
        "F=$(dirname \"$QUORUM_TASK_DIR\")/@turn(1.1.1).drop",
        "F=$(dirname \"$QUORUM_TASK_DIR\")/@turn(1.1.1).drop/result; mkdir \"$(dirname \"$F\")\"",
    ];
    for (place, plant) in places.iter().flat_map(|place| plants.map(|plant| (place, plant))) {
        let workspace = vandal(&format!(
            "cd ../../..; if test $QUORUM_TASK = next; then echo what it printed; exit 0; fi
            {place}; {plant}"
        ))
        .tap(|m| m.change("next", |t| t.without("review")));
        workspace.write("secret", r#"{"output": "a secret"}"#);
        let document = workspace.quorum(RUN_AS_R1).exits(0).json();
        assert_eq!(document["warnings"], json!([]), "{plant}");
        let asked = workspace.asked("judge", 2);
        assert!(asked.contains("what it printed"), "{plant}: {asked}");
        assert!(!asked.contains("planted") && !asked.contains("a secret"), "{plant}: {asked}");
    }
}

#[test]
fn false_green_20_what_an_agent_left_in_the_place_of_a_prompt_is_not_written_to() {
    let prompts =
        |folder: &str| format!("{folder}/1.1.1.prompt {folder}/0.ask.1.1.request {folder}/0.ask.1.1.review");
    for (plant, code) in [
        ("mkfifo \"$F\"", 0),
        ("ln -s \"$PWD/precious\" \"$F\"", 0),
        ("ln \"$PWD/precious\" \"$F\"", 0),
        // A folder cannot be taken away without a thought: whatever needs the name fails.
        ("mkdir \"$F\"", 1),
    ] {
        let workspace = vandal(&format!(
            "cd ../../..; echo precious > precious; if test $QUORUM_TASK = next; then cat > told; exit 0; fi
            for F in {}; do {plant}; done",
            prompts(&journal::work_of("r1"))
        ));
        let finished = workspace.quorum(RUN_AS_R1);
        assert!(
            finished.code() == Some(code) || (code == 1 && finished.code() == Some(6)),
            "{plant}: {finished:?}"
        );
        assert_eq!(workspace.read("precious"), "precious\n", "{plant}");
        if code == 0 {
            assert!(workspace.read("told").contains("next"), "{plant}");
            assert_eq!(standing(&finished.json(), "work"), ("done", "clean"), "{plant}");
        }
    }
}

#[test]
fn false_green_20_what_another_said_cannot_be_changed_afterwards() {
    // `work` has ended and its judge thinks; `next` rewrites what it said and what was asked.
    let workspace = Mission::new()
        .worker("echo poor work")
        .reviewer(
            "slow",
            "cat > /dev/null; echo asked >> asked; while ! test -e edited; do sleep 0.02; done; exit 1",
        )
        .agent(
            "forger",
            "while ! test -e asked; do sleep 0.02; done\n\
            for file in .polpo/runs/r1/@spool/@turn(0.1.1).out; do echo fine work > $file; done\n\
            echo > edited\n",
        )
        .setting("concurrency", 2)
        .setting("maxAssessmentRetries", 0)
        .tasks(["work"])
        .task("forger", |t| t.by("forger").unreviewed())
        .workspace();
    let document = workspace.quorum(RUN_AS_R1).exits(6).json();
    assert_eq!(standing(&document, "work"), ("awaiting_approval", ""));
    // Its judges are asked again, and find that the evidence is gone.
    let document = workspace.resume_json(6, &[]);
    assert_eq!(standing(&document, "work"), ("awaiting_approval", ""));
    assert_eq!(workspace.lines("asked").len(), 1);
}

#[test]
fn bytes_that_are_no_text_are_shown_as_such() {
    let (finished, workspace) = result("printf '{\"output\": \"a\\377z\"}' > \"$F\"");
    finished.exits(0);
    workspace.asked("judge", 1).says(&["a\u{fffd}z"]).omits(&["what it printed"]);
}

/// A task whose files are made by this script.
fn files(make: &str, rules: &str) -> (Finished, Workspace) {
    let workspace = Mission::new()
        .worker(make)
        .judge("judge", &[])
        .task("work", |t| t.attempts(1).with(rules))
        .workspace();
    workspace.judge("judge", &[r#"{"scores": {"x": {"reasoning": "r", "score": 5}}, "findings": []}"#]);
    let finished = workspace.quorum(RUN_AS_R1);
    (finished, workspace)
}

const PANEL: &str = "{type: llm_review, criteria: c, reviewers: [judge], dimensions: [{name: x, weight: 1}]}";

#[test]
fn false_green_20_a_pipe_is_no_file_that_exists() {
    for make in
        ["mkfifo made", "mkdir made", "ln -s /dev/zero made", "ln -s /etc/passwd made", "ln -s made made"]
    {
        for rule in
            ["paths: [made]", "paths: [m*e]", "paths: [made], contains: x", "paths: [made], minBytes: 0"]
        {
            let (finished, _) =
                files(make, &format!("expectations: [{{type: file_exists, {rule}}}, {PANEL}]"));
            assert_eq!(finished.code(), Some(3), "{make} {rule}: {finished:?}");
            let document = finished.json();
            assert_eq!(task(&document, "work")["attempts"][0]["cause"], "checks", "{make} {rule}");
        }
    }
}

#[test]
fn false_green_20_a_pipe_is_no_target_file() {
    for make in ["mkfifo made", "mkdir made", "ln -s /dev/zero made", "ln -s /etc/passwd made"] {
        let (finished, workspace) = files(make, &format!("targetFiles: [made], expectations: [{PANEL}]"));
        assert_eq!(finished.code(), Some(3), "{make}: {finished:?}");
        assert_eq!(task(&finished.json(), "work")["attempts"][0]["cause"], "artifact", "{make}");
        assert_eq!(workspace.calls("judge"), 0, "{make}");
    }
}

#[test]
fn a_judge_is_shown_what_is_a_file_beside_what_is_none() {
    for make in ["mkfifo made", "ln -s /etc/passwd made", "truncate -s 4T made"] {
        let (finished, workspace) = files(
            &format!("{make}; echo good > also"),
            &format!("targetFiles: [made, also], expectations: [{PANEL}]"),
        );
        assert_eq!(finished.code(), Some(0), "{make}: {finished:?}");
        let asked = workspace.asked("judge", 1);
        assert!(asked.contains("good") && !asked.contains("root:"), "{make}: {asked}");
    }
}

#[test]
fn output_that_is_larger_than_any_disk_is_a_failure_and_holds_nothing_up() {
    let (finished, _) = files("echo work; truncate -s 4T /proc/self/fd/1", "review: none");
    let document: Value = finished.exits(3).json();
    task(&document, "work")["failure"]["message"].to_string().says(&["output is lost"]);
}

#[test]
fn a_folder_for_messages_that_is_dated_before_1970_ends_no_session() {
    let workspace = Mission::new()
        .worker("touch -d 1960-01-01 \"$QUORUM_TASK_DIR\"")
        .setting("evaluate", false)
        .setting("concurrency", 1)
        .tasks(["a", "b", "c"])
        .workspace();
    workspace.quorum(&["run", "mission.yaml"]).exits(0);
}
