//! Declared checks: commands, files, metrics, and the files a task promises.

use serde_json::json;

use crate::support::{Mission, Says, Workspace, attempts, standing, task};

/// One attempt at a task whose worker is this script and that expects this.
fn expecting(worker: &str, expectations: &str) -> Workspace {
    Workspace::with(&format!(
        "
name: checks
agents:
  worker:
    run: |
      {worker}
tasks:
  - title: work
    maxAttempts: 1
    baseline: false
    expectations: {expectations}
"
    ))
}

fn passes(worker: &str, expectations: &str) {
    let workspace = expecting(worker, expectations);
    let document = workspace.run_json(0, &[]);
    assert_eq!(standing(&document, "work"), ("done", "clean"), "{expectations}");
}

/// It fails, and the finding says this.
fn fails(worker: &str, expectations: &str, words: &[&str]) {
    let workspace = expecting(worker, expectations);
    let document = workspace.run_json(3, &[]);
    assert_eq!(standing(&document, "work"), ("failed", ""), "{expectations}");
    assert_eq!(task(&document, "work")["attempts"][0]["cause"], "checks", "{expectations}");
    let events = workspace.events();
    let verdict = events.iter().find(|event| event["event"] == "stage:verdict");
    let findings = verdict.expect("there is a verdict")["findings"].to_string();
    for word in words {
        assert!(findings.contains(word), "'{word}' is not in {findings}");
    }
}

#[test]
fn files_must_exist_and_be_what_was_asked_for() {
    let made = "mkdir -p out/deep; echo hello world > out/a.txt; echo bye > out/deep/b.txt; : > empty; ln -s /etc/passwd link; mkfifo pipe; mkdir folder";
    for good in [
        "{type: file_exists, paths: [out/a.txt]}",
        "{type: file_exists, paths: [out/a.txt, out/deep/b.txt], minBytes: 4}",
        "{type: file_exists, paths: ['out/**/*.txt'], minBytes: 4}",
        "{type: file_exists, paths: [out/a.txt], contains: 'lo wo', minBytes: 12}",
    ] {
        passes(made, &format!("[{good}]"));
    }
    for (bad, words) in [
        ("{type: file_exists, paths: [out/c.txt]}", &["out/c.txt"][..]),
        ("{type: file_exists, paths: [out/a.txt, gone.txt]}", &["gone.txt"]),
        ("{type: file_exists, paths: ['*.md']}", &["*.md"]),
        ("{type: file_exists, paths: [empty], minBytes: 1}", &["empty", "0 bytes"]),
        ("{type: file_exists, paths: [out/a.txt], minBytes: 13}", &["12 bytes", "13"]),
        ("{type: file_exists, paths: ['out/**/*.txt'], contains: hello}", &["out/deep/b.txt", "hello"]),
        ("{type: file_exists, paths: [link]}", &["link"]),
        ("{type: file_exists, paths: [pipe]}", &["pipe"]),
        ("{type: file_exists, paths: [folder]}", &["folder"]),
    ] {
        fails(made, &format!("[{bad}]"), words);
    }
}

#[test]
fn what_stands_where_a_file_belongs_is_said() {
    for (made, why) in [
        ("mkdir x", "x cannot be used: it is a folder"),
        ("mkfifo x", "x cannot be used: it is not a regular file"),
        ("ln -s nowhere x", "x cannot be used: it is a link"),
        ("ln -s x x", "x cannot be used"),
        ("true", "x does not exist"),
    ] {
        fails(made, "[{type: file_exists, paths: [x]}]", &[why]);
        let workspace = expecting(made, "[]").tap_mission("expectations: []", "targetFiles: [x]");
        let document = workspace.run_json(3, &[]);
        assert_eq!(task(&document, "work")["attempts"][0]["cause"], "artifact");
        assert!(workspace.events().iter().any(|event| event.to_string().contains(why)), "{why}");
    }
}

#[test]
fn a_file_that_may_not_be_read_is_no_file_that_is_missing() {
    for keys in ["targetFiles: [x]", "expectations: [{type: file_exists, paths: [x]}]"] {
        let workspace = expecting("echo x > x; chmod 000 x", "[]").tap_mission("expectations: []", keys);
        workspace.start_unprivileged(&["run", "mission.yaml"]).finish().exits(3);
        assert!(
            workspace
                .events()
                .iter()
                .any(|event| event.to_string().contains("x cannot be used: permission denied"))
        );
    }
}

#[test]
fn a_metric_is_a_number_within_its_bounds() {
    for good in [
        "{type: metric, name: m, command: 'echo 80', min: 80}",
        "{type: metric, name: m, command: 'echo 80.5%', min: 80.4, max: 80.6}",
        "{type: metric, name: m, command: 'echo -1', max: 0}",
        "{type: metric, name: m, command: 'echo warning >&2; echo 5', min: 5}",
    ] {
        passes("true", &format!("[{good}]"));
    }
    for (bad, words) in [
        ("{type: metric, name: m, command: 'echo 79.9', min: 80}", &["79.9", "80"][..]),
        ("{type: metric, name: m, command: 'echo 3', max: 2}", &["above"]),
        ("{type: metric, name: m, command: 'echo many', min: 0}", &["many"]),
        ("{type: metric, name: m, command: 'true', min: 0}", &["one number", "nothing"]),
        ("{type: metric, name: m, command: 'echo NaN', min: 0}", &["NaN"]),
        ("{type: metric, name: m, command: 'echo 90; exit 1', min: 80}", &["exited 1"]),
    ] {
        fails("true", &format!("[{bad}]"), words);
    }
}

#[test]
fn several_lines_run_under_strict_bash() {
    passes("true", "[{type: script, command: \"x=1\\n[[ $x == 1 ]]\\n\"}]");
    fails("true", "[{type: script, command: \"false\\necho reached\\n\"}]", &["exited 1"]);
    fails("true", "[{type: script, command: \"false | true\\necho reached\\n\"}]", &["exited 1"]);
    fails("true", "[{type: script, command: \"echo $unset\\necho reached\\n\"}]", &["unset"]);
}

#[test]
fn a_check_that_takes_too_long_fails_and_is_killed() {
    let workspace = expecting(
        "true",
        "[{type: test, command: 'echo $$ > check.pid; echo so far; sleep 60', timeout: 1000}]",
    );
    let document = workspace.run_json(3, &["--timeout", "4m"]);
    assert_eq!(standing(&document, "work"), ("failed", ""));
    let pid = crate::support::read_pid(&workspace.path("check.pid"));
    assert!(!crate::support::is_alive(pid));
    let finished = workspace.events().first_named("work:ended check");
    finished["message"].to_string().says(&["time-out", "so far"]);
}

#[test]
fn all_failed_checks_are_told_and_no_judge_is_asked() {
    let workspace = Mission::new()
        .keeps_prompts("worker", "prompts")
        .reviewer("judge", "touch touched")
        .task("work", |t| {
            t.attempts(2)
                .check("echo first-output; exit 7")
                .expects(json!({"type": "script", "command": "true"}))
                .expects(json!({"type": "file_exists", "paths": ["nowhere.txt"]}))
                .expects(json!({"type": "llm_review", "criteria": "good"}))
        })
        .workspace();
    let document = workspace.run_json(3, &[]);
    assert!(!workspace.exists("touched"));
    assert_eq!(task(&document, "work")["points"], serde_json::json!(null));
    workspace.read("prompts/prompt.2.1").says(&["first-output", "exited 7", "nowhere.txt"]);
}

#[test]
fn checks_run_where_they_are_told_to() {
    let workspace = Mission::new()
        .worker("mkdir -p sub")
        .key("workspace", "work")
        .task("one", |t| {
            t.expects(json!({
                "type": "script",
                "command": r#"pwd > /dev/null; test "$(basename "$PWD")" = work"#,
            }))
            .expects(json!({
                "type": "script",
                "command": r#"test "$(basename "$PWD")" = sub"#,
                "cwd": "sub",
            }))
        })
        .workspace();
    workspace.run_json(0, &[]);
}

#[test]
fn a_check_cannot_outlive_the_run() {
    let workspace = expecting("true", "[{type: test, command: '(sleep 60 & echo $! > left.pid); true'}]");
    workspace.run_json(0, &[]);
    let pid = crate::support::read_pid(&workspace.path("left.pid"));
    crate::support::wait_for("the end of what a check left", || !crate::support::is_alive(pid));
}

/// A task that promises two files and has a judge that would pass anything.
fn promising(worker: &str) -> Workspace {
    Mission::new()
        .worker(worker)
        .judge("judge", &["SCORE: 100"])
        .task("work", |t| t.files(["one.txt", "two.txt"]))
        .workspace()
}

#[test]
fn promised_files_that_are_all_missing_or_empty_spend_no_judge() {
    for worker in ["echo I wrote everything", ": > one.txt; : > two.txt; echo SCORE: 100"] {
        let workspace = promising(worker);
        let document = workspace.run_json(3, &[]);
        assert_eq!(standing(&document, "work"), ("failed", ""));
        assert_eq!(task(&document, "work")["failure"]["mode"], "hollow");
        assert_eq!(task(&document, "work")["attempts"][0]["cause"], "artifact");
        assert_eq!(task(&document, "work")["points"], 20.0);
        assert_eq!(workspace.calls("judge"), 0);
    }
    let document = promising("echo x > two.txt").run_json(0, &[]);
    assert_eq!(attempts(&document, "work"), ["execute"]);
}

#[test]
fn a_metric_that_prints_more_than_a_number_is_a_failed_check_however_much_it_prints() {
    for command in ["echo 95; yes 99 | head -c 20000; true", "echo 95; yes '' | head -c 20000; echo 10"] {
        let workspace = Mission::new()
            .worker("echo work")
            .task("work", |t| {
                t.attempts(1)
                    .expects(json!({"type": "metric", "name": "coverage", "min": 80, "command": command}))
            })
            .workspace();
        workspace.run_json(3, &[]);
        let told =
            workspace.events().iter().any(|event| event.to_string().contains("one number and nothing else"));
        assert!(told, "{command}");
    }
}
