//! A judge grades by a rubric: what its grades, its doubts and its silence lead to.

use crate::domain::{Advice, DeclaredVerdict, FailureClass, GradeGiven, Points, RubricReply};

use super::super::simulation::Answer;
use super::{told, world};

fn mission(settings: &str, verification: &str) -> String {
    format!(
        "name: m\nagents:\n  w: {{run: [/bin/true]}}\n  j: {{run: [/bin/true], role: reviewer}}\nsettings: \
         {{maxFixAttempts: 1, maxRetries: 0{settings}}}\nrubrics:\n  r:\n    criteria:\n      - {{name: runs, weight: \
         0.6, grade: binary, required: true}}\n      - {{name: reads, weight: 0.4}}\ntasks:\n  - {{title: a, \
         assignTo: w, review: none, verification: {{rubric: r{verification}}}}}\n"
    )
}

fn grades(runs: u8, reads: u8, verdict: DeclaredVerdict, confidence: u8) -> (&'static str, Answer) {
    let given = |criterion: &str, points| GradeGiven {
        criterion: criterion.to_owned(),
        points: Points::whole(points),
        reasoning: "seen".to_owned(),
    };
    let reply = RubricReply {
        grades: vec![given("reads", reads), given("runs", runs)],
        verdict,
        confidence: Points::whole(confidence),
        findings: Vec::new(),
        prior: Vec::new(),
    };
    ("Consult", Answer::Advice(Advice::Grades(Box::new(reply))))
}

fn unreadable() -> (&'static str, Answer) {
    let advice = Advice::Unreadable {
        why: "no".to_owned(),
        excerpt: String::new(),
        grave: false,
    };
    ("Consult", Answer::Advice(advice))
}

#[test]
fn what_grades_lead_to() {
    use DeclaredVerdict::{Fail, Pass};
    for (name, answers) in [
        ("good", vec![grades(100, 70, Pass, 90)]),
        (
            "bad_then_good",
            vec![grades(0, 100, Pass, 90), grades(100, 100, Pass, 90)],
        ),
        (
            "stricter",
            vec![grades(100, 100, Fail, 90), grades(100, 100, Fail, 90)],
        ),
    ] {
        insta::assert_snapshot!(
            format!("grades_{name}"),
            told(&mission("", ""), world(answers), vec![])
        );
    }
}

#[test]
fn what_doubts_lead_to() {
    for (name, key) in [
        ("human", ""),
        ("rework", ", onRefer: rework"),
        ("pass", ", onRefer: pass"),
    ] {
        let doubts = (0..2)
            .map(|_| grades(100, 100, DeclaredVerdict::Pass, 30))
            .collect();
        insta::assert_snapshot!(
            format!("doubts_{name}"),
            told(&mission("", key), world(doubts), vec![])
        );
    }
}

#[test]
fn what_silence_leads_to() {
    let refused = || ("Consult", Answer::Unreachable(FailureClass::ProviderAuth));
    for (name, answers) in [
        (
            "unreadable_once",
            vec![unreadable(), grades(100, 100, DeclaredVerdict::Pass, 90)],
        ),
        ("unreadable", vec![unreadable(), unreadable()]),
        ("unreachable", vec![refused(), refused()]),
        (
            "about_something_else",
            vec![("Consult", Answer::Advice(Advice::NoAnswer))],
        ),
    ] {
        insta::assert_snapshot!(
            format!("silence_{name}"),
            told(&mission("", ""), world(answers), vec![])
        );
    }
}

#[test]
fn without_a_judge_nobody_grades() {
    let alone = mission("", "").replace("  j: {run: [/bin/true], role: reviewer}\n", "");
    insta::assert_snapshot!("nobody_may", told(&alone, world(vec![]), vec![]));
    let off = mission(", evaluate: false", "");
    insta::assert_snapshot!("nobody_is_asked", told(&off, world(vec![]), vec![]));
}
