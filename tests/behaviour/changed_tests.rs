//! Tests that the work changes are run on it as they were, and those that it brings without it (semantics, section 24).

use std::collections::BTreeMap;
use std::thread::sleep;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::scenes::repositories::{committed, git, repository};
use crate::support::{Mission, Says, Task, Workspace, task, wait_for};

/// What runs all tests of the repository.
const ALL: &str = "sh all.sh";
const ALL_TESTS: (&str, &str) = ("all.sh", "for test in tests/test_*.sh; do sh $test || exit 1; done\n");
/// The code, which is wrong, a test that says so, and one that passes.
const FILES: [(&str, &str); 4] = [
    ALL_TESTS,
    ("code.txt", "1\n"),
    ("tests/test_a.sh", "test \"$(cat code.txt)\" = 2\n"),
    ("tests/test_b.sh", "test -e code.txt\n"),
];
/// The same, where nothing is wrong.
const FINE: [(&str, &str); 3] = [ALL_TESTS, ("code.txt", "1\n"), ("tests/test_b.sh", "test -e code.txt\n")];

/// A worker that does this, by what runs all tests, and that nobody judges.
fn mission(worker: &str, keys: impl FnOnce(Task) -> Task) -> Mission {
    let mission = Mission::new().worker(worker).setting("evaluate", false);
    mission.task("work", |task| keys(task.by("worker").check(ALL)))
}

fn plain(task: Task) -> Task {
    task
}

/// In a worktree, and in a shared folder of a repository.
fn everywhere(mission: impl Fn() -> Mission, files: &[(&str, &str)]) -> [Workspace; 2] {
    [repository(mission(), files), committed(mission().workspace(), files)]
}

fn flagged(document: &Value) -> (&str, &str) {
    let found = task(document, "work");
    (found["qualityFlag"].as_str().unwrap_or_default(), found["flagCause"].as_str().unwrap_or_default())
}

fn attempts(document: &Value) -> usize {
    task(document, "work")["attempts"].as_array().map_or(0, Vec::len)
}

fn shown(workspace: &Workspace) -> Value {
    workspace.quorum(&["show", "work", "--json"]).exits(0).json()
}

/// Looks leave nothing, neither in the folder of the run nor in the repository.
fn nothing_stays(workspace: &Workspace) {
    let run = workspace.run_folder();
    assert!(!run.join("worktrees/looks").exists());
    assert!(!run.join("worktrees/workspace.git").exists());
}

#[test]
fn false_green_61_a_test_that_was_weakened_runs_as_it_was() {
    for fake in [
        "echo true > tests/test_a.sh",
        "rm -f tests/test_a.sh",
        "test -e tests/a_off.sh || mv tests/test_a.sh tests/a_off.sh",
    ] {
        for workspace in everywhere(|| mission(fake, plain), &FILES) {
            let document = workspace.run_json(5, &[]);
            assert_eq!(flagged(&document), ("unverified", "tests-changed"), "{fake}");
            let shown = shown(&workspace);
            let attempts = shown["attempts"].as_array().unwrap();
            assert_eq!(attempts.len(), 2, "sent back once");
            let said = attempts[0]["stages"].to_string();
            said.says(&["tests-changed", "tests/test_a.sh", "mayChangeTests: true", "targetFiles"]);
            assert_eq!(attempts[0]["cause"], "tests-changed");
            let looks = attempts[0]["looks"].as_array().unwrap();
            assert_eq!(looks.len(), 1, "{looks:?}");
            assert_eq!(looks[0]["kind"], "old-tests");
            assert_eq!(looks[0]["files"], json!(["tests/test_a.sh"]));
            assert_eq!(looks[0]["passed"], false);
            let purposes = workspace.events().named("work:requested");
            let purposes: Vec<&str> = purposes.iter().filter_map(|event| event["purpose"].as_str()).collect();
            assert!(purposes.contains(&"old-tests") && purposes.contains(&"new-tests"), "{purposes:?}");
            nothing_stays(&workspace);
        }
    }
}

#[test]
fn false_green_61_the_mission_may_let_the_work_change_tests() {
    let allowed: [fn(Task) -> Task; 2] =
        [|task| task.set("mayChangeTests", true), |task| task.set("targetFiles", json!(["tests/test_a.sh"]))];
    for keys in allowed {
        let honest = "echo 3 > code.txt; echo 'test \"$(cat code.txt)\" = 3' > tests/test_a.sh";
        for workspace in everywhere(|| mission(honest, keys), &FILES) {
            let document = workspace.run_json(0, &["--strict"]);
            assert_eq!(flagged(&document), ("clean", ""));
            let found = task(&document, "work")["findings"].to_string();
            found.says(&["tests-changed", "info"]);
        }
    }
}

#[test]
fn false_green_61_judges_are_shown_it_and_decide() {
    let judged = || {
        Mission::new()
            .worker("echo true > tests/test_a.sh")
            .judge("critic", &["SCORE: 90"])
            .task("work", |task| task.by("worker").check(ALL).set("review", "required"))
    };
    for (is_shared, workspace) in [false, true].into_iter().zip(everywhere(judged, &FILES)) {
        let document = workspace.run_json(0, &[]);
        assert_eq!(flagged(&document), ("clean", ""));
        assert_eq!(attempts(&document), 1);
        task(&document, "work")["findings"].to_string().says(&["tests-changed", "tests-prove-nothing"]);
        // Its judge notes what it was asked where it works.
        if is_shared {
            workspace.asked("critic", 1).says(&[
                "Tests that the work changed",
                "tests/test_a.sh",
                "exited 1",
            ]);
        }
    }
}

#[test]
fn false_green_61_without_git_nobody_can_look() {
    for isolation in ["shared", "copy"] {
        let workspace =
            mission("echo true > tests/test_a.sh", |task| task.set("isolation", isolation)).workspace();
        for (name, text) in FILES {
            workspace.write(name, text);
        }
        let document = workspace.run_json(5, &[]);
        assert_eq!(flagged(&document), ("unverified", "tests-changed"), "{isolation}");
        assert_eq!(attempts(&document), 1);
        task(&document, "work")["findings"].to_string().says(&["without git"]);
    }
    let workspace =
        mission("echo true > tests/test_a.sh", |task| task.set("mayChangeTests", true)).workspace();
    for (name, text) in FILES {
        workspace.write(name, text);
    }
    assert_eq!(flagged(&workspace.run_json(0, &[])), ("clean", ""));
}

#[test]
fn false_green_62_tests_of_the_work_that_pass_without_it_prove_nothing() {
    // Nothing failed before; and what failed before was that there was no test.
    let checks = [ALL, "test -e tests/test_new.sh && sh tests/test_new.sh"];
    for check in checks {
        let fake = "echo '# better' >> code.txt; echo 'true' > tests/test_new.sh";
        let all = || {
            let mission = Mission::new().worker(fake).setting("evaluate", false);
            mission.task("work", |task| {
                task.by("worker").check(check).set("targetFiles", json!(["tests/test_new.sh"]))
            })
        };
        for workspace in everywhere(all, &FINE) {
            let document = workspace.run_json(6, &["--strict"]);
            assert_eq!(flagged(&document), ("unreviewed", "vacuous"), "{check}");
            task(&document, "work")["findings"].to_string().says(&["tests-prove-nothing"]);
            nothing_stays(&workspace);
        }
    }
    // What is asked of a task that is about tests are tests.
    let about_tests = mission("echo true > tests/test_new.sh", |task| {
        task.set("type", "test").set("requiresToolCalls", false)
    });
    let document = repository(about_tests, &FINE).run_json(0, &[]);
    let found = task(&document, "work")["findings"].to_string();
    found.says(&["tests-prove-nothing"]);
}

/// A worker whose test fails without its work.
const HONEST: &str = "echo 2 > code.txt; echo 'test \"$(cat code.txt)\" = 2' > tests/test_new.sh";

#[test]
fn a_test_that_fails_without_the_work_is_a_proof() {
    for workspace in everywhere(|| mission(HONEST, plain), &FINE) {
        let document = workspace.run_json(0, &["--strict"]);
        assert_eq!(flagged(&document), ("clean", ""));
        assert_eq!(task(&document, "work")["proof"]["provenByNewTests"], 1);
        let shown = shown(&workspace);
        let check = &shown["attempts"][0]["checks"][0];
        assert_eq!((&check["before"], &check["provenBy"]), (&json!("green"), &json!("new-tests")));
        let look = &shown["attempts"][0]["looks"][0];
        assert_eq!((&look["kind"], &look["passed"]), (&json!("new-tests"), &json!(false)));
        workspace
            .quorum(&["show", "work", "--full"])
            .exits(0)
            .stdout
            .says(&["1 proven by new tests", "new-tests test:"]);
        nothing_stays(&workspace);
    }
}

#[test]
fn workers_are_told_that_tests_run_as_they_are() {
    let told = |may_change: bool| {
        let mission = Mission::new().keeps_prompts("worker", "told").setting("evaluate", false);
        let mission =
            mission.task("work", |task| task.by("worker").check("true").set("mayChangeTests", may_change));
        let workspace = mission.workspace();
        workspace.run_json(0, &[]);
        workspace.read("told/prompt.1.1").contains("run on your work as they are now")
    };
    assert!(told(false) && !told(true));
}

#[test]
fn work_that_must_bring_a_test_goes_back_without_one() {
    let check = json!({"type": "test", "command": ALL, "before": "newTests"});
    let by = |worker: &str| {
        let mission = Mission::new().worker(worker).setting("evaluate", false).setting("maxFixAttempts", 0);
        let mission = mission.setting("maxRetries", 0);
        repository(mission.task("work", |task| task.by("worker").expects(check.clone())), &FINE)
    };
    for worker in ["echo 2 > code.txt", "echo 2 > code.txt; echo true > tests/test_new.sh"] {
        let workspace = by(worker);
        let document = workspace.run_json(3, &[]);
        assert_eq!(task(&document, "work")["status"], "failed", "{worker}");
        shown(&workspace)["attempts"][0]["stages"]
            .to_string()
            .says(&["none of the tests that this work brings fails without it"]);
    }
    assert_eq!(flagged(&by(HONEST).run_json(0, &["--strict"])), ("clean", ""));
}

#[test]
fn files_that_say_how_tests_run_are_named() {
    for workspace in everywhere(|| mission("echo 2 > code.txt; echo x > Makefile", plain), &FILES) {
        let document = workspace.run_json(0, &["--strict"]);
        assert_eq!(flagged(&document), ("clean", ""));
        task(&document, "work")["findings"].to_string().says(&["test-configuration-changed: Makefile"]);
        // Nothing is looked at where no test was touched.
        assert_eq!(shown(&workspace)["attempts"][0]["looks"], json!([]));
    }
}

#[test]
fn what_is_a_test_the_mission_may_say() {
    let fake = "echo true > tests/test_a.sh";
    let every = "for test in checked/*; do sh $test || exit 1; done\n";
    let files =
        [("every.sh", every), ("checked/a.sh", "test \"$(cat code.txt)\" = 2\n"), ("code.txt", "1\n")];
    let fake_elsewhere = "echo true > checked/a.sh";
    let globs = json!(["checked/**"]);
    let all = |keys: fn(Task, &Value) -> Task| {
        let mission = Mission::new().worker(fake_elsewhere).setting("evaluate", false);
        mission.task("work", |task| keys(task.check("sh every.sh"), &globs))
    };
    for key in ["mission", "settings", "task"] {
        let mission = match key {
            "mission" => all(|task, _| task).key("tests", globs.clone()),
            "settings" => all(|task, _| task).setting("tests", globs.clone()),
            _ => all(|task, globs| task.set("tests", globs.clone())),
        };
        assert_eq!(
            flagged(&repository(mission, &files).run_json(5, &[])),
            ("unverified", "tests-changed"),
            "{key}"
        );
    }
    let replaced = mission(fake, plain).key("tests", json!(["spec/**"]));
    let workspace = repository(replaced, &FILES);
    workspace
        .quorum(&["run", "mission.yaml"])
        .exits(0)
        .stderr
        .says(&["`tests`: spec/** names nothing that is there"]);
}

/// What runs all tests, and waits before it where a look is made.
fn waits(workspace: &Workspace, when: &str) {
    let top = workspace.root().display();
    let wait = format!("echo x >> {top}/seen; while [ ! -e {top}/home/go ]; do sleep 0.02; done");
    workspace.write("all.sh", format!("if {when}; then {wait}; fi\n{}", ALL_TESTS.1));
    git(workspace, &["commit", "-qam", "it waits"]);
}

#[test]
fn a_kill_during_a_look_changes_nothing_of_the_end() {
    let weakens = "echo made > made.txt; echo true > tests/test_a.sh";
    let brings = "echo 2 > code.txt; echo made > made.txt; echo 'test -e made.txt' > tests/test_new.sh";
    for (when, worker, end, code, attempts) in [
        (
            "test -e made.txt && grep -q 2 tests/test_a.sh && ! grep -q 2 code.txt",
            weakens,
            ("unverified", "tests-changed"),
            5,
            2,
        ),
        ("test ! -e made.txt && test -e tests/test_new.sh", brings, ("clean", ""), 0, 1),
    ] {
        for (is_shared, workspace) in
            [false, true].into_iter().zip(everywhere(|| mission(worker, plain), &FILES))
        {
            waits(&workspace, when);
            workspace.kill_at(&["run", "mission.yaml"], "seen");
            if !is_shared {
                assert_eq!(git(&workspace, &["status", "--porcelain"]), "");
            }
            workspace.write("home/go", "");
            let document = workspace.resume_json(code, &[]);
            assert_eq!(flagged(&document), end, "{when}");
            assert_eq!(workspace.lines("seen").len(), 1 + attempts, "once more for what was cut off");
            nothing_stays(&workspace);
        }
    }
}

#[test]
fn before_new_tests_stands_on_tests_in_worktrees_only() {
    let check = |kind: &str| json!({"type": kind, "command": "true", "before": "newTests"});
    let shared = Mission::new().worker("true").task("work", |task| task.expects(check("test"))).workspace();
    shared.refuses(&["before: newTests", "worktree", "mission.yaml:"]);
    // A hidden check looks at no tests of the work.
    let mut hidden = check("test");
    hidden["hidden"] = json!(true);
    let isolated = Mission::new().worker("true").key("isolation", "worktree");
    isolated.task("work", |task| task.expects(hidden)).workspace().refuses(&["before: newTests", "hidden"]);
    let script = Mission::new()
        .worker("true")
        .task("work", |task| task.expects(check("script")).set("isolation", "worktree"));
    script.workspace().refuses(&["checks of type `test`"]);
}

/// How often each kind of work came to an end that is on record.
fn ended(workspace: &Workspace) -> BTreeMap<String, usize> {
    let mut all = BTreeMap::new();
    for event in workspace.events().named("work:ended") {
        if event["result"] != "lost" {
            *all.entry(event["purpose"].to_string()).or_default() += 1;
        }
    }
    all
}

#[test]
fn killed_at_twenty_moments_of_its_checks_and_looks_it_ends_as_if_nothing_had_happened() {
    // First the test is made to say nothing, then the code is right, with a test more: both looks, each with its control.
    let worker = "if [ $QUORUM_ATTEMPT = 1 ]; then echo true > tests/test_a.sh; else \
                  echo 'test \"$(cat code.txt)\" = 2' > tests/test_a.sh; echo 2 > code.txt; \
                  echo 'grep -q 2 code.txt' > tests/test_new.sh; fi";
    let there = |is_shared: bool| {
        let [isolated, shared] = everywhere(|| mission(worker, plain), &FILES);
        let workspace = if is_shared { shared } else { isolated };
        let notes = format!("pwd >> {}/seen; sleep 0.1\n{}", workspace.root().display(), ALL_TESTS.1);
        workspace.write("all.sh", notes);
        git(&workspace, &["commit", "-qam", "it notes where it runs"]);
        workspace
    };
    let of_git = |workspace: &Workspace| {
        let checkout = git(workspace, &["status", "--porcelain"]);
        let staged = git(workspace, &["diff", "--cached", "--stat"]);
        (git(workspace, &["rev-parse", "HEAD"]), staged, checkout)
    };
    let mut figures = Vec::new();
    for is_shared in [false, true] {
        let calm = there(is_shared);
        let document = calm.run_json(0, &["--strict"]);
        assert_eq!((flagged(&document), attempts(&document)), (("clean", ""), 2));
        let (whole, undisturbed) = (calm.lines("seen").len(), ended(&calm));
        for moment in 0..10 {
            let workspace = there(is_shared);
            let before = of_git(&workspace);
            let seen = 1 + moment * whole / 10;
            let running = workspace.start(&["run", "mission.yaml"]);
            wait_for("it runs", || workspace.exists("seen") && workspace.lines("seen").len() >= seen);
            sleep(Duration::from_millis(u64::try_from(moment * 83 % 110).expect("it is small")));
            running.kill();
            let (head, staged, checkout) = of_git(&workspace);
            assert_eq!((&head, &staged), (&before.0, &before.1), "moment {moment}");
            assert!(is_shared || checkout.is_empty(), "moment {moment}: {checkout}");
            let was = ended(&workspace);
            let document = workspace.resume_json(0, &["--strict"]);
            assert_eq!((flagged(&document), attempts(&document)), (("clean", ""), 2), "moment {moment}");
            assert_eq!(ended(&workspace), undisturbed, "moment {moment}: nothing ends twice");
            // A look that was cut off in its control is made again as a whole.
            let more = workspace.lines("seen").len() - whole;
            assert!(more <= 2, "moment {moment}: {more} more");
            assert_eq!(of_git(&workspace).1, "", "moment {moment}");
            nothing_stays(&workspace);
            figures.push(format!(
                "shared {is_shared}, run {seen} of {whole}: {was:?} on record, {more} run again"
            ));
        }
    }
    println!("{}", figures.join("\n"));
}
