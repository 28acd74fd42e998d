//! A write of a protected file that the system refused leaves a finding, where what was printed names it.

use super::*;
use crate::support::Says;

/// A task that does this beside its work, with `tests/` protected, and whose check passes whatever it does.
fn tries(script: &str) -> Workspace {
    let workspace = Mission::new()
        .worker(format!("{script}\necho x > x.txt\necho done"))
        .key("settings", json!({"protect": ["tests/**"]}))
        .task("work", |task| task.files(["x.txt"]).unreviewed())
        .workspace()
        .confined();
    workspace.write("tests/all.sh", "exit 0");
    for name in ["tests/deep/one.sh", "tests/deep/twin.sh", "tests/twin.sh"] {
        workspace.write(name, "exit 0");
    }
    workspace
}

fn findings(who: Who, script: &str) -> Vec<(String, String)> {
    let document = who.start(&tries(script), &["run", "mission.yaml", "--json"]).finish().exits(0).json();
    let found = task(&document, "work")["findings"].as_array().expect("a list").iter();
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    found.map(|found| (text(&found["severity"]), text(&found["description"]))).collect()
}

#[test]
fn a_refused_write_of_a_protected_file_is_a_finding() {
    for (script, name) in [
        ("echo evil > tests/all.sh", "tests/all.sh"),
        ("rm -f tests/all.sh", "tests/all.sh"),
        ("echo evil > tests/new.sh", "tests/new.sh"),
        ("cd tests/deep; echo evil > one.sh; cd ../..", "tests/deep/one.sh"),
        ("echo evil > \"$PWD/tests/all.sh\"", "tests/all.sh"),
        // What a tool says of it in the output of its program.
        (
            "echo evil 2>&1 > tests/all.sh; echo '{\"error\":\"EROFS: read-only file system, open '\"'tests/all.sh'\"'\\n\"}'",
            "tests/all.sh",
        ),
    ] {
        by_everybody(|who| {
            let expected = ("low".to_owned(), format!("tried to write {name} (protected)"));
            assert_eq!(findings(who, script), [expected], "{script}");
        });
    }
}

#[test]
fn what_is_no_refused_write_of_a_protected_file_is_no_finding() {
    for script in [
        "cat tests/all.sh",
        "echo 'tests/all.sh: Permission denied' >&2",
        "echo 'other.sh: Read-only file system' >&2; cat tests/all.sh",
        // Which of two is meant nobody can tell.
        "mkdir -p x; echo 'twin.sh: Read-only file system' >&2",
        "echo '{\"text\":\"tests/all.sh is read\\nother: Read-only file system\"}'",
    ] {
        by_everybody(|who| assert_eq!(findings(who, script), [], "{script}"));
    }
}

#[test]
fn who_fails_for_it_is_told_with_its_next_attempt_and_everybody_before() {
    by_everybody(|who| {
        let workspace = Mission::new()
            .worker("cat > prompt.$QUORUM_ATTEMPT; echo exit 0 > tests/all.sh; echo done")
            .key("settings", json!({"protect": ["tests/**"]}))
            .task("work", |task| {
                task.set("protect", json!(["docs/*.md"])).check("sh tests/all.sh").attempts(2)
            })
            .workspace()
            .confined();
        workspace.write("tests/all.sh", "exit 1");
        let document = who.run(&workspace).exits(3).json();
        let found = task(&document, "work")["findings"].to_string();
        found.says(&["tried to write tests/all.sh (protected)"]);
        workspace.read("prompt.1").says(&["must not change, add to or remove: tests/**, docs/*.md"]);
        workspace.read("prompt.2").says(&["not allowed to: write tests/all.sh (protected)"]);
        if matches!(who, Who::Tester) {
            let shown = workspace.quorum(&["show", "work"]).exits(0);
            shown.shows(&["refused: write tests/all.sh (protected)"]);
        }
    });
}
