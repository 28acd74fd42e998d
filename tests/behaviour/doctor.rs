//! `quorum doctor`: what is missing is found before anything is spent.

use serde_json::{Value, json};

use crate::support::{Mission, Running, Workspace, wait_for_file};

fn fit(program: Value) -> Workspace {
    let judge =
        json!({"adapter": "openai", "baseUrl": "http://127.0.0.1:9/v1", "model": "m", "role": "reviewer"});
    Mission::new()
        .agent_with("worker", json!({"run": program, "env": {"TOKEN": "${MY_TOKEN}"}}))
        .agent_with("judge", judge)
        .tasks(["one"])
        .workspace()
}

/// Status and message of a check.
fn check<'a>(document: &'a Value, name: &str) -> (&'a str, &'a str) {
    let checks = document["checks"].as_array().expect("a list");
    let check = checks.iter().find(|check| check["name"] == name);
    let check = check.unwrap_or_else(|| panic!("no check '{name}' in {document:#}"));
    let text = |key: &str| check[key].as_str().unwrap_or_default();
    (text("status"), text("message"))
}

#[test]
fn a_fit_machine_passes_and_nothing_is_touched() {
    let workspace = fit(json!(["sh", "-c", "true"]));
    let secret = [("MY_TOKEN", "very-secret")];
    let done = workspace.quorum_with(&secret, &["doctor", "--json"]).exits(0);
    assert!(!done.stdout.contains("very-secret"));
    let document = done.json();
    assert_eq!((&document["schema"], &document["ok"]), (&"quorum.doctor/v1".into(), &true.into()));
    for name in ["state folder", "lock", "locale", "clock", "mission", "agent judge"] {
        assert_eq!(check(&document, name).0, "ok", "{name}: {document:#}");
    }
    // As root, or where the system does not allow it, it is a warning.
    assert_ne!(check(&document, "confinement").0, "fail");
    let has_workers = cfg!(feature = "temporal");
    assert_eq!(check(&document, "workers").0, if has_workers { "ok" } else { "skipped" });
    let (status, place) = check(&document, "agent worker");
    assert!(status == "ok" && place.starts_with('/') && place.ends_with("/sh"), "{place}");
    assert_eq!(check(&document, "variables of worker"), ("ok", "set: MY_TOKEN"));
    assert_eq!(check(&document, "endpoints").0, "skipped");
    assert!(check(&document, "reviewers").1.contains("judge"));
    assert!(!workspace.exists(".polpo"), "looking made the state folder");
    workspace.quorum_with(&secret, &["doctor"]).exits(0).shows(&["ok       agent worker", "0 failed"]);
}

#[test]
fn what_is_missing_is_named_all_at_once() {
    let workspace = fit(json!(["no-such-program"]));
    let document = workspace.quorum(&["doctor", "--json"]).exits(9).json();
    assert_eq!(document["ok"], false);
    let (status, message) = check(&document, "agent worker");
    assert!(status == "fail" && message.contains("no-such-program"), "{message}");
    assert_eq!(check(&document, "variables of worker"), ("fail", "not set: MY_TOKEN"));
}

#[test]
fn an_agent_that_no_task_needs_is_only_a_warning() {
    let workspace = Mission::new()
        .agent("a", "true")
        .agent_with("idle", json!({"run": ["no-such-program"]}))
        .tasks(["one"])
        .workspace();
    let document = workspace.quorum(&["doctor", "--json"]).exits(0).json();
    assert_eq!(check(&document, "agent idle").0, "warn", "{document:#}");
}

#[test]
fn a_review_that_nobody_can_give_is_found() {
    let workspace =
        Mission::new().agent("a", "true").task("one", |t| t.set("review", "required")).workspace();
    let document = workspace.quorum(&["doctor", "--json"]).exits(9).json();
    assert_eq!(check(&document, "reviewers").0, "fail");
    Mission::new().agent("a", "true").tasks(["one"]).write(&workspace);
    let document = workspace.quorum(&["doctor", "--json"]).exits(0).json();
    let (status, message) = check(&document, "reviewers");
    assert!(status == "warn" && message.contains("'one'"), "{message}");
}

#[test]
fn without_a_mission_its_agents_are_skipped_and_a_wrong_one_fails() {
    let workspace = Workspace::new();
    let document = workspace.quorum(&["doctor", "--json"]).exits(0).json();
    assert_eq!(check(&document, "mission").0, "skipped");
    workspace.mission("name: m\n");
    let document = workspace.quorum(&["doctor", "--json"]).exits(9).json();
    assert!(check(&document, "mission").1.contains("quorum validate"));
}

#[test]
fn the_holder_of_the_lock_is_named_and_a_stale_lock_is_free() {
    let workspace = Mission::new().agent("a", "echo x > started; sleep 60").tasks(["one"]).workspace();
    let run: Running = workspace.start(&["run", "mission.yaml"]);
    wait_for_file(&workspace.path("started"));
    let pid = format!("process {}", run.pid().as_raw_nonzero());
    let document = workspace.quorum(&["doctor", "--json"]).exits(0).json();
    let (status, message) = check(&document, "lock");
    assert!(status == "warn" && message.contains(&pid), "{message}");
    run.kill();
    let document = workspace.quorum(&["doctor", "--json"]).exits(0).json();
    let (status, message) = check(&document, "lock");
    assert!(status == "ok" && message.contains("free (stale"), "{message}");
    // Behind a session that ended in order nothing is stale.
    Mission::new().agent("a", "true").tasks(["two"]).write(&workspace);
    workspace.quorum(&["run", "mission.yaml"]).exits(0);
    let document = workspace.quorum(&["doctor", "--json"]).exits(0).json();
    assert_eq!(check(&document, "lock"), ("ok", "free"));
}

#[test]
fn a_state_folder_of_a_newer_version_fails() {
    let workspace = Workspace::new();
    workspace.write(".polpo/VERSION", "99\n");
    let document = workspace.quorum(&["doctor", "--json"]).exits(9).json();
    assert!(check(&document, "state folder").1.contains("99"));
}
