//! What judges work behind its verification: stages, red team, vision check; who is asked, who is not and why.

use super::driver::{Run, Says};

fn mission(top: &str, task: &str) -> String {
    format!(
        "name: m
agents:
  w: {{run: [/bin/true]}}
  o: {{run: [/bin/true]}}
  h: {{adapter: human}}
  e: {{adapter: ollama, model: m, vision: true}}
settings: {{maxAttempts: 2}}
{top}
tasks: [{{title: a, assignTo: w, review: none, expectations: [{{type: file_exists, paths: [f]}}]{task}}}]"
    )
}

const ALL: &str = "stages: [{name: legal, agent: o}, {name: lint, command: x}, {name: owner, agent: h}]
redTeam: {agent: o}
vision: {kind: heuristic, screenshots: [s.png], expectations: [{color: '#000000'}]}";

#[test]
fn who_gives_no_word_is_asked_once_more_and_then_a_person() {
    let run = Run::of(&mission(ALL, ""))
        .agent_is_unreadable("a", "legal")
        .agent_is_unreadable("a", "legal")
        .told_elsewhere()
        .crash_and_resume()
        .agent_is_unreadable("a", "legal")
        .agent_is_down("a", "legal", "provider_auth")
        .person("approve a")
        .person("approve a")
        .agent_is_unreadable("a", "redTeam")
        .agent_is_unreadable("a", "redTeam");
    transcript!(run.text());
}

#[test]
fn who_is_not_asked_is_named_with_the_reason() {
    let eye = "vision: {kind: llm_vision, agent: e, screenshots: [s.png, t.png], expectations: [{description: a door}]}";
    let looked = "redTeam: {agent: o}\nvision: {kind: heuristic, screenshots: [s.png], expectations: [{color: '#000000'}]}";
    let yaml = mission(looked, "")
        .replace(", expectations: [{type: file_exists, paths: [f]}]", ", targetFiles: [f]");
    let twice = |yaml: &str, are: &str| Run::of(yaml).files("a", are).files("a", are);
    let absent = yaml.replace("{maxAttempts: 2}", "{maxFixAttempts: 1, maxRetries: 0}");
    let high = "redTeam: {agent: o, minStakes: high}";
    let with = |top: &str, task: &str| Run::of(&mission(top, task));
    let skips = "redTeam: {agent: w, onMissing: skip}\nvision: {kind: noop, screenshots: [s.png]}";
    let off = Run::with("--no-eval", &mission(&ALL.replace(", {name: owner, agent: h}", ""), ""));
    transcript!(with(skips, "").text_and(vec![
        ("low stakes", with(high, "")),
        ("high stakes", with(high, ", stakes: high")),
        ("equal stakes", with("redTeam: {agent: o, minStakes: medium}", ", stakes: medium")),
        ("no screenshots", with("vision: {kind: heuristic, expectations: [{color: '#000000'}]}", "")),
        ("an eye", with(eye, "")),
        ("reviews are switched off", off),
        ("nothing is there", twice(&absent, "missing")),
        ("it is empty", twice(&yaml, "empty")),
        ("it is there in the second attempt", Run::of(&yaml).files("a", "missing")),
    ]));
}

#[test]
fn everybody_has_a_say_one_after_the_other() {
    let run = Run::of(&mission(ALL, ""))
        .agent_says("a", "legal", &Says::Pass("fine"))
        .person("approve a")
        .agent_says("a", "redTeam", &Says::Found("low"));
    let no_licence = || Run::of(&mission(ALL, "")).agent_says("a", "legal", &Says::Fail("no licence"));
    let unsure = Run::of(&mission(ALL, ""))
        .agent_says("a", "legal", &Says::Refer(""))
        .person("approve a")
        .person("reject a")
        .agent_says("a", "legal", &Says::Pass(""))
        .person("approve a")
        .agent_says("a", "redTeam", &Says::Found("critical"));
    let ugly = Run::of(&mission(ALL, ""))
        .person("approve a")
        .stage("a", "vision", false)
        .person("approve a")
        .stage("a", "vision", false);
    transcript!(run.text_and(vec![
        ("who said no is asked again last", no_licence().stage("a", "lint", false)),
        ("said no twice", no_licence().agent_says("a", "legal", &Says::Fail(""))),
        ("left to a person, then found out", unsure),
        ("does not look as it should", ugly),
    ]));
}
