//! The command line as a whole: help, manual pages, pages of the docs, variables, names that commands had.

use serde_json::json;

use crate::support::{Mission, Says, Workspace};

const ONE: &str =
    "{name: m, agents: {a: {run: 'true'}}, settings: {evaluate: false}, tasks: [{title: t, assignTo: a}]}";

#[test]
fn the_first_help_is_one_screen_without_the_flags_of_run() {
    let workspace = Workspace::new();
    let help = workspace.quorum(&["--help"]).exits(0).stdout;
    assert!(help.lines().count() <= 45, "{help}");
    help.says(&["Run ", "Watch ", "Decide ", "Judge ", "Look ", "Set up ", "Global options", "Example"]);
    assert!(!help.contains("--max-cost") && !help.contains("approvals"), "{help}");
    assert_eq!(help, workspace.quorum(&["-h"]).exits(0).stdout);
    let run = workspace.quorum(&["run", "--help"]).exits(0).stdout;
    assert!(run.contains("--max-cost"), "{run}");
    // They are taken at the root all the same.
    workspace.mission(ONE);
    workspace.quorum(&["--run-id", "r1", "-j", "1"]).exits(0);
}

#[test]
fn help_prints_commands_topics_and_pages() {
    let workspace = Workspace::new();
    workspace.quorum(&["help"]).exits(0).shows(&["Topics", "exit-codes"]);
    let page = workspace.quorum(&["help", "judging"]).exits(0).stdout;
    assert!(page.lines().count() > 50, "{page}");
    let nested = workspace.quorum(&["help", "dlq", "retry"]).exits(0).stdout;
    assert_eq!(nested, workspace.quorum(&["dlq", "retry", "--help"]).exits(0).stdout);
    // What is a command and a topic is both.
    workspace.quorum(&["help", "events"]).exits(0).shows(&["Usage: quorum events", "\n\nEvents\n\n"]);
    workspace.quorum(&["help", "judgin"]).exits(2).says(&["no topic 'judgin'", "did you mean 'judging'?"]);
}

#[test]
fn manual_pages_are_printed_and_written() {
    let workspace = Workspace::new();
    let page = workspace.quorum(&["man"]).exits(0).stdout;
    assert!(page.contains(".TH quorum 1"), "{page}");
    let page = workspace.quorum(&["man", "dlq", "retry"]).exits(0).stdout;
    assert!(page.contains("quorum\\-dlq\\-retry"), "{page}");
    workspace.quorum(&["man", "--dir", "pages"]).exits(0);
    for page in ["quorum.1", "quorum-run.1", "quorum-agent-ask.1"] {
        assert!(workspace.read(&format!("pages/{page}")).contains(".TH"), "{page}");
    }
    assert!(!workspace.exists("pages/quorum-approvals.1"));
    workspace.quorum(&["man", "nothing"]).exits(2).says(&["no command 'nothing'"]);
    workspace.quorum(&["man", "--json"]).exits(2).says(&["does not print json"]);
}

#[test]
fn a_variable_that_says_nonsense_is_named() {
    let workspace = Workspace::with(ONE);
    for (variable, value) in [
        ("QUORUM_JOBS", "many"),
        ("QUORUM_COLOR", "green"),
        ("QUORUM_PROGRESS", "loud"),
        ("QUORUM_NO_INPUT", "perhaps"),
        ("QUORUM_OFFLINE", "perhaps"),
        ("QUORUM_STRICT", "perhaps"),
        ("QUORUM_CONFIG", "nowhere.yaml"),
        ("QUORUM_LOG", "loud"),
        ("QUORUM_SANDBOX", "perhaps"),
        ("EVAL", "perhaps"),
        ("EVAL_THRESHOLD", "high"),
    ] {
        workspace.quorum_with(&[(variable, value)], &["run"]).exits(2).says(&[variable]);
        assert!(!workspace.exists(".polpo"), "{variable}: something was begun");
        // One that is set to nothing is not set.
        workspace.quorum_with(&[(variable, "")], &["plan"]).exits(0);
    }
}

#[test]
fn a_variable_names_the_settings_and_how_much_is_said() {
    let workspace = Workspace::with(ONE);
    workspace.write("mine.yaml", "settings: {maxRetries: 7}\n");
    let shown = workspace
        .quorum_with(&[("QUORUM_CONFIG", "mine.yaml")], &["config", "show", "--json"])
        .exits(0)
        .json();
    let path = shown["files"]["user"].as_str().unwrap_or_default().to_owned();
    assert!(path.ends_with("mine.yaml"), "{path}");
    let said = |level: &str| {
        let run = workspace.quorum_with(&[("QUORUM_LOG", level)], &["run", "--fresh", "--yes"]);
        run.exits(0).stderr.lines().count()
    };
    let (quiet, usual, verbose) = (said("error"), said("info"), said("debug"));
    assert!(quiet < usual && usual < verbose, "{quiet} {usual} {verbose}");
}

#[test]
fn agents_speak_under_one_name_and_under_those_they_were_told_first() {
    let workspace = Workspace::new();
    for command in ["ask", "progress", "result", "delegate"] {
        let grouped = workspace.quorum(&["agent", command, "text"]).exits(2).stderr;
        assert_eq!(grouped, workspace.quorum(&[command, "text"]).exits(2).stderr);
        assert!(grouped.contains("for agents"), "{grouped}");
    }
}

#[test]
fn a_run_is_named_by_any_part_that_is_its_own() {
    let workspace = Workspace::with(ONE);
    workspace.quorum(&["run", "--run-id", "alpha-1"]).exits(0);
    workspace.quorum(&["run", "--run-id", "alps-2"]).exits(0);
    for run in ["alpha-1", "alpha", "1"] {
        for command in [
            &["status", run, "--json"][..],
            &["inbox", run, "--json"],
            &["review", "--json", "--replay", run],
            &["metrics", run, "--json"],
            &["events", run, "--json"],
            &["report", run, "--to", "json=-"],
        ] {
            let document = workspace.quorum(command).exits(0).json();
            assert_eq!(document["runId"], "alpha-1", "{command:?}");
        }
        workspace.quorum(&["doctor", "state", run]).exits(0);
        workspace.quorum(&["show", "t", "--run", run]).exits(0);
    }
    workspace.quorum(&["status", "al"]).exits(2).says(&["alpha-1", "alps-2"]);
}

#[test]
fn a_mission_without_gates_has_none_to_ask_for() {
    let workspace = Workspace::with(ONE);
    workspace.quorum(&["run"]).exits(0);
    for command in [&["gate"][..], &["gate", "x"]] {
        workspace.quorum(command).exits(2).says(&["has no gates"]);
    }
}

#[test]
fn a_file_with_agents_alone_may_say_who_reviews() {
    let workspace = Workspace::new();
    workspace.write("a.txt", "work");
    workspace
        .write("judges.yaml", "agents: {judge: {run: 'cat > /dev/null; echo SCORE: 80', role: reviewer}}\n");
    // Whether its reply can be read is another matter: it was asked.
    workspace
        .quorum(&["review", "--criteria", "good", "--reviewer", "judge", "--mission", "judges.yaml", "a.txt"])
        .exits(6)
        .says(&["judge"]);
    workspace.write(
        "rows.jsonl",
        "{\"task\": \"t\", \"work\": \"w\", \"dims\": [\"d\"], \"scale\": [1, 5], \"human\": {\"pass\": true}}\n",
    );
    workspace
        .quorum(&[
            "calibrate",
            "rows.jsonl",
            "--reviewers",
            "judge",
            "--record",
            "kept.jsonl",
            "--mission",
            "judges.yaml",
        ])
        .exits(0);
    assert_eq!(workspace.lines("kept.jsonl").len(), 1);
    workspace.write("judges.yaml", "agents: {judge: {run: 'true', rolle: reviewer}}\n");
    workspace
        .quorum(&["review", "--criteria", "good", "--mission", "judges.yaml", "a.txt"])
        .exits(2)
        .says(&["rolle"]);
}

#[test]
fn a_script_that_its_interpreter_will_not_find_is_named_beforehand() {
    let workspace = Mission::new()
        .agent_with("a", json!({"run": ["sh", "agents/x.sh"]}))
        .key("workspace", "work")
        .setting("evaluate", false)
        .setting("maxRetries", 0)
        .tasks(["t"])
        .workspace();
    workspace.quorum(&["run"]).exits(3).says(&["agent 'a': there is no `agents/x.sh` in the workspace"]);
    workspace.write("agents/x.sh", "true\n");
    workspace.quorum(&["run"]).exits(3).says(&["`run: [agents/x.sh]` finds it"]);
    workspace.write("work/agents/x.sh", "true\n");
    let found = workspace.quorum(&["run"]).exits(0);
    assert!(!found.stderr.contains("warning"), "{}", found.stderr);
}

#[test]
#[cfg(not(feature = "temporal"))]
fn a_build_without_workers_refuses_what_only_other_machines_could_do_and_says_why() {
    let workspace = Workspace::new();
    workspace.mission(ONE);
    let run = "20261121-215900-123";
    for (line, what) in [
        ("worker --queue gpu", "work for other machines"),
        ("worker --sessions", "work for other machines"),
        ("run --hosted", "have a session hosted"),
        ("approve RUN.0.1 --via temporal", "ask other machines"),
        ("reject RUN.0.1 --reason no --via temporal", "ask other machines"),
        ("answer RUN.0.1 yes --via temporal", "ask other machines"),
        ("cancel RUN --yes --via temporal", "ask other machines"),
        ("gate g --run RUN --via temporal", "ask other machines"),
        ("inbox RUN --via temporal", "ask other machines"),
        ("status RUN --via temporal", "ask other machines"),
        ("events RUN --via temporal", "ask other machines"),
        ("logs t --run RUN --via temporal", "ask other machines"),
    ] {
        let line = line.replace("RUN", run);
        let words: Vec<&str> = line.split(' ').collect();
        let refused = workspace.quorum(&words).exits(2);
        let why = format!("this build of quorum cannot {what}: it has no workers");
        assert!(
            refused.stderr.contains(&why) && refused.stderr.contains("--features temporal"),
            "{line}: {refused:?}"
        );
        assert_eq!(refused.stdout, "", "{line}");
    }
    workspace.quorum(&["status", run, "--via", "pigeons"]).exits(2).says(&["pigeons"]);
    workspace.mission(&ONE.replace("run: 'true'", "run: 'true', queue: gpu"));
    let refused = workspace.quorum(&["run"]).exits(2);
    refused.says(&["mission.yaml:1", "this build of quorum hands no work to other machines"]);
    assert!(!workspace.exists(".polpo/runs"));
}
