//! `quorum review --diff`: whoever judges is shown all that changed, or nobody says that it is good.

use serde_json::Value;

use crate::support::{Mission, Says, Workspace};

fn reviewer() -> Mission {
    Mission::new().judge("a", &[]).task("none", |t| t.set("description", "Nothing."))
}

/// A repository with one commit, and a reviewer who is content.
fn repository() -> Workspace {
    let workspace = reviewer().workspace();
    workspace.judge("a", &[r#"{"correctness": 5, "completeness": 5, "code_quality": 5, "edge_cases": 5}"#]);
    for (name, text) in [("f", "1\n"), ("other", "1\n"), ("sub/deep", "1\n")] {
        workspace.write(name, text);
    }
    workspace.write(".gitignore", "a\nhome\n.polpo\n");
    workspace
        .bash(
            "git init -qb main . && git config user.name t && git config user.email t@example.org &&
             git add . && git commit -qm base",
        )
        .exits(0);
    workspace
}

fn reviewed(workspace: &Workspace, code: i32, arguments: &[&str]) -> Value {
    let mut all = vec!["review", "--json", "--progress", "none", "--criteria", "Good."];
    all.extend(["--reviewer", "a"]);
    all.extend(if arguments.is_empty() { &["--diff", "HEAD"] } else { arguments });
    workspace.quorum(&all).exits(code).json()
}

#[test]
fn false_green_46_a_change_is_shown_whatever_hides_it() {
    for (what, script) in [
        ("an attribute", "echo SECRET >> f; echo '* -diff' > .gitattributes"),
        ("an attribute that says binary", "echo SECRET >> f; echo '* binary' > .gitattributes"),
        ("an attribute beside the tree", "echo SECRET >> f; echo '* -diff' > .git/info/attributes"),
        (
            "a program that shows texts",
            "echo SECRET >> f; echo '* diff=x' > .gitattributes; git config diff.x.textconv 'touch ran; echo good'",
        ),
        (
            "a program that shows differences",
            "echo SECRET >> f; git config diff.external 'touch ran'; echo 'f diff=y' > .gitattributes; \
             git config diff.y.command 'touch ran'",
        ),
        ("a monitor of files", "echo SECRET >> f; git config core.fsmonitor 'touch ran; exit 1'"),
        (
            "a filter",
            "echo SECRET >> f; echo '* filter=x' > .gitattributes; git config filter.x.clean 'echo 1; touch ran'",
        ),
        ("assume-unchanged", "git update-index --assume-unchanged f; echo SECRET >> f"),
        ("skip-worktree", "git update-index --skip-worktree f; echo SECRET >> f"),
        (
            "both",
            "git update-index --assume-unchanged f; git update-index --skip-worktree f; echo SECRET >> f",
        ),
        (
            "a time stamp",
            "sleep 1.1; git status -s; git config core.trustctime false; git config core.checkStat minimal; \
             touch -r f stamp; printf 'SECRET\\n' > f.new; git show HEAD:f > /dev/null; cat f.new > f; touch -r stamp f; rm stamp f.new",
        ),
        ("a file that git does not follow", "echo SECRET > new"),
        ("a file in a folder that git does not follow", "mkdir -p d/e; echo SECRET > d/e/new"),
        ("a file that was only added", "echo SECRET > new; git add -f new"),
        (
            "a file that is ignored and followed",
            "echo 'new' >> .gitignore; echo SECRET > new; git add -f new",
        ),
        (
            "a setting of the user",
            "git config --global core.excludesFile /dev/null; git config diff.relative true; echo SECRET >> other",
        ),
        (
            "a replaced object",
            "echo SECRET >> f; b=$(git hash-object -w f); git replace -f $(git rev-parse HEAD:f) $b",
        ),
        ("few lines around", "git config diff.context 0; git config diff.noprefix true; echo SECRET >> f"),
    ] {
        let workspace = repository();
        workspace.bash(script).exits(0);
        reviewed(&workspace, 0, &[]);
        assert!(workspace.asked("a", 1).contains("SECRET"), "{what}: {}", workspace.asked("a", 1));
        assert!(!workspace.exists("ran"), "{what}");
    }
}

#[test]
fn false_green_46_work_that_nobody_was_shown_is_not_good() {
    for (what, script, name) in [
        ("a binary file", "printf 'a\\0b' > odd; echo good >> f", "odd"),
        ("a binary file that was text", "printf 'a\\0b' > f", "f"),
        (
            "a repository within",
            "git init -q odd; git -C odd -c user.name=a -c user.email=a@e.org commit -q --allow-empty -m x",
            "odd",
        ),
    ] {
        let workspace = repository();
        workspace.bash(script).exits(0);
        let document = reviewed(&workspace, 6, &[]);
        assert_eq!(document["verdict"], "indeterminate", "{what}");
        let findings = document["findings"].to_string();
        assert!(findings.contains("not shown") && findings.contains(name), "{what}: {findings}");
        workspace.asked("a", 1).says(&["not shown"]);
    }
}

#[test]
fn a_diff_shows_changes_of_all_kinds_and_leaves_the_repository_alone() {
    let workspace = repository();
    workspace
        .bash("rm f; mkdir f; echo in > f/x; chmod +x other; mv sub/deep sub/moved; ln -s other link; git add -A sub")
        .exits(0);
    let before =
        workspace.bash("git status --porcelain; git ls-files -s; find .git/objects | sort").exits(0).stdout;
    reviewed(&workspace, 0, &[]);
    let asked = workspace.asked("a", 1);
    asked.says(&["+in", "new mode 100755", "sub/moved", "new file mode 120000"]);
    let after =
        workspace.bash("git status --porcelain; git ls-files -s; find .git/objects | sort").exits(0).stdout;
    assert_eq!(before, after);
}

#[test]
fn a_diff_may_be_of_some_files_or_between_two_commits() {
    let workspace = repository();
    workspace
        .bash("echo FIRST >> f; echo SECOND >> other; git commit -qam next; echo THIRD >> sub/deep")
        .exits(0);
    let asked = |call| workspace.asked("a", call);
    reviewed(&workspace, 0, &["--diff", "HEAD~1", "f"]);
    assert!(asked(1).contains("FIRST") && !asked(1).contains("SECOND"));
    reviewed(&workspace, 0, &["--diff", "HEAD~1..HEAD"]);
    assert!(asked(2).contains("+SECOND") && !asked(2).contains("+THIRD"));
}

#[test]
fn files_that_are_not_checked_out_are_no_changes() {
    let workspace = repository();
    workspace.bash("git sparse-checkout set --no-cone '/*' '!/sub'; echo more >> f; test ! -e sub").exits(0);
    reviewed(&workspace, 0, &[]);
    assert!(!workspace.asked("a", 1).contains("sub/deep"));
}

#[test]
fn what_git_would_wait_for_is_named_at_once() {
    let workspace = repository();
    workspace.bash("echo more >> f; mkdir d; mkfifo d/.gitignore").exits(0);
    let all = ["review", "--criteria", "Good.", "--reviewer", "a", "--diff"];
    workspace.quorum(&all).exits(2).says(&["d/.gitignore is a pipe"]);
}
