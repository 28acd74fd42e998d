//! The page for browsers, and `report` with all its kinds.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{Mission, Says, Workspace, junit, wait_for_file};

/// What a browser must never take for markup.
const HOSTILE: &str = "</script></pre><img src=x onerror=alert(1)>";

/// Hostile words from everybody: the mission, the worker, a check, the reviewers' reasoning and findings.
fn hostile() -> Workspace {
    let dimensions = json!([
        {"name": "correctness", "weight": 0.7, "description": "it is right"},
        {"name": "style", "weight": 0.3, "description": "it reads well"},
    ]);
    let panel = json!({
        "type": "llm_review", "criteria": "good", "reviewers": ["critic"], "threshold": 3, "dimensions": dimensions,
    });
    let workspace = Mission::new()
        .key("name", format!("mission {HOSTILE}"))
        .worker(format!(r#"echo "output {HOSTILE}"; echo "stderr {HOSTILE}" >&2"#))
        .judge("judge", &[])
        .answerer("critic", &[])
        .gate(&format!("gate {HOSTILE}"), ["checked"], ["held"], "requireAllPassed: true")
        .task(&format!("title {HOSTILE}"), |t| {
            t.set("description", format!("description {HOSTILE}")).attempts(2)
        })
        .task("checked", |t| t.attempts(1).check(format!(r#"echo "check {HOSTILE}"; exit 1"#)))
        .task("seats", |t| t.attempts(1).expects(panel))
        .task("held", |t| t.unreviewed())
        .workspace();
    workspace.judge("judge", &[&format!("SCORE: 41\nevaluation {HOSTILE}")]);
    let scores = format!(
        r#"{{"scores": {{"correctness": {{"score": 2, "reasoning": "reasoning {HOSTILE}"}}, "style": {{"score": 4, "reasoning": "fine"}}}},
            "findings": [{{"severity": "high", "description": "finding {HOSTILE}", "evidence": "evidence {HOSTILE}", "suggestedFix": "fix {HOSTILE}"}}]}}"#
    );
    workspace.judge("critic", &[&scores]);
    workspace
}

/// What every page must be, whatever it tells.
fn assert_sound(page: &str) {
    assert!(page.starts_with("<!doctype html>\n<html lang=\"en\">"), "{page}");
    assert!(page.contains("<title>") && page.contains("<h1>") && page.ends_with("</html>"), "{page}");
    page.says(&["default-src 'none'; style-src 'unsafe-inline'", "Accepted below the bar:"]);
    page.omits(&["<script", "<img", "<link", "<iframe", "javascript:", "url(", "@import"]);
    // The name of SVG's language is no address that anybody fetches.
    let addresses = page.replace("http://www.w3.org/2000/svg", "");
    assert!(!addresses.contains("://"), "{page}");
}

#[test]
fn the_page_tells_everything_and_takes_nobodys_words_for_markup() {
    let workspace = hostile();
    workspace.run_json(3, &["--report", "html=out/report.html"]);
    let page = workspace.read("out/report.html");
    assert_sound(&page);
    let escaped = "onerror=alert(1)&gt;";
    for who in [
        "mission",
        "output",
        "stderr",
        "title",
        "description",
        "check",
        "evaluation",
        "reasoning",
        "finding",
        "evidence",
        "fix",
        "gate",
    ] {
        let found = page
            .match_indices(&format!("{who} &lt;"))
            .any(|(at, _)| page[at..].chars().take(90).collect::<String>().contains(escaped));
        assert!(found, "{who}: {page}");
    }
    page.says(&[
        "exit 3 (task_failed), also gate_failed, below_threshold",
        "<dt>Accepted below the bar:</dt><dd>1</dd>",
        "quorum gate",
        "quorum resume",
        "40 of 100<span class=\"soft\">, weight 0.7</span>",
        "Attempt 2, fix",
        "41 of 100",
        "blocked by gate",
        "Dashed lines and boxes are gates",
        "Timeline of attempts",
    ]);
    assert_eq!(page.matches("<svg ").count(), 1);
}

#[test]
fn a_good_run_has_a_green_page_and_writing_it_again_gives_the_same() {
    let workspace = Mission::new()
        .key("name", "good")
        .worker("echo work")
        .judge("judge", &["SCORE: 80"])
        .tasks(["one"])
        .task("two", |t| t.needs("one"))
        .workspace();
    workspace.run_json(0, &["--report", "html=first.html"]);
    let page = workspace.read("first.html");
    assert_sound(&page);
    page.says(&["<div class=\"verdict good\"", "exit 0 (ok)", "<dt>Accepted below the bar:</dt><dd>0</dd>"]);
    workspace.quorum(&["report", "--html", "again.html"]).exits(0);
    assert_eq!(page, workspace.read("again.html"));
    // To stdout as it is.
    let shown = workspace.quorum(&["report", "--html", "-"]).exits(0);
    assert_eq!(shown.stdout, page);
    assert!(!workspace.exists("-"));
}

#[test]
fn an_interrupted_run_leaves_a_page_that_is_not_green() {
    let workspace = Mission::new()
        .key("name", "interrupted")
        .worker("echo > started; while [ ! -e go ]; do sleep 0.02; done")
        .task("one", |t| t.unreviewed())
        .task("two", |t| t.unreviewed().needs("one"))
        .workspace();
    let running = workspace.start(&["run", "mission.yaml", "--report", "html=report.html"]);
    wait_for_file(&workspace.path("started"));
    running.signal(Signal::INT);
    running.finish().exits(130);
    let page = workspace.read("report.html");
    assert_sound(&page);
    page.says(&["exit 130 (interrupted)", "<div class=\"verdict bad\"", "not finished", "quorum resume"]);

    workspace.write("go", "");
    workspace.resume_json(0, &["--report", "html=report.html"]);
    workspace.read("report.html").says(&["exit 0 (ok)"]).omits(&["exit 130"]);
}

#[test]
fn a_killed_run_has_a_page_that_says_so() {
    let workspace = Mission::new()
        .agent("a", "echo > started; while :; do sleep 0.02; done")
        .task("one", |t| t.unreviewed())
        .workspace();
    workspace.kill_at(&["run", "mission.yaml"], "started");
    workspace.quorum(&["report", "--html", "report.html"]).exits(0);
    let page = workspace.read("report.html");
    assert_sound(&page);
    page.says(&["the run has not ended", "<div class=\"verdict bad\""]).omits(&["exit 0"]);
}

#[test]
fn report_writes_all_kinds_at_once_and_each_of_them_more_than_once() {
    let workspace = hostile();
    let ran = workspace.run_json(3, &["--run-id", "r1"]);
    let ended = workspace
        .quorum(&[
            "report",
            "r1",
            "--junit",
            "a.xml",
            "--markdown",
            "b.md",
            "--html",
            "c.html",
            "--json",
            "d.json",
            "--json",
            "out/e.json",
            "--html",
            "out/f.html",
        ])
        .exits(0);
    assert_eq!(ended.stdout, "");
    let root = junit::read(&workspace.read("a.xml"));
    assert_eq!(root.children[0].property("exitCode"), Some("3"));
    assert!(workspace.read("b.md").contains("exit 3"));
    assert_sound(&workspace.read("c.html"));
    assert_eq!(workspace.read("c.html"), workspace.read("out/f.html"));
    let document: Value = serde_json::from_str(&workspace.read("d.json")).unwrap();
    assert_eq!(document, ran);
    assert_eq!(workspace.read("d.json"), workspace.read("out/e.json"));

    // The run's document on stdout beside a file, and a report on stdout.
    let beside = workspace.quorum(&["report", "--format", "json", "--json", "g.json"]).exits(0);
    assert_eq!((beside.json(), workspace.read("g.json")), (ran, workspace.read("d.json")));
    let to_stdout = workspace.quorum(&["report", "--json", "-"]).exits(0);
    assert_eq!(to_stdout.stdout, workspace.read("d.json"));
    let by_variable =
        workspace.quorum_with(&[("QUORUM_JSON", "true")], &["report", "--html", "h.html"]).exits(0);
    assert_eq!(by_variable.json(), document);
    assert_eq!(workspace.read("h.html"), workspace.read("c.html"));
}

#[test]
fn stdout_holds_one_thing() {
    let workspace = Mission::new().agent("a", "true").task("one", |t| t.unreviewed()).workspace();
    workspace.run_json(0, &[]);
    for (arguments, words) in [
        (&["report", "--html", "-", "--junit", "-"][..], "only one report can go to stdout"),
        (&["report", "--format", "json", "--html", "-"], "stdout holds one thing"),
    ] {
        let refused = workspace.quorum(arguments).exits(2).says(&[words]);
        assert!(!refused.stdout.contains('<'), "{}", refused.stdout);
    }
}

#[test]
fn the_page_tells_of_criteria_that_facts_graded_also_when_they_passed() {
    let workspace = Mission::new()
        .worker(r#"echo "<img src=x> wrote it" > guide.md"#)
        .task("good", |t| {
            t.set("acceptance", ["`guide.md` contains `<img src=x>`"])
                .set("verification", json!({"grader": "heuristic"}))
        })
        .task("bad", |t| {
            t.attempts(1)
                .set("acceptance", ["`guide.md` contains `missing words`"])
                .set("verification", json!({"grader": "heuristic"}))
        })
        .workspace();
    workspace.quorum(&["run", "mission.yaml", "--report", "html=report.html"]);
    let page = workspace.read("report.html");
    assert_sound(&page);
    page.says(&[
        "Verdict: verification",
        "<b aria-hidden=\"true\">✓</b> passed</span> `guide.md` contains `&lt;img src=x&gt;`",
        "<b aria-hidden=\"true\">×</b> failed</span> `guide.md` contains `missing words`",
        "confidence 1",
    ]);
}

#[test]
fn a_page_that_cannot_be_written_is_never_0() {
    let workspace =
        Mission::new().agent("a", "rm -rf out; echo > out").task("one", |t| t.unreviewed()).workspace();
    let ended = workspace.quorum(&["run", "mission.yaml", "--report", "html=out/report.html"]).exits(1);
    ended.says(&["error: the report out/report.html cannot be written"]);
}
