//! `quorum dlq`: what failed for good, tried again by itself and by hand.

use serde_json::{Value, json};

use crate::support::journal;

use crate::support::{Has, Mission, Workspace, wait_for_file};

/// A mission that is told by a command.
fn told_by(channel: &str) -> Mission {
    Mission::new()
        .key("name", "m")
        .key("channels", json!({"ops": {"type": "command", "run": channel}}))
        .agent("w", "true")
        .setting("defaultChannels", ["ops"])
        .tasks(["t"])
}

fn letters(workspace: &Workspace) -> Vec<Value> {
    let document = workspace.quorum(&["dlq", "list", "--all", "--json"]).exits(0).json();
    document["letters"].as_array().expect("a list").clone()
}

fn only(workspace: &Workspace) -> Value {
    match letters(workspace).as_slice() {
        [one] => one.clone(),
        other => panic!("not one: {other:?}"),
    }
}

fn failed() -> (Workspace, String) {
    let workspace = told_by("test -e receiver-is-up || exit 7; cat >> told").workspace();
    workspace.quorum(&["run", "mission.yaml"]).exits(0);
    let id = only(&workspace)["id"].as_str().expect("it has an id").to_owned();
    (workspace, id)
}

#[test]
fn a_letter_is_tried_again_by_hand_until_it_is_done() {
    let (workspace, id) = failed();
    workspace.quorum(&["dlq", "show", &id]).exits(0).shows(&["notify:ops", "it exited 7"]);
    // Its receiver is still down.
    let again = workspace.quorum(&["dlq", "retry", &id, "--json"]).exits(4).json();
    assert_eq!((&again["letter"]["status"], &again["letter"]["retryCount"]), (&"pending".into(), &1.into()));
    workspace.write("receiver-is-up", "");
    let done = workspace.quorum(&["dlq", "retry", &id, "--json"]).exits(0).json();
    assert_eq!(done["letter"]["status"], "resolved");
    let told: Value = serde_json::from_str(&workspace.read("told")).expect("it got JSON");
    assert_eq!(told["id"].as_str(), Some(&*id), "the same notification under the same id");
    // What is done is not done twice.
    workspace.quorum(&["dlq", "retry", &id]).exits(0);
    assert_eq!(workspace.read("told").lines().count(), 1);
    let none = workspace.quorum(&["dlq", "list"]).exits(0).stdout;
    assert_eq!(none, "there are no dead letters\n");
}

#[test]
fn after_three_tries_more_it_is_abandoned() {
    let (workspace, id) = failed();
    for status in ["pending", "pending", "abandoned"] {
        let again = workspace.quorum(&["dlq", "retry", &id, "--json"]).exits(4).json();
        assert_eq!(again["letter"]["status"], status);
    }
    assert_eq!(only(&workspace)["retryCount"], 3);
}

#[test]
fn a_person_closes_letters_with_a_reason() {
    let (workspace, id) = failed();
    let closed =
        workspace.quorum(&["dlq", "abandon", &id, "--reason", "the team is gone", "--json"]).exits(0).json();
    closed["letter"].has(json!({"status": "abandoned", "note": "the team is gone"}));
    let closed = workspace.quorum(&["dlq", "resolve", &id, "--json"]).exits(0).json();
    assert_eq!(closed["letter"]["status"], "resolved");
    for verb in ["show", "retry", "resolve", "abandon"] {
        let ended = workspace.quorum(&["dlq", verb, "nothing.n1"]).exits(2);
        ended.says(&["there is no dead letter 'nothing.n1'"]);
    }
}

/// Makes a letter older than it is, as time would.
fn age(workspace: &Workspace, change: impl Fn(&mut Value)) {
    let text = workspace.read(".polpo/dead-letters.jsonl");
    let mut lines = String::new();
    for line in text.lines() {
        let mut letter: Value = serde_json::from_str(line).expect("a line is JSON");
        change(&mut letter);
        lines.push_str(&journal::sealed(&letter.to_string()));
        lines.push('\n');
    }
    workspace.write(".polpo/dead-letters.jsonl", lines);
}

fn quiet() -> String {
    Mission::new().agent("w", "true").tasks(["u"]).yaml()
}

#[test]
fn the_start_of_a_run_tries_what_is_due_and_of_a_class_that_may_pass() {
    let (workspace, _) = failed();
    workspace.write("receiver-is-up", "");
    workspace.write("quiet.yaml", quiet());
    let due = |letter: &mut Value| letter["nextRetry"] = "2020-01-01T00:00:00.000Z".into();
    // `exit 7` may mean anything: nothing tries it by itself.
    workspace.quorum(&["run", "quiet.yaml"]).exits(0);
    assert_eq!(
        (only(&workspace)["status"].as_str(), &only(&workspace)["nextRetry"]),
        (Some("pending"), &Value::Null)
    );
    // What may pass has its time.
    age(&workspace, |letter| letter["nextRetry"] = "2099-01-01T00:00:00.000Z".into());
    workspace.quorum(&["run", "quiet.yaml"]).exits(0);
    assert_eq!(only(&workspace)["status"], "pending");
    // Another mission's run delivers it, over the channel of the run that failed to.
    age(&workspace, due);
    workspace.quorum(&["run", "quiet.yaml"]).exits(0);
    assert_eq!(only(&workspace)["status"], "resolved");
    let told: Value = serde_json::from_str(&workspace.read("told")).expect("it got JSON");
    assert_eq!(told["mission"], "m");
}

#[test]
fn what_a_killed_process_left_in_the_middle_is_pending_again() {
    let (workspace, _) = failed();
    workspace.write("quiet.yaml", quiet());
    age(&workspace, |letter| letter["status"] = "retrying".into());
    workspace.quorum(&["run", "quiet.yaml"]).exits(0);
    let letter = only(&workspace);
    assert_eq!((letter["status"].as_str(), &letter["retryCount"]), (Some("pending"), &0.into()));
}

#[test]
fn while_a_session_works_it_alone_tries_letters_again() {
    let (workspace, id) = failed();
    workspace.write("receiver-is-up", "");
    let busy = Mission::new().agent("w", "echo > begun; while [ ! -e end ]; do sleep 0.05; done");
    workspace.write("busy.yaml", busy.tasks(["u"]).yaml());
    let session = workspace.start(&["run", "busy.yaml"]);
    wait_for_file(&workspace.path("begun"));
    workspace.quorum(&["dlq", "retry", &id]).exits(9).says(&["is held by process", "wait until it ends"]);
    // What only says what becomes of it needs no session's word.
    workspace.quorum(&["dlq", "abandon", &id]).exits(0);
    workspace.write("end", "");
    session.finish().exits(0);
    workspace.quorum(&["dlq", "retry", &id]).exits(0);
    assert_eq!(workspace.read("told").lines().count(), 1);
}

#[test]
fn a_damaged_queue_is_said_and_stops_no_run() {
    let (workspace, _) = failed();
    workspace.bash("sed -i s/notify/notifx/ .polpo/dead-letters.jsonl").exits(0);
    workspace.quorum(&["dlq", "list"]).exits(9).says(&["line 1"]);
    workspace.write("quiet.yaml", quiet());
    workspace.quorum(&["run", "quiet.yaml"]).exits(0).says(&["dead letters are not tried again"]);
}

#[test]
fn a_judge_that_cannot_be_asked_is_a_letter_that_its_run_asks_again() {
    let workspace = Mission::new()
        .agent("w", "true")
        .reviewer("j", "echo HTTP 401 Unauthorized >&2; exit 1")
        .task("t", |t| t.expects(json!({"type": "llm_review", "criteria": "good", "reviewers": ["j"]})))
        .workspace();
    workspace.quorum(&["run", "mission.yaml"]).exits(6);
    let letter = only(&workspace);
    letter.has(json!({"operation": "judge:j", "category": "provider_auth", "args": {"task": "t"}}));
    let id = letter["id"].as_str().expect("it has an id");
    workspace.quorum(&["dlq", "retry", id]).exits(2).says(&["quorum resume"]);
    // Asked again and failed again: the same letter.
    workspace.quorum(&["resume"]).exits(6);
    assert_eq!(only(&workspace)["id"].as_str(), Some(id));
    workspace.quorum(&["dlq", "resolve", id]).exits(0);
}

#[test]
fn an_agent_changes_no_letter() {
    let workspace = Mission::new()
        .agent_with(
            "w",
            json!({
                "run": r#""$QUORUM_BINARY" dlq resolve x 2> said; test $? = 9"#,
                "env": {"QUORUM_BINARY": "${QUORUM_BINARY}"},
            }),
        )
        .tasks(["t"])
        .workspace();
    let binary = env!("CARGO_BIN_EXE_quorum");
    workspace.quorum_with(&[("QUORUM_BINARY", binary)], &["run", "mission.yaml"]).exits(0);
    assert!(workspace.read("said").contains("refused to agents"), "{}", workspace.read("said"));
}

/// Attack: a letter of an honest run, copied and made to say something else, with the right checksum and due by itself.
#[test]
fn a_letter_that_no_journal_tells_of_is_delivered_to_nobody() {
    let (workspace, id) = failed();
    let queue = ".polpo/dead-letters.jsonl";
    let honest = workspace.read(queue);
    let body = honest.trim_end();
    let forged = |text: &str| journal::sealed(text) + "\n";
    assert_eq!(forged(body), honest, "this is how a letter is written");
    workspace.write("receiver-is-up", "");
    for (what, changed) in [
        ("the words", body.replace("run:finished", "FORGED:finished")),
        ("the id", body.replace(".n1", ".n9").replace(&id, &format!("{id}0"))),
    ] {
        let past = changed.replace("\"nextRetry\":\"20", "\"nextRetry\":\"19");
        assert!(past != *body, "{what}");
        workspace.write(queue, forged(&past));
        let letter = only(&workspace)["id"].as_str().expect("it has an id").to_owned();
        let again = workspace.quorum(&["dlq", "retry", &letter, "--json"]).exits(4).json();
        let error = again["letter"]["error"].to_string();
        assert!(error.contains("no journal"), "{what}: {error}");
        workspace.write(queue, forged(&past));
        let before = workspace.read("told");
        workspace.quorum(&["run", "mission.yaml", "--fresh", "--yes"]).exits(0);
        let told = workspace.read("told");
        let told = told.strip_prefix(&before).expect("it only grows");
        // The run tells of its own end, and of nothing else.
        assert_eq!(told.lines().count(), 1, "{what}: {told}");
        assert!(!told.contains("FORGED") && !told.contains(&letter), "{what}: {told}");
    }
    workspace.write(queue, &honest);
    workspace.quorum(&["dlq", "retry", &id]).exits(0);
}

#[test]
fn a_tool_call_that_timed_out_for_good_is_a_dead_letter() {
    use crate::support::model::{Model, results, says, wants};
    let model = Model::new(|body| match results(body).len() {
        // The first runs out of its time and is made again, which goes well; the second never does.
        0 | 2 => wants(&[(
            "run",
            json!({"shell": "test -e warm || { touch warm; sleep 60; }", "timeoutSeconds": 1}),
        )]),
        1 => wants(&[("run", json!({"shell": "sleep 61", "timeoutSeconds": 1}))]),
        _ => says("I tried."),
    });
    let workspace = Mission::new()
        .model("w", &model, json!({"tools": ["run"]}))
        .task("work", |t| t.unreviewed())
        .workspace();
    workspace.run_json(0, &[]);
    let letter = only(&workspace);
    letter.has(json!({
        "operation": "tool:run", "category": "timeout", "status": "pending", "args": {"task": "work"},
    }));
    assert!(letter["args"]["arguments"].to_string().contains("sleep 61"), "{letter}");
    let id = letter["id"].as_str().unwrap();
    // It was a step of an agent's work: nothing makes it again by itself.
    workspace.quorum(&["dlq", "retry", id]).exits(2).says(&["'tool:run' cannot be tried again from here"]);
}

#[test]
fn what_cannot_be_put_into_the_queue_at_the_end_is_told() {
    let workspace = told_by("mkdir -p .polpo/dead-letters.jsonl; exit 7").workspace();
    let ran = workspace.quorum(&["run", "mission.yaml", "-q"]).exits(0);
    let told = ran.stderr.lines().find(|line| line.starts_with("warning: "));
    assert!(told.is_some_and(|line| line.contains("dead-letters.jsonl")), "{}", ran.stderr);
}
