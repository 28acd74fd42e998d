//! What was accepted must still stand: what is recorded, when it is looked at again, and what follows (semantics, section 6).

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{Has, Mission, Says, Workspace, attempts, gate, standing, task, wait_for_file};

/// One task writes `a.txt`, one behind it does something to it.
fn changed_later(more: &str, script: &str) -> Workspace {
    Workspace::with(&format!(
        "
name: one writes, another changes
agents:
  writer: {{run: 'echo a >> turns; echo one > a.txt'}}
  changer: {{run: '{script}'}}
settings: {{evaluate: false, baseline: false}}
tasks:
  - {{title: a, assignTo: writer, targetFiles: [a.txt]{more}}}
  - {{title: b, assignTo: changer, dependsOn: [a]}}
"
    ))
}

fn names(events: &[Value]) -> Vec<&str> {
    events.iter().filter_map(|event| event["event"].as_str()).collect()
}

#[test]
fn work_that_names_no_file_and_has_no_check_leaves_no_record() {
    let workspace = Mission::new().worker("true").tasks(["a"]).task("b", |t| t.needs("a")).workspace();
    let document = workspace.run_json(0, &[]);
    assert_eq!((&document["audit"], &document["resumable"]), (&json!("none"), &json!(false)));
    let events = workspace.events();
    let names = names(&events);
    assert!(
        !names.iter().any(|name| name.starts_with("audit:") || name.starts_with("acceptance:")),
        "{names:?}"
    );
}

#[test]
fn a_changed_file_that_no_check_holds_makes_the_work_unverified() {
    let workspace = changed_later("", "echo two > a.txt");
    let document = workspace.run_json(5, &[]);
    assert_eq!(standing(&document, "a"), ("done", "unverified"));
    assert_eq!((&document["counts"]["unverified"], &document["counts"]["done"]), (&json!(1), &json!(2)));
    let found = task(&document, "a")["findings"].to_string();
    assert!(found.contains("a.txt changed after it was accepted"), "{found}");
    assert!(document["warnings"].to_string().contains("a.txt"), "{}", document["warnings"]);
    // It stays so, and is not found once more.
    let again = workspace.status();
    assert_eq!(standing(&again, "a"), ("done", "unverified"));
}

#[test]
fn a_changed_file_stands_where_its_checks_pass_again_and_it_is_said() {
    let workspace = changed_later(
        ", expectations: [{type: test, command: 'echo x >> checked; test -s a.txt'}]",
        "echo two >> a.txt",
    );
    let document = workspace.run_json(0, &[]);
    assert_eq!(standing(&document, "a"), ("done", "clean"));
    assert_eq!(workspace.lines("checked").len(), 2);
    let findings = task(&document, "a")["findings"].as_array().cloned().unwrap_or_default();
    let said = findings.iter().find(|finding| finding["stage"] == "audit").expect("it is said");
    assert_eq!(said["severity"], "info");
    assert!(said["description"].to_string().contains("a.txt"), "{said}");
}

#[test]
fn a_file_that_was_emptied_does_not_stand_and_one_that_was_empty_does() {
    let workspace = changed_later("", ": > a.txt");
    let document = workspace.run_json(0, &[]);
    assert_eq!(attempts(&document, "a"), ["execute", "fix"], "it is done again");
    let events = workspace.events();
    let regressed = events.iter().find(|event| event["event"] == "task:regressed");
    assert_eq!(regressed.expect("it is told")["reason"], "a.txt was emptied after it was accepted");

    let workspace = Mission::new()
        .worker("touch marker")
        .agent("other", "true")
        .setting("evaluate", false)
        .task("a", |t| t.expects(json!({"type": "file_exists", "paths": ["marker"]})))
        .task("b", |t| t.by("other").needs("a"))
        .workspace();
    workspace.run_json(0, &[]);
}

#[test]
fn checks_run_again_only_behind_a_turn_in_their_workspace_and_each_command_once() {
    let mission = |settings: &str, more: &str| {
        Workspace::with(&format!(
            "
name: checks
agents:
  worker: {{run: 'true'}}
settings: {{evaluate: false, baseline: false{settings}}}
tasks:
  - {{title: a, expectations: [{{type: test, command: 'echo x >> ran'}}]}}
  - {{title: b, dependsOn: [a], expectations: [{{type: script, command: 'echo x >> ran'}}]}}
{more}"
        ))
    };
    // Behind the check of `a` ended the turn of `b`, behind that of `b` none.
    let workspace = mission("", "");
    workspace.run_json(0, &[]);
    assert_eq!(workspace.lines("ran").len(), 3);
    // Both are due, and are one command.
    let workspace = mission("", "  - {title: c, dependsOn: [b]}\n");
    workspace.run_json(0, &[]);
    assert_eq!(workspace.lines("ran").len(), 3);
    // Elsewhere nobody touches it.
    let workspace = mission("", "  - {title: c, dependsOn: [b], workspace: elsewhere}\n");
    workspace.run_json(0, &[]);
    assert_eq!(workspace.lines("ran").len(), 3);
    let workspace = mission(", finalChecks: always", "");
    workspace.run_json(0, &[]);
    assert_eq!(workspace.lines("ran").len(), 3);
    let workspace = mission(", finalChecks: never", "  - {title: c, dependsOn: [b]}\n");
    workspace.run_json(0, &[]);
    assert_eq!(workspace.lines("ran").len(), 2);
}

#[test]
fn with_final_checks_never_nothing_is_looked_at_and_every_output_says_so() {
    let workspace =
        changed_later("", "rm a.txt").tap_mission("evaluate: false", "evaluate: false, finalChecks: never");
    workspace
        .quorum(&[
            "run",
            "mission.yaml",
            "--report",
            "junit=r.xml",
            "--report",
            "html=r.html",
            "--report",
            "markdown=r.md",
        ])
        .exits(0)
        .shows(&["finalChecks: never"]);
    let document = workspace.status();
    assert_eq!((&document["finalChecks"], &document["audit"]), (&json!("never"), &json!("none")));
    assert!(document["warnings"].to_string().contains("finalChecks: never"));
    for report in ["r.xml", "r.html", "r.md"] {
        assert!(workspace.read(report).contains("finalChecks: never"), "{report}");
    }
    assert!(workspace.quorum(&["status"]).stdout.contains("finalChecks: never"));
}

#[test]
fn a_gate_over_regressed_work_is_taken_again_and_fails() {
    let workspace = Mission::new()
        .agent("writer", "test $QUORUM_ATTEMPT = 2 || echo one > a.txt")
        .agent("tidy", "rm a.txt")
        .key(
            "qualityGates",
            json!([
                {"name": "g", "afterTasks": ["a"], "blocksTasks": ["b"], "requireAllPassed": true},
            ]),
        )
        .setting("evaluate", false)
        .task("a", |t| t.files(["a.txt"]))
        .task("b", |t| t.by("tidy"))
        .workspace();
    let document = workspace.run_json(3, &[]);
    assert_eq!(standing(&document, "b").0, "done", "what ran stays");
    assert_eq!(gate(&document, "g")["state"], "failed");
    assert_eq!(document["conditions"], json!(["task_failed", "gate_failed"]));
}

#[test]
fn regressed_work_is_tried_again_by_a_persons_word() {
    for words in [&["--retry-failed"][..], &["--redo", "a"]] {
        // It was done again by itself, in vain.
        let workspace = changed_later("", "test -e seen || rm a.txt; touch seen")
            .tap_mission("echo one", "test $QUORUM_ATTEMPT = 2 || echo one");
        workspace.run_json(3, &[]);
        let document = workspace.resume_json(0, words);
        assert_eq!(standing(&document, "a").0, "done", "{words:?}");
        assert_eq!(attempts(&document, "a"), ["execute", "fix", "execute"]);
        assert_eq!(document["audit"], "held");
    }
}

/// The first task is accepted, then the run waits for a person.
fn until_a_person(more: &str) -> (Workspace, String) {
    let workspace = Workspace::with(&format!(
        "
name: two sessions
agents:
  writer: {{run: 'echo one > a.txt'}}
  other: {{run: 'true'}}
settings: {{evaluate: false}}
tasks:
  - {{title: a, assignTo: writer, targetFiles: [a.txt]{more}}}
  - {{title: b, assignTo: other, dependsOn: [a], requiresApproval: true}}
"
    ));
    let document = workspace.run_json(8, &[]);
    assert_eq!(document["audit"], "open");
    let id = document["approvals"][0]["id"].as_str().expect("it has an id");
    let id = id.to_owned();
    (workspace, id)
}

#[test]
fn what_a_person_changed_between_sessions_is_named_with_the_session() {
    let (workspace, id) = until_a_person("");
    workspace.write("a.txt", "another\n");
    workspace.quorum(&["approve", &id]).exits(0);
    let document = workspace.resume_json(5, &[]);
    assert_eq!(standing(&document, "a"), ("done", "unverified"));
    let found = task(&document, "a")["findings"].to_string();
    assert!(found.contains("a.txt changed between session 1 and session 2"), "{found}");

    let (workspace, id) = until_a_person(", expectations: [{type: test, command: 'test -s a.txt'}]");
    workspace.write("a.txt", "another\n");
    workspace.quorum(&["approve", &id]).exits(0);
    let document = workspace.resume_json(0, &[]);
    task(&document, "a")["findings"].to_string().says(&["between session 1 and session 2"]);
}

#[test]
fn with_side_effects_reopened_work_waits_for_a_person() {
    let (workspace, id) = until_a_person(", sideEffects: true");
    std::fs::remove_file(workspace.path("a.txt")).expect("it is there");
    workspace.quorum(&["approve", &id]).exits(0);
    let document = workspace.resume_json(8, &["--reopen"]);
    assert_eq!(task(&document, "a")["waiting"]["reason"], "side-effects");
    assert!(!workspace.exists("a.txt"), "nobody let it act again");
}

#[test]
fn a_session_that_was_stopped_during_its_audit_leaves_it_to_the_next_one() {
    let workspace = Mission::new()
        .worker("true")
        .setting("evaluate", false)
        .setting("finalChecks", "always")
        .setting("baseline", false)
        .task("a", |t| {
            t.check(
                "if test -e ran; then echo x >> again; until test -e go; do sleep 0.02; done; fi\n\
            touch ran\n",
            )
        })
        .workspace();
    let running = workspace.start(&["run", "mission.yaml"]);
    wait_for_file(&workspace.path("again"));
    running.signal(Signal::INT);
    running.finish().exits(130);
    let document = workspace.status();
    assert_eq!(standing(&document, "a").0, "done");
    document.has(json!({"audit": "open", "resumable": true, "state": "suspended"}));
    workspace.write("go", "");
    let document = workspace.resume_json(0, &[]);
    assert_eq!((&document["audit"], &document["resumable"]), (&json!("held"), &json!(false)));
}

#[test]
fn files_that_change_whenever_they_are_judged_are_put_to_a_person() {
    let workspace = Mission::new()
        .worker("echo good > out.txt")
        .reviewer("judge", "cat > /dev/null; echo x >> out.txt; echo x >> calls; echo SCORE: 95")
        .task("work", |t| t.files(["out.txt"]))
        .workspace();
    let document = workspace.run_json(6, &[]);
    assert_eq!(workspace.lines("calls").len(), 2);
    let work = task(&document, "work");
    assert_eq!(work["waiting"]["reason"], "refer");
    assert_eq!(work["attempts"][0]["cause"], "unstable");
    // Their yes is for what is there.
    let id = document["approvals"][0]["id"].as_str().expect("it has an id");
    workspace.write("out.txt", "mended by hand\n");
    workspace.quorum(&["approve", id]).exits(0);
    let document = workspace.resume_json(0, &[]);
    assert_eq!(standing(&document, "work"), ("done", "clean"));
    task(&document, "work")["findings"].to_string().says(&["out.txt changed after the question was asked"]);
}

#[test]
fn a_middle_one_of_regressed_work_that_is_redone_takes_along_what_was_built_on_it() {
    let writes = |name: &str| format!("echo {name} >> turns; echo {name} >> log.txt");
    let workspace = Mission::new()
        .agent("a", writes("a"))
        .agent("b", writes("b"))
        .agent("c", writes("c"))
        .agent("tidy", "test -e seen || rm log.txt; touch seen")
        .setting("evaluate", false)
        .setting("baseline", false)
        .task("a", |t| t.by("a").files(["log.txt"]))
        .task("b", |t| t.by("b").needs("a").files(["log.txt"]))
        .task("c", |t| t.by("c").needs("b").files(["log.txt"]))
        .task("tidy", |t| t.by("tidy").needs("c"))
        .workspace();
    let document = workspace.run_json(0, &[]);
    assert_eq!(attempts(&document, "b"), ["execute", "fix"]);
    assert_eq!(workspace.lines("turns"), ["a", "b", "c", "a", "b", "c"], "one after the other");
    let document = workspace.resume_json(0, &["--redo", "b"]);
    assert_eq!(attempts(&document, "a"), ["execute", "fix"]);
    assert_eq!(attempts(&document, "b"), ["execute", "fix", "execute"]);
    assert_eq!(workspace.lines("turns")[6..], ["b", "c"]);
    // What it is built on is gone as well.
    std::fs::remove_file(workspace.path("log.txt")).expect("it is there");
    let document = workspace.resume_json(0, &["--reopen", "--redo", "b"]);
    assert_eq!(workspace.lines("turns")[8..], ["a", "b", "c"]);
    assert_eq!(document["audit"], "held");
    for name in ["a", "b", "c", "tidy"] {
        assert_eq!(standing(&document, name).0, "done", "{name}");
    }
}

#[test]
fn a_file_that_work_under_redo_had_written_last_is_nobodys_change() {
    let writes = |name: &str| format!("echo {name} >> log.txt");
    let workspace = Mission::new()
        .agent("a", writes("a"))
        .agent("b", writes("b"))
        .setting("evaluate", false)
        .task("a", |t| t.by("a").files(["log.txt"]))
        .task("b", |t| t.by("b").needs("a").files(["log.txt"]))
        .workspace();
    workspace.run_json(0, &[]);
    workspace.resume_json(0, &["--redo", "b"]);
    assert_eq!(workspace.lines("log.txt"), ["a", "b", "b"]);
    // What somebody else writes meanwhile is told as before.
    std::fs::write(workspace.path("log.txt"), "else\n").expect("it can be written");
    let document = workspace.resume_json(5, &["--redo", "b"]);
    assert_eq!(standing(&document, "a").0, "done");
    assert!(
        document["warnings"].to_string().contains("log.txt changed between session 2 and session 3"),
        "{document:#}"
    );
}
