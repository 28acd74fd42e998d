//! Row 68 of the false greens: the description asks for a file, or the work is to write some, and none was written (semantics,
//! section 6, preflight).

use serde_json::{Value, json};

use crate::support::model::{Model, says};
use crate::support::scenes::repositories::repository;
use crate::support::{Mission, Says, Workspace, attempts, standing, task};

const CONTENT: &str = "cat > /dev/null; echo SCORE: 90";

/// One task, whose agent runs this script; its judge is content with everything.
fn one(script: &str, description: &str, more: &[(&str, Value)]) -> Mission {
    judged(Mission::new().worker(script), description, more)
}

fn judged(mission: Mission, description: &str, more: &[(&str, Value)]) -> Mission {
    mission.reviewer("judge", CONTENT).task("work", |mut t| {
        for (key, value) in more {
            t = t.set(key, value.clone());
        }
        t.set("description", description).attempts(1)
    })
}

#[track_caller]
fn is_turned_down(workspace: &Workspace, why: &str) {
    let document = workspace.run_json(3, &[]);
    let work = task(&document, "work");
    assert_eq!(work["failure"]["mode"], "hollow", "{work:#}");
    let attempt = &work["attempts"][0];
    assert_eq!((&attempt["cause"], &attempt["points"]), (&json!("preflight"), &json!(20.0)), "{work:#}");
    work["findings"].to_string().says(&[why]);
    assert_eq!(work["reviews"], json!([]), "no judge is asked");
}

#[track_caller]
fn is_taken(workspace: &Workspace) {
    let document = workspace.run_json(0, &[]);
    assert_eq!(standing(&document, "work"), ("done", "clean"), "{document:#}");
}

const REPORT: &str = "Create the file report.md with the results.";

#[test]
fn false_green_68_a_command_that_writes_none_of_the_files_asked_for_has_done_nothing() {
    let says = "cat > /dev/null; echo The report is written.";
    for keys in [vec![], vec![("isolation", json!("temp"))], vec![("exclusive", json!(true))]] {
        is_turned_down(&one(says, REPORT, &keys).workspace(), "none of these was written: report.md");
    }
    is_turned_down(&repository(one(says, REPORT, &[]), &[]), "report.md");
    // What was there before was not written now, and another file is not the one.
    for (script, description, why) in [
        ("echo updated", "Update README.md", "README.md"),
        ("cat README.md", "Append a line to README.md.", "README.md"),
        ("echo x > other.txt", "Save the result as out/result.json", "out/result.json"),
        ("echo These are the findings.", "Write findings to a report", "no file was written"),
        ("echo fixed", "Fix the bug in src/a.py", "no file was written"),
        ("echo x > /tmp/quorum-68-$$; rm /tmp/quorum-68-$$", "Generate `page.html`.", "page.html"),
    ] {
        let workspace = one(script, description, &[]).workspace();
        workspace.write("README.md", "old");
        is_turned_down(&workspace, why);
    }
}

#[test]
fn false_green_68_a_program_whose_calls_are_known_is_held_to_the_files_too() {
    let program = r#"cat > /dev/null
        echo '{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Read"}]}}'
        echo '{"type":"result","subtype":"success","is_error":false,"session_id":"s","result":"The report is written."}'"#;
    let keys = json!({"adapter": "claude", "run": ["/bin/sh", "-c", program, "claude"]});
    for (description, why) in [(REPORT, "report.md"), ("Write findings to a report", "no file was written")] {
        let mission = Mission::new().agent_with("worker", keys.clone());
        is_turned_down(&judged(mission, description, &[]).workspace(), why);
    }
}

#[test]
fn false_green_68_a_model_without_tools_writes_no_file() {
    let model = Model::new(|_| says("The report is written."));
    let of = |description| {
        let mission = Mission::new().model("worker", &model, json!({}));
        judged(mission, description, &[]).workspace()
    };
    is_turned_down(&of(REPORT), "report.md");
    // Its answer may be the report.
    is_taken(&of("Write findings to a report"));
}

#[test]
fn false_green_68_what_somebody_else_writes_meanwhile_is_not_the_tasks() {
    let workspace = Mission::new()
        .agent("idler", "echo yes > begun; while ! test -e b.md; do sleep 0.02; done; echo written")
        .agent("writer", "while ! test -e begun; do sleep 0.02; done; echo x > b.md")
        .reviewer("judge", CONTENT)
        .setting("concurrency", 2)
        .task("idle", |t| t.set("description", "Create a.md").attempts(1))
        .task("write", |t| t.by("writer").set("description", "Create b.md"))
        .workspace();
    let document = workspace.run_json(3, &[]);
    assert_eq!(standing(&document, "idle"), ("failed", ""));
    assert_eq!(standing(&document, "write"), ("done", "clean"));
}

#[test]
fn false_green_68_an_empty_or_announced_answer_is_no_implementation() {
    let kind = [("type", json!("implement"))];
    for script in ["true", "echo Done, all tests pass.", "echo I will now implement the parser."] {
        is_turned_down(&one(script, "The parser.", &kind).workspace(), "no work was done");
        is_turned_down(&repository(one(script, "The parser.", &kind), &[]), "no work was done");
    }
    let model = Model::new(|_| says("I will now implement the parser."));
    let by_model = Mission::new().model("worker", &model, json!({}));
    is_turned_down(&judged(by_model, "The parser.", &kind).workspace(), "no work was done");
    // It wrote something, it can only speak, or the task says that the answer may be all.
    is_taken(&one("echo x > parser.py; echo Done.", "The parser.", &kind).workspace());
    let model = Model::new(|_| says("fn parse() {}"));
    is_taken(&judged(Mission::new().model("worker", &model, json!({})), "The parser.", &kind).workspace());
    let free = [("type", json!("implement")), ("requiresToolCalls", json!(false))];
    is_taken(&one("echo Done.", "The parser.", &free).workspace());
    is_taken(&one("echo Done.", "The parser.", &[("type", json!("test"))]).workspace());
}

#[test]
fn files_that_were_written_where_the_description_wants_them_are_work() {
    for (script, description) in [
        ("echo x > report.md", REPORT),
        ("mkdir docs; echo x > docs/report.md", "Create report.md in the folder docs."),
        ("echo old > README.md", "Update README.md"),
        ("mkdir -p deep/er; echo x > deep/er/findings", "Write findings to a report"),
        ("echo x > a.py", "Add a test for src/a.py"),
        // These ask for words.
        ("echo It is short.", "Write a summary of README.md"),
        ("echo All is well.", "Update README.md if needed."),
        ("echo All is well.", "Do not write any file."),
        ("echo 42", "Write the answer to standard output"),
        // What lies elsewhere is not seen.
        ("echo done", "Write the report to ~/report.md"),
        ("echo done", "Create /srv/elsewhere/report.md on the server"),
    ] {
        let workspace = one(script, description, &[]).workspace();
        workspace.write("README.md", "old\n");
        is_taken(&workspace);
    }
    // Git does not follow it, and it was written all the same.
    let ignored = one("echo x > seen", "Write findings to a report", &[]);
    is_taken(&repository(ignored, &[]));
}

#[test]
fn what_an_earlier_attempt_wrote_counts_for_the_next_one() {
    let workspace = Mission::new()
        .worker("test -e report.md || echo x > report.md")
        .judge("judge", &["SCORE: 30", "SCORE: 90"])
        .task("work", |t| t.set("description", REPORT))
        .workspace();
    let document = workspace.run_json(0, &[]);
    assert_eq!(attempts(&document, "work"), ["execute", "fix"]);
    workspace.quorum(&["review", "work"]).exits(0);
}

#[test]
fn attempts_that_leave_out_the_same_files_end() {
    let workspace = Mission::new().worker("echo work").task("work", |t| t.files(["zz"])).workspace();
    let document = workspace.run_json(3, &[]);
    assert_eq!(attempts(&document, "work"), ["execute", "fix"]);
    task(&document, "work")["failure"].to_string().says(&["no progress"]);
    // Who makes one of two gets on.
    let one_each = "n=$(ls | grep -c '^made'); echo x > made.$((n+1)); echo work";
    let workspace = Mission::new()
        .worker(one_each)
        .task("work", |t| {
            t.files(["made.1", "made.2", "made.3"])
                .expects(json!({"type": "file_exists", "paths": ["made.3"]}))
        })
        .workspace();
    assert_eq!(attempts(&workspace.run_json(0, &[]), "work").len(), 3);
}
