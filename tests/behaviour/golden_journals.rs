//! Journals of earlier versions: what users have on their disks must be readable for ever (fixtures/journals/README.md).

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::Workspace;
use crate::support::journal;

const JOURNALS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/journals");

/// Folder and name of every journal of every format.
fn all() -> Vec<(PathBuf, String)> {
    let formats = fs::read_dir(JOURNALS).expect("there are journals");
    let formats = formats.map(|entry| entry.expect("it can be read").path());
    let mut found = Vec::new();
    let of_a_format = |path: &PathBuf| path.is_dir() && !path.ends_with("stories");
    for format in formats.filter(of_a_format) {
        for entry in fs::read_dir(&format).expect("it can be read") {
            let name = entry.expect("it can be read").file_name().into_string().expect("UTF-8");
            let name = name.strip_suffix(".jsonl").map(str::to_owned);
            found.extend(name.map(|name| (format.clone(), name)));
        }
    }
    found.sort();
    found
}

/// A workspace with this run in its state folder.
fn placed(folder: &Path, name: &str) -> (Workspace, PathBuf) {
    let workspace = Workspace::new();
    workspace.write(".polpo/VERSION", format!("{}\n", journal::FORMAT));
    let read = |suffix: &str| fs::read(folder.join(format!("{name}{suffix}"))).expect("it is there");
    workspace.write(&format!(".polpo/runs/{name}/mission.yaml"), read(".mission.yaml"));
    let journal = journal::of(name);
    workspace.write(&journal, read(".jsonl"));
    let journal = workspace.path(&journal);
    (workspace, journal)
}

/// Everything that was said is said still; more may be said.
fn assert_still_said(expected: &Value, said: &Value, place: &str) {
    match (expected, said) {
        (Value::Object(expected), Value::Object(said)) => {
            for (key, value) in expected {
                let now = said.get(key).unwrap_or_else(|| panic!("{place}.{key} is gone"));
                assert_still_said(value, now, &format!("{place}.{key}"));
            }
        }
        // Nobody's key vouches for them, which is said now.
        (Value::Array(expected), Value::Array(said)) if place.ends_with(".warnings") => {
            assert!(expected.iter().all(|warning| said.contains(warning)), "{place}: {said:#?}");
        }
        (Value::Array(expected), Value::Array(said)) => {
            assert_eq!(expected.len(), said.len(), "{place}: {said:#?}");
            for (n, (expected, said)) in expected.iter().zip(said).enumerate() {
                assert_still_said(expected, said, &format!("{place}[{n}]"));
            }
        }
        _ => assert_eq!(expected, said, "{place}"),
    }
}

#[test]
fn every_golden_journal_says_what_it_always_said() {
    let journals = all();
    assert!(journals.len() >= 16, "some are gone: {journals:?}");
    for (folder, name) in journals {
        let (workspace, journal) = placed(&folder, &name);
        let expected = fs::read(folder.join(format!("{name}.status.json"))).expect("it is there");
        let expected: Value = serde_json::from_slice(&expected).expect("it is a document");
        let before = fs::read(&journal).expect("it is there");
        assert_still_said(&expected, &workspace.status_of(&name), &name);
        workspace.quorum(&["events", &name]).exits(0);
        assert_eq!(fs::read(&journal).expect("it is there"), before, "{name}: reading changed it");
    }
}

#[test]
fn every_golden_journal_is_decided_again_as_it_is_recorded() {
    for (folder, name) in all() {
        let (workspace, _) = placed(&folder, &name);
        let replayed = workspace.quorum(&["review", "--replay", &name, "--json"]).json();
        let counts = &replayed["counts"];
        // The files of its work are not kept with it, so that replies are lost and taken as they are recorded.
        assert_eq!(
            (&counts["differing"], counts.get("otherRules")),
            (&Value::from(0), None),
            "{name}: {replayed:#}"
        );
        let differs = |list: &str| {
            let rows = replayed[list].as_array().expect("there is such a list").iter();
            rows.filter(|row| row["standing"] == "lost").all(|row| row["record"].is_u64())
        };
        assert!(differs("judgements") && differs("decisions"), "{name}: {replayed:#}");
    }
}

/// How many tasks these records add.
fn added(records: &[u8]) -> u64 {
    let records = journal::parsed(records);
    let tasks = records.iter().map(journal::tasks_added);
    tasks.map(|tasks| tasks as u64).sum()
}

#[test]
fn every_golden_journal_can_be_read_up_to_every_record() {
    for (folder, name) in all() {
        let (workspace, journal) = placed(&folder, &name);
        let whole = fs::read(&journal).expect("it is there");
        let ends = whole.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
        let total = workspace.status_of(&name)["counts"]["total"].as_u64();
        for end in ends {
            fs::write(&journal, &whole[..end]).expect("it can be written");
            // What came while the run worked is not there before its record.
            let later = added(&whole[end..]);
            assert_eq!(
                workspace.status_of(&name)["counts"]["total"].as_u64().map(|now| now + later),
                total,
                "{name} up to byte {end}"
            );
        }
    }
}
