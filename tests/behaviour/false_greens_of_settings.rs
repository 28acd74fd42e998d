//! Row 36 of the false greens: settings that switch judging off or make it less strict, from wherever they come.

use serde_json::Value;

use crate::support::{Finished, Mission, Says, Workspace, standing, task};

const MISSION: &str = "
name: judged
agents:
  worker: {run: 'echo work; SCRIPT'}
  judge: {run: [/bin/sh, '@agents/judge.sh', judge], role: reviewer}
tasks: [{title: work, assignTo: worker, maxAttempts: 1}]
";

fn judged(script: &str) -> Workspace {
    let workspace = Workspace::with(&MISSION.replace("SCRIPT", script));
    workspace.judge("judge", &["SCORE: 50"]);
    workspace
}

fn run_unprivileged(workspace: &Workspace, variables: &[(&str, &str)], flags: &[&str]) -> Finished {
    let arguments = [&["run", "mission.yaml", "--json", "--timeout", "4m"], flags].concat();
    workspace.start_unprivileged_with(variables, &arguments).finish()
}

fn warnings(document: &Value) -> String {
    document["warnings"].to_string()
}

#[test]
fn false_green_36_settings_that_an_agent_plants_fail_its_task() {
    for script in [
        "printf \"settings:\\\\n  evaluate: false\\\\n\" > quorum.yaml",
        "mkdir -p home/.config/quorum; echo \"settings: {evaluate: false}\" > home/.config/quorum/quorum.yaml",
        "mkfifo quorum.yaml",
        "ln -s elsewhere quorum.yaml",
        "mkdir quorum.yaml",
    ] {
        let workspace = judged(script);
        let document = run_unprivileged(&workspace, &[], &[]).exits(3).json();
        let failure = &task(&document, "work")["failure"];
        assert_eq!(failure["mode"], "protected", "{script}\n{document:#}");
        let message = failure["message"].as_str().unwrap_or_default();
        assert!(message.contains("quorum.yaml appeared"), "{script}: {message}");
    }
}

#[test]
fn false_green_36_settings_that_an_agent_changes_fail_its_task() {
    for script in ["echo \"settings: {evaluate: false}\" > quorum.yaml", "rm quorum.yaml"] {
        let workspace = judged(script);
        workspace.write("quorum.yaml", "settings: {maxRetries: 0}\n");
        let document = run_unprivileged(&workspace, &[], &[]).exits(3).json();
        let failure = &task(&document, "work")["failure"];
        assert_eq!(failure["mode"], "protected", "{script}\n{document:#}");
    }
}

#[test]
fn false_green_36_a_run_that_planted_settings_leave_unreviewed_says_by_which_line() {
    let workspace = judged("true");
    workspace.write("quorum.yaml", "# of the project\nsettings:\n  maxRetries: 0\n  evaluate: false\n");
    let place = "`evaluate` in quorum.yaml:4";
    let finished = run_unprivileged(&workspace, &[], &[]).exits(0);
    // Before the work, and not only behind it.
    let (said, started) = (finished.stderr.find(place), finished.stderr.find("START"));
    assert!(said.is_some() && said < started, "{}", finished.stderr);
    let document = finished.json();
    assert_eq!(standing(&document, "work"), ("done", "unreviewed"));
    let warned = warnings(&document);
    assert!(warned.contains("reviews are switched off") && warned.contains(place), "{warned}");
    let banner = format!("NOTHING WAS REVIEWED: reviews are switched off ({place})");
    for arguments in [&["status"][..], &["status", "--watch"], &["resume"]] {
        let shown = workspace.quorum(arguments);
        let text = format!("{}{}", shown.stdout, shown.stderr);
        assert!(text.contains(&banner), "{arguments:?}\n{text}");
    }
    let html = workspace.quorum(&["report", "--html", "-"]).exits(0).stdout;
    let markdown = workspace.quorum(&["report", "--markdown", "-"]).exits(0).stdout;
    let junit = workspace.quorum(&["report", "--junit", "-"]).exits(0).stdout;
    assert!(html.contains("quorum.yaml:4") && markdown.contains("quorum.yaml:4"), "{markdown}");
    assert!(junit.contains("quorum.yaml:4"), "{junit}");
    // What would happen says it too.
    workspace.quorum(&["plan"]).exits(0);
    let plan = workspace.quorum(&["plan", "--json"]).exits(0).json();
    assert!(warnings(&plan).contains(place), "{plan:#}");
    workspace.quorum(&["validate"]).exits(0).says(&[place]);
}

#[test]
fn false_green_36_settings_above_and_of_the_user_are_named_with_their_place() {
    let workspace = judged("true");
    workspace.write("below/mission.yaml", workspace.read("mission.yaml"));
    workspace.write("quorum.yaml", "settings: {evaluate: false}\n");
    let mut command = workspace.command(&["run", "mission.yaml", "--json"]);
    command.current_dir(workspace.path("below"));
    let document = crate::support::Running::start(command).finish().exits(0).json();
    let path = workspace.path("quorum.yaml").canonicalize().expect("it is there");
    assert!(warnings(&document).contains(&format!("{}:1", path.display())), "{document:#}");

    let workspace = judged("true");
    workspace.write("home/.config/quorum/quorum.yaml", "settings: {evalThreshold: 40}\n");
    let document = workspace.run_json(0, &[]);
    warnings(&document)
        .says(&["the bar of evaluations is 40 instead of 60", "home/.config/quorum/quorum.yaml:1"]);
}

#[test]
fn false_green_36_variables_that_loosen_are_named() {
    for (variable, value, code, words) in [
        ("EVAL", "off", 0, "reviews are switched off (EVAL=off)"),
        ("QUORUM_NO_EVAL", "1", 0, "reviews are switched off (QUORUM_NO_EVAL)"),
        ("EVAL_THRESHOLD", "40", 0, "the bar of evaluations is 40 instead of 60 (EVAL_THRESHOLD)"),
        ("QUORUM_EVAL_THRESHOLD", "40", 0, "40 instead of 60 (QUORUM_EVAL_THRESHOLD)"),
        (
            "QUORUM_ALLOW",
            "below_threshold",
            0,
            "not counted for the exit code: below_threshold (QUORUM_ALLOW)",
        ),
        ("EVAL_THRESHOLD", "70", 5, ""),
    ] {
        let workspace = judged("true");
        let document = run_unprivileged(&workspace, &[(variable, value)], &[]).exits(code).json();
        let warned = warnings(&document);
        assert!(warned.contains(words), "{variable}: {warned}");
        assert!(!words.is_empty() || warned == "[]", "{variable}: {warned}");
    }
}

#[test]
fn false_green_36_other_settings_beneath_the_mission_that_loosen_are_named() {
    let workspace = judged("true");
    workspace.write(
        "quorum.yaml",
        "settings:\n  failOpenOnUnparsedEval: true\n  verifyPriorFeedback: false\n  finalChecks: never\n  checksMayWrite: ['tests/**']\n\
         rubrics:\n  default-task: {criteria: [{name: whole, weight: 1, grade: binary}]}\n",
    );
    let document = workspace.run_json(5, &[]);
    let warned = warnings(&document);
    for (line, key) in [
        (2, "failOpenOnUnparsedEval"),
        (3, "verifyPriorFeedback"),
        (4, "finalChecks"),
        (5, "checksMayWrite"),
        (7, "rubrics.default-task"),
    ] {
        assert!(warned.contains(&format!("`{key}` in quorum.yaml:{line}")), "{key}: {warned}");
    }
    assert_eq!(warned.matches("still stands at the end").count(), 1, "{warned}");
}

#[test]
fn what_the_mission_or_a_flag_says_is_named_and_no_warning() {
    let workspace = judged("true");
    let ended = workspace.quorum(&["run", "--no-eval"]).exits(0);
    ended.shows(&["NOTHING WAS REVIEWED: reviews are switched off (--no-eval)"]);
    assert_eq!(workspace.status()["warnings"], serde_json::json!([]));
    let workspace = judged("true").tap_mission("tasks:", "settings: {evaluate: false}\ntasks:");
    workspace.run_json(0, &[]);
    workspace.quorum(&["status"]).exits(0).shows(&["(`evaluate` in the mission, line 6)"]);
    assert_eq!(workspace.status()["warnings"], serde_json::json!([]));
}

#[test]
fn a_later_session_with_reviews_off_says_so_for_the_whole_run() {
    let workspace = judged("test -e go").tap_mission(", maxAttempts: 1", "");
    workspace.run_json(3, &["--max-attempts", "1"]);
    workspace.write("go", "");
    let finished = workspace
        .quorum_with(&[("EVAL", "off")], &["resume", "--retry-failed", "--json"])
        .exits(0)
        .says(&["reviews are switched off (EVAL=off)"]);
    assert!(warnings(&finished.json()).contains("EVAL=off"));
    assert!(warnings(&workspace.status()).contains("EVAL=off"));
}

#[test]
fn false_green_36_a_chain_that_asks_no_person_is_told_where_only_settings_say_so() {
    let workspace = Mission::new()
        .agent("w", "echo done")
        .key("autonomy", "locked")
        .setting("evaluate", false)
        .tasks(["a", "b"])
        .workspace();
    workspace.run_json(8, &["--run-id", "asked"]);
    workspace.write("quorum.yaml", "settings:\n  middleware: {agent: [], coordination: []}\n");
    let document = workspace.quorum(&["run", "mission.yaml", "--json", "--fresh", "--yes"]).json();
    document["warnings"].to_string().says(&[
        "no person is asked to agree to the plan",
        "where an assumption is broken",
        "quorum.yaml:2",
    ]);
}
