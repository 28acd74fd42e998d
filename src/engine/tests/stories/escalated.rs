//! An agent that says that what it was told does not hold.

use crate::domain::TaskId;
use crate::engine::{Asked, Command};

use super::super::simulation::Answer;
use super::{Step, approve, reject, told, world};

fn mission(task: &str) -> String {
    format!(
        "name: m\nagents:\n  w: {{run: [/bin/true]}}\nsettings: {{maxRetries: 1, maxFixAttempts: 1}}\n\
         tasks:\n  - {{title: a, assignTo: w, review: none{task}}}\n"
    )
}

fn escalates() -> (&'static str, Answer) {
    ("RunTurn", Answer::Escalates(None))
}

#[test]
fn a_person_has_the_work_judged_as_it_is() {
    let yaml = mission(", expectations: [{type: test, command: x}]");
    insta::assert_snapshot!(told(&yaml, world(vec![escalates()]), vec![approve(0, 1)]));
}

#[test]
fn it_still_has_to_pass() {
    let yaml = mission(", expectations: [{type: test, command: x}]");
    let script = world(vec![escalates(), ("RunCheck", Answer::Check(false))]);
    let text = told(&yaml, script, vec![approve(0, 1)]);
    assert!(text.contains("AttemptPlanned { task: a, attempt: 2"), "{text}");
}

#[test]
fn a_person_sends_it_back_with_a_reason() {
    let script = world(vec![escalates()]);
    insta::assert_snapshot!(told(&mission(""), script, vec![reject(0, 1)]));
}

#[test]
fn whoever_says_it_again_is_asked_about_again_and_gives_up_in_the_end() {
    let script = world(vec![escalates(), escalates(), escalates(), escalates()]);
    let steps = vec![reject(0, 1), reject(0, 2), reject(0, 3), reject(0, 4)];
    let text = told(&mission(""), script, steps);
    assert_eq!(text.matches("\nEscalated {").count(), 4, "{text}");
    assert!(text.contains("a: Review -> Failed Some(Quality)"), "{text}");
}

#[test]
fn it_waits_over_a_crash() {
    let steps = vec![Step::Resumes, approve(0, 1)];
    let text = told(&mission(""), world(vec![escalates()]), steps);
    assert_eq!(text.matches("\nEscalated {").count(), 1, "{text}");
    assert!(text.contains("a: Review -> Done"), "{text}");
}

#[test]
fn a_question_that_was_asked_comes_first() {
    let asked = Asked {
        text: "Which one?".to_owned(),
        detected: false,
        call: None,
    };
    let script = world(vec![("RunTurn", Answer::Escalates(Some(asked)))]);
    let answer = Step::Says(Command::Answer {
        task: TaskId(0),
        number: 1,
        text: "The second.".to_owned(),
    });
    let text = told(&mission(""), script, vec![answer]);
    assert!(!text.contains("\nEscalated {"), "{text}");
}
