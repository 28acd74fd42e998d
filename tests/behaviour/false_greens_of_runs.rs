//! Rows 28, 29 and 33 of the false greens: the wrong run, in the wrong place, or made by somebody else.

use std::fs;

use serde_json::{Value, json};

use crate::support::journal;
use crate::support::scenes::begun_runs::{begun, in_folder};
use crate::support::scenes::forgers::{GATED, green_run, plant, planting};
use crate::support::{Mission, Says, Workspace};

#[test]
fn false_green_28_the_newest_run_answers_not_the_one_with_the_greatest_name() {
    let workspace = Workspace::with(GATED);
    workspace.write("score", "SCORE: 90");
    workspace.quorum(&["run", "mission.yaml", "-q", "--run-id", "build-9"]).exits(0);
    workspace.write("score", "SCORE: 40");
    workspace.quorum(&["run", "mission.yaml", "-q", "--run-id", "build-10"]).exits(4);
    workspace.quorum(&["gate", "door"]).exits(4);
    workspace.quorum(&["status", "--exit-code"]).exits(4);
    assert_eq!(workspace.status()["runId"], "build-10");
    workspace.quorum(&["resume"]).exits(4);
}

#[test]
fn false_green_29_resume_does_the_work_where_the_state_lies() {
    let workspace = begun(
        &Mission::new()
            .agent_with("first", json!({"run": ["agents/first.sh"]}))
            .agent("second", "test -e One.txt && echo two > Two.txt")
            .setting("maxRetries", 0)
            .tasks(["One"])
            .task("Two", |t| t.by("second").needs("One").approved().files(["Two.txt"])),
    );
    // Another checkout with the state of the first one, but without its work.
    workspace.write("two/mission.yaml", workspace.read("one/mission.yaml"));
    workspace.bash("cp -a one/agents one/.polpo two/").exits(0);
    in_folder(&workspace, "two", &["approve", "r1.1.1"]).exits(0);
    in_folder(&workspace, "two", &["resume"]).exits(3);
    assert!(!workspace.exists("one/Two.txt"), "the other checkout was worked in");
}

#[test]
fn false_green_33_a_run_that_was_planted_between_sessions_answers_nothing() {
    for later in [false, true] {
        let workspace = Workspace::with(GATED);
        workspace.write("score", "SCORE: 40");
        workspace.quorum(&["run", "mission.yaml", "-q", "--run-id", "r1"]).exits(4);
        let forged = green_run("zzz");
        plant(&forged, "zzz", &workspace.path(".polpo/runs"));
        if later {
            let journal = workspace.path(&journal::of("zzz"));
            journal::backdate(&journal, 9_000_000_000_000);
        }
        workspace.quorum(&["gate", "door"]).exits(4).says(&["zzz", "passed over"]);
        workspace.quorum(&["status", "--exit-code"]).exits(4).says(&["zzz", "passed over"]);
        assert_eq!(workspace.status()["runId"], "r1");
        workspace.quorum(&["resume"]).exits(4);
        // Who names it sees it, with the warning.
        let shown = workspace.quorum(&["status", "zzz", "--json"]).exits(0);
        shown.json()["warnings"].to_string().says(&["origin not verified"]);
        workspace.quorum(&["runs"]).exits(0).shows(&["origin not verified: zzz"]);
    }
}

#[test]
fn false_green_33_a_run_whose_end_was_rewritten_is_passed_over() {
    let workspace = Workspace::with(GATED);
    workspace.write("score", "SCORE: 40");
    for id in ["r1", "r2"] {
        workspace.quorum(&["run", "mission.yaml", "-q", "--fresh", "--yes", "--run-id", id]).exits(4);
    }
    let journal = workspace.path(&journal::of("r2"));
    let text = fs::read_to_string(&journal).expect("it can be read");
    let last = text.lines().last().expect("it has a record");
    journal::forge(&journal, last, "gate_failed", "ok");
    let _ = fs::remove_file(workspace.path(&journal::snapshot_of("r2")));
    workspace.quorum(&["status", "--exit-code"]).says(&["r2", "passed over"]);
    assert_eq!(workspace.status()["runId"], "r1");
    let shown = workspace.quorum(&["status", "r2", "--json"]).exits(0).json();
    assert!(shown["warnings"].to_string().contains("wrong code"), "{shown}");
}

#[test]
fn false_green_33_a_run_that_appears_under_the_lock_ends_the_session() {
    let workspace = planting();
    let document = workspace.run_json(1, &["--run-id", "r1"]);
    assert_eq!(document["outcome"], "internal");
    assert!(document["warnings"].to_string().contains("zzz"), "{document}");
    let events = workspace.events();
    let foreign = events.iter().find(|event| event["event"] == "state:foreign");
    foreign.expect("it is on record")["what"].to_string().says(&["'zzz'"]);
    workspace.quorum(&["status", "--exit-code"]).exits(1);
    assert_eq!(workspace.status()["runId"], "r1");
}

#[test]
fn false_green_33_where_no_key_vouches_for_any_run_every_output_says_so() {
    let workspace = Workspace::with(GATED);
    workspace.write("score", "SCORE: 90");
    workspace.quorum(&["run", "mission.yaml", "-q", "--run-id", "r1"]).exits(0);
    // The folder is carried to another machine, which has another key.
    let other = [("XDG_STATE_HOME", workspace.path("other").display().to_string())];
    let other: Vec<(&str, &str)> = other.iter().map(|(name, value)| (*name, value.as_str())).collect();
    for command in [&["status"][..], &["gate", "door"], &["show", "work"], &["runs"], &["events"]] {
        let said = workspace.quorum_with(&other, command).exits(0);
        let said = said.stdout + &said.stderr;
        assert!(said.contains("origin not verified"), "{command:?}: {said}");
    }
    for command in [&["status", "--json"][..], &["gate", "--json"]] {
        let document = workspace.quorum_with(&other, command).exits(0).json();
        let warnings = document["warnings"].to_string();
        assert!(warnings.contains("origin not verified"), "{command:?}: {document}");
    }
    // With the key nothing is said.
    let said = workspace.quorum(&["status", "--json"]).exits(0);
    assert_eq!((said.json()["warnings"].clone(), said.stderr.as_str()), (Value::Array(Vec::new()), ""));
    // Who goes on with it there vouches for it from there on.
    let resumed = workspace.quorum_with(&other, &["resume"]).exits(0);
    assert!((resumed.stdout + &resumed.stderr).contains("origin not verified"));
    let said = workspace.quorum_with(&other, &["status"]).exits(0);
    assert!(!said.stderr.contains("origin not verified"), "{}", said.stderr);
}
