//! Reports: JUnit, Markdown, JSON, GitHub's summary and annotations. Written however a run ends, never better than it.

use rustix::process::Signal;
use serde_json::Value;

use crate::support::{Mission, Says, Workspace, junit, wait_for_file};

/// One task of every kind that a report tells apart, and titles that are hard to write.
fn every_kind() -> Workspace {
    let workspace = Workspace::with(
        r#"
name: all <kinds> & "more"
baseline: false
qualityThreshold: 4.9
agents:
  worker: {run: 'echo work'}
  breaker: {run: 'exit 1'}
  judge: {run: [/bin/sh, '@agents/judge.sh', judge], role: reviewer}
  mute: {run: [/bin/sh, '@agents/judge.sh', mute]}
tasks:
  - {title: clean, assignTo: worker, review: none, expectations: [{type: test, command: 'true'}]}
  - {title: reworked, assignTo: worker, expectations: [{type: test, command: 'test $QUORUM_ATTEMPT -gt 2 || { printf "too \033[31mearly\a"; exit 1; }'}]}
  - {title: poor, assignTo: worker}
  - {title: "broken |\uFFFEtitle", assignTo: breaker, maxAttempts: 2}
  - {title: after, assignTo: worker, dependsOn: ["broken |\uFFFEtitle"]}
  - {title: unread, assignTo: worker, expectations: [{type: llm_review, criteria: good, reviewers: [mute]}]}
  - {title: held, assignTo: worker, review: none}
qualityGates:
  - {name: door, afterTasks: [poor], blocksTasks: [held]}
"#,
    );
    workspace.judge("judge", &["Too thin to be of use.\nSCORE: 41"]);
    workspace.judge("mute", &["I like it"]);
    workspace
}

fn kind(case: &junit::Element) -> (&str, &str) {
    let results = ["failure", "error", "skipped"];
    let result = case.children.iter().find(|child| results.contains(&child.name.as_str()));
    result.map_or(("passed", ""), |result| (result.name.as_str(), result.attribute("type")))
}

#[test]
fn junit_tells_every_kind_of_task_apart() {
    let workspace = every_kind();
    workspace.run_json(3, &["--report", "junit=out/junit.xml"]);
    let root = junit::read(&workspace.read("out/junit.xml"));
    let broken = "broken |title";
    for (title, expected) in [
        ("clean", ("passed", "")),
        ("reworked", ("passed", "")),
        ("poor", ("failure", "below-threshold")),
        (broken, ("failure", "error")),
        ("after", ("failure", "cascade")),
        ("unread", ("error", "indeterminate")),
        ("held", ("skipped", "")),
        ("door", ("failure", "gate-failed")),
    ] {
        assert_eq!(kind(root.case(title)), expected, "{title}");
    }
    let reworked = root.case("reworked");
    let flaky = reworked.all("flakyFailure");
    assert_eq!(flaky.len(), 2, "{reworked:#?}");
    assert_eq!(flaky[0].attribute("type"), "checks");
    assert!(flaky[0].all("stackTrace")[0].text.contains("too early"), "{flaky:#?}");
    assert_eq!(root.case(broken).all("rerunFailure").len(), 1);
    let poor = root.case("poor");
    assert_eq!(
        (poor.property("score"), poor.property("bar"), poor.property("reviewers")),
        (Some("41"), Some("60"), Some("judge"))
    );
    let why = &poor.all("failure")[0].text;
    assert!(why.contains("[medium, still open] Too thin to be of use. (judge)"), "{why}");
    let held = root.case("held").all("skipped")[0];
    assert_eq!(held.attribute("message"), "blocked by door");
    assert_eq!(root.children[0].attribute("name"), "all <kinds> & \"more\"");
    assert_eq!(root.children[0].property("outcome"), Some("task_failed"));
    assert_eq!(root.children[0].property("exitCode"), Some("3"));
}

#[test]
fn false_green_11_forced_acceptance_is_a_failure_in_junit() {
    let workspace =
        Mission::new().worker("echo work").judge("judge", &["SCORE: 41.5"]).tasks(["poor"]).workspace();
    for (code, flags) in [
        (5, &["--report", "junit=junit.xml"][..]),
        // Allowed is not the same as good.
        (0, &["--report", "junit=junit.xml", "--allow", "below_threshold"]),
    ] {
        workspace.run_json(code, flags);
        let root = junit::read(&workspace.read("junit.xml"));
        let poor = root.case("poor");
        assert_eq!(kind(poor), ("failure", "below-threshold"));
        assert_eq!(poor.property("qualityFlag"), Some("below-threshold"));
        poor.all("failure")[0].attribute("message").says(&["41.5 < 60"]);
        assert!(poor.all("flakyFailure").is_empty());
    }
    let root = junit::read(&workspace.read("junit.xml"));
    assert_eq!(root.children[0].property("allowed"), Some("below_threshold"));
}

#[test]
fn a_mission_below_its_own_bar_is_not_green_in_junit() {
    let workspace = Mission::new()
        .worker("echo work")
        .judge("judge", &["SCORE: 70"])
        .key("qualityThreshold", 4.5)
        .tasks(["fair"])
        .workspace();
    workspace.run_json(5, &["--report", "junit=junit.xml"]);
    let root = junit::read(&workspace.read("junit.xml"));
    assert_eq!(kind(root.case("fair")), ("passed", ""));
    assert_eq!(kind(root.case("mission score")), ("failure", "below-threshold"));
}

#[test]
fn an_interrupted_run_is_reported_and_not_green() {
    let workspace = Mission::new()
        .key("name", "interrupted")
        .worker("echo > started; while [ ! -e go ]; do sleep 0.02; done")
        .task("one", |t| t.unreviewed())
        .task("two", |t| t.unreviewed().needs("one"))
        .workspace();
    let running = workspace.start(&[
        "run",
        "mission.yaml",
        "--report",
        "junit=junit.xml",
        "--report",
        "markdown=report.md",
    ]);
    wait_for_file(&workspace.path("started"));
    running.signal(Signal::INT);
    running.finish().exits(130);
    let root = junit::read(&workspace.read("junit.xml"));
    assert_eq!(kind(root.case("one")).0, "skipped");
    assert_eq!(kind(root.case("run")), ("error", "interrupted"));
    assert!(workspace.read("report.md").contains("exit 130 (interrupted)"));

    workspace.write("go", "");
    workspace.resume_json(0, &["--report", "junit=junit.xml", "--report", "json=run.json"]);
    let root = junit::read(&workspace.read("junit.xml"));
    assert_eq!((kind(root.case("one")), kind(root.case("two"))), (("passed", ""), ("passed", "")));
    assert_eq!((root.attribute("tests"), root.attribute("errors")), ("2", "0"));
    let document: Value = serde_json::from_str(&workspace.read("run.json")).unwrap();
    assert_eq!(
        (&document["schema"], &document["exitCode"]),
        (&Value::from("quorum.run/v1"), &Value::from(0))
    );
}

#[test]
fn report_writes_the_same_again() {
    let workspace = every_kind();
    workspace.run_json(3, &["--report", "junit=first.xml", "--report", "markdown=first.md"]);
    workspace.quorum(&["report", "--junit", "again.xml", "--markdown", "again.md"]).exits(0);
    assert_eq!(workspace.read("first.xml"), workspace.read("again.xml"));
    assert_eq!(workspace.read("first.md"), workspace.read("again.md"));
    let shown = workspace.quorum(&["report"]).exits(0);
    assert_eq!(shown.stdout, workspace.read("first.md"));
    let document = workspace.quorum(&["report", "--format", "json"]).exits(0).json();
    assert_eq!(document, workspace.status());
}

#[test]
fn markdown_has_the_worst_first_and_no_text_of_others_as_markup() {
    let workspace = every_kind();
    workspace.run_json(3, &["--report", "markdown=report.md"]);
    let page = workspace.read("report.md");
    let at = |words: &str| page.find(words).unwrap_or_else(|| panic!("no '{words}' in {page}"));
    assert!(page.starts_with("## all &lt;kinds&gt; &amp; \"more\"\n"), "{page}");
    assert!(at("exit 3 (task\\_failed)") < at("- accepted below the bar: 1"));
    let order =
        ["| broken \\|", "| after |", "| unread |", "| poor |", "| held |", "| reworked |", "| clean |"];
    let places: Vec<usize> = order.iter().map(|row| at(row)).collect();
    assert!(places.is_sorted(), "{page}");
    at("<details><summary>poor</summary>");
    at("- \\[medium, still open\\] Too thin to be of use. (judge)");
    at("| door | failed |");
    at("41 < 60".replace('<', "&lt;").as_str());
}

#[test]
fn github_gets_a_summary_that_is_appended_and_at_most_ten_annotations_of_a_kind() {
    let workspace = Workspace::new();
    let tasks: String =
        (0..15).map(|n| format!("  - {{title: 'broken, no. {n}', maxAttempts: 1}}\n")).collect();
    workspace.mission(&format!(
        "name: many\nagents: {{breaker: {{run: 'echo \"50% :: done\" >&2; exit 1'}}}}\ntasks:\n{tasks}"
    ));
    workspace.write("summary.md", "from another step\n");
    let summary = workspace.path("summary.md");
    let ended = workspace
        .quorum_with(
            &[("GITHUB_ACTIONS", "true"), ("GITHUB_STEP_SUMMARY", summary.to_str().unwrap())],
            &["run", "mission.yaml", "--json"],
        )
        .exits(3);
    // Stdout is still one document.
    ended.json();
    let errors: Vec<&str> = ended.stderr.lines().filter(|line| line.starts_with("::error ")).collect();
    assert_eq!(errors.len(), 10, "{}", ended.stderr);
    assert!(errors[0].starts_with("::error title=broken%2C no. 0::error: "), "{}", errors[0]);
    assert_eq!(errors[9], "::error title=quorum::6 more");
    let page = workspace.read("summary.md");
    assert!(page.starts_with("from another step\n## many\n"), "{page}");

    // Elsewhere nothing of that happens.
    let plain = workspace.quorum(&["resume"]).exits(3);
    assert!(!plain.stderr.contains("::error"));
}

#[test]
fn the_summary_stays_below_githubs_limit() {
    let workspace = Workspace::new();
    let long = "x".repeat(190);
    let tasks: String = (0..300).map(|n| format!("  - {{title: '{n} {long}', review: none}}\n")).collect();
    workspace.mission(&format!(
        "name: long\nagents: {{worker: {{run: [/bin/true], input: none}}}}\ntasks:\n  - {{title: last and worst, assignTo: broken, maxAttempts: 1}}\n{tasks}"
    ).replace("agents: {worker", "agents: {broken: {run: [/bin/false]}, worker").replace("review: none", "review: none, assignTo: worker"));
    workspace.write("summary.md", "x".repeat(880 * 1024));
    let summary = workspace.path("summary.md");
    workspace
        .quorum_with(
            &[("GITHUB_STEP_SUMMARY", summary.to_str().unwrap())],
            &["run", "mission.yaml", "--progress", "none"],
        )
        .exits(3);
    let page = workspace.read("summary.md");
    assert!((890 * 1024..=900 * 1024).contains(&page.len()), "{}", page.len());
    assert!(page.contains("last and worst") && page.contains(" more: tasks that did not fit"));
}

#[test]
fn a_report_that_cannot_be_written_is_found_before_the_run_starts() {
    let workspace = Mission::new().agent("a", "touch touched").tasks(["one"]).workspace();
    workspace.write("file", "");
    for (report, words) in [
        ("junit=file/junit.xml", "file/junit.xml"),
        ("junit=/proc/nothing/junit.xml", "cannot be written"),
        ("junit=home", "it is a folder"),
        ("pdf=x", "the kinds are: junit, markdown, html, json"),
        ("junit", "KIND=PATH"),
        ("html=-", "stdout already has the result"),
    ] {
        workspace.quorum(&["run", "mission.yaml", "--report", report]).exits(2).says(&[words]);
        workspace.assert_nothing_started();
    }
}

#[test]
fn a_report_that_cannot_be_written_at_the_end_is_never_0() {
    // The agent takes the report's place away while it runs.
    let mission = |exit: u8| {
        format!(
            "name: m\nagents: {{a: {{run: 'rm -rf out; echo > out; exit {exit}'}}}}\ntasks: [{{title: one, maxAttempts: 1}}]\n"
        )
    };
    for (exit, code) in [(0, 1), (1, 3)] {
        let workspace = Workspace::with(&mission(exit));
        let ended = workspace.quorum(&["run", "mission.yaml", "--report", "junit=out/junit.xml"]).exits(code);
        ended.says(&["error: the report out/junit.xml cannot be written"]);
    }
}

#[test]
fn a_run_that_breaks_off_leaves_no_green_report() {
    let mission =
        |command: &str| Mission::new().agent("a", command).task("one", |t| t.unreviewed()).workspace();
    let green = r#"<testsuites tests="1"/>"#;
    let flags = ["run", "mission.yaml", "--run-id", "r1", "--report", "junit=junit.xml"];

    // Somebody else writes to the journal: the run stops, and says so in its report where it still can.
    let workspace = mission("echo soup >> .polpo/runs/r1/@journal");
    workspace.write("junit.xml", green);
    workspace.quorum(&flags).exits(1);
    if workspace.exists("junit.xml") {
        let root = junit::read(&workspace.read("junit.xml"));
        assert_eq!(kind(root.case("run")), ("error", "internal"));
    }

    // Killed: there is no report at all, rather than the one of an earlier run.
    let workspace = mission("echo > started; while :; do sleep 0.02; done");
    workspace.write("junit.xml", green);
    workspace.kill_at(&flags, "started");
    assert!(!workspace.exists("junit.xml"));
    workspace.quorum(&["report", "--junit", "junit.xml"]).exits(0);
    let root = junit::read(&workspace.read("junit.xml"));
    assert_eq!(kind(root.case("run")), ("error", "crashed"));
    assert_eq!(kind(root.case("one")).0, "skipped");
}
