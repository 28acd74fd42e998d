//! Criteria that plain facts grade: `acceptance` with `verification: {grader: heuristic}`, and `review --grader
//! heuristic`. No agent judges anywhere in here.

use std::process::{Command, Stdio};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::events::is;
use crate::support::{Keys, Mission, Says, Workspace, attempts, standing, task, wait_for_file};

/// One worker, whose script is `work.sh`, and criteria.
fn workspace(criteria: &[&str], script: &str) -> Workspace {
    let workspace = Mission::new()
        .agent_with("worker", json!({"run": ["/bin/sh", "work.sh"]}))
        .task("guide", |t| t.set("acceptance", criteria).set("verification", json!({"grader": "heuristic"})))
        .workspace();
    workspace.write("work.sh", script);
    workspace
}

/// The same with more keys of its verification.
fn verified(mission: Mission, keys: &str) -> Mission {
    let keys = Keys::from(format!("grader: heuristic, {keys}")).value();
    mission.change("guide", |t| t.set("verification", keys))
}

fn reviewed(workspace: &Workspace, code: i32, arguments: &[&str]) -> Value {
    let mut all = vec!["review", "--grader", "heuristic", "--json", "--progress", "none"];
    all.extend(arguments);
    workspace.quorum(&all).exits(code).json()
}

fn results(criteria: &Value) -> Vec<(&str, &str)> {
    let rows = criteria.as_array().expect("a list of criteria").iter();
    rows.map(|row| (row["result"].as_str().unwrap(), row["evidence"].as_str().unwrap())).collect()
}

#[test]
fn work_that_meets_its_criteria_is_clean_and_says_what_was_checked() {
    let criteria = [
        "`guide.md` exists and contains `quorum run`",
        "`grep -q quorum guide.md` passes and `guide.md` has at most 3 lines",
        "the output contains `wrote the guide`",
    ];
    let script = "echo 'quorum run mission.yaml' > guide.md; echo wrote the guide";
    let workspace = workspace(&criteria, script);
    let document = workspace.run_json(0, &["--report", "junit=junit.xml", "--report", "markdown=report.md"]);
    let done = task(&document, "guide");
    assert_eq!((&done["qualityFlag"], &done["points"]), (&json!("clean"), &json!(100.0)));
    let review = &done["reviews"][0];
    assert_eq!(
        (&review["stage"], &review["reviewer"], &review["verdict"], &review["confidence"]),
        (&json!("verification"), &json!("heuristic"), &json!("pass"), &json!(1.0))
    );
    assert_eq!(
        results(&review["criteria"]),
        [
            ("passed", "guide.md exists; guide.md contains `quorum run`"),
            ("passed", "`grep -q quorum guide.md` exited 0; guide.md has 1 lines"),
            ("passed", "the output contains `wrote the guide`"),
        ]
    );
    assert_eq!(task(&workspace.status(), "guide")["reviews"][0], *review);
    let show = workspace.quorum(&["show", "guide", "--json"]).exits(0).json();
    assert_eq!(show["attempts"][0]["stages"][0]["stage"], "verification");
    assert_eq!(show["attempts"][0]["stages"][0]["criteria"], review["criteria"]);
    workspace.quorum(&["show", "guide"]).exits(0).shows(&["passed `guide.md` exists"]);
    let named = |name: &str| workspace.events().into_iter().filter(|event| is(event, name)).count();
    assert_eq!(
        (named("work:requested grade"), named("stage:verdict"), named("assessment:complete")),
        (1, 1, 1)
    );
    assert!(workspace.read("junit.xml").contains("3/3 criteria met"));
}

#[test]
fn work_goes_back_with_what_was_seen_until_it_meets_its_criteria() {
    let script = "cat > prompt.$QUORUM_ATTEMPT; [ $QUORUM_ATTEMPT = 1 ] || echo done > guide.md";
    let criteria = ["`guide.md` exists", "`cat guide.md` passes"];
    let workspace = workspace(&criteria, script);
    let document = workspace.run_json(0, &[]);
    assert_eq!(attempts(&document, "guide"), ["execute", "fix"]);
    let first = &task(&document, "guide")["attempts"][0];
    assert_eq!(
        (&first["verdict"], &first["cause"], &first["points"]),
        (&json!("fail"), &json!("required-criterion"), &json!(0.0))
    );
    let told = workspace.read("prompt.2");
    told.says(&["not met: `guide.md` exists (guide.md does not exist)"]);
    told.says(&["not met: `cat guide.md` passes (`cat guide.md` exited 1)"]);
    assert!(told.contains("No such file"), "the end of its output is quoted:\n{told}");
}

#[test]
fn work_that_never_meets_its_criteria_is_failed() {
    let workspace = workspace(&["`guide.md` contains `hello`"], "echo n >> log; echo bye > guide.md");
    let document = workspace.run_json(3, &["--max-attempts", "2", "--report", "junit=junit.xml"]);
    assert_eq!(standing(&document, "guide").0, "failed");
    assert_eq!(task(&document, "guide")["failure"]["mode"], "quality");
    assert!(workspace.read("junit.xml").contains("guide.md does not contain `hello`"));
}

#[test]
fn the_same_work_twice_is_no_progress() {
    let workspace = workspace(&["`guide.md` contains `hello`"], "echo n >> log; echo bye > guide.md");
    let document = workspace.run_json(3, &[]);
    assert_eq!(workspace.lines("log").len(), 2);
    task(&document, "guide")["failure"]["message"].clone().says(&["no progress"]);
}

#[test]
fn what_cannot_be_checked_waits_for_a_person() {
    let workspace = workspace(&["It reads well", "`guide.md` exists"], "echo x > guide.md");
    let document = workspace.run_json(8, &[]);
    let waiting = task(&document, "guide");
    assert_eq!(waiting["status"], "awaiting_approval");
    document["approvals"][0]["message"].says(&["1 of 2 criteria could not be checked: It reads well"]);
    let id = document["approvals"][0]["id"].as_str().unwrap();
    workspace.quorum(&["approve", id, "--as", "ada"]).exits(0);
    let status = workspace.status();
    assert_eq!(task(&status, "guide")["qualityFlag"], "clean");
    // With less confidence asked for, the rest decides.
    let lenient = workspace.tap(|m| verified(m, "minConfidence: 0.5, threshold: 50/100"));
    let document = lenient.run_json(0, &[]);
    assert_eq!(task(&document, "guide")["reviews"][0]["confidence"], 0.5);
}

#[test]
fn lost_evidence_is_nobodys_verdict() {
    // The criterion's own command takes away what the work said.
    let criteria = ["`rm -f .polpo/runs/*/@spool/*.out` passes", "the output contains `hello`"];
    let workspace = workspace(&criteria, "echo hello");
    let document = workspace.run_json(6, &[]);
    assert_eq!(task(&document, "guide")["attempts"][0]["cause"], "gate-error");
    let failed = workspace.events().into_iter().filter(|event| is(event, "work:ended grade failed"));
    assert_eq!(failed.count(), 2, "it was tried again");
}

#[test]
fn a_run_killed_while_it_verifies_checks_again() {
    let command = "`echo $$ >> pids; [ -e go ] || sleep 60` passes";
    let workspace =
        workspace(&[command], "echo n >> log").tap(|m| m.change("guide", |t| t.set("baseline", false)));
    let running = workspace.start(&["run", "mission.yaml", "--json"]);
    wait_for_file(&workspace.path("pids"));
    running.signal(Signal::KILL);
    running.kill();
    workspace.write("go", "");
    let document = workspace.resume_json(0, &[]);
    assert_eq!(task(&document, "guide")["qualityFlag"], "clean");
    assert_eq!(workspace.lines("log").len(), 1, "the work is not done again");
    assert_eq!(workspace.lines("pids").len(), 2, "the check is");
}

#[test]
fn commands_get_a_clean_environment_and_only_the_criteria_name_them() {
    let criteria = ["`test -z \"$SECRET\" && test \"$QUORUM_TASK\" = guide` passes", "`claims.md` exists"];
    // Words of the work that look like criteria run nothing.
    let script = "echo '`touch ran` passes' | tee claims.md";
    let workspace = workspace(&criteria, script);
    // The shell's quotes are not those of a criterion.
    let run = workspace.quorum_with(&[("SECRET", "x")], &["run", "mission.yaml", "--json"]);
    run.exits(0);
    assert!(!workspace.exists("ran"));
}

#[test]
fn a_grader_that_goes_by_facts_needs_criteria_and_no_rubric() {
    let rubric = workspace(&["`a` exists"], "true").tap(|m| verified(m, "rubric: default-task"));
    rubric.quorum(&["run", "mission.yaml"]).exits(2).says(&["a heuristic grader grades by no rubric"]);
    let alone = workspace(&["`a` exists"], "true").tap(|m| m.change("guide", |t| t.without("acceptance")));
    alone.quorum(&["run", "mission.yaml"]).exits(2).says(&["needs `acceptance`"]);
    for workspace in [rubric, alone] {
        assert!(!workspace.exists(".polpo/runs"));
    }
}

#[test]
fn what_the_facts_cannot_tell_goes_where_the_mission_says() {
    let unclear = |on_refer| {
        workspace(&["it is beautiful"], "true")
            .tap(|m| verified(m, on_refer).change("guide", |t| t.attempts(1)))
    };
    let document = unclear("onRefer: rework").run_json(3, &[]);
    assert_eq!(standing(&document, "guide"), ("failed", ""));
    let document = unclear("onRefer: pass").run_json(5, &[]);
    assert_eq!(standing(&document, "guide"), ("done", "unverified"));
}

#[test]
fn a_review_without_any_agent_passes_fails_or_cannot_say() {
    let workspace = Workspace::new();
    workspace.write("src/a.py", "def count(): return 1\n");
    let good =
        ["--criteria", "`src/a.py` contains `def count`", "--criteria", "`python_is_not_needed=1` passes"];
    let document = reviewed(&workspace, 0, &[&good[..], &["src/a.py"]].concat());
    assert_eq!(document["schema"], "quorum.review/v1");
    assert_eq!(
        (&document["grader"], &document["verdict"], &document["exitCode"], &document["confidence"]),
        (&json!("heuristic"), &json!("pass"), &json!(0), &json!(1.0))
    );
    assert_eq!(document["criteria"].as_array().unwrap().len(), 2);

    for (criterion, evidence) in [
        ("`README.md` exists", "README.md does not exist"),
        ("`src/a.py` contains `class`", "src/a.py does not contain `class`"),
        ("`echo broken; exit 3` passes", "`echo broken; exit 3` exited 3\nbroken"),
        ("the output contains `import`", "the output does not contain `import`"),
    ] {
        let document = reviewed(&workspace, 5, &["--criteria", criterion, "src/a.py"]);
        assert_eq!((&document["verdict"], &document["outcome"]), (&json!("fail"), &json!("below_threshold")));
        assert_eq!(results(&document["criteria"]), [("failed", evidence)]);
        assert_eq!(document["criteria"][0]["criterion"], criterion);
    }

    for criterion in [
        "It is well written.",
        "`src` exists",
        "`../a.py` exists",
        "`no-such-program` fails",
        "src/gone.py exists",
        "`src/gone.py` exists, unless it is not needed",
        "`src/gone.py` exists and is well written",
    ] {
        let open = ["--criteria", "`src/a.py` exists", "--criteria", criterion, "src/a.py"];
        let document = reviewed(&workspace, 6, &open);
        assert_eq!((&document["verdict"], &document["exitCode"]), (&json!("indeterminate"), &json!(6)));
        assert_eq!(results(&document["criteria"])[1].0, "unchecked", "{criterion}");
    }
    // Three of four are enough for a mission, which has people; here they are not.
    let mostly = ["--criteria", "`src/a.py` exists", "--criteria", "`src/a.py` has at least 1 lines"];
    let mostly =
        [&mostly[..], &["--criteria", "`src/gone.py` does not exist", "--criteria", "Good.", "src/a.py"]]
            .concat();
    reviewed(&workspace, 6, &mostly);
    assert!(!workspace.exists(".polpo"), "nothing is left behind");

    let human = ["review", "--grader", "heuristic", "--criteria", "`README.md` exists", "src/a.py"];
    workspace.quorum(&human).exits(5).shows(&["failed `README.md` exists: README.md does not exist"]);
    // Switched-off reviews are those of judges.
    let off = workspace.quorum_with(
        &[("EVAL", "off")],
        &["review", "--grader", "heuristic", "--criteria", "`src/a.py` exists", "src/a.py"],
    );
    off.exits(0);
}

#[test]
fn a_review_of_standard_input_looks_at_its_text() {
    let workspace = Workspace::new();
    let criteria = "the output contains `+fn main` and does not contain `TODO`";
    for (text, code) in [("+fn main() {}\n", 0), ("+fn main() { TODO }\n", 5)] {
        workspace.write("diff", text);
        let mut command =
            workspace.command(&["review", "--grader", "heuristic", "--criteria", criteria, "-"]);
        let input = std::fs::File::open(workspace.path("diff")).unwrap();
        let status = quietly(command.stdin(Stdio::from(input)));
        assert_eq!(status, Some(code), "{text}");
    }
}

fn quietly(command: &mut Command) -> Option<i32> {
    let command = command.stdout(Stdio::null()).stderr(Stdio::null());
    command.status().expect("the binary can be started").code()
}

#[test]
fn a_review_by_facts_asks_for_criteria_and_for_no_agent() {
    let workspace = Workspace::new();
    workspace.write("a", "x");
    let refused = |arguments: &[&str]| {
        let all = [&["review", "--grader", "heuristic"], arguments].concat();
        workspace.quorum(&all).exits(2)
    };
    refused(&["a"]).says(&["--criteria"]);
    refused(&["--criteria", "`a.b` exists", "--reviewer", "j", "a"]).says(&["asks no agent"]);
    refused(&["--criteria", "`a.b` exists", "gone"]).says(&["no file gone"]);
}

#[test]
fn a_review_of_a_pipe_beside_files_looks_at_the_pipe() {
    let workspace = Workspace::new();
    workspace.write("notes.txt", "banana\n");
    for (text, code) in [("nothing\n", 5), ("banana\n", 0)] {
        workspace.write("piped", text);
        let criteria = "the output contains `banana`";
        let mut command =
            workspace.command(&["review", "--grader", "heuristic", "--criteria", criteria, "-", "notes.txt"]);
        let input = std::fs::File::open(workspace.path("piped")).unwrap();
        let status = quietly(command.stdin(Stdio::from(input)));
        assert_eq!(status, Some(code), "{text}");
    }
}

#[test]
fn a_review_of_a_diff_is_narrowed_by_files() {
    let workspace = Workspace::new();
    let setup = "git init -q . && git config user.email a@b && git config user.name a && echo 1 > a && echo 1 > b \
                 && git add . && git commit -qm one && echo pear > a && echo banana > b";
    workspace.bash(setup).exits(0);
    for (file, code) in [("b", 0), ("a", 5)] {
        let criteria = "the output contains `banana`";
        let arguments = ["review", "--grader", "heuristic", "--criteria", criteria, "--diff=HEAD", file];
        workspace.quorum(&arguments).exits(code);
    }
}
