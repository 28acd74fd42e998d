//! What judges work behind its verification: stages, red team, vision check; who is asked, who is not and why.

use crate::domain::{Advice, DeclaredVerdict, FailureClass, Finding, Opinion, Severity};
use crate::engine::Effect;
use crate::mission::RunOptions;

use super::super::simulation::{Answer, good, options};
use super::{Step, approve, patient, reject, told, told_with, world};

fn mission(top: &str, task: &str) -> String {
    format!(
        "name: m\nagents:\n  w: {{run: [/bin/true]}}\n  o: {{run: [/bin/true]}}\n  h: {{adapter: human}}\n  e: {{adapter: ollama, \
         model: m, vision: true}}\nsettings: {{evaluate: true, maxAttempts: 2}}\n{top}tasks:\n  - {{title: a, assignTo: w, \
         review: none, expectations: [{{type: file_exists, paths: [f]}}]{task}}}\n"
    )
}

fn opinion(verdict: DeclaredVerdict, reason: &str) -> Answer {
    Answer::Advice(Advice::Opinion(Box::new(Opinion {
        verdict,
        reason: reason.to_owned(),
        findings: vec![Finding::new(Severity::Low, "a comma is missing")],
        prior: Vec::new(),
    })))
}

fn report(severity: Severity) -> Answer {
    Answer::Advice(Advice::Findings(crate::domain::FindingsReport::whole(vec![
        Finding::new(severity, "x"),
    ])))
}

fn consult(answer: Answer) -> (&'static str, Answer) {
    ("Consult", answer)
}

const ALL: &str = "stages: [{name: legal, agent: o}, {name: lint, command: x}, {name: owner, agent: h}]\nredTeam: {agent: o}\n\
     vision: {kind: heuristic, screenshots: [s.png], expectations: [{color: '#000000'}]}\n";

#[test]
fn everybody_has_a_say_one_after_the_other() {
    let script = world(vec![
        consult(opinion(DeclaredVerdict::Pass, "fine")),
        consult(report(Severity::Low)),
    ]);
    let steps = vec![approve(0, 1)];
    insta::assert_snapshot!(told(&mission(ALL, ""), script, steps));
}

#[test]
fn who_says_no_sends_the_work_back_and_is_asked_again_last() {
    let script = world(vec![
        consult(opinion(DeclaredVerdict::Fail, "no licence")),
        consult(opinion(DeclaredVerdict::Fail, "")),
        ("RunStep", Answer::Check(false)),
    ]);
    insta::assert_snapshot!(told(&mission(ALL, ""), script, vec![]));
    let script = world(vec![
        consult(opinion(DeclaredVerdict::Pass, "")),
        ("RunStep", Answer::Check(false)),
        consult(opinion(DeclaredVerdict::Refer, "")),
        consult(opinion(DeclaredVerdict::Pass, "")),
        consult(report(Severity::Critical)),
    ]);
    let steps = vec![approve(0, 1), reject(0, 2), approve(0, 3)];
    insta::assert_snapshot!(
        "who_leaves_it_to_a_person",
        told(&mission(ALL, ""), script, steps)
    );
}

#[test]
fn who_gives_no_word_is_asked_once_more_and_then_a_person() {
    let down = || consult(Answer::Unreachable(FailureClass::ProviderAuth));
    let script = world(vec![
        consult(Answer::Unreadable),
        consult(Answer::Unreadable),
        consult(Answer::Unreadable),
        down(),
    ]);
    let steps = vec![Step::Resumes, approve(0, 1), approve(0, 2), approve(0, 3)];
    insta::assert_snapshot!(told(&mission(ALL, ""), script, steps));
}

#[test]
fn with_reviews_switched_off_nobody_is_asked_and_commands_run() {
    let options = RunOptions {
        no_eval: true,
        ..patient()
    };
    let yaml = mission(&ALL.replace(", {name: owner, agent: h}", ""), "");
    insta::assert_snapshot!(told_with(&yaml, options, good, vec![]));
}

#[test]
fn who_is_not_asked_is_named_with_the_reason() {
    for (name, top, task) in [
        ("stakes", "redTeam: {agent: o, minStakes: high}\n", ""),
        (
            "high_stakes",
            "redTeam: {agent: o, minStakes: high}\n",
            ", stakes: high",
        ),
        (
            "equal_stakes",
            "redTeam: {agent: o, minStakes: medium}\n",
            ", stakes: medium",
        ),
        ("author_blocks", "redTeam: {agent: w}\n", ""),
        ("author_skips", "redTeam: {agent: w, onMissing: skip}\n", ""),
        (
            "no_shots",
            "vision: {kind: heuristic, expectations: [{color: '#000000'}]}\n",
            "",
        ),
        ("noop", "vision: {kind: noop, screenshots: [s.png]}\n", ""),
        (
            "eye",
            "vision: {kind: llm_vision, agent: e, screenshots: [s.png, t.png], expectations: [{description: a door}]}\n",
            "",
        ),
    ] {
        let script = |state: &_, effect: &Effect| match effect {
            Effect::Consult { .. } => report(Severity::Low),
            _ => good(state, effect),
        };
        insta::assert_snapshot!(
            format!("not_asked_{name}"),
            told(&mission(top, task), script, vec![])
        );
    }
}

#[test]
fn where_nothing_is_there_nothing_is_looked_at() {
    let nothing = |state: &_, effect: &Effect| match effect {
        Effect::ScanFiles { .. } => Answer::Files(None, 0),
        _ => good(state, effect),
    };
    let empty = |state: &_, effect: &Effect| match effect {
        Effect::ScanFiles { .. } => Answer::Files(Some(0), 0),
        _ => good(state, effect),
    };
    let top = "redTeam: {agent: o}\nvision: {kind: heuristic, screenshots: [s.png], expectations: [{color: '#000000'}]}\n";
    let yaml = mission(top, "").replace(
        ", expectations: [{type: file_exists, paths: [f]}]",
        ", targetFiles: [f]",
    );
    insta::assert_snapshot!("nothing_there", told_with(&yaml, options(), nothing, vec![]));
    insta::assert_snapshot!("empty_there", told_with(&yaml, options(), empty, vec![]));
    let skips = yaml.replace("{agent: o}", "{agent: o, onMissing: skip}");
    insta::assert_snapshot!(
        "nothing_there_skipped",
        told_with(&skips, options(), nothing, vec![])
    );
}
