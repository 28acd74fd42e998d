//! What was accepted is held against what git stores, whatever a checkout makes of it; and what a commit left out is named.

use serde_json::{Value, json};

use crate::support::scenes::repositories::{git, repository, subjects};
use crate::support::{Mission, Workspace, task};

/// A task that is to make `file` by `script`.
fn makes(file: &str, script: &str) -> Mission {
    Mission::new().worker(script).setting("evaluate", false).task("a", |task| task.files([file]))
}

/// Accepted, merged, and the checkout is what the branch says.
fn is_delivered(workspace: &Workspace, what: &str) {
    eprintln!("{what}");
    workspace.quorum(&["run", "mission.yaml"]).exits(0);
    assert_eq!(git(workspace, &["status", "--porcelain"]), "", "{what}");
}

#[test]
fn work_whose_bytes_another_checkout_changes_is_what_was_accepted() {
    let utf_16 = "*.txt text working-tree-encoding=UTF-16LE eol=crlf";
    for (attributes, setting, file, script) in [
        ("*.bat text eol=crlf", None, "f.bat", "echo @echo off > f.bat"),
        ("* text=auto eol=crlf", None, "f", "echo one > f"),
        ("* text=auto", Some(("core.eol", "crlf")), "f", "echo one > f"),
        ("* text=auto", Some(("core.autocrlf", "true")), "d/f", "mkdir d; echo one > d/f"),
        ("", Some(("core.autocrlf", "true")), "f", "echo one > f"),
        ("", Some(("core.autocrlf", "input")), "f", r"printf 'one\r\ntwo\r\n' > f"),
        ("*.c ident", None, "f.c", r"printf '\044Id\044\n' > f.c"),
        ("*.c ident", None, "f.c", r"printf '\044Id: as it was\044\n' > f.c"),
        (utf_16, None, "f.txt", r"printf 'a\0\n\0' > f.txt"),
        ("*.sh text eol=lf", None, "f.sh", r"printf 'true\r\n' > f.sh"),
    ] {
        let workspace = repository(makes(file, script), &[(".gitattributes", &format!("{attributes}\n"))]);
        if let Some((key, value)) = setting {
            git(&workspace, &["config", "--global", key, value]);
        }
        is_delivered(&workspace, &format!("{attributes} {setting:?} {script}"));
        assert_eq!(subjects(&workspace, "main"), ["a"], "{attributes} {setting:?}");
    }
}

#[test]
fn work_of_which_others_change_the_attributes_is_what_was_accepted() {
    let writes =
        |file: &str, text: &str| format!("test -e {file} || echo '{text}' > {file}; cat {file} > seen");
    let mission = Mission::new()
        .agent("first", writes("f.bat", "@echo off"))
        .agent("second", writes(".gitattributes", "*.bat text eol=crlf"))
        .agent("third", "touch f.bat")
        .setting("evaluate", false)
        .task("a", |task| task.by("first").files(["f.bat"]))
        .task("b", |task| task.by("second").needs("a"))
        .task("c", |task| task.by("third").needs("b").files(["f.bat"]));
    let workspace = repository(mission, &[]);
    is_delivered(&workspace, "other attributes");
    assert_eq!(workspace.read("f.bat"), "@echo off\r\n");
}

#[test]
fn work_that_git_stores_otherwise_is_not_what_was_accepted() {
    // The second task undoes the first one's without a word.
    let mission = Mission::new()
        .agent("first", "echo good > f.bat")
        .agent("second", "echo bad > f.bat")
        .setting("evaluate", false)
        .task("a", |task| task.by("first").files(["f.bat"]))
        .task("b", |task| task.by("second").needs("a"));
    let workspace = repository(mission, &[(".gitattributes", "*.bat text eol=crlf\n")]);
    workspace.quorum(&["run", "mission.yaml"]).exits(5).says(&["f.bat changed after it was accepted"]);
}

/// What the findings and the warnings of a run say of what was left out of the commit of `a`.
fn left_out(document: &Value) -> (String, String) {
    let words = |value: &Value| value.as_str().filter(|text| text.contains("git ignores")).map(str::to_owned);
    let findings = task(document, "a")["findings"].as_array().cloned().unwrap_or_default();
    let finding = findings.iter().find_map(|finding| words(&finding["description"]));
    let warnings = document["warnings"].as_array().cloned().unwrap_or_default();
    (finding.unwrap_or_default(), warnings.iter().find_map(words).unwrap_or_default())
}

#[test]
fn what_a_commit_left_out_is_named_in_the_result_of_its_task() {
    let script = "mkdir -p dist/deep; echo x > dist/deep/app.js; echo x > own.log; echo x > all.tmp; echo x >> local.env; echo x > x";
    let worktree = json!({
        "copy": ["local.env", "unread.env"],
        "link": ["modules"],
        "setup": "mkdir made; echo made > made/by-setup",
    });
    let mission = Mission::new()
        .worker(script)
        .setting("evaluate", false)
        .setting("worktree", worktree)
        .task("a", |task| task.check("mkdir -p made; echo x > made/by-check; test -e x"));
    let ignored = ".polpo\nhome\ndist\nmade\nmodules\n*.env\n";
    let workspace = repository(mission, &[]);
    workspace.write(".gitignore", ignored);
    git(&workspace, &["commit", "-qam", "base"]);
    workspace.write(".git/info/exclude", "*.log\n");
    workspace.write("home/ignored", "*.tmp\nmission.yaml\n");
    git(&workspace, &["config", "--global", "core.excludesFile", "~/ignored"]);
    for name in ["local.env", "unread.env", "modules/tool"] {
        workspace.write(name, "before\n");
    }
    let document = workspace.run_json(0, &["--run-id", "r1"]);
    let (finding, warning) = left_out(&document);
    let named =
        "git ignores all.tmp, dist/deep/app.js, local.env, own.log: that is no part of what was merged";
    assert_eq!(
        (finding.as_str(), warning.as_str()),
        (named, format!("'a': {named}").as_str()),
        "{document:#}"
    );
    workspace.quorum(&["show", "a"]).shows(&["dist/deep/app.js", "own.log"]);
    workspace.quorum(&["status"]).shows(&["dist/deep/app.js"]);
    assert!(!workspace.exists("dist"), "it is not merged");
}

#[test]
fn what_a_commit_left_out_is_named_once_it_is_merged_with_others_and_in_later_turns() {
    let script = "test $QUORUM_ATTEMPT != 1 || { mkdir -p dist; echo x > dist/$QUORUM_TASK; }; echo $QUORUM_ATTEMPT > $QUORUM_TASK.txt";
    let mission = Mission::new()
        .worker(script)
        .setting("evaluate", false)
        .setting("concurrency", 2)
        .task("a", |task| task.check("test $(cat a.txt) = 2"))
        .tasks(["b"]);
    let workspace = repository(mission, &[(".gitignore", ".polpo\nhome\ndist\n")]);
    let finished = workspace.quorum(&["run", "mission.yaml"]).exits(0);
    finished.shows(&["git ignores dist/a", "git ignores dist/b"]);
}

#[test]
fn nothing_is_said_where_a_commit_leaves_out_nothing() {
    let workspace =
        repository(makes("f", "echo x > f"), &[(".gitignore", ".polpo\nhome\ndist\nmission.yaml\n")]);
    workspace.write("dist/old", "the user's");
    let document = workspace.run_json(0, &[]);
    assert_eq!(left_out(&document), Default::default(), "{document:#}");
}

#[test]
fn a_commit_that_removes_what_other_work_had_made_is_named() {
    let mission = Mission::new()
        .agent("maker", "echo x > made; echo x > kept; echo x > there")
        .agent("cleaner", "rm made there ours; echo y > own")
        .setting("evaluate", false)
        .task("a", |task| task.by("maker"))
        .task("b", |task| task.by("cleaner").needs("a"));
    let workspace = repository(mission, &[("there", "before\n"), ("ours", "before\n")]);
    let document = workspace.run_json(0, &["--run-id", "r1"]);
    let said = "it removes what other accepted work of this run had written: made, there";
    let found = &task(&document, "b")["findings"];
    assert_eq!(
        (&found[0]["description"], &found[0]["severity"]),
        (&json!(said), &json!("medium")),
        "{document:#}"
    );
    assert_eq!(document["warnings"], json!([format!("'b': {said}")]));
    workspace.quorum(&["status"]).shows(&[said]);
    assert_eq!(task(&document, "a")["findings"], json!([]));
}
