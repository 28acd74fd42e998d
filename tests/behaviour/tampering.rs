//! The tampering matrix: one run of all kinds of work, then each single change of what is stored, and every time
//! `quorum review --replay` must say so and name the place.
//!
//! A change is made as by somebody who knows the form: checksums fit, numbers of events count on. Two readers look at it:
//! one who has nothing but the records and the files that they name, and one who also has the snapshot that the run left
//! and the key of its operator. A part of the changes, always the same, is made by every `cargo test`; all of them by
//! `cargo test --test behaviour -- --ignored --nocapture every_tampering`.

mod changes;
mod scene;

use std::collections::BTreeMap;
use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use serde_json::Value;

use crate::support::{Workspace, journal};
use changes::{Change, What};

/// What no rule goes by, with the reason: alone, the records cannot tell that it was changed, and nothing that was decided
/// rests on it. The snapshot and the key tell. With a dot at its end: whatever begins so.
const WITHOUT_MEANING: &[(&[&str], &str)] = &[
    (
        &[
            "at",
            "b",
            "fact.turn-ended.duration",
            "fact.job-ended.end.checked.duration",
            "fact.job-ended.end.baseline.checks.duration",
            "fact.resume.last",
        ],
        "when something was, and how long it took: nothing falls due in this run",
    ),
    (
        &[
            "fact.turn-progress.spawned.process.",
            "removed.turn-progress",
            "repeated.turn-progress",
            "fact.start.supervisor.",
            "fact.resume.supervisor.",
        ],
        "which processes there were",
    ),
    (
        &["fact.job-ended.end.baseline.checks.reason"],
        "why a check failed before the work, in words: that it failed is what counts",
    ),
    (
        &["fact.job-ended.end.baseline.checks.neverRan"],
        "that one check could not run before the work: another one that failed stands for it",
    ),
    (
        &["fact.turn-ended.files.changed.more", "fact.turn-ended.files.written.more"],
        "how many files a turn changed and wrote, where it did: the rules go by whether it did",
    ),
    (&["fact.job-ended.end.checked.message"], "words of a command that passed, which were shown to nobody"),
    (
        &["fact.job-ended.end.seen.files."],
        "the look before the checks: judges were shown what the look behind them saw",
    ),
    (&["fact.start.options.", "fact.resume.options."], "flags that change nothing in this run"),
    (
        &["fact.start.version", "fact.start.missionPath"],
        "who wrote it and from where: the number of the rules and the digest are what counts",
    ),
    (
        &["fact.start.origin.", "events.run.finished.origin."],
        "codes of the key, which only the key can check",
    ),
    (&["removed.last"], "nothing follows that could miss it"),
    (
        &["repeated.resume", "repeated.handed-over"],
        "a session that was killed, and what is done once more by the next",
    ),
    (&["swapped.job-ended", "swapped.ask-replied"], "two that were out at the same time"),
];

/// Workspaces in which changes are made at the same time.
const AT_ONCE: usize = 2;
/// Every which change is made by every `cargo test`.
const SAMPLE: usize = 7;

/// What a reader found.
struct Found {
    is_found: bool,
    said: String,
}

/// Whether a replay finds something, and names it.
fn replayed(workspace: &Workspace, variables: &[(&str, &str)]) -> Found {
    let finished = workspace.quorum_with(variables, &["review", "--replay", "r1"]);
    let said = format!("{}{}", finished.stdout, finished.stderr);
    assert!(!said.contains("panicked"), "{said}");
    let code = finished.code().expect("it ends by itself");
    assert!([0, 1, 2, 6, 9].contains(&code), "exit {code}: {said}");
    Found { is_found: code != 0, said }
}

/// Makes a change, looks, and takes it back.
fn look(workspace: &Workspace, change: &Change, records_alone: bool) -> Found {
    let path = workspace.path(&change.path);
    let before = fs::read(&path).expect("it is there");
    match &change.what {
        What::Holds(bytes) => fs::write(&path, bytes).expect("it can be written"),
        What::Gone => fs::remove_file(&path).expect("it can be removed"),
    }
    let found = match records_alone {
        true => {
            let snapshot = workspace.path(&journal::snapshot_of("r1"));
            let kept = fs::read(&snapshot).expect("the run has left a snapshot");
            fs::remove_file(&snapshot).expect("it can be removed");
            let found = replayed(workspace, &[("QUORUM_OPERATOR_KEY", "that of somebody else")]);
            fs::write(&snapshot, kept).expect("it can be written");
            found
        }
        false => replayed(workspace, &[]),
    };
    fs::write(&path, before).expect("it can be written");
    found
}

/// Why nothing can tell of such a change, if that is so.
fn without_meaning(changed: &str) -> Option<&'static str> {
    let is_it = |what: &&str| *what == changed || (what.ends_with('.') && changed.starts_with(*what));
    let listed = WITHOUT_MEANING.iter().find(|(values, _)| values.iter().any(is_it));
    listed.map(|(_, why)| *why)
}

/// What is wrong with how a change was found, if anything, and why records alone do not tell of it, where that is so.
fn judge(workspace: &Workspace, change: &Change) -> (Option<String>, Option<&'static str>) {
    let alone = look(workspace, change, true);
    if alone.is_found {
        let names = [
            change.named.as_str(),
            "record ",
            "line ",
            "frozen mission",
            "journal format",
            "other rules",
            "is that of run",
        ];
        let is_named = names.iter().any(|name| alone.said.contains(name));
        let wrong = (!is_named).then(|| format!("{}: found, but not named\n{}", change.name, alone.said));
        return (wrong, None);
    }
    let Some(why) = without_meaning(&change.value) else {
        return (Some(format!("{} ({}): not found", change.name, change.value)), None);
    };
    let whole = look(workspace, change, false);
    let wrong = (!whole.is_found).then(|| format!("{}: not found by anybody", change.name));
    (wrong, Some(why))
}

/// Makes every `step`th change and holds what a replay says against it.
fn play(step: usize) -> BTreeMap<&'static str, usize> {
    let begin = Instant::now();
    let workspaces: Vec<Workspace> = (0..AT_ONCE).map(|_| scene::of_all_kinds()).collect();
    let next = AtomicUsize::new(0);
    let (wrong, unseen, made) = (Mutex::new(Vec::new()), Mutex::new(BTreeMap::new()), AtomicUsize::new(0));
    let worker = |workspace: &Workspace| {
        let changes: Vec<Change> = changes::all(workspace).into_iter().step_by(step).collect();
        loop {
            let Some(change) = changes.get(next.fetch_add(1, Ordering::Relaxed)) else {
                return;
            };
            let (is_wrong, value) = judge(workspace, change);
            made.fetch_add(1, Ordering::Relaxed);
            wrong.lock().expect("nobody panicked").extend(is_wrong);
            if let Some(value) = value {
                *unseen.lock().expect("nobody panicked").entry(value).or_insert(0) += 1;
            }
        }
    };
    std::thread::scope(|scope| {
        for workspace in &workspaces {
            scope.spawn(|| worker(workspace));
        }
    });
    let wrong = wrong.into_inner().expect("nobody panicked");
    let made = made.into_inner();
    println!("{made} changes in {:.1?}, {} wrong", begin.elapsed(), wrong.len());
    assert!(made > 0 && wrong.is_empty(), "{} of {made}:\n{}", wrong.len(), wrong.join("\n"));
    unseen.into_inner().expect("nobody panicked")
}

#[test]
fn some_tamperings_are_found_and_named() {
    play(SAMPLE);
}

#[test]
#[ignore = "takes a minute"]
fn every_tampering_is_found_and_named() {
    let unseen = play(1);
    // How many are out at the same time is for the machine to say.
    let (_, together) = WITHOUT_MEANING[WITHOUT_MEANING.len() - 1];
    for (values, why) in WITHOUT_MEANING {
        let is_needed = unseen.contains_key(why) || *why == together;
        assert!(is_needed, "{values:?} are found by now ({why}): take them off the list");
    }
}

#[test]
fn a_run_of_all_kinds_of_work_is_derived_again() {
    let workspace = scene::of_all_kinds();
    let document = workspace.quorum(&["review", "--replay", "r1", "--json"]).exits(0).json();
    let counts = &document["counts"];
    assert_eq!((&counts["differing"], &counts["lost"]), (&Value::from(0), &Value::from(0)), "{document:#}");
}
