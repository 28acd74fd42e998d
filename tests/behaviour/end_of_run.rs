//! What a run says at its end: which tasks it is about, and what can be typed now; the same words for where it stands on every
//! screen and in every document.

use rustix::process::Signal;
use serde_json::json;

use crate::support::{Finished, Has, Mission, Says, Task, Workspace, junit, task, wait_for_file};

/// The commands below `next:`.
fn next(finished: &Finished) -> Vec<String> {
    let block = finished.stdout.split_once("next:").map(|(_, block)| block).expect("a block");
    assert!(!block.contains("next:") && !finished.stderr.contains("next:"), "there is one block");
    block.lines().map(|line| line.trim().to_owned()).collect()
}

/// A run whose task `odd` ends without a trustworthy verdict beside one that is judged.
fn odd(keys: impl FnOnce(Task) -> Task) -> Workspace {
    Mission::new()
        .worker("cat > /dev/null; echo text > $QUORUM_TASK.txt; echo written")
        .judge("judge", &["Hard to say."])
        .task("odd", |task| keys(task.files(["odd.txt"]).attempts(1)))
        .task("fine", |task| task.unreviewed())
        .workspace()
}

#[test]
fn exit_6_names_its_task_in_every_output() {
    for keys in [(|task: Task| task.set("onExhausted", "accept")) as fn(Task) -> Task, |task| {
        task.expects(json!({"type": "llm_review", "criteria": "good", "reviewers": ["judge"]}))
    }] {
        let workspace = odd(keys);
        let mut command = workspace.command(&[
            "run",
            "--run-id",
            "r1",
            "--report",
            "junit=j.xml,markdown=m.md,html=h.html",
        ]);
        command.env("GITHUB_ACTIONS", "true");
        let run = crate::support::Running::start(command).finish().exits(6);
        run.stdout.says(&["without a trustworthy verdict: 1\n  odd: "]);
        assert_eq!(next(&run)[0], "quorum show odd r1");
        run.stderr.says(&["::error title=odd::"]);
        workspace.read("m.md").says(&["| odd | ❓ no trustworthy verdict |"]);
        workspace
            .read("h.html")
            .says(&["<h3>odd</h3><span class=\"badge warn\"><b aria-hidden=\"true\">?</b> no trustworthy"]);
        let report = junit::read(&workspace.read("j.xml"));
        assert_eq!(report.case("odd").all("error").len(), 1);
        assert_eq!(report.case("fine").all("error").len(), 0);
        workspace.quorum(&["status"]).exits(0).shows(&["odd"]);
        let document = workspace.status();
        assert_eq!(task(&document, "odd")["indeterminate"], true);
        assert_eq!(task(&document, "fine").get("indeterminate"), None);
    }
}

#[test]
fn what_nobody_judged_is_named_where_strict_counts_it() {
    let workspace = odd(Task::unreviewed);
    let run = workspace.quorum(&["run", "--strict"]).exits(6);
    run.stdout.says(&["without a trustworthy verdict: 2\n  odd: unreviewed (--strict)"]);
}

#[test]
fn work_below_its_bar_is_a_line_of_the_run_with_the_command_that_shows_it() {
    let workspace = Mission::new()
        .worker("echo x > x.txt; echo done")
        .judge("judge", &["Poor.\nSCORE: 20"])
        .task("weak", |task| task.files(["x.txt"]).attempts(1).set("onExhausted", "accept"))
        .workspace();
    let run = workspace.quorum(&["run", "--run-id", "r1"]).exits(5);
    run.stdout
        .says(&["accepted below the bar: 1", "\n  weak: accepted all the same: below-threshold, 20 < 60\n"]);
    assert_eq!(next(&run), ["quorum show weak r1", "quorum approve r1.0.r1", "quorum status r1"]);
    workspace.quorum(&["inbox"]).exits(0).shows(&["nothing waits for a person"]);
}

#[test]
fn at_a_ceiling_next_names_what_raises_it_and_what_it_keeps_from_starting() {
    let paid = "cat > /dev/null; echo done; echo '{\"usage\": {\"inputTokens\": 900, \"outputTokens\": 100, \"cost\": 0.8}}' > \"$QUORUM_RESULT_FILE\"";
    for (budget, option) in [
        (json!({"maxCost": 1}), "--max-cost N"),
        (json!({"maxTokens": 1000}), "--max-tokens N"),
        (json!({"maxRequests": 1}), "--accept-changed-mission"),
    ] {
        let workspace = Mission::new()
            .agent_with("worker", json!({"run": paid, "maxCostPerTurn": 0.5}))
            .key("budget", budget)
            .setting("concurrency", 1)
            .setting("evaluate", false)
            .tasks(["first", "second"])
            .workspace();
        let run = workspace.quorum(&["run", "--run-id", "r1"]).exits(7);
        assert_eq!(next(&run)[0], format!("quorum resume r1 {option}"));
        run.stdout.says(&["kept from going on by it:\n  second\n"]);
        if option == "--max-cost N" {
            run.stdout.says(&["$0.20 is left"]);
            workspace.quorum(&["resume", "r1", "--max-cost", "2"]).exits(0);
        }
    }
    // What only a session was limited by, a mere resume continues.
    let workspace = Mission::new().worker("sleep 60").tasks(["long"]).workspace();
    let run = workspace.quorum(&["run", "--run-id", "r1", "--timeout", "300ms"]).exits(7);
    assert_eq!(next(&run), ["quorum resume r1", "quorum status r1"]);
}

/// A run that a signal stopped when its first task was done.
fn stopped(flags: &[&str]) -> Workspace {
    let workspace = Mission::new()
        .agent("worker", "echo x > x.txt; echo done")
        .agent("slow", "echo > started; while ! test -e go; do sleep 0.02; done; echo done")
        .setting("evaluate", false)
        .task("first", |task| task.files(["x.txt"]))
        .task("second", |task| task.by("slow").needs("first"))
        .workspace();
    let running = workspace.start(&[&["run", "--run-id", "old"], flags].concat());
    wait_for_file(&workspace.path("started"));
    running.signal(Signal::INT);
    running.finish().exits(130);
    workspace
}

/// What each place says of where the run stands.
fn assert_stands(workspace: &Workspace, word: &str) {
    let runs = workspace.quorum(&["runs"]).exits(0).stdout;
    let row = runs.lines().find(|line| line.starts_with("old")).expect("a row");
    assert!(row.split_whitespace().nth(1) == Some(word), "{runs}");
    workspace.quorum(&["status", "old"]).exits(0).shows(&[&format!("run old: mission, {word}\n")]);
    assert_eq!(workspace.status_of("old")["state"], word);
    let listed = workspace.quorum(&["runs", "--json"]).exits(0).json();
    let mut rows = listed["runs"].as_array().expect("a list").iter();
    assert_eq!(rows.find(|row| row["runId"] == "old").expect("a row")["state"], word);
    workspace.quorum(&["report", "old", "--to", "html=page.html"]).exits(0);
    workspace.read("page.html").says(&[&format!("<li>State: {word}")]);
    let report = workspace.quorum(&["report", "old", "--json"]).exits(0).json();
    assert_eq!(report["state"], word);
}

#[test]
fn one_word_says_where_a_run_stands_everywhere() {
    let workspace = stopped(&[]);
    assert_stands(&workspace, "suspended");
    workspace.write("go", "");
    workspace.quorum(&["resume", "old"]).exits(0);
    assert_stands(&workspace, "ended");
    // Accepted work that is still to be looked at holds no run that was called off.
    for cancel in [&["run", "--fresh", "--yes", "--run-id", "new"][..], &["cancel", "old", "--yes"]] {
        let workspace = stopped(&[]);
        workspace.write("go", "");
        workspace.quorum(cancel).exits(0);
        assert_stands(&workspace, "cancelled");
        workspace
            .status_of("old")
            .has(json!({"outcome": "task_failed", "resumable": false, "cancelled": true}));
        workspace.quorum(&["status", "old", "--exit-code"]).exits(3);
        workspace
            .quorum(&["clean", "--all", "--yes"])
            .exits(0)
            .shows(&["removed old (cancelled, task_failed)"]);
    }
}

#[test]
fn a_task_that_was_called_off_keeps_nobody_from_looking_at_the_others_again() {
    let workspace = stopped(&[]);
    workspace.write("go", "");
    workspace.quorum(&["cancel", "second", "--yes"]).exits(0);
    workspace.bash("rm x.txt; echo y > y.txt").exits(0);
    assert_eq!(workspace.status_of("old")["state"], "suspended");
    workspace.quorum(&["resume", "old"]).exits(3).says(&["x.txt was removed after it was accepted"]);
    // Nor does a run that was called off, once something of it begins again.
    let workspace = stopped(&[]);
    workspace.write("go", "");
    workspace.quorum(&["cancel", "old", "--yes"]).exits(0);
    workspace.quorum(&["resume", "old", "--retry-failed"]).exits(0);
    assert_eq!(workspace.events().count("run:cancelled"), 1);
    let events = workspace.events();
    let audits = events.iter().filter(|event| event["purpose"] == "audit" && event["event"] == "work:ended");
    assert!(audits.count() > 0);
}

#[test]
fn a_run_that_was_called_off_before_its_work_was_looked_at_again_is_no_success_by_permission() {
    let workspace = stopped(&[]);
    workspace.write("go", "");
    workspace.quorum(&["cancel", "old", "--yes"]).exits(0);
    workspace.quorum(&["resume", "old", "--allow", "task-failed"]).exits(3);
    workspace.quorum(&["status", "old", "--exit-code"]).exits(3);
    // Where the permission was there before, the look at accepted work is still due.
    let workspace = stopped(&["--allow", "task-failed"]);
    workspace.write("go", "");
    workspace.quorum(&["cancel", "old", "--yes"]).exits(0);
    assert_eq!(workspace.status_of("old")["resumable"], true);
    workspace.bash("rm x.txt; echo y > y.txt").exits(0);
    workspace.quorum(&["resume", "old"]).exits(0).says(&["x.txt was removed after it was accepted"]);
}

#[test]
fn a_live_run_is_running_and_not_crashed_in_its_reports() {
    let workspace = Mission::new()
        .worker("echo > started; while ! test -e go; do sleep 0.02; done; echo done")
        .setting("evaluate", false)
        .tasks(["work"])
        .workspace();
    let running = workspace.start(&["run", "--run-id", "old"]);
    wait_for_file(&workspace.path("started"));
    assert_stands(&workspace, "running");
    workspace.quorum(&["report", "--to", "junit=j.xml", "--to", "markdown=m.md"]).exits(0);
    let report = junit::read(&workspace.read("j.xml"));
    assert_eq!(report.case("run").all("error")[0].attribute("type"), "running");
    workspace.read("m.md").says(&["the run has not ended: running"]);
    running.kill();
    assert_stands(&workspace, "crashed");
    let killed = workspace.quorum(&["report", "--to", "junit=-"]).exits(0).stdout;
    killed.says(&["type=\"crashed\""]);
    workspace.write("go", "");
}

#[test]
fn review_none_is_a_decision_and_no_warning() {
    let warned = |mission: Mission| {
        let workspace = mission.workspace();
        workspace.quorum(&["run"]).exits(0);
        workspace.quorum(&["report", "--to", "html=page.html"]).exits(0);
        workspace.read("page.html").contains("<div class=\"warn\"><dt>Unreviewed</dt>")
    };
    let mission = || Mission::new().worker("echo done");
    assert!(!warned(mission().task("free", Task::unreviewed)));
    assert!(warned(mission().task("free", Task::unreviewed).tasks(["nobody"])));
    assert!(warned(mission().setting("evaluate", false).tasks(["off"])));
}

#[test]
fn a_checkpoint_is_answered_with_what_ci_is_told() {
    let workspace = Mission::new()
        .worker("echo done")
        .setting("evaluate", false)
        .key(
            "checkpoints",
            json!([{"name": "go", "afterTasks": ["a"], "blocksTasks": ["b"], "message": "look at staging"}]),
        )
        .tasks(["a", "b"])
        .workspace();
    let mut command = workspace.command(&["run", "--run-id", "r1", "--report", "markdown=m.md"]);
    command.env("GITHUB_ACTIONS", "true");
    let run = crate::support::Running::start(command).finish().exits(8);
    let (warning, answer) =
        ("::warning title=go::waits for checkpoint: look at staging", "quorum approve r1.c0.1");
    let line = run.stderr.lines().find(|line| line.starts_with(warning)).expect("an annotation");
    assert!(line.contains(answer), "{line}");
    let page = workspace.read("m.md");
    page.says(&["r1.c0.1", "look at staging", &format!("`{answer}`")]);
    workspace.quorum(&["report", "--to", "html=-"]).exits(0).stdout.says(&[answer]);
}

#[test]
fn no_runs_and_none_shown_are_two_things() {
    let workspace = Mission::new().worker("true").setting("evaluate", false).tasks(["t"]).workspace();
    workspace.quorum(&["run"]).exits(0);
    let shown = workspace.quorum(&["runs", "-n", "0"]).exits(0).stdout;
    assert_eq!(shown, "1 run not shown\n");
}
