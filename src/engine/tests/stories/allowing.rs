//! A tool call that needs a person's word.

use crate::domain::{Digest, TaskId};
use crate::engine::{Asked, Command};

use super::super::simulation::Answer;
use super::{Step, approve, reject, told, world};

fn mission(settings: &str) -> String {
    format!(
        "name: m\nagents:\n  w: {{run: [/bin/true]}}\n  o: {{run: [/bin/true]}}\nsettings: {{maxRetries: 1, \
         maxQuestionRounds: 1{settings}}}\ntasks:\n  - {{title: a, assignTo: w, review: none}}\n"
    )
}

fn wishes() -> (&'static str, Answer) {
    (
        "RunTurn",
        Answer::Asks(Asked {
            text: "run [\"publish\"]".to_owned(),
            detected: false,
            call: Some(Box::new(Digest::of(b"publish"))),
        }),
    )
}

#[test]
fn a_person_allows_it_and_the_agent_goes_on_in_the_same_attempt() {
    insta::assert_snapshot!(told(&mission(""), world(vec![wishes()]), vec![approve(0, 1)]));
}

#[test]
fn a_person_refuses_it_and_the_work_ends() {
    insta::assert_snapshot!(told(&mission(""), world(vec![wishes()]), vec![reject(0, 1)]));
}

#[test]
fn no_orchestrator_allows_it_and_a_person_is_asked_as_often_as_it_takes() {
    let script = world(vec![wishes(), wishes(), wishes()]);
    let steps = vec![approve(0, 1), approve(0, 2), approve(0, 3)];
    let text = told(&mission(", orchestrator: o"), script, steps);
    assert!(!text.contains("ConsultRequested"), "{text}");
    assert_eq!(text.matches("reason: Auth").count(), 3, "{text}");
    assert!(text.contains("a: Review -> Done"), "{text}");
}

#[test]
fn words_are_no_answer_to_it() {
    let answer = Step::Says(Command::Answer {
        task: TaskId(0),
        number: 1,
        text: "yes".to_owned(),
    });
    let text = told(&mission(""), world(vec![wishes()]), vec![answer]);
    assert!(!text.contains("Answered"), "{text}");
}
