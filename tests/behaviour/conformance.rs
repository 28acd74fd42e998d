//! Rules of the systems that this one takes after, row by row, where no other test holds them: each with the result that
//! the semantics page asks for.

use serde_json::{Value, json};

use crate::support::events::on_record;
use crate::support::{Mission, Says, Workspace, attempts, standing, task, wait_for};

fn failure<'a>(document: &'a Value, title: &str) -> &'a Value {
    &task(document, title)["failure"]
}

/// `whole` depends on so many tasks that are done and so many that fail in a way.
fn partial(done: usize, failed: usize, way: &str) -> Value {
    let workspace = Workspace::new();
    let mut tasks = String::new();
    let titles: Vec<String> = (0..done + failed).map(|n| format!("part{n}")).collect();
    for (n, title) in titles.iter().enumerate() {
        let keys = match way {
            _ if n < done => "assignTo: good",
            "quality" => "assignTo: good, expectations: [{type: test, command: 'false'}]",
            "timeout" => "assignTo: slow, maxDuration: 200",
            "rate-limit" => "assignTo: limited",
            _ => "assignTo: bad",
        };
        tasks.push_str(&format!("  - {{title: {title}, {keys}, review: none}}\n"));
    }
    workspace.mission(&format!(
        "
name: partial
agents:
  good: {{run: 'true', input: none}}
  bad: {{run: 'exit 1', input: none}}
  slow: {{run: 'exec sleep 100', input: none}}
  limited: {{run: 'echo HTTP 429 Too Many Requests >&2; exit 1', input: none}}
settings: {{maxRetries: 0, maxFixAttempts: 0, onDependencyFailed: [partial, skip]}}
tasks:
{tasks}
  - {{title: whole, assignTo: good, review: none, dependsOn: [{}]}}
  - {{title: after, assignTo: good, review: none, dependsOn: [whole]}}
",
        titles.join(", ")
    ));
    workspace.run_json(3, &[])
}

#[test]
fn how_many_dependencies_are_enough_hangs_on_how_the_others_failed() {
    for (done, failed, way, goes_on) in [
        // attocode 75, 76
        (0, 1, "timeout", true),
        (0, 1, "error", false),
        (0, 1, "quality", false),
        // 77: the threshold of the mode binds
        (1, 1, "quality", false),
        (3, 1, "quality", true),
        // 78, 79
        (1, 2, "rate-limit", true),
        (1, 2, "error", false),
        (1, 1, "error", true),
    ] {
        let document = partial(done, failed, way);
        let what = format!("{done} done, {failed} failed by {way}");
        assert_eq!(failure(&document, &format!("part{done}"))["mode"], way, "{what}");
        if goes_on {
            assert_eq!(standing(&document, "whole"), ("done", "degraded"), "{what}");
            // 81: direct dependents only; what hangs on it is no part of a part.
            assert_eq!(standing(&document, "after"), ("done", "unreviewed"), "{what}");
        } else {
            assert_eq!(failure(&document, "whole")["mode"], "cascade", "{what}");
            assert_eq!(failure(&document, "after")["mode"], "cascade", "{what}");
        }
    }
}

#[test]
fn half_of_the_files_are_enough_and_a_third_is_not() {
    // attocode 82, 83, 84
    for (files, order, goes_on) in [
        ("[a, b]", "artifacts, skip", true),
        ("[a, b, c]", "artifacts, skip", false),
        ("[a, b]", "skip", false),
    ] {
        let workspace = Workspace::with(&format!(
            "
name: files
agents: {{worker: {{run: 'test {{task}} != first || {{ echo x > a; exit 1; }}'}}}}
settings: {{maxRetries: 0, onDependencyFailed: [{order}]}}
tasks:
  - {{title: first, targetFiles: {files}, review: none}}
  - {{title: second, dependsOn: [first], review: none}}
"
        ));
        let document = workspace.run_json(3, &[]);
        let is_done = standing(&document, "second").0 == "done";
        assert_eq!(is_done, goes_on, "{files} {order}");
    }
}

#[test]
fn retries_are_counted_behind_the_first_attempt() {
    // attocode 86, 87; polpo 43, 44, 45
    for (retries, kinds) in [(2, &["execute", "retry", "retry"][..]), (0, &["execute"])] {
        let workspace = Workspace::with(&format!(
            "name: retries\nagents: {{worker: {{run: 'cat > prompt.$QUORUM_ATTEMPT; sleep 1.1; exit 1'}}}}\nsettings: {{maxRetries: \
             {retries}}}\ntasks: [{{title: work, description: Do it., review: none}}]\n"
        ));
        let document = workspace.run_json(3, &[]);
        assert_eq!(attempts(&document, "work"), kinds);
        if retries > 0 {
            workspace.read("prompt.2").says(&["Do it.", "An earlier attempt failed"]);
        }
    }
}

#[test]
fn a_judge_that_throws_costs_no_attempt() {
    // polpo 50, with the opposite result: the work is not done again because nobody could judge it.
    let workspace = Mission::new()
        .worker("echo x >> acts")
        .reviewer("judge", "cat > /dev/null; exit 1")
        .task("work", |t| {
            t.expects(json!({"type": "llm_review", "criteria": "good", "reviewers": ["judge"]}))
        })
        .workspace();
    let document = workspace.run_json(6, &[]);
    assert_eq!(attempts(&document, "work"), ["execute"]);
    assert_eq!(workspace.lines("acts").len(), 1);
}

#[test]
fn a_time_limit_of_a_task_is_held() {
    // polpo 55
    let workspace = Mission::new()
        .key("name", "limits")
        .agent_with("slow", json!({"run": "exec sleep 100", "input": "none"}))
        .setting("maxRetries", 0)
        .setting("taskTimeout", 250)
        .task("by itself", |t| t.set("maxDuration", 100).unreviewed())
        .task("by the settings", |t| t.unreviewed())
        .workspace();
    let document = workspace.run_json(3, &[]);
    for title in ["by itself", "by the settings"] {
        assert_eq!(failure(&document, title)["mode"], "timeout", "{title}");
    }
    let events = workspace.events();
    let limits: Vec<&Value> = events
        .iter()
        .filter(|event| event["event"] == "task:timeout")
        .map(|event| &event["timeout"])
        .collect();
    assert!(limits.contains(&&json!(100)) && limits.contains(&&json!(250)), "{limits:?}");
}

#[test]
fn what_is_called_off_ends_what_is_done_stays_and_nothing_is_tried_again() {
    // polpo 53, 58, 85
    let workspace = Mission::new()
        .agent_with("quick", json!({"run": "true", "input": "none"}))
        .agent_with("slow", json!({"run": "echo yes > there; exec sleep 100", "input": "none"}))
        .setting("concurrency", 1)
        .task("first", |t| t.unreviewed())
        .task("second", |t| t.by("slow").unreviewed().needs("first"))
        .task("third", |t| t.unreviewed().needs("first").set("priority", 0.1))
        .task("fourth", |t| t.unreviewed().needs("third"))
        .workspace();
    let running = workspace.start(&["run", "mission.yaml", "--run-id", "r1", "--json"]);
    wait_for("the slow one", || workspace.exists("there"));
    workspace.quorum(&["cancel", "nobody", "--yes"]).exits(2);
    workspace.quorum(&["cancel", "first", "--yes"]).exits(4);
    workspace.quorum(&["cancel", "third", "--yes"]).exits(0);
    assert_eq!(failure(&workspace.status(), "third")["mode"], "cancelled");
    workspace.quorum(&["cancel", "r1", "--yes"]).exits(0);
    let document = running.finish().exits(3).json();
    assert_eq!(standing(&document, "first").0, "done");
    for title in ["second", "third"] {
        assert_eq!(failure(&document, title)["mode"], "cancelled", "{title}");
    }
    assert_eq!(attempts(&document, "second"), ["execute"]);
    assert_eq!(on_record(&workspace, "work:started turn"), 2);
    assert_eq!(document["resumable"], false);
    workspace.quorum(&["resume"]).exits(3).says(&["nothing to resume"]);
    assert_eq!(on_record(&workspace, "work:started turn"), 2);
}

#[test]
fn a_mission_without_tasks_is_refused() {
    // polpo 78
    for text in [
        "name: none\nagents: {worker: {run: 'true'}}\ntasks: []\n",
        "name: none\nagents: {worker: {run: 'true'}}\n",
    ] {
        let workspace = Workspace::with(text);
        workspace.refuses(&["task"]);
    }
}

#[test]
fn a_gate_speaks_once_and_what_it_said_holds() {
    // polpo 69, 71, 72
    let workspace = Mission::new()
        .agent_with("bad", json!({"run": "exit 1", "input": "none"}))
        .agent_with("good", json!({"run": "true", "input": "none"}))
        .key("qualityGates", json!([
            {"name": "door", "afterTasks": ["before"], "blocksTasks": ["behind"], "requireAllPassed": true},
        ]))
        .setting("maxRetries", 0)
        .task("before", |t| t.unreviewed())
        .task("behind", |t| t.by("good").unreviewed())
        .task("beside", |t| t.by("good").unreviewed())
        .workspace();
    workspace.run_json(3, &[]);
    for _ in 0..3 {
        workspace.resume_json(3, &[]);
    }
    assert_eq!(on_record(&workspace, "quality:gate:failed"), 1);
    assert_eq!(standing(&workspace.status(), "behind").0, "pending");
}

/// Work of 30,000 characters that the judge `j` grades by the built-in rubric.
fn graded(criteria: &str, reply: &str) -> Workspace {
    let workspace = Workspace::with(&format!(
        "
name: graded
agents:
  worker: {{run: \"head -c 30000 /dev/zero | tr '\\\\0' z\"}}
  j: {{run: [/bin/sh, '@agents/judge.sh', j], role: reviewer}}
tasks: [{{title: work, assignTo: worker, review: none{criteria}, verification: {{rubric: default-task}}}}]
"
    ));
    workspace.judge("j", &[reply]);
    workspace
}

fn grades(verdict: &str) -> String {
    let given = json!({"grade": 1, "reasoning": "as seen"});
    let criteria = json!({"correctness": given, "completeness": given, "probe-adherence": given});
    json!({"criteria": criteria, "verdict": verdict, "confidence": 1}).to_string()
}

#[test]
fn a_grader_is_shown_sixteen_thousand_characters_and_told_of_the_rest() {
    // attocode-synthorg 112
    let workspace = graded("", &grades("pass"));
    workspace.run_json(0, &[]);
    let asked = workspace.asked("j", 1);
    assert_eq!(asked.matches('z').count(), 16_000);
    assert!(asked.contains("The text above was cut: 14000 characters"), "{asked}");
}

#[test]
fn each_criterion_is_one_probe_where_no_agent_cuts_them() {
    // 117; probes go by the number of their criterion, beside the task's name
    for (keys, count) in [(", acceptance: [one, two, three]", 3), ("", 0)] {
        for decomposer in ["", ", decomposer: identity"] {
            let workspace = graded(&format!("{keys}{decomposer}"), &grades("pass"));
            workspace.run_json(0, &[]);
            let shown = workspace.quorum(&["show", "work", "--json"]).exits(0).json();
            let path = shown["attempts"][0]["handoffs"][0]["record"]["path"].as_str().unwrap();
            let record: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
            let probes = [(1, "one"), (2, "two"), (3, "three")];
            let probes = probes.map(|(n, text)| json!({"criterion": n, "probe": text}));
            assert_eq!(record["probes"], json!(probes[..count]), "{keys}");
            let asks = workspace.asked("j", 1).contains("# Acceptance criteria");
            assert_eq!(asks, count > 0, "{keys}");
        }
    }
}

#[test]
fn nothing_passes_and_is_referred_as_well() {
    // 122: without criteria plain facts have nothing to say, so there is no such verification
    let workspace = graded("", "").tap_mission("rubric: default-task", "grader: heuristic");
    workspace.refuses(&["Q0202", "`acceptance`"]);
    // What would pass by its grades and is referred by its judge is for a person.
    let workspace = graded("", &grades("refer"));
    let document = workspace.run_json(8, &[]);
    assert_eq!(standing(&document, "work").0, "awaiting_approval");
    assert_eq!(task(&document, "work")["waiting"]["reason"], "refer");
}

#[test]
fn levels_are_shown_from_the_lowest_and_without_them_there_are_general_ones() {
    // polpo 28
    for (rubric, is_general) in [(", rubric: {5: best, 1: worst, 3: fair}", false), ("", true)] {
        let workspace = graded("", r#"{"scores": {"x": {"score": 5, "reasoning": "r"}}}"#).tap_mission(
            "review: none, verification: {rubric: default-task}",
            &format!(
                "expectations: [{{type: llm_review, reviewers: [j], dimensions: [{{name: x, weight: 1{rubric}}}]}}]"
            ),
        );
        workspace.run_json(0, &[]);
        let asked = workspace.asked("j", 1);
        let places = ["1: worst", "3: fair", "5: best"].map(|level| asked.find(level));
        assert_eq!(places.iter().all(Option::is_some), !is_general, "{asked}");
        assert!(places.is_sorted(), "{asked}");
        let general = "1 = missing or wrong, 2 = poor, 3 = acceptable, 4 = good, 5 = excellent";
        assert_eq!(asked.contains(general), is_general, "{asked}");
    }
}
