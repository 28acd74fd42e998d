//! `quorum show` and `quorum logs`: everything about one task, during a run and after it.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::journal;
use crate::support::{Has, Mission, Says, Workspace, wait_for, wait_for_file};

fn reworked() -> Workspace {
    let workspace = Mission::new()
        .worker("echo attempt $QUORUM_ATTEMPT; echo grumble $QUORUM_ATTEMPT >&2")
        .agent("breaker", "exit 3")
        .judge("judge", &[r#"{"scores": {"depth": {"reasoning": "bees buzz", "score": 4}}, "findings": [{"severity": "low", "description": "one typo"}]}"#])
        .task("write the page", |t| t.set("description", "A page about bees.").check("test $QUORUM_ATTEMPT -gt 1 || { echo too early; exit 1; }").expects(json!({
            "type": "llm_review",
            "criteria": "bees are praised",
            "reviewers": 1,
            "dimensions": [{"name": "depth", "weight": 1}],
        })))
        .task("broken", |t| t.by("breaker").attempts(1))
        .task("behind", |t| t.needs("broken"))
        .workspace();
    workspace.run_json(3, &[]);
    workspace
}

fn show(workspace: &Workspace, arguments: &[&str]) -> Value {
    let arguments = [&["show", "--json"], arguments].concat();
    workspace.quorum(&arguments).exits(0).json()
}

#[test]
fn show_tells_everything_about_a_task() {
    let workspace = reworked();
    let shown = show(&workspace, &["write the page"]);
    assert_eq!(shown["schema"], "quorum.show/v1");
    assert_eq!(shown["description"], "A page about bees.");
    assert_eq!(shown["criteria"], "bees are praised");
    assert_eq!((&shown["task"]["status"], &shown["task"]["qualityFlag"]), (&json!("done"), &json!("clean")));
    let attempts = shown["attempts"].as_array().unwrap();
    assert_eq!(attempts.len(), 2);
    let (first, second) = (&attempts[0], &attempts[1]);
    first.has(json!({"kind": "execute", "verdict": "fail", "cause": "checks"}));
    assert_eq!(first["checks"][0]["passed"], false);
    assert!(first["stages"][0]["findings"][0]["description"].as_str().unwrap().contains("too early"));
    let turn = &first["turns"][0];
    assert_eq!((&turn["exitCode"], &turn["state"]), (&json!(0), &json!("finished")));
    assert_eq!(turn["output"]["preview"], "attempt 1\n");
    assert_eq!(turn["stderr"]["preview"], "grumble 1\n");
    for file in ["prompt", "output", "stderr"] {
        assert!(Path::new(turn[file]["path"].as_str().unwrap()).is_file(), "{turn:#}");
    }
    assert!(second["turns"][0]["prompt"]["preview"].as_str().unwrap().contains("too early"));
    assert_eq!((&second["kind"], &second["verdict"]), (&json!("fix"), &json!("pass")));
    let review = &second["reviews"][0];
    assert_eq!((&review["reviewer"], &review["state"]), (&json!("judge"), &json!("scored")));
    assert_eq!(
        review["dimensions"],
        json!([{"dimension": "depth", "score": 4.0, "outlier": false, "reasoning": "bees buzz"}])
    );
    assert_eq!(review["findings"][0]["description"], "one typo");
    assert!(Path::new(review["reply"]["path"].as_str().unwrap()).is_file());

    let only = show(&workspace, &["write the page", "--attempt", "2"]);
    assert_eq!(only["attempts"].as_array().unwrap().len(), 1);
    assert_eq!(only["attempts"][0]["n"], 2);
}

#[test]
fn show_for_people_and_for_tasks_that_failed_or_never_started() {
    let workspace = reworked();
    let page = workspace.quorum(&["show", "write the page", "--full"]).exits(0).stdout;
    page.says(&["A page about bees.", "attempt 1, execute: fail (checks)", "too early"]);
    page.says(&["attempt 2, fix: pass", "review by judge", "bees buzz", "[low] one typo", "| attempt 2"]);
    // Without it: the verdict, what was found, what was said last; paths from where it was typed.
    let short = workspace.quorum(&["show", "write the page"]).exits(0).stdout;
    short.says(&[
        "attempt 1, execute: fail (checks)",
        "attempt 2, fix: pass",
        "[low] one typo",
        "| attempt 2",
    ]);
    short.omits(&["prompt:", "reply:", &workspace.root().to_string_lossy()]);
    short.says(&["output: .polpo/runs/"]);
    let broken = show(&workspace, &["broken"]);
    assert_eq!(broken["task"]["failure"]["mode"], "error");
    assert_eq!(broken["attempts"][0]["turns"][0]["exitCode"], 3);
    let behind = show(&workspace, &["behind"]);
    behind.has(json!({"task": {"failure": {"mode": "cascade"}}, "attempts": []}));
}

#[test]
fn a_misspelt_task_and_an_attempt_that_was_not_are_usage_errors() {
    let workspace = reworked();
    for command in ["show", "logs"] {
        workspace.quorum(&[command, "write the pgae"]).exits(2).says(&["did you mean 'write the page'?"]);
        let ended = workspace.quorum(&[command, "write the page", "--attempt", "7"]).exits(2);
        ended.says(&["no attempt 7", "its attempts are: 1, 2"]);
        workspace.quorum(&[command, "broken", "--run", "nothing"]).exits(2).says(&["no run 'nothing'"]);
    }
}

#[test]
fn logs_are_what_the_agent_said_and_nothing_else() {
    let workspace = reworked();
    let logs = |more: &[&str]| {
        let arguments = [&["logs", "write the page"], more].concat();
        workspace.quorum(&arguments).exits(0)
    };
    let all = logs(&[]);
    assert_eq!(all.stdout, "attempt 1\nattempt 2\n");
    assert!(all.stderr.contains("attempt 2, turn 1"), "{}", all.stderr);
    assert_eq!(logs(&["--attempt", "2"]).stdout, "attempt 2\n");
    assert_eq!(logs(&["--stderr"]).stdout, "grumble 1\ngrumble 2\n");
    // The task has ended, so there is nothing to wait for.
    assert_eq!(logs(&["-f"]).stdout, "attempt 1\nattempt 2\n");
    let document = logs(&["--json"]).json();
    assert_eq!(document["schema"], "quorum.logs/v1");
    assert_eq!(document["turns"][1]["text"], "attempt 2\n");
    workspace.quorum(&["logs", "broken", "-f", "--json"]).exits(2).says(&["cannot be followed"]);
}

#[test]
fn followed_logs_come_while_the_agent_speaks_and_end_with_the_task() {
    let workspace = Mission::new()
        .key("name", "followed")
        .worker("echo early; echo > started; while [ ! -e go ]; do sleep 0.02; done; echo late")
        .agent("slow", "while [ ! -e end ]; do sleep 0.02; done")
        .tasks(["one"])
        .task("two", |t| t.by("slow"))
        .workspace();
    let running = workspace.start(&["run", "mission.yaml"]);
    wait_for_file(&workspace.path("started"));
    let follower = workspace
        .other_command("bash")
        .args(["-c", "\"$0\" logs one -f > followed", crate::support::BINARY])
        .spawn()
        .unwrap();
    wait_for("the agent's first words", || workspace.read("followed") == "early\n");
    workspace.write("go", "");
    // The other task still runs: the end of this one is enough.
    let mut follower = follower;
    assert!(follower.wait().unwrap().success());
    assert_eq!(workspace.read("followed"), "early\nlate\n");
    workspace.write("end", "");
    running.finish().exits(0);
}

#[test]
fn a_running_turns_output_is_found_even_if_it_has_no_name() {
    let workspace = Mission::new()
        .worker("echo early; echo > started; while [ ! -e go ]; do sleep 0.02; done")
        .tasks(["one"])
        .workspace();
    let running = workspace.start(&["run", "mission.yaml"]);
    wait_for_file(&workspace.path("started"));
    let named = workspace.run_folder().join(journal::turn_file(0, 1, 1, "out"));
    if named.exists() {
        std::fs::rename(&named, workspace.path("elsewhere")).unwrap();
    }
    wait_for("the output of the process", || workspace.quorum(&["logs", "one"]).stdout == "early\n");
    if workspace.exists("elsewhere") {
        std::fs::rename(workspace.path("elsewhere"), &named).unwrap();
    }
    workspace.write("go", "");
    running.finish().exits(0);
}

#[test]
fn a_watched_status_shows_changes_until_the_session_ends() {
    let workspace = Mission::new()
        .agent("a", "echo > started; while [ ! -e go ]; do sleep 0.02; done")
        .task("one", |t| t.unreviewed())
        .task("two", |t| t.unreviewed().needs("one"))
        .workspace();
    let run = workspace.start(&["run", "mission.yaml"]);
    wait_for_file(&workspace.path("started"));
    let watch = workspace.start(&["status", "--watch"]);
    workspace.write("go", "");
    run.finish().exits(0);
    let watched = watch.finish().exits(0);
    let last = watched.stdout.rfind("run ").expect("a table was shown");
    watched.stdout[last..].says(&["ended", "2 of 2 done"]);
    // Nobody works any more: it is shown once.
    workspace.quorum(&["status", "--watch"]).exits(0).shows(&["ended"]);
}
