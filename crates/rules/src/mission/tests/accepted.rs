//! Missions that load, and what they are read as.

use std::fs;
use std::path::Path;

use super::*;
use crate::domain::{BarOrigin, Points};
use crate::mission::model::{Expectation, Reviewers as Written};

fn fixture(name: &str) -> Loaded {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/missions").join(name);
    match load(&Source::new(name, fs::read(path).unwrap()), &Layers::default()) {
        Ok(loaded) => loaded,
        Err(report) => panic!("{name}:\n{}", report.render(DiagnosticStyle::default())),
    }
}

#[test]
fn the_example_loads_without_notes() {
    let loaded = fixture("example.yaml");
    assert_eq!(loaded.mission.tasks.len(), 2);
    assert!(loaded.notes.diagnostics.is_empty());
}

#[test]
fn the_seeds_fragments_load() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/missions");
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let seeds: Vec<_> = names.filter(|name| name.starts_with("seed-")).collect();
    assert_eq!(seeds.len(), 6);
    for name in seeds {
        fixture(&name);
    }
    let rubric = fixture("seed-rubric.json").mission;
    let Expectation::Review(review) = &rubric.tasks[0].expectations[0] else { panic!("not a review") };
    assert_eq!(review.dimensions[0].rubric.len(), 5);
    assert_eq!(review.dimensions[0].rubric[0].0, 1);
}

#[test]
fn texts_that_yaml_takes_for_something_else_stay_texts() {
    let text = with_tasks(
        "  - {title: yes, assignTo: a, description: 012}\n  - {title: 1.0, assignTo: a, dependsOn: [yes, No]}\n  \
         - {title: No, assignTo: a, tags: [0x1F, 2030-01-01, true]}\n",
    );
    let mission = load_text(&text).unwrap().mission;
    let titles: Vec<_> = mission.tasks.iter().map(|task| &*task.title).collect();
    assert_eq!(titles, ["yes", "1.0", "No"]);
    assert_eq!(mission.tasks[0].description.as_deref(), Some("012"));
    assert_eq!(mission.tasks[2].tags.join(" "), "0x1F 2030-01-01 true");
}

#[test]
fn json_escapes_and_yaml_blocks_are_read() {
    let json =
        r#"{"name": "\u00e9\/\ud83d\ude00", "agents": {"a": {"run": ["x"]}}, "tasks": [{"title": "t\"q"}]}"#;
    let mission = load_text(json).unwrap().mission;
    assert_eq!((&*mission.name, &*mission.tasks[0].title), ("é/😀", "t\"q"));
    let yaml = "\u{feff}name: m\r\nagents: {a: {run: x}}\r\ntasks:\r\n- title: t\r\n  description: |\r\n    one\r\n    two\r\n";
    let mission = load_text(yaml).unwrap().mission;
    assert_eq!(mission.tasks[0].description.as_deref(), Some("one\ntwo\n"));
}

#[test]
fn anchors_and_own_keys_save_writing() {
    let text = "x-base: &base {run: [x], timeout: 5m}\nname: m\nagents:\n  a: {<<: *base, timeout: 1m}\n  b: *base\n\
                tasks: [{title: t, assignTo: a, x-note: mine}]\n";
    let mission = load_text(text).unwrap().mission;
    let timeouts: Vec<_> = mission.agents.0.iter().map(|(_, agent)| agent.timeout.unwrap().0).collect();
    assert_eq!(timeouts, [60_000, 300_000]);
}

#[test]
fn null_is_the_same_as_leaving_out() {
    let text = with_tasks("  - {title: t, assignTo: a, description: , dependsOn: ~, expectations: null}\n")
        + "settings:\n";
    let task = &load_text(&text).unwrap().mission.tasks[0];
    assert_eq!((task.description.is_none(), task.depends_on.len(), task.expectations.len()), (true, 0, 0));
}

#[test]
fn the_forms_of_reviewers() {
    for (text, expected) in
        [("2", Written::Seats(2)), ("[b, b]", Written::Named(vec!["b".into(), "b".into()]))]
    {
        let text = with_tasks(&format!(
            "  - {{title: t, assignTo: a, expectations: [{{type: llm_review, criteria: c, reviewers: {text}}}]}}\n"
        ));
        let mission = load_text(&text).unwrap().mission;
        let Expectation::Review(review) = &mission.tasks[0].expectations[0] else { panic!("not a review") };
        assert_eq!(review.reviewers, Some(expected));
    }
}

fn layers() -> Layers {
    let config = |text: &str, layer| load_config(&Source::new("quorum.yaml", text), layer, false).unwrap();
    Layers {
        project: Some(config(
            "agents: {p: {run: p}, both: {run: p}}\nsettings: {evalThreshold: 70}\n",
            ConfigLayer::Project,
        )),
        user: Some(config(
            "agents: {both: {run: u}}\nchannels: {ops: {type: file, path: f}}\nsettings: {evalThreshold: 80, maxRetries: 9}\n",
            ConfigLayer::User,
        )),
        has_workers: false,
        filled_by: None,
    }
}

#[test]
fn the_mission_wins_over_the_project_and_the_project_over_the_user() {
    let load = |text: &str| load(&Source::new("m.yaml", text), &layers()).unwrap().mission;
    let mission = load("name: m\ntasks: [{title: t, assignTo: p}]\n");
    let names: Vec<_> = mission.agents.0.iter().map(|(name, _)| &**name).collect();
    assert_eq!(names, ["p", "both"]);
    let bar = mission.settings.eval_threshold.unwrap();
    assert_eq!((bar.points, bar.origin), (Points::whole(70), BarOrigin::Project));
    assert_eq!(mission.settings.max_retries, Some(9));

    let own = load(
        "name: m\nagents: {a: {run: x}}\nsettings: {evalThreshold: 4, sla: {warningChannels: [ops]}}\ntasks: [{title: t}]\n",
    );
    assert_eq!(own.settings.eval_threshold.unwrap().origin, BarOrigin::Mission);
    assert_eq!(own.sole_agent(), Some("a"));
}
