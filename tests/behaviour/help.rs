//! What the program tells about itself: codes, completions, the schema of its files.

use crate::support::Workspace;

#[test]
fn every_code_is_listed_and_explained() {
    let workspace = Workspace::new();
    let list = workspace.quorum(&["explain"]).exits(0).stdout;
    assert!(list.lines().count() > 40, "{list}");
    let document = workspace.quorum(&["explain", "--json"]).exits(0).json();
    assert_eq!(document["schema"], "quorum.explain/v1");
    let codes = document["codes"].as_array().expect("a list");
    assert_eq!(codes.len(), list.lines().count());
    for (line, code) in list.lines().zip(codes) {
        let name = code["code"].as_str().expect("a code");
        assert!(line.starts_with(name) && line.len() > name.len() + 4, "{line}");
    }
    let text = workspace.quorum(&["explain", "q0201"]).exits(0).stdout;
    assert!(
        text.starts_with("Q0201: ") && text.contains("never ignores"),
        "{text}"
    );
}

#[test]
fn a_wrong_code_gets_the_one_that_was_meant() {
    let workspace = Workspace::new();
    workspace
        .quorum(&["explain", "Q201"])
        .exits(2)
        .says(&["Q201", "did you mean 'Q0201'?"]);
    workspace.quorum(&["explain", "zebra"]).exits(2).says(&["Q0001"]);
}

#[test]
fn shells_get_scripts_that_they_can_read() {
    let workspace = Workspace::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = workspace.quorum(&["completions", shell]).exits(0).stdout;
        assert!(
            script.contains("quorum") && script.contains("validate"),
            "{shell}"
        );
    }
    let replies = workspace
        .bash(
            "source <($0 completions bash); COMP_WORDS=(quorum vali); COMP_CWORD=1; _quorum quorum vali quorum; \
             echo ${COMPREPLY[@]}",
        )
        .exits(0);
    assert_eq!(replies.stdout.trim(), "validate");
    workspace
        .quorum(&["completions", "tcsh"])
        .exits(2)
        .says(&["bash", "fish"]);
}
