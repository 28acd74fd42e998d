//! False green 65: what a person said counts only under the key of who may speak; and runs that nobody vouches for.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::journal;
use crate::support::{Mission, RUN_AS_R1, Says, Workspace, standing};

const WAITS: &str = "
name: waits
agents: {worker: {run: echo work}, boss: {adapter: human}}
tasks:
  - {title: work, assignTo: worker, expectations: [{type: llm_review, criteria: good, reviewers: [boss]}]}
  - {title: next, assignTo: worker, dependsOn: [work], review: none}
";

fn path_of(workspace: &Workspace) -> PathBuf {
    workspace.path(".polpo/runs/r1").join(journal::JOURNAL)
}

/// The journal of a run in which `mission` ended with `code`, and the line that `word` then adds to it.
fn word_of(mission: &str, code: i32, word: &[&str]) -> (Workspace, String, String) {
    let workspace = Workspace::with(mission);
    workspace.quorum(RUN_AS_R1).exits(code);
    let before = fs::read_to_string(path_of(&workspace)).expect("there is a journal");
    workspace.quorum(word).exits(0);
    let after = fs::read_to_string(path_of(&workspace)).expect("there is a journal");
    let line = after.strip_prefix(&before).expect("only the word is new").lines().next();
    let line = line.expect("it is one line").to_owned();
    (workspace, before, line)
}

/// A record without its code.
fn bare(line: &str) -> String {
    let (record, _) = line.rsplit_once(",\"origin\":").expect("the word of a person carries a code");
    journal::sealed(&format!("{record}}}"))
}

/// A record with another code.
fn coded(line: &str, key: &str, code: &str) -> String {
    let origin = json!({"key": key, "code": code});
    let bare = bare(line);
    journal::sealed(&format!("{},\"origin\":{origin}}}", bare.strip_suffix('}').expect("an object")))
}

/// With this word in the journal the person is asked again, and what they then say counts.
fn asks_again(workspace: &Workspace, before: &str, line: &str) {
    fs::write(path_of(workspace), format!("{before}{line}\n")).expect("the journal can be written");
    let shown = workspace.quorum(&["status", "r1", "--json"]).exits(0).json();
    assert_eq!(standing(&shown, "work"), ("awaiting_approval", ""), "{line}");
    let document = workspace.quorum(&["resume", "r1", "--json"]).exits(8).json();
    assert_eq!(standing(&document, "work"), ("awaiting_approval", ""), "{line}");
    assert_eq!(standing(&document, "next"), ("pending", ""), "{line}");
    document["warnings"].to_string().says(&["carries no code of this machine's key", "asked for again"]);
}

#[test]
fn false_green_65_a_yes_that_somebody_wrote_into_the_journal_is_asked_again() {
    let (workspace, before, line) = word_of(WAITS, 8, &["approve", "r1.0.1"]);
    let named: Value = serde_json::from_str(&line).expect("it is a record");
    let (key, code) = (named["origin"]["key"].as_str(), named["origin"]["code"].as_str());
    let (key, code) = (key.expect("it names its key"), code.expect("it has a code"));
    let foreign = journal::code_of(b"somebody else's key, which is long enough", &line);
    let other_words = line.replace("\"by\":\"", "\"by\":\"x");
    assert_ne!(other_words, line);
    for forged in [
        bare(&line),
        coded(&line, key, &foreign),
        coded(&line, &foreign[..16], &foreign),
        coded(&line, "", ""),
        journal::sealed(&other_words),
    ] {
        asks_again(&workspace, &before, &forged);
    }
    assert!(journal::sealed(&line) == line && line.contains(code), "the true one is as it was");
    fs::write(path_of(&workspace), format!("{before}{line}\n")).expect("the journal can be written");
    let document = workspace.resume_json(0, &[]);
    assert_eq!(standing(&document, "next"), ("done", "unreviewed"), "{document:#}");
}

#[test]
fn false_green_65_a_yes_of_another_place_is_asked_again() {
    let (workspace, before, line) = word_of(WAITS, 8, &["approve", "r1.0.1"]);
    // A session more, and the same word is one for another moment.
    fs::write(path_of(&workspace), &before).expect("the journal can be written");
    workspace.quorum(&["resume", "r1"]).exits(8);
    let later = fs::read_to_string(path_of(&workspace)).expect("there is a journal");
    let last: Value = serde_json::from_str(later.lines().last().expect("it has records")).expect("a record");
    let seq = journal::seq(&last).expect("it has a number") + journal::count(&last) as u64;
    let own = journal::seq(&serde_json::from_str(&line).expect("a record")).expect("it has a number");
    let moved = journal::sealed(&line.replacen(&format!("\"seq\":{own}"), &format!("\"seq\":{seq}"), 1));
    asks_again(&workspace, &later, &moved);
    workspace.quorum(&["approve", "r1.0.1"]).exits(0);
    workspace.resume_json(0, &[]);
}

#[test]
fn false_green_65_no_other_word_of_a_person_counts_without_a_code() {
    // A gate that is let pass.
    let gated = "
name: gated
agents: {worker: {run: echo work}}
settings: {evaluate: false}
qualityGates: [{name: door, afterTasks: [work], blocksTasks: [next], minScore: 5}]
tasks: [{title: work}, {title: next}]
";
    let words = ["gate", "door", "--override", "--reason", "x", "--yes"];
    let (workspace, before, line) = word_of(gated, 4, &words);
    fs::write(path_of(&workspace), format!("{before}{}\n", bare(&line))).expect("it can be written");
    workspace.quorum(&["gate", "door"]).exits(4);
    let document = workspace.quorum(&["resume", "r1", "--json"]).exits(4).json();
    assert_ne!(standing(&document, "next").0, "done", "{document:#}");
    fs::write(path_of(&workspace), format!("{before}{line}\n")).expect("it can be written");
    workspace.resume_json(0, &[]);

    // A no, which would be as false as a yes.
    let (workspace, before, line) = word_of(WAITS, 8, &["reject", "r1.0.1", "--reason", "no"]);
    asks_again(&workspace, &before, &bare(&line));
}

#[test]
fn false_green_65_a_session_that_went_by_a_word_without_a_code_is_not_believed() {
    let (workspace, before, line) = word_of(WAITS, 8, &["approve", "r1.0.1"]);
    let done = workspace.resume_json(0, &[]);
    assert_eq!(standing(&done, "work").0, "done", "{done:#}");
    workspace.quorum(&["status", "r1", "--exit-code"]).exits(0);
    let after = fs::read_to_string(path_of(&workspace)).expect("there is a journal");
    let session = after.strip_prefix(&format!("{before}{line}\n")).expect("the session comes behind it");
    // Nothing of the key stands in what a stranger can write.
    let session: String = session
        .lines()
        .map(|line| match line.split_once(",\"origin\":{\"key\"") {
            Some((head, tail)) => {
                let (_, rest) = tail.split_once('}').expect("a code ends");
                journal::sealed(&format!("{head}{rest}")) + "\n"
            }
            None => line.to_owned() + "\n",
        })
        .collect();
    fs::write(path_of(&workspace), format!("{before}{}\n{session}", bare(&line))).expect("it can be written");
    workspace.quorum(&["status", "r1"]).exits(0).says(&["origin not verified"]);
    for words in [&["status", "r1", "--exit-code"][..], &["resume", "r1"]] {
        workspace.quorum(words).exits(9).says(&["does not vouch for run r1", "--trust-origin"]);
    }
    workspace.quorum(&["status", "r1", "--exit-code", "--trust-origin"]).exits(0);
}

#[test]
fn false_green_65_machines_that_share_a_key_share_words_and_others_do_not() {
    let workspace = Workspace::with(WAITS);
    let shared = ("QUORUM_OPERATOR_KEY", "a secret that all jobs of a pipeline have");
    let (one, two) = (workspace.path("one"), workspace.path("two"));
    let at = |home: &PathBuf| ("HOME", home.to_string_lossy().into_owned());
    let (one, two) = (at(&one), at(&two));
    let (one, two) = ((one.0, one.1.as_str()), (two.0, two.1.as_str()));
    workspace.quorum_with(&[one, shared], RUN_AS_R1).exits(8);
    let before = fs::read(path_of(&workspace)).expect("there is a journal");
    workspace.quorum_with(&[two, shared], &["approve", "r1.0.1"]).exits(0);
    workspace.quorum_with(&[one, shared], &["resume", "r1"]).exits(0);
    workspace.quorum_with(&[two, shared], &["status", "r1", "--exit-code"]).exits(0);

    // The same with a word under another key.
    fs::write(path_of(&workspace), before).expect("the journal can be written");
    let other = ("QUORUM_OPERATOR_KEY", "a secret of somebody else, long enough");
    workspace.quorum_with(&[two, other], &["approve", "r1.0.1"]).exits(0);
    workspace.quorum_with(&[one, shared], &["resume", "r1"]).exits(8).says(&["QUORUM_OPERATOR_KEY"]);
}

#[test]
fn a_run_that_this_machines_key_does_not_vouch_for_is_gone_by_only_where_a_person_says_so() {
    let workspace = Workspace::with(&format!(
        "{WAITS}\nqualityGates: [{{name: door, afterTasks: [other], blocksTasks: [next]}}]\n"
    ))
    .tap_mission("  - {title: next", "  - {title: other, assignTo: worker, review: none}\n  - {title: next");
    let elsewhere = workspace.path("elsewhere").to_string_lossy().into_owned();
    workspace.quorum_with(&[("HOME", &elsewhere)], RUN_AS_R1).exits(8);
    // A machine without a key has nothing to go by.
    let keyless = workspace.path("keyless").to_string_lossy().into_owned();
    let before = fs::read(path_of(&workspace)).expect("there is a journal");
    workspace.quorum_with(&[("HOME", &keyless)], &["status", "r1", "--exit-code"]).exits(8);
    workspace.quorum_with(&[("HOME", &keyless)], &["gate", "door", "--run", "r1"]).exits(0);
    // One that goes on without a key has one from then on, and vouches for what it found.
    workspace.quorum_with(&[("HOME", &keyless)], &["resume", "r1"]).exits(8);
    workspace.quorum_with(&[("HOME", &keyless)], &["status", "r1", "--exit-code"]).exits(8);
    workspace.quorum_with(&[("HOME", &elsewhere)], &["status", "r1", "--exit-code"]).exits(9);

    fs::write(path_of(&workspace), before).expect("the journal can be written");
    workspace.write("own.yaml", Mission::new().agent("w", "echo x").task("own", |t| t.unreviewed()).yaml());
    workspace.quorum(&["run", "own.yaml", "--run-id", "own"]).exits(0);
    for words in [&["status", "r1", "--exit-code"][..], &["gate", "door", "--run", "r1"], &["resume", "r1"]] {
        workspace.quorum(words).exits(9).says(&["does not vouch for run r1", "--trust-origin"]);
    }
    workspace.quorum(&["status", "r1"]).exits(0).says(&["origin not verified"]);
    workspace.quorum(&["gate", "door", "--run", "r1", "--trust-origin"]).exits(0);
    workspace.quorum(&["status", "r1", "--exit-code", "--trust-origin"]).exits(8);
    workspace.quorum(&["resume", "r1", "--trust-origin"]).exits(8);
    // From there on it is this machine's.
    workspace.quorum(&["status", "r1", "--exit-code"]).exits(8);
    workspace.quorum(&["approve", "r1.0.1"]).exits(0);
    workspace.quorum(&["resume", "r1"]).exits(0);
    workspace.quorum(&["status", "r1", "--exit-code"]).exits(0);
    workspace.quorum(&["status", "own", "--exit-code"]).exits(0);
}

#[test]
fn a_second_job_without_a_key_decides_and_goes_on() {
    let workspace = Workspace::with(WAITS);
    let home = |name: &str| workspace.path(name).to_string_lossy().into_owned();
    let (first, second) = (home("first"), home("second"));
    workspace.quorum_with(&[("HOME", &first)], RUN_AS_R1).exits(8);
    let second = [("HOME", second.as_str())];
    workspace.quorum_with(&second, &["inbox", "r1"]).exits(0);
    workspace.quorum_with(&second, &["approve", "r1.0.1", "--as", "alice"]).exits(0);
    workspace.quorum_with(&second, &["resume", "r1"]).exits(0);
    workspace.quorum_with(&second, &["status", "r1", "--exit-code"]).exits(0);
}
