//! Accepted work that does not stand is done again, and what was built on it stays (semantics, section 6).

use serde_json::{Value, json};

use crate::support::events::named;
use crate::support::{Has, Mission, Says, Workspace, attempts, gate, standing, task};

/// `a` writes a line that its check wants, `b` behind it does something to the file. Each turn is logged.
fn broken_later(more: &str, writer: &str, changer: &str) -> Workspace {
    Workspace::with(&format!(
        "
name: one breaks what another was accepted for
agents:
  writer: {{run: 'cat > prompt.$QUORUM_ATTEMPT; echo $QUORUM_TASK >> turns; {writer}'}}
  changer: {{run: '{changer}'}}
settings: {{evaluate: false}}
tasks:
  - {{title: a, assignTo: writer, targetFiles: [f], expectations: [{{type: test, command: 'grep -q alpha f'}}]{more}}}
  - {{title: b, assignTo: changer, dependsOn: [a], targetFiles: [f], expectations: [{{type: test, command: 'grep -q beta f'}}]}}
"
    ))
}

fn audits(workspace: &Workspace) -> usize {
    let events = workspace.events();
    let audits = named(&events, "work:requested");
    audits.iter().filter(|event| event["purpose"] == "audit").count()
}

fn message(document: &Value, title: &str) -> String {
    task(document, title)["failure"]["message"].to_string()
}

#[test]
fn what_a_later_task_broke_is_mended_and_both_hold() {
    let mend = "if test -e f; then echo alpha >> f; else echo alpha > f; fi";
    let workspace = broken_later("", mend, "echo beta > f");
    let finished = workspace.quorum(&["run", "mission.yaml"]).exits(0);
    assert!(finished.stderr.contains("REOPEN"), "{}", finished.stderr);
    assert!(finished.stdout.contains("1 reworked, 1 regressed"), "{}", finished.stdout);
    let document = workspace.status();
    assert_eq!(standing(&document, "a"), ("done", "clean"));
    assert_eq!(attempts(&document, "a"), ["execute", "fix"]);
    assert_eq!(attempts(&document, "b"), ["execute"], "what was built on it stays");
    assert_eq!((&document["counts"]["regressed"], &document["audit"]), (&json!(1), &json!("held")));
    assert_eq!(audits(&workspace), 2, "all of it is looked at again");
    let text = workspace.read("prompt.2");
    text.says(&["does not hold any more", "grep -q alpha", "f is also named by task 'b'", "both must hold"]);
    workspace
        .quorum(&["show", "a", "--full"])
        .exits(0)
        .shows(&["audit: fail (checks)", "attempt 2, fix: pass"]);
    // Every record is decided again in the same way.
    workspace.quorum(&["review", "--replay"]).exits(0);
}

#[test]
fn two_that_break_each_other_for_ever_end_with_the_third_audit() {
    let workspace = Mission::new()
        .agent("alpha", "echo alpha > f")
        .agent("beta", "until test -e checked; do sleep 0.02; done; echo beta > f")
        .setting("evaluate", false)
        .setting("concurrency", 2)
        .task("a", |t| t.set("onExhausted", "fixup").files(["f"]).check("grep -q alpha f && touch checked"))
        .task("b", |t| t.by("beta").files(["f"]).check("grep -q beta f"))
        .workspace();
    let document = workspace.run_json(3, &[]);
    assert_eq!(audits(&workspace), 3);
    assert_eq!(document["counts"]["total"], 2, "nobody gets a fixup");
    assert_eq!(attempts(&document, "a"), ["execute", "fix"]);
    assert_eq!(attempts(&document, "b"), ["execute", "fix"]);
    assert_eq!(standing(&document, "a"), ("failed", ""));
    assert_eq!(task(&document, "a")["failure"]["mode"], "regressed");
    message(&document, "a").says(&["looked at three times in this session"]);
    assert_eq!(standing(&document, "b"), ("done", "clean"), "what is done stays done");
    assert_eq!((&document["counts"]["regressed"], &document["resumable"]), (&json!(2), &json!(false)));
}

#[test]
fn one_attempt_is_granted_beside_all_limits_and_no_second_one() {
    // It has used up its attempts, and its policy is to accept what is left.
    let limits = ", maxAttempts: 1, onExhausted: accept";
    let changer = "grep -q beta f || echo beta > f";
    let workspace = broken_later(limits, "test -e f || echo alpha > f", changer);
    let document = workspace.run_json(3, &[]);
    assert_eq!(attempts(&document, "a"), ["execute", "fix"]);
    assert_eq!(standing(&document, "a"), ("failed", ""));
    assert_eq!(task(&document, "a")["failure"]["mode"], "regressed");
    message(&document, "a").says(&["grep -q alpha", "the attempt to restore it failed"]);
    assert_eq!(standing(&document, "b"), ("done", "clean"));
    // A person may have it done from the start.
    workspace.write("f", "beta\nalpha\n");
    workspace.resume_json(0, &["--redo", "a"]);
}

#[test]
fn an_agent_that_fails_at_it_has_not_mended_it() {
    let workspace = broken_later("", "test ! -e f || exit 7; echo alpha > f", "echo beta > f");
    let document = workspace.run_json(3, &[]);
    assert_eq!(attempts(&document, "a"), ["execute", "fix"]);
    assert_eq!(task(&document, "a")["failure"]["mode"], "regressed");
}

#[test]
fn files_that_were_lost_must_be_there_again() {
    let mission = |again: &str| {
        Mission::new()
            .agent("writer", format!("test -e one || {{ echo 1 > one; echo 2 > two; exit 0; }}; {again}"))
            .agent("tidy", "rm two")
            .setting("evaluate", false)
            .task("a", |t| t.files(["one", "two"]))
            .task("b", |t| t.by("tidy").needs("a"))
            .workspace()
    };
    let document = mission("echo 3 > two").run_json(0, &[]);
    assert_eq!(attempts(&document, "a"), ["execute", "fix"]);
    // One file of two would do for work that nobody accepted.
    let document = mission("echo 3 > one").run_json(3, &[]);
    assert_eq!(task(&document, "a")["failure"]["mode"], "regressed");
    message(&document, "a").says(&["two was removed after it was accepted"]);
}

#[test]
fn with_side_effects_a_person_is_asked_first() {
    let workspace = broken_later(", sideEffects: true", "echo alpha >> f", "rm f; echo beta > g; ln g f")
        .tap_mission("evaluate: false", "evaluate: false, finalChecks: always");
    let document = workspace.run_json(8, &[]);
    assert_eq!(standing(&document, "a"), ("awaiting_approval", ""));
    assert_eq!(task(&document, "a")["waiting"]["reason"], "side-effects");
    let asked = &document["approvals"][0];
    assert!(asked["message"].to_string().contains("grep -q alpha"), "{asked}");
    assert_eq!(workspace.lines("turns").len(), 1, "nobody let it act again");
    let id = asked["id"].as_str().expect("it has an id");
    workspace.quorum(&["approve", id]).exits(0);
    let document = workspace.resume_json(0, &[]);
    assert_eq!(attempts(&document, "a"), ["execute", "fix"]);
    workspace.read("prompt.2").says(&["does not hold any more"]);
}

#[test]
fn gates_over_it_are_withdrawn_and_told_anew() {
    let workspace = Mission::new()
        .agent("writer", "echo alpha >> f")
        .agent("tidy", "rm f")
        .key("channels", json!({"ops": {"type": "file", "path": "told.jsonl"}}))
        .key(
            "qualityGates",
            json!([
                {"name": "g", "afterTasks": ["a"], "blocksTasks": ["b"], "notifyChannels": ["ops"]},
            ]),
        )
        .setting("evaluate", false)
        .task("a", |t| t.files(["f"]).set("deadline", "1h"))
        .task("b", |t| t.by("tidy"))
        .workspace();
    let document = workspace.run_json(0, &[]);
    assert_eq!(attempts(&document, "b"), ["execute"]);
    assert_eq!(gate(&document, "g")["state"], "passed");
    let events = workspace.events();
    assert_eq!(events.count("quality:gate:passed"), 2);
    assert_eq!(workspace.lines("told.jsonl").len(), 2, "each time it is told");
    assert_eq!(events.count("sla:met"), 1, "a deadline once told stays told");
}

/// `a` was judged and accepted, and `b` behind it waits for a person, who has agreed; meanwhile somebody emptied the file.
fn spoiled_between_sessions() -> Workspace {
    let workspace = Workspace::with(
        "
name: two sessions
agents:
  writer: {run: 'echo a >> turns; echo alpha > f'}
  other: {run: 'echo b >> turns; echo b > g'}
  judge: {role: reviewer, run: 'cat > /dev/null; echo x >> calls; echo SCORE: 95'}
tasks:
  - {title: a, assignTo: writer, targetFiles: [f]}
  - {title: b, assignTo: other, dependsOn: [a], requiresApproval: true}
",
    );
    let document = workspace.run_json(8, &[]);
    assert_eq!(standing(&document, "a"), ("done", "clean"));
    let id = document["approvals"][0]["id"].as_str().expect("it has an id");
    workspace.quorum(&["approve", id]).exits(0);
    workspace.write("f", "");
    workspace
}

#[test]
fn what_has_not_started_waits_for_it() {
    let workspace = spoiled_between_sessions();
    let document = workspace.resume_json(0, &[]);
    assert_eq!(workspace.lines("turns"), ["a", "a", "b"]);
    assert_eq!(attempts(&document, "a"), ["execute", "fix"]);
    assert_eq!(standing(&document, "a"), ("done", "clean"));
    assert_eq!(task(&document, "a")["points"], 95.0, "it is judged like any other work");
    assert!(workspace.lines("calls").len() > 2);
}

#[test]
fn switches_of_the_session_hold_for_it() {
    let workspace = spoiled_between_sessions();
    let document = workspace.resume_json(0, &["--no-eval"]);
    assert_eq!(attempts(&document, "a"), ["execute", "fix"]);
    assert_eq!(standing(&document, "a"), ("done", "unreviewed"));
    assert_eq!(task(&document, "a")["points"], Value::Null, "its score is withdrawn");
    assert_eq!(workspace.lines("calls").len(), 1);
}

#[test]
fn tasks_that_name_a_common_file_are_mended_one_after_the_other() {
    let work = "echo + $QUORUM_TASK >> log; echo $QUORUM_TASK >> f; echo - $QUORUM_TASK >> log";
    let workspace = Mission::new()
        .agent("writer", work)
        .agent("tidy", "rm f; : > log")
        .setting("evaluate", false)
        .setting("concurrency", 3)
        .task("c", |t| t.set("priority", 1).files(["f"]))
        .task("a", |t| t.set("priority", 3).files(["f"]))
        .task("b", |t| t.set("priority", 2).expects(json!({"type": "file_exists", "paths": ["f*"]})))
        .task("d", |t| t.by("tidy").needs("a").needs("b").needs("c"))
        .workspace();
    let document = workspace.run_json(0, &[]);
    assert_eq!(workspace.lines("log"), ["+ c", "- c", "+ a", "- a", "+ b", "- b"], "in file order");
    document["counts"].has(json!({"regressed": 3, "done": 4}));
}

/// `verify` judges `a` by a fact; `ship` behind it breaks what `a` was accepted for, and does `more`.
fn verified(more: &str) -> Workspace {
    Workspace::with(&format!(
        "
name: a verification over what did not stand
agents:
  writer: {{run: 'echo $QUORUM_TASK >> turns; echo alpha >> f; touch whole'}}
  mender: {{run: 'echo $QUORUM_TASK >> turns; echo alpha >> f; test -e shipped || touch whole'}}
  shipper: {{run: 'echo $QUORUM_TASK >> turns; test -e shipped || {{ touch shipped; rm f; {more}; }}'}}
settings: {{evaluate: false}}
tasks:
  - {{title: a, assignTo: mender, targetFiles: [f]}}
  - title: verify
    type: verification
    assignTo: writer
    dependsOn: [a]
    acceptance: ['`test -e whole` passes']
    verification: {{grader: heuristic}}
    onPass: ship
    onFail: a
    onRefer: ask
    maxVisits: 2
  - {{title: ship, assignTo: shipper}}
  - {{title: ask, assignTo: writer}}
"
    ))
}

#[test]
fn a_verification_over_it_judges_again_without_a_visit() {
    let workspace = verified("true");
    let document = workspace.run_json(0, &[]);
    assert_eq!(workspace.lines("turns"), ["a", "ship", "a"]);
    let verify = task(&document, "verify");
    verify.has(json!({"status": "done", "edges": {"taken": "onPass", "visits": 1}}));
    let events = workspace.events();
    let routed = named(&events, "verification:routed");
    assert_eq!(routed.len(), 2, "it has judged twice");
    assert_eq!(task(&document, "ask")["status"], "notTaken");
    assert_eq!(document["counts"]["regressed"], 1);
}

#[test]
fn a_verification_that_judges_otherwise_has_regressed() {
    let workspace = verified("rm whole");
    let document = workspace.run_json(3, &[]);
    assert_eq!(workspace.lines("turns"), ["a", "ship", "a"], "nothing is sent back");
    assert_eq!(task(&document, "verify")["failure"]["mode"], "regressed");
    message(&document, "verify")
        .says(&["'a', which it judged, is done again", "was onPass and is onFail now"]);
    assert_eq!(standing(&document, "a").0, "done");
    assert_eq!(standing(&document, "ship").0, "done", "what is done stays done");
    assert_eq!(task(&document, "ask")["status"], "notTaken");
    // A person's way on.
    workspace.write("whole", "");
    let document = workspace.resume_json(0, &["--redo", "verify"]);
    assert_eq!(standing(&document, "verify").0, "done");
}

#[test]
fn a_kill_while_it_is_done_again_costs_nothing() {
    let script =
        "if test -e b; then echo x >> again; until test -e go; do sleep 0.02; done; fi; echo alpha > f";
    let workspace = Mission::new()
        .agent("writer", script)
        .agent("tidy", "touch b; rm f")
        .setting("evaluate", false)
        .task("a", |t| t.files(["f"]))
        .task("b", |t| t.by("tidy").needs("a"))
        .workspace();
    workspace.kill_at(&["run", "mission.yaml"], "again");
    let document = workspace.status();
    document.has(json!({"state": "crashed", "resumable": true, "counts": {"regressed": 1}}));
    workspace.write("go", "");
    let document = workspace.resume_json(0, &[]);
    assert_eq!(attempts(&document, "a"), ["execute", "fix"]);
    assert_eq!(document["audit"], "held");
}
