//! `quorum config show`: every layer is named, and the strongest wins.

use serde_json::{Value, json};

use crate::support::{Mission, Workspace};

fn mission() -> Mission {
    Mission::new().agent("a", "true").setting("maxRetries", 5).setting("evalThreshold", 70).tasks(["one"])
}

/// A mission over a project's file over a user's file, each with settings.
fn layered() -> Workspace {
    let workspace = mission().workspace();
    workspace.write("quorum.yaml", "settings: {maxRetries: 1, taskTimeout: 5m, concurrency: 3}\n");
    workspace.write(
        "home/.config/quorum/quorum.yaml",
        "settings: {maxRetries: 0, taskTimeout: 1m, consensus: mean, clarification: enforce, panel: adaptive, \
         middleware: {agent: [authority_deference]}}\n",
    );
    workspace
}

/// Value, layer and source of a setting.
fn setting<'a>(document: &'a Value, name: &str) -> (&'a Value, &'a str, &'a str) {
    let rows = document["settings"].as_array().expect("a list");
    let row = rows.iter().find(|row| row["name"] == name);
    let row = row.unwrap_or_else(|| panic!("no setting '{name}' in {document:#}"));
    let text = |key: &str| row[key].as_str().unwrap_or_default();
    (&row["value"], text("origin"), text("source"))
}

#[test]
fn each_setting_comes_from_the_strongest_layer() {
    let workspace = layered();
    let document = workspace
        .quorum_with(
            &[("EVAL_THRESHOLD", "80"), ("QUORUM_STRICT", "true")],
            &["config", "show", "--json", "-j", "7", "--allow", "gate_failed"],
        )
        .exits(0)
        .json();
    assert_eq!(document["schema"], "quorum.config/v1");
    let project = workspace.path("quorum.yaml");
    let user = workspace.path("home/.config/quorum/quorum.yaml");
    let paths = [&project, &user].map(|path| path.canonicalize().expect("it is there"));
    for (name, value, layer, source) in [
        ("concurrency", "7", "flag", "--jobs"),
        ("evalThreshold", "80.0", "environment", "EVAL_THRESHOLD"),
        ("strict", "true", "environment", "QUORUM_STRICT"),
        ("allow", "[\"gate_failed\"]", "flag", "--allow"),
        ("maxRetries", "5", "mission", "mission.yaml"),
        ("taskTimeout", "\"5m\"", "project", paths[0].to_str().unwrap_or_default()),
        ("consensus", "\"mean\"", "user", paths[1].to_str().unwrap_or_default()),
        ("clarification", "\"enforce\"", "user", paths[1].to_str().unwrap_or_default()),
        ("middleware.agent", "[\"authority_deference\"]", "user", paths[1].to_str().unwrap_or_default()),
        ("panel", "\"adaptive\"", "user", paths[1].to_str().unwrap_or_default()),
        ("onDependencyFailed", "[\"resolve\",\"skip\"]", "default", ""),
        (
            "middleware.coordination",
            "[\"clarification_gate\",\"task_ledger\",\"plan_review_gate\",\"progress_ledger\",\"coordination_replan\",\
             \"authority_deference_coordination\"]",
            "default",
            "",
        ),
        ("maxFixAttempts", "2", "default", ""),
        ("timeout", "null", "default", ""),
    ] {
        let (found, by, place) = setting(&document, name);
        assert_eq!((found.to_string().as_str(), by), (value, layer), "{name}");
        let is_there = place == source || place.ends_with(source);
        assert!(is_there, "{name}: {place}");
    }
}

#[test]
fn without_files_all_is_default() {
    let workspace = Workspace::new();
    let document = workspace.quorum(&["config", "show", "--json"]).exits(0).json();
    for row in document["settings"].as_array().expect("a list") {
        assert_eq!(row["origin"], "default", "{row}");
    }
    assert_eq!(setting(&document, "evalThreshold").0, 60.0);
    let off = workspace.quorum_with(&[("EVAL", "off")], &["config", "show", "--json"]).exits(0).json();
    assert_eq!(setting(&off, "evaluate"), (&false.into(), "environment", "EVAL"));
}

#[test]
fn people_see_a_table_and_where_things_come_from_if_they_ask() {
    let workspace = layered();
    workspace.quorum(&["config", "show"]).exits(0).shows(&["maxRetries"]).hides(&["mission.yaml"]);
    let ended = workspace.quorum(&["config", "show", "--origin"]).exits(0);
    ended.shows(&["mission: mission.yaml", "quorum.yaml"]);
}

#[test]
fn a_mission_that_is_wrong_is_said() {
    let workspace = Workspace::with("name: m\n");
    workspace.quorum(&["config", "show"]).exits(2).says(&["Q0301"]);
    workspace.quorum(&["config", "show", "--mission", "nowhere.yaml"]).exits(2).says(&["nowhere.yaml"]);
}

#[test]
fn every_key_has_a_row_with_its_value_and_where_it_comes_from() {
    let workspace = Mission::new()
        .key("name", "m")
        .agent("a", "true")
        .key("budget", json!({"maxTokens": 9}))
        .setting("protect", ["a"])
        .setting("sla", json!({"warningThreshold": 0.5}))
        .tasks(["one"])
        .workspace();
    workspace.write(
        "quorum.yaml",
        "settings: {protect: [b], budget: {maxTokens: 7, maxTime: 2h}, prices: {m: {input: 1, output: 2}}, \
         sla: {violationAction: fail}}\n",
    );
    let show =
        |flags: &[&str]| workspace.quorum(&[&["config", "show", "--json"], flags].concat()).exits(0).json();
    let document = show(&["--max-cost", "3"]);
    for (name, value, layer) in [
        ("protect", "[\"a\",\"b\"]", "mission"),
        ("budget.maxTokens", "9", "mission"),
        ("budget.maxTime", "\"2h\"", "project"),
        ("budget.maxCost", "3.0", "flag"),
        ("prices", r#"{"m":{"input":1.0,"output":2.0}}"#, "project"),
        ("sla.warningThreshold", "0.5", "mission"),
        ("sla.violationAction", "\"fail\"", "project"),
        ("sla.checkIntervalMs", "30000", "default"),
        ("maxWindowWait", "\"6h\"", "default"),
    ] {
        let (found, by, _) = setting(&document, name);
        assert_eq!((found.to_string().as_str(), by), (value, layer), "{name}");
    }
    assert!(setting(&document, "protect").2.contains("quorum.yaml"), "both files count");
    // Nothing that a file may say is left out.
    let schema = workspace.quorum(&["schema", "config", "settings", "--json"]).exits(0).json();
    for key in schema["keys"].as_array().expect("keys") {
        let name = key["name"].as_str().unwrap_or_default();
        let rows = document["settings"].as_array().expect("rows").iter();
        let mut rows = rows.filter_map(|row| row["name"].as_str());
        assert!(rows.any(|row| row == name || row.starts_with(&format!("{name}."))), "no row for {name}");
    }
    let origin = workspace.quorum(&["config", "show", "--origin"]).exits(0).stdout;
    let concurrency = origin.lines().find(|line| line.starts_with("concurrency")).expect("a row");
    assert!(concurrency.len() < 80, "{concurrency}");
    assert!(origin.contains("evalThreshold ") && !origin.contains("60.0"), "{origin}");
}
