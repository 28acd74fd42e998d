//! What judges the work of an isolated task is out of its reach in its own folder as well, and what was accepted is held
//! against what all of it comes to.

use serde_json::json;

use crate::support::scenes::repositories::{committed, git, repository, subjects};
use crate::support::{Mission, Workspace, attempts, makes_namespaces, skipped, standing, task};

/// A task that does not do its work, and may change what its check runs.
fn cheat(how: &str) -> Mission {
    Mission::new()
        .worker(format!("{how}; exit 0"))
        .setting("evaluate", false)
        .task("a", |task| task.check("sh tests/check.sh"))
}

const CHECK: [(&str, &str); 1] = [("tests/check.sh", "test -e done\n")];

#[track_caller]
fn is_found(workspace: &Workspace, words: &str) {
    let document = workspace.run_json(3, &[]);
    let said = task(&document, "a")["findings"].to_string();
    assert!(said.contains(words), "{document:#}");
    assert_eq!(subjects(workspace, "main"), [""; 0], "nothing was merged");
}

#[test]
fn a_script_that_judges_is_protected_in_a_worktree() {
    is_found(&repository(cheat("echo true > tests/check.sh"), &CHECK), "tests/check.sh was changed");
    is_found(&repository(cheat("rm tests/check.sh"), &CHECK), "tests/check.sh is gone");
    let pattern = |mission: Mission| mission.setting("protect", json!(["tests/**"]));
    let more = pattern(cheat("touch done; echo x > tests/more.sh"));
    is_found(&repository(more, &CHECK), "tests/more.sh appeared");
}

#[test]
fn what_was_changed_once_is_not_right_the_next_time() {
    // The second time it finds the script as it left it, and does nothing.
    let once = "test -e again || { touch again; echo true > tests/check.sh; }";
    let mission = Mission::new()
        .worker(format!("{once}; exit 0"))
        .setting("evaluate", false)
        .task("a", |task| task.check("sh tests/check.sh"));
    let workspace = repository(mission, &CHECK);
    is_found(&workspace, "tests/check.sh was changed");
    let finished = workspace.quorum(&["resume", "--retry-failed", "--json"]).exits(3);
    let failure = task(&finished.json(), "a")["failure"].to_string();
    assert!(failure.contains("tests/check.sh was changed"), "{failure}");
}

#[test]
fn a_confined_agent_cannot_write_what_judges_it_in_its_worktree() {
    if !makes_namespaces() {
        return skipped("this machine makes no namespaces for users");
    }
    let tries = "echo true > tests/check.sh; rm -f tests/check.sh; echo x > ../../../../../../out; \
                 test -s tests/check.sh && touch done";
    let workspace = repository(cheat(tries), &CHECK).confined();
    workspace.run_json(0, &[]);
    assert_eq!(workspace.read("tests/check.sh"), CHECK[0].1);
    assert!(!workspace.exists("out"));
}

#[test]
fn accepted_work_is_held_against_what_all_of_it_comes_to() {
    // Nobody checks `limit` but the check of `use`, which had passed when `limit` was merged.
    let mission = Mission::new()
        .agent("user", "n=$(cat limit); test $n -gt 5 && n=5; echo $n > used")
        .agent("limiter", "echo 3 > limit")
        .setting("evaluate", false)
        .task("use", |task| task.by("user").check("sh check.sh"))
        .task("limit", |task| task.by("limiter").needs("use"));
    let check = "test $(cat used) -le $(cat limit)\n";
    let workspace = repository(mission, &[("limit", "10\n"), ("used", "1\n"), ("check.sh", check)]);
    let document = workspace.run_json(0, &[]);
    assert_eq!(attempts(&document, "use").len(), 2, "{document:#}");
    assert_eq!((workspace.read("used"), workspace.read("limit")), ("3\n".to_owned(), "3\n".to_owned()));
    assert_eq!(subjects(&workspace, "main"), ["use", "limit", "use"]);
}

#[test]
fn a_verification_judges_all_that_was_accepted_before_it() {
    let mission = Mission::new()
        .worker("echo $QUORUM_TASK > $QUORUM_TASK.txt")
        .reviewer("judge", "cat one.txt two.txt > TOP/seen; echo nothing")
        .task("one", |task| task.set("review", "none"))
        .task("two", |task| task.set("review", "none"))
        .task("check", |task| {
            task.by("judge")
                .set("type", "verification")
                .needs("one")
                .needs("two")
                .set("acceptance", json!(["both are there"]))
                .set("verification", json!({"rubric": "default-task"}))
                .set("onPass", "good")
                .set("onFail", "bad")
                .set("onRefer", "bad")
        })
        .task("good", |task| task.set("review", "none"))
        .task("bad", |task| task.set("review", "none"));
    let workspace = repository(mission, &[]);
    super::names_its_top(&workspace);
    workspace.quorum(&["run", "mission.yaml"]);
    assert_eq!(workspace.lines("seen"), ["one", "two"]);
}

#[test]
fn a_link_that_leads_out_of_the_repository_is_no_work() {
    let mission = |script: &str| {
        Mission::new().worker(script).setting("evaluate", false).task("a", |task| task.attempts(1))
    };
    let workspace = repository(mission("ln -sf /etc/passwd names"), &[]);
    is_found(&workspace, "names is a link to /etc/passwd, which lies outside");
    let workspace = repository(mission("mkdir d; ln -s ../file d/name; echo x > file"), &[]);
    workspace.run_json(0, &[]);
    assert_eq!(workspace.read("d/name"), "x\n");

    let there = repository(mission("true"), &[]);
    std::os::unix::fs::symlink("/etc", there.path("out")).expect("there is room");
    git(&there, &["add", "-A"]);
    git(&there, &["commit", "-qm", "link"]);
    super::refused(&there, &["out is a link to /etc", "outside of the repository"]);
}

#[test]
fn what_git_ignores_cannot_be_the_target_of_a_task_in_a_worktree() {
    let mission = Mission::new()
        .worker("mkdir -p out; echo x > out/report")
        .setting("evaluate", false)
        .task("a", |task| task.set("targetFiles", json!(["out/report"])).attempts(1));
    let workspace =
        committed(mission.key("isolation", "worktree").workspace(), &[(".gitignore", ".polpo\nhome\nout\n")]);
    let document = workspace.run_json(3, &[]);
    let found = task(&document, "a")["findings"].to_string();
    assert!(found.contains("out/report is ignored by git"), "{document:#}");
    assert_eq!(standing(&document, "a").0, "failed");
}

#[test]
fn what_is_merged_must_pass_without_what_git_ignores() {
    // The check passes in the folder of the task only, for what it needs is never merged.
    let mission = Mission::new()
        .worker("mkdir -p out; echo x > out/needed; echo y > file")
        .setting("evaluate", false)
        .task("a", |task| task.check("test -e out/needed"));
    let workspace = mission.key("isolation", "worktree").workspace();
    let workspace = committed(workspace, &[(".gitignore", ".polpo\nhome\nout\n")]);
    let document = workspace.run_json(3, &[]);
    assert_eq!(task(&document, "a")["failure"]["mode"], "regressed", "{document:#}");
    assert_eq!(subjects(&workspace, "main"), [""; 0]);
}

#[test]
fn what_cannot_be_committed_is_sent_back_with_the_reason() {
    let worker =
        "if test -e lib/.git; then rm -rf lib/.git; else mkdir -p lib; echo x > lib/x; git init -q lib; fi";
    let mission = Mission::new().worker(worker).setting("evaluate", false).task("a", |task| task.attempts(1));
    let workspace = repository(mission, &[]);
    let document = workspace.run_json(0, &[]);
    let tried = &task(&document, "a")["attempts"];
    assert_eq!(
        (attempts(&document, "a").len(), &tried[0]["cause"], &tried[1]["kind"]),
        (2, &json!("merge"), &json!("fix"))
    );
    assert_eq!(workspace.read("lib/x"), "x\n");
}

#[test]
fn checks_of_tasks_that_changed_the_same_file_run_on_what_is_merged() {
    // Both change `conf`, each another line of it; only the first one is checked.
    let mission = Mission::new()
        .agent(
            "user",
            "n=$(sed -n 's/limit //p' conf); test $n -gt 5 && n=5; sed -i \"s/used .*/used $n/\" conf",
        )
        .agent(
            "limiter",
            "until test -e TOP/seen; do sleep 0.02; done; n=$(sed -n 's/used //p' conf); \
                           test $n -lt 3 && n=3; sed -i \"s/limit .*/limit $n/\" conf",
        )
        .setting("evaluate", false)
        .task("use", |task| task.by("user").check("sh check.sh"))
        .task("last", |task| task.by("toucher").needs("use"))
        .task("limit", |task| task.by("limiter"))
        .agent("toucher", "touch TOP/seen");
    let check = "test $(sed -n 's/used //p' conf) -le $(sed -n 's/limit //p' conf)\n";
    let conf = "used 1\n\n\n\n\nlimit 10\n";
    let workspace = repository(mission, &[("conf", conf), ("check.sh", check)]);
    super::names_its_top(&workspace);
    let document = workspace.run_json(0, &[]);
    assert_eq!(
        (attempts(&document, "use").len(), attempts(&document, "limit").len()),
        (1, 2),
        "{document:#}"
    );
    assert_eq!(workspace.read("conf"), "used 5\n\n\n\n\nlimit 5\n");
}
