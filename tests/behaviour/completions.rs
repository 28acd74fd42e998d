//! What shells offer at the tab key, asked as a shell asks.

use serde_json::json;

use crate::support::{Mission, Workspace};

fn mission() -> Mission {
    Mission::new()
        .key(
            "qualityGates",
            json!([{"name": "noted", "afterTasks": ["Write it's note"], "blocksTasks": ["Tell people"]}]),
        )
        .worker("true")
        .reviewer("judge", "echo SCORE: 90")
        .setting("evaluate", false)
        .tasks(["Write it's note"])
        .task("Tell people", |t| t.approved())
}

/// What is offered for the last word.
fn offered(workspace: &Workspace, words: &[&str]) -> Vec<String> {
    let index = words.len().to_string();
    let line = [&["--", "quorum"], words].concat();
    let variables =
        [("_QUORUM_COMPLETE", "bash"), ("_CLAP_COMPLETE_INDEX", index.as_str()), ("_CLAP_IFS", "\n")];
    let finished = workspace.quorum_with(&variables, &line).exits(0);
    assert_eq!(finished.stderr, "", "{words:?}");
    finished.stdout.lines().map(str::to_owned).collect()
}

fn all_files(workspace: &Workspace) -> Vec<String> {
    fn collect(folder: &std::path::Path, found: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                collect(&path, found);
            }
            let changed = path.symlink_metadata().and_then(|data| data.modified());
            found.push(format!("{} {changed:?}", path.display()));
        }
    }
    let mut found = Vec::new();
    collect(workspace.root(), &mut found);
    found.sort();
    found
}

#[test]
fn what_lies_in_the_state_folder_and_in_the_mission_is_offered() {
    let workspace = mission().workspace();
    workspace.quorum(&["run", "--run-id", "r1"]).exits(8);
    let approvals = workspace.quorum(&["approvals", "--json"]).exits(0).json();
    let hold = approvals["approvals"][0]["id"].as_str().expect("an id").to_owned();
    let before = all_files(&workspace);
    for (words, expected) in [
        (&["status", ""][..], "r1"),
        (&["status", "la"], "latest"),
        (&["review", "--replay", ""], "r1"),
        (&["show", "Tell"], "Tell people"),
        (&["show", "Write\\ it"], "Write it's note"),
        (&["cancel", ""], "Tell people"),
        (&["run", "--only", "Te"], "Tell people"),
        (&["gate", ""], "noted"),
        (&["approve", ""], &hold),
        (&["reject", "r1"], &hold),
        (&["review", "--reviewer", "j"], "judge"),
        (&["schema", "mission", "qual"], "qualityGates"),
        (&["schema", "mission", "qualityGates.min"], "qualityGates.minScore"),
        (&["explain", "regr"], "regressed"),
        (&["explain", "Q02"], "Q0201"),
        (&["help", "jud"], "judging"),
        (&["help", "val"], "validate"),
        (&["report", "--to", "ju"], "junit="),
        (&["events", "--format", "jsonl"], "jsonl"),
        (&["vali"], "validate"),
        (&["status", "--wa"], "--watch"),
    ] {
        let offers = offered(&workspace, words);
        assert!(offers.iter().any(|offer| offer == expected), "{words:?}: {offers:?}");
    }
    // A question is answered, an approval is not.
    assert!(!offered(&workspace, &["answer", ""]).contains(&hold));
    assert!(!offered(&workspace, &["status", "--format", ""]).contains(&"dot".to_owned()));
    assert!(!offered(&workspace, &["appr"]).contains(&"approvals".to_owned()));
    assert_eq!(all_files(&workspace), before, "completing changes nothing");
}

#[test]
fn another_state_folder_is_looked_into_and_a_broken_one_is_silent() {
    let workspace = mission().workspace();
    workspace.quorum(&["run", "--run-id", "far", "--state-dir", "other"]).exits(8);
    let named = &["--state-dir", "other"];
    assert!(offered(&workspace, &[named, &["status", "f"][..]].concat()).contains(&"far".to_owned()));
    assert!(!workspace.exists(".polpo"));
    workspace.write(".polpo", "no folder");
    workspace.write("mission.yaml", ": : {");
    for words in
        [&["show", ""][..], &["status", ""], &["gate", ""], &["run", "--only", ""], &["no", "--such", ""]]
    {
        offered(&workspace, words);
    }
}

#[test]
fn shells_get_scripts_that_ask_the_binary() {
    let workspace = mission().workspace();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = workspace.quorum(&["completions", shell]).exits(0).stdout;
        assert!(script.contains("quorum") && script.contains("_QUORUM_COMPLETE"), "{shell}");
    }
    workspace.quorum(&["completions", "tcsh"]).exits(2).says(&["bash", "fish"]);
    workspace.quorum(&["run", "--run-id", "r1"]).exits(8);
    let reply = |words: &str, last: &str| {
        let script = format!(
            "source <($0 completions bash); COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _clap_complete_quorum quorum {last} quorum; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        );
        workspace.bash(&script).exits(0)
    };
    assert_eq!(reply("quorum vali", "vali").stdout.trim(), "validate");
    // A title is one candidate, whatever stands in it.
    assert_eq!(reply("quorum show Wr", "Wr").stdout.trim(), "Write it's note");
    assert!(reply("quorum show Wr", "Wr").stderr.is_empty());
}
