//! `quorum doctor state`: what is damaged is named, and the good beginning of a journal can be kept, on record.

use std::fs;
use std::os::unix::fs::MetadataExt;

use serde_json::Value;

use crate::support::journal;
use crate::support::scenes::begun_runs::interrupted;
use crate::support::{Mission, Workspace, standing, wait_for_file};

/// The journal with one changed byte in its `line`-th line, from 1; and what stands before that line.
fn damage(workspace: &Workspace, line: usize) -> (Vec<u8>, Vec<u8>) {
    let good = fs::read(workspace.journal()).expect("it is there");
    let before: Vec<u8> =
        good.split_inclusive(|byte| *byte == b'\n').take(line - 1).flatten().copied().collect();
    let mut bad = good;
    bad[before.len() + 30] ^= 1;
    fs::write(workspace.journal(), &bad).expect("it can be written");
    (bad, before)
}

fn named<'a>(document: &'a Value, name: &str) -> &'a Value {
    let checks = document["checks"].as_array().expect("a list");
    let found = checks.iter().find(|check| check["name"] == name);
    found.unwrap_or_else(|| panic!("no check '{name}' in {document:#}"))
}

#[test]
fn a_whole_folder_is_fine_and_is_left_alone() {
    let workspace = Workspace::new();
    let document = workspace.quorum(&["doctor", "state", "--json"]).exits(0).json();
    assert_eq!(document["schema"], "quorum.doctor/v1");
    assert!(!workspace.exists(".polpo"), "looking made the state folder");

    let workspace = interrupted();
    let lock = fs::metadata(workspace.path(".polpo/lock")).expect("it is there");
    let document = workspace.quorum(&["doctor", "state", "--json"]).exits(0).json();
    assert_eq!(document["ok"], true);
    let run = named(&document, "run r1");
    assert_eq!((&run["status"], &run["runId"]), (&"ok".into(), &"r1".into()));
    assert_eq!(named(&document, "inbox")["status"], "ok");
    let after = fs::metadata(workspace.path(".polpo/lock")).expect("it is there");
    assert_eq!(lock.mtime_nsec(), after.mtime_nsec(), "it took the lock");
    workspace.quorum(&["doctor", "state", "r1"]).exits(0).shows(&["whole: "]);
    workspace.quorum(&["doctor", "state", "r2"]).exits(2).says(&["r2"]);
}

#[test]
fn everything_that_is_damaged_is_named_at_once() {
    let workspace = interrupted();
    let path = |name: &str| workspace.path(&format!(".polpo/runs/r1/{name}"));
    fs::write(path(journal::SNAPSHOT), "{}").expect("it can be written");
    let prompt = journal::turn_file(0, 1, 1, "prompt");
    fs::write(path(&prompt), "another task").expect("it can be written");
    fs::write(path(journal::EXITS), "{\"label\":\"forged\"}\n").expect("it can be written");
    workspace.write(&journal::of(".trash-r0"), "");
    workspace.write(&journal::inbox("x.json"), "no command");
    let document = workspace.quorum(&["doctor", "state", "--json"]).exits(1).json();
    assert_eq!(document["ok"], false);
    for (name, file) in
        [("snapshot of r1", journal::SNAPSHOT), ("evidence of r1", &*prompt), ("exits of r1", journal::EXITS)]
    {
        let check = named(&document, name);
        assert_eq!(check["status"], "fail");
        assert!(check["file"].as_str().is_some_and(|path| path.ends_with(file)), "{check:#}");
        assert!(check["message"].as_str().is_some_and(|message| message.contains(file)), "{check:#}");
    }
    for name in ["leftovers", "inbox"] {
        assert_eq!(named(&document, name)["status"], "warn");
    }
    assert!(workspace.exists(&journal::inbox("x.json")), "it was moved");

    // A changed mission, and a journal that goes on behind what was written.
    let workspace = interrupted();
    let journal = fs::read_to_string(workspace.journal()).expect("it is there");
    let shorter: String = journal.split_inclusive('\n').take(5).collect();
    fs::write(workspace.journal(), shorter).expect("it can be written");
    let document = workspace.quorum(&["doctor", "state", "--json"]).exits(1).json();
    let message = named(&document, "snapshot of r1")["message"].to_string();
    assert!(message.contains("records are missing"), "{message}");
    fs::write(workspace.run_folder().join("mission.yaml"), "name: other\n").expect("it can be written");
    let document = workspace.quorum(&["doctor", "state", "--json"]).exits(1).json();
    assert!(named(&document, "run r1")["message"].to_string().contains("mission.yaml"));
}

#[test]
fn the_place_of_the_damage_and_the_way_out_are_named() {
    let workspace = interrupted();
    let (_, before) = damage(&workspace, 4);
    let document = workspace.quorum(&["doctor", "state", "--json"]).exits(1).json();
    let check = named(&document, "journal of r1");
    assert_eq!((&check["line"], &check["byte"]), (&4.into(), &before.len().into()));
    assert_eq!(check["help"], "quorum doctor state --keep-good-prefix r1");
    assert!(check["file"].as_str().is_some_and(|file| file.ends_with(&format!("r1/{}", journal::JOURNAL))));
}

#[test]
fn a_folder_of_a_newer_version_is_not_judged() {
    let workspace = interrupted();
    workspace.write(".polpo/VERSION", format!("{}\n", journal::FORMAT + 1));
    let document = workspace.quorum(&["doctor", "state", "--json"]).exits(1).json();
    assert!(named(&document, "state folder")["message"].to_string().contains("newer"));
    assert_eq!(document["checks"].as_array().map(Vec::len), Some(2));
}

#[test]
fn without_a_person_and_without_yes_nothing_is_cut() {
    let workspace = interrupted();
    let keep = ["doctor", "state", "--keep-good-prefix", "r1"];
    workspace.quorum(&keep).exits(0).shows(&["not damaged"]);
    let (bad, _) = damage(&workspace, 4);
    workspace.quorum(&keep).exits(2).says(&["line 4", "--yes"]);
    assert_eq!(fs::read(workspace.journal()).expect("it is there"), bad);
}

#[test]
fn what_is_kept_goes_on_and_what_is_lost_is_said_for_ever() {
    // From the third line on: the first task's turn, its end, everything.
    for line in 2..=6 {
        let workspace = interrupted();
        let (bad, before) = damage(&workspace, line);
        let keep = ["doctor", "state", "--keep-good-prefix", "r1", "--yes", "--as", "ada", "--json"];
        let document = workspace.quorum(&keep).exits(0).json();
        let lost = bad[before.len()..].to_vec();
        let lines = lost.iter().filter(|byte| **byte == b'\n').count();
        assert_eq!(document["schema"], "quorum.salvage/v1");
        assert_eq!(
            (&document["changed"], &document["line"], &document["lostBytes"], &document["lostRecords"]),
            (&true.into(), &line.into(), &lost.len().into(), &lines.into())
        );
        let aside = workspace.run_folder().join(journal::DAMAGED);
        assert_eq!(fs::read(aside).expect("it is there"), lost);
        let journal = fs::read(workspace.journal()).expect("it is there");
        assert!(journal.starts_with(&before) && journal.len() > before.len());

        let status = workspace.status();
        assert_eq!((&status["state"], &status["outcome"]), (&"crashed".into(), &Value::Null));
        assert_told(&workspace, line);
        workspace.resume_json(0, &[]);
        assert_eq!(standing(&workspace.status(), "slow").0, "done");
        assert_told(&workspace, line);
        let again = workspace.quorum(&keep).exits(0).json();
        assert_eq!(again["changed"], false);
        workspace.quorum(&["doctor", "state"]).exits(0);
    }
}

/// Everybody who looks is told.
fn assert_told(workspace: &Workspace, line: usize) {
    let at = format!("damaged at line {line}");
    let event = workspace.events().into_iter().find(|event| event["event"] == "run:salvaged");
    let event = event.expect("it is on record");
    assert_eq!((&event["by"], &event["line"]), (&"ada".into(), &line.into()));
    assert!(event["lostBytes"].as_u64() > Some(0) && event["at"].is_string());
    for command in [
        &["status"][..],
        &["status", "--json"],
        &["show", "quick", "--full"],
        &["show", "quick", "--json"],
        &["report", "r1"],
    ] {
        let text = workspace.quorum(command).exits(0).stdout;
        assert!(text.contains(&at) && text.contains(journal::DAMAGED), "{command:?}: {text}");
    }
    let finished = workspace.quorum(&["resume"]);
    assert!(finished.stdout.contains(&at), "{}", finished.stdout);
}

#[test]
fn an_outcome_before_the_damage_is_not_the_outcome() {
    // All is done and the session has ended with ok; what came behind it, an operator's redo say, is unreadable.
    let workspace = Mission::new().worker("echo x >> log").tasks(["one"]).workspace();
    workspace.run_json(0, &["--run-id", "r1"]);
    let lines = fs::read_to_string(workspace.journal()).expect("it is there").lines().count();
    workspace.quorum(&["resume", "r1", "--redo", "one"]).exits(0);
    damage(&workspace, lines + 1);
    workspace.quorum(&["doctor", "state", "--keep-good-prefix", "r1", "--yes"]).exits(0);
    let status = workspace.status();
    assert_eq!((&status["outcome"], &status["state"]), (&Value::Null, &"crashed".into()));
    assert_ne!(workspace.quorum(&["status", "--exit-code"]).code(), Some(0));
    let document = workspace.resume_json(0, &[]);
    assert_eq!((&document["outcome"], &document["state"]), (&"ok".into(), &"ended".into()));
    assert_eq!(document["warnings"].as_array().map(Vec::len), Some(1));
}

#[test]
fn what_cannot_be_kept_is_refused() {
    let workspace = interrupted();
    let (bad, _) = damage(&workspace, 1);
    let keep = ["doctor", "state", "--keep-good-prefix", "r1", "--yes"];
    workspace.quorum(&keep).exits(1).says(&["line 1", "nothing stands before it"]);
    assert_eq!(fs::read(workspace.journal()).expect("it is there"), bad);

    // A forgery is not damage.
    let workspace = interrupted();
    let (bad, _) = damage(&workspace, 3);
    workspace.write(".polpo/runs/r1/foreign-write", "somebody");
    workspace.quorum(&keep).exits(1).says(&["changed by somebody else"]);
    assert_eq!(fs::read(workspace.journal()).expect("it is there"), bad);

    // Nor is a run at work.
    let workspace = Mission::new()
        .worker("echo > started; while [ ! -e go ]; do sleep 0.02; done")
        .tasks(["one"])
        .workspace();
    let running = workspace.start(&["run", "mission.yaml", "--run-id", "r1"]);
    wait_for_file(&workspace.path("started"));
    workspace.quorum(&keep).exits(9).says(&["held by process"]);
    workspace.quorum(&["doctor", "state"]).exits(0).shows(&["at work"]);
    workspace.write("go", "");
    running.finish().exits(0);
}
