//! Hidden checks: workers are shown neither their command nor their files nor their output (semantics, section 24).

use serde_json::{Value, json};

use crate::support::scenes::repositories::{git, names_its_top, repository};
use crate::support::{Mission, Says, Task, Workspace, attempts, makes_namespaces, skipped, standing, task};

/// What nobody but people may ever see.
const SECRET: &str = "s3cr3t-birch";
/// What is written of a hidden check that failed, to whoever corrects the work.
const FAILED: &str = "a check that you are not shown failed";

/// A hidden test: it runs what the work is, and says what it wants.
const TEST: &str = "# s3cr3t-birch\necho \"s3cr3t-birch wants 42\"\ntest \"$(sh answer.sh)\" = 42\n";

/// Work whose program keeps, whenever anybody runs it, what it can see of the test for the next attempt. `TOP` is the workspace.
const STEALS: &str = r#"
cat >> answer.sh <<'END'
for place in . TOP TOP/home "$HOME"; do cat tests/held.sh TOP/tests/held.sh > $place/stolen.txt; done 2> /dev/null
END
"#;
/// It is right from the second attempt on.
const ANSWER: &str = "echo \"echo $((40 + QUORUM_ATTEMPT))\" > answer.sh\n";

/// Looks wherever a worker can, and notes each place where the secret is. It is looked for by a pattern that is no match of itself.
const LOOK: &str = r#"
see() { if grep -aqs 's3cr[3]t-birch'; then echo "$1" >> leaks.txt; fi; }
objects() { git cat-file --batch-all-objects --batch --unordered; git log --all -p; } 2> /dev/null
cat > prompt.$QUORUM_ATTEMPT.txt; see prompt < prompt.$QUORUM_ATTEMPT.txt
env | see environment
cat "$QUORUM_TASK_DIR"/* 2> /dev/null | see messages
ls -R . TOP/.polpo 2> /dev/null | grep -q held && echo names >> leaks.txt
find . -type f -exec cat {} + 2> /dev/null | see folder
objects | see "its repository"
(cd TOP && objects) | see "the repository of the user"
find TOP -path TOP/.git -prune -o -type f -exec cat {} + 2> /dev/null | see workspace
cat "$HOME"/stolen.txt 2> /dev/null | see stolen
for of in cmdline environ; do cat /proc/[0-9]*/$of 2> /dev/null; done | tr '\0' '\n' | see neighbours
git rev-list --all --count > commits.txt
"#;

fn held() -> Value {
    json!({"type": "test", "command": format!("sh tests/held.sh {SECRET}"), "hidden": true})
}

/// A worker that looks everywhere and is right in its second attempt; whoever builds on it, and whom it hands work down to, look too.
fn looking(keys: impl FnOnce(Task) -> Task) -> Mission {
    let hands_down = r#"echo '{"title": "part", "assignTo": "helper"}' > "$QUORUM_TASK_DIR"/delegate.json"#;
    let rest = |name: &str| {
        let look = LOOK.replace("leaks", name).replace("commits", &format!("{name}.commits"));
        format!(
            "{}echo done >> {name}.txt\n",
            look.replace("prompt.$QUORUM_ATTEMPT", &format!("{name}.prompt"))
        )
    };
    Mission::new()
        .setting("evaluate", false)
        .worker(format!("{LOOK}{ANSWER}{STEALS}{hands_down}\necho done\n"))
        .agent("after", rest("after"))
        .agent("helper", rest("helper"))
        .task("work", |task| keys(task.expects(held()).attempts(3)))
        .task("next", |task| task.by("after").needs("work"))
}

fn there(mission: Mission) -> Workspace {
    let workspace = repository(mission, &[("tests/held.sh", TEST), ("README", "r\n")]);
    workspace.write(".gitignore", ".polpo\nhome\nseen\nelsewhere\n");
    names_its_top(&workspace);
    git(&workspace, &["worktree", "add", "-q", "--detach", "elsewhere"]);
    workspace
}

/// Nothing was found, and people have everything.
#[track_caller]
fn nothing_was_found(workspace: &Workspace) {
    for leaks in ["leaks.txt", "stolen.txt", "home/stolen.txt"] {
        assert!(!workspace.exists(leaks), "{leaks}: {}", workspace.read(leaks));
    }
    assert_eq!(
        (workspace.read("after.txt"), workspace.read("helper.txt")),
        ("done\n".into(), "done\n".into())
    );
    assert_eq!(workspace.read("commits.txt"), "1\n");
    let corrected = workspace.read("prompt.2.txt");
    corrected.says(&[FAILED]);
    assert!(!corrected.contains("held.sh") && !corrected.contains("wants 42"), "{corrected}");
    assert_eq!(workspace.read("tests/held.sh"), TEST);
    assert_eq!(git(workspace, &["diff", "--stat", "HEAD~3", "--", "tests", "mission.yaml"]), "");
    let shown = workspace.quorum(&["show", "work", "--json"]).exits(0).json();
    let mut checks = shown["attempts"][0]["checks"].as_array().expect("they are listed").iter();
    let first = checks.find(|check| check["hidden"] == true).expect("people see it");
    assert_eq!(first["passed"], false);
    first["message"].as_str().expect("it says why").says(&[SECRET, "wants 42"]);
    workspace
        .quorum(&["show", "work", "--attempt", "1"])
        .exits(0)
        .stdout
        .says(&["(hidden): failed", "wants 42"]);
}

#[test]
fn false_green_63_a_worker_that_looks_everywhere_finds_nothing_of_a_hidden_check() {
    if !makes_namespaces() {
        return skipped("this machine makes no namespaces for users");
    }
    let workspace = there(looking(|task| task)).confined();
    let document = workspace.run_json(0, &[]);
    assert_eq!(standing(&document, "work"), ("done", "clean"));
    assert_eq!(task(&document, "work")["proof"]["red"], 1);
    nothing_was_found(&workspace);
    let alone = Mission::new().setting("evaluate", false).worker(ANSWER);
    let alone = there(alone.task("work", |task| task.expects(held()).attempts(3))).confined();
    assert_eq!(standing(&alone.run_json(0, &["--strict"]), "work"), ("done", "clean"));
}

#[test]
fn false_green_63_what_a_check_that_is_shown_prints_tells_nothing_of_a_hidden_one() {
    if !makes_namespaces() {
        return skipped("this machine makes no namespaces for users");
    }
    let prints = "cat tests/* *.yaml TOP/tests/* TOP/*.yaml; git log -p --all; grep -q 42 answer.sh";
    let workspace = there(looking(|task| task.check(prints))).confined();
    workspace.run_json(0, &[]);
    nothing_was_found(&workspace);
    workspace.read("prompt.2.txt").says(&["exited 1"]);
}

#[test]
fn false_green_63_without_confinement_its_own_folder_and_history_have_nothing_of_it() {
    let workspace = there(
        Mission::new()
            .setting("evaluate", false)
            .worker(format!("{}{ANSWER}", LOOK.replace("TOP", "/nowhere").replace("/proc", "/nowhere")))
            .task("work", |task| task.expects(held()).attempts(3)),
    );
    let run = workspace.quorum(&["run", "mission.yaml"]).exits(0);
    run.stderr.says(&["hidden checks are not hidden: workers that are not confined can read them"]);
    assert!(!workspace.exists("leaks.txt"), "{}", workspace.read("leaks.txt"));
    assert_eq!((workspace.read("commits.txt"), workspace.read("tests/held.sh")), ("1\n".into(), TEST.into()));
}

#[test]
fn false_green_63_what_a_worker_puts_in_the_place_of_a_hidden_test_is_neither_run_nor_kept() {
    for places in ["mkdir -p tests; echo exit 0 > tests/held.sh", "ln -s /dev tests", "echo a > tests"] {
        let mission =
            Mission::new().setting("evaluate", false).worker(format!("{places}; echo 'echo 41' > answer.sh"));
        let workspace = there(mission.task("work", |task| task.expects(held()).attempts(1)));
        let document = workspace.run_json(3, &[]);
        assert_eq!(task(&document, "work")["status"], "failed", "{places}");
        let mission =
            Mission::new().setting("evaluate", false).worker(format!("{places}; echo 'echo 42' > answer.sh"));
        let workspace = there(mission.task("work", |task| task.expects(held()).attempts(1)));
        workspace.run_json(0, &[]);
        assert_eq!(workspace.read("tests/held.sh"), TEST, "{places}");
    }
}

#[test]
fn false_green_63_judges_are_told_only_whether_a_hidden_check_passed() {
    let mission = Mission::new()
        .worker(ANSWER)
        .reviewer(
            "critic",
            "cat > TOP/seen/asked; cat \"$QUORUM_REVIEW_FILE\" >> TOP/seen/asked; echo SCORE: 90",
        )
        .task("work", |task| task.expects(held()).set("review", "required").attempts(3));
    let workspace = there(mission);
    workspace.write("seen/asked", "");
    workspace.run_json(0, &[]);
    workspace.read("seen/asked").says(&["hidden check"]).omits(&[SECRET, "held.sh", "wants 42"]);
}

#[test]
fn false_green_63_a_session_that_was_killed_at_a_hidden_check_leaves_nothing_of_it() {
    let test = format!("echo yes > TOP/seen/here; while test -e TOP/seen/wait; do sleep 0.1; done\n{TEST}");
    let mission = Mission::new()
        .setting("evaluate", false)
        .setting("baseline", false)
        .worker(format!("ls tests > had.txt || true\n{ANSWER}"));
    let workspace = there(mission.task("work", |task| task.expects(held()).attempts(3)));
    let test = test.replace("TOP", &workspace.root().to_string_lossy());
    workspace.write("tests/held.sh", &test);
    git(&workspace, &["commit", "-qam", "it waits"]);
    workspace.write("seen/wait", "");
    workspace.kill_at(&["run", "mission.yaml"], "seen/here");
    std::fs::remove_file(workspace.path("seen/wait")).expect("it was there");
    let document = workspace.resume_json(0, &[]);
    assert_eq!(standing(&document, "work").0, "done");
    assert_eq!((workspace.read("had.txt"), workspace.read("tests/held.sh")), (String::new(), test));
    let left = workspace.bash("find .polpo -name '*-hidden-*' -o -name held.sh 2> /dev/null; true").exits(0);
    assert_eq!(left.stdout, "");
}

#[test]
fn what_cannot_be_hidden_is_said_and_refused_where_that_is_asked_for() {
    let one = |check: Value| {
        Mission::new()
            .setting("evaluate", false)
            .worker("echo 42 > answer.txt")
            .task("work", |task| task.expects(check))
    };
    let run = json!({"type": "script", "command": "test -s answer.txt", "hidden": true});
    let none = there(one(run)).like_users();
    let shared = one(held()).workspace().like_users();
    shared.write("tests/held.sh", "test -s answer.txt\n");
    let all = [(none, "names no file that could be hidden"), (shared, "who works in no worktree")];
    for (workspace, words) in all {
        workspace.quorum(&["validate"]).exits(0).says(&[words]);
        workspace.quorum(&["run", "mission.yaml", "--strict"]).exits(9).says(&[words]);
        workspace.assert_nothing_started();
        workspace.quorum(&["run", "mission.yaml"]).exits(0).stderr.says(&[words]);
    }
    let off = there(one(held()).setting("sandbox", "off"));
    off.quorum(&["validate"]).exits(0).says(&["workers that are not confined can read them"]);
    off.quorum(&["run", "mission.yaml", "--strict"]).exits(9);
}

#[test]
fn hidden_stands_only_where_something_is_hidden() {
    let one = |check: Value| {
        Mission::new()
            .worker("true")
            .task("work", |task| task.files(["tests/held.sh"]).expects(check))
            .workspace()
    };
    one(held()).refuses(&["cannot be hidden from who is to make it", "targetFiles"]);
    for check in [
        json!({"type": "file_exists", "paths": ["a"], "hidden": true}),
        json!({"type": "llm_review", "hidden": true}),
        json!({"type": "test", "command": "true", "hidden": "maybe"}),
    ] {
        one(check).refuses(&["hidden"]);
    }
    let gate = json!({"commands": ["true"], "hidden": true});
    Mission::new()
        .worker("true")
        .task("work", |task| task.set("verify", gate))
        .workspace()
        .refuses(&["hidden"]);
}

#[test]
fn false_green_63_a_hidden_check_that_is_flaky_is_not_named_to_who_corrects_the_work() {
    let flaky = "# s3cr3t-birch\nmkdir TOP/seen/$QUORUM_ATTEMPT 2> /dev/null && exit 1; test -e answer.sh\n";
    let weakens = "cat > TOP/seen/prompt.$QUORUM_ATTEMPT; echo true > tests/test_a.sh; touch answer.sh";
    let mut held = held();
    held["reruns"] = json!(1);
    let mission = Mission::new().setting("evaluate", false).worker(weakens);
    let workspace = there(mission.task("work", |task| task.check("sh all.sh").expects(held).attempts(3)));
    let flaky = flaky.replace("TOP", &workspace.root().to_string_lossy());
    workspace.write("tests/held.sh", &flaky);
    workspace.write("all.sh", "for t in tests/test_*.sh; do sh $t || exit 1; done\n");
    workspace.write("tests/test_a.sh", "test -e right\n");
    workspace.write("seen/kept", "");
    git(&workspace, &["add", "-A"]);
    git(&workspace, &["commit", "-qm", "one that is flaky"]);
    let document = workspace.run_json(5, &[]);
    task(&document, "work")["findings"].to_string().says(&["flaky: `a hidden check`"]).omits(&[SECRET]);
    workspace.read("seen/prompt.2").says(&["tests-changed"]).omits(&[SECRET, "held.sh"]);
}

#[test]
fn what_was_built_before_its_sources_is_older_than_they_are_where_a_hidden_check_runs() {
    let builds = "for n in 1 2 3 4 5 6 7 8 9; do echo built > built$n; touch -d '2020-01-01' built$n; echo new > source$n; done";
    let mission = Mission::new().setting("evaluate", false).worker(builds);
    let workspace = there(mission.task("work", |task| task.expects(held()).attempts(1)));
    let compares =
        "for n in 1 2 3 4 5 6 7 8 9; do test ! -e built$n || test source$n -nt built$n || exit 1; done\n";
    workspace.write("tests/held.sh", compares);
    workspace.write(".gitignore", ".polpo\nhome\nseen\nelsewhere\nbuilt*\n");
    git(&workspace, &["commit", "-qam", "it compares times"]);
    let document = workspace.run_json(0, &[]);
    assert_eq!(standing(&document, "work").0, "done");
}

#[test]
fn checkouts_that_cannot_be_told_are_said() {
    let mission = Mission::new().setting("evaluate", false).worker("echo 42 > answer.sh");
    let workspace = there(mission.task("work", |task| task.expects(held()).attempts(1))).like_users();
    let words = "whether another checkout shows what is hidden cannot be told";
    assert!(!workspace.quorum(&["validate"]).exits(0).stderr.contains(words));
    std::fs::create_dir_all(workspace.path(".git/worktrees/odd/gitdir")).expect("it can be made");
    workspace.quorum(&["validate"]).exits(0).says(&[words]);
    workspace.quorum(&["run", "mission.yaml", "--strict"]).exits(9).says(&[words]);
}

#[test]
fn false_green_63_a_check_that_comes_to_be_hidden_or_is_no_more_is_so_from_then_on() {
    let worker = r#"
see() { if grep -aqs 's3cr[3]t-birch'; then echo "$1" >> TOP/seen/leaks.$QUORUM_ATTEMPT; fi; }
[ $QUORUM_ATTEMPT = 1 ] || while [ ! -e TOP/home/go ]; do echo > TOP/seen/here; sleep 0.1; done
see prompt
find . -type f -exec cat {} + | see folder
{ git cat-file --batch-all-objects --batch --unordered; git log --all -p; } 2> /dev/null | see repository
[ $QUORUM_ATTEMPT = 1 ] && echo 'echo 41' > answer.sh || echo 'echo 42' > answer.sh
"#;
    for comes in [true, false] {
        let mission = Mission::new().setting("evaluate", false).worker(worker);
        let mut check = held();
        check["hidden"] = json!(!comes);
        let workspace = there(mission.task("work", |task| task.expects(check).attempts(4)));
        workspace.write("seen/.keep", "");
        workspace.kill_at(&["run", "mission.yaml"], "seen/here");
        let is = |hidden: bool| format!("\"hidden\":{hidden}");
        workspace.mission(&workspace.read("mission.yaml").replace(&is(!comes), &is(comes)));
        git(&workspace, &["commit", "-qam", "another mission"]);
        workspace.write("home/go", "");
        let document = workspace.quorum(&["resume", "--accept-changed-mission", "--json"]).json();
        assert_eq!(standing(&document, "work").0, "done", "{document:#}");
        let (first, last) = ("seen/leaks.1", format!("seen/leaks.{}", attempts(&document, "work").len()));
        assert_ne!(last, first);
        assert_eq!((workspace.exists(first), workspace.exists(&last)), (comes, !comes), "{comes}");
        if !comes {
            workspace.read(&last).says(&["prompt", "folder", "repository"]);
        }
        let run = document["runId"].as_str().expect("it has one");
        let accepted = git(&workspace, &["show", &format!("refs/quorum/{run}/main:tests/held.sh")]);
        assert_eq!(accepted + "\n", TEST);
    }
}
