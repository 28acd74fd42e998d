//! What the program tells about itself: codes, completions, the schema of its files.

use crate::support::Workspace;

#[test]
fn every_code_is_listed_and_explained() {
    let workspace = Workspace::new();
    let list = workspace.quorum(&["explain"]).exits(0).stdout;
    assert!(list.lines().count() > 40, "{list}");
    let document = workspace.quorum(&["explain", "--json"]).exits(0).json();
    assert_eq!(document["schema"], "quorum.explain/v1");
    let codes = document["codes"].as_array().expect("a list").iter();
    let words = document["words"].as_array().expect("a list").iter();
    let names = codes.map(|code| &code["code"]).chain(words.map(|word| &word["word"]));
    let names: Vec<&serde_json::Value> = names.collect();
    assert_eq!(names.len(), list.lines().count());
    for (line, name) in list.lines().zip(names) {
        let name = name.as_str().expect("a name");
        assert!(line.starts_with(name) && line.len() > name.len() + 4, "{line}");
    }
    let text = workspace.quorum(&["explain", "q0201"]).exits(0).stdout;
    assert!(text.starts_with("Q0201: ") && text.contains("never ignores"), "{text}");
}

#[test]
fn a_wrong_code_gets_the_one_that_was_meant() {
    let workspace = Workspace::new();
    workspace.quorum(&["explain", "Q201"]).exits(2).says(&["Q201", "did you mean 'Q0201'?"]);
    workspace.quorum(&["explain", "zebra"]).exits(2).says(&["Q0001"]);
}

#[test]
fn words_exit_codes_flags_and_events_are_explained_as_they_are_printed() {
    let workspace = Workspace::new();
    for (word, meaning) in [
        ("hollow", "nothing that can be seen"),
        ("held", "still stands"),
        ("open", "addressed"),
        ("TRIES", "attempts"),
        ("6", "no trustworthy verdict"),
        ("gate_failed", "Exit 4"),
        ("below the bar", "accepted all the same"),
        ("run:moved", "carried to another folder"),
        ("origin not verified", "QUORUM_OPERATOR_KEY"),
        ("regressed", "does not stand any more"),
        ("voided", "does not count"),
        ("windows", "resets at a moment"),
        ("interrupted", "quorum resume"),
        ("Skipped", "depends on failed"),
        ("REWORK", "goes back"),
        ("--strict", "indeterminate"),
        ("--override", "failed gate"),
    ] {
        let text = workspace.quorum(&["explain", word]).exits(0).stdout;
        assert!(text.starts_with(&format!("{word}: ")) && text.contains(meaning), "{word}: {text}");
        let document = workspace.quorum(&["explain", word, "--json"]).exits(0).json();
        assert_eq!(document["words"][0]["word"], word);
    }
    workspace.quorum(&["explain", "regresed"]).exits(2).says(&["did you mean 'regressed'"]);
}
